#include "policy/policy.h"

#include "support/suites.h"

#include "base/bytes.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBS = 6 };

static struct policy_cfg small(void)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.actions = 6;
    c.hidden = 8;
    c.critic_hidden = 8;
    return c;
}

/* weights large enough for clearly uneven probabilities */
static struct policy *lively(struct policy_cfg c)
{
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, 11);
    struct rng r;
    rng_init(&r, 5, 0);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] += 0.3f * (float)rng_normal(&r);
    return p;
}

static const float obs[OBS] = {0.3f, -1.0f, 0.8f, 0.1f, 2.0f, -0.4f};

START_TEST(softmax_is_over_the_mask_only)
{
    float x[4] = {1.0f, 2.0f, 900.0f, 3.0f}, p[4];
    float lse = policy_softmax(p, x, 0xb, 4);
    double total = exp(1) + exp(2) + exp(3);
    ck_assert_double_eq_tol((double)p[0], exp(1) / total, 1e-6);
    ck_assert_double_eq_tol((double)p[1], exp(2) / total, 1e-6);
    ck_assert_double_eq_tol((double)p[3], exp(3) / total, 1e-6);
    ck_assert(p[2] == 0.0f);
    ck_assert_double_eq_tol((double)lse, log(total), 1e-6);

    /* in place, bits beyond the actions are nothing */
    policy_softmax(x, x, 0xfffffffb, 4);
    ck_assert_mem_eq(x, p, sizeof p);

    float far[3] = {-1e4f, 0.0f, 1e4f};
    policy_softmax(far, far, 7, 3);
    ck_assert(far[0] == 0.0f && far[1] == 0.0f && far[2] == 1.0f);
    float nan[2] = {NAN, 1.0f};
    ck_assert(!isfinite(policy_softmax(nan, nan, 3, 2)));
}
END_TEST

START_TEST(a_decision_is_consistent)
{
    struct policy *p = lively(small());
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    p->ret_mean = 3.0f;
    p->ret_std = 2.0f;
    for (uint32_t mask = 1; mask < 64; mask++) {
        struct policy_choice c;
        ck_assert_int_eq(policy_decide(&c, p, ws, obs, mask, -1.0), 0);
        double sum = 0, entropy = 0, gates = 0;
        for (int a = 0; a < POLICY_ACTIONS; a++) {
            if (!(mask >> a & 1)) ck_assert(c.prob[a] == 0.0f);
            sum += (double)c.prob[a];
            if (c.prob[a] > 0) entropy -= (double)c.prob[a] * log((double)c.prob[a]);
            ck_assert(c.prob[a] <= c.prob[c.action]);
        }
        for (int k = 0; k < POLICY_GATES; k++)
            gates += (double)c.gate[k];
        ck_assert_double_eq_tol(sum, 1.0, 1e-6);
        ck_assert_double_eq_tol(gates, 1.0, 1e-6);
        ck_assert_double_eq_tol((double)c.entropy, entropy, 1e-5);
        ck_assert_double_eq_tol((double)c.logp, log((double)c.prob[c.action]), 1e-5);
        for (int k = 0; k < 3; k++)
            ck_assert(c.gate[k] <= c.gate[c.expert]);
    }

    /* the value in reward units */
    struct policy_choice c, raw;
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 63, -1.0), 0);
    p->ret_mean = 0.0f;
    p->ret_std = 1.0f;
    ck_assert_int_eq(policy_decide(&raw, p, ws, obs, 63, -1.0), 0);
    ck_assert_double_eq_tol((double)c.value, 3.0 + 2.0 * (double)raw.value, 1e-5);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

START_TEST(sampling_inverts_the_cumulated_probabilities)
{
    struct policy *p = lively(small());
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    const uint32_t mask = 0x2d;
    const int n = 20000;
    int count[POLICY_ACTIONS] = {0};
    struct policy_choice c;
    for (int i = 0; i < n; i++) {
        double u = (i + 0.5) / n, below = 0;
        ck_assert_int_eq(policy_decide(&c, p, ws, obs, mask, u), 0);
        count[c.action]++;
        for (int a = 0; a < c.action; a++)
            below += (double)c.prob[a];
        ck_assert_double_le(below, u);
        ck_assert_double_ge(below + (double)c.prob[c.action] + 1e-6, u);
        ck_assert_double_eq_tol((double)c.logp, log((double)c.prob[c.action]), 1e-5);
    }
    for (int a = 0; a < POLICY_ACTIONS; a++)
        ck_assert_double_eq_tol((double)count[a] / n, (double)c.prob[a], 2.0 / n);

    ck_assert_int_eq(policy_decide(&c, p, ws, obs, mask, 0.0), 0);
    ck_assert_int_eq(c.action, 0);
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, mask, 1.0 - 0x1p-53), 0);
    ck_assert_int_eq(c.action, 5);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

START_TEST(ties_go_to_the_lowest_level)
{
    struct policy_cfg cfg = small();
    struct policy *p = policy_new(&cfg, NULL); /* weights 0: all alike */
    struct policy_ws *ws = policy_ws_new(&cfg, NULL);
    struct policy_choice c;
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 0x38, -1.0), 0);
    ck_assert_int_eq(c.action, 3);
    ck_assert_double_eq_tol((double)c.entropy, log(3.0), 1e-6);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

static void expect_give_up(const struct policy *p, const float *x)
{
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct policy_choice c;
    ck_assert_int_eq(policy_decide(&c, p, ws, x, 0x1a, 0.9), ERR_NUMERIC);
    ck_assert_int_eq(c.action, 1);
    for (int a = 0; a < POLICY_ACTIONS; a++)
        ck_assert_double_eq_tol((double)c.prob[a], 0x1a >> a & 1 ? 1.0 / 3 : 0.0, 1e-6);
    ck_assert_double_eq_tol((double)c.logp, -log(3.0), 1e-6);
    ck_assert_double_eq_tol((double)c.entropy, log(3.0), 1e-6);
    ck_assert(c.value == 0.0f && c.gate[0] == 0.0f);
    policy_ws_free(ws);
}

START_TEST(numbers_that_are_not_finite_are_caught)
{
    static const enum mix_route routes[] = {MIX_DENSE, MIX_TOP1, MIX_TOP1_UNSCALED,
                                            MIX_DENSE_PROBS};
    for (size_t i = 0; i < 4; i++) {
        struct policy_cfg cfg = small();
        cfg.route = routes[i];
        struct policy *p = lively(cfg);
        float bad_obs[OBS];
        memcpy(bad_obs, obs, sizeof obs);
        bad_obs[2] = NAN;
        expect_give_up(p, bad_obs);

        float keep = p->actor->theta[0];
        p->actor->theta[0] = NAN; /* the router */
        expect_give_up(p, obs);
        p->actor->theta[0] = keep;

        for (int k = 0; k < cfg.experts; k++) { /* every head */
            struct mix_range e = mix_expert(&p->actor->cfg, k);
            for (int j = 1; j <= 6; j++)
                p->actor->theta[e.at + e.n - (size_t)j] = INFINITY;
        }
        expect_give_up(p, obs);
        policy_free(p);

        p = lively(cfg);
        for (size_t j = 0; j < p->critic->n; j++)
            p->critic->theta[j] = NAN;
        expect_give_up(p, obs);
        policy_free(p);
    }
}
END_TEST

START_TEST(masked_levels_may_be_infinite)
{
    struct policy_cfg cfg = small();
    struct policy *p = lively(cfg);
    struct policy_ws *ws = policy_ws_new(&cfg, NULL);
    for (int k = 0; k < cfg.experts; k++) { /* bias of action 5 */
        struct mix_range e = mix_expert(&p->actor->cfg, k);
        p->actor->theta[e.at + e.n - 1] = INFINITY;
    }
    struct policy_choice c;
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 0x1f, 0.5), 0);
    ck_assert(c.prob[5] == 0.0f);
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 0x3f, 0.5), ERR_NUMERIC);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

START_TEST(copies_carry_everything)
{
    struct policy *p = lively(small());
    p->ret_mean = 1.5f;
    p->ret_std = 0.5f;
    p->version = 42;
    p->actor->busy = 2;
    struct policy *q = policy_clone(p, NULL);
    ck_assert_uint_eq(q->actor->busy, 2);
    ck_assert_mem_eq(q->actor->theta, p->actor->theta, sizeof(float) * p->actor->n);
    ck_assert_mem_eq(q->critic->theta, p->critic->theta, sizeof(float) * p->critic->n);
    ck_assert(q->ret_mean == 1.5f && q->ret_std == 0.5f && q->version == 42);
    ck_assert(q->actor->theta != p->actor->theta);
    policy_free(q);
    policy_free(p);
    policy_free(NULL);
    policy_ws_free(NULL);
}
END_TEST

START_TEST(start_depends_on_the_seed_only)
{
    struct policy_cfg c = small();
    struct policy *a = policy_new(&c, NULL), *b = policy_new(&c, NULL);
    policy_init(a, 1);
    policy_init(b, 1);
    ck_assert_mem_eq(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    policy_init(b, 2);
    ck_assert(memcmp(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n) != 0);

    /* nearly uniform at first */
    struct policy_ws *ws = policy_ws_new(&c, NULL);
    struct policy_choice choice;
    ck_assert_int_eq(policy_decide(&choice, a, ws, obs, 63, -1.0), 0);
    ck_assert_double_eq_tol((double)choice.entropy, log(6.0), 1e-3);
    policy_ws_free(ws);
    policy_free(a);
    policy_free(b);
}
END_TEST

/* Every weight of every layer, router and biases included, within 1/sqrt(inputs), and near that
 * bound somewhere. */
START_TEST(uniform_start_keeps_its_bounds)
{
    struct policy_cfg c = small();
    struct policy *a = policy_new(&c, NULL), *b = policy_new(&c, NULL);
    policy_init_uniform(a, 1);
    policy_init_uniform(b, 1);
    ck_assert_mem_eq(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    ck_assert_mem_eq(a->critic->theta, b->critic->theta, sizeof(float) * a->critic->n);
    policy_init_uniform(b, 2);
    ck_assert(memcmp(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n) != 0);

    /* OBS inputs: router and first layers; hidden inputs: the rest */
    const struct mix *m = a->actor;
    struct mix_range router = mix_router(&m->cfg);
    size_t wide = (size_t)(OBS + 1) * (size_t)c.hidden;
    float top[2] = {0, 0};
    for (size_t i = 0; i < router.n; i++)
        top[0] = fmaxf(top[0], fabsf(m->theta[i]));
    for (int k = 0; k < c.experts; k++) {
        struct mix_range of = mix_expert(&m->cfg, k);
        for (size_t i = 0; i < of.n; i++) {
            float *t = &top[i >= wide], w = fabsf(m->theta[of.at + i]);
            ck_assert_float_gt(w, 0);
            *t = fmaxf(*t, w);
        }
    }
    const float bound[2] = {1 / sqrtf(OBS), 1 / sqrtf((float)c.hidden)};
    for (int i = 0; i < 2; i++) {
        ck_assert_float_le(top[i], bound[i]);
        ck_assert_float_gt(top[i], 0.95f * bound[i]);
    }
    policy_free(a);
    policy_free(b);
}
END_TEST

START_TEST(bad_configurations_are_named)
{
    struct {
        struct policy_cfg c;
        const char *field;
    } bad[8];
    for (int i = 0; i < 8; i++)
        bad[i].c = small();
    bad[0].c.obs_dim = 0, bad[0].field = "obs_dim";
    bad[1].c.actions = 13, bad[1].field = "actions";
    bad[2].c.hidden = 4000, bad[2].field = "hidden";
    bad[3].c.layers = 4, bad[3].field = "layers";
    bad[4].c.experts = 0, bad[4].field = "experts";
    bad[5].c.critic_hidden = 0, bad[5].field = "critic_hidden";
    bad[6].c.critic_experts = 99, bad[6].field = "critic_experts";
    bad[7].c.critic_route = MIX_SINGLE, bad[7].field = "critic_experts";
    for (int i = 0; i < 8; i++) {
        struct err e = {0};
        ck_assert_ptr_null(policy_new(&bad[i].c, &e));
        ck_assert_int_eq(e.code, ERR_RANGE);
        ck_assert_str_eq(e.field, bad[i].field);
        ck_assert_ptr_null(policy_ws_new(&bad[i].c, NULL));
    }
}
END_TEST

static void *make_policy(void *ctx, struct err *e)
{
    return policy_new(ctx, e);
}

static void *make_clone(void *ctx, struct err *e)
{
    return policy_clone(ctx, e);
}

static void *make_ws(void *ctx, struct err *e)
{
    return policy_ws_new(ctx, e);
}

static void free_policy(void *p)
{
    policy_free(p);
}

static void free_ws(void *ws)
{
    policy_ws_free(ws);
}

START_TEST(memory_is_got_at_the_start_only)
{
    struct policy *p = lively(small());
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    ck_assert_int_eq(alloc_each_fails(make_policy, free_policy, &p->cfg), 5);
    ck_assert_int_eq(alloc_each_fails(make_clone, free_policy, p), 5);
    ck_assert_int_eq(alloc_each_fails(make_ws, free_ws, &p->cfg), 7);

    struct policy *q = policy_clone(p, NULL);
    struct policy_choice c;
    alloc_watch();
    int rc = policy_decide(&c, p, ws, obs, 63, 0.4);
    policy_copy(q, p);
    long calls = alloc_calls(); /* before an assertion makes its own */
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    policy_free(q);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

START_TEST(a_checksum_of_all_weights)
{
    struct policy_cfg c = policy_cfg_default(8);
    struct policy *p = policy_new(&c, NULL), *q = policy_new(&c, NULL);
    policy_init(p, 1);
    policy_copy(q, p);
    uint32_t crc = policy_crc32(p);
    uint32_t want = bytes_crc32(0, p->actor->theta, p->actor->n * sizeof(float));
    want = bytes_crc32(want, p->critic->theta, p->critic->n * sizeof(float));
    ck_assert_uint_eq(crc, want);
    q->version = 7;
    ck_assert_uint_eq(policy_crc32(q), crc);
    q->critic->theta[q->critic->n - 1] += 1.0f;
    ck_assert_uint_ne(policy_crc32(q), crc);
    policy_free(p);
    policy_free(q);
}
END_TEST

SUITE(policy_policy, softmax_is_over_the_mask_only, a_decision_is_consistent,
      sampling_inverts_the_cumulated_probabilities, ties_go_to_the_lowest_level,
      numbers_that_are_not_finite_are_caught, masked_levels_may_be_infinite,
      copies_carry_everything, start_depends_on_the_seed_only,
      uniform_start_keeps_its_bounds, bad_configurations_are_named,
      memory_is_got_at_the_start_only, a_checksum_of_all_weights);
