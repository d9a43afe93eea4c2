#include "abr/traces/overlap.h"

#include "base/pool.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A trace in steps of 1 s, less its mean, with the moments of every window. */
struct series {
    int n, windows;            /* windows: n - W + 1, 0 when it is too short */
    double level;              /* the mean that was subtracted */
    double *x, *mean, *inv_sd; /* inv_sd 0: the window hardly varies */
};

struct set {
    int n;
    struct series *s;
};

struct overlap_cfg overlap_cfg_default(void)
{
    return (struct overlap_cfg){
        .window_s = 200, .threshold = 0.9, .level = 0.1, .threads = 1};
}

void overlap_free(struct overlap *o)
{
    free(o->pairs);
    *o = (struct overlap){0};
}

/* Time-weighted means over whole seconds from the trace's beginning. */
static void overlap_resample(double *x, int n, const struct trace *t)
{
    double at = t->time_s[0];
    int row = 1;
    for (int k = 0; k < n; k++) {
        double end = t->time_s[0] + k + 1, sum = 0.0;
        while (at < end) {
            double stop = fmin(t->time_s[row], end);
            sum += t->mbps[row] * (stop - at);
            at = stop;
            if (at >= t->time_s[row] && row < t->n - 1)
                row++;
            else if (at >= t->time_s[row])
                break;
        }
        x[k] = sum;
    }
}

static void moments(struct series *s, int window)
{
    for (int i = 0; i < s->n; i++)
        s->level += s->x[i] / s->n;
    for (int i = 0; i < s->n; i++)
        s->x[i] -= s->level; /* small numbers keep the running sums exact */

    for (int i = 0; i < s->windows; i++) {
        double sum = 0.0, squares = 0.0;
        for (int k = 0; k < window; k++)
            sum += s->x[i + k];
        double mean = sum / window;
        for (int k = 0; k < window; k++)
            squares += (s->x[i + k] - mean) * (s->x[i + k] - mean);
        double sd = sqrt(squares / window);
        s->mean[i] = mean;
        s->inv_sd[i] = sd > 0.01 * (s->level + mean) && sd > 0.0 ? 1.0 / sd : 0.0;
    }
}

static void set_free(struct set *set)
{
    for (int i = 0; set->s && i < set->n; i++)
        free(set->s[i].x);
    free(set->s);
}

static int set_fill(struct set *set, const struct corpus *c, int window, struct err *e)
{
    set->n = c->n;
    set->s = calloc((size_t)c->n, sizeof *set->s);
    if (!set->s) return err_set(e, ERR_MEMORY, "no memory for %d series", c->n);
    for (int i = 0; i < c->n; i++) {
        const struct trace *t = c->traces[i];
        struct series *s = &set->s[i];
        double span = t->time_s[t->n - 1] - t->time_s[0];
        s->n = (int)fmin(span, 1e7);
        s->windows = s->n >= window ? s->n - window + 1 : 0;
        if (!s->windows) continue;
        s->x = malloc(3 * (size_t)s->n * sizeof *s->x);
        if (!s->x) return err_set(e, ERR_MEMORY, "no memory for %d s", s->n);
        s->mean = s->x + s->n;
        s->inv_sd = s->mean + s->n;
        overlap_resample(s->x, s->n, t);
        moments(s, window);
    }
    return 0;
}

static int too_short(const struct set *set)
{
    int n = 0;
    for (int i = 0; i < set->n; i++)
        n += set->s[i].windows == 0;
    return n;
}

static double overlap_dot(const double *x, const double *y, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Window i of x against all of y; sums[j] is its product with window j of y. */
static void best_in_row(struct overlap_pair *best, const double *sums,
                        const struct series *x, const struct series *y, int i,
                        const struct overlap_cfg *cfg)
{
    double mean = x->mean[i], inv_sd = x->inv_sd[i];
    if (inv_sd <= 0.0) return;
    double limit = best->r / inv_sd, inv = 1.0 / cfg->window_s;
    for (int j = 0; j < y->windows; j++) {
        double r = (sums[j] * inv - mean * y->mean[j]) * y->inv_sd[j];
        if (r <= limit) continue;
        double ax = x->level + mean, ay = y->level + y->mean[j];
        if (fabs(ax - ay) > cfg->level * fmax(ax, ay)) continue;
        limit = r;
        best->r = r * inv_sd;
        best->a_s = i;
        best->b_s = j;
    }
}

/* sums: (y->windows) scratch. Updated from the last to the first, so that one row serves:
 * sums[j] of window i comes from sums[j - 1] of window i - 1. */
static void best_pair(struct overlap_pair *best, double *sums, const struct series *x,
                      const struct series *y, const struct overlap_cfg *cfg)
{
    int window = cfg->window_s;
    for (int j = 0; j < y->windows; j++)
        sums[j] = overlap_dot(x->x, y->x + j, window);
    best_in_row(best, sums, x, y, 0, cfg);

    for (int i = 1; i < x->windows; i++) {
        double in = x->x[i + window - 1], out = x->x[i - 1];
        for (int j = y->windows - 1; j > 0; j--)
            sums[j] = sums[j - 1] + in * y->x[j + window - 1] - out * y->x[j - 1];
        sums[0] = overlap_dot(x->x + i, y->x, window);
        best_in_row(best, sums, x, y, i, cfg);
    }
}

struct job {
    const struct overlap_cfg *cfg;
    struct set a, b;
    struct overlap_pair *best; /* (b.n, a.n): of every pair; r 0 where there is none */
    double **sums;             /* (b.n) scratch rows */
    int from;                  /* traces of b that were compared before this round */
};

static void compare_one(void *ctx, int i)
{
    struct job *job = ctx;
    int b = job->from + i;
    for (int a = 0; a < job->a.n; a++) {
        struct overlap_pair *best = &job->best[(size_t)b * (size_t)job->a.n + (size_t)a];
        *best = (struct overlap_pair){.a = a, .b = b};
        if (job->a.s[a].windows && job->b.s[b].windows)
            best_pair(best, job->sums[b], &job->a.s[a], &job->b.s[b], job->cfg);
    }
}

static int by_b_then_r(const void *x, const void *y)
{
    const struct overlap_pair *p = x, *q = y;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    if (p->r != q->r) return p->r > q->r ? -1 : 1;
    return p->a < q->a ? -1 : p->a > q->a;
}

static int make_scratch(struct job *job, struct err *e)
{
    size_t pairs = (size_t)job->a.n * (size_t)job->b.n;
    job->best = malloc(pairs * sizeof *job->best);
    job->sums = calloc((size_t)job->b.n, sizeof *job->sums);
    bool ok = job->best && job->sums;
    for (int b = 0; ok && b < job->b.n; b++) {
        job->sums[b] = malloc(((size_t)job->b.s[b].windows + 1) * sizeof(double));
        ok = job->sums[b] != NULL;
    }
    return ok ? 0 : err_set(e, ERR_MEMORY, "no memory for %zu pairs of traces", pairs);
}

static int compare_all(struct job *job)
{
    const struct overlap_cfg *cfg = job->cfg;
    int round = 4 * (cfg->threads < 1 ? 1 : cfg->threads); /* between looks at progress */
    for (; job->from < job->b.n; job->from += round) {
        int left = job->b.n - job->from;
        pool_run(left < round ? left : round, cfg->threads, compare_one, job);
        double share = left < round ? 1.0 : (double)(job->from + round) / job->b.n;
        if (cfg->progress && cfg->progress(cfg->progress_ctx, share))
            return OVERLAP_STOPPED;
    }
    return 0;
}

int overlap_find(struct overlap *out, const struct corpus *a, const struct corpus *b,
                 const struct overlap_cfg *cfg, struct err *e)
{
    struct job job = {.cfg = cfg};
    int rc = set_fill(&job.a, a, cfg->window_s, e);
    if (!rc) rc = set_fill(&job.b, b, cfg->window_s, e);
    if (!rc) rc = make_scratch(&job, e);
    if (rc) goto out;

    rc = compare_all(&job);
    if (rc) goto out;

    /* the pairs found move to the front of the table, which becomes the result */
    int n = 0;
    for (size_t i = 0; i < (size_t)a->n * (size_t)b->n; i++)
        if (job.best[i].r > cfg->threshold) job.best[n++] = job.best[i];
    qsort(job.best, (size_t)n, sizeof *job.best, by_b_then_r);
    *out = (struct overlap){n, job.best, too_short(&job.a), too_short(&job.b)};
    job.best = NULL;
out:
    for (int i = 0; job.sums && i < b->n; i++)
        free(job.sums[i]);
    free(job.sums);
    free(job.best);
    set_free(&job.b);
    set_free(&job.a);
    return rc;
}
