#include "abr/recorded/replay_bias.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

static const double LEVEL = .95;

double replay_bias_clip(double value, enum compare_figure figure)
{
    const struct compare_kind *k = &compare_kinds[figure];
    return isnan(value) ? value : fmin(fmax(value, k->lo), k->hi);
}

/* One session: what it adds to the sums of its arm. */
struct replayed {
    double y, diff; /* diff: replayed difference of arm and control */
};

/* Sessions by arm: the control, the arm, then all other arms. */
struct groups {
    int n[3];
    struct replayed *of[3]; /* owned, one block */
    bool use[3];            /* whose differences are known */
};

/* Sessions on which both are known. */
static int predicts_on(const struct groups *g)
{
    int n = 0;
    for (int k = 0; k < 3; k++)
        n += g->use[k] ? g->n[k] : 0;
    return n;
}

static struct replayed replayed_of(const struct replay_bias_in *in, int arm, int i)
{
    const double *treated = in->p[arm], *control = in->p[0];
    double a = treated ? treated[i] : in->y[i], b = control ? control[i] : in->y[i];
    return (struct replayed){in->y[i], a - b};
}

static int group_sessions(struct groups *g, const struct replay_bias_in *in, int arm,
                          struct err *e)
{
    size_t n = (size_t)in->n + 1;
    struct replayed *all = calloc(3 * n, sizeof *all);
    if (!all) return err_set(e, ERR_MEMORY, "no memory for %d sessions", in->n);
    for (int k = 0; k < 3; k++)
        g->of[k] = all + (size_t)k * n;
    bool both = in->p[arm] && in->p[0];
    g->use[0] = both || in->p[arm];
    g->use[1] = both || in->p[0];
    g->use[2] = both;
    for (int i = 0; i < in->n; i++) {
        if (in->arm[i] < 0 || isnan(in->y[i])) continue;
        int k = in->arm[i] == 0 ? 0 : in->arm[i] == arm ? 1 : 2;
        struct replayed r = replayed_of(in, arm, i);
        if (!g->use[k]) r.diff = 0;
        if (!isnan(r.diff)) g->of[k][g->n[k]++] = r;
    }
    return 0;
}

/* draw NULL: the sample itself. */
static void figures(double *predicted, double *observed, const struct groups *g,
                    struct rng *draw)
{
    double y[3] = {0}, diff = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < g->n[k]; i++) {
            int at = draw ? (int)rng_below(draw, (uint32_t)g->n[k]) : i;
            y[k] += g->of[k][at].y;
            diff += g->of[k][at].diff;
        }
    *predicted = diff / predicts_on(g);
    *observed = y[1] / g->n[1] - y[0] / g->n[0];
}

static struct stats_interval percentiles(double mean, const double *x, int n)
{
    return (struct stats_interval){mean, stats_percentile(x, n, (1 - LEVEL) / 2),
                                   stats_percentile(x, n, (1 + LEVEL) / 2)};
}

int replay_bias(struct replay_bias *out, const struct replay_bias_in *in, int arm,
                struct err *e)
{
    const struct stats_interval none = {(double)NAN, (double)NAN, (double)NAN};
    *out = (struct replay_bias){.predicted = none, .observed = none, .bias = none};
    struct groups g = {.n = {0}};
    int rc = group_sessions(&g, in, arm, e);
    if (rc) return rc;
    size_t rounds = (size_t)in->resamples;
    double *x = calloc(3 * rounds, sizeof *x);
    if (!x) {
        rc = err_set(e, ERR_MEMORY, "no memory for %d resamples", in->resamples);
        goto out;
    }
    out->sessions[0] = g.n[0];
    out->sessions[1] = g.n[1];
    bool ran = g.n[0] >= REPLAY_BIAS_LEAST && g.n[1] >= REPLAY_BIAS_LEAST;
    out->predicts = predicts_on(&g) >= REPLAY_BIAS_LEAST;
    out->known = ran && out->predicts;
    struct rng draw;
    rng_init(&draw, in->seed, (uint64_t)arm);
    for (size_t i = 0; i < rounds; i++) {
        figures(&x[i], &x[rounds + i], &g, &draw);
        x[2 * rounds + i] = x[i] - x[rounds + i];
    }
    double predicted, observed;
    figures(&predicted, &observed, &g, NULL);
    if (ran) out->observed = percentiles(observed, x + rounds, in->resamples);
    if (out->predicts) out->predicted = percentiles(predicted, x, in->resamples);
    if (out->known)
        out->bias = percentiles(predicted - observed, x + 2 * rounds, in->resamples);
out:
    free(x);
    free(g.of[0]);
    return rc;
}

struct replay_bias replay_bias_worst(const struct replay_bias *of, int n)
{
    struct replay_bias w = {.known = false};
    for (int i = 0; i < n; i++) {
        if (!of[i].known) continue;
        double lo = w.known ? fmin(w.bias.lo, of[i].bias.lo) : of[i].bias.lo;
        double hi = w.known ? fmax(w.bias.hi, of[i].bias.hi) : of[i].bias.hi;
        if (!w.known || fabs(of[i].bias.mean) > fabs(w.bias.mean)) w = of[i];
        w.bias.lo = lo;
        w.bias.hi = hi;
    }
    return w;
}
