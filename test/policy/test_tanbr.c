#include "policy/tanbr.h"

#include "support/suites.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "policy/lattice.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K = 3, V = 2 };

static struct tanbr_cfg small(void)
{
    struct tanbr_cfg c = tanbr_cfg_default(K, V);
    c.nu1 = .1;
    c.c = .02;
    return c;
}

/* Each task has its own best weights; between them both lose. */
static double worth(const float *x, int task)
{
    static const double top[V][K] = {{.7, .2, .1}, {.1, .3, .6}};
    double d = 0;
    for (int k = 0; k < K; k++)
        d += pow((double)x[k] - top[task][k], 2);
    return .9 - d;
}

static double total(const float *x, const float *psi)
{
    return (double)psi[0] * worth(x, 0) + (double)psi[1] * worth(x, 1);
}

/* One slot; what it was worth. */
static double slot(struct tanbr *t, const float *psi, struct rng *r)
{
    float x[K], reward[V];
    int node = tanbr_choose(t, x, NULL, psi);
    for (int v = 0; v < V; v++)
        reward[v] = (float)(worth(x, v) + .03 * rng_normal(r));
    ck_assert_int_eq(tanbr_learn(t, node, psi, reward, NULL), 0);
    return total(x, psi);
}

static double highest(const float *psi)
{
    double best = -INFINITY;
    for (int a = 0; a <= 50; a++)
        for (int b = 0; a + b <= 50; b++)
            best = fmax(best, total((float[]){(float)a / 50, (float)b / 50,
                                              (float)(50 - a - b) / 50},
                                    psi));
    return best;
}

START_TEST(it_finds_the_weights_of_a_fixed_mix)
{
    struct tanbr_cfg c = small();
    struct tanbr *t = tanbr_new(&c, 1, NULL);
    struct rng r;
    rng_init(&r, 2, 0);
    const float psi[V] = {.8f, .2f};
    double early = 0, late = 0;
    for (int i = 0; i < 400; i++) {
        double lost = highest(psi) - slot(t, psi, &r);
        early += i < 50 ? lost / 50 : 0;
        late += i >= 300 ? lost / 100 : 0;
    }
    ck_assert_double_lt(late, .01);
    ck_assert_double_lt(late, early / 4);
    ck_assert_int_eq(tanbr_stats(t).rounds, 400);
    ck_assert_int_gt(tanbr_stats(t).tree.leaves, 10);
    tanbr_free(t);
}
END_TEST

START_TEST(it_follows_the_mix)
{
    struct tanbr_cfg c = small();
    struct tanbr *t = tanbr_new(&c, 3, NULL);
    struct rng r;
    rng_init(&r, 4, 0);
    const float mixes[2][V] = {{.95f, .05f}, {.05f, .95f}};
    double lost = 0;
    for (int i = 0; i < 600; i++) {
        const float *psi = mixes[i % 2];
        double l = highest(psi) - slot(t, psi, &r);
        lost += i >= 500 ? l / 100 : 0;
    }
    ck_assert_double_lt(lost, .03);
    /* no fixed weights could: between the two tops */
    const float half[V] = {.5f, .5f};
    ck_assert_double_gt(highest(mixes[0]) - highest(half), .1);
    tanbr_free(t);
}
END_TEST

START_TEST(the_choice_is_the_largest_bound)
{
    struct tanbr_cfg c = small();
    struct tanbr *t = tanbr_new(&c, 5, NULL);
    struct rng r;
    rng_init(&r, 6, 0);
    const float psi[V] = {.5f, .5f};
    float x[K], again[K], node_x[K];
    struct tanbr_choice why, twice;
    int node = tanbr_choose(t, x, &why, psi);
    ck_assert_int_eq(node, 0);
    ck_assert_int_eq(why.leaves, 1);
    ck_assert_double_eq(why.grain, .1);
    ck_assert_double_eq_tol((double)x[1], 1 / 3.0, 1e-6);
    for (int i = 0; i < 60; i++)
        slot(t, psi, &r);

    node = tanbr_choose(t, x, &why, psi);
    ck_assert_int_eq(tanbr_choose(t, again, &twice, psi), node); /* nothing changed */
    ck_assert_mem_eq(x, again, sizeof x);
    ck_assert_double_eq(why.mean, twice.mean);
    ck_assert_double_eq_tol(why.grain, .1 * pow(.7, why.depth), 1e-12);
    tanbr_weights(node_x, t, node);
    ck_assert_mem_eq(x, node_x, sizeof x);
    float f[V];
    tanbr_predict(f, t, x);
    ck_assert_double_eq_tol(why.mean, .5 * (double)f[0] + .5 * (double)f[1], 1e-5);
    ck_assert_int_eq(why.leaves, tanbr_stats(t).tree.leaves);
    tanbr_free(t);
}
END_TEST

START_TEST(choices_outside_their_cell_are_counted)
{
    struct tanbr_cfg c = tanbr_cfg_default(6, 1);
    c.keep = 1;
    struct tanbr *t = tanbr_new(&c, 7, NULL);
    const float psi[1] = {1}, reward[1] = {.5f};
    int64_t left = 0;
    for (int i = 0; i < 60; i++) {
        float x[6];
        struct tanbr_choice why;
        int node = tanbr_choose(t, x, &why, psi);
        left += why.left;
        ck_assert_int_eq(tanbr_learn(t, node, psi, reward, NULL), 0);
    }
    ck_assert_int_gt(left, 0);
    ck_assert_int_eq(tanbr_stats(t).left, left);
    tanbr_free(t);
}
END_TEST

START_TEST(a_bad_reward_is_no_visit)
{
    struct tanbr_cfg c = small();
    struct tanbr *t = tanbr_new(&c, 8, NULL);
    const float psi[V] = {.5f, .5f};
    ck_assert_int_eq(tanbr_learn(t, 0, psi, (float[]){NAN, 0}, NULL), ERR_NUMERIC);
    ck_assert_int_eq(tanbr_stats(t).rounds, 0);
    ck_assert_int_eq(tanbr_stats(t).failed, 1);
    ck_assert_int_eq(tanbr_stats(t).tree.leaves, 1);
    tanbr_free(t);
}
END_TEST

START_TEST(no_allocation_in_a_slot)
{
    struct tanbr_cfg c = small();
    struct tanbr *t = tanbr_new(&c, 9, NULL);
    const float psi[V] = {.5f, .5f}, reward[V] = {.4f, .6f};
    float x[K];
    int bad = 0;
    alloc_watch();
    for (int i = 0; i < 50; i++)
        bad |= tanbr_learn(t, tanbr_choose(t, x, NULL, psi), psi, reward, NULL);
    ck_assert_int_eq(alloc_calls(), 0);
    ck_assert_int_eq(bad, 0);
    tanbr_free(t);
}
END_TEST

/* ---- state ---- */

START_TEST(a_state_goes_on_where_it_was)
{
    struct tanbr_cfg c = small();
    struct tanbr *a = tanbr_new(&c, 11, NULL), *b = tanbr_new(&c, 12, NULL);
    struct rng r, q;
    rng_init(&r, 13, 0);
    const float psi[V] = {.4f, .6f};
    for (int i = 0; i < 80; i++)
        slot(a, psi, &r);
    size_t n = tanbr_state_size(a);
    void *x = malloc(n), *y = malloc(n);
    tanbr_state_get(a, x);
    ck_assert_int_eq(tanbr_state_put(b, x, n, NULL), 0);
    q = r;
    for (int i = 0; i < 80; i++)
        ck_assert_double_eq(slot(a, psi, &r), slot(b, psi, &q));
    tanbr_state_get(a, x);
    tanbr_state_get(b, y);
    ck_assert_mem_eq(x, y, n);
    free(x);
    free(y);
    tanbr_free(a);
    tanbr_free(b);
}
END_TEST

START_TEST(states_that_are_none)
{
    struct tanbr_cfg c = small(), other = small();
    other.history = 100;
    struct tanbr *a = tanbr_new(&c, 14, NULL), *b = tanbr_new(&other, 14, NULL);
    size_t n = tanbr_state_size(a);
    unsigned char *s = malloc(n), *before = malloc(n);
    tanbr_state_get(a, s);
    ck_assert_int_eq(tanbr_state_put(b, s, n, NULL), ERR_CONFLICT);
    ck_assert_int_eq(tanbr_state_put(a, s, n - 1, NULL), ERR_CORRUPT);
    ck_assert_int_eq(tanbr_state_put(a, s, 3, NULL), ERR_CORRUPT);
    memcpy(before, s, n);
    static const size_t at[] = {0, 4, 9, 40, 4000};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        s[at[i]] ^= 1;
        ck_assert_int_eq(tanbr_state_put(a, s, n, NULL), ERR_CORRUPT);
        s[at[i]] ^= 1;
    }
    /* a sound checksum around a tree that is none */
    s[40] = 0;
    bytes_put_u32(s, bytes_crc32(0, s + 4, n - 4));
    ck_assert_int_eq(tanbr_state_put(a, s, n, NULL), ERR_CORRUPT);
    tanbr_state_get(a, s);
    ck_assert_mem_eq(s, before, n);
    free(s);
    free(before);
    tanbr_free(a);
    tanbr_free(b);
}
END_TEST

/* ---- a prior ---- */

/* worth() at the points of a lattice, plus what it is wrong by. */
static float *prior_of(struct tanbr_cfg *c, int steps, double wrong)
{
    int n = lattice_points(K, steps);
    float *value = calloc((size_t)(n * V), sizeof *value);
    for (int i = 0; i < n; i++) {
        float x[K];
        lattice_at(x, K, steps, i);
        for (int v = 0; v < V; v++)
            value[i * V + v] = (float)(worth(x, v) + wrong * (double)x[K - 1]);
    }
    c->prior = (struct tanbr_prior){steps, V, value};
    c->warm = 500;
    return value;
}

static double lost_over(struct tanbr *t, const float *psi, int slots, uint64_t seed)
{
    struct rng r;
    double lost = 0;
    rng_init(&r, seed, 0);
    for (int i = 0; i < slots; i++)
        lost += (highest(psi) - slot(t, psi, &r)) / slots;
    return lost;
}

START_TEST(a_true_prior_is_right_from_the_first_slot)
{
    struct tanbr_cfg bare = small(), c = tanbr_cfg_informed(K, V);
    float *value = prior_of(&c, 10, 0);
    struct tanbr *t = tanbr_new(&c, 21, NULL), *b = tanbr_new(&bare, 21, NULL);
    memset(value, 0, sizeof *value); /* it was copied */
    free(value);
    ck_assert_int_gt(tanbr_stats(t).tree.leaves, 20);
    ck_assert_int_eq(tanbr_stats(t).rounds, 0);
    const float psi[V] = {.8f, .2f};
    double told = lost_over(t, psi, 20, 22), untold = lost_over(b, psi, 20, 22);
    ck_assert_double_lt(told, .02);
    ck_assert_double_lt(told, untold / 3);
    tanbr_free(t);
    tanbr_free(b);
}
END_TEST

START_TEST(what_a_prior_says_is_expected)
{
    struct tanbr_cfg c = tanbr_cfg_informed(K, V);
    float *value = prior_of(&c, 4, .3);
    struct tanbr *t = tanbr_new(&c, 23, NULL);
    float f[V], x[K];
    for (int i = 0; i < lattice_points(K, 4); i++) {
        lattice_at(x, K, 4, i);
        tanbr_predict(f, t, x);
        for (int v = 0; v < V; v++)
            ck_assert_double_eq_tol((double)f[v], (double)value[i * V + v], 1e-5);
    }
    struct tanbr_choice why;
    const float psi[V] = {.6f, .4f};
    tanbr_choose(t, x, &why, psi);
    tanbr_predict(f, t, x);
    ck_assert_double_eq_tol(why.mean, .6 * (double)f[0] + .4 * (double)f[1], 1e-5);
    free(value);
    tanbr_free(t);
}
END_TEST

START_TEST(a_wrong_prior_is_unlearned)
{
    struct tanbr_cfg c = tanbr_cfg_informed(K, V), deaf;
    float *value = prior_of(&c, 10, 1.5); /* it praises the last expert */
    c.eta = .1;
    c.steps = 50;
    deaf = c;
    deaf.steps = 0;
    deaf.gamma = 0;
    struct tanbr *t = tanbr_new(&c, 25, NULL), *d = tanbr_new(&deaf, 25, NULL);
    const float psi[V] = {.8f, .2f};
    lost_over(t, psi, 400, 26);
    double late = lost_over(t, psi, 100, 27), never = lost_over(d, psi, 100, 27);
    ck_assert_msg(never > .1 && late < never / 2, "late %g, never %g", late, never);
    free(value);
    tanbr_free(t);
    tanbr_free(d);
}
END_TEST

START_TEST(a_state_belongs_to_its_prior)
{
    struct tanbr_cfg c = tanbr_cfg_informed(K, V), other = c;
    float *value = prior_of(&c, 4, 0), *another = prior_of(&other, 4, .1);
    struct tanbr *a = tanbr_new(&c, 28, NULL), *b = tanbr_new(&c, 29, NULL),
                 *o = tanbr_new(&other, 28, NULL);
    const float psi[V] = {.5f, .5f};
    lost_over(a, psi, 30, 30);
    size_t n = tanbr_state_size(a);
    void *s = malloc(n);
    tanbr_state_get(a, s);
    ck_assert_int_eq(tanbr_state_put(o, s, n, NULL), ERR_CONFLICT);
    ck_assert_int_eq(tanbr_state_put(b, s, n, NULL), 0);
    float x[K], y[K];
    ck_assert_int_eq(tanbr_choose(a, x, NULL, psi), tanbr_choose(b, y, NULL, psi));
    ck_assert_mem_eq(x, y, sizeof x);
    ck_assert_double_eq(lost_over(a, psi, 30, 31), lost_over(b, psi, 30, 31));
    free(s);
    free(value);
    free(another);
    tanbr_free(a);
    tanbr_free(b);
    tanbr_free(o);
}
END_TEST

/* Whoever is told what another one chose and earned knows what he knows. */
START_TEST(what_others_earned_teaches_as_ones_own)
{
    for (int prior = 0; prior < 2; prior++) {
        struct tanbr_cfg c = prior ? tanbr_cfg_informed(K, V) : small();
        float *value = prior ? prior_of(&c, 7, .3) : NULL;
        struct tanbr *a = tanbr_new(&c, 31, NULL), *b = tanbr_new(&c, 31, NULL);
        const float psi[V] = {.7f, .3f}, trust[V] = {1, .5f};
        for (int i = 0; i < 60; i++) {
            float x[K], reward[V];
            int node = tanbr_choose(a, x, NULL, psi);
            for (int v = 0; v < V; v++)
                reward[v] = (float)worth(x, v);
            ck_assert_int_eq(tanbr_learn(a, node, psi, reward, trust), 0);
            ck_assert_int_eq(tanbr_learn_at(b, x, psi, reward, trust), 0);
        }
        struct tanbr_choice p, q;
        float x[K], y[K];
        tanbr_choose(a, x, &p, psi);
        tanbr_choose(b, y, &q, psi);
        ck_assert_mem_eq(x, y, sizeof x);
        ck_assert_int_eq(p.node, q.node);
        ck_assert_double_eq_tol(p.mean, q.mean, 1e-5);
        ck_assert_int_eq(tanbr_stats(b).rounds, 60);
        ck_assert_int_eq(tanbr_stats(b).tree.nodes, tanbr_stats(a).tree.nodes);
        float bad[V] = {NAN, 0};
        ck_assert_int_eq(tanbr_learn_at(b, x, psi, bad, NULL), ERR_NUMERIC);
        ck_assert_int_eq(tanbr_stats(b).rounds, 60);
        tanbr_free(a);
        tanbr_free(b);
        free(value);
    }
}
END_TEST

START_TEST(limits_of_a_prior)
{
    struct tanbr_cfg c = tanbr_cfg_informed(K, V), d = c;
    float *value = prior_of(&c, 2, 0);
    ck_assert_int_eq(tanbr_cfg_check(&c, NULL), 0);
    d = c;
    d.warm = -1;
    ck_assert_int_eq(tanbr_cfg_check(&d, NULL), ERR_RANGE);
    d = c;
    d.prior.tasks = V + 1;
    ck_assert_int_eq(tanbr_cfg_check(&d, NULL), ERR_RANGE);
    d = c;
    d.prior.steps = 1000;
    ck_assert_int_eq(tanbr_cfg_check(&d, NULL), ERR_RANGE);
    d = c;
    d.experts = d.keep = LATTICE_DIM_MAX + 1;
    ck_assert_int_eq(tanbr_cfg_check(&d, NULL), ERR_RANGE);
    free(value);
}
END_TEST

START_TEST(limits_of_the_configuration)
{
    struct tanbr_cfg c = small();
    ck_assert_int_eq(tanbr_cfg_check(&c, NULL), 0);
    c.rho = 1;
    ck_assert_int_eq(tanbr_cfg_check(&c, NULL), ERR_RANGE);
    ck_assert_ptr_null(tanbr_new(&c, 1, NULL));
    c = small();
    c.width = 5;
    ck_assert_int_eq(tanbr_cfg_check(&c, NULL), ERR_RANGE);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return tanbr_new(ctx, 1, e);
}

static void drop(void *made)
{
    tanbr_free(made);
}

START_TEST(without_memory)
{
    struct tanbr_cfg c = small();
    ck_assert_int_gt(alloc_each_fails(make, drop, &c), 10);
    float *value = prior_of(&c, 2, 0);
    ck_assert_int_gt(alloc_each_fails(make, drop, &c), 12);
    free(value);
}
END_TEST

SUITE(policy_tanbr, it_finds_the_weights_of_a_fixed_mix, it_follows_the_mix,
      the_choice_is_the_largest_bound, choices_outside_their_cell_are_counted,
      a_bad_reward_is_no_visit, no_allocation_in_a_slot, a_state_goes_on_where_it_was,
      states_that_are_none, a_true_prior_is_right_from_the_first_slot,
      what_a_prior_says_is_expected, a_wrong_prior_is_unlearned,
      a_state_belongs_to_its_prior, what_others_earned_teaches_as_ones_own,
      limits_of_a_prior, limits_of_the_configuration, without_memory);
