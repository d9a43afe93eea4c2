/* Profiles, the policy, and what is seen from outside. */
#include "serve/session/service.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/learner/curve.h"
#include "serve/store/store_sqlite.h"
#include "support/sample.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    served_start(&f);
}

static void teardown(void)
{
    served_end(&f);
}

TEST(profiles_are_durable_when_answered)
{
    struct profile p = {.name = "kids", .qoe = qoe_of_mu(1, 3, 2, QOE_LOG)}, got;
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    p.qoe.mu_stall = 8;
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 0);
    strcpy(p.name, "gone");
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    ck_assert_int_eq(service_profile_delete(f.service, "gone", NULL), 0);
    served_kill(&f); /* no tick, no drain */
    served_start(&f);

    ck_assert_int_eq(service_profile_get(&got, f.service, "kids", NULL), 0);
    ck_assert_double_eq(got.qoe.mu_stall, 8);
    ck_assert_int_eq(got.qoe.utility, QOE_LOG);
    ck_assert_int_eq(service_profile_get(&got, f.service, "gone", NULL), ERR_ABSENT);
    struct profile list[20];
    ck_assert_int_eq(service_profile_list(list, 20, f.service), QOE_PROFILES + 1);

    struct session_open in = served_request(1, 48);
    struct session_opened o;
    strcpy(in.profile, "kids");
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_double_eq(o.qoe.mu_stall, 8);
}

enum { TURNS = 20000 };

static pthread_barrier_t together;

/* A store that keeps the newest record of one profile, without delay. */
static struct {
    int (*write)(void *self, const struct store_rec *rec, int n, struct err *e);
    struct qoe qoe;
} kept;

static int keep_write(void *self, const struct store_rec *rec, int n, struct err *e)
{
    for (int i = 0; i < n; i++) {
        if (rec[i].kind != STORE_PROFILE) return kept.write(self, rec, n, e);
        kept.qoe = rec[i].profile.qoe;
    }
    return 0;
}

static int keep_store(struct store *out, void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    int rc = store_sqlite_open(out, &(struct store_sqlite_cfg){.path = path}, e);
    kept.write = out->write;
    out->write = keep_write;
    return rc;
}

static void put_mine(double stall)
{
    struct profile p = {.name = "mine", .qoe = qoe_of_mu(1, stall, 1, QOE_LOG)};
    pthread_barrier_wait(&together);
    (void)!service_profile_put(f.service, &p, NULL);
    pthread_barrier_wait(&together);
}

static void *put_others(void *ctx)
{
    for (int i = 0; i < TURNS; i++)
        put_mine(2);
    return ctx;
}

TEST(concurrent_puts_are_equal_in_memory_and_store)
{
    served_kill(&f);
    f.cfg.parts.store = keep_store;
    served_start(&f);
    pthread_t other;
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&other, NULL, put_others, NULL), 0);
    int differ = 0;
    for (int i = 0; i < TURNS; i++) {
        put_mine(3);
        struct profile p;
        ck_assert_int_eq(service_profile_get(&p, f.service, "mine", NULL), 0);
        differ += !qoe_same(&p.qoe, &kept.qoe);
    }
    pthread_join(other, NULL);
    pthread_barrier_destroy(&together);
    ck_assert_int_eq(differ, 0);
}

TEST(built_in_and_default_profiles_stay)
{
    struct err e = {0};
    ck_assert_int_eq(service_profile_delete(f.service, "pensieve", &e), ERR_CONFLICT);
    ck_assert_int_eq(service_profile_delete(f.service, "news", NULL), ERR_CONFLICT);
    ck_assert_int_eq(service_profile_delete(f.service, "nobody", NULL), ERR_ABSENT);
    struct profile p = {.name = "bad name", .qoe = qoe_of_mu(1, 1, 1, QOE_LINEAR)};
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), ERR_INVALID);
    /* refusals leave no reservation behind */
    for (int i = 0; i < 40000; i++)
        if (service_profile_delete(f.service, "nobody", NULL) != ERR_ABSENT) ck_abort();
}

TEST(earlier_versions_are_listed)
{
    struct curve_point p[4];
    ck_assert_int_eq(service_curve(p, 4, f.service, 0), 1);
    ck_assert_int_eq(p[0].kind, CURVE_START);
    ck_assert_uint_eq(p[0].version, 1);
    ck_assert_double_eq(p[0].at, f.now);
    ck_assert(isfinite(p[0].score));
    ck_assert_double_eq(p[0].best, p[0].score);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_policy(&f, 77); /* other weights: another version */
    double before = f.now;
    f.now += 50;
    served_start(&f);

    double score = p[0].score;
    ck_assert_int_eq(service_curve(p, 4, f.service, 0), 2);
    ck_assert_int_eq(p[0].kind, CURVE_EARLIER);
    ck_assert_uint_eq(p[0].version, 1);
    ck_assert_double_eq(p[0].at, before);
    ck_assert_double_eq(p[0].score, score);
    ck_assert_int_eq(p[1].kind, CURVE_START);
    ck_assert_uint_eq(p[1].version, 2);
    ck_assert_int_eq(service_curve(p, 4, f.service, 1), 1);
    ck_assert_uint_eq(p[0].version, 2);
}

TEST(the_exported_weights_are_the_published_ones)
{
    void *data;
    size_t n;
    ck_assert_int_eq(service_policy_weights(&data, &n, f.service, NULL), 0);
    struct policy *sent = ckpt_decode(data, n, NULL, NULL, NULL, NULL);
    struct policy *start = ckpt_load(f.policy, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(sent);
    ck_assert_uint_eq(sent->version, 1);
    start->version = 1;
    sample_same(sent, start);
    struct policy_info info;
    service_policy_info(&info, f.service);
    ck_assert_uint_eq(info.parameters, start->actor->n + start->critic->n);
    ck_assert_double_eq(info.published_at, f.now);
    ck_assert_int_eq(info.cfg.hidden, 16);
    policy_free(sent);
    policy_free(start);
    free(data);
}

TEST(counts_add_up)
{
    struct session_open in = served_request(1, 4);
    strcpy(in.profile, "live");
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    served_play(&f, &o, 4);
    struct session_opened other = served_open(&f, 2, 4);
    struct reward_in r = {.has_outcome = true};
    r.outcome = served_outcome(0, other.first.level ? 0 : 1);
    struct reward_out out;
    ck_assert_int_eq(service_reward(&out, f.service, other.session, &r, NULL), 0);

    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.sessions_opened, 2);
    ck_assert_int_eq(s.sessions_live, 2);
    ck_assert_uint_eq(s.decisions, 5);
    ck_assert_uint_eq(s.rewards, 5);
    ck_assert_uint_eq(s.not_followed, 1);
    ck_assert(s.store_ok && !s.draining && !s.learning);
    ck_assert_int_eq(s.n_profiles, QOE_PROFILES + 1);
    uint64_t experts = 0;
    for (int k = 0; k < 16; k++)
        experts += s.expert_decisions[k];
    ck_assert_uint_eq(experts, 5);

    int live = 0;
    while (strcmp(s.profile[live].name, "live"))
        live++;
    ck_assert_uint_eq(s.profile[live].rewards, 4);
    ck_assert_double_gt(s.profile[live].kbps_sum, 4 * 299);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    double sum = 0;
    for (int i = 0; i < h.n; i++)
        sum += h.steps[i].reward;
    ck_assert_double_eq_tol(s.profile[live].reward_sum, sum, 1e-9);
    service_history_free(&h);
}

/* The log's number is the API's, also for weights whose file has none. */
TEST(a_version_has_one_number)
{
    char text[4096], expected[64];
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    struct served own;
    struct log log = log_init(fd[1], LOG_INFO, false);
    struct policy_info info;
    served_begin(&own, true);
    own.cfg.log = &log;
    for (int start = 0; start < 2; start++) {
        served_start(&own);
        service_policy_info(&info, own.service);
        ck_assert_uint_eq(info.version, 1);
        served_kill(&own);
        ssize_t n = read(fd[0], text, sizeof text - 1);
        ck_assert_int_gt(n, 0);
        text[n] = '\0';
        snprintf(expected, sizeof expected, "version %d from ", (int)info.version);
        ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
        ck_assert_ptr_null(strstr(text, "version 0"));
    }
    served_end(&own);
    close(fd[0]);
    close(fd[1]);
}

SUITE_SET_UP(serve_session_service_info, 30, setup, teardown,
             profiles_are_durable_when_answered,
             concurrent_puts_are_equal_in_memory_and_store,
             built_in_and_default_profiles_stay, earlier_versions_are_listed,
             the_exported_weights_are_the_published_ones, counts_add_up,
             a_version_has_one_number);
