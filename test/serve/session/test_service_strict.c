/* Durability strict: what is answered is in the store already. */
#include "serve/session/service.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "serve/learner/bus_local.h"
#include "serve/session/sessions.h"
#include "serve/store/store_sqlite.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.strict = true;
}

static void teardown(void)
{
    served_end(&f);
}

/* What another process would find: the session's steps and how many have their outcome; -1: not
 * even the session. */
static int stored(int *reported, bool *closed, const char *session)
{
    char path[320];
    uint8_t id[TRACK_ID];
    struct store s;
    snprintf(path, sizeof path, "%s/abrd.db", f.data);
    ck_assert(sessions_id_parse(id, session));
    ck_assert_int_eq(
        store_sqlite_open(&s, &(struct store_sqlite_cfg){.path = path}, NULL), 0);
    struct track_row row;
    struct step *steps;
    int n = 0,
        rc = s.history(s.self, &row, &(double){0}, &steps, &n, id, 0, INT_MAX, NULL);
    s.free(s.self);
    if (rc) return -1;
    *closed = row.closed;
    *reported = 0;
    for (int i = 0; i < n; i++)
        *reported += (steps[i].flags & STEP_REPORTED) != 0;
    free(steps);
    return n;
}

TEST(the_answer_waits_for_the_commit)
{
    served_start(&f);
    int reported;
    bool closed;
    struct session_opened o = served_open(&f, 1, 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), 1);
    ck_assert_int_eq(reported, 0);

    struct question q = served_question(1, o.first.level);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), 2);
    ck_assert_int_eq(reported, 1);

    struct reward_in in = {.has_outcome = true, .outcome = served_outcome(1, a.level)};
    struct reward_out r;
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, NULL), 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), 2);
    ck_assert_int_eq(reported, 2);
    ck_assert(!closed);

    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), 2);
    ck_assert(closed);
}

TEST(otherwise_it_does_not)
{
    f.cfg.strict = false;
    served_start(&f);
    int reported;
    bool closed;
    struct session_opened o = served_open(&f, 1, 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), -1);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    ck_assert_int_eq(stored(&reported, &closed, o.session), 1);
}

TEST(failed_commits_are_refused_until_they_work)
{
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tight;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 300000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);

    int rc = 0, k = 0, level = o.first.level;
    struct err e = {0};
    struct answer a;
    while (!rc && ++k < 20000) {
        struct question q = served_question(k, level);
        rc = service_ask(&a, f.service, f.worker, o.session, &q, &e);
        if (!rc) level = a.level;
    }
    ck_assert_int_eq(rc, ERR_IO);
    ck_assert_str_ne(e.detail, "");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(service_commit(f.service, NULL), 0); /* as its thread tries again */

    /* asked again it is a repeat: one step, stored */
    struct question q = served_question(k, level);
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    int reported;
    bool closed;
    ck_assert_int_eq(stored(&reported, &closed, o.session), k + 1);
    ck_assert_int_eq(reported, k);
}

/* A bus that is asked behind the session's change and before the store: there another connection
 * repeats the report that is being answered. */
static struct {
    char session[SERVICE_ID];
    struct reward_in in;
    pthread_t other;
    atomic_bool asked, answered;
    int rc, reported;
} race;

static void *repeat(void *ctx)
{
    (void)ctx;
    bool closed;
    struct reward_out out;
    race.rc = service_reward(&out, f.service, race.session, &race.in, NULL);
    (void)stored(&race.reported, &closed, race.session);
    atomic_store(&race.answered, true);
    return NULL;
}

static bool race_stage(void *self, const struct traj *t, struct bus_envelope *out)
{
    (void)self;
    (void)t;
    (void)out;
    if (atomic_exchange(&race.asked, true)) return false;
    ck_assert_int_eq(pthread_create(&race.other, NULL, repeat, NULL), 0);
    /* time enough to answer wrongly */
    for (int i = 0; i < 20000 && !atomic_load(&race.answered); i++)
        sched_yield();
    return false;
}

static int race_bus(struct bus *out, void *ctx, struct err *e)
{
    (void)ctx;
    int rc = bus_local_init(out, 16, e);
    out->stage = race_stage;
    return rc;
}

static int race_store(struct store *out, void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    return store_sqlite_open(out, &(struct store_sqlite_cfg){.path = path}, e);
}

TEST(a_repeat_waits_for_the_commit_of_its_original)
{
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.parts.store = race_store;
    f.cfg.parts.bus = race_bus;
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 2);
    snprintf(race.session, sizeof race.session, "%s", o.session);
    struct question q = served_question(1, o.first.level);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);

    race.in = (struct reward_in){
        .has_outcome = true, .outcome = served_outcome(1, a.level), .final = true};
    struct reward_out out;
    ck_assert_int_eq(service_reward(&out, f.service, o.session, &race.in, NULL), 0);
    ck_assert(atomic_load(&race.asked));
    pthread_join(race.other, NULL);
    ck_assert_int_eq(race.rc, 0);
    ck_assert_int_eq(race.reported, 2);
}

SUITE_SET_UP(serve_session_service_strict, 60, setup, teardown,
             the_answer_waits_for_the_commit, otherwise_it_does_not,
             failed_commits_are_refused_until_they_work,
             a_repeat_waits_for_the_commit_of_its_original);
