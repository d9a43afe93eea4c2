#include "abr/why.h"

#include "abr/deciders/first_level.h"
#include "abr/eval.h"
#include "abr/emulator/replay.h"
#include "support/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct corpus *corpus;
static struct video *video;
static const struct algo_ctx ctx = {7, "deploy/policy/moe.safetensors"};

static void load(void)
{
    struct err e = {0};
    corpus = corpus_load("test/golden/traces", CORPUS_ALL, &e);
    video = video_load("test/golden/video", NULL, &e);
    ck_assert_msg(corpus && video, "%s %s", e.field, e.detail);
}

static void unload(void)
{
    corpus_free(corpus);
    video_free(video);
}

static void explain(struct why *out, const struct emu_world *w, const struct qoe *qoe,
                    int first_level, int n, const char *const *policies, int threads)
{
    struct err e = {0};
    const struct why_cfg cfg = {.world = w,
                                .qoe = qoe,
                                .first_level = first_level,
                                .key = 3,
                                .policies = policies,
                                .n_policies = n,
                                .ctx = &ctx,
                                .threads = threads};
    int rc = why_run(out, &cfg, &e);
    ck_assert_msg(rc == 0, "%d %s: %s", rc, e.field, e.detail);
}

/* A session in which chunk `at` is fetched at a level of our choice. */
struct forced {
    struct algo inner;
    int at, level;
};

static void forced_reset(void *self, uint64_t key)
{
    struct forced *f = self;
    f->inner.reset(f->inner.self, key);
}

static int forced_decide(void *self, const struct view *v, const struct video *of)
{
    struct forced *f = self;
    int level = f->inner.decide(f->inner.self, v, of);
    return v->chunk == f->at ? f->level : level;
}

struct sums {
    double earned, stall_s, reward; /* reward: of chunk `at` */
    int at;
};

static int add(void *to, const struct replay_step *s, struct err *e)
{
    (void)e;
    struct sums *x = to;
    x->earned += s->reward;
    if (s->prev_level >= 0) x->stall_s += s->stall_s;
    if (s->chunk == x->at) x->reward = s->reward;
    return 0;
}

static struct sums play_forced(const struct emu_world *w, const struct qoe *qoe,
                               int first_level, const char *policy, int at, int level)
{
    struct err e = {0};
    struct forced f = {.at = at, .level = level};
    ck_assert_int_eq(algo_new(&f.inner, policy, &ctx, &e), 0);
    struct algo a = {.self = &f, .reset = forced_reset, .decide = forced_decide};
    const struct replay r = {
        .world = w, .qoe = qoe, .first_level = first_level, .algo = &a, .key = 3};
    struct sums s = {.at = at};
    ck_assert_int_eq(replay_run(&r, add, &s, &e), 0);
    algo_free(&f.inner);
    return s;
}

/* Every outcome is what the emulator gives when one chunk is changed, for policies with a memory
 * (mpc, bola-e, random) and without, and with players that abandon chunks. */
TEST(outcomes_are_sessions_with_one_change)
{
    static const char *const cases[][3] = {{"moe", "mpc", "rate"},
                                           {"mpc", "moe", "fixed-0"},
                                           {"bola-e", "random", "fixed-5"},
                                           {"random", "buffer", "hold"}};
    const char *const *policies = cases[_i];
    int other = 0;
    for (int t = 0; t < corpus->n; t += 3) {
        struct emu_world w = {video, corpus->traces[t], emu_cfg_default()};
        w.cfg.buffer_max_s = 20;
        w.cfg.abandon = t == 3;
        const struct qoe *qoe = &qoe_profiles[(t + _i) % QOE_PROFILES].qoe;
        int first_level = t % 2 ? 1 : -1;
        struct why y;
        explain(&y, &w, qoe, first_level, 3, policies, 2);
        ck_assert_int_eq(y.n, video->chunks - (first_level >= 0));
        ck_assert(y.oracle < 0 && isnan(y.optimum) && isnan(why_lost(&y.chunk[0])));
        double rewards = 0;
        for (int i = 0; i < y.n; i++) {
            const struct why_chunk *c = &y.chunk[i];
            rewards += why_outcome_of(c, 0)->reward;
            ck_assert_double_eq_tol(why_outcome_of(c, 0)->total, y.total, 1e-9);
            for (int p = 0; p < 3; p++) {
                const struct why_outcome *o = why_outcome_of(c, p);
                struct sums s = play_forced(&w, qoe, first_level, policies[0],
                                            c->view.chunk, c->choice[p].level);
                ck_assert_double_eq_tol(o->total, s.earned, 1e-9);
                ck_assert_double_eq_tol(o->session_stall_s, s.stall_s, 1e-9);
                ck_assert_double_eq_tol(o->reward, s.reward, 1e-9);
                other += c->choice[p].level != c->choice[0].level;
            }
        }
        ck_assert_double_eq_tol(rewards, y.total, 1e-9);
        why_free(&y);
    }
    ck_assert_int_gt(other, 30);
}

/* The first policy's session is the one that eval scores. */
TEST(the_session_is_the_scored_one)
{
    static const char *const policies[] = {"moe"};
    struct err e = {0};
    struct eval_cfg cfg = eval_cfg_default();
    const struct qoe *qoe = qoe_standard();
    struct eval_row row;
    cfg.count_first = true;
    ck_assert_int_eq(
        eval_run(&row, "moe", &ctx, "standard", qoe, corpus, video, &cfg, &e), 0);
    for (int t = 0; t < corpus->n; t++) {
        const struct emu_world w = {video, corpus->traces[t], cfg.emu};
        struct why y;
        explain(&y, &w, qoe, -1, 1, policies, 1);
        ck_assert_double_eq_tol(y.total / y.n, row.trace_qoe[t], 1e-9);
        ck_assert_double_eq_tol(y.stall_s, row.seen[t].stall_s, 1e-9);
        ck_assert_double_eq(y.chunk[0].start_s, 0);
        for (int i = 1; i < y.n; i++)
            ck_assert_double_gt(y.chunk[i].start_s, y.chunk[i - 1].start_s);
        why_free(&y);
    }
    eval_row_free(&row);
}

/* The losses are never negative and sum up to the distance from the optimum, which is eval's. The
 * rivals' best is below the chunk's, and the oracle's choice reaches it. */
TEST(losses_sum_up_to_the_optimum)
{
    static const char *const policies[] = {"mpc", "oracle", "fixed-0", "fixed-4"};
    static const char *const profiles[] = {"standard", "paper-live"};
    struct err e = {0};
    for (int p = 0; p < 2; p++) {
        struct eval_cfg cfg = eval_cfg_default();
        const struct qoe *qoe = &qoe_find(profiles[p])->qoe;
        struct eval_row row;
        cfg.count_first = p == 0;
        ck_assert_int_eq(
            eval_run(&row, "oracle", &ctx, profiles[p], qoe, corpus, video, &cfg, &e), 0);
        for (int t = p; t < corpus->n; t += 3) {
            const struct emu_world w = {video, corpus->traces[t], cfg.emu};
            struct why y, alone;
            explain(&y, &w, qoe, eval_first_level(&cfg), 4, policies, 3);
            explain(&alone, &w, qoe, eval_first_level(&cfg), 4, policies, 1);
            double lost = 0, tol = 1e-6 + y.gap;
            for (int i = 0; i < y.n; i++) {
                const struct why_chunk *c = &y.chunk[i];
                ck_assert_double_ge(why_lost(c), 0);
                lost += why_lost(c);
                ck_assert_double_eq_tol(why_outcome_of(c, 1)->best, c->best, tol);
                for (int q = 0; q < 4; q++)
                    ck_assert_double_le(why_outcome_of(c, q)->best, c->best);
                ck_assert_int_eq(c->choice[1].by, WHY_PLAN);
                ck_assert_int_eq(
                    memcmp(c->choice, alone.chunk[i].choice, 4 * sizeof *c->choice), 0);
            }
            ck_assert_double_eq_tol(y.total + lost, y.optimum, 1e-9);
            ck_assert_double_eq_tol(y.optimum / y.n, row.trace_qoe[t], tol);
            why_free(&y);
            why_free(&alone);
        }
        eval_row_free(&row);
    }
}

/* By what a network's level was chosen. */
TEST(the_rule_behind_a_choice)
{
    static const char *const policies[] = {"moe", "rate"};
    int by[5] = {0};
    for (int t = 0; t < corpus->n; t++) {
        const struct emu_world w = {video, corpus->traces[t], emu_cfg_default()};
        struct why y;
        explain(&y, &w, qoe_standard(), -1, 2, policies, 1);
        ck_assert_int_eq(y.chunk[0].choice[0].by, WHY_FIRST_LEVEL);
        ck_assert_int_eq(y.chunk[0].choice[0].level, first_level(&y.chunk[0].view));
        ck_assert(!(y.chunk[0].forecast.mean_kbps > 0));
        for (int i = 0; i < y.n; i++) {
            const struct why_choice *c = &y.chunk[i].choice[0];
            by[c->by]++;
            ck_assert(c->prob > 0 && c->prob <= 1);
            ck_assert_int_eq(y.chunk[i].choice[1].by, WHY_RULE);
            ck_assert(isnan(y.chunk[i].choice[1].prob));
        }
        why_free(&y);
    }
    ck_assert_int_eq(by[WHY_FIRST_LEVEL], corpus->n);
    ck_assert_int_gt(by[WHY_POLICY], 100);
    ck_assert_int_eq(by[WHY_FALLBACK], 0);
    ck_assert_str_eq(why_by_name(WHY_FIRST_LEVEL), "first-level");
}

static bool stop(void *calls, double share)
{
    (void)share;
    return ++*(int *)calls == 2;
}

TEST(stops_when_asked_and_names_unknown_policies)
{
    struct err e = {0};
    int calls = 0;
    static const char *const known[] = {"rate"}, *const unknown[] = {"rate", "no-such"};
    const struct emu_world w = {video, corpus->traces[0], emu_cfg_default()};
    struct why_cfg cfg = {.world = &w,
                          .qoe = qoe_standard(),
                          .first_level = -1,
                          .policies = known,
                          .n_policies = 1,
                          .ctx = &ctx,
                          .progress = stop,
                          .progress_ctx = &calls};
    struct why y;
    ck_assert_int_eq(why_run(&y, &cfg, &e), WHY_STOPPED);
    ck_assert_int_eq(calls, 2);
    cfg.policies = unknown;
    cfg.n_policies = 2;
    ck_assert_int_eq(why_run(&y, &cfg, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "no-such"));
}

SUITE_SET_UP(abr_why, 120, load, unload, TIMES(outcomes_are_sessions_with_one_change, 4),
             the_session_is_the_scored_one, losses_sum_up_to_the_optimum,
             the_rule_behind_a_choice, stops_when_asked_and_names_unknown_policies);
