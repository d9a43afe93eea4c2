#include "lab/tracking/tracking_sim.h"

#include "base/rng.h"
#include "learn/inject.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double TURN = 6.28318530717958647692;

struct tracking_sim_cfg tracking_sim_cfg_default(void)
{
    return (struct tracking_sim_cfg){.dim = 8,
                                     .mu = 0.5,
                                     .l = 1.0,
                                     .eta = 0.1,
                                     .gamma = 1.0,
                                     .steps = 20000,
                                     .pairs = 16,
                                     .drift = TRACKING_SIM_JUMPS,
                                     .speed = 0.05,
                                     .every = 400,
                                     .seed = 1};
}

const char *tracking_sim_word(enum tracking_sim_drift drift)
{
    static const char *const words[] = {"jumps", "steady", "walk"};
    int i = (int)drift;
    return i >= 0 && i <= TRACKING_SIM_WALK ? words[i] : NULL;
}

static int check_int(const char *name, int value, int lo, int hi, struct err *e)
{
    if (value >= lo && value <= hi) return 0;
    return err_field(e, ERR_RANGE, name, "%d is not within %d .. %d", value, lo, hi);
}

static int tracking_sim_check(const struct tracking_sim_cfg *c, struct err *e)
{
    int rc = check_int("dim", c->dim, 3, TRACKING_SIM_DIM_MAX, e);
    if (!rc) rc = check_int("pairs", c->pairs, 1, TRACKING_SIM_PAIRS_MAX, e);
    if (!rc) rc = check_int("steps", c->steps, 1, 100000000, e);
    if (!rc) rc = check_int("every", c->every, 1, 100000000, e);
    if (!rc) rc = check_int("drift", (int)c->drift, 0, TRACKING_SIM_WALK, e);
    if (rc) return rc;
    if (!(c->mu > 0.0 && isfinite(c->mu)))
        return err_field(e, ERR_RANGE, "mu", "%g is not above 0", c->mu);
    if (!(c->l >= c->mu && isfinite(c->l)))
        return err_field(e, ERR_RANGE, "l", "%g is below mu = %g", c->l, c->mu);
    if (!(c->eta > 0.0 && c->eta * c->l <= 1.0 + 1e-12))
        return err_field(e, ERR_RANGE, "eta", "%g is not within 0 .. 1 / l = %g", c->eta,
                         1.0 / c->l);
    if (!(c->gamma >= 0.0 && isfinite(c->gamma)))
        return err_field(e, ERR_RANGE, "gamma", "%g is not 0 or more", c->gamma);
    if (!(c->speed >= 0.0 && isfinite(c->speed)))
        return err_field(e, ERR_RANGE, "speed", "%g is not 0 or more", c->speed);
    return 0;
}

/* Delta_t; true unless it is 0 */
static bool path_step(double *delta, const struct tracking_sim_cfg *c, int t,
                      struct rng *r)
{
    double d = c->dim;
    switch (c->drift) {
    case TRACKING_SIM_JUMPS:
        /* after each segment; three unit vectors that sum to 0 lead around a triangle */
        if ((t + 1) % c->every != 0) return false;
        for (int i = 0; i < c->dim; i++)
            delta[i] = c->speed * sqrt(c->every * 2.0 / d) *
                       cos(TURN * ((t + 1) / c->every % 3 / 3.0 + i / d));
        return true;
    case TRACKING_SIM_STEADY:
        for (int i = 0; i < c->dim; i++)
            delta[i] = c->speed / sqrt(d);
        return true;
    case TRACKING_SIM_WALK:
        for (int i = 0; i < c->dim; i++)
            delta[i] = c->speed / sqrt(d) * rng_normal(r);
        return true;
    }
    return false;
}

/* what one call needs, in one block */
struct state {
    double *keep;      /* (dim): 1 - eta lambda */
    double *delta;     /* (dim) */
    double *mean;      /* (dim): E e_t given the path */
    double *var;       /* (dim): of e_t given the path */
    double *error;     /* (pairs, 2, dim): e_t */
    double *sum;       /* (pairs): of |e_t|^2, mean of the two */
    struct rng *noise; /* (pairs) */
    struct inject z;
};

/* One pair's step; gives the mean of |e|^2. */
static double step_pair(double *e, const struct state *s,
                        const struct tracking_sim_cfg *c, bool moved, struct rng *r)
{
    double square = 0.0, *other = e + c->dim;
    for (int i = 0; i < c->dim; i++) {
        double kick = c->gamma > 0.0 ? c->eta * c->gamma * inject_normal(&s->z, r) : 0.0;
        double back = moved ? s->delta[i] : 0.0;
        e[i] = s->keep[i] * e[i] - back + kick;
        other[i] = s->keep[i] * other[i] - back - kick;
        square += e[i] * e[i] + other[i] * other[i];
    }
    return square / 2.0;
}

/* The exact step of mean and variance. */
static void step_expected(struct tracking_sim *out, struct state *s,
                          const struct tracking_sim_cfg *c, bool moved)
{
    double kick = c->eta * c->gamma * c->eta * c->gamma;
    for (int i = 0; i < c->dim; i++) {
        s->mean[i] = s->keep[i] * s->mean[i] - (moved ? s->delta[i] : 0.0);
        s->var[i] = s->keep[i] * s->keep[i] * s->var[i] + kick;
        out->drift += s->mean[i] * s->mean[i] / c->steps;
        out->noise += s->var[i] / c->steps;
    }
}

static void walk(struct tracking_sim *out, struct state *s,
                 const struct tracking_sim_cfg *c)
{
    struct rng path;
    rng_init(&path, c->seed, 0);
    inject_init(&s->z);
    for (int k = 0; k < c->pairs; k++)
        rng_init(&s->noise[k], c->seed, 1 + (uint64_t)k);
    for (int i = 0; i < c->dim; i++)
        s->keep[i] = 1.0 - c->eta * c->mu * pow(c->l / c->mu, i / (c->dim - 1.0));

    for (int t = 0; t < c->steps; t++) {
        bool moved = path_step(s->delta, c, t, &path);
        if (moved) {
            double square = 0.0;
            for (int i = 0; i < c->dim; i++)
                square += s->delta[i] * s->delta[i];
            out->energy += square;
            out->path += sqrt(square);
        }
        step_expected(out, s, c, moved);
        for (int k = 0; k < c->pairs; k++)
            s->sum[k] += step_pair(s->error + 2 * (size_t)k * (size_t)c->dim, s, c, moved,
                                   &s->noise[k]);
    }
}

static void sum_up(struct tracking_sim *out, const struct state *s,
                   const struct tracking_sim_cfg *c)
{
    double t = c->steps, squares = 0.0;
    for (int k = 0; k < c->pairs; k++)
        out->measured += s->sum[k] / t / c->pairs;
    for (int k = 0; k < c->pairs; k++) {
        double off = s->sum[k] / t - out->measured;
        squares += off * off;
    }
    out->se = c->pairs > 1 ? sqrt(squares / (c->pairs - 1.0) / c->pairs) : (double)NAN;
    out->expected = out->drift + out->noise;

    double square = out->path * out->path;
    out->term_noise = c->eta * c->gamma * c->gamma * c->dim;
    out->term_path = square / (t * c->eta);
    out->eq39 = 4.0 * square / (c->mu * c->mu * c->eta * c->eta * t) +
                2.0 * out->term_noise / c->mu;
    out->bound_path = (out->term_noise + out->term_path) / c->mu;
    out->bound_energy =
        out->term_noise / c->mu + out->energy / (t * c->eta * c->mu * c->eta * c->mu);
}

int tracking_sim_run(struct tracking_sim *out, const struct tracking_sim_cfg *cfg,
                     struct err *e)
{
    int rc = tracking_sim_check(cfg, e);
    if (rc) return rc;

    size_t dim = (size_t)cfg->dim, pairs = (size_t)cfg->pairs;
    double *block = calloc(4 * dim + 2 * pairs * dim + pairs, sizeof *block);
    struct rng *noise = calloc(pairs, sizeof *noise);
    if (!block || !noise) {
        rc = err_set(e, ERR_MEMORY, "no memory for %d pairs of runs", cfg->pairs);
        goto out;
    }
    struct state s = {.keep = block,
                      .delta = block + dim,
                      .mean = block + 2 * dim,
                      .var = block + 3 * dim,
                      .error = block + 4 * dim,
                      .sum = block + 4 * dim + 2 * pairs * dim,
                      .noise = noise};
    *out = (struct tracking_sim){0};
    walk(out, &s, cfg);
    sum_up(out, &s, cfg);
out:
    free(noise);
    free(block);
    return rc;
}
