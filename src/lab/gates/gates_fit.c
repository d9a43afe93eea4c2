#include "lab/gates/gates_fit.h"

#include "lab/gates/levmar.h"
#include "lab/gates/voronoi.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { POINTS = GATES_FIT_SIDE * GATES_FIT_SIDE, MAX = LEVMAR_PARAMS };

struct sample {
    const struct gates_fit_cfg *cfg;
    int points, atoms;
    double x[POINTS][PREFIX_MOE_DIM];
    double n[POINTS];     /* samples at the point */
    double mean[POINTS];  /* of Y there */
    double truth[POINTS]; /* g_G* there */
};

struct gates_fit_cfg gates_fit_default(enum residual_kind gate,
                                       enum prefix_moe_expert expert, int power)
{
    return (struct gates_fit_cfg){
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

static double normal(void *ctx, const double *theta, double *jj, double *jr)
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

static void gates_fit_draw(struct sample *s, const struct gates_fit_cfg *c, int64_t n,
                           struct rng *r)
{
    assert(c->side >= 2 && c->side <= GATES_FIT_SIDE);
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

static double gates_fit_within(double x, double box)
{
    return fmin(box, fmax(-box, x));
}

static void start_near(double *theta, const struct gates_fit_cfg *c, struct rng *r)
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
        theta[i] = gates_fit_within(theta[i] + c->spread * rng_normal(r), c->box);
}

static void start_anywhere(double *theta, const struct gates_fit_cfg *c, struct rng *r)
{
    for (int i = 0; i < c->atoms * PREFIX_MOE_EACH; i++)
        theta[i] = rng_range(r, -c->box / 2, c->box / 2);
}

static double fit(double *best, struct sample *s, struct rng *r)
{
    const struct gates_fit_cfg *c = s->cfg;
    const struct levmar_cfg how = {.n = c->atoms * PREFIX_MOE_EACH,
                                   .steps = c->steps,
                                   .patience = 4,
                                   .lo = -c->box,
                                   .hi = c->box,
                                   .tolerance = 1e-9};
    double least = INFINITY;
    for (int k = 0; k < c->starts; k++) {
        double theta[MAX];
        (k % 2 ? start_anywhere : start_near)(theta, c, r);
        double f = levmar_fit(theta, &how, normal, s);
        if (!(f < least)) continue;
        least = f;
        memcpy(best, theta, sizeof theta);
    }
    return least;
}

static double gates_fit_error_of(const struct sample *s,
                                 const struct prefix_moe_measure *g)
{
    double sum = 0;
    for (int k = 0; k < s->points; k++) {
        double d = prefix_moe_value(&s->cfg->model, g, s->x[k], NULL) - s->truth[k];
        sum += d * d;
    }
    return sqrt(sum / s->points);
}

void gates_fit_run(struct gates_fit *out, const struct gates_fit_cfg *c, int64_t n,
                   struct rng *r)
{
    assert(c->atoms >= c->truth.n && c->atoms <= PREFIX_MOE_ATOMS &&
           c->atoms * PREFIX_MOE_EACH <= MAX && n > 0);
    struct sample s;
    double theta[MAX] = {0}, of_truth = 0;
    gates_fit_draw(&s, c, n, r);
    for (int k = 0; k < s.points; k++)
        of_truth += s.n[k] * (s.mean[k] - s.truth[k]) * (s.mean[k] - s.truth[k]);
    double least = fit(theta, &s, r);
    out->fitted = measure_of(theta, c->atoms);
    out->l1 = voronoi_l1(&out->fitted, &c->truth);
    out->l2 = voronoi_l2(&out->fitted, &c->truth, 2);
    out->error = gates_fit_error_of(&s, &out->fitted);
    out->excess = (least - of_truth) / ((double)n * c->noise * c->noise);
}
