#include "serve/store/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const char *dir;
static char data[300], to[300];
static struct store store;
static struct backup_stats b;
static struct err e;

static void holds(const char *name, const char *text)
{
    char *got = text_read_file(tmpdir_path(to, name), 1 << 20, NULL, &e);
    ck_assert_msg(got != NULL, "%s: %s", name, e.detail);
    ck_assert_str_eq(got, text);
    free(got);
}

static bool is_there(const char *name)
{
    return access(tmpdir_path(to, name), F_OK) == 0;
}

/* Session n, with so many steps. */
static void play(uint8_t n, uint32_t steps)
{
    struct store_rec r = {.kind = STORE_SESSION};
    r.row = (struct track_row){
        .id = {n}, .levels = 2, .ladder_kbps = {1, 2}, .opened_at = 1e9};
    ck_assert_int_eq(store.write(store.self, &r, 1, &e), 0);
    struct store_rec *s = calloc(steps, sizeof *s);
    ck_assert_ptr_nonnull(s);
    for (uint32_t i = 0; i < steps; i++) {
        s[i] = (struct store_rec){.kind = STORE_STEP, .id = {n}};
        s[i].step = (struct step){.ord = i, .rev = 1, .chunk = (int32_t)i, .reward = .5};
    }
    ck_assert_int_eq(store.write(store.self, s, (int)steps, &e), 0);
    free(s);
}

static void setup(void)
{
    dir = tmpdir_new();
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(to, sizeof to, "%s/to", dir);
    ck_assert_int_eq(mkdir(data, 0755), 0);
    e = (struct err){0};
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(data, "abrd.db")};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
}

static void teardown(void)
{
    store.free(store.self);
}

/* A number that a statement gives in the copy. */
static int64_t in_copy(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    ck_assert_int_eq(sqlite3_open(tmpdir_path(to, "abrd.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

TEST(all_that_a_start_needs)
{
    play(1, 3);
    play(2, 4);
    tmpdir_put(data, "policy.safetensors", "weights");
    tmpdir_put(data, "policy.safetensors.prev", "before");
    tmpdir_put(data, "policy.safetensors.bad", "damaged");
    tmpdir_put(data, "untagged.state", "slot");
    tmpdir_put(data, "trial.state", "trial = spring");
    tmpdir_put(data, "grown-sports.safetensors", "experts");
    tmpdir_put(data, "grown-sports.safetensors.tmp", "half");
    tmpdir_put(data, "token", "secret");
    tmpdir_put(data, "lock", "");
    char slashed[310];
    snprintf(slashed, sizeof slashed, "%s//", to);
    ck_assert_int_eq(mkdir(to, 0755), 0); /* an empty one does no harm */
    ck_assert_msg(backup_make(&b, slashed, data, NULL, NULL, &e) == 0, "%s: %s", e.field,
                  e.detail);

    holds("policy.safetensors", "weights");
    holds("policy.safetensors.prev", "before");
    holds("untagged.state", "slot");
    holds("trial.state", "trial = spring");
    holds("grown-sports.safetensors", "experts");
    ck_assert(!is_there("policy.safetensors.bad") && !is_there("token") &&
              !is_there("lock") && !is_there("grown-sports.safetensors.tmp"));
    ck_assert(!is_there("abrd.db-wal") && !is_there("abrd.db-shm"));
    ck_assert_int_eq(b.files, 6);
    ck_assert_int_gt(b.bytes, 4096);
    ck_assert_int_eq(b.store.sessions, 2);
    ck_assert_int_eq(b.store.live, 2);
    ck_assert_int_eq(b.store.steps, 7);
    ck_assert_int_eq(in_copy("SELECT count(*) FROM steps WHERE reward = .5"), 7);
    struct stat st;
    ck_assert_int_eq(stat(to, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(tmpdir_path(to, "abrd.db"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_ne(access(tmpdir_path(dir, "to.part"), F_OK), 0);

    /* what is written afterwards is not in it; a daemon opens it as its own */
    play(3, 1);
    struct store again;
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(to, "abrd.db")};
    ck_assert_int_eq(store_sqlite_open(&again, &cfg, &e), 0);
    again.free(again.self);
    ck_assert_int_eq(in_copy("SELECT count(*) FROM sessions"), 2);
}

/* The old node sends what waits for the bus; the copy is a new node. */
TEST(a_copy_is_another_maker)
{
    const struct bus_envelope envelope[] = {{.number = 0, .bytes = "whoiswho", .n = 8},
                                            {.number = 7, .bytes = "waiting", .n = 7}};
    for (int i = 0; i < 2; i++) {
        struct store_rec r = {.kind = STORE_ENVELOPE, .envelope = envelope[i]};
        ck_assert_int_eq(store.write(store.self, &r, 1, &e), 0);
    }
    ck_assert_int_eq(backup_make(&b, to, data, NULL, NULL, &e), 0);
    ck_assert_int_eq(in_copy("SELECT count(*) FROM sqlite_master WHERE name = 'parcels'"),
                     0);
}

static void refused(int code, const char *from, const char *target, const char *words)
{
    e = (struct err){0};
    ck_assert_int_eq(backup_make(&b, target, from, NULL, NULL, &e), code);
    ck_assert_msg(strstr(e.detail, words) != NULL, "%s: %s", e.field, e.detail);
}

TEST(what_is_there_is_left_alone)
{
    refused(ERR_ABSENT, dir, to, "data folder");
    refused(ERR_CONFLICT, data, data, "new folder");
    refused(ERR_IO, data, "/no/such/place", "cannot be made");
    refused(ERR_RANGE, data, "", "empty");
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "to.part"), 0755), 0);
    refused(ERR_CONFLICT, data, to, "remove it");
    ck_assert_int_eq(rmdir(tmpdir_path(dir, "to.part")), 0);
    ck_assert_int_ne(access(to, F_OK), 0);
    ck_assert_int_eq(backup_make(&b, to, data, NULL, NULL, &e), 0);
    refused(ERR_CONFLICT, data, to, "new folder");
}

/* A bit in every page but the first. */
static void flip(const char *path)
{
    int fd = open(path, O_RDWR);
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_gt(st.st_size, 8 * 4096);
    for (off_t at = 4096 + 4090; at < st.st_size; at += 4096) {
        char was;
        ck_assert_int_eq(pread(fd, &was, 1, at), 1);
        was ^= 0x10;
        ck_assert_int_eq(pwrite(fd, &was, 1, at), 1);
    }
    close(fd);
}

TEST(damage_is_not_passed_on)
{
    play(1, 200);
    ck_assert_int_eq(store.tidy(store.self, &e), 0);
    store.free(store.self);
    flip(tmpdir_path(data, "abrd.db"));
    e = (struct err){0};
    ck_assert_int_eq(backup_make(&b, to, data, NULL, NULL, &e), ERR_CORRUPT);
    ck_assert_int_ne(access(to, F_OK), 0);
    ck_assert_int_ne(access(tmpdir_path(dir, "to.part"), F_OK), 0);
    tmpdir_put(data, "abrd.db",
               "not a database, and long enough to be taken for one by its size"
               "----------------------------------------------------------------");
    refused(ERR_CORRUPT, data, to, "not a database");
    unlink(tmpdir_path(data, "abrd.db"));
    unlink(tmpdir_path(data, "abrd.db-wal")); /* else it would be missed */
    unlink(tmpdir_path(data, "abrd.db-count"));
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(data, "abrd.db")};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, NULL), 0);
}

/* During the copy: a session, a profile that gets experts, an operator who gives up. */
static bool meanwhile(void *ctx, double share)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share <= 1);
    if ((*calls)++ == 0) {
        play(9, 1);
        tmpdir_put(data, "grown-late.safetensors", "experts");
    }
    return true;
}

static bool enough(void *ctx, double share)
{
    (void)share;
    return --*(int *)ctx > 0;
}

TEST(the_house_goes_on_meanwhile)
{
    int calls = 0;
    play(1, 1);
    ck_assert_int_eq(backup_make(&b, to, data, meanwhile, &calls, &e), 0);
    holds("grown-late.safetensors", "experts");
    ck_assert_int_eq(b.store.sessions, 2); /* copied again, as a profile grew */
    ck_assert_int_ge(calls, 2);
}

static bool restless(void *ctx, double share)
{
    (void)share;
    char name[64];
    snprintf(name, sizeof name, "grown-p%d.safetensors", (*(int *)ctx)++);
    tmpdir_put(data, name, "experts");
    return true;
}

TEST(it_may_be_given_up)
{
    int calls = 2;
    for (uint8_t i = 1; i < 6; i++) /* several looks at the watch */
        play(i, 4000);
    ck_assert_int_eq(backup_make(&b, to, data, enough, &calls, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.detail, "given up");
    ck_assert_int_ne(access(to, F_OK), 0);
    ck_assert_int_ne(access(tmpdir_path(dir, "to.part"), F_OK), 0);

    calls = 0;
    e = (struct err){0};
    ck_assert_int_eq(backup_make(&b, to, data, restless, &calls, &e), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(e.detail, "try later"));
    ck_assert_int_ne(access(tmpdir_path(dir, "to.part"), F_OK), 0);
}

SUITE_SET_UP(serve_store_backup, 60, setup, teardown, all_that_a_start_needs,
             a_copy_is_another_maker, what_is_there_is_left_alone,
             damage_is_not_passed_on, the_house_goes_on_meanwhile, it_may_be_given_up);
