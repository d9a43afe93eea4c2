#include "policy/packed.h"

#include "support/suites.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* weights that make levels, experts and values differ */
static struct policy *lively(const struct policy_cfg *c, uint64_t seed)
{
    struct policy *p = policy_new(c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, seed);
    struct rng r;
    rng_init(&r, seed, 7);
    struct mix *nets[] = {p->actor, p->critic};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < nets[k]->n; i++)
            nets[k]->theta[i] += 0.1f * (float)rng_normal(&r);
    p->ret_mean = 3.0f;
    p->ret_std = 2.0f;
    p->version = seed;
    return p;
}

static struct packed *packed(const struct policy *p)
{
    struct packed *s = packed_new(&p->cfg, NULL);
    ck_assert_ptr_nonnull(s);
    packed_load(s, p);
    return s;
}

/* half of it zeros, like a short ladder's */
static void random_obs(float *x, int n, struct rng *r)
{
    for (int i = 0; i < n; i++)
        x[i] = rng_below(r, 2) ? (float)rng_normal(r) : 0.0f;
}

/* what rounding the hidden layers to 16 bits may change in a probability, and in entropy, logp
 * and value */
static const double QUANTIZED = 5e-4;

/* how far the best is ahead of the second */
static double lead(const float *x, int n, int best)
{
    double second = 0.0;
    for (int i = 0; i < n; i++)
        if (i != best) second = fmax(second, (double)x[i]);
    return (double)x[best] - second;
}

static void equal_to(double tol, double got, double want, const char *what)
{
    ck_assert_msg(fabs(got - want) <= tol * fmax(1.0, fabs(want)), "%s: %.9g, not %.9g",
                  what, got, want);
}

/* The plain twin on random states; what was chosen is the same unless two are equal to
 * rounding. */
static void compare(const struct policy_cfg *c, int states, uint64_t seed)
{
    struct policy *p = lively(c, seed);
    struct policy_ws *ws = policy_ws_new(c, NULL);
    struct packed *s = packed(p);
    float *x = malloc(sizeof *x * (size_t)c->obs_dim);
    struct rng r;
    rng_init(&r, seed, 8);
    int seen = 0, experts = 0;
    for (int i = 0; i < states; i++) {
        random_obs(x, c->obs_dim, &r);
        uint32_t mask = rng_below(&r, (1u << c->actions) - 1) + 1;
        double u = i % 2 ? -1.0 : rng_uniform(&r);
        struct policy_choice want, got;
        ck_assert_int_eq(policy_decide(&want, p, ws, x, mask, u), 0);
        ck_assert_int_eq(packed_decide(&got, s, x, mask, u), 0);
        int told = c->experts < POLICY_GATES ? c->experts : POLICY_GATES;
        if (c->route != MIX_SINGLE && lead(want.gate, told, want.expert) < 1e-5) continue;
        ck_assert_int_eq(got.expert, want.expert);
        for (int a = 0; a < POLICY_ACTIONS; a++)
            equal_to(QUANTIZED, (double)got.prob[a], (double)want.prob[a], "probability");
        for (int k = 0; k < POLICY_GATES; k++)
            equal_to(1e-5, (double)got.gate[k], (double)want.gate[k], "gate");
        equal_to(2e-3, (double)got.value, (double)want.value, "value");
        equal_to(QUANTIZED, (double)got.entropy, (double)want.entropy, "entropy");
        if (u < 0 && lead(want.prob, POLICY_ACTIONS, want.action) < QUANTIZED) continue;
        ck_assert_msg(got.action == want.action || u >= 0, "state %d: level %d, not %d",
                      i, got.action, want.action);
        if (got.action == want.action)
            equal_to(QUANTIZED, (double)got.logp, (double)want.logp, "logp");
        seen |= 1 << got.action;
        experts |= 1 << got.expert;
    }
    ck_assert_msg(seen & (seen - 1), "one level only: the test shows nothing");
    if (c->experts > 1) ck_assert_msg(experts & (experts - 1), "one expert only");
    free(x);
    packed_free(s);
    policy_ws_free(ws);
    policy_free(p);
}

START_TEST(same_as_the_plain_twin_in_every_shape)
{
    static const enum mix_route routes[] = {MIX_SINGLE, MIX_DENSE, MIX_TOP1,
                                            MIX_TOP1_UNSCALED, MIX_DENSE_PROBS};
    static const int hidden[] = {3, 18, 64, 130};
    for (int i = 0; i < 80; i++) {
        struct policy_cfg c = policy_cfg_default(i % 2 ? 48 : 21);
        c.route = routes[i % 5];
        c.critic_route = routes[i / 5 % 4];
        c.hidden = hidden[i / 20];
        c.critic_hidden = hidden[(i + 1) % 4];
        c.layers = 1 + i % 3;
        c.actions = 2 + i % 11;
        c.experts = c.route == MIX_SINGLE ? 1 : 2 + i % 15;
        c.critic_experts = c.critic_route == MIX_SINGLE ? 1 : 2 + (i + 5) % 40;
        if (i % 3 == 0) c.prior = (struct mix_prior){1, 1, 3};
        compare(&c, 60, (uint64_t)i + 1);
    }
}
END_TEST

START_TEST(same_level_on_many_states)
{
    struct policy_cfg c = policy_cfg_default(128);
    compare(&c, 20000, 100);
}
END_TEST

START_TEST(loading_replaces_everything)
{
    struct policy_cfg c = policy_cfg_default(12);
    struct policy *a = lively(&c, 1), *b = lively(&c, 2);
    b->ret_mean = -7.0f;
    struct packed *s = packed_new(&c, NULL), *fresh = packed(b);
    float x[12];
    struct rng r;
    rng_init(&r, 3, 0);
    random_obs(x, 12, &r);
    struct policy_choice got, want;

    /* before: weights 0 */
    ck_assert_int_eq(packed_decide(&got, s, x, 0xe, -1.0), 0);
    ck_assert_int_eq(got.action, 1);
    ck_assert_double_eq_tol((double)got.entropy, log(3.0), 1e-6);
    ck_assert_uint_eq(packed_version(s), 0);

    packed_load(s, a);
    ck_assert_uint_eq(packed_version(s), 1);
    packed_load(s, b);
    ck_assert_uint_eq(packed_version(s), 2);
    ck_assert_int_eq(packed_decide(&got, s, x, 0xfff, 0.3), 0);
    ck_assert_int_eq(packed_decide(&want, fresh, x, 0xfff, 0.3), 0);
    ck_assert_mem_eq(&got, &want, sizeof got);
    ck_assert_mem_eq(packed_cfg(s), &c, sizeof c);
    ck_assert(*packed_isa(s));
    packed_free(s);
    packed_free(fresh);
    packed_free(NULL);
    policy_free(a);
    policy_free(b);
}
END_TEST

static void expect_give_up(const struct packed *s, const float *x)
{
    struct policy_choice c;
    ck_assert_int_eq(packed_decide(&c, s, x, 0x1a, 0.9), ERR_NUMERIC);
    ck_assert_int_eq(c.action, 1);
    for (int a = 0; a < POLICY_ACTIONS; a++)
        ck_assert_double_eq_tol((double)c.prob[a], 0x1a >> a & 1 ? 1.0 / 3 : 0.0, 1e-6);
    ck_assert_double_eq_tol((double)c.logp, -log(3.0), 1e-6);
    ck_assert(c.value == 0.0f && c.gate[0] == 0.0f);
}

START_TEST(numbers_that_are_not_finite_are_caught)
{
    struct policy_cfg c = policy_cfg_default(6);
    c.hidden = c.critic_hidden = 8;
    c.actions = 6;
    struct policy *p = lively(&c, 4);
    struct packed *s = packed(p);
    float x[6] = {0.3f, -1.0f, 0.0f, 0.1f, 2.0f, -0.4f}, bad[6];
    struct policy_choice choice;
    ck_assert_int_eq(packed_decide(&choice, s, x, 0x1a, 0.9), 0);
    for (int i = 0; i < 6; i++) {
        memcpy(bad, x, sizeof x);
        bad[i] = i % 2 ? NAN : INFINITY;
        expect_give_up(s, bad);
    }

    p->ret_std = NAN;
    packed_load(s, p);
    expect_give_up(s, x);
    p->ret_std = 1.0f;
    packed_load(s, p);
    ck_assert_int_eq(packed_decide(&choice, s, x, 0x1a, 0.9), 0);
    packed_free(s);
    policy_free(p);
}
END_TEST

/* whose parameter theta[i] is: an expert's, or its gate's */
static int owner_of(const struct mix_cfg *c, size_t i)
{
    size_t router = mix_router(c).n, weights = (size_t)c->experts * (size_t)c->in;
    if (i < router) return (int)(i < weights ? i / (size_t)c->in : i - weights);
    return (int)((i - router) / mix_expert(c, 0).n);
}

/* as if the policy had no such expert; theta is broken in one place at a time */
static void break_each(struct policy *p, struct mix *net, struct packed *s,
                       const float *x)
{
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    for (size_t i = 0; i < net->n; i += 7) {
        int broken = owner_of(&net->cfg, i);
        float keep = net->theta[i];
        net->theta[i] = i % 2 ? NAN : -INFINITY;
        packed_load(s, p);
        struct policy_choice got, want;
        ck_assert_int_eq(packed_decide(&got, s, x, 0x1a, 0.9), 0);
        ck_assert_uint_eq(net == p->actor ? packed_actor_busy(s) : packed_critic_busy(s),
                          1u << broken);
        net->busy = (uint64_t)1 << broken;
        ck_assert_int_eq(policy_decide(&want, p, ws, x, 0x1a, 0.9), 0);
        ck_assert_int_eq(got.expert, want.expert);
        if (net == p->actor) ck_assert_int_ne(got.expert, broken);
        ck_assert(net != p->actor || got.gate[broken] == 0.0f);
        for (int a = 0; a < POLICY_ACTIONS; a++)
            equal_to(QUANTIZED, (double)got.prob[a], (double)want.prob[a], "probability");
        equal_to(2e-3, (double)got.value, (double)want.value, "value");
        net->theta[i] = keep;
        net->busy = 0;
    }
    policy_ws_free(ws);
}

START_TEST(a_broken_expert_is_busy_and_the_best_idle_one_answers)
{
    static const enum mix_route routes[] = {MIX_TOP1, MIX_DENSE, MIX_DENSE_PROBS};
    float x[6] = {0.3f, -1.0f, 0.0f, 0.1f, 2.0f, -0.4f};
    for (int i = 0; i < 3; i++) {
        struct policy_cfg c = policy_cfg_default(6);
        c.hidden = c.critic_hidden = 8;
        c.actions = 6;
        c.route = routes[i];
        c.critic_route = i ? MIX_DENSE : MIX_TOP1;
        struct policy *p = lively(&c, 4);
        struct packed *s = packed(p);
        ck_assert_uint_eq(packed_actor_busy(s) | packed_critic_busy(s), 0);
        break_each(p, p->actor, s, x);
        break_each(p, p->critic, s, x);
        packed_free(s);
        policy_free(p);
    }
}
END_TEST

START_TEST(without_an_idle_expert_nobody_decides)
{
    struct policy_cfg c = policy_cfg_default(6);
    struct policy *p = lively(&c, 4);
    struct packed *s = packed(p);
    float x[6] = {0.3f};
    struct policy_choice choice;
    p->actor->busy = 5;
    packed_load(s, p);
    ck_assert_int_eq(packed_decide(&choice, s, x, 0x1a, 0.9), 0);
    ck_assert_int_eq(choice.expert, 1);
    p->actor->theta[mix_expert(&p->actor->cfg, 1).at] = NAN;
    packed_load(s, p);
    expect_give_up(s, x);
    p->actor->busy = 0;
    packed_load(s, p);
    ck_assert_int_eq(packed_decide(&choice, s, x, 0x1a, 0.9), 0);
    p->critic->busy = 7;
    packed_load(s, p);
    expect_give_up(s, x);
    packed_free(s);
    policy_free(p);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return packed_new(ctx, e);
}

static void destroy(void *s)
{
    packed_free(s);
}

START_TEST(memory_is_got_at_the_start_only)
{
    struct policy_cfg c = policy_cfg_default(12);
    ck_assert_int_eq(alloc_each_fails(make, destroy, &c), 2);
    struct policy *p = lively(&c, 5);
    struct packed *s = packed(p);
    float x[12] = {1.0f};
    struct policy_choice choice;
    alloc_watch();
    packed_load(s, p);
    int rc = packed_decide(&choice, s, x, 63, 0.4);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    packed_free(s);
    policy_free(p);

    struct err e = {0};
    c.layers = 4;
    ck_assert_ptr_null(packed_new(&c, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "layers");
}
END_TEST

SUITE_WITHIN(policy_packed, 60, same_as_the_plain_twin_in_every_shape,
             same_level_on_many_states, loading_replaces_everything,
             numbers_that_are_not_finite_are_caught,
             a_broken_expert_is_busy_and_the_best_idle_one_answers,
             without_an_idle_expert_nobody_decides, memory_is_got_at_the_start_only);
