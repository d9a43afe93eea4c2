#include "lab/merge_sim.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = MERGE_TASKS, SESSIONS = 5, SLOTS = 300, STEPS = 6 };

/* A field without an emulator: task v is worth .9 - (distance of x from its top)^2, and a session
 * more or less. */
struct plain_field {
    struct merge_world world;
    struct merge_grid *grid;
    float fisher[SESSIONS * V], regmean[SESSIONS * V];
    struct merge_field field;
};

static double worth(const float *x, int v)
{
    double d = 0;
    for (int k = 0; k < V; k++)
        d += pow((double)x[k] - (k == v ? .8 : .2 / 3), 2);
    return .9 - d;
}

static struct plain_field *make(void)
{
    struct plain_field *f = calloc(1, sizeof *f);
    f->world.sessions = SESSIONS;
    f->grid = merge_grid_new(V, STEPS, &f->world, NULL);
    for (int i = 0; i < f->grid->points; i++) {
        float x[V];
        merge_grid_at(x, f->grid, i);
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
    f->field =
        (struct merge_field){&f->world, f->grid, f->grid, f->grid, f->fisher, f->regmean};
    return f;
}

static void drop(struct plain_field *f)
{
    merge_grid_free(f->grid);
    free(f);
}

struct result {
    double expected[SLOTS], ideal[SLOTS];
    struct merge_sim_run run;
};

static struct result *run(const struct plain_field *f, bool drift, enum merge_method m,
                          uint64_t seed)
{
    struct result *r = calloc(1, sizeof *r);
    r->run.expected = r->expected;
    r->run.ideal = r->ideal;
    struct merge_sim_cfg c = merge_sim_cfg_default();
    c.slots = SLOTS;
    c.drift = drift;
    c.method = m;
    c.seed = seed;
    ck_assert_int_eq(merge_sim_run(&r->run, &f->field, &c, NULL), 0);
    return r;
}

static double mean_of(const double *x, int from, int n)
{
    double sum = 0;
    for (int t = from; t < n; t++)
        sum += x[t] / (n - from);
    return sum;
}

START_TEST(mixes)
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
END_TEST

START_TEST(a_run_is_its_seed)
{
    struct plain_field *f = make();
    for (int m = 0; m < MERGE_METHODS; m++) {
        if (m == MERGE_TANBR_FULL) continue; /* slow; its parts are tested with nucb */
        struct result *a = run(f, true, (enum merge_method)m, 3);
        struct result *b = run(f, true, (enum merge_method)m, 3);
        ck_assert_mem_eq(a->expected, b->expected, sizeof a->expected);
        ck_assert_mem_eq(a->ideal, b->ideal, sizeof a->ideal);
        for (int t = 0; t < SLOTS; t++)
            ck_assert_double_le(a->expected[t], a->ideal[t] + 1e-9);
        free(a);
        free(b);
    }
    drop(f);
}
END_TEST

START_TEST(tanbr_learns_what_the_mix_wants)
{
    struct plain_field *f = make();
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
    drop(f);
}
END_TEST

START_TEST(hindsight)
{
    struct plain_field *f = make();
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
    drop(f);
}
END_TEST

START_TEST(what_is_fixed_beforehand)
{
    struct plain_field *f = make();
    struct result *fisher = run(f, false, MERGE_FISHER, 5);
    struct result *regmean = run(f, false, MERGE_REGMEAN, 5);
    struct result *uniform = run(f, false, MERGE_UNIFORM, 5);
    struct result *router = run(f, false, MERGE_ROUTER, 5);
    ck_assert_double_eq_tol(fisher->expected[7], .25, 1e-6);
    ck_assert_double_eq_tol(regmean->expected[7], .5, 1e-6);
    /* off the grid of sixths: between its corners, so not above */
    double middle = worth((float[]){.25f, .25f, .25f, .25f}, 0);
    ck_assert_double_eq_tol(uniform->expected[0], middle, .05);
    /* 30 % of the viewers go to one of the three other specialists */
    double right = worth((float[]){1, 0, 0, 0}, 0),
           wrong = worth((float[]){0, 1, 0, 0}, 0);
    ck_assert_double_eq_tol(router->expected[3], .7 * right + .3 * wrong, 1e-6);
    free(fisher);
    free(regmean);
    free(uniform);
    free(router);
    drop(f);
}
END_TEST

Suite *suite_lab_merge_sim(void);
Suite *suite_lab_merge_sim(void)
{
    Suite *s = suite_create("lab/merge_sim");
    TCase *t = tcase_create("lab/merge_sim");
    tcase_add_test(t, mixes);
    tcase_add_test(t, a_run_is_its_seed);
    tcase_add_test(t, tanbr_learns_what_the_mix_wants);
    tcase_add_test(t, hindsight);
    tcase_add_test(t, what_is_fixed_beforehand);
    suite_add_tcase(s, t);
    return s;
}
