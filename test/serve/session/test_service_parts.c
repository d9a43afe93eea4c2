/* What a service is put together from, given by the caller; and turns taken one by one. */
#include "serve/session/service.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "serve/learner/bus.h"
#include "serve/learner/bus_local.h"
#include "serve/store/store_sqlite.h"
#include "sim/disk.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

/* SQLite and the ring, with what was asked of them noted. */
struct parts {
    char path[300];
    int buses, fail;
    unsigned char drawn;
};

static int my_store(struct store *out, void *ctx, const char *path, struct err *e)
{
    struct parts *p = ctx;
    if (p->fail) return err_set(e, ERR_IO, "no disk today");
    snprintf(p->path, sizeof p->path, "%s", path);
    struct store_sqlite_cfg cfg = {.path = path};
    return store_sqlite_open(out, &cfg, e);
}

static int my_bus(struct bus *out, void *ctx, struct err *e)
{
    struct parts *p = ctx;
    p->buses++;
    return bus_local_init(out, 1, e);
}

static int my_bytes(void *ctx, void *out, size_t n, struct err *e)
{
    struct parts *p = ctx;
    (void)e;
    memset(out, p->drawn++, n);
    return 0;
}

static struct parts mine;

static void setup(void)
{
    mine = (struct parts){0};
    served_begin(&f, true);
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.parts = (struct service_parts){my_store, my_bus, &mine, {my_bytes, &mine}};
}

static void teardown(void)
{
    served_end(&f);
}

TEST(the_callers_parts_are_used)
{
    served_start(&f);
    char db[320];
    snprintf(db, sizeof db, "%s/abrd.db", f.data);
    ck_assert_str_eq(mine.path, db);
    ck_assert_int_eq(mine.buses, 1);

    /* the fifth draw: the first ones seed the tables of four shards */
    struct session_opened o = served_open(&f, 1, 4);
    ck_assert_str_eq(o.session, "04040404040404040404040404040404");
    struct session_open keyless = served_request(0, 4);
    keyless.has_key = false;
    struct session_opened p;
    ck_assert_int_eq(service_open(&p, f.service, f.worker, &keyless, NULL), 0);
    ck_assert_uint_eq(p.key, UINT64_C(0x0505050505050505));

    /* a bus of one place: the second trajectory is dropped */
    served_play(&f, &o, 4);
    o = served_open(&f, 2, 4);
    served_play(&f, &o, 4);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.bus_queue, 1);
    ck_assert_uint_eq(s.bus_dropped, 1);
    ck_assert_int_eq(service_learn(f.service, NULL), 0);
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.bus_queue, 0);
    ck_assert_uint_eq(s.learner.steps, 4);
}

/* ---- versions, on a disk that outlives the service ---- */

static struct disk disk;

static int disk_part(struct store *out, void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    (void)path;
    (void)e;
    *out = disk_store(&disk);
    return 0;
}

static void on_a_disk(void)
{
    disk_init(&disk);
    f.cfg.parts.store = disk_part;
    f.cfg.online.batch = 4;
    served_without_exams(&f);
    served_start(&f);
}

static uint64_t version(void)
{
    struct service_stats s;
    service_stats(&s, f.service);
    return s.policy_version;
}

/* Enough for an update. */
static void teach(uint64_t key)
{
    struct session_opened o = served_open(&f, key, 4);
    served_play(&f, &o, 4);
}

TEST(records_that_the_drain_cannot_write_are_counted)
{
    on_a_disk();
    (void)served_open(&f, 1, 4);
    (void)served_open(&f, 2, 4);
    disk.fail_writes = -1;
    struct service_stats stats;
    service_stats(&stats, f.service);
    ck_assert_uint_gt(stats.store_queue, 0);
    struct err e = {0};
    ck_assert_int_eq(service_drain(f.service, &e), ERR_IO);
    char words[80];
    snprintf(words, sizeof words, "%llu acknowledged records are lost: ",
             (unsigned long long)stats.store_queue);
    ck_assert_msg(strstr(e.detail, words) == e.detail, "%s", e.detail);
    ck_assert_ptr_nonnull(strstr(e.detail, "the disk is full"));
}

TEST(nothing_is_published_that_cannot_be_recorded)
{
    on_a_disk();
    teach(1);
    disk.fail_writes = -1;
    ck_assert_int_eq(service_commit(f.service, NULL), ERR_IO);
    ck_assert_int_eq(service_learn(f.service, NULL), ERR_IO);
    ck_assert_uint_eq(version(), 1);
    disk.fail_writes = 0;
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    teach(2);
    ck_assert_int_eq(service_learn(f.service, NULL), 1); /* what was learned before */
    ck_assert_uint_eq(version(), 2);
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(version(), 3);
    ck_assert_uint_eq(disk.version[disk.versions - 1].version, 3);
    disk_release(&disk);
}

TEST(a_version_is_never_two_policies)
{
    /* an expert is disabled, and no checkpoint has it */
    on_a_disk();
    served_saves(&f, false);
    ck_assert_int_eq(service_set_aside(f.service, false, 1, 100, NULL), 0);
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(version(), 2);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_saves(&f, true);
    served_start(&f);
    ck_assert_uint_eq(version(), 3);

    /* a checkpoint that knows more than the store */
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    teach(1);
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    teach(2);
    f.now += 100;
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(version(), 5);
    served_kill(&f);
    disk.versions -= 2; /* as an older copy of the store */
    ck_assert_uint_eq(disk.version[disk.versions - 1].version, 3);
    served_start(&f);
    ck_assert_uint_eq(version(), 5);
    disk_release(&disk);
}

TEST(a_part_that_cannot_be_had_stops_the_start)
{
    mine.fail = 1;
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_IO);
    ck_assert_str_eq(e.detail, "no disk today");
}

TEST(turns_are_taken_one_by_one)
{
    f.cfg.session_ttl_s = 10;
    f.cfg.retention_s = 0; /* pruning would be another record */
    served_start(&f);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    struct service_stats s;
    served_open(&f, 1, 4);
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.store_queue, 2); /* session and step */
    service_periodic(f.service);
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.store_queue, 2);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.store_queue, 0);
    ck_assert_int_eq(s.sessions_live, 1);

    f.now += 20;
    service_periodic(f.service);
    service_stats(&s, f.service);
    ck_assert_int_eq(s.sessions_live, 0);
    ck_assert_uint_gt(s.store_queue, 0);
    service_tick(f.service);
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.store_queue, 0);
}

TEST(a_short_queue_refuses_before_anything_happens)
{
    f.cfg.store_queue = 3;
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "store_queue");

    f.cfg.store_queue = 64;
    served_start(&f);
    int opened = 0;
    struct session_opened o;
    for (; opened < 100; opened++) {
        struct session_open in = served_request((uint64_t)opened, 4);
        e = (struct err){0};
        if (service_open(&o, f.service, f.worker, &in, &e)) break;
    }
    /* two records a session, and five must be free; the version's is written */
    ck_assert_int_eq(opened, 30);
    ck_assert_int_eq(e.code, ERR_FULL);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_int_eq(s.sessions_live, 30);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_open(&f, 7, 4);
}

SUITE_SET_UP(serve_session_service_parts, 0, setup, teardown, the_callers_parts_are_used,
             records_that_the_drain_cannot_write_are_counted,
             nothing_is_published_that_cannot_be_recorded,
             a_version_is_never_two_policies, a_part_that_cannot_be_had_stops_the_start,
             turns_are_taken_one_by_one, a_short_queue_refuses_before_anything_happens);
