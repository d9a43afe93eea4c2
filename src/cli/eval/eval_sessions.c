#include "cli/eval/eval_sessions.h"

#include "abr/deciders/oracle.h"
#include "abr/emulator/replay.h"
#include "cli/page.h"
#include "cli/eval/trajectories.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------- sessions */

/* One policy, ready to be played again. */
struct actor {
    struct algo algo;
    struct oracle *oracle; /* instead of it */
};

static int actor_init(struct actor *a, const struct eval_sessions *s, const char *policy,
                      struct err *e)
{
    *a = (struct actor){0};
    if (strcmp(policy, "oracle") != 0) return algo_new(&a->algo, policy, s->ctx, e);
    a->oracle = oracle_new(s->video, 0, e);
    return a->oracle ? 0 : ERR_MEMORY;
}

static void actor_free(struct actor *a)
{
    algo_free(&a->algo);
    oracle_free(a->oracle);
}

/* Plays a scored session again; trace is its index in the corpus. */
static int play_again(struct actor *a, const struct eval_sessions *s,
                      const struct qoe *qoe, int trace,
                      int (*visit)(void *ctx, const struct replay_step *step,
                                   struct err *e),
                      void *ctx, struct err *e)
{
    const struct emu_world world = {s->video, s->corpus->traces[trace], s->cfg->emu};
    struct replay r = {.world = &world,
                       .qoe = qoe,
                       .first_level = eval_first_level(s->cfg),
                       .algo = &a->algo,
                       .key = (uint64_t)trace};
    if (a->oracle) {
        struct oracle_result best;
        int rc = oracle_solve(&best, a->oracle, &world, REPLAY_START_ROW, qoe,
                              r.first_level, e);
        if (rc) return rc;
        r.levels = best.levels;
    }
    return replay_run(&r, visit, ctx, e);
}

/* The index in the corpus of a row's i-th trace. */
static int trace_index(const struct eval_sessions *s, int i)
{
    for (int t = 0; t < s->corpus->n; t++)
        if (!eval_excludes(s->cfg, s->corpus->traces[t]->name) && !i--) return t;
    return -1;
}

/* ----------------------------------------------------------------------- trajectories */

/* place: index of the row. */
static int export_row(struct trajectories *t, const struct eval_sessions *s, int place,
                      struct err *e)
{
    const struct eval_row *row = &s->rows[place];
    struct actor a;
    int n = s->corpus->n, rc = actor_init(&a, s, row->policy, e);
    for (int i = 0; i < n && !rc; i++) {
        const char *name = s->corpus->traces[i]->name;
        if (eval_excludes(s->cfg, name)) continue;
        trajectories_of(t, row->policy, row->profile, name);
        rc = play_again(&a, s, &row->qoe, i, trajectories_step, t, e);
        double share = (place + (double)(i + 1) / n) / (s->n_profiles * s->n_policies);
        if (!rc && s->progress && s->progress(s->progress_ctx, share))
            rc = err_set(e, ERR_IO, "stopped; no trajectories were written");
    }
    actor_free(&a);
    return rc;
}

int eval_sessions_export(int64_t *rows, const struct eval_sessions *s, const char *path,
                         int with, struct err *e)
{
    struct trajectories *t = trajectories_new(path, with, s->video->levels, e);
    if (!t) return e->code;
    int rc = 0;
    for (int i = 0; i < s->n_profiles * s->n_policies && !rc; i++)
        rc = export_row(t, s, i, e);
    *rows = trajectories_rows(t);
    if (!rc) rc = trajectories_close(t, e);
    trajectories_free(t);
    return rc;
}

/* ------------------------------------------------------------------------------- page */

static const struct eval_row *row_of(const struct eval_sessions *s, int profile,
                                     int policy)
{
    return &s->rows[profile * s->n_policies + policy];
}

static const struct eval_row *oracle_of(const struct eval_sessions *s, int profile)
{
    for (int p = 0; p < s->n_policies; p++)
        if (row_of(s, profile, p)->trace_bound) return row_of(s, profile, p);
    return NULL;
}

static void put_table(struct report *r, const struct eval_sessions *s)
{
    report_table(r, "Scores");
    for (int i = 0; i < s->n_profiles * s->n_policies; i++) {
        const struct eval_row *row = &s->rows[i], *best = oracle_of(s, i / s->n_policies);
        report_row(r);
        report_cell(r, "profile", "%s", row->profile);
        report_cell(r, "policy", "%s", row->policy);
        report_int(r, "traces", row->n);
        report_interval(r, "QoE per chunk", row->mean_qoe, row->ci_lo, row->ci_hi, 3);
        report_real(r, "quality [points]", row->quality, 1);
        report_real(r, "Mbit/s", row->bitrate_mbps, 3);
        report_real(r, "stall ratio [%]", 100 * row->stall_ratio, 2);
        report_real(r, "switches/min", row->switches_per_min, 2);
        if (s->cfg->count_first) {
            report_real(r, "start-up [s]", row->startup_median_s, 2);
            report_real(r, "p90 [s]", row->startup_p90_s, 2);
        }
        report_int(r, "link-bound", row->link_bound);
        report_real(r, "stalls of the others [%]", 100 * row->stall_ratio_carried, 2);
        if (best && best != row)
            report_real(r, "below the oracle", best->mean_qoe - row->mean_qoe, 3);
        if (row->trace_bound) report_bound(r);
    }
    report_best(r, "QoE per chunk", true, "profile");
}

/* A panel per profile. */
static void put_panel(struct report *r, const struct eval_sessions *s, int profile,
                      const char *x, const char *y)
{
    const char *title = s->n_profiles > 1 ? s->profiles[profile].name : NULL;
    report_panel(
        r, &(struct report_panel){.title = title, .x = {.label = x}, .y = {.label = y}});
}

static void put_cdf(struct report *r, const struct eval_sessions *s)
{
    report_figure(
        r, "cdf", "QoE over traces",
        "The share of traces on which a policy's mean QoE per chunk is at most x.");
    for (int i = 0; i < s->n_profiles; i++) {
        put_panel(r, s, i, "QoE per chunk", "share of traces");
        for (int p = 0; p < s->n_policies; p++) {
            const struct eval_row *row = row_of(s, i, p);
            page_distribution(r, row->policy, row->trace_qoe, row->n);
        }
    }
}

static void put_gap(struct report *r, const struct eval_sessions *s, double *lost)
{
    if (!oracle_of(s, 0)) return;
    report_figure(r, "gap", "Below the oracle",
                  "The share of traces on which a policy's QoE per chunk is at most x "
                  "below the offline optimum.");
    for (int i = 0; i < s->n_profiles; i++) {
        const struct eval_row *best = oracle_of(s, i);
        put_panel(r, s, i, "oracle's QoE per chunk less the policy's", "share of traces");
        for (int p = 0; p < s->n_policies; p++) {
            const struct eval_row *row = row_of(s, i, p);
            if (row == best) continue;
            for (int k = 0; k < row->n; k++)
                lost[k] = best->trace_qoe[k] - row->trace_qoe[k];
            page_distribution(r, row->policy, lost, row->n);
        }
    }
}

/* What a viewer sees, one panel each. */
enum measure { QUALITY, STALLS, SWITCHES, STARTUP, MEASURES };

static double measure_of(const struct eval_row *row, enum measure which)
{
    switch (which) {
    case QUALITY:
        return row->quality;
    case STALLS:
        return 100 * row->stall_ratio;
    case SWITCHES:
        return row->switches_per_min;
    default:
        return row->startup_p90_s;
    }
}

static void put_measures(struct report *r, const struct eval_sessions *s)
{
    static const char *const what[MEASURES] = {"quality [points]", "stall ratio [%]",
                                               "switches per minute",
                                               "start-up, p90 [s]"};
    const char *names[FIELD_LIST_MAX];
    double y[FIELD_LIST_MAX];
    for (int p = 0; p < s->n_policies; p++)
        names[p] = row_of(s, 0, p)->policy;
    report_figure(r, "viewers", "What viewers see",
                  "Over all traces. Stalls include those of link-bound sessions.");
    for (int m = 0; m < (s->cfg->count_first ? MEASURES : STARTUP); m++) {
        report_panel(r, &(struct report_panel){.title = what[m],
                                               .x = {.label = "policy"},
                                               .y = {.label = what[m]},
                                               .category = names,
                                               .categories = s->n_policies});
        for (int i = 0; i < s->n_profiles; i++) {
            for (int p = 0; p < s->n_policies; p++)
                y[p] = measure_of(row_of(s, i, p), (enum measure)m);
            report_series(r, &(struct report_series){.name = s->profiles[i].name,
                                                     .kind = REPORT_BARS,
                                                     .n = s->n_policies,
                                                     .y = y});
        }
    }
}

/* x, y: (traces) scratch */
static void put_scatter(struct report *r, const struct eval_sessions *s, double *x,
                        double *y)
{
    report_figure(r, "stalls", "Stalls against quality",
                  "A point is one trace: down and to the right is better.");
    for (int i = 0; i < s->n_profiles; i++) {
        put_panel(r, s, i, "quality [points]", "stalls of the session [s]");
        for (int p = 0; p < s->n_policies; p++) {
            const struct eval_row *row = row_of(s, i, p);
            for (int k = 0; k < row->n; k++) {
                x[k] = row->seen[k].quality;
                y[k] = row->seen[k].stall_s;
            }
            page_points(r, row->policy, x, y, row->n);
        }
    }
}

/* -------------------------------------------------------------------------- timelines */

struct timeline {
    int n, cap;
    double *at[5]; /* time, buffer, bitrate, throughput, stall; (cap) each */
    double qoe;
};

static int keep_step(void *ctx, const struct replay_step *s, struct err *e)
{
    (void)e;
    struct timeline *t = ctx;
    if (t->n == t->cap) return 0;
    const double values[5] = {s->start_s + s->download_s, s->buffer_after_s,
                              s->kbps / 1000, s->throughput_kbps / 1000, s->stall_s};
    for (int i = 0; i < 5; i++)
        t->at[i][t->n] = values[i];
    t->qoe += s->reward;
    t->n++;
    return 0;
}

static int put_timeline(struct report *r, const struct eval_sessions *s, struct actor *a,
                        const struct eval_row *row, int i, const char *which,
                        struct timeline *t, struct err *e)
{
    int place = trace_index(s, i);
    t->n = 0;
    t->qoe = 0;
    int rc = play_again(a, s, &row->qoe, place, keep_step, t, e);
    if (rc) return rc;
    char id[64], title[320];
    snprintf(id, sizeof id, "timeline-%s", which);
    snprintf(title, sizeof title, "The %s trace of %s: %s", which, row->policy,
             s->corpus->traces[place]->name);
    char caption[160];
    snprintf(caption, sizeof caption,
             "Profile %s, QoE %.3f per chunk. A point marks the time at which a chunk "
             "had arrived.",
             row->profile, t->qoe / (t->n ? t->n : 1));
    page_timeline(r, id, title, caption,
                  &(struct page_timeline){.n = t->n,
                                          .at_s = t->at[0],
                                          .buffer_s = t->at[1],
                                          .mbps = t->at[2],
                                          .throughput_mbps = t->at[3],
                                          .stall_s = t->at[4]});
    return 0;
}

/* Indices of the worst, median and best trace. */
static void rank_traces(int place[3], const struct eval_row *row, double *x, double *y)
{
    for (int i = 0; i < row->n; i++) {
        x[i] = row->trace_qoe[i];
        y[i] = i;
    }
    page_sort(x, y, row->n);
    place[0] = (int)y[0];
    place[1] = (int)y[row->n / 2];
    place[2] = (int)y[row->n - 1];
}

static int put_timelines(struct report *r, const struct eval_sessions *s, double *x,
                         double *y, struct err *e)
{
    static const char *const which[3] = {"worst", "median", "best"};
    const struct eval_row *row = row_of(s, 0, 0);
    for (int p = 0; p < s->n_policies; p++)
        if (!strcmp(row_of(s, 0, p)->policy, s->shown)) row = row_of(s, 0, p);
    struct timeline t = {.cap = s->video->chunks};
    t.at[0] = calloc(5 * (size_t)t.cap, sizeof *t.at[0]);
    if (!t.at[0]) return err_set(e, ERR_MEMORY, "no memory for %d chunks", t.cap);
    for (int i = 1; i < 5; i++)
        t.at[i] = t.at[0] + (size_t)i * (size_t)t.cap;

    struct actor a;
    int place[3], rc = actor_init(&a, s, row->policy, e);
    rank_traces(place, row, x, y);
    for (int i = 2; i >= 0 && !rc; i--)
        rc = put_timeline(r, s, &a, row, place[i], which[i], &t, e);
    actor_free(&a);
    free(t.at[0]);
    return rc;
}

int eval_sessions_page(const struct eval_sessions *s, const char *path, struct err *e)
{
    size_t n = (size_t)s->corpus->n;
    double *x = calloc(2 * n, sizeof *x);
    struct report *r = x ? page_new(path, "Policies on traces", e) : NULL;
    int rc = x ? 0 : err_set(e, ERR_MEMORY, "no memory for %zu traces", n);
    if (!rc && !r) rc = e->code;
    if (rc) goto out;

    report_param(r, "traces", "%s, %d", s->corpus->name, s->rows[0].n);
    report_param(r, "video", "%s, %d chunks of %g s", s->video->name, s->video->chunks,
                 s->video->chunk_s);
    report_param(r, "chunk 0", "%s",
                 s->cfg->count_first ? "counted" : "at level 1, not counted");
    put_table(r, s);
    put_cdf(r, s);
    put_measures(r, s);
    put_scatter(r, s, x, x + n);
    put_gap(r, s, x);
    rc = put_timelines(r, s, x, x + n, e);
    if (!rc) rc = page_write(r, path, e);
out:
    report_free(r);
    free(x);
    return rc;
}
