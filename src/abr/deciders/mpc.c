#include "abr/deciders/mpc.h"

#include "abr/deciders/simple.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define WINDOW 5
#define WEIGHTS 4 /* stall weights that bounds are computed for, 0 first */

/* Terms are multiples of 2^-20 and below 2^30, as weights sum to 1 and a download is cut
 * at DOWNLOAD_MAX_S: five of each sum without rounding. */
static const double GRID_SHIFT = 0x1.8p32, GRID = 0x1p-20;
static const double DOWNLOAD_MAX_S = 1e6;

/* Partial plans of one length and last level that were searched. A later one with no more value and no
 * more buffer cannot be better, and is not first of equals. */
enum { FRONT = 16, FRONTS_FROM = 1024 };
struct front {
    int n, next; /* kept, and the place of the one that is replaced */
    double value[FRONT], buffer_s[FRONT];
};

struct search {
    int levels, horizon;
    double chunk_s;
    double mu_stall;
    double download_s[MPC_HORIZON][VIEW_LEVELS];
    double gain[VIEW_LEVELS + 1][VIEW_LEVELS]; /* reward without a stall, after a level;
                                                  [levels] is after the last chunk */
    /* bound[w][j][k]: most that steps j.. may earn after level k, downloads priced at w
     */
    double weight[WEIGHTS];
    double bound[WEIGHTS][MPC_HORIZON + 1][VIEW_LEVELS];

    struct front *fronts; /* (horizon, levels); in use after FRONTS_FROM nodes */
    bool fronts_ready;

    int first; /* first level of the partial plan in hand */
    double best;
    int best_first;
    long nodes;
};

/* To the nearest multiple of GRID: adding 1.5 * 2^32 leaves 20 bits behind the point. */
static double on_grid(double x)
{
    return (x + GRID_SHIFT) - GRID_SHIFT;
}

static void fill_gains(struct search *s, const struct mpc_task *task)
{
    const struct qoe *qoe = &task->qoe;
    double sum = qoe->mu_quality + qoe->mu_switch + qoe->mu_stall;
    double unit = sum > 0 ? 1 / sum : 0;

    s->mu_stall = qoe->mu_stall * unit;
    for (int k = 0; k < s->levels; k++) {
        struct qoe_level level = {task->ladder_kbps[k], task->points[k]};
        for (int prev = 0; prev <= s->levels; prev++) {
            struct qoe_level before = task->last;
            if (prev < s->levels)
                before = (struct qoe_level){task->ladder_kbps[prev], task->points[prev]};
            struct qoe_parts p =
                qoe_chunk(qoe, level, before, s->chunk_s, 0, task->ladder_kbps[0]);
            double quality = qoe->mu_quality * p.quality;
            double change = qoe->mu_switch * p.change;
            /* the pamoe utility has a part that no weight scales. Each part is rounded by
             * itself, so that plans with the same steps in another order tie exactly. */
            double rest = p.reward - (quality - change);
            s->gain[prev][k] =
                on_grid(unit * quality) - on_grid(unit * change) + on_grid(unit * rest);
        }
    }
}

static void fill_bounds(struct search *s)
{
    for (int w = 0; w < WEIGHTS; w++) {
        double weight = s->weight[w] = s->mu_stall * w / (WEIGHTS - 1);
        /* prices are not on the grid: a few units cover their rounding */
        double margin = w ? 16 * GRID : 0;
        for (int k = 0; k < s->levels; k++)
            s->bound[w][s->horizon][k] = margin;
        for (int j = s->horizon - 1; j > 0; j--) {
            for (int prev = 0; prev < s->levels; prev++) {
                double most = -INFINITY;
                for (int k = 0; k < s->levels; k++) {
                    double v = s->gain[prev][k] - weight * s->download_s[j][k] +
                               s->bound[w][j + 1][k];
                    most = v > most ? v : most;
                }
                s->bound[w][j][prev] = most;
            }
        }
    }
}

/* A partial plan: steps before j are chosen, the last of them at level `last`. */
struct node {
    double value, buffer_s;
    int last;
};

static struct node child(const struct search *s, const struct node *n, int j, int level)
{
    double d = s->download_s[j][level];
    struct node next = {n->value + s->gain[n->last][level], n->buffer_s - d, level};
    if (next.buffer_s < 0) {
        next.value -= on_grid(-next.buffer_s * s->mu_stall);
        next.buffer_s = 0;
    }
    next.buffer_s += s->chunk_s;
    return next;
}

/* Most that any completion of n is worth. */
static double ceiling(const struct search *s, const struct node *n, int j)
{
    double slack_s = n->buffer_s + (s->horizon - j - 1) * s->chunk_s;
    double most = s->bound[0][j][n->last];
    for (int w = 1; w < WEIGHTS; w++) {
        double v = s->bound[w][j][n->last] + s->weight[w] * slack_s;
        most = v < most ? v : most;
    }
    return n->value + most;
}

/* The value of the plan that follows the highest ceiling at every step. *first: its first level. */
static double dive(int *first, const struct search *s, struct node n)
{
    for (int j = 0; j < s->horizon; j++) {
        struct node best = {0};
        double best_ceiling = -INFINITY;
        for (int k = 0; k < s->levels; k++) {
            struct node next = child(s, &n, j, k);
            double c = j + 1 < s->horizon ? ceiling(s, &next, j + 1) : next.value;
            if (c > best_ceiling) {
                best = next;
                best_ceiling = c;
            }
        }
        n = best;
        if (j == 0) *first = n.last;
    }
    return n.value;
}

/* Whether a plan that was searched before n is as good in every respect; keeps n if not. */
static bool dominated(struct search *s, const struct node *n, int j)
{
    if (!s->fronts_ready) {
        s->fronts_ready = true;
        for (int i = 0; i < s->horizon * s->levels; i++)
            s->fronts[i].n = s->fronts[i].next = 0;
    }
    struct front *f = &s->fronts[j * s->levels + n->last];
    for (int i = 0; i < f->n; i++)
        if (f->value[i] >= n->value && f->buffer_s[i] >= n->buffer_s) return true;
    f->value[f->next] = n->value;
    f->buffer_s[f->next] = n->buffer_s;
    f->next = (f->next + 1) % FRONT;
    if (f->n < FRONT) f->n++;
    return false;
}

static void visit(struct search *s, const struct node *n, int j)
{
    if (s->nodes >= MPC_NODES) return;
    if (s->nodes >= FRONTS_FROM && j > 0 && dominated(s, n, j)) return;
    for (int k = 0; k < s->levels; k++) {
        if (j == 0) s->first = k;
        struct node next = child(s, n, j, k);
        s->nodes++;
        if (j + 1 < s->horizon) {
            if (ceiling(s, &next, j + 1) > s->best) visit(s, &next, j + 1);
        } else if (next.value > s->best) {
            s->best = next.value;
            s->best_first = s->first;
        }
    }
}

struct mpc_answer mpc_plan(const struct mpc_task *task)
{
    assert(task->levels >= 1 && task->levels <= VIEW_LEVELS);
    assert(task->horizon >= 1 && task->horizon <= MPC_HORIZON);
    struct front fronts[MPC_HORIZON * VIEW_LEVELS];
    struct search s; /* 16 kB: what is used of it is set below */
    s.fronts = fronts;
    s.fronts_ready = false;
    s.levels = task->levels;
    s.horizon = task->horizon;
    s.chunk_s = task->chunk_s;
    s.nodes = 0;
    for (int j = 0; j < s.horizon; j++)
        for (int k = 0; k < s.levels; k++)
            s.download_s[j][k] = task->download_s[j][k];
    fill_gains(&s, task);
    fill_bounds(&s);

    struct node root = {0, task->buffer_s, s.levels};
    /* one unit below an existing plan, so that the first of equally good plans is still found */
    s.best = dive(&s.best_first, &s, root) - GRID;
    visit(&s, &root, 0);
    return (struct mpc_answer){s.best_first, s.best, s.nodes};
}

static void note_error(struct mpc_memory *m, double forecast, double actual)
{
    if (m->n == MPC_ERRORS) {
        for (int i = 1; i < MPC_ERRORS; i++)
            m->error[i - 1] = m->error[i];
        m->n--;
    }
    actual = fmax(actual, 1e-3);
    m->error[m->n++] = fabs(forecast - actual) / actual;
}

double mpc_forecast_kbps(struct mpc_memory *m, const struct view *v)
{
    int n = v->n_history;
    if (m->chunk >= 0 && v->chunk == m->chunk + 1 && n > 0) {
        if (m->harmonic_kbps > 0)
            note_error(m, m->harmonic_kbps, v->throughput_kbps[n - 1]);
    } else if (v->chunk != m->chunk) {
        m->n = 0;
        for (int i = 1; i < n; i++) /* nothing was forecast for the first */
            note_error(m, simple_harmonic_kbps(v, i, WINDOW), v->throughput_kbps[i]);
    }
    m->chunk = v->chunk;
    m->harmonic_kbps = simple_harmonic_kbps(v, n, WINDOW);

    double worst = 0;
    for (int i = 0; i < m->n; i++)
        worst = fmax(worst, m->error[i]);
    return m->harmonic_kbps / (1 + worst);
}

struct mpc_task mpc_task(const struct view *v, const struct video *video,
                         const struct qoe *qoe, double forecast_kbps)
{
    struct mpc_task t = {.levels = v->levels,
                         .horizon = MPC_HORIZON,
                         .chunk_s = v->chunk_s,
                         .buffer_s = v->buffer_s,
                         .last = view_last(v),
                         .qoe = *qoe};
    if (v->chunks > 0 && v->chunks - v->chunk < t.horizon)
        t.horizon = v->chunks - v->chunk;
    if (t.horizon < 1) t.horizon = 1;
    if (video && video->levels != v->levels) video = NULL;

    for (int k = 0; k < t.levels; k++)
        t.ladder_kbps[k] = v->ladder_kbps[k], t.points[k] = v->points[k];
    for (int j = 0; j < t.horizon; j++) {
        int chunk = v->chunk + j;
        for (int k = 0; k < t.levels; k++) {
            double bytes = v->ladder_kbps[k] * 1000 / 8 * v->chunk_s;
            if (j == 0)
                bytes = view_bytes(v, k);
            else if (video && chunk < video->chunks)
                bytes = (double)video_chunk(video, chunk)[k];
            t.download_s[j][k] = fmin(bytes * 8 / 1000 / forecast_kbps, DOWNLOAD_MAX_S);
        }
    }
    return t;
}

struct planner {
    bool viewers_own; /* weights and utility; else pensieve's */
    struct mpc_memory memory;
};

static void reset(void *self, uint64_t session_key)
{
    (void)session_key;
    ((struct planner *)self)->memory = (struct mpc_memory){.chunk = -1};
}

static int mpc_decide(void *self, const struct view *v, const struct video *video)
{
    struct planner *p = self;
    double kbps = mpc_forecast_kbps(&p->memory, v);
    if (!(kbps > 0)) return 0;
    const struct qoe *qoe = p->viewers_own ? &v->qoe : &qoe_find("pensieve")->qoe;
    struct mpc_task task = mpc_task(v, video, qoe, kbps);
    return mpc_plan(&task).level;
}

static int new_planner(struct algo *out, bool viewers_own, struct err *e)
{
    struct planner *p = malloc(sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for a planner");
    p->viewers_own = viewers_own;
    reset(p, 0);
    out->self = p;
    out->reset = reset;
    out->decide = mpc_decide;
    out->free = free;
    return 0;
}

int mpc_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    (void)arg, (void)ctx;
    return new_planner(out, true, e);
}

int mpc_default_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                    struct err *e)
{
    (void)arg, (void)ctx;
    return new_planner(out, false, e);
}
