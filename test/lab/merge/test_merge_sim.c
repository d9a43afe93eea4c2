#include "lab/merge/merge_sim.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a field without an emulator ---- */

enum { V = MERGE_TASKS, SESSIONS = 5, STEPS = 6 };

/* Task v is worth .9 - (distance of x from its top)^2, and a session
 * more or less. */
struct plain_field {
    struct merge_world world;
    struct merge_grid *grid;
    float fisher[SESSIONS * V], regmean[SESSIONS * V];
    float obs[SESSIONS * FEAT_FULL_DIM]; /* 0: they tell nothing */
    float *prior, *misled;
    struct merge_field field;
};

static double worth(const float *x, int v)
{
    double d = 0;
    for (int k = 0; k < V; k++)
        d += pow((double)x[k] - (k == v ? .8 : .2 / 3), 2);
    return .9 - d;
}

static struct plain_field *field_make(void)
{
    struct plain_field *f = calloc(1, sizeof *f);
    f->world.sessions = SESSIONS;
    f->grid = merge_grid_new(V, STEPS, &f->world, NULL);
    for (int i = 0; i < f->grid->points; i++) {
        float x[V];
        lattice_at(x, f->grid->dim, f->grid->steps, i);
        for (int v = 0; v < V; v++) {
            f->grid->mean[i * V + v] = worth(x, v);
            for (int s = 0; s < SESSIONS; s++)
                f->grid->scores[(i * SESSIONS + s) * V + v] =
                    (float)(worth(x, v) + .1 * (s - 2));
        }
    }
    for (int i = 0; i < SESSIONS * V; i++) {
        f->fisher[i] = .25f;
        f->regmean[i] = .5f;
    }
    /* the truth, and each profile's taken for the next one's */
    int n = f->grid->points;
    f->prior = calloc((size_t)(n * V), sizeof *f->prior);
    f->misled = calloc((size_t)(n * V), sizeof *f->misled);
    for (int i = 0; i < n; i++)
        for (int v = 0; v < V; v++) {
            f->prior[i * V + v] = (float)f->grid->mean[i * V + v];
            f->misled[i * V + v] = (float)f->grid->mean[i * V + (v + 1) % V];
        }
    f->field = (struct merge_field){.world = &f->world,
                                    .merged = f->grid,
                                    .hinted = f->grid,
                                    .plain = f->grid,
                                    .fisher = f->fisher,
                                    .regmean = f->regmean,
                                    .obs = f->obs,
                                    .prior = {STEPS, V, f->prior},
                                    .misled = {STEPS, V, f->misled}};
    return f;
}

static void field_drop(struct plain_field *f)
{
    merge_grid_free(f->grid);
    free(f->prior);
    free(f->misled);
    free(f);
}

enum { SLOTS = 300 };

/* ---- one node ---- */

struct result {
    double expected[SLOTS], ideal[SLOTS];
    struct merge_sim_run run;
};

static struct result *run_of(const struct plain_field *f, bool drift, enum merge_method m,
                             uint64_t seed, int slots)
{
    struct result *r = calloc(1, sizeof *r);
    r->run.expected = r->expected;
    r->run.ideal = r->ideal;
    struct merge_sim_cfg c = merge_sim_cfg_default();
    c.slots = slots;
    c.drift = drift;
    c.method = m;
    c.seed = seed;
    ck_assert_int_eq(merge_sim_run(&r->run, &f->field, &c, NULL), 0);
    return r;
}

static struct result *run(const struct plain_field *f, bool drift, enum merge_method m,
                          uint64_t seed)
{
    return run_of(f, drift, m, seed, SLOTS);
}

static double mean_of(const double *x, int from, int n)
{
    double sum = 0;
    for (int t = from; t < n; t++)
        sum += x[t] / (n - from);
    return sum;
}

TEST(mixes)
{
    struct merge_sim_cfg c = merge_sim_cfg_default();
    struct merge_mixer m;
    double first[V], psi[V], sum;
    merge_mixer_init(&m, &c);
    merge_mixer_next(first, &m);
    for (int t = 0; t < 5; t++) {
        merge_mixer_next(psi, &m);
        ck_assert_mem_eq(first, psi, sizeof psi);
    }
    sum = psi[0] + psi[1] + psi[2] + psi[3];
    ck_assert_double_eq_tol(sum, 1, 1e-12);

    c.drift = true;
    merge_mixer_init(&m, &c);
    merge_mixer_next(first, &m);
    double moved = 0, back = 0;
    for (int t = 1; t <= c.day; t++) {
        merge_mixer_next(psi, &m);
        sum = 0;
        for (int v = 0; v < V; v++)
            sum += psi[v];
        ck_assert_double_eq_tol(sum, 1, 1e-12);
        if (t == c.day / 2) moved = fabs(psi[0] - first[0]) + fabs(psi[1] - first[1]);
    }
    back = fabs(psi[0] - first[0]) + fabs(psi[1] - first[1]);
    ck_assert_double_gt(moved, .2);
    ck_assert_double_lt(back, moved); /* a day later, up to the wandering */
}

TEST(a_run_is_its_seed)
{
    struct plain_field *f = field_make();
    for (int m = 0; m < MERGE_METHODS; m++) {
        if (m == MERGE_TANBR_FULL) continue; /* slow; its parts are tested with nucb */
        struct result *a = run(f, true, (enum merge_method)m, 3);
        struct result *b = run(f, true, (enum merge_method)m, 3);
        ck_assert_mem_eq(a->expected, b->expected, sizeof a->expected);
        ck_assert_mem_eq(a->ideal, b->ideal, sizeof a->ideal);
        bool each =
            m == MERGE_ROUTER || m == MERGE_HINT_GUESSED || m == MERGE_HINT_LIKELY;
        for (int t = 0; t < SLOTS && !each; t++) /* viewer by viewer may be better */
            ck_assert_double_le(a->expected[t], a->ideal[t] + 1e-9);
        free(a);
        free(b);
    }
    field_drop(f);
}

TEST(tanbr_learns_what_the_mix_wants)
{
    struct plain_field *f = field_make();
    for (int drift = 0; drift < 2; drift++) {
        double regret[2] = {0};
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct result *a = run(f, drift, MERGE_TANBR, seed);
            struct result *b = run(f, drift, MERGE_UNIFORM, seed);
            regret[0] += mean_of(a->ideal, 200, SLOTS) - mean_of(a->expected, 200, SLOTS);
            regret[1] += mean_of(b->ideal, 200, SLOTS) - mean_of(b->expected, 200, SLOTS);
            ck_assert_int_gt(a->run.leaves, 5);
            ck_assert_int_gt(a->run.depth, 2);
            free(a);
            free(b);
        }
        ck_assert_double_lt(regret[0], .75 * regret[1]);
    }
    field_drop(f);
}

static double regret_of(const struct plain_field *f, enum merge_method m, uint64_t seed)
{
    struct result *r = run(f, true, m, seed);
    double lost = mean_of(r->ideal, 0, SLOTS) - mean_of(r->expected, 0, SLOTS);
    free(r);
    return lost;
}

TEST(what_a_prior_is_worth)
{
    struct plain_field *f = field_make();
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double prior = regret_of(f, MERGE_PRIOR, seed),
               told = regret_of(f, MERGE_TANBR, seed),
               bare = regret_of(f, MERGE_TANBR_BARE, seed),
               misled = regret_of(f, MERGE_TANBR_MISLED, seed);
        ck_assert_double_lt(prior,
                            .03); /* the truth: what is left is the mix and the tree */
        ck_assert_double_lt(told, bare / 1.5);
        ck_assert_double_lt(regret_of(f, MERGE_NUCB_PRIOR, seed),
                            regret_of(f, MERGE_NUCB, seed));
        ck_assert_double_gt(misled, told);
    }
    field_drop(f);
}

TEST(the_diagonal_beside_all_of_z)
{
    struct plain_field *f = field_make();
    struct result *full = run_of(f, false, MERGE_TANBR_FULL, 6, 12);
    struct result *diagonal = run_of(f, false, MERGE_TANBR, 6, 12);
    ck_assert(isnan(diagonal->run.equal) && isnan(diagonal->run.apart));
    ck_assert_double_ge(full->run.equal,
                        1.0 / 12); /* nothing is known in the first slot */
    ck_assert_double_le(full->run.equal, 1);
    ck_assert_double_ge(full->run.apart, 0);
    ck_assert(full->run.equal < 1 || full->run.apart == 0);
    ck_assert_double_eq(full->expected[0], diagonal->expected[0]);
    free(full);
    free(diagonal);
    field_drop(f);
}

TEST(hindsight)
{
    struct plain_field *f = field_make();
    struct result *fixed = run(f, true, MERGE_BEST_FIXED, 4);
    struct result *single = run(f, true, MERGE_BEST_SINGLE, 4);
    int point = 0;
    double best = merge_sim_best(&point, f->grid, fixed->run.mix);
    ck_assert_double_eq_tol(mean_of(fixed->expected, 0, SLOTS), best, 1e-6);
    ck_assert_double_eq_tol(mean_of(fixed->expected, SLOTS - SLOTS / 5, SLOTS),
                            fixed->run.fixed_late, 1e-6);
    double ones = 0;
    for (int k = 0; k < V; k++) {
        ck_assert(single->run.x[k] < 1e-9 || single->run.x[k] > 1 - 1e-9);
        ones += single->run.x[k];
    }
    ck_assert_double_eq_tol(ones, 1, 1e-9);
    ck_assert_double_le(mean_of(single->expected, 0, SLOTS), best);
    free(fixed);
    free(single);
    field_drop(f);
}

TEST(what_is_fixed_beforehand)
{
    struct plain_field *f = field_make();
    struct result *fisher = run(f, false, MERGE_FISHER, 5);
    struct result *regmean = run(f, false, MERGE_REGMEAN, 5);
    struct result *uniform = run(f, false, MERGE_UNIFORM, 5);
    struct result *router = run(f, false, MERGE_ROUTER, 5);
    ck_assert_double_eq_tol(fisher->expected[7], .25, 1e-6);
    ck_assert_double_eq_tol(regmean->expected[7], .5, 1e-6);
    /* off the grid of sixths: between its corners, so not above */
    double middle = worth((float[]){.25f, .25f, .25f, .25f}, 0);
    ck_assert_double_eq_tol(uniform->expected[0], middle, .05);
    /* .8 at the own 10 of 40 contents, .05 by chance, and what the observation says is nothing:
     * in the end .85 + .05 * 3 of a profile's viewers go to each specialist */
    ck_assert_double_gt(router->run.accuracy, .7);
    double least = worth((float[]){0, 1, 0, 0}, 0);
    double right = worth((float[]){1, 0, 0, 0}, 0);
    ck_assert_double_eq_tol(mean_of(router->expected, SLOTS - 20, SLOTS),
                            .85 * right + .15 * least, .05);
    ck_assert(isnan(uniform->run.accuracy));
    free(fisher);
    free(regmean);
    free(uniform);
    free(router);
    field_drop(f);
}

/* ---- several nodes ---- */

enum { NODE_SLOTS = 200, SEEDS = 5 };

static double nodes_regret(const struct plain_field *f, enum merge_nodes_how how,
                           int nodes, enum merge_method m, uint64_t seed)
{
    struct merge_sim_cfg c = merge_sim_cfg_default();
    c.slots = NODE_SLOTS;
    c.method = m;
    c.seed = seed;
    double regret = NAN;
    struct err e = {0};
    ck_assert_msg(merge_nodes_run(&regret, &f->field, &c, nodes, how, &e) == 0, "%s",
                  e.detail);
    return regret;
}

TEST(one_node_is_one_node)
{
    struct plain_field *f = field_make();
    double one = nodes_regret(f, MERGE_NODES_ONE, 3, MERGE_TANBR, 4);
    ck_assert_double_gt(one, 0);
    ck_assert_double_eq(nodes_regret(f, MERGE_NODES_ONE, 1, MERGE_TANBR, 4), one);
    ck_assert_double_eq(nodes_regret(f, MERGE_NODES_APART, 1, MERGE_TANBR, 4), one);
    ck_assert_double_eq(nodes_regret(f, MERGE_NODES_SHARED, 1, MERGE_TANBR, 4), one);
    field_drop(f);
}

TEST(who_shares_learns_as_fast_as_one_with_all_viewers)
{
    struct plain_field *f = field_make();
    static const enum merge_method start[] = {MERGE_TANBR_BARE, MERGE_TANBR_MISLED};
    for (int m = 0; m < 2; m++) {
        double one = 0, shared = 0, apart = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            one += nodes_regret(f, MERGE_NODES_ONE, 3, start[m], seed) / SEEDS;
            shared += nodes_regret(f, MERGE_NODES_SHARED, 3, start[m], seed) / SEEDS;
            apart += nodes_regret(f, MERGE_NODES_APART, 3, start[m], seed) / SEEDS;
        }
        ck_assert_msg(shared < 1.15 * one, "%g of %g", shared, one);
        ck_assert_msg(shared < .9 * apart, "%g of %g", shared, apart);
    }
    field_drop(f);
}

/* ---- guesses ---- */

enum { SEEN = 8, C = MERGE_CONTENTS };

/* Session s shows s % V in one input, or nothing. */
static float *observations(float *obs, bool telling)
{
    memset(obs, 0, SEEN * FEAT_FULL_DIM * sizeof *obs);
    for (int s = 0; s < SEEN && telling; s++)
        obs[s * FEAT_FULL_DIM + s % V] = 1;
    return obs;
}

static const float EVEN[V] = {.25f, .25f, .25f, .25f};

TEST(contents_have_their_viewers)
{
    float obs[SEEN * FEAT_FULL_DIM];
    struct merge_guess *g = merge_guess_new(observations(obs, false), SEEN, .8, 1, NULL);
    struct rng r;
    rng_init(&r, 2, 0);
    int own = 0;
    double sum = 0;
    for (int i = 0; i < 4000; i++)
        own += merge_guess_draw(g, 2, &r) % V == 2;
    ck_assert_double_eq_tol(own / 4000.0, .85, .03); /* .8 + .2 / 4 */
    for (int c = 0; c < C; c++)
        sum += merge_guess_share(g, 2, c);
    ck_assert_double_eq_tol(sum, 1, 1e-12);
    ck_assert_double_eq_tol(merge_guess_share(g, 2, 6), .8 / 10 + .2 / 40, 1e-12);
    ck_assert_double_eq_tol(merge_guess_share(g, 2, 7), .2 / 40, 1e-12);
    merge_guess_free(g);
}

TEST(counts_by_hand)
{
    float obs[SEEN * FEAT_FULL_DIM];
    struct merge_guess *g = merge_guess_new(observations(obs, false), SEEN, .8, 1, NULL);
    double q[V];
    const float psi[V] = {.1f, .6f, .2f, .1f};
    merge_guess_begin(g, psi);
    ck_assert_int_eq(merge_guess_who(q, g, 0, 5), 1); /* the mix is all that is known */
    ck_assert_double_eq_tol(q[1], .6, 1e-6);
    for (int i = 0; i < 8; i++)
        merge_guess_learn(g, i, 5, i < 6 ? 0 : 3);
    ck_assert_int_eq(merge_guess_who(q, g, 0, 5), 1); /* not before the next slot */
    merge_guess_begin(g, psi);
    ck_assert(!merge_guess_sees(g)); /* all observations are the same */
    ck_assert_int_eq(merge_guess_who(q, g, 3, 5), 0);
    ck_assert_double_eq_tol(q[0], (6 + 2 * .1) / 10, 1e-6);
    ck_assert_double_eq_tol(q[3], (2 + 2 * .1) / 10, 1e-6);
    ck_assert_int_eq(merge_guess_who(q, g, 3, 6), 1);
    merge_guess_free(g);
}

TEST(observations_are_used_when_they_tell)
{
    float obs[SEEN * FEAT_FULL_DIM];
    struct merge_guess *g = merge_guess_new(observations(obs, true), SEEN, .8, 1, NULL);
    double q[V];
    for (int i = 0; i < 800; i++)
        merge_guess_learn(g, i % SEEN, i % C, i % SEEN % V);
    merge_guess_begin(g, EVEN);
    ck_assert(merge_guess_sees(g));
    for (int s = 0; s < SEEN; s++) {
        ck_assert_int_eq(merge_guess_who(q, g, s, 39 - s % V), s % V);
        double sum = 0;
        for (int v = 0; v < V; v++)
            sum += q[v];
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    }
    merge_guess_free(g);
}

static void *make_guess(void *ctx, struct err *e)
{
    return merge_guess_new(ctx, SEEN, .5, 1, e);
}

static void drop_guess(void *made)
{
    merge_guess_free(made);
}

TEST(without_memory)
{
    float obs[SEEN * FEAT_FULL_DIM] = {0};
    ck_assert_int_ge(alloc_each_fails(make_guess, drop_guess, obs), 4);
}

SUITE_WITHIN(lab_merge_merge_sim, 120, mixes, a_run_is_its_seed,
             tanbr_learns_what_the_mix_wants, what_a_prior_is_worth,
             the_diagonal_beside_all_of_z, hindsight, what_is_fixed_beforehand,
             one_node_is_one_node, who_shares_learns_as_fast_as_one_with_all_viewers,
             contents_have_their_viewers, counts_by_hand,
             observations_are_used_when_they_tell, without_memory);
