/* Hand-made spectra, activations and routers with known answers. */
#include "learn/plasticity.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct plasticity_layer ranks(const double *sigma, int n, int side, double rows)
{
    struct plasticity_layer l = {0};
    plasticity_ranks(&l, sigma, n, side, rows);
    return l;
}

static void assert_ranks(struct plasticity_layer l, double rank, double effective,
                         double approx, double abs_approx, double feature)
{
    ck_assert_double_eq(l.rank, rank);
    ck_assert_double_eq_tol(l.effective, effective, 1e-12);
    ck_assert_double_eq(l.approx, approx);
    ck_assert_double_eq(l.abs_approx, abs_approx);
    ck_assert_double_eq(l.feature, feature);
}

START_TEST(ranks_of_known_spectra)
{
    const double even[] = {2, 2, 2, 2}, one[] = {7, 0, 0}, none[] = {0, 0};
    assert_ranks(ranks(even, 4, 4, 4), 4, 4, 4, 4, 4);
    assert_ranks(ranks(one, 3, 9, 9), 1, 1, 1, 1, 1);
    assert_ranks(ranks(none, 2, 5, 5), 0, 0, 0, 0, 0);

    /* 100 / 101.0004 = .9901 of the squares; of the sum .907 and then .998;
     * 10, 1 and .02 over sqrt(rows): above .01 with 1 row, .02 / 3 is not with 9 */
    const double steep[] = {10, 1, .02};
    double p = 10 / 11.02, q = 1 / 11.02, r = .02 / 11.02;
    double effective = exp(-p * log(p) - q * log(q) - r * log(r));
    assert_ranks(ranks(steep, 3, 3, 1), 3, effective, 1, 2, 3);
    assert_ranks(ranks(steep, 3, 9, 9), 3, effective, 1, 2, 2);

    /* half and half: 2^1 at any scale, but features fade */
    const double faint[] = {.03, .03};
    assert_ranks(ranks(faint, 2, 4, 4), 2, 2, 2, 2, 2);
    assert_ranks(ranks(faint, 2, 16, 16), 2, 2, 2, 2, 0);

    /* what float rounding leaves is no rank: 2000 * 2^-23 = 2.4e-4 */
    const double rounded[] = {1, 3e-4, 2e-4};
    ck_assert_double_eq(ranks(rounded, 3, 2000, 2000).rank, 2);
    ck_assert_double_eq(ranks(rounded, 3, 3, 3).rank, 3);
}
END_TEST

START_TEST(dormant_by_hand)
{
    ck_assert_double_eq(plasticity_tau(0), 0);
    ck_assert_double_eq(plasticity_tau(1), .025);
    ck_assert_double_eq(plasticity_tau(2), .1);
    ck_assert_double_eq(plasticity_tau(3), .5);

    double d[PLASTICITY_TAUS];
    /* mean 2: scores 0, .5, 1, 2.5; .5 itself counts */
    const double a[] = {0, 1, 2, 5};
    plasticity_dormant(d, a, 4);
    ck_assert(d[0] == .25 && d[1] == .25 && d[2] == .25 && d[3] == .5);
    /* mean 1: one score in each interval */
    const double b[] = {0, .02, .09, .4, 4.49};
    plasticity_dormant(d, b, 5);
    ck_assert(d[0] == .2 && d[1] == .4 && d[2] == .6 && d[3] == .8);

    const double zeros[] = {0, 0, 0}, alike[] = {3, 3};
    plasticity_dormant(d, zeros, 3);
    ck_assert(d[0] == 1 && d[1] == 1 && d[2] == 1 && d[3] == 1);
    plasticity_dormant(d, alike, 2);
    ck_assert(d[0] == 0 && d[3] == 0);
}
END_TEST

START_TEST(weight_size_by_hand)
{
    const float w[] = {3, -1, 0, -4};
    struct plasticity_weight s = plasticity_weight(w, 4);
    ck_assert_double_eq(s.abs, 2);
    ck_assert_double_eq_tol(s.rms, sqrt(26.0 / 4), 1e-15);
    ck_assert_double_nan(plasticity_weight(w, 0).abs);
}
END_TEST

/* 4 inputs, 4 units, 1 layer; actor routed, critic single */
static struct policy_cfg cfg_of(enum mix_route route)
{
    return (struct policy_cfg){.obs_dim = 4,
                               .actions = 2,
                               .hidden = 4,
                               .layers = 1,
                               .experts = route == MIX_SINGLE ? 1 : 3,
                               .critic_hidden = 4,
                               .critic_experts = 1,
                               .route = route,
                               .critic_route = MIX_SINGLE};
}

/* The first layer of every expert is the identity, so H = relu(x + bias). The router
 * sends x_0 > .5 to expert 0 and the rest to expert 1; never to expert 2. */
static struct policy *identity_policy(struct policy_cfg c)
{
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    struct mix *nets[] = {p->actor, p->critic};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < nets[i]->cfg.experts; k++)
            for (int j = 0; j < 4; j++)
                nets[i]->theta[mix_expert(&nets[i]->cfg, k).at + (size_t)(5 * j)] = 1;
    if (c.route == MIX_SINGLE) return p;
    p->actor->theta[0] = 1;            /* weight of expert 0 on x_0 */
    p->actor->theta[3 * 4 + 1] = 0.5f; /* biases of experts 1 and 2 */
    p->actor->theta[3 * 4 + 2] = -50;
    return p;
}

static float *bias_of(struct policy *p, int k, int unit)
{
    return p->actor->theta + mix_expert(&p->actor->cfg, k).at + 16 + unit;
}

static struct plasticity measure(const struct policy *p, struct plasticity_batch b)
{
    static struct plasticity out;
    struct plasticity_ws *ws = plasticity_ws_new(&p->cfg, 16, NULL);
    ck_assert_ptr_nonnull(ws);
    memset(&out, 0xff, sizeof out); /* whatever was there before */
    ck_assert_int_eq(plasticity_measure(&out, ws, p, &b, NULL), 0);
    plasticity_ws_free(ws);
    return out;
}

static const float EYE[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

START_TEST(a_dead_unit_is_seen)
{
    struct policy *p = identity_policy(cfg_of(MIX_SINGLE));
    *bias_of(p, 0, 3) = -100;
    struct plasticity m = measure(p, (struct plasticity_batch){.obs = EYE, .n = 4});

    /* H is the identity without its last one */
    const struct plasticity_expert *x = &m.actor.expert[0];
    assert_ranks(x->layer[0], 3, 3, 3, 3, 3);
    for (int t = 0; t < PLASTICITY_TAUS; t++)
        ck_assert_double_eq(x->layer[0].dormant[t], .25);
    ck_assert_double_eq_tol(x->layer[0].activation, 3.0 / 16, 1e-15);
    ck_assert_double_eq(x->rows, 4);
    ck_assert(x->share == 1 && x->gate == 1);
    /* the matrix is the identity, the head is 0, the bias of -100 does not count */
    ck_assert_double_eq(x->weight[0].abs, .25);
    ck_assert_double_eq(x->weight[0].rms, .5);
    ck_assert_double_eq(x->weight[1].abs, 0);
    ck_assert_double_nan(m.actor.router.abs);
    ck_assert_mem_eq(&m.actor.mean, &x->layer[0], sizeof m.actor.mean);

    /* the critic has nothing dead */
    assert_ranks(m.critic.expert[0].layer[0], 4, 4, 4, 4, 4);
    ck_assert_double_eq(m.critic.mean.dormant[0], 0);

    /* all dead: every rank 0 and all dormant, which is a measurement */
    for (int j = 0; j < 4; j++)
        *bias_of(p, 0, j) = -100;
    m = measure(p, (struct plasticity_batch){.obs = EYE, .n = 4});
    assert_ranks(m.actor.mean, 0, 0, 0, 0, 0);
    ck_assert_double_eq(m.actor.mean.dormant[0], 1);
    ck_assert_double_eq(m.actor.mean.activation, 0);
    policy_free(p);
}
END_TEST

/* rows 0, 1 and 2 (x_0 > .5) span one direction; rows 3 and 4 two */
static const float ROUTED[] = {1, 0, 1, 0, 2, 0, 2, 0, 3, 0,
                               3, 0, 0, 5, 0, 0, 0, 0, 0, 5};

static void assert_not_measured(const struct plasticity_expert *x)
{
    ck_assert_double_eq(x->rows, 0);
    ck_assert_double_eq(x->share, 0);
    for (int t = 0; t < PLASTICITY_TAUS; t++)
        ck_assert_double_nan(x->layer[0].dormant[t]);
    ck_assert_double_nan(x->layer[0].rank);
    ck_assert_double_nan(x->layer[0].effective);
    ck_assert_double_nan(x->layer[0].approx);
    ck_assert_double_nan(x->layer[0].abs_approx);
    ck_assert_double_nan(x->layer[0].feature);
    ck_assert_double_nan(x->layer[0].activation);
    ck_assert_double_eq(x->weight[0].abs, .25);
}

START_TEST(top1_measures_each_expert_on_its_rows)
{
    enum mix_route route = _i ? MIX_TOP1_UNSCALED : MIX_TOP1;
    struct policy *p = identity_policy(cfg_of(route));
    struct plasticity m = measure(p, (struct plasticity_batch){.obs = ROUTED, .n = 5});

    const struct plasticity_expert *x = m.actor.expert;
    ck_assert_double_eq(m.actor.rows, 5);
    ck_assert_double_eq(x[0].rows, 3);
    ck_assert_double_eq(x[1].rows, 2);
    ck_assert_double_eq_tol(x[0].share, .6, 1e-15);
    ck_assert_double_eq_tol(x[1].share, .4, 1e-15);
    assert_not_measured(&x[2]);

    /* (1, 0, 1, 0) times 1, 2, 3: units 1 and 3 never fire */
    assert_ranks(x[0].layer[0], 1, 1, 1, 1, 1);
    ck_assert_double_eq(x[0].layer[0].dormant[0], .5);
    ck_assert_double_eq_tol(x[0].layer[0].activation, 1, 1e-15);
    /* 5 e_1 and 5 e_3 */
    assert_ranks(x[1].layer[0], 2, 2, 2, 2, 2);
    ck_assert_double_eq_tol(x[1].layer[0].activation, 2.5 / 2, 1e-15);

    /* means over those that were reached */
    ck_assert_int_eq(m.actor.reached, 2);
    ck_assert_double_eq(m.actor.mean_layer[0].rank, 1.5);
    ck_assert_double_eq_tol(m.actor.mean.effective, 1.5, 1e-12);
    ck_assert_double_eq(m.actor.mean.dormant[0], .5);
    ck_assert_double_eq(m.actor.mean_weight[0].rms, .5);
    ck_assert_double_eq_tol(m.actor.router.abs, 1.0 / 12, 1e-15);

    double gates = x[0].gate + x[1].gate + x[2].gate;
    ck_assert_double_eq_tol(gates, 1, 1e-6);
    ck_assert_double_lt(x[2].gate, 1e-9);
    policy_free(p);
}
END_TEST

START_TEST(router_noise_decides_who_is_measured)
{
    struct policy *p = identity_policy(cfg_of(MIX_TOP1));
    float z[15] = {0};
    for (int i = 0; i < 5; i++)
        z[3 * i + 2] = 1000;
    struct plasticity m =
        measure(p, (struct plasticity_batch){.obs = ROUTED, .z_actor = z, .n = 5});
    ck_assert_int_eq(m.actor.reached, 1);
    ck_assert_double_eq(m.actor.expert[2].share, 1);
    ck_assert_double_eq(m.actor.expert[2].layer[0].rank, 3);
    assert_not_measured(&m.actor.expert[0]);
    policy_free(p);
}
END_TEST

START_TEST(dense_measures_every_expert_on_every_row)
{
    struct policy *p = identity_policy(cfg_of(_i ? MIX_DENSE_PROBS : MIX_DENSE));
    struct plasticity m = measure(p, (struct plasticity_batch){.obs = ROUTED, .n = 5});
    ck_assert_int_eq(m.actor.reached, 3);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(m.actor.expert[k].rows, 5);
        ck_assert_double_eq(m.actor.expert[k].layer[0].rank, 3);
    }
    /* the largest gate */
    ck_assert_double_eq_tol(m.actor.expert[0].share, .6, 1e-15);
    ck_assert_double_eq(m.actor.expert[2].share, 0);
    policy_free(p);
}
END_TEST

START_TEST(a_weighted_row_counts_as_many)
{
    struct policy *p = identity_policy(cfg_of(MIX_TOP1));
    float twice[5 * 4];
    memcpy(twice, ROUTED + 4,
           4 * sizeof *twice); /* rows 1, 1, 2, 3, 3: without 0 and 4 */
    memcpy(twice + 4, ROUTED + 4, 4 * sizeof *twice);
    memcpy(twice + 8, ROUTED + 8, 8 * sizeof *twice);
    memcpy(twice + 16, ROUTED + 12, 4 * sizeof *twice);
    const double weight[] = {0, 2, 1, 2, 0};
    struct plasticity a =
        measure(p, (struct plasticity_batch){.obs = ROUTED, .weight = weight, .n = 5});
    struct plasticity b = measure(p, (struct plasticity_batch){.obs = twice, .n = 5});
    ck_assert_double_eq(a.actor.rows, 5);
    for (int k = 0; k < 2; k++) {
        const struct plasticity_expert *x = &a.actor.expert[k], *y = &b.actor.expert[k];
        ck_assert_double_eq(x->rows, y->rows);
        ck_assert_double_eq_tol(x->share, y->share, 1e-15);
        ck_assert_double_eq_tol(x->gate, y->gate, 1e-15);
        ck_assert_double_eq_tol(x->layer[0].activation, y->layer[0].activation, 1e-15);
        ck_assert_mem_eq(x->layer[0].dormant, y->layer[0].dormant,
                         sizeof x->layer[0].dormant);
        assert_ranks(x->layer[0], y->layer[0].rank, y->layer[0].effective,
                     y->layer[0].approx, y->layer[0].abs_approx, y->layer[0].feature);
    }

    /* rows of weight 0 do not reach anybody */
    const double first[] = {1, 1, 1, 0, 0};
    a = measure(p, (struct plasticity_batch){.obs = ROUTED, .weight = first, .n = 5});
    ck_assert_int_eq(a.actor.reached, 1);
    assert_not_measured(&a.actor.expert[1]);
    policy_free(p);
}
END_TEST

START_TEST(layers_and_networks_are_kept_apart)
{
    struct policy_cfg c = cfg_of(MIX_TOP1);
    c.layers = 3;
    c.hidden = 7;
    c.critic_hidden = 9;
    c.critic_experts = 2;
    c.critic_route = MIX_DENSE;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 3);
    /* layer 2 of the critic's expert 1 is silenced: nothing else is */
    struct mix_range e = mix_expert(&p->critic->cfg, 1);
    size_t layer2 = 4 * 9 + 9 + 9 * 9 + 9;
    memset(p->critic->theta + e.at + layer2, 0, sizeof(float) * (9 * 9 + 9));
    struct plasticity m = measure(p, (struct plasticity_batch){.obs = EYE, .n = 4});

    ck_assert(m.actor.layers == 3 && m.actor.hidden == 7 && m.critic.hidden == 9);
    for (int l = 0; l < 3; l++)
        for (int k = 0; k < 2; k++) {
            const struct plasticity_layer *x = &m.critic.expert[k].layer[l];
            bool silent = k == 1 && l == 2;
            ck_assert_int_eq(x->dormant[0] == 1, silent);
            ck_assert_int_eq(x->effective == 0, silent);
            ck_assert_int_eq(m.critic.expert[k].weight[l].abs == 0, silent);
        }
    double effective = 0;
    for (int l = 0; l < 3; l++)
        effective += m.critic.mean_layer[l].effective / 3;
    ck_assert_double_eq_tol(m.critic.mean.effective, effective, 1e-12);
    ck_assert_double_eq_tol(m.critic.mean_layer[2].effective,
                            m.critic.expert[0].layer[2].effective / 2, 1e-12);
    policy_free(p);
}
END_TEST

START_TEST(what_is_not_finite_is_named)
{
    static struct plasticity out;
    struct policy *p = identity_policy(cfg_of(MIX_TOP1));
    struct plasticity_ws *ws = plasticity_ws_new(&p->cfg, 5, NULL);
    struct plasticity_batch b = {.obs = ROUTED, .n = 5};
    struct err e = {0}, critic = {0}, router = {0};

    *bias_of(p, 0, 1) = NAN;
    ck_assert_int_eq(plasticity_measure(&out, ws, p, &b, &e), ERR_NUMERIC);
    ck_assert_ptr_nonnull(strstr(e.detail, "actor, expert 0, layer 0"));

    *bias_of(p, 0, 1) = 0;
    p->critic->theta[0] = INFINITY;
    ck_assert_int_eq(plasticity_measure(&out, ws, p, &b, &critic), ERR_NUMERIC);
    ck_assert_ptr_nonnull(strstr(critic.detail, "critic, expert 0, layer 0"));

    p->actor->theta[0] = NAN;
    ck_assert_int_eq(plasticity_measure(&out, ws, p, &b, &router), ERR_NUMERIC);
    ck_assert_ptr_nonnull(strstr(router.detail, "actor, router"));
    plasticity_ws_free(ws);
    policy_free(p);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return plasticity_ws_new(ctx, 20, e);
}

static void destroy(void *ws)
{
    plasticity_ws_free(ws);
}

START_TEST(memory_is_got_at_the_start_only)
{
    static struct plasticity out;
    struct policy_cfg c = cfg_of(MIX_TOP1);
    alloc_each_fails(make, destroy, &c);
    struct policy *p = identity_policy(c);
    struct plasticity_ws *ws = plasticity_ws_new(&c, 5, NULL);
    struct plasticity_batch b = {.obs = ROUTED, .n = 5};
    alloc_watch();
    int rc = plasticity_measure(&out, ws, p, &b, NULL);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    plasticity_ws_free(ws);
    policy_free(p);

    struct err e = {0};
    c.actions = 99;
    ck_assert_ptr_null(plasticity_ws_new(&c, 5, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    plasticity_ws_free(NULL);
}
END_TEST

Suite *suite_learn_plasticity(void);
Suite *suite_learn_plasticity(void)
{
    Suite *s = suite_create("learn/plasticity");
    TCase *t = tcase_create("learn/plasticity");
    tcase_add_test(t, ranks_of_known_spectra);
    tcase_add_test(t, dormant_by_hand);
    tcase_add_test(t, weight_size_by_hand);
    tcase_add_test(t, a_dead_unit_is_seen);
    tcase_add_loop_test(t, top1_measures_each_expert_on_its_rows, 0, 2);
    tcase_add_test(t, router_noise_decides_who_is_measured);
    tcase_add_loop_test(t, dense_measures_every_expert_on_every_row, 0, 2);
    tcase_add_test(t, a_weighted_row_counts_as_many);
    tcase_add_test(t, layers_and_networks_are_kept_apart);
    tcase_add_test(t, what_is_not_finite_is_named);
    tcase_add_test(t, memory_is_got_at_the_start_only);
    suite_add_tcase(s, t);
    return s;
}
