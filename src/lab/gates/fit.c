#include "lab/gates/fit.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- Levenberg and Marquardt ---- */

enum { MAX = FIT_PARAMS };

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
static bool fit_levmar_step(double *to, const double *theta,
                            const struct fit_levmar_cfg *c, const double *jj,
                            const double *jr, double lambda)
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
        /* a parameter on which no residual depends must not fail the solution */
        a[i * n + i] += lambda * a[i * n + i] + 1e-30;
    }
    if (!cholesky(a, n)) return false;
    solve(a, d, n);
    for (int i = 0; i < n; i++)
        to[i] = fmin(c->hi, fmax(c->lo, theta[i] + d[i]));
    return true;
}

double fit_levmar(double *theta, const struct fit_levmar_cfg *c, fit_normal *normal,
                  void *ctx)
{
    assert(c->n >= 1 && c->n <= MAX && c->lo < c->hi);
    double jj[MAX * MAX], jr[MAX], to[MAX], lambda = 1e-3;
    double f = normal(ctx, theta, jj, jr);
    for (int t = 0, still = 0; t < c->steps && still < c->patience && lambda < 1e12;
         t++) {
        double next = f;
        if (fit_levmar_step(to, theta, c, jj, jr, lambda))
            next = normal(ctx, to, NULL, NULL);
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

/* ---- the regression ---- */

enum { POINTS = FIT_SIDE * FIT_SIDE };

struct sample {
    const struct fit_cfg *cfg;
    int points, atoms;
    double x[POINTS][PREFIX_MOE_DIM];
    double n[POINTS];     /* samples at the point */
    double mean[POINTS];  /* of Y there */
    double truth[POINTS]; /* g_G* there */
};

struct fit_cfg fit_default(enum residual_kind gate, enum prefix_moe_expert expert,
                           int power)
{
    return (struct fit_cfg){
        .model = {.gate = {gate, 1, 1},
                  .expert = expert,
                  .power = power,
                  .frozen = 1,
                  .known = {{{{.5, .3}, {.3, -.5}}, .2, {.5, .5}, 1}}},
        .truth = {.n = 2,
                  .atom = {{.3, {2, -1}, {2, 1}, -.5}, {0, {-1.5, 1.5}, {-1, 2}, .7}}},
        .atoms = 3,
        .side = 17,
        .noise = .1,
        .box = 4,
        .spread = .3,
        .starts = 6,
        .steps = 300,
    };
}

static struct prefix_moe_measure measure_of(const double *theta, int atoms)
{
    struct prefix_moe_measure g = {.n = atoms};
    memcpy(g.atom, theta, (size_t)atoms * sizeof g.atom[0]);
    return g;
}

static double fit_normal_of(void *ctx, const double *theta, double *jj, double *jr)
{
    const struct sample *s = ctx;
    int p = s->atoms * PREFIX_MOE_EACH;
    struct prefix_moe_measure g = measure_of(theta, s->atoms);
    double by[MAX], f = 0;
    if (jj) {
        memset(jj, 0, sizeof(double) * (size_t)(p * p));
        memset(jr, 0, sizeof(double) * (size_t)p);
    }
    for (int k = 0; k < s->points; k++) {
        if (s->n[k] == 0) continue;
        double y = prefix_moe_value(&s->cfg->model, &g, s->x[k], jj ? by : NULL);
        double r = y - s->mean[k];
        f += s->n[k] * r * r;
        for (int i = 0; i < p && jj; i++) {
            double w = s->n[k] * by[i];
            jr[i] += w * r;
            for (int j = 0; j <= i; j++)
                jj[i * p + j] += w * by[j];
        }
    }
    return f;
}

static void fit_draw(struct sample *s, const struct fit_cfg *c, int64_t n, struct rng *r)
{
    assert(c->side >= 2 && c->side <= FIT_SIDE);
    *s = (struct sample){.cfg = c, .points = c->side * c->side, .atoms = c->atoms};
    for (int64_t i = 0; i < n; i++)
        s->n[rng_below(r, (uint32_t)s->points)]++;
    for (int k = 0; k < s->points; k++) {
        int row = k / c->side, column = k % c->side;
        s->x[k][0] = 2.0 * row / (c->side - 1) - 1;
        s->x[k][1] = 2.0 * column / (c->side - 1) - 1;
        s->truth[k] = prefix_moe_value(&c->model, &c->truth, s->x[k], NULL);
        /* the mean of n[k] normals */
        double z = rng_normal(r);
        s->mean[k] = s->truth[k] + (s->n[k] > 0 ? c->noise * z / sqrt(s->n[k]) : 0);
    }
}

static double fit_within(double x, double box)
{
    return fmin(box, fmax(-box, x));
}

static void start_near(double *theta, const struct fit_cfg *c, struct rng *r)
{
    int of[PREFIX_MOE_ATOMS], count[PREFIX_MOE_ATOMS] = {0};
    for (int i = 0; i < c->atoms; i++) {
        of[i] = i < c->truth.n ? i : (int)rng_below(r, (uint32_t)c->truth.n);
        count[of[i]]++;
    }
    for (int i = 0; i < c->atoms; i++) {
        struct prefix_moe_atom at = c->truth.atom[of[i]];
        at.beta0 -= log(count[of[i]]);
        memcpy(&theta[i * PREFIX_MOE_EACH], &at, sizeof at);
    }
    for (int i = 0; i < c->atoms * PREFIX_MOE_EACH; i++)
        theta[i] = fit_within(theta[i] + c->spread * rng_normal(r), c->box);
}

static void start_anywhere(double *theta, const struct fit_cfg *c, struct rng *r)
{
    for (int i = 0; i < c->atoms * PREFIX_MOE_EACH; i++)
        theta[i] = rng_range(r, -c->box / 2, c->box / 2);
}

static double fit_best(double *best, struct sample *s, struct rng *r)
{
    const struct fit_cfg *c = s->cfg;
    const struct fit_levmar_cfg how = {.n = c->atoms * PREFIX_MOE_EACH,
                                       .steps = c->steps,
                                       .patience = 4,
                                       .lo = -c->box,
                                       .hi = c->box,
                                       .tolerance = 1e-9};
    double least = INFINITY;
    for (int k = 0; k < c->starts; k++) {
        double theta[MAX];
        (k % 2 ? start_anywhere : start_near)(theta, c, r);
        double f = fit_levmar(theta, &how, fit_normal_of, s);
        if (!(f < least)) continue;
        least = f;
        memcpy(best, theta, sizeof theta);
    }
    return least;
}

static double fit_error_of(const struct sample *s, const struct prefix_moe_measure *g)
{
    double sum = 0;
    for (int k = 0; k < s->points; k++) {
        double d = prefix_moe_value(&s->cfg->model, g, s->x[k], NULL) - s->truth[k];
        sum += d * d;
    }
    return sqrt(sum / s->points);
}

void fit_run(struct fit *out, const struct fit_cfg *c, int64_t n, struct rng *r)
{
    assert(c->atoms >= c->truth.n && c->atoms <= PREFIX_MOE_ATOMS &&
           c->atoms * PREFIX_MOE_EACH <= MAX && n > 0);
    struct sample s;
    double theta[MAX] = {0}, of_truth = 0;
    fit_draw(&s, c, n, r);
    for (int k = 0; k < s.points; k++)
        of_truth += s.n[k] * (s.mean[k] - s.truth[k]) * (s.mean[k] - s.truth[k]);
    double least = fit_best(theta, &s, r);
    out->fitted = measure_of(theta, c->atoms);
    out->l1 = prefix_moe_l1(&out->fitted, &c->truth);
    out->l2 = prefix_moe_l2(&out->fitted, &c->truth, 2);
    out->error = fit_error_of(&s, &out->fitted);
    out->excess = (least - of_truth) / ((double)n * c->noise * c->noise);
}
