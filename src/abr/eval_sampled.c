#include "abr/eval_sampled.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL .95

static struct qoe sampled_points(uint64_t seed, int i)
{
    double weight[QOE_WEIGHTS];
    for (int k = 0; k < QOE_WEIGHTS; k++)
        weight[k] = pow(EVAL_SAMPLED_FACTOR,
                        2 * rng_uniform_at(seed, (uint64_t)i, (uint64_t)k) - 1);
    return qoe_of_weights(weight);
}

struct qoe eval_sampled_weights(uint64_t seed, int i, enum qoe_utility utility)
{
    if (utility == QOE_POINTS) return sampled_points(seed, i);
    double part[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        part[k] = -log1p(-rng_uniform_at(seed, (uint64_t)i, (uint64_t)k));
        sum += part[k];
    }
    if (!(sum > 0)) return qoe_of_mu(1, 0, 0, utility);
    return qoe_of_mu(part[0] / sum, part[1] / sum, part[2] / sum, utility);
}

/* ---- figures ---- */

struct judge {
    const struct eval_sampled *d;
    const double *own, *bars;
    int n_bars;
};

/* mean over the traces of pick[], or over all when it is NULL */
static double mean_of(const double *row, const int *pick, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += row[pick ? pick[i] : i];
    return sum / n;
}

/* Mean of the policy and of the best bar on draw i. */
static double best_bar(const struct judge *j, int i, const int *pick, int *which)
{
    size_t n = (size_t)j->d->n, traces = (size_t)j->d->n_traces;
    double best = -INFINITY;
    for (int b = 0; b < j->n_bars; b++) {
        const double *row = j->bars + ((size_t)b * n + (size_t)i) * traces;
        double mean = mean_of(row, pick, j->d->n_traces);
        if (mean <= best) continue;
        best = mean;
        *which = b;
    }
    return best;
}

static double own_mean(const struct judge *j, int i, const int *pick)
{
    return mean_of(j->own + (size_t)i * (size_t)j->d->n_traces, pick, j->d->n_traces);
}

/* equal up to rounding: two policies that choose alike tie */
static bool holds(double mean, double bar)
{
    return mean >= bar - 1e-12 * fmax(1, fabs(bar));
}

static struct stats_interval sampled_interval(double mean, const double *x, int n)
{
    return (struct stats_interval){mean, stats_percentile(x, n, (1 - LEVEL) / 2),
                                   stats_percentile(x, n, (1 + LEVEL) / 2)};
}

static int by_difference(const void *a, const void *b)
{
    const struct eval_sampled_draw *x = a, *y = b;
    return (x->diff.mean > y->diff.mean) - (x->diff.mean < y->diff.mean);
}

/* diffs: (n, EVAL_SAMPLED_RESAMPLES); shares, means: (EVAL_SAMPLED_RESAMPLES). */
static void sampled_resample(const struct judge *j, double *diffs, double *shares,
                             double *means, int *pick, double *now, uint64_t seed)
{
    int n = j->d->n, traces = j->d->n_traces, which = 0;
    struct rng r;
    rng_init(&r, seed, 0);
    for (int round = 0; round < EVAL_SAMPLED_RESAMPLES; round++) {
        for (int t = 0; t < traces; t++)
            pick[t] = (int)rng_below(&r, (uint32_t)traces);
        for (int i = 0; i < n; i++) {
            double mean = own_mean(j, i, pick), bar = best_bar(j, i, pick, &which);
            now[i] = holds(mean, bar) ? fmax(mean - bar, 0) : mean - bar;
            diffs[(size_t)i * EVAL_SAMPLED_RESAMPLES + (size_t)round] = now[i];
        }
        shares[round] = means[round] = 0;
        for (int i = 0; i < n; i++) {
            double d = now[rng_below(&r, (uint32_t)n)];
            shares[round] += (double)(d >= 0) / n;
            means[round] += d / n;
        }
    }
}

int eval_sampled_judge(struct eval_sampled *d, const double *own, const double *bars,
                       int n_bars, uint64_t seed, struct err *e)
{
    assert(d->n > 0 && d->n_traces > 0 && n_bars > 0);
    const struct judge j = {d, own, bars, n_bars};
    size_t n = (size_t)d->n;
    double *diffs = calloc(n * EVAL_SAMPLED_RESAMPLES, sizeof *diffs);
    double *shares = calloc(EVAL_SAMPLED_RESAMPLES, sizeof *shares);
    double *means = calloc(EVAL_SAMPLED_RESAMPLES, sizeof *means);
    double *now = calloc(n, sizeof *now);
    int *pick = calloc((size_t)d->n_traces, sizeof *pick);
    int rc = 0;
    if (!diffs || !shares || !means || !now || !pick) {
        rc = err_set(e, ERR_MEMORY, "no memory to judge %d draws", d->n);
        goto out;
    }

    sampled_resample(&j, diffs, shares, means, pick, now, seed);
    double share = 0, mean = 0;
    d->below = 0;
    for (int i = 0; i < d->n; i++) {
        struct eval_sampled_draw *w = &d->draw[i];
        w->mean = own_mean(&j, i, NULL);
        w->bar_mean = best_bar(&j, i, NULL, &w->bar);
        w->diff = sampled_interval(w->mean - w->bar_mean,
                                   diffs + (size_t)i * EVAL_SAMPLED_RESAMPLES,
                                   EVAL_SAMPLED_RESAMPLES);
        share += (double)holds(w->mean, w->bar_mean) / d->n;
        mean += w->diff.mean / d->n;
        d->below += w->diff.hi < 0;
    }
    d->share = sampled_interval(share, shares, EVAL_SAMPLED_RESAMPLES);
    d->diff = sampled_interval(mean, means, EVAL_SAMPLED_RESAMPLES);
    qsort(d->draw, n, sizeof *d->draw, by_difference);
out:
    free(pick);
    free(now);
    free(means);
    free(shares);
    free(diffs);
    return rc;
}

/* ---- playing ---- */

struct run {
    const struct eval_sampled_cfg *cfg;
    const struct eval_cfg *eval;
    int done, all; /* evaluations */
};

static bool sampled_watch(void *ctx, double share)
{
    const struct run *r = ctx;
    return r->eval->progress(r->eval->progress_ctx, (r->done + share) / r->all);
}

static const char *player_name(const struct eval_sampled_cfg *cfg, int p)
{
    return p < cfg->n_policies ? cfg->policies[p] : cfg->bars[p - cfg->n_policies];
}

/* scores: (players, n, traces), allocated when the number of traces is known. */
static int sampled_play(double **scores, int *traces, struct run *r,
                        const struct algo_ctx *ctx, const struct corpus *corpus,
                        const struct video *video, struct err *e)
{
    const struct eval_sampled_cfg *cfg = r->cfg;
    struct eval_cfg eval = *r->eval;
    eval.resamples = 0;
    eval.progress = r->eval->progress ? sampled_watch : NULL;
    eval.progress_ctx = r;
    int players = cfg->n_policies + cfg->n_bars;
    for (int p = 0; p < players; p++)
        for (int i = 0; i < cfg->n; i++, r->done++) {
            struct qoe qoe = eval_sampled_weights(cfg->seed, i, cfg->utility);
            struct eval_row row;
            int rc = eval_run(&row, player_name(cfg, p), ctx, "drawn", &qoe, corpus,
                              video, &eval, e);
            if (rc) return rc;
            size_t n = (size_t)row.n, rows = (size_t)players * (size_t)cfg->n;
            if (!*scores) *scores = malloc(rows * n * sizeof **scores);
            if (*scores)
                memcpy(*scores + ((size_t)p * (size_t)cfg->n + (size_t)i) * n,
                       row.trace_qoe, n * sizeof **scores);
            *traces = row.n;
            eval_row_free(&row);
            if (!*scores)
                return err_set(e, ERR_MEMORY, "no memory for the scores of %d draws",
                               cfg->n);
        }
    return 0;
}

int eval_sampled_run(struct eval_sampled *out, const struct eval_sampled_cfg *cfg,
                     const struct algo_ctx *ctx, const struct corpus *corpus,
                     const struct video *video, const struct eval_cfg *eval,
                     struct err *e)
{
    assert(cfg->n > 0 && cfg->n <= EVAL_SAMPLED_MAX && cfg->n_policies > 0 &&
           cfg->n_bars > 0);
    memset(out, 0, (size_t)cfg->n_policies * sizeof *out);
    struct run r = {cfg, eval, 0, (cfg->n_policies + cfg->n_bars) * cfg->n};
    double *scores = NULL;
    int traces = 0, rc = sampled_play(&scores, &traces, &r, ctx, corpus, video, e);

    size_t each = (size_t)cfg->n * (size_t)traces;
    for (int p = 0; p < cfg->n_policies && !rc; p++) {
        struct eval_sampled *d = &out[p];
        d->n = cfg->n;
        d->n_traces = traces;
        d->draw = calloc((size_t)cfg->n, sizeof *d->draw);
        if (!d->draw) rc = err_set(e, ERR_MEMORY, "no memory for %d draws", cfg->n);
        for (int i = 0; i < cfg->n && !rc; i++)
            d->draw[i].qoe = eval_sampled_weights(cfg->seed, i, cfg->utility);
        if (!rc)
            rc = eval_sampled_judge(d, scores + (size_t)p * each,
                                    scores + (size_t)cfg->n_policies * each, cfg->n_bars,
                                    eval->seed, e);
    }
    free(scores);
    if (rc) eval_sampled_free(out, cfg->n_policies);
    return rc;
}

void eval_sampled_free(struct eval_sampled *d, int n_policies)
{
    for (int p = 0; p < n_policies; p++) {
        free(d[p].draw);
        d[p].draw = NULL;
    }
}
