#include "lab/gates/levmar.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { MAX = LEVMAR_PARAMS };

/* L L' = A in the lower triangle, in place; false when A is not positive definite */
static bool cholesky(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

/* x of L L' x = x */
static void solve(const double *l, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* The damped step from theta into `to`; false when the system cannot be solved. */
static bool levmar_step(double *to, const double *theta, const struct levmar_cfg *c,
                        const double *jj, const double *jr, double lambda)
{
    double a[MAX * MAX], d[MAX];
    int n = c->n;
    memcpy(a, jj, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n; i++) {
        bool stuck = (theta[i] <= c->lo && jr[i] > 0) || (theta[i] >= c->hi && jr[i] < 0);
        d[i] = stuck ? 0 : -jr[i];
        if (stuck) {
            for (int k = 0; k < n; k++)
                a[i * n + k] = a[k * n + i] = 0;
            a[i * n + i] = 1;
        }
        /* what no residual depends on has to stand still, not to fail */
        a[i * n + i] += lambda * a[i * n + i] + 1e-30;
    }
    if (!cholesky(a, n)) return false;
    solve(a, d, n);
    for (int i = 0; i < n; i++)
        to[i] = fmin(c->hi, fmax(c->lo, theta[i] + d[i]));
    return true;
}

double levmar_fit(double *theta, const struct levmar_cfg *c, levmar_normal *normal,
                  void *ctx)
{
    assert(c->n >= 1 && c->n <= MAX && c->lo < c->hi);
    double jj[MAX * MAX], jr[MAX], to[MAX], lambda = 1e-3;
    double f = normal(ctx, theta, jj, jr);
    for (int t = 0, still = 0; t < c->steps && still < c->patience && lambda < 1e12;
         t++) {
        double next = f;
        if (levmar_step(to, theta, c, jj, jr, lambda)) next = normal(ctx, to, NULL, NULL);
        if (!(next < f)) {
            lambda *= 10;
            continue;
        }
        lambda = fmax(lambda / 10, 1e-15);
        still = f - next < c->tolerance * f ? still + 1 : 0;
        memcpy(theta, to, sizeof(double) * (size_t)c->n);
        f = normal(ctx, theta, jj, jr);
    }
    return f;
}
