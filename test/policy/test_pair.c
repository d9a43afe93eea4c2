#include "policy/pair.h"

#include "policy/packed.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { WIDE = 20, NARROW = 12, ENTRY = 13, ACTIONS = 4, ON = 3, OFF = 2 };

static struct policy_cfg cfg_of(int obs, int experts)
{
    struct policy_cfg c = policy_cfg_default(obs);
    c.actions = ACTIONS;
    c.hidden = c.critic_hidden = 8;
    c.experts = c.critic_experts = experts;
    return c;
}

/* Scores of the experts differ from row to row. */
static struct policy *drawn(const struct policy_cfg *c, uint64_t seed, float mean,
                            float std)
{
    struct policy *p = policy_new(c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init_uniform(p, seed);
    struct mix *nets[] = {p->actor, p->critic};
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < mix_router(&nets[n]->cfg).n; i++)
            nets[n]->theta[i] *= 8;
    p->ret_mean = mean;
    p->ret_std = std;
    return p;
}

static void draw_obs(float obs[WIDE], struct rng *r, bool on)
{
    for (int i = 0; i < WIDE; i++)
        obs[i] = (float)rng_normal(r);
    obs[ENTRY] = on;
}

/* With the entry 1 the pair decides as the first policy, with 0 as the second, whose observation is the
 * beginning of it. */
TEST(it_decides_as_the_one_that_the_entry_names)
{
    struct policy_cfg wide = cfg_of(WIDE, ON), narrow = cfg_of(NARROW, OFF);
    struct policy *on = drawn(&wide, 1, 2, 3), *off = drawn(&narrow, 2, 2, .5f);
    struct policy *p = pair_new(on, off, ENTRY, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->cfg.experts, ON + OFF);
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL), *a = policy_ws_new(&wide, NULL),
                     *b = policy_ws_new(&narrow, NULL);
    struct rng r;
    rng_init(&r, 5, 0);
    int seen[ON + OFF] = {0};
    for (int i = 0; i < 400; i++) {
        float obs[WIDE];
        bool first = i % 2;
        draw_obs(obs, &r, first);
        struct policy_choice got, want;
        ck_assert_int_eq(policy_decide(&got, p, ws, obs, 15, -1), 0);
        ck_assert_int_eq(
            policy_decide(&want, first ? on : off, first ? a : b, obs, 15, -1), 0);
        ck_assert_int_eq(got.expert, want.expert + (first ? 0 : ON));
        ck_assert_int_eq(got.action, want.action);
        for (int k = 0; k < ACTIONS; k++)
            ck_assert_float_eq_tol(got.prob[k], want.prob[k], 1e-4f);
        ck_assert_float_eq_tol(got.value, want.value, 1e-3f);
        seen[got.expert]++;
    }
    for (int k = 0; k < ON + OFF; k++)
        ck_assert_int_gt(seen[k], 0);
    policy_ws_free(ws), policy_ws_free(a), policy_ws_free(b);
    policy_free(p), policy_free(on), policy_free(off);
}

TEST(what_does_not_fit_is_refused)
{
    struct policy_cfg wide = cfg_of(WIDE, ON), other = cfg_of(NARROW, OFF);
    struct policy_cfg many = cfg_of(NARROW, POLICY_GATES - ON + 1);
    struct policy_cfg single = cfg_of(NARROW, 1);
    single.route = single.critic_route = MIX_SINGLE;
    other.hidden = 9;
    struct policy *on = drawn(&wide, 1, 0, 1);
    const struct {
        struct policy_cfg *cfg;
        int code;
    } rows[] = {{&other, ERR_CONFLICT}, {&many, ERR_RANGE}, {&single, ERR_CONFLICT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        struct policy *off = drawn(rows[i].cfg, 2, 0, 1);
        ck_assert_ptr_null(pair_new(on, off, ENTRY, &e));
        ck_assert_int_eq(e.code, rows[i].code);
        ck_assert(*e.detail);
        policy_free(off);
    }
    struct err e = {0};
    struct policy_cfg narrow = cfg_of(NARROW, ON);
    struct policy *less = drawn(&narrow, 3, 0, 1);
    ck_assert_ptr_null(pair_new(less, on, 3, &e)); /* the second observes more */
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    policy_free(less);
    policy_free(on);
}

SUITE(policy_pair, it_decides_as_the_one_that_the_entry_names,
      what_does_not_fit_is_refused);
