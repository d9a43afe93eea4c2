#include "abr/traces/overlap.h"

#include "base/pool.h"
#include "nn/simd/kern.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A trace in steps of 1 s, less its mean, with the moments of every window. */
struct series {
    int n, windows;            /* windows: n - W + 1, 0 when it is too short */
    double level;              /* the mean that was subtracted */
    double *x, *mean, *inv_sd; /* inv_sd 0: the window hardly varies */
    float *narrow;             /* x, for the screen */
    int cores;                 /* of the screen, when it is a trace of a */
    struct core *core;
};

struct set {
    int n;
    struct series *s;
};

/* ---- the screen ----
 *
 * A window that begins in (p - M, p] contains the core [p, p + Q M), Q blocks of M seconds. Let S and s be
 * sums of centred squares and products over a window and over its core. The residual of a line fitted to
 * the core is no larger than that of the window's line there, and that no larger than the window's:
 *
 *   s_xx - s_xy^2 / s_yy <= (1 - r^2) S_xx        (s_xy > 0, or s_xx <= (1 - r^2) S_xx)
 *
 * The same holds with x and y exchanged. So windows with r above the threshold need
 *
 *   s_xy >= sqrt(need_x s_yy) and sqrt(s_xx need_y),   need_x = s_xx - (1 - threshold^2) max S_xx
 *
 * with the maximum over the M windows around the core. Only cores of x at multiples of M are needed. The
 * products of blocks are those of a matrix of M columns with shifted copies of y. They are floats, and
 * `slack` bounds their rounding. */

struct screen {
    int block, blocks; /* M and Q */
    double rest;       /* 1 - threshold^2, a little more */
    float slack;       /* of |x| |y| */
};

/* Of one core: its mean or sum, its norm, sqrt s_xx and sqrt need_x; the levels of its windows, low
 * above high when none may count. */
struct core {
    float mean, norm, root, need;
    float low, high;
};

enum {
    TILE = 1024,     /* shifts of y at a time */
    ROWS = 32,       /* cores of x at a time */
    PARTS = 5,       /* blocks in a window */
    DENSE_SHARE = 4, /* diagonals that are followed one by one: at most a quarter */
};

static struct screen screen_of(const struct overlap_cfg *cfg)
{
    struct screen s = {.block = (cfg->window_s + PARTS - 1) / PARTS};
    s.blocks = (cfg->window_s - s.block + 1) / s.block;
    double r = fmax(cfg->threshold - 1e-6, 0.0);
    s.rest = 1.0 - r * r;
    s.slack = (float)(s.block + s.blocks + 16) * 2.0f * FLT_EPSILON;
    return s;
}

/* out[p] = the largest of in[p - M + 1 .. p], those that exist, for p < n + M - 1. From the largest since
 * the last multiple of M and up to the next one (van Herk 1992). before: (n + M) scratch. */
static void sliding_max(float *out, const float *in, float *before, int n, int m)
{
    for (int i = n - 1; i >= 0; i--) {
        bool end = (i + 1) % m == 0 || i == n - 1;
        before[i] = end ? in[i] : fmaxf(in[i], before[i + 1]);
    }
    float since = -INFINITY;
    for (int p = 0; p < n + m - 1; p++) {
        if (p % m == 0) since = -INFINITY;
        if (p < n) since = fmaxf(since, in[p]);
        out[p] = p - m + 1 < 0 ? since : fmaxf(since, before[p - m + 1]);
    }
}

/* core[p] of all p < windows + M - 1; sums instead of means. scratch: 4 (n + M) */
static void all_cores(struct core *core, float *scratch, const struct series *s,
                      const struct screen *screen, int window)
{
    int m = screen->block, length = m * screen->blocks, n = s->windows + m - 1;
    float *in = scratch, *before = in + s->n + m, *out = before + s->n + m;
    for (int i = 0; i < s->windows; i++)
        in[i] = s->inv_sd[i] > 0.0 ? (float)(1.0 / (s->inv_sd[i] * s->inv_sd[i])) : 0.0f;
    sliding_max(out, in, before, s->windows, m);
    for (int p = 0; p < n; p++) {
        double sum = 0.0, norm = 0.0, squares = 0.0;
        for (int k = 0; k < length; k++)
            sum += s->x[p + k];
        double mean = sum / length;
        for (int k = 0; k < length; k++) {
            double d = s->x[p + k] - mean;
            norm += s->x[p + k] * s->x[p + k];
            squares += d * d;
        }
        double need = squares - screen->rest * 1.000001 * (double)out[p] * window;
        core[p] = (struct core){.mean = (float)sum,
                                .norm = (float)sqrt(norm),
                                .root = (float)sqrt(squares),
                                .need = need > 0.0 ? (float)sqrt(need) : 0.0f};
    }
    for (int side = -1; side <= 1; side += 2) {
        for (int i = 0; i < s->windows; i++)
            in[i] =
                s->inv_sd[i] > 0.0 ? (float)(side * (s->level + s->mean[i])) : -INFINITY;
        sliding_max(out, in, before, s->windows, m);
        for (int p = 0; p < n; p++)
            *(side < 0 ? &core[p].low : &core[p].high) = (float)side * out[p];
    }
}

/* May levels of these two ranges agree? Floats round, hence a little more. */
static bool levels_meet(const struct core *a, const struct core *b,
                        const struct overlap_cfg *cfg)
{
    if (!(a->low <= a->high && b->low <= b->high)) return false;
    double low = fmax((double)a->low, (double)b->low);
    double high = fmin((double)a->high, (double)b->high);
    return low <= high || low - high <= (cfg->level + 1e-5) * fabs(low) + 1e-6;
}

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
    for (int i = 0; set->s && i < set->n; i++) {
        free(set->s[i].x);
        free(set->s[i].narrow);
        free(set->s[i].core);
    }
    free(set->s);
}

static int series_fill(struct series *s, const struct trace *t, int window, struct err *e)
{
    if (!s->windows) return 0;
    s->x = malloc(3 * (size_t)s->n * sizeof *s->x);
    s->narrow = malloc((size_t)s->n * sizeof *s->narrow);
    if (!s->x || !s->narrow) return err_set(e, ERR_MEMORY, "no memory for %d s", s->n);
    s->mean = s->x + s->n;
    s->inv_sd = s->mean + s->n;
    overlap_resample(s->x, s->n, t);
    moments(s, window);
    for (int k = 0; k < s->n; k++)
        s->narrow[k] = (float)s->x[k];
    return 0;
}

static int set_fill(struct set *set, const struct corpus *c, int window, struct err *e)
{
    set->n = c->n;
    set->s = calloc((size_t)c->n + 1, sizeof *set->s);
    if (!set->s) return err_set(e, ERR_MEMORY, "no memory for %d series", c->n);
    double all_s = 0.0;
    for (int i = 0; i < c->n; i++) {
        const struct trace *t = c->traces[i];
        double span = t->time_s[t->n - 1] - t->time_s[0];
        struct series *s = &set->s[i];
        if (span > OVERLAP_TRACE_S)
            return err_field(e, ERR_RANGE, t->name,
                             "lasts %.0f s; a trace of at most %.0f s can be compared",
                             span, OVERLAP_TRACE_S);
        s->n = (int)span;
        s->windows = s->n >= window ? s->n - window + 1 : 0;
        all_s += s->windows ? span : 0.0;
        if (all_s > OVERLAP_SET_S)
            return err_field(
                e, ERR_RANGE, c->name,
                "its traces last more than %.0f s together: compare parts of it",
                OVERLAP_SET_S);
    }
    int rc = 0;
    for (int i = 0; i < c->n && !rc; i++)
        rc = series_fill(&set->s[i], c->traces[i], window, e);
    return rc;
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

/* One trace of b against all of a. */
struct search {
    const struct overlap_cfg *cfg;
    const struct screen *screen;
    const struct set *a;
    const struct series *y;
    struct core *core;                /* (cores) of y, with sums */
    float *mean, *norm, *root, *need; /* (cores) the same in arrays, for vectors */
    int cores;
    uint8_t
        *hit; /* (a->n, ...) bits: diagonals that may hold a pair above the threshold */
    size_t *hit_at;  /* (a->n) where those of a trace begin [bytes] */
    float sum[TILE]; /* of one core of x with the cores of a tile */
    int may[TILE];
    float *shifted; /* (block, TILE + ...) */
    float *product; /* (ROWS + blocks - 1, TILE + ...) */
    int *diagonal;  /* those of one pair */
    double *sums;
    int64_t compared;
};

static int diagonals(const struct series *x, const struct series *y)
{
    return x->windows + y->windows - 1;
}

static void search_free(struct search *s)
{
    free(s->core);
    free(s->mean);
    free(s->hit);
    free(s->hit_at);
    free(s->shifted);
    free(s->product);
    free(s->diagonal);
    free(s->sums);
}

static int search_init(struct search *s, struct err *e)
{
    int m = s->screen->block, most = 0;
    size_t wide = TILE + (size_t)(s->screen->blocks - 1) * (size_t)m;
    s->cores = s->y->windows + m - 1;
    s->hit_at = malloc(((size_t)s->a->n + 1) * sizeof *s->hit_at);
    if (!s->hit_at) return err_set(e, ERR_MEMORY, "no memory for %d traces", s->a->n);
    size_t bytes = 0;
    for (int i = 0; i < s->a->n; i++) {
        const struct series *x = &s->a->s[i];
        s->hit_at[i] = bytes;
        if (!x->windows) continue;
        bytes += (size_t)diagonals(x, s->y) / CHAR_BIT + 1;
        if (diagonals(x, s->y) > most) most = diagonals(x, s->y);
    }
    s->hit = calloc(bytes + 1, 1);
    s->core = malloc((size_t)s->cores * sizeof *s->core);
    s->mean = malloc(4 * (size_t)s->cores * sizeof *s->mean);
    s->shifted = malloc((size_t)m * wide * sizeof *s->shifted);
    s->product =
        malloc((size_t)(ROWS + s->screen->blocks - 1) * wide * sizeof *s->product);
    s->diagonal = malloc(((size_t)most + 1) * sizeof *s->diagonal);
    s->sums = malloc(((size_t)(most > s->y->n ? most : s->y->n) + 1) * sizeof *s->sums);
    float *scratch = malloc(3 * ((size_t)s->y->n + (size_t)m) * sizeof *scratch);
    bool ok = s->hit && s->core && s->mean && s->shifted && s->product && s->diagonal &&
              s->sums && scratch;
    if (ok) {
        all_cores(s->core, scratch, s->y, s->screen, s->cfg->window_s);
        s->norm = s->mean + s->cores;
        s->root = s->norm + s->cores;
        s->need = s->root + s->cores;
        for (int i = 0; i < s->cores; i++) {
            s->mean[i] = s->core[i].mean;
            s->norm[i] = s->core[i].norm;
            s->root[i] = s->core[i].root;
            s->need[i] = s->core[i].need;
        }
    }
    free(scratch);
    return ok ? 0 : err_set(e, ERR_MEMORY, "no memory for a trace of %d s", s->y->n);
}

/* may[j]: whether the screen leaves this core of x and core at + j of y. Returns whether any. */
static bool screen_sums(struct search *s, const struct core *c, const float *from,
                        int wide, int at, int n)
{
    const float *restrict mean = s->mean + at, *restrict norm = s->norm + at;
    const float *restrict root = s->root + at, *restrict need = s->need + at;
    float *restrict sum = s->sum;
    int *restrict may = s->may, any = 0;
    float slack = s->screen->slack * c->norm, x_mean = c->mean, x_root = c->root,
          x_need = c->need;
    memcpy(sum, from, (size_t)n * sizeof *sum);
    for (int k = 1; k < s->screen->blocks; k++) {
        const float *restrict add = from + (size_t)k * (size_t)(wide + s->screen->block);
        for (int j = 0; j < n; j++)
            sum[j] += add[j];
    }
    for (int j = 0; j < n; j++) {
        float bound = sum[j] - x_mean * mean[j] + slack * norm[j];
        float own = x_need * root[j], other = x_root * need[j];
        may[j] = (!(bound < own) & !(bound < other)) | ((own <= 0.0f) & (other <= 0.0f));
        any |= may[j];
    }
    return any;
}

/* Row `core` of x against `n` cores of y from `at` on; from: where the core's first block is. */
static void screen_row(struct search *s, int trace, int row, const float *from, int wide,
                       int at, int n)
{
    const struct series *x = &s->a->s[trace];
    const struct core *c = &x->core[row];
    int m = s->screen->block;
    bool any = screen_sums(s, c, from, wide, at, n);
    if (!any) return;

    /* diagonal j - i, from the lowest, 1 - windows of x */
    int zero = at - row * m + x->windows - 1, last = diagonals(x, s->y) - 1;
    uint8_t *hit = s->hit + s->hit_at[trace];
    for (int j = 0; j < n; j++) {
        int d = zero + j;
        if (!s->may[j] || d < 0 || d > last) continue;
        if (levels_meet(c, &s->core[at + j], s->cfg))
            hit[d / CHAR_BIT] |= (uint8_t)(1u << d % CHAR_BIT);
    }
}

/* The cores of one trace of a against a tile; `tile` has the levels of its cores. */
static void screen_trace(struct search *s, int trace, const struct core *tile, int wide,
                         int at, int n)
{
    const struct series *x = &s->a->s[trace];
    int m = s->screen->block;
    for (int row = 0; row < x->cores;) {
        int rows = 0;
        while (rows < ROWS && row + rows < x->cores &&
               levels_meet(&x->core[row + rows], tile, s->cfg))
            rows++;
        if (!rows) {
            row++;
            continue;
        }
        kern_best()->product(
            &(struct kern_product){.c = s->product,
                                   .a = x->narrow + (size_t)row * (size_t)m,
                                   .b = s->shifted,
                                   .m = rows + s->screen->blocks - 1,
                                   .n = wide,
                                   .k = m});
        for (int i = 0; i < rows; i++)
            screen_row(s, trace, row + i, s->product + (size_t)i * (size_t)wide, wide, at,
                       n);
        row += rows;
    }
}

static void screen_all(struct search *s)
{
    int m = s->screen->block;
    for (int at = 0; at < s->cores; at += TILE) {
        int n = s->cores - at < TILE ? s->cores - at : TILE;
        int wide = n + (s->screen->blocks - 1) * m;
        for (int k = 0; k < m; k++)
            memcpy(s->shifted + (size_t)k * (size_t)wide, s->y->narrow + at + k,
                   (size_t)wide * sizeof *s->shifted);
        struct core tile = {.low = INFINITY, .high = -INFINITY};
        for (int j = at; j < at + n; j++) {
            tile.low = fminf(tile.low, s->core[j].low);
            tile.high = fmaxf(tile.high, s->core[j].high);
        }
        for (int i = 0; i < s->a->n; i++)
            if (s->a->s[i].windows) screen_trace(s, i, &tile, wide, at, n);
    }
}

/* best_pair on some diagonals: the same sums and comparisons in the same order, and the others cannot be
 * above the threshold. */
static void best_on_diagonals(struct overlap_pair *best, struct search *s,
                              const struct series *x, int n)
{
    const struct series *y = s->y;
    int window = s->cfg->window_s;
    for (int i = 0; i < x->windows; i++) {
        double in = x->x[i + window - 1], out = i ? x->x[i - 1] : 0.0;
        double mean = x->mean[i], inv_sd = x->inv_sd[i], inv = 1.0 / window;
        double limit = inv_sd > 0.0 ? best->r / inv_sd : (double)INFINITY;
        for (int k = 0; k < n; k++) {
            int j = i + s->diagonal[k];
            if (j < 0) continue;
            if (j >= y->windows) break;
            if (i == 0 || j == 0)
                s->sums[k] = overlap_dot(x->x + i, y->x + j, window);
            else
                s->sums[k] = s->sums[k] + in * y->x[j + window - 1] - out * y->x[j - 1];
            double r = (s->sums[k] * inv - mean * y->mean[j]) * y->inv_sd[j];
            if (r <= limit) continue;
            double ax = x->level + mean, ay = y->level + y->mean[j];
            if (fabs(ax - ay) > s->cfg->level * fmax(ax, ay)) continue;
            limit = r;
            best->r = r * inv_sd;
            best->a_s = i;
            best->b_s = j;
        }
    }
}

static void compare_pair(struct overlap_pair *best, struct search *s, int trace)
{
    const struct series *x = &s->a->s[trace];
    const uint8_t *hit = s->hit + s->hit_at[trace];
    int all = diagonals(x, s->y), n = 0;
    for (int d = 0; d < all; d++) {
        if (!(hit[d / CHAR_BIT] >> d % CHAR_BIT & 1)) continue;
        int k = d - (x->windows - 1);
        s->diagonal[n++] = k;
        int from = k < 0 ? -k : 0, end = s->y->windows - k;
        s->compared += (end < x->windows ? end : x->windows) - from;
    }
    if (n > all / DENSE_SHARE)
        best_pair(best, s->sums, x, s->y, s->cfg);
    else if (n)
        best_on_diagonals(best, s, x, n);
}

/* What one trace of b has found. */
struct finding {
    struct overlap_pair *pairs; /* owned */
    int n;
    int64_t compared;
};

struct job {
    const struct overlap_cfg *cfg;
    struct screen screen;
    struct set a, b;
    struct finding *found; /* (b.n) */
    int from;              /* traces of b that were compared before this round */
};

static int compare_one(void *ctx, int i, struct err *e)
{
    struct job *job = ctx;
    int b = job->from + i;
    struct finding *found = &job->found[b];
    struct search s = {
        .cfg = job->cfg, .screen = &job->screen, .a = &job->a, .y = &job->b.s[b]};
    struct overlap_pair *pairs = NULL;
    bool compares = s.y->windows > 0;
    int rc = compares ? search_init(&s, e) : 0, n = 0;
    if (compares && !rc) screen_all(&s);
    for (int a = 0; a < job->a.n && !rc; a++) {
        struct overlap_pair best = {.a = a, .b = b};
        if (compares && job->a.s[a].windows) compare_pair(&best, &s, a);
        if (!(best.r > job->cfg->threshold)) continue;
        if ((n & (n - 1)) == 0) { /* as many again */
            struct overlap_pair *more =
                realloc(pairs, (n ? 2 * (size_t)n : 1) * sizeof *more);
            if (!more) rc = err_set(e, ERR_MEMORY, "no memory for %d pairs", 2 * n);
            if (more) pairs = more;
        }
        if (!rc) pairs[n++] = best;
    }
    *found = (struct finding){pairs, n, s.compared};
    search_free(&s);
    return rc;
}

static int by_b_then_r(const void *x, const void *y)
{
    const struct overlap_pair *p = x, *q = y;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    if (p->r != q->r) return p->r > q->r ? -1 : 1;
    return p->a < q->a ? -1 : p->a > q->a;
}

/* The cores of a at multiples of the block, with means. */
static int make_cores(struct job *job, struct err *e)
{
    int m = job->screen.block, rc = 0;
    for (int i = 0; i < job->a.n && !rc; i++) {
        struct series *x = &job->a.s[i];
        if (!x->windows) continue;
        int all = x->windows + m - 1;
        x->cores = (x->windows + m - 2) / m + 1;
        x->core = malloc((size_t)x->cores * sizeof *x->core);
        struct core *every = malloc((size_t)all * sizeof *every);
        float *scratch = malloc(3 * ((size_t)x->n + (size_t)m) * sizeof *scratch);
        if (x->core && every && scratch) {
            all_cores(every, scratch, x, &job->screen, job->cfg->window_s);
            for (int k = 0; k < x->cores; k++) {
                x->core[k] = every[k * m];
                x->core[k].mean /= (float)(m * job->screen.blocks);
            }
        } else {
            rc = err_set(e, ERR_MEMORY, "no memory for a trace of %d s", x->n);
        }
        free(scratch);
        free(every);
    }
    return rc;
}

static int compare_all(struct job *job, struct err *e)
{
    const struct overlap_cfg *cfg = job->cfg;
    int round = 4 * (cfg->threads < 1 ? 1 : cfg->threads); /* between looks at progress */
    for (; job->from < job->b.n; job->from += round) {
        int left = job->b.n - job->from;
        int rc = pool_try(left < round ? left : round, cfg->threads, compare_one, job, e);
        if (rc) return rc;
        double share = left < round ? 1.0 : (double)(job->from + round) / job->b.n;
        if (cfg->progress && cfg->progress(cfg->progress_ctx, share))
            return OVERLAP_STOPPED;
    }
    return 0;
}

static int gather_found(struct overlap *out, const struct job *job, struct err *e)
{
    size_t n = 0;
    for (int b = 0; b < job->b.n; b++)
        n += (size_t)job->found[b].n;
    struct overlap_pair *pairs = n <= INT_MAX ? malloc((n + 1) * sizeof *pairs) : NULL;
    if (!pairs) return err_set(e, ERR_MEMORY, "no memory for %zu pairs", n);
    *out = (struct overlap){
        .pairs = pairs, .short_a = too_short(&job->a), .short_b = too_short(&job->b)};
    for (int b = 0; b < job->b.n; b++) {
        const struct finding *f = &job->found[b];
        if (f->n) memcpy(pairs + out->n, f->pairs, (size_t)f->n * sizeof *pairs);
        out->n += f->n;
        out->compared += f->compared;
    }
    qsort(pairs, n, sizeof *pairs, by_b_then_r);
    return 0;
}

int overlap_find(struct overlap *out, const struct corpus *a, const struct corpus *b,
                 const struct overlap_cfg *cfg, struct err *e)
{
    struct job job = {.cfg = cfg, .screen = screen_of(cfg)};
    int rc = set_fill(&job.a, a, cfg->window_s, e);
    if (!rc) rc = set_fill(&job.b, b, cfg->window_s, e);
    if (!rc) rc = make_cores(&job, e);
    if (rc) goto out;

    job.found = calloc((size_t)b->n + 1, sizeof *job.found);
    if (!job.found) rc = err_set(e, ERR_MEMORY, "no memory for %d traces", b->n);
    if (!rc) rc = compare_all(&job, e);
    if (!rc) rc = gather_found(out, &job, e);
out:
    for (int i = 0; job.found && i < b->n; i++)
        free(job.found[i].pairs);
    free(job.found);
    set_free(&job.b);
    set_free(&job.a);
    return rc;
}
