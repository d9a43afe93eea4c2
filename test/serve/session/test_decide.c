#include "serve/session/decide.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>

#include "abr/deciders/forecast_own.h"
#include "learn/ckpt.h"
#include "support/alloc.h"
#include "support/made.h"
#include "support/suites.h"
#include "support/twin.h"

static struct view make_view(void)
{
    struct view v = view_default();
    v.levels = 3;
    v.ladder_kbps[0] = 300;
    v.ladder_kbps[1] = 750;
    v.ladder_kbps[2] = 1850;
    v.chunk_s = 4;
    v.buffer_s = 9;
    v.buffer_max_s = 60;
    view_push(&v, 400000, 2);
    return v;
}

static struct packed *make_packed(bool broken)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 5);
    p->version = 11;
    for (size_t i = 0; broken && i < p->actor->n; i++)
        p->actor->theta[i] = NAN;
    struct packed *s = packed_new(&cfg, NULL);
    packed_load(s, p);
    policy_free(p);
    return s;
}

TEST(draws_depend_on_seed_key_and_chunk_alone)
{
    ck_assert_double_eq(decide_draw(1, 2, 3), decide_draw(1, 2, 3));
    ck_assert_double_ne(decide_draw(1, 2, 3), decide_draw(1, 2, 4));
    ck_assert_double_ne(decide_draw(1, 2, 3), decide_draw(1, 3, 3));
    ck_assert_double_ne(decide_draw(1, 2, 3), decide_draw(2, 2, 3));
    int explore = 0;
    for (uint64_t key = 0; key < 10000; key++) {
        explore += decide_explores(9, key, .2);
        ck_assert(!decide_explores(9, key, 0));
        ck_assert(decide_explores(9, key, 1));
    }
    ck_assert_int_gt(explore, 1850);
    ck_assert_int_lt(explore, 2150);
}

TEST(both_layouts_are_known_and_others_refused)
{
    enum feat_layout layout;
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    ck_assert_int_eq(decide_layout(&layout, &cfg, NULL), 0);
    ck_assert_int_eq(layout, FEAT_FULL);
    cfg.obs_dim = FEAT_PAPER_DIM;
    ck_assert_int_eq(decide_layout(&layout, &cfg, NULL), 0);
    ck_assert_int_eq(layout, FEAT_PAPER);
    cfg.obs_dim = 7;
    ck_assert_int_eq(decide_layout(&layout, &cfg, NULL), ERR_INVALID);
}

/* A policy with fewer actions than an observation has levels cannot decide on a longer ladder. */
TEST(twelve_actions_serve_any_ladder)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    ck_assert(decide_serves(&cfg, 2) && decide_serves(&cfg, FEAT_LEVELS) &&
              decide_serves(&cfg, VIEW_LEVELS));
    cfg.actions = 6;
    ck_assert(decide_serves(&cfg, 6));
    ck_assert(!decide_serves(&cfg, 7) && !decide_serves(&cfg, VIEW_LEVELS));
}

/* The verdict is of the window's levels; weights that are not finite give the lowest one. */
TEST(a_verdict_on_a_long_ladder)
{
    for (int broken = 0; broken < 2; broken++) {
        struct packed *p = make_packed(broken);
        struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
        struct decider d;
        struct verdict v;
        ck_assert_int_eq(decide_init(&d, &cfg, NULL), 0);
        struct view view = make_view();
        view.levels = VIEW_LEVELS;
        for (int k = 0; k < VIEW_LEVELS; k++)
            view.ladder_kbps[k] = 100 * pow(1.15, k);
        alloc_watch();
        bool ok = decide(&v, p, &d, &view, .7);
        ck_assert_int_eq(alloc_calls(), 0);
        ck_assert(ok == !broken && v.level >= 0 && v.level < VIEW_LEVELS);
        ck_assert_int_eq(__builtin_popcount(v.seen), FEAT_LEVELS);
        ck_assert(v.seen >> v.level & 1);
        if (broken) ck_assert_int_eq(v.level, 0);
        double sum = 0;
        for (int i = 0; i < FEAT_LEVELS; i++)
            sum += (double)v.prob[i];
        if (ok) ck_assert_double_eq_tol(sum, 1, 1e-5);
        packed_free(p);
    }
}

TEST(samples_follow_the_distribution)
{
    struct packed *p = make_packed(false);
    struct decider d;
    ck_assert_int_eq(decide_init(&d, packed_cfg(p), NULL), 0);
    struct view view = make_view();
    struct verdict v;
    int count[3] = {0};
    for (int i = 0; i < 3000; i++) {
        ck_assert(decide(&v, p, &d, &view, decide_draw(1, (uint64_t)i, 0)));
        ck_assert(v.sampled);
        ck_assert_double_eq_tol(exp((double)v.logp), (double)v.prob[v.level], 1e-5);
        count[v.level]++;
    }
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(count[k] / 3000.0, (double)v.prob[k], .03);
    ck_assert_double_eq((double)v.prob[3], 0);
    ck_assert_uint_eq(v.policy, 11);

    ck_assert(decide(&v, p, &d, &view, -1));
    ck_assert(!v.sampled);
    for (int k = 0; k < 3; k++)
        ck_assert(v.prob[k] <= v.prob[v.level]);
    packed_free(p);
}

TEST(weights_that_are_not_finite_give_the_lowest_level)
{
    struct packed *p = make_packed(true);
    struct decider d;
    ck_assert_int_eq(decide_init(&d, packed_cfg(p), NULL), 0);
    struct view view = make_view();
    struct verdict v;
    ck_assert(!decide(&v, p, &d, &view, .9));
    ck_assert_int_eq(v.level, 0);
    ck_assert_int_eq(v.expert, -1);
    ck_assert(!v.sampled);
    packed_free(p);
}

TEST(deciding_allocates_nothing)
{
    struct packed *p = make_packed(false);
    struct decider d;
    ck_assert_int_eq(decide_init(&d, packed_cfg(p), NULL), 0);
    struct view view = make_view();
    struct verdict v;
    alloc_watch();
    for (int i = 0; i < 100; i++)
        decide(&v, p, &d, &view, .5);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    packed_free(p);
}

/* Quantized weights are within what the online learner's ratio of two probabilities, clipped
 * at 0.1 or more, does not see. `make bench` looks at more views. */
TEST(the_shipped_policy_decides_as_its_plain_twin)
{
    struct err e = {0};
    struct policy *p = ckpt_load("deploy/policy/moe.safetensors", NULL, NULL, NULL, &e);
    ck_assert_msg(p, "%s", e.detail);
    struct twin t = twin_compare(p, 20000, 7);
    ck_assert_int_eq(t.views, 20000);
    ck_assert_msg(t.other_level <= 20, "%d other levels", t.other_level);
    ck_assert_msg(t.other_expert <= 2, "%d other experts", t.other_expert);
    ck_assert_msg(t.prob < 1e-2 && t.logp < 2e-2 && t.value < 2e-2,
                  "off by %g (probability), %g (logp), %g (value)", t.prob, t.logp,
                  t.value);
    policy_free(p);
}

/* What a policy learned of its viewers' links decides, except in sessions that explore: their observation is
 * computed again by the learner, by the shipped forecast. */
TEST(a_session_that_explores_has_the_shipped_forecast)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.prior = (struct mix_prior){FEAT_WORTH, FEAT_WORTH_STRIDE, 60};
    struct policy *p = policy_new(&cfg, NULL);
    struct packed *s = packed_new(&cfg, NULL);
    struct decider d;
    ck_assert_int_eq(decide_init(&d, &cfg, NULL), 0);
    struct view v = made_measured_view(6);
    v.qoe = qoe_find("pensieve")->qoe;
    float weights[FORECAST_OWN] = {0};
    for (int q = 0; q < FORECAST_OUTPUTS; q++)
        weights[FORECAST_OWN_B3 + q] = -2; /* far lower */
    struct verdict before[2], after[2];
    for (int learned = 0; learned < 2; learned++) {
        if (learned) policy_copy_input(p, weights, FORECAST_OWN);
        packed_load(s, p);
        for (int explores = 0; explores < 2; explores++)
            ck_assert(decide(&(learned ? after : before)[explores], s, &d, &v,
                             explores ? .5 : -1));
    }
    ck_assert_int_gt(before[0].level, after[0].level);
    ck_assert_mem_eq(before[1].prob, after[1].prob, sizeof before[1].prob);
    packed_free(s);
    policy_free(p);
}

/* Three fixed secrets: each gives the configured share, and selects other sessions. */
TEST(a_secret_draws_evenly_and_its_own)
{
    enum { KEYS = 20000 };
    int both = 0;
    for (int secret = 0; secret < 3; secret++) {
        uint8_t one[SIPHASH_KEY] = {(uint8_t)secret}, other[SIPHASH_KEY] = {9};
        double sum = 0;
        int n = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            double u = decide_secret_draw(one, key, UINT64_MAX);
            ck_assert(u >= 0 && u < 1);
            ck_assert(u == decide_secret_draw(one, key, UINT64_MAX));
            n += u < .2;
            both += u < .2 && decide_secret_draw(other, key, UINT64_MAX) < .2;
            sum += decide_secret_draw(one, key, 3);
        }
        ck_assert_double_eq_tol((double)n / KEYS, .2, .012);
        ck_assert_double_eq_tol(sum / KEYS, .5, .012);
    }
    ck_assert_double_eq_tol(both / 3. / KEYS, .04, .006);
}

SUITE(serve_session_decide, draws_depend_on_seed_key_and_chunk_alone,
      both_layouts_are_known_and_others_refused, twelve_actions_serve_any_ladder,
      a_verdict_on_a_long_ladder, samples_follow_the_distribution,
      weights_that_are_not_finite_give_the_lowest_level, deciding_allocates_nothing,
      the_shipped_policy_decides_as_its_plain_twin,
      a_session_that_explores_has_the_shipped_forecast,
      a_secret_draws_evenly_and_its_own);
