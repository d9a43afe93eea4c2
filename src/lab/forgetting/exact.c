#include "lab/forgetting/exact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct exact_norms exact_norms(const struct task_pool *p, int tasks, int d)
{
    struct exact_norms out = {0, 0};
    for (int n = 0; n < tasks; n++) {
        out.a += task_dot(p->w[n], p->w[n], d) / tasks;
        for (int k = 0; k < tasks; k++)
            out.b += task_distance2(p->w[n], p->w[k], d) / ((double)tasks * tasks);
    }
    return out;
}

/* sum over tau < t of r^t - r^tau */
static double powers(double r, int t)
{
    return (t - 1) * pow(r, t) - (r - pow(r, t)) / (1 - r);
}

double exact_printed_f(struct exact_norms n, double r, int t)
{
    assert(t >= 2);
    return powers(r, t) * (n.a - n.b) / (t - 1);
}

double exact_f(struct exact_norms n, double r, int t)
{
    double kept = (r - pow(r, t)) / (1 - r); /* sum over tau < t of r^(t - tau) */
    return exact_printed_f(n, r, t) + (1 - r) * (t - 1 - kept) * n.b / (t - 1);
}

double exact_printed_g(struct exact_norms n, double r, int t)
{
    return pow(r, t) * n.a + (1 - pow(r, t)) * n.b;
}

double exact_g(struct exact_norms n, double r, int t)
{
    return pow(r, t) * n.a + (1 - pow(r, t)) * (1 - 1.0 / t) * n.b;
}

/* ---- the second-moment recursion */

/* Moments of a sum of random vectors w, each with a probability: c their total, m = E[w],
 * s = E[w w^T]. All is linear in (c, m, s). */
struct moments {
    double c, m[TASK_DIM], s[TASK_DIM][TASK_DIM];
};

static void exact_add(struct moments *to, const struct moments *x, double share, int d)
{
    to->c += share * x->c;
    for (int i = 0; i < d; i++) {
        to->m[i] += share * x->m[i];
        for (int j = 0; j < d; j++)
            to->s[i][j] += share * x->s[i][j];
    }
}

/* z <- Pi z, Z <- Pi Z Pi with Pi = I - u u^T; both unchanged for u = NULL */
static void exact_cut(double *z, double (*zz)[TASK_DIM], const double *u, int d)
{
    if (!u) return;
    double along = task_dot(u, z, d), zu[TASK_DIM];
    for (int i = 0; i < d; i++)
        zu[i] = task_dot(zz[i], u, d);
    double uzu = task_dot(u, zu, d);
    for (int i = 0; i < d; i++) {
        z[i] -= along * u[i];
        for (int j = 0; j < d; j++)
            zz[i][j] += uzu * u[i] * u[j] - u[i] * zu[j] - zu[i] * u[j];
    }
}

/* out = moments of w_n + R (w - w_n); u the signal's direction or NULL */
static void exact_learn(struct moments *out, const struct moments *in, const double *w,
                        const double *u, const struct task_cfg *c)
{
    int d = c->d, q = d - c->s;
    double D = u ? d - 1 : d;
    double b = q * (D - q) / (D * (D - 1) * (D + 2)), a = q / D - (D + 1) * b;

    double z[TASK_DIM] = {0}, zz[TASK_DIM][TASK_DIM], trace = 0;
    for (int i = 0; i < d; i++) {
        z[i] = in->m[i] - in->c * w[i];
        for (int j = 0; j < d; j++)
            zz[i][j] =
                in->s[i][j] - in->m[i] * w[j] - w[i] * in->m[j] + in->c * w[i] * w[j];
    }
    exact_cut(z, zz, u, d);
    for (int i = 0; i < d; i++)
        trace += zz[i][i];

    out->c = in->c;
    for (int i = 0; i < d; i++) {
        z[i] *= q / D;
        out->m[i] = in->c * w[i] + z[i];
    }
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            double pi = (i == j) - (u ? u[i] * u[j] : 0);
            out->s[i][j] = in->c * w[i] * w[j] + w[i] * z[j] + z[i] * w[j] +
                           (a + b) * zz[i][j] + b * trace * pi;
        }
}

/* E||w - target||^2 */
static double exact_error_of(const struct moments *x, const double *target, int d)
{
    double sum = x->c * task_dot(target, target, d) - 2 * task_dot(x->m, target, d);
    for (int i = 0; i < d; i++)
        sum += x->s[i][i];
    return sum;
}

void exact_moments(double *f, double *g, int rounds, const struct task_pool *p,
                   const struct task_cfg *c)
{
    assert(c->d >= 3 && c->d <= TASK_DIM && c->tasks <= TASK_POOL);
    int d = c->d, tasks = c->tasks;
    double u[TASK_POOL][TASK_DIM];
    for (int n = 0; n < tasks; n++) {
        double len = sqrt(task_dot(p->w[n], p->w[n], d));
        for (int i = 0; i < d; i++)
            u[n][i] = p->w[n][i] / len;
    }

    /* now: w_t. held[n]: sum over tau <= t of w_t in the worlds where n_tau = n */
    struct moments now = {.c = 1}, held[TASK_POOL], one;
    memset(held, 0, sizeof held);
    double at_once = 0;
    for (int t = 1; t <= rounds; t++) {
        struct moments next = {0};
        double left = 0;
        for (int n = 0; n < tasks; n++) {
            struct moments aged = {0};
            for (int k = 0; k < tasks; k++) {
                exact_learn(&one, &held[n], p->w[k], c->signal ? u[k] : NULL, c);
                exact_add(&aged, &one, 1.0 / tasks, d);
            }
            exact_learn(&one, &now, p->w[n], c->signal ? u[n] : NULL, c);
            exact_add(&next, &one, 1.0 / tasks, d);
            exact_add(&aged, &one, 1.0 / tasks, d);
            at_once += exact_error_of(&one, p->w[n], d) / tasks;
            held[n] = aged;
            left += exact_error_of(&held[n], p->w[n], d);
        }
        now = next;
        g[t - 1] = left / t;
        f[t - 1] = t > 1 ? (left - at_once) / (t - 1) : 0;
    }
}
