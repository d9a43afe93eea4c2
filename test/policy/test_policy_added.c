#include "policy/policy.h"

#include "policy/packed.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBS = 21, STATES = 300 };

static void shake(float *x, size_t n, double by, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        x[i] += (float)(by * rng_normal(r));
}

static struct policy *lively(const struct policy_cfg *c)
{
    struct policy *p = policy_new(c, NULL);
    struct rng r;
    rng_init(&r, 4, 1);
    policy_init(p, 4);
    shake(p->actor->theta, p->actor->n, .1, &r);
    shake(p->critic->theta, p->critic->n, .1, &r);
    p->ret_mean = 3;
    p->ret_std = 2;
    p->version = 17;
    return p;
}

/* of the mixture alone: what is added stands in `added` */
static struct policy_cfg config(enum mix_route route)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.hidden = 18;
    c.critic_hidden = 33;
    c.actions = 6;
    c.route = route;
    if (route == MIX_SINGLE) c.experts = 1;
    return c;
}

static void shake_added(struct policy_added *a)
{
    struct rng r;
    rng_init(&r, 4, 2);
    shake(a->actor->theta, a->actor->n, .2, &r);
    shake(a->critic->theta, a->critic->n, .2, &r);
}

/* A copy of base with added experts, which have learned something. */
static struct policy *sprout(const struct policy *base, int experts, int sigma,
                             bool learned)
{
    struct policy *p = policy_clone(base, NULL);
    struct policy_added_cfg c = {experts, (enum norga_sigma)sigma};
    ck_assert_int_eq(policy_add(p, &c, NULL, 0, 9, NULL), 0);
    if (learned) shake_added(p->added);
    return p;
}

static void observe(float *x, struct rng *r)
{
    for (int i = 0; i < OBS; i++)
        x[i] = rng_below(r, 2) ? (float)rng_normal(r) : 0.0f;
}

START_TEST(begins_as_the_frozen_policy)
{
    struct policy_cfg c = config(MIX_TOP1);
    struct policy *base = lively(&c), *p = sprout(base, 2, NORGA_TANH, false);
    ck_assert_uint_eq(p->added->version, 1);
    ck_assert_uint_eq(policy_version(p), 1);
    ck_assert_uint_eq(p->added->base_version, 17);
    ck_assert_uint_eq(policy_crc32(p), policy_crc32(base));
    ck_assert(p->added->shape_learns && policy_added_fits(p->added, base));
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct policy frozen = policy_frozen(p);
    ck_assert(!memcmp(&frozen.cfg, &base->cfg, sizeof base->cfg));
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < STATES; i++) {
        float x[OBS];
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        struct policy_choice was, is, view;
        ck_assert_int_eq(policy_decide(&was, base, ws, x, mask, -1), 0);
        ck_assert_int_eq(policy_decide(&view, &frozen, ws, x, mask, -1), 0);
        ck_assert_int_eq(policy_decide(&is, p, ws, x, mask, -1), 0);
        ck_assert(!memcmp(&was, &view, sizeof was) && was.added == 0.0f);
        ck_assert_int_eq(is.action, was.action);
        ck_assert(is.value == was.value);
        for (int a = 0; a < POLICY_ACTIONS; a++)
            ck_assert_double_eq_tol((double)is.prob[a], (double)was.prob[a], 1e-6);
        ck_assert_double_eq_tol((double)is.entropy, (double)was.entropy, 1e-5);
        double sum = 0;
        for (int k = 0; k < POLICY_GATES; k++)
            sum += (double)is.gate[k];
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
    base->critic->theta[5] += 1;
    ck_assert(!policy_added_fits(p->added, base));
    struct err e = {0};
    ck_assert_int_eq(policy_add_copy(base, p->added, &e), ERR_CORRUPT);
    ck_assert_ptr_null(base->added);
    policy_ws_free(ws);
    policy_free(p);
    policy_free(base);
}
END_TEST

/* Eq. 11 on logits, in double, from the two parts */
START_TEST(decides_by_the_sum_of_logits)
{
    struct policy_cfg c = config(MIX_TOP1);
    struct policy *base = lively(&c), *p = sprout(base, 2, NORGA_SIGMOID, true);
    const struct policy_added *g = p->added;
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct norga_cfg ac = policy_added_actor_cfg(&p->cfg);
    struct norga_cfg cc = policy_added_critic_cfg(&p->cfg);
    struct norga_ws *na = norga_ws_new(&ac, 1, NULL), *nc = norga_ws_new(&cc, 1, NULL);
    struct mix_ws *ma = mix_ws_new(&base->actor->cfg, 1, NULL);
    struct mix_ws *mc = mix_ws_new(&base->critic->cfg, 1, NULL);
    struct rng r;
    rng_init(&r, 1, 1);
    int in_charge[2] = {0};
    for (int i = 0; i < STATES; i++) {
        float x[OBS], y0[6], y[6], v0, v, q[2], route[3];
        int chosen;
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        mix_forward(y0, &chosen, route, base->actor, ma, x, NULL, 1);
        mix_forward(&v0, NULL, NULL, base->critic, mc, x, NULL, 1);
        norga_forward(y, q, g->actor, na, x, 1);
        norga_forward(&v, NULL, g->critic, nc, x, 1);
        double e[6], all = 0;
        for (int a = 0; a < 6; a++)
            all += e[a] = mask >> a & 1 ? exp((double)y0[a] + (double)y[a]) : 0;
        struct policy_choice is;
        ck_assert_int_eq(policy_decide(&is, p, ws, x, mask, rng_uniform(&r)), 0);
        for (int a = 0; a < 6; a++)
            ck_assert_double_eq_tol((double)is.prob[a], e[a] / all, 1e-5);
        ck_assert_double_eq_tol((double)is.logp, log(e[is.action] / all), 1e-4);
        ck_assert_double_eq_tol((double)is.value, ((double)v0 + (double)v) * 2 + 3, 1e-4);
        double m = (double)q[0] + (double)q[1];
        ck_assert_double_eq_tol((double)is.gate[chosen], (1 - m) * (double)route[chosen],
                                1e-5);
        ck_assert_double_eq_tol((double)is.gate[3], (double)q[0], 1e-6);
        ck_assert_double_eq_tol((double)is.gate[4], (double)q[1], 1e-6);
        in_charge[is.expert >= 3]++;
    }
    ck_assert(in_charge[0] && in_charge[1]);
    mix_ws_free(mc), mix_ws_free(ma);
    norga_ws_free(nc), norga_ws_free(na);
    policy_ws_free(ws);
    policy_free(p);
    policy_free(base);
}
END_TEST

START_TEST(hidden_layers_come_from_the_experts_in_use)
{
    struct policy_cfg c = config(MIX_TOP1);
    struct policy *base = lively(&c), *p = policy_clone(base, NULL);
    /* the router sends x[0] > 0 to expert 2 and the rest to 1 */
    memset(base->actor->theta, 0, mix_router(&base->actor->cfg).n * sizeof(float));
    base->actor->theta[2 * OBS] = 5;
    base->actor->theta[1 * OBS] = -5;
    float obs[10 * OBS] = {0};
    for (int i = 0; i < 10; i++)
        obs[i * OBS] = i < 7 ? 1.0f : -1.0f;
    struct policy_added_cfg two = {2, NORGA_TANH};
    policy_copy(p, base);
    ck_assert_int_eq(policy_add(p, &two, obs, 10, 1, NULL), 0);
    const struct policy_added *g = p->added;
    static const int from[] = {2, 1};
    for (int j = 0; j < 2; j++) {
        struct mix_range trunk = mix_trunk(&base->actor->cfg, from[j]);
        ck_assert(!memcmp(g->actor->theta + norga_expert(&g->actor->cfg, j).at,
                          base->actor->theta + trunk.at, trunk.n * sizeof(float)));
    }
    policy_free(p);
    policy_free(base);
}
END_TEST

/* what the 16 bits of the frozen policy's hidden layers (policy/packed.h) change in a probability */
static const double QUANTIZED = 5e-4;

START_TEST(packed_is_the_same_function)
{
    static const enum mix_route routes[] = {MIX_TOP1, MIX_DENSE, MIX_SINGLE,
                                            MIX_DENSE_PROBS};
    struct policy_cfg c = config(routes[_i]);
    c.layers = 1 + _i % 3;
    struct policy *base = lively(&c), *p = sprout(base, 1 + _i, _i, true);
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct packed *packed = packed_new(&p->cfg, NULL), *alone = packed_new(&c, NULL);
    packed_load(packed, p);
    packed_load(alone, base);
    ck_assert_uint_eq(packed_version(packed), 1);
    ck_assert_uint_eq(packed_version(alone), 17);
    ck_assert_uint_gt(packed_bytes(packed),
                      packed_bytes(alone) +
                          policy_added_floats(p->added) * sizeof(float));
    struct rng r;
    rng_init(&r, 1, 1);
    int levels = 0;
    for (int i = 0; i < STATES; i++) {
        float x[OBS];
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        struct policy_choice want, got;
        ck_assert_int_eq(policy_decide(&want, p, ws, x, mask, -1), 0);
        ck_assert_int_eq(packed_decide(&got, packed, x, mask, -1), 0);
        double m = 0;
        for (int a = 0; a < POLICY_ACTIONS; a++)
            ck_assert_double_eq_tol((double)got.prob[a], (double)want.prob[a], QUANTIZED);
        for (int k = 0; k < POLICY_GATES; k++)
            ck_assert_double_eq_tol((double)got.gate[k], (double)want.gate[k], 1e-5);
        for (int j = 0; j < p->cfg.added.experts; j++)
            m += (double)want.gate[c.experts + j];
        ck_assert_double_eq_tol((double)got.added, m, 1e-5);
        ck_assert_double_eq_tol((double)got.value, (double)want.value, 2e-3);
        levels |= 1 << got.action;
    }
    ck_assert(levels & (levels - 1));

    struct policy_choice twice[2];
    float x[OBS];
    observe(x, &r);
    alloc_watch();
    for (int i = 0; i < 2; i++)
        (void)!packed_decide(&twice[i], packed, x, 63, .3);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    ck_assert(!memcmp(&twice[0], &twice[1], sizeof twice[0]));

    /* the mixture alone, where there is room for more */
    packed_load(packed, base);
    ck_assert_int_eq(packed_decide(&twice[0], packed, x, 63, .3), 0);
    ck_assert_int_eq(packed_decide(&twice[1], alone, x, 63, .3), 0);
    ck_assert(!memcmp(&twice[0], &twice[1], sizeof twice[0]));
    ck_assert_uint_eq(packed_version(packed), 17);

    /* weights that are not finite: the lowest level, and an error */
    p->added->critic->theta[p->added->critic->n - 1] = NAN;
    packed_load(packed, p);
    ck_assert_int_eq(packed_decide(&twice[0], packed, x, 6, -1), ERR_NUMERIC);
    ck_assert_int_eq(twice[0].action, 1);
    ck_assert(twice[0].added == 0.0f);
    packed_free(alone);
    packed_free(packed);
    policy_ws_free(ws);
    policy_free(p);
    policy_free(base);
}
END_TEST

/* A frozen policy with experts set aside (mix.busy): packed does as the plain twin does, busy experts
 * have no part in a decision, and added experts are never busy. */
START_TEST(frozen_experts_that_are_busy_have_no_part)
{
    static const enum mix_route routes[] = {MIX_TOP1, MIX_DENSE, MIX_DENSE_PROBS};
    struct policy_cfg c = config(routes[_i]);
    struct policy *base = lively(&c), *p = sprout(base, 2, NORGA_TANH, true);
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct packed *all = packed_new(&p->cfg, NULL), *some = packed_new(&p->cfg, NULL);
    packed_load(all, p);
    p->actor->busy = 1;  /* expert 0 */
    p->critic->busy = 6; /* experts 1 and 2 */
    packed_load(some, p);
    struct rng r;
    rng_init(&r, 1, 1);
    int in_charge = 0, other = 0, worth = 0;
    for (int i = 0; i < STATES; i++) {
        float x[OBS];
        observe(x, &r);
        struct policy_choice want, got, idle;
        ck_assert_int_eq(policy_decide(&want, p, ws, x, 63, -1), 0);
        ck_assert_int_eq(packed_decide(&got, some, x, 63, -1), 0);
        ck_assert_int_eq(packed_decide(&idle, all, x, 63, -1), 0);
        for (int a = 0; a < POLICY_ACTIONS; a++)
            ck_assert_double_eq_tol((double)got.prob[a], (double)want.prob[a], QUANTIZED);
        double sum = 0;
        for (int k = 0; k < POLICY_GATES; k++) {
            ck_assert_double_eq_tol((double)got.gate[k], (double)want.gate[k], 1e-5);
            sum += (double)got.gate[k];
        }
        ck_assert(got.gate[0] == 0.0f);
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        ck_assert_double_eq_tol((double)got.value, (double)want.value, 2e-3);
        in_charge += idle.expert == 0;
        other += fabs((double)got.prob[0] - (double)idle.prob[0]) > 10 * QUANTIZED;
        worth += fabs((double)got.value - (double)idle.value) > .02;
    }
    ck_assert_int_gt(in_charge, 0); /* so that it was worth asking */
    ck_assert_int_gt(other, STATES / 20);
    ck_assert_int_gt(worth, STATES / 20);
    packed_free(some);
    packed_free(all);
    policy_ws_free(ws);
    policy_free(p);
    policy_free(base);
}
END_TEST

START_TEST(copies_and_shapes)
{
    struct policy_cfg c = config(MIX_TOP1);
    struct policy *base = lively(&c), *p = sprout(base, 2, NORGA_TANH, true),
                  *q = sprout(base, 2, NORGA_TANH, false);
    struct policy_added *a = p->added, *b = q->added;
    a->version = 5;
    policy_take_shape(q, a);
    ck_assert(!b->shape_learns && b->actor->theta[0] == a->actor->theta[0] &&
              b->critic->theta[1] == a->critic->theta[1]);
    ck_assert(b->actor->theta[2] != a->actor->theta[2]);
    struct policy *copy = policy_clone(p, NULL);
    ck_assert_uint_eq(policy_version(copy), 5);
    ck_assert_uint_eq(copy->added->base_crc, policy_crc32(base));
    ck_assert(
        !memcmp(copy->added->actor->theta, a->actor->theta, a->actor->n * sizeof(float)));
    policy_raise_version(copy);
    ck_assert(copy->added->version == 6 && copy->version == 17);
    ck_assert_uint_eq(policy_added_floats(a), a->actor->n + a->critic->n);
    policy_free(copy);
    copy = policy_clone(base, NULL);
    ck_assert_int_eq(policy_add_copy(copy, a, NULL), 0);
    ck_assert(!memcmp(&copy->cfg, &p->cfg, sizeof p->cfg) && copy->added->version == 5);

    struct err e = {0};
    struct policy_cfg many = c;
    many.experts = 9;
    struct policy_added_cfg eight = {8, NORGA_TANH};
    struct policy *full = policy_new(&many, NULL);
    ck_assert_int_eq(policy_add(full, &eight, NULL, 0, 1, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "experts");
    ck_assert_ptr_null(full->added);
    ck_assert_double_eq_tol((double)policy_floored_ln(0), -30, 1e-9);
    ck_assert_double_eq_tol((double)policy_floored_ln(1e-20f), -30, 1e-9);
    ck_assert_double_eq_tol((double)policy_floored_ln(.5f), log(.5), 1e-6);
    policy_free(full), policy_free(copy), policy_free(p), policy_free(q);
    policy_free(base);
}
END_TEST

/* What experts decided that were added to a policy and trained by an earlier program, from the same
 * weights. Its answers must stay. */
START_TEST(decides_as_it_did)
{
    static const struct {
        int action;
        double prob[2], value, share;
    } want[] = {
        {4, {0.0651236, 0.1973370}, 2.419710, 0.4694923},
        {3, {0.1014821, 0.2266713}, 1.022450, 0.6478561},
        {3, {0.0377859, 0.0910292}, 0.228221, 0.8014651},
        {3, {0.1219987, 0.1306293}, 2.529007, 0.6789266},
        {3, {0.0112359, 0.0280396}, 3.319052, 0.8555354},
        {0, {0.4269025, 0.2036173}, 2.527532, 0.4531347},
        {2, {0.3376087, 0.1195286}, 2.023267, 0.7062185},
        {5, {0.1544694, 0.2363969}, 0.748847, 0.6958101},
    };
    struct policy_cfg c = policy_cfg_default(OBS);
    c.actions = 6;
    struct policy *base = lively(&c), *p = sprout(base, 2, NORGA_TANH, true);
    struct packed *packed = packed_new(&p->cfg, NULL);
    packed_load(packed, p);
    struct rng r;
    rng_init(&r, 7, 7);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        float x[OBS];
        struct policy_choice is;
        observe(x, &r);
        ck_assert_int_eq(packed_decide(&is, packed, x, 63, rng_uniform(&r)), 0);
        ck_assert_int_eq(is.action, want[i].action);
        for (int a = 0; a < 2; a++)
            ck_assert_double_eq_tol((double)is.prob[a], want[i].prob[a], 1e-5);
        ck_assert_double_eq_tol((double)is.value, want[i].value, 1e-4);
        ck_assert_double_eq_tol((double)is.added, want[i].share, 1e-5);
    }
    packed_free(packed);
    policy_free(p);
    policy_free(base);
}
END_TEST

static void *make_policy(void *ctx, struct err *e)
{
    return policy_new(ctx, e);
}

static void *make_ws(void *ctx, struct err *e)
{
    return policy_ws_new(ctx, e);
}

static void *make_packed(void *ctx, struct err *e)
{
    return packed_new(ctx, e);
}

static void *make_added(void *ctx, struct err *e)
{
    struct policy *p = ctx;
    struct policy_added_cfg two = {2, NORGA_TANH};
    float obs[2 * OBS] = {1};
    return policy_add(p, &two, obs, 2, 1, e) ? NULL : p;
}

static void drop_policy(void *made)
{
    policy_free(made);
}

static void drop_ws(void *made)
{
    policy_ws_free(made);
}

static void drop_packed(void *made)
{
    packed_free(made);
}

static void drop_added(void *made)
{
    struct policy *p = made;
    policy_added_free(p->added);
    *p = policy_frozen(p);
}

START_TEST(memory_runs_out)
{
    struct policy_cfg c = config(MIX_TOP1);
    c.added = (struct policy_added_cfg){2, NORGA_TANH};
    alloc_each_fails(make_policy, drop_policy, &c);
    alloc_each_fails(make_ws, drop_ws, &c);
    alloc_each_fails(make_packed, drop_packed, &c);
    c.added.experts = 0;
    struct policy *p = lively(&c);
    alloc_each_fails(make_added, drop_added, p);
    policy_free(p);
}
END_TEST

Suite *suite_policy_policy_added(void);
Suite *suite_policy_policy_added(void)
{
    Suite *s = suite_create("policy/policy_added");
    TCase *t = tcase_create("policy/policy_added");
    tcase_add_test(t, begins_as_the_frozen_policy);
    tcase_add_test(t, decides_by_the_sum_of_logits);
    tcase_add_test(t, hidden_layers_come_from_the_experts_in_use);
    tcase_add_loop_test(t, packed_is_the_same_function, 0, 4);
    tcase_add_loop_test(t, frozen_experts_that_are_busy_have_no_part, 0, 3);
    tcase_add_test(t, copies_and_shapes);
    tcase_add_test(t, decides_as_it_did);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}
