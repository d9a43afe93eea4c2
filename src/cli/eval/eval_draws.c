#include "cli/eval/eval_draws.h"

#include <stdio.h>
#include <string.h>

static const char *const BARS[] = {"buffer", "bola", "mpc"};
enum { N_BARS = sizeof BARS / sizeof *BARS };

static bool is_bar(const char *policy)
{
    for (int b = 0; b < N_BARS; b++)
        if (!strcmp(policy, BARS[b])) return true;
    return false;
}

int eval_draws_judged(const struct field_list *policies)
{
    int n = 0;
    for (int p = 0; p < policies->n; p++)
        n += !is_bar(policies->item[p]);
    return n;
}

static void put_summary(struct out *o, const struct eval_sampled *d, const char *policy,
                        const char *set)
{
    double mean = 0, bar = 0;
    for (int i = 0; i < d->n; i++) {
        mean += d->draw[i].mean / d->n;
        bar += d->draw[i].bar_mean / d->n;
    }
    out_row(o);
    out_cells(o, "policy=%s profile=%s set=%s n=%d draws=%d", policy, "drawn", set,
              d->n_traces, d->n);
    out_interval(o, "share", d->share.mean, d->share.lo, d->share.hi, 3);
    out_cells(o, "below=%d mean_qoe=%.3f bar=%s bar_qoe=%.3f", d->below, mean,
              "best of three", bar);
    out_interval(o, "diff", d->diff.mean, d->diff.lo, d->diff.hi, 3);
    out_say(o,
            "%s: not below the best of buffer, bola and mpc for %.1f %% of %d drawn "
            "weights (%.1f .. %.1f); significantly below for %d",
            policy, 100 * d->share.mean, d->n, 100 * d->share.lo, 100 * d->share.hi,
            d->below);
}

static void put_draw(struct out *o, const struct eval_sampled_draw *w, const char *policy,
                     const char *set, int n)
{
    char name[64];
    double weight[QOE_WEIGHTS];
    qoe_weights(weight, &w->qoe);
    if (w->qoe.utility == QOE_POINTS)
        snprintf(name, sizeof name, "%.3f,%.3f,%.3f,%.3f", weight[0], weight[1],
                 weight[2], weight[3]);
    else
        snprintf(name, sizeof name, "%.3f,%.3f,%.3f", w->qoe.mu_quality, w->qoe.mu_switch,
                 w->qoe.mu_stall);
    out_row(o);
    out_cells(o, "policy=%s profile=%s set=%s n=%d mean_qoe=%.3f bar=%s bar_qoe=%.3f",
              policy, name, set, n, w->mean, BARS[w->bar], w->bar_mean);
    out_interval(o, "diff", w->diff.mean, w->diff.lo, w->diff.hi, 3);
}

int eval_draws_run(struct out *o, const struct eval_draws *d, const struct algo_ctx *ctx,
                   const struct eval_cfg *cfg, struct err *e)
{
    const char *judged[FIELD_LIST_MAX];
    int n = 0;
    for (int p = 0; p < d->policies->n; p++)
        if (!is_bar(d->policies->item[p])) judged[n++] = d->policies->item[p];

    struct eval_sampled_cfg c = {.n = d->n,
                                 .seed = d->seed,
                                 .utility = d->utility,
                                 .policies = judged,
                                 .n_policies = n,
                                 .bars = BARS,
                                 .n_bars = N_BARS};
    struct eval_sampled result[FIELD_LIST_MAX];
    int rc = eval_sampled_run(result, &c, ctx, d->corpus, d->video, cfg, e);
    if (rc) return rc;
    out_say(o,
            "QoE per chunk with %s; rows named by weights are the worst draws of a "
            "policy",
            d->utility == QOE_POINTS
                ? "weights (quality, switches, stalls, startup) relative to standard"
                : "weights (quality, switches, stalls) of sum 1");
    for (int p = 0; p < n; p++) {
        put_summary(o, &result[p], judged[p], d->corpus->name);
        for (int i = 0; i < d->worst && i < result[p].n; i++)
            put_draw(o, &result[p].draw[i], judged[p], d->corpus->name,
                     result[p].n_traces);
    }
    eval_sampled_free(result, n);
    return 0;
}
