#include "cli/train/train_page.h"

#include "cli/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Columns of a row, before those of experts and tags. */
enum { STEPS, ENTROPY, POLICY_LOSS, VALUE_LOSS, EXPLAINED, KL, FIXED };

struct train_page {
    const char *path; /* borrowed */
    struct report *report;
    int experts, tags, n, cap;
    double *rows; /* (cap, FIXED + experts + tags) */
    bool no_memory;
};

static int width(const struct train_page *p)
{
    return FIXED + p->experts + p->tags;
}

struct train_page *train_page_new(const char *path, int experts, int tags, struct err *e)
{
    struct train_page *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for a report");
        return NULL;
    }
    *p = (struct train_page){.path = path, .experts = experts, .tags = tags};
    p->report = page_new(path, "A training", e);
    if (p->report) return p;
    train_page_free(p);
    return NULL;
}

void train_page_free(struct train_page *p)
{
    if (!p) return;
    report_free(p->report);
    free(p->rows);
    free(p);
}

void train_page_add(struct train_page *p, const struct train_row *row)
{
    if (p->n == p->cap) {
        int cap = p->cap ? 2 * p->cap : 256;
        double *more = realloc(p->rows, (size_t)cap * (size_t)width(p) * sizeof *more);
        p->no_memory |= !more;
        if (!more) return;
        p->rows = more;
        p->cap = cap;
    }
    double *at = p->rows + (size_t)p->n++ * (size_t)width(p);
    at[STEPS] = (double)row->steps;
    at[ENTROPY] = row->ppo.entropy;
    at[POLICY_LOSS] = row->ppo.policy_loss;
    at[VALUE_LOSS] = row->ppo.value_loss;
    at[EXPLAINED] = row->ppo.explained_variance;
    at[KL] = row->ppo.approx_kl;
    for (int k = 0; k < p->experts; k++)
        at[FIXED + k] = row->ppo.expert_share[k];
    for (int i = 0; i < p->tags; i++)
        at[FIXED + p->experts + i] =
            row->rollout.steps[i] ? row->rollout.reward[i] : (double)NAN;
}

/* A column over the steps; x and y have room for the rows. */
static void put_curve(const struct train_page *p, const char *name, int column, double *x,
                      double *y)
{
    for (int i = 0; i < p->n; i++) {
        const double *at = p->rows + (size_t)i * (size_t)width(p);
        x[i] = at[STEPS];
        y[i] = at[column];
    }
    report_series(p->report,
                  &(struct report_series){.name = name, .n = p->n, .x = x, .y = y});
}

static void put_panel(const struct train_page *p, const char *title, const char *label)
{
    report_panel(p->report, &(struct report_panel){.title = title,
                                                   .x = {.label = "steps"},
                                                   .y = {.label = label}});
}

static bool has_tag(const struct train_page *p, int tag)
{
    for (int i = 0; i < p->n; i++)
        if (isfinite(p->rows[(size_t)i * (size_t)width(p) +
                             (size_t)(FIXED + p->experts + tag)]))
            return true;
    return false;
}

int train_page_write(struct train_page *p, const char *(*tag_name)(void *ctx, int tag),
                     void *ctx, struct err *e)
{
    struct report *r = p->report;
    double *x = calloc(2 * (size_t)(p->n ? p->n : 1), sizeof *x);
    if (!x || p->no_memory) {
        free(x);
        return err_set(e, ERR_MEMORY, "no memory for the curves of %d updates", p->n);
    }
    double *y = x + p->n;
    report_summary(
        r, "The policy learned in %d updates; the charts show its rewards and losses.",
        p->n);
    report_param_int(r, "updates", p->n);
    report_figure(r, "reward", "Rewards while exploring",
                  "Mean per chunk of each rollout, as the learner sees it.");
    put_panel(p, NULL, "reward per chunk");
    for (int i = 0; i < p->tags; i++)
        if (has_tag(p, i)) put_curve(p, tag_name(ctx, i), FIXED + p->experts + i, x, y);

    report_figure(r, "learning", "Learning", NULL);
    put_panel(p, "entropy", "nats");
    put_curve(p, "entropy", ENTROPY, x, y);
    put_panel(p, "losses", "loss");
    put_curve(p, "policy", POLICY_LOSS, x, y);
    put_curve(p, "value", VALUE_LOSS, x, y);
    put_panel(p, "critic", "explained variance");
    put_curve(p, "explained variance", EXPLAINED, x, y);
    put_panel(p, "step", "approximate KL divergence");
    put_curve(p, "KL", KL, x, y);

    if (p->experts > 1) {
        report_figure(r, "experts", "Shares of the actor's experts", NULL);
        put_panel(p, NULL, "share of states");
    }
    for (int k = 0; k < p->experts && p->experts > 1; k++) {
        char name[32];
        snprintf(name, sizeof name, "expert %d", k);
        put_curve(p, name, FIXED + k, x, y);
    }
    free(x);
    return page_write(r, p->path, e);
}
