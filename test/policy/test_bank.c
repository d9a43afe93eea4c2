#include "policy/bank.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct mix *three_experts(void)
{
    struct mix_cfg c = {
        .in = 2, .hidden = 3, .layers = 1, .out = 2, .experts = 3, .route = MIX_TOP1};
    struct mix *m = mix_new(&c, NULL);
    struct rng r;
    rng_init(&r, 1, 1);
    mix_init(m, 1.0f, &r);
    return m;
}

START_TEST(merge_is_the_weighted_sum)
{
    struct mix *m = three_experts();
    struct mix_range e = mix_expert(&m->cfg, 0);
    float *out = calloc(e.n, sizeof *out);
    ck_assert_int_eq(bank_merge(out, m, (float[]){0.5f, 0.25f, -1.0f}), 0);
    for (size_t i = 0; i < e.n; i++) {
        const float *t = m->theta + e.at + i;
        double want = 0.5 * (double)t[0] + 0.25 * (double)t[e.n] - (double)t[2 * e.n];
        ck_assert_double_eq_tol((double)out[i], want, 1e-6);
    }

    /* a weight of 1 is that expert to the bit */
    ck_assert_int_eq(bank_merge(out, m, (float[]){0, 1, 0}), 0);
    ck_assert_mem_eq(out, m->theta + mix_expert(&m->cfg, 1).at, sizeof *out * e.n);
    free(out);
    mix_free(m);
}
END_TEST

START_TEST(merging_what_is_not_finite)
{
    struct mix *m = three_experts();
    struct mix_range e = mix_expert(&m->cfg, 0);
    float *out = calloc(e.n, sizeof *out);
    ck_assert_int_eq(bank_merge(out, m, (float[]){NAN, 0, 1}), ERR_NUMERIC);
    m->theta[mix_expert(&m->cfg, 2).at] = INFINITY;
    ck_assert_int_eq(bank_merge(out, m, (float[]){0, 0, 1}), ERR_NUMERIC);
    free(out);
    mix_free(m);
}
END_TEST

static struct policy *random_policy(int critic_experts)
{
    struct policy_cfg cfg = policy_cfg_default(5);
    cfg.hidden = cfg.critic_hidden = 4;
    cfg.critic_experts = critic_experts;
    cfg.critic_route = critic_experts == 1 ? MIX_SINGLE : MIX_TOP1;
    struct policy *p = policy_new(&cfg, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, 9);
    p->ret_mean = 2;
    p->ret_std = 3;
    return p;
}

/* expert k of both nets, alone in a policy */
static void equals_expert(const struct policy *merged, const struct policy *p, int k)
{
    struct mix_range a = mix_expert(&p->actor->cfg, k);
    ck_assert_uint_eq(merged->actor->n, a.n);
    ck_assert_mem_eq(merged->actor->theta, p->actor->theta + a.at, a.n * sizeof(float));
    struct mix_range c = mix_expert(&p->critic->cfg, p->cfg.critic_experts == 1 ? 0 : k);
    ck_assert_uint_eq(merged->critic->n, c.n);
    ck_assert_mem_eq(merged->critic->theta, p->critic->theta + c.at, c.n * sizeof(float));
}

START_TEST(a_policy_merges_in_actor_and_critic)
{
    for (int critic = 1; critic <= 3; critic += 2) {
        struct policy *p = random_policy(critic);
        struct policy_cfg cfg;
        ck_assert_int_eq(bank_policy_cfg(&cfg, &p->cfg, NULL), 0);
        ck_assert_int_eq(cfg.experts, 1);
        ck_assert_int_eq(cfg.critic_experts, 1);
        ck_assert_int_eq(cfg.route, MIX_SINGLE);
        struct policy *merged = policy_new(&cfg, NULL);
        merged->version = 7;
        for (int k = 0; k < 3; k++) {
            float x[3] = {0};
            x[k] = 1;
            ck_assert_int_eq(bank_policy(merged, p, x), 0);
            equals_expert(merged, p, k);
        }
        ck_assert_float_eq(merged->ret_mean, 2);
        ck_assert_float_eq(merged->ret_std, 3);
        ck_assert_uint_eq(merged->version, 7);

        static const float half[3] = {.5f, 0, .5f};
        ck_assert_int_eq(bank_policy(merged, p, half), 0);
        struct mix_range a = mix_expert(&p->actor->cfg, 0),
                         b = mix_expert(&p->actor->cfg, 2);
        for (size_t i = 0; i < a.n; i++)
            ck_assert_float_eq_tol(
                merged->actor->theta[i],
                (p->actor->theta[a.at + i] + p->actor->theta[b.at + i]) / 2, 1e-7f);
        ck_assert_int_eq(bank_policy(merged, p, (float[]){NAN, 0, 0}), ERR_NUMERIC);
        policy_free(merged);
        policy_free(p);
    }
}
END_TEST

START_TEST(critics_that_do_not_go_along_are_refused)
{
    struct policy_cfg cfg = policy_cfg_default(5), out;
    cfg.critic_experts = 2;
    struct err e = {0};
    ck_assert_int_eq(bank_policy_cfg(&out, &cfg, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "critic_experts");
}
END_TEST

SUITE(policy_bank, merge_is_the_weighted_sum, merging_what_is_not_finite,
      a_policy_merges_in_actor_and_critic, critics_that_do_not_go_along_are_refused);
