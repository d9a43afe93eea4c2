/* The service as a whole: start, restart, threads, time, failing stores. */
#include "serve/session/service.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "learn/ckpt.h"
#include "support/alloc.h"
#include "support/served.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.explore_share = .5;
}

static void teardown(void)
{
    served_end(&f);
}

/* ---- start ---- */

static void refuses(int code, const char *field)
{
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, code);
    if (field) ck_assert_str_eq(e.field, field);
    ck_assert_str_ne(e.detail, "");
}

TEST(a_bad_configuration_names_its_field)
{
    struct service_cfg good = f.cfg;
    f.cfg.explore_share = 1.5;
    refuses(ERR_RANGE, "explore");
    f.cfg = good;
    f.cfg.max_sessions = 0;
    refuses(ERR_RANGE, "max-sessions");
    f.cfg = good;
    f.cfg.online.capacity = f.cfg.online.batch;
    refuses(ERR_RANGE, "online.capacity");
    f.cfg = good;
    strcpy(f.cfg.default_profile, "nobody");
    refuses(ERR_ABSENT, "default-profile");
    f.cfg = good;
    f.cfg.policy_path = NULL;
    refuses(ERR_ABSENT, "policy");
    f.cfg = good;
    f.cfg.policy_path = "/nonexistent/p.safetensors";
    refuses(ERR_ABSENT, NULL);
    f.cfg = good;
    f.cfg.data_dir = "/nonexistent/deeper/data";
    refuses(ERR_IO, "/nonexistent/deeper/data");
}

TEST(a_greedy_session_never_explores)
{
    f.cfg.explore_share = 1;
    served_start(&f);
    struct session_open open = served_request(1, 0);
    struct session_opened out;
    struct err e = {0};
    ck_assert_int_eq(service_open(&out, f.service, f.worker, &open, &e), 0);
    ck_assert(out.explores && out.first.sampled);
    open.greedy = true;
    ck_assert_int_eq(service_open(&out, f.service, f.worker, &open, &e), 0);
    ck_assert(!out.explores && !out.first.sampled);
}

TEST(reloaded_settings_apply_at_once)
{
    f.cfg.explore_share = 0;
    f.cfg.session_ttl_s = 600;
    served_start(&f);
    ck_assert(!served_open(&f, 1, 0).explores);
    struct service_cfg next = f.cfg;
    next.explore_share = 1;
    next.session_ttl_s = 60;
    ck_assert_int_eq(service_reload(f.service, &next, NULL), 0);
    ck_assert(served_open(&f, 2, 0).explores);

    struct service_cfg bad = next;
    bad.explore_share = 0;
    bad.checkpoint_s = -1;
    struct err e = {0};
    ck_assert_int_eq(service_reload(f.service, &bad, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "checkpoint");
    ck_assert(served_open(&f, 3, 0).explores);

    f.now += 61;
    service_tick(f.service);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_int_eq(s.sessions_live, 0);
}

TEST(two_do_not_share_a_folder)
{
    served_start(&f);
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    ck_assert_str_eq(e.field, f.data);
}

static void *make_service(void *ctx, struct err *e)
{
    return service_new(ctx, e);
}

static void destroy_service(void *s)
{
    service_free(s);
}

TEST(every_failing_allocation_of_a_start_is_an_error)
{
    f.cfg.data_dir = NULL;
    f.cfg.max_sessions = 10;
    f.cfg.learn = true;
    ck_assert_int_gt(alloc_each_fails(make_service, destroy_service, &f.cfg), 50);
    f.cfg.data_dir = f.data;
    f.cfg.learn = false;
    ck_assert_int_gt(alloc_each_fails(make_service, destroy_service, &f.cfg), 50);
}

/* ---- restart ---- */

TEST(a_second_start_restores_its_state)
{
    enum { N = 20, BEFORE = 17 };
    struct session_opened o[N];
    struct answer pending[N];
    served_start(&f);
    for (int i = 0; i < N; i++) {
        o[i] = served_open(&f, (uint64_t)i, 48);
        int level = o[i].first.level;
        for (int k = 1; k < BEFORE; k++) {
            struct question q = served_question(k, level);
            ck_assert_int_eq(
                service_ask(&pending[i], f.service, f.worker, o[i].session, &q, NULL), 0);
            level = pending[i].level;
        }
        f.now += 1;
    }
    service_tick(f.service); /* flushes */
    served_kill(&f);
    served_start(&f);

    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_int_eq(s.sessions_live, N);
    ck_assert_uint_eq(s.policy_version, 1);

    /* what was pending is answered the same, and so is what comes then */
    struct served g = f;
    served_begin(&g, false);
    g.cfg.explore_share = f.cfg.explore_share;
    served_start(&g);
    for (int i = 0; i < N; i++) {
        struct session_opened twin = served_open(&g, (uint64_t)i, 48);
        int level = twin.first.level;
        for (int k = 1; k < 48; k++) {
            struct question q = served_question(k, level);
            struct answer a, b;
            ck_assert_int_eq(service_ask(&a, g.service, g.worker, twin.session, &q, NULL),
                             0);
            if (k >= BEFORE - 1) {
                ck_assert_int_eq(
                    service_ask(&b, f.service, f.worker, o[i].session, &q, NULL), 0);
                ck_assert_int_eq(a.level, b.level);
                ck_assert_int_eq(a.expert, b.expert);
                ck_assert_int_eq(a.sampled, b.sampled);
                ck_assert_mem_eq(a.prob, b.prob, sizeof a.prob);
                ck_assert_double_eq(a.value, b.value);
            }
            if (k == BEFORE - 1) ck_assert_int_eq(b.level, pending[i].level);
            level = a.level;
        }
    }
    served_end(&g);

    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o[0].session, NULL), 0);
    ck_assert_int_eq(h.n, 48);
    for (int k = 0; k < 48; k++)
        ck_assert_int_eq(h.steps[k].chunk, k);
    service_history_free(&h);
}

TEST(closed_sessions_stay_readable_and_closed)
{
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 4);
    served_play(&f, &o, 4);
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    struct session_opened more;
    struct session_open in = served_request(2, 4);
    ck_assert_int_eq(service_open(&more, f.service, f.worker, &in, NULL), ERR_FULL);
    served_kill(&f);

    served_start(&f);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_int_eq(s.sessions_live, 0);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert(h.closed && h.terminal);
    ck_assert_int_eq(h.n, 4);
    ck_assert(h.steps[3].reported);
    service_history_free(&h);
}

TEST(versions_never_go_back)
{
    served_start(&f);
    struct policy_info info;
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.version, 1);
    service_tick(f.service);
    served_kill(&f);

    served_policy(&f, 99); /* other weights in the same place */
    served_start(&f);
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.version, 2);
    service_tick(f.service);
    served_kill(&f);
    served_start(&f); /* the same again */
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.version, 2);
}

/* ---- learning, in the caller's thread ---- */

static void learn_some(uint64_t keys)
{
    for (uint64_t k = 0; k < keys; k++) {
        struct session_opened o = served_open(&f, k, 48);
        served_play(&f, &o, 48);
        ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
        struct err e = {0};
        int rc = service_learn(f.service, &e);
        ck_assert_msg(rc >= 0 || rc == ERR_NUMERIC, "%s", e.detail);
    }
}

static void small_learner(void)
{
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.online.batch = 256;
    f.cfg.online.capacity = 1024;
    served_without_exams(&f);
}

/* Kills the daemon and starts it: the same version with the same weights. */
static void same_weights_after_a_kill(void)
{
    struct policy_info info;
    service_policy_info(&info, f.service);
    uint64_t version = info.version;
    void *before, *after;
    size_t n, m;
    ck_assert_int_eq(service_policy_weights(&before, &n, f.service, NULL), 0);
    served_kill(&f);

    served_start(&f);
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.version, version);
    ck_assert_int_eq(service_policy_weights(&after, &m, f.service, NULL), 0);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(before, after, n);
    free(before);
    free(after);
}

TEST(weights_and_versions_survive_a_crash_and_a_drain)
{
    small_learner();
    f.cfg.checkpoint_s = 1e6;
    served_start(&f);
    struct policy_info info;
    learn_some(20);
    service_policy_info(&info, f.service);
    ck_assert_uint_ge(info.version, 3);
    same_weights_after_a_kill();
    learn_some(20);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    same_weights_after_a_kill();

    /* published, but not saved: the old weights, a new version */
    service_policy_info(&info, f.service);
    uint64_t version = info.version;
    served_saves(&f, false);
    learn_some(20);
    service_policy_info(&info, f.service);
    ck_assert_uint_gt(info.version, version);
    version = info.version;
    service_tick(f.service);
    served_kill(&f);
    served_saves(&f, true);
    served_start(&f);
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.version, version + 1);
}

static void damage(const char *path)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, -100, SEEK_END);
    fputs("damage", file);
    fclose(file);
}

TEST(a_damaged_checkpoint_falls_back)
{
    small_learner();
    f.cfg.checkpoint_s = .1;
    served_start(&f);
    for (int i = 0; i < 3; i++) {
        learn_some(8);
        f.now += 1;
    }
    learn_some(8);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);

    char path[512];
    snprintf(path, sizeof path, "%s/policy.safetensors", f.data);
    damage(path);
    served_start(&f);
    struct policy_info info;
    service_policy_info(&info, f.service);
    ck_assert_uint_gt(info.version, 2);
    char bad[600];
    snprintf(bad, sizeof bad, "%s.bad", path);
    ck_assert_int_eq(access(bad, R_OK), 0);
    ck_assert_int_ne(access(path, R_OK), 0);
    served_kill(&f);

    char prev[600];
    snprintf(prev, sizeof prev, "%s.prev", path);
    damage(prev);
    served_start(&f); /* the policy of the configuration is left */
    served_kill(&f);
    damage(f.policy);
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_CORRUPT);
    ck_assert_str_eq(e.field, f.policy);
}

/* ---- a store that fails ---- */

TEST(a_full_disk_refuses_and_recovers)
{
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 0);
    int level = o.first.level, k = 1;
    service_tick(f.service);

    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tight;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 200000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    struct err e = {0};
    int rc = 0;
    struct answer a;
    for (; !rc && k < 20000; k++) {
        struct question q = served_question(k, level);
        rc = service_ask(&a, f.service, f.worker, o.session, &q, &e);
        if (!rc) level = a.level;
        if (k % 50 == 0) service_tick(f.service);
    }
    ck_assert_int_eq(rc, ERR_IO);
    ck_assert_str_eq(e.field, "store");
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert(!s.store_ok);
    ck_assert_uint_gt(s.store_errors, 0);

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    service_tick(f.service);
    struct question q = served_question(k - 1, level);
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert_int_eq(h.n, k); /* nothing acknowledged was lost */
    service_history_free(&h);
}

/* ---- threads ---- */

enum { VIEWERS = 4, ROUNDS = 12 };

static atomic_int failures;

/* A store slower than its viewers refuses, and the viewers ask again. */
static bool full(int rc)
{
    if (rc == ERR_FULL) sched_yield();
    return rc == ERR_FULL;
}

static int ask(struct answer *a, struct service_worker *w, const char *session,
               const struct question *q)
{
    int rc;
    do
        rc = service_ask(a, f.service, w, session, q, NULL);
    while (full(rc));
    return rc;
}

static void *watch(void *ctx)
{
    uint64_t me = (uint64_t)(uintptr_t)ctx;
    struct service_worker *w = service_worker_new(f.service, NULL);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct session_open in = served_request(1000 * me + i, 48);
        struct session_opened o;
        int rc;
        do
            rc = service_open(&o, f.service, w, &in, NULL);
        while (full(rc));
        if (rc) {
            atomic_fetch_add(&failures, 1);
            continue;
        }
        int level = o.first.level;
        for (int k = 1; k < 48; k++) {
            struct question q = served_question(k, level);
            struct answer a, again;
            rc = ask(&a, w, o.session, &q);
            rc |= ask(&again, w, o.session, &q);
            if (rc || a.level != again.level || a.policy != again.policy)
                atomic_fetch_add(&failures, 1);
            level = a.level;
        }
        if (i % 4 == 0) {
            struct history h;
            if (service_history(&h, f.service, o.session, NULL) || h.n != 48)
                atomic_fetch_add(&failures, 1);
            else
                service_history_free(&h);
        }
        do
            rc = service_close(f.service, o.session, NULL, NULL);
        while (full(rc));
        if (rc) atomic_fetch_add(&failures, 1);
        struct service_stats s;
        service_stats(&s, f.service);
    }
    service_worker_free(w);
    return NULL;
}

TEST(everything_at_once)
{
    small_learner();
    f.cfg.checkpoint_s = .1;
    f.cfg.flush_s = .01;
    served_start(&f);
    ck_assert_int_eq(service_start_threads(f.service, NULL), 0);
    pthread_t t[VIEWERS];
    for (int i = 0; i < VIEWERS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, watch, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < VIEWERS; i++)
        pthread_join(t[i], NULL);
    struct err e = {0};
    ck_assert_msg(service_drain(f.service, &e) == 0, "%s", e.detail);
    ck_assert_int_eq(atomic_load(&failures), 0);

    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.sessions_opened, VIEWERS * ROUNDS);
    ck_assert_uint_eq(s.sessions_closed, VIEWERS * ROUNDS);
    ck_assert_uint_eq(s.decisions, VIEWERS * ROUNDS * 48);
    ck_assert_uint_eq(s.repeats, VIEWERS * ROUNDS * 47);
    ck_assert_uint_eq(s.store_queue, 0);
    ck_assert_uint_gt(s.learner.trajectories + s.bus_queue + s.bus_dropped, 0);
}

SUITE_SET_UP(serve_session_service, 120, setup, teardown,
             a_bad_configuration_names_its_field, a_greedy_session_never_explores,
             reloaded_settings_apply_at_once, two_do_not_share_a_folder,
             every_failing_allocation_of_a_start_is_an_error,
             a_second_start_restores_its_state, closed_sessions_stay_readable_and_closed,
             versions_never_go_back, weights_and_versions_survive_a_crash_and_a_drain,
             a_damaged_checkpoint_falls_back, a_full_disk_refuses_and_recovers,
             everything_at_once);
