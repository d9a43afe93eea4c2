#include "policy/join.h"

#include "support/suites.h"

#include "base/rng.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, OBS = 5 };

static struct policy_cfg one_expert(void)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    c.hidden = c.critic_hidden = 4;
    return c;
}

static struct policy *single(uint64_t seed)
{
    struct policy_cfg c = one_expert();
    struct policy *p = policy_new(&c, NULL);
    policy_init_uniform(p, seed);
    p->ret_mean = (float)seed;
    p->ret_std = 1.0f + 0.5f * (float)seed;
    return p;
}

static void some(struct policy *p[N])
{
    for (int k = 0; k < N; k++)
        p[k] = single((uint64_t)k + 1);
}

static void drop_all(struct policy *p[N])
{
    for (int k = 0; k < N; k++)
        policy_free(p[k]);
}

static struct policy_choice decide(const struct policy *p, const float *obs)
{
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct policy_choice c;
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 0x3f, -1), 0);
    policy_ws_free(ws);
    return c;
}

START_TEST(a_vertex_is_the_policy_that_was_joined)
{
    struct policy *p[N];
    some(p);
    struct policy *joined = join_new((const struct policy *const *)p, N, NULL);
    ck_assert_int_eq(joined->cfg.experts, N);
    ck_assert_double_eq_tol((double)joined->ret_mean, 2, 1e-6);
    ck_assert_double_eq_tol((double)joined->ret_std, 2.5, 1e-6);
    struct policy_cfg c = join_merged_cfg(&joined->cfg);
    struct policy *merged = policy_new(&c, NULL);
    struct rng r;
    rng_init(&r, 1, 0);
    for (int k = 0; k < N; k++) {
        float x[N] = {0}, obs[OBS];
        x[k] = 1;
        ck_assert_int_eq(join_merge(merged, joined, x), 0);
        for (int i = 0; i < OBS; i++)
            obs[i] = (float)rng_normal(&r);
        struct policy_choice a = decide(p[k], obs), b = decide(merged, obs);
        ck_assert_int_eq(a.action, b.action);
        ck_assert_mem_eq(a.prob, b.prob, sizeof a.prob);
        ck_assert_double_eq_tol((double)a.value, (double)b.value, 1e-5);
    }
    policy_free(merged);
    policy_free(joined);
    drop_all(p);
}
END_TEST

START_TEST(between_them_weights_are_averaged)
{
    struct policy *p[N];
    some(p);
    struct policy *joined = join_new((const struct policy *const *)p, N, NULL);
    joined->version = 9;
    struct policy_cfg c = join_merged_cfg(&joined->cfg);
    struct policy *merged = policy_new(&c, NULL);
    const float x[N] = {.5f, .3f, .2f};
    ck_assert_int_eq(join_merge(merged, joined, x), 0);
    for (size_t i = 0; i < merged->actor->n; i++) {
        double want = 0;
        for (int k = 0; k < N; k++)
            want += (double)x[k] * (double)p[k]->actor->theta[i];
        ck_assert_double_eq_tol((double)merged->actor->theta[i], want, 1e-6);
    }
    ck_assert_uint_eq(merged->version, 9);
    ck_assert_int_eq(join_merge(merged, joined, (float[]){NAN, 0, 1}), ERR_NUMERIC);
    policy_free(merged);
    policy_free(joined);
    drop_all(p);
}
END_TEST

START_TEST(what_cannot_be_joined)
{
    struct policy *p[N];
    some(p);
    const struct policy *const *all = (const struct policy *const *)p;
    struct err e = {0};
    ck_assert_ptr_null(join_new(all, 1, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);

    struct policy_cfg other = one_expert();
    other.hidden = 6;
    struct policy *keep = p[2];
    p[2] = policy_new(&other, NULL);
    e = (struct err){0};
    ck_assert_ptr_null(join_new(all, N, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    policy_free(p[2]);

    other = policy_cfg_default(OBS);
    p[2] = policy_new(&other, NULL);
    e = (struct err){0};
    ck_assert_ptr_null(join_new(all, N, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    policy_free(p[2]);
    p[2] = keep;

    p[1]->critic->theta[0] = NAN;
    e = (struct err){0};
    ck_assert_ptr_null(join_new(all, N, &e));
    ck_assert_int_eq(e.code, ERR_NUMERIC);
    drop_all(p);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return join_new(ctx, N, e);
}

static void drop(void *made)
{
    policy_free(made);
}

START_TEST(without_memory)
{
    struct policy *p[N];
    some(p);
    ck_assert_int_gt(alloc_each_fails(make, drop, p), 3);
    drop_all(p);
}
END_TEST

/* An expert that is left out counts as one that is busy. */
START_TEST(kept_experts_decide_as_if_the_others_were_busy)
{
    static const uint64_t kept[] = {5, 3, 4, 7};
    struct policy_cfg c = policy_cfg_default(OBS);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        struct policy *p = policy_new(&c, NULL);
        policy_init(p, 7);
        struct policy *some_of = join_keep(p, kept[i], 7, NULL);
        ck_assert_ptr_nonnull(some_of);
        p->actor->busy = 7 & ~kept[i];
        struct policy_ws *a = policy_ws_new(&c, NULL),
                         *b = policy_ws_new(&some_of->cfg, NULL);
        ck_assert(a && b);
        struct rng r;
        rng_init(&r, 1, 2);
        for (int n = 0; n < 50; n++) {
            float x[OBS];
            struct policy_choice of_p, of_some;
            for (int k = 0; k < OBS; k++)
                x[k] = (float)rng_normal(&r);
            policy_decide(&of_p, p, a, x, 0xfff, -1);
            policy_decide(&of_some, some_of, b, x, 0xfff, -1);
            for (int k = 0; k < POLICY_ACTIONS; k++)
                ck_assert_float_eq_tol(of_p.prob[k], of_some.prob[k], 1e-5f);
            ck_assert_float_eq_tol(of_p.value, of_some.value, 1e-4f);
        }
        policy_ws_free(a);
        policy_ws_free(b);
        policy_free(some_of);
        policy_free(p);
    }
    struct policy *p = policy_new(&c, NULL);
    struct err e = {0};
    ck_assert_ptr_null(join_keep(p, 8, 7, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    e = (struct err){0};
    ck_assert_ptr_null(join_keep(p, 1, 0, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    policy_free(p);
}
END_TEST

SUITE(policy_join, kept_experts_decide_as_if_the_others_were_busy,
      a_vertex_is_the_policy_that_was_joined, between_them_weights_are_averaged,
      what_cannot_be_joined, without_memory);
