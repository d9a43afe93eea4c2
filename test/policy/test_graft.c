#include "policy/graft.h"

#include "policy/graft_pack.h"
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

static struct graft_cfg config(int sigma, enum mix_route route)
{
    struct graft_cfg c = {
        .base = policy_cfg_default(OBS), .experts = 2, .sigma = (enum norga_sigma)sigma};
    c.base.hidden = 18;
    c.base.critic_hidden = 33;
    c.base.actions = 6;
    c.base.route = route;
    if (route == MIX_SINGLE) c.base.experts = 1;
    return c;
}

static struct graft *sprout(const struct graft_cfg *c, const struct policy *base,
                            bool added)
{
    struct graft *g = graft_new(c, NULL);
    ck_assert_ptr_nonnull(g);
    ck_assert_int_eq(graft_init(g, base, NULL, 0, 9, NULL), 0);
    struct rng r;
    rng_init(&r, 4, 2);
    if (added) {
        shake(g->actor->theta, g->actor->n, .2, &r);
        shake(g->critic->theta, g->critic->n, .2, &r);
    }
    return g;
}

static void observe(float *x, struct rng *r)
{
    for (int i = 0; i < OBS; i++)
        x[i] = rng_below(r, 2) ? (float)rng_normal(r) : 0.0f;
}

START_TEST(begins_as_the_frozen_policy)
{
    struct graft_cfg c = config(NORGA_TANH, MIX_TOP1);
    struct policy *base = lively(&c.base);
    struct graft *g = sprout(&c, base, false);
    ck_assert_uint_eq(g->version, 1);
    ck_assert_uint_eq(g->base_version, 17);
    ck_assert(g->shape_learns && graft_fits(g, base));
    struct graft_ws *ws = graft_ws_new(&c, NULL);
    struct policy_ws *pws = policy_ws_new(&c.base, NULL);
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < STATES; i++) {
        float x[OBS];
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        struct policy_choice was, is;
        ck_assert_int_eq(policy_decide(&was, base, pws, x, mask, -1), 0);
        ck_assert_int_eq(graft_decide(&is, g, base, ws, x, mask, -1), 0);
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
    ck_assert(!graft_fits(g, base));
    policy_ws_free(pws);
    graft_ws_free(ws);
    graft_free(g);
    policy_free(base);
}
END_TEST

/* Eq. 11 on logits, in double, from the two parts */
START_TEST(decides_by_the_sum_of_logits)
{
    struct graft_cfg c = config(NORGA_SIGMOID, MIX_TOP1);
    struct policy *base = lively(&c.base);
    struct graft *g = sprout(&c, base, true);
    struct graft_ws *ws = graft_ws_new(&c, NULL);
    struct norga_cfg ac = graft_actor_cfg(&c), cc = graft_critic_cfg(&c);
    struct norga_ws *na = norga_ws_new(&ac, 1, NULL), *nc = norga_ws_new(&cc, 1, NULL);
    struct mix_ws *ma = mix_ws_new(&base->actor->cfg, 1, NULL);
    struct mix_ws *mc = mix_ws_new(&base->critic->cfg, 1, NULL);
    struct rng r;
    rng_init(&r, 1, 1);
    int in_charge[2] = {0};
    for (int i = 0; i < STATES; i++) {
        float x[OBS], y0[6], y[6], v0, v, q[2], p[3];
        int chosen;
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        mix_forward(y0, &chosen, p, base->actor, ma, x, NULL, 1);
        mix_forward(&v0, NULL, NULL, base->critic, mc, x, NULL, 1);
        norga_forward(y, q, g->actor, na, x, 1);
        norga_forward(&v, NULL, g->critic, nc, x, 1);
        double e[6], all = 0;
        for (int a = 0; a < 6; a++)
            all += e[a] = mask >> a & 1 ? exp((double)y0[a] + (double)y[a]) : 0;
        struct policy_choice is;
        ck_assert_int_eq(graft_decide(&is, g, base, ws, x, mask, rng_uniform(&r)), 0);
        for (int a = 0; a < 6; a++)
            ck_assert_double_eq_tol((double)is.prob[a], e[a] / all, 1e-5);
        ck_assert_double_eq_tol((double)is.logp, log(e[is.action] / all), 1e-4);
        ck_assert_double_eq_tol((double)is.value, ((double)v0 + (double)v) * 2 + 3, 1e-4);
        double m = (double)q[0] + (double)q[1];
        ck_assert_double_eq_tol((double)is.gate[chosen], (1 - m) * (double)p[chosen],
                                1e-5);
        ck_assert_double_eq_tol((double)is.gate[3], (double)q[0], 1e-6);
        ck_assert_double_eq_tol((double)is.gate[4], (double)q[1], 1e-6);
        in_charge[is.expert >= 3]++;
    }
    ck_assert(in_charge[0] && in_charge[1]);
    mix_ws_free(mc), mix_ws_free(ma);
    norga_ws_free(nc), norga_ws_free(na);
    graft_ws_free(ws);
    graft_free(g);
    policy_free(base);
}
END_TEST

START_TEST(hidden_layers_come_from_the_experts_in_use)
{
    struct graft_cfg c = config(NORGA_TANH, MIX_TOP1);
    struct policy *base = lively(&c.base);
    /* the router sends x[0] > 0 to expert 2 and the rest to 1 */
    memset(base->actor->theta, 0, mix_router(&base->actor->cfg).n * sizeof(float));
    base->actor->theta[2 * OBS] = 5;
    base->actor->theta[1 * OBS] = -5;
    float obs[10 * OBS] = {0};
    for (int i = 0; i < 10; i++)
        obs[i * OBS] = i < 7 ? 1.0f : -1.0f;
    struct graft *g = graft_new(&c, NULL);
    ck_assert_int_eq(graft_init(g, base, obs, 10, 1, NULL), 0);
    static const int from[] = {2, 1};
    for (int j = 0; j < 2; j++) {
        struct mix_range trunk = mix_trunk(&base->actor->cfg, from[j]);
        ck_assert(!memcmp(g->actor->theta + norga_expert(&g->actor->cfg, j).at,
                          base->actor->theta + trunk.at, trunk.n * sizeof(float)));
    }
    graft_free(g);
    policy_free(base);
}
END_TEST

/* what the 16 bits of the frozen policy's hidden layers (policy/packed.h) change in a probability */
static const double QUANTIZED = 5e-4;

START_TEST(the_pack_is_the_same_function)
{
    static const enum mix_route routes[] = {MIX_TOP1, MIX_DENSE, MIX_SINGLE,
                                            MIX_DENSE_PROBS};
    struct graft_cfg c = config(_i, routes[_i]);
    c.experts = 1 + _i;
    c.base.layers = 1 + _i % 3;
    struct policy *base = lively(&c.base);
    struct graft *g = sprout(&c, base, true);
    struct graft_ws *ws = graft_ws_new(&c, NULL);
    struct packed *packed = packed_new(&c.base, NULL);
    struct graft_pack *pack = graft_pack_new(&c, NULL);
    packed_load(packed, base);
    graft_pack_load(pack, g, base);
    ck_assert_uint_eq(graft_pack_version(pack), 1);
    ck_assert_uint_gt(graft_pack_bytes(pack), graft_floats(g) * sizeof(float));
    struct rng r;
    rng_init(&r, 1, 1);
    int levels = 0;
    for (int i = 0; i < STATES; i++) {
        float x[OBS], share;
        observe(x, &r);
        uint32_t mask = rng_below(&r, 63) + 1;
        struct policy_choice want, got;
        ck_assert_int_eq(graft_decide(&want, g, base, ws, x, mask, -1), 0);
        ck_assert_int_eq(graft_pack_decide(&got, &share, pack, packed, x, mask, -1), 0);
        double m = 0;
        for (int a = 0; a < POLICY_ACTIONS; a++)
            ck_assert_double_eq_tol((double)got.prob[a], (double)want.prob[a], QUANTIZED);
        for (int k = 0; k < POLICY_GATES; k++)
            ck_assert_double_eq_tol((double)got.gate[k], (double)want.gate[k], 1e-5);
        for (int j = 0; j < c.experts; j++)
            m += (double)want.gate[c.base.experts + j];
        ck_assert_double_eq_tol((double)share, m, 1e-5);
        ck_assert_double_eq_tol((double)got.value, (double)want.value, 2e-3);
        levels |= 1 << got.action;
    }
    ck_assert(levels & (levels - 1));

    struct policy_choice twice[2];
    float x[OBS];
    observe(x, &r);
    alloc_watch();
    for (int i = 0; i < 2; i++)
        (void)!graft_pack_decide(&twice[i], NULL, pack, packed, x, 63, .3);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    ck_assert(!memcmp(&twice[0], &twice[1], sizeof twice[0]));

    /* weights that are not finite: the lowest level, told as an error */
    g->critic->theta[g->critic->n - 1] = NAN;
    graft_pack_load(pack, g, base);
    float share = 9;
    ck_assert_int_eq(graft_pack_decide(&twice[0], &share, pack, packed, x, 6, -1),
                     ERR_NUMERIC);
    ck_assert_int_eq(twice[0].action, 1);
    ck_assert(share == 0.0f);
    graft_pack_free(pack);
    packed_free(packed);
    graft_ws_free(ws);
    graft_free(g);
    policy_free(base);
}
END_TEST

/* A frozen policy with experts set aside (mix.busy): the pack does as the plain twin does, whoever is
 * busy has no part in a decision, and new experts are never busy. */
START_TEST(frozen_experts_that_are_busy_have_no_part)
{
    static const enum mix_route routes[] = {MIX_TOP1, MIX_DENSE, MIX_DENSE_PROBS};
    struct graft_cfg c = config(NORGA_TANH, routes[_i]);
    struct policy *base = lively(&c.base);
    struct graft *g = sprout(&c, base, true);
    struct graft_ws *ws = graft_ws_new(&c, NULL);
    struct packed *all = packed_new(&c.base, NULL), *some = packed_new(&c.base, NULL);
    struct graft_pack *pack = graft_pack_new(&c, NULL);
    packed_load(all, base);
    base->actor->busy = 1;  /* expert 0 */
    base->critic->busy = 6; /* experts 1 and 2 */
    packed_load(some, base);
    graft_pack_load(pack, g, base);
    struct rng r;
    rng_init(&r, 1, 1);
    int in_charge = 0, other = 0, worth = 0;
    for (int i = 0; i < STATES; i++) {
        float x[OBS];
        observe(x, &r);
        struct policy_choice want, got, idle;
        ck_assert_int_eq(graft_decide(&want, g, base, ws, x, 63, -1), 0);
        ck_assert_int_eq(graft_pack_decide(&got, NULL, pack, some, x, 63, -1), 0);
        ck_assert_int_eq(graft_pack_decide(&idle, NULL, pack, all, x, 63, -1), 0);
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
    graft_pack_free(pack);
    packed_free(some);
    packed_free(all);
    graft_ws_free(ws);
    graft_free(g);
    policy_free(base);
}
END_TEST

START_TEST(copies_and_shapes)
{
    struct graft_cfg c = config(NORGA_TANH, MIX_TOP1);
    struct policy *base = lively(&c.base);
    struct graft *a = sprout(&c, base, true), *b = sprout(&c, base, false);
    a->version = 5;
    graft_take_shape(b, a);
    ck_assert(!b->shape_learns && b->actor->theta[0] == a->actor->theta[0] &&
              b->critic->theta[1] == a->critic->theta[1]);
    ck_assert(b->actor->theta[2] != a->actor->theta[2]);
    struct graft *copy = graft_clone(a, NULL);
    ck_assert_uint_eq(copy->version, 5);
    ck_assert_uint_eq(copy->base_crc, graft_crc(base));
    ck_assert(!memcmp(copy->actor->theta, a->actor->theta, a->actor->n * sizeof(float)));
    ck_assert_uint_eq(graft_floats(a), a->actor->n + a->critic->n);

    struct err e = {0};
    c.experts = 8;
    c.base.experts = 9;
    ck_assert_ptr_null(graft_new(&c, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "experts");
    ck_assert_double_eq_tol((double)graft_ln(0), -30, 1e-9);
    ck_assert_double_eq_tol((double)graft_ln(1e-20f), -30, 1e-9);
    ck_assert_double_eq_tol((double)graft_ln(.5f), log(.5), 1e-6);
    graft_free(copy), graft_free(a), graft_free(b);
    policy_free(base);
}
END_TEST

static void *make_graft(void *ctx, struct err *e)
{
    return graft_new(ctx, e);
}

static void *make_ws(void *ctx, struct err *e)
{
    return graft_ws_new(ctx, e);
}

static void *make_pack(void *ctx, struct err *e)
{
    return graft_pack_new(ctx, e);
}

static void drop(void *made)
{
    graft_free(made);
}

static void drop_ws(void *made)
{
    graft_ws_free(made);
}

static void drop_pack(void *made)
{
    graft_pack_free(made);
}

START_TEST(memory_runs_out)
{
    struct graft_cfg c = config(NORGA_TANH, MIX_TOP1);
    alloc_each_fails(make_graft, drop, &c);
    alloc_each_fails(make_ws, drop_ws, &c);
    alloc_each_fails(make_pack, drop_pack, &c);
}
END_TEST

Suite *suite_policy_graft(void);
Suite *suite_policy_graft(void)
{
    Suite *s = suite_create("moe/graft");
    TCase *t = tcase_create("moe/graft");
    tcase_add_test(t, begins_as_the_frozen_policy);
    tcase_add_test(t, decides_by_the_sum_of_logits);
    tcase_add_test(t, hidden_layers_come_from_the_experts_in_use);
    tcase_add_loop_test(t, the_pack_is_the_same_function, 0, 4);
    tcase_add_loop_test(t, frozen_experts_that_are_busy_have_no_part, 0, 3);
    tcase_add_test(t, copies_and_shapes);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}
