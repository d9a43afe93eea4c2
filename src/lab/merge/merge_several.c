/* Several nodes that see a share of the viewers each (lab/merge/merge_sim.h), within the lab merge. */
#include "merge_priv.h"

#include "base/pool.h"

#include <stdio.h>

static const enum merge_method merge_start[MERGE_STARTS] = {
    MERGE_TANBR, MERGE_TANBR_MISLED, MERGE_TANBR_BARE};

struct group {
    const struct merge_found *f;
    struct merge_sim_cfg cfg;
    struct reps *reps;
};

static int one_group(void *ctx, int i, struct err *e)
{
    struct group *g = ctx;
    struct merge_sim_cfg cfg = g->cfg;
    struct merge_field field = {.world = g->f->world,
                                .merged = g->f->merged,
                                .prior = g->f->prior,
                                .misled = g->f->misled};
    int seed = i / MERGE_NODES_HOWS, how = i % MERGE_NODES_HOWS;
    cfg.seed = g->f->task->seed * 1000 + (uint64_t)seed;
    return merge_nodes_run(reps_row(g->reps, seed) + how, &field, &cfg, g->f->nodes,
                           (enum merge_nodes_how)how, e);
}

int merge_several(struct merge_found *f, struct err *e)
{
    int rc = 0;
    f->nodes = (int)lab_int(f->task, "nodes");
    for (int d = 0; d < MERGE_MIXES && !rc; d++)
        for (int s = 0; s < MERGE_STARTS && !rc; s++) {
            if (lab_progress(f->task, .95, "several nodes")) return LAB_STOPPED;
            struct group g = {.f = f,
                              .cfg = merge_configure(f, d, merge_start[s]),
                              .reps = reps_new(f->seeds, MERGE_NODES_HOWS, e)};
            f->shared[d][s] = g.reps;
            if (!g.reps) return ERR_MEMORY;
            rc =
                pool_try(f->seeds * MERGE_NODES_HOWS, f->task->threads, one_group, &g, e);
        }
    return rc;
}

static void merge_several_cell(struct report *r, const char *column,
                               struct stats_interval i, int digits)
{
    report_interval(r, column, i.mean, i.lo, i.hi, digits);
}

void merge_several_report(struct merge_found *f)
{
    struct report *r = f->task->report;
    char title[96];
    snprintf(title, sizeof title, "%d nodes with a share of the viewers each, regret",
             f->nodes);
    report_table(r, title);
    for (int d = 0; d < MERGE_MIXES; d++)
        for (int s = 0; s < MERGE_STARTS; s++) {
            const struct reps *reps = f->shared[d][s];
            report_row(r);
            report_cell(r, "mix", "%s", d ? "drifting mix" : "fixed mix");
            report_cell(r, "bandit", "%s", merge_method_word(merge_start[s]));
            for (int h = 0; h < MERGE_NODES_HOWS; h++)
                merge_several_cell(r, merge_nodes_says[h], reps_mean(reps, h), 1);
            merge_several_cell(r, "that share, less one node",
                               reps_gap(reps, MERGE_NODES_SHARED, reps, MERGE_NODES_ONE),
                               2);
            merge_several_cell(
                r, "that share, less apart",
                reps_gap(reps, MERGE_NODES_SHARED, reps, MERGE_NODES_APART), 2);
        }
}
