#include "lab/forgetting/exact.h"

#include "lab/forgetting/recall.h"
#include "support/suites.h"

#include <math.h>

enum { REPS = 2000, ROUNDS = 60 };

static struct task_cfg paper(bool signal)
{
    return (struct task_cfg){.d = 10,
                             .s = 6,
                             .tasks = 6,
                             .clusters = 3,
                             .sigma0 = .4,
                             .within = .3,
                             .sigma_t = .1,
                             .scale = 3,
                             .signal = signal};
}

static struct task_pool fixed_pool(const struct task_cfg *c)
{
    struct task_pool p;
    struct rng r;
    rng_init(&r, 1, 77);
    task_pool_draw(&p, c, &r);
    return p;
}

/* r = 1/2, A = 3, B = 4, t = 2: F = (1/4 - 1/2)(-1) + (1/2)(1/2) 4 = 1.25, printed .25;
 * G = 3/4 + (3/4)(1/2) 4 = 2.25, printed 3.75.
 * t = 3: F = ((1/8 - 1/2)(-1) + (1/8 - 1/4)(-1) + 2 (3/4) + 2 (1/2))/2 = 1.5 */
TEST(closed_forms_by_hand)
{
    struct exact_norms n = {3, 4};
    ck_assert_double_eq_tol(exact_f(n, .5, 2), 1.25, 1e-14);
    ck_assert_double_eq_tol(exact_printed_f(n, .5, 2), .25, 1e-14);
    ck_assert_double_eq_tol(exact_g(n, .5, 2), 2.25, 1e-14);
    ck_assert_double_eq_tol(exact_printed_g(n, .5, 2), 3.75, 1e-14);
    ck_assert_double_eq_tol(exact_f(n, .5, 3), 1.5, 1e-14);
    ck_assert_double_eq_tol(exact_g(n, .5, 1), 1.5,
                            1e-14); /* r A: one task, just learned */
}

TEST(norms_by_hand)
{
    struct task_pool p = {.w = {{1, 0}, {0, 3}}};
    struct exact_norms n = exact_norms(&p, 2, 2);
    ck_assert_double_eq_tol(n.a, 5, 1e-15);
    ck_assert_double_eq_tol(n.b, 5, 1e-15); /* (10 + 10)/4 */
}

/* Without signal the recursion over ten-dimensional moments is the two closed forms. */
TEST(the_recursion_gives_the_closed_forms)
{
    struct task_cfg c = paper(false);
    struct task_pool p = fixed_pool(&c);
    struct exact_norms n = exact_norms(&p, c.tasks, c.d);
    double f[ROUNDS], g[ROUNDS];
    exact_moments(f, g, ROUNDS, &p, &c);
    for (int t = 2; t <= ROUNDS; t++) {
        ck_assert_double_eq_tol(f[t - 1], exact_f(n, .4, t), 1e-12);
        ck_assert_double_eq_tol(g[t - 1], exact_g(n, .4, t), 1e-12);
    }
}

struct sums {
    double f[ROUNDS], ff[ROUNDS], g[ROUNDS], gg[ROUNDS];
};

static void simulate(struct sums *s, const struct task_cfg *c, const struct task_pool *p)
{
    *s = (struct sums){0};
    for (int rep = 0; rep < REPS; rep++) {
        struct rng r;
        rng_init(&r, 3, (uint64_t)rep);
        struct recall l;
        recall_init(&l, 1, c->d);
        double w[1][TASK_DIM] = {{0}};
        for (int t = 0; t < ROUNDS; t++) {
            const double *truth = p->w[rng_below(&r, (uint32_t)c->tasks)];
            struct task_data x;
            task_draw(&x, c, truth, &r);
            task_learn(w[0], c, &x, truth);
            recall_add(&l, 0, truth, w[0]);
            double g = recall_error(&l, w), f = t ? recall_forgot(&l, w) : 0;
            s->f[t] += f, s->ff[t] += f * f, s->g[t] += g, s->gg[t] += g * g;
        }
    }
}

/* how many standard errors the mean over repetitions lies from x */
static double z(double sum, double squares, double x)
{
    double mean = sum / REPS, var = (squares - sum * mean) / (REPS - 1);
    return fabs(mean - x) / sqrt(var / REPS);
}

TEST(simulation_meets_the_closed_forms_and_not_the_printed_ones)
{
    struct task_cfg c = paper(false);
    struct task_pool p = fixed_pool(&c);
    struct exact_norms n = exact_norms(&p, c.tasks, c.d);
    struct sums s;
    simulate(&s, &c, &p);
    double printed_f = 0, printed_g = 0;
    for (int t = 2; t <= ROUNDS; t++) {
        ck_assert_double_le(z(s.f[t - 1], s.ff[t - 1], exact_f(n, .4, t)), 4);
        ck_assert_double_le(z(s.g[t - 1], s.gg[t - 1], exact_g(n, .4, t)), 4);
        printed_f =
            fmax(printed_f, z(s.f[t - 1], s.ff[t - 1], exact_printed_f(n, .4, t)));
        printed_g =
            fmax(printed_g, z(s.g[t - 1], s.gg[t - 1], exact_printed_g(n, .4, t)));
    }
    ck_assert_double_gt(printed_f, 20);
    ck_assert_double_gt(printed_g, 20);
}

/* With the signal on: the recursion holds, the closed forms without it do not. */
TEST(simulation_with_the_signal_meets_the_recursion)
{
    struct task_cfg c = paper(true);
    struct task_pool p = fixed_pool(&c);
    struct exact_norms n = exact_norms(&p, c.tasks, c.d);
    double f[ROUNDS], g[ROUNDS], off = 0;
    exact_moments(f, g, ROUNDS, &p, &c);
    struct sums s;
    simulate(&s, &c, &p);
    for (int t = 2; t <= ROUNDS; t++) {
        ck_assert_double_le(z(s.f[t - 1], s.ff[t - 1], f[t - 1]), 4);
        ck_assert_double_le(z(s.g[t - 1], s.gg[t - 1], g[t - 1]), 4);
        off = fmax(off, z(s.g[t - 1], s.gg[t - 1], exact_g(n, .4, t)));
    }
    ck_assert_double_gt(off, 8);
}

SUITE(lab_forgetting_exact, closed_forms_by_hand, norms_by_hand,
      the_recursion_gives_the_closed_forms,
      simulation_meets_the_closed_forms_and_not_the_printed_ones,
      simulation_with_the_signal_meets_the_recursion);
