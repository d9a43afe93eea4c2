#include "abr/recorded/replay_bias.h"

#include <math.h>
#include <stdlib.h>

static const double Z = 1.959964; /* of the normal distribution, two-sided 0.05 */

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

/* What session i of group k adds to the two figures: each is the sum over all sessions. */
static void shares(double *predicted, double *observed, const struct groups *g, int k,
                   int i)
{
    const struct replayed *r = &g->of[k][i];
    *predicted = r->diff / predicts_on(g);
    *observed = k == 2 ? 0 : k == 1 ? r->y / g->n[1] : -r->y / g->n[0];
}

/* The sum of the shares, and its variance. */
struct spread {
    double sum, variance;
};

static void spread_add(struct spread *s, double sum, double squares, int n)
{
    s->sum += sum;
    if (n > 1) s->variance += n * fmax(squares - sum * sum / n, 0) / (n - 1);
}

static void spread_groups(struct spread out[3], const struct groups *g)
{
    for (int k = 0; k < 3; k++) {
        double sum[3] = {0}, squares[3] = {0};
        for (int i = 0; i < g->n[k]; i++) {
            double x[3];
            shares(&x[0], &x[1], g, k, i);
            x[2] = x[0] - x[1];
            for (int j = 0; j < 3; j++) {
                sum[j] += x[j];
                squares[j] += x[j] * x[j];
            }
        }
        for (int j = 0; j < 3; j++)
            spread_add(&out[j], sum[j], squares[j], g->n[k]);
    }
}

static struct stats_interval interval_of(const struct spread *s, int least)
{
    /* Student's quantile, its first term in 1 / freedom */
    double t = Z + (Z * Z * Z + Z) / (4.0 * (least > 1 ? least - 1 : 1));
    double width = t * sqrt(s->variance);
    return (struct stats_interval){s->sum, s->sum - width, s->sum + width};
}

int replay_bias(struct replay_bias *out, const struct replay_bias_in *in, int arm,
                struct err *e)
{
    const struct stats_interval none = {(double)NAN, (double)NAN, (double)NAN};
    *out = (struct replay_bias){.predicted = none, .observed = none, .bias = none};
    struct groups g = {.n = {0}};
    int rc = group_sessions(&g, in, arm, e);
    if (rc) return rc;
    out->sessions[0] = g.n[0];
    out->sessions[1] = g.n[1];
    int least = g.n[0] < g.n[1] ? g.n[0] : g.n[1], used = predicts_on(&g);
    bool ran = least >= REPLAY_BIAS_LEAST;
    out->predicts = used >= REPLAY_BIAS_LEAST;
    out->known = ran && out->predicts;
    struct spread s[3] = {{0, 0}};
    spread_groups(s, &g);
    if (out->predicts) out->predicted = interval_of(&s[0], used);
    if (ran) out->observed = interval_of(&s[1], least);
    if (out->known) out->bias = interval_of(&s[2], least);
    free(g.of[0]);
    return 0;
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
