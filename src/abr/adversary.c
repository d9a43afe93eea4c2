#include "abr/adversary.h"

#include "abr/deciders/oracle.h"
#include "abr/emulator/replay.h"
#include "base/pool.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POPULATION = 16,
    TOURNAMENT = 2,
    ROUND = 25,       /* trials of each evolution between looks at progress */
    FEW_NODES = 2000, /* of the oracle within the search */
    FIRST_LEVEL = 1   /* of chunk 0 when it is not counted */
};
static const double LENGTH = 1.25; /* of a link over the video */
static const double TOP_SHARE =
    0.25;                         /* F over what the best level earns without stalls */
static const double DIGITS = 1e4; /* speeds are multiples of 0.0001 Mbit/s */
static const double WEAK = 0.05, STRONG = 1.5; /* deviation of a raise of ln c */

struct adversary_cfg adversary_cfg_default(void)
{
    return (struct adversary_cfg){.low_mbps = 0.2,
                                  .high_mbps = 6,
                                  .factor = 2,
                                  .step_s = 4,
                                  .searches = 10,
                                  .trials = 3000,
                                  .seed = 1,
                                  .threads = 1};
}

static int adversary_need(double v, double lo, double hi, const char *name, struct err *e)
{
    if (v >= lo && v <= hi) return 0; /* false for NaN, too */
    return err_field(e, ERR_RANGE, name, "%g is not within %g .. %g", v, lo, hi);
}

int adversary_check(const struct adversary_cfg *cfg, struct err *e)
{
    int rc = adversary_need(cfg->low_mbps, 0.01, 1000, "low_mbps", e);
    if (!rc) rc = adversary_need(cfg->high_mbps, 0.01, 1000, "high_mbps", e);
    if (!rc && cfg->low_mbps > cfg->high_mbps)
        rc = err_field(e, ERR_RANGE, "low_mbps", "%g is above the highest speed, %g",
                       cfg->low_mbps, cfg->high_mbps);
    if (!rc) rc = adversary_need(cfg->factor, 1, 1e6, "factor", e);
    if (!rc) rc = adversary_need(cfg->step_s, 0.1, 100, "step_s", e);
    if (!rc && cfg->slots)
        rc = adversary_need(cfg->slots, ADVERSARY_SLOTS_MIN, ADVERSARY_SLOTS_MAX, "slots",
                            e);
    if (!rc) rc = adversary_need(cfg->searches, 1, ADVERSARY_SEARCHES_MAX, "searches", e);
    if (!rc) rc = adversary_need(cfg->trials, POPULATION, 1e6, "trials", e);
    return rc;
}

int adversary_slots(const struct adversary_cfg *cfg, const struct video *video)
{
    if (cfg->slots) return cfg->slots;
    double n = ceil(LENGTH * video->chunks * video->chunk_s / cfg->step_s);
    return (int)fmax(ADVERSARY_SLOTS_MIN, fmin(n, ADVERSARY_SLOTS_MAX));
}

double adversary_share(const struct adversary_score *s)
{
    return s->optimum >= s->least ? s->policy / s->optimum : (double)NAN;
}

/* ---- one link ---- */

/* A policy and an oracle, of one thread. */
struct adversary_judge {
    const struct adversary_world *world;
    struct algo algo;
    struct oracle *oracle;
    double least, most; /* F, and what no plan exceeds on any link */
};

/* What each level earns without stalls gives F. Without stalls and switches nothing earns more than the
 * best level of each chunk. */
static void fill_limits(struct adversary_judge *j)
{
    const struct adversary_world *w = j->world;
    const struct video *v = w->video;
    double top = -INFINITY, lowest = 0, points[2][VIEW_LEVELS];
    j->most = 0;
    for (int i = w->count_first ? 0 : 1; i < v->chunks; i++) {
        double most = -INFINITY;
        video_points(points[0], v, i);
        for (int k = 0; k < v->levels; k++) {
            struct qoe_level now = {v->ladder_kbps[k], points[0][k]}, none = {0, 0};
            most = fmax(
                most,
                qoe_chunk(&w->qoe, now, none, v->chunk_s, 0, v->ladder_kbps[0]).reward);
        }
        j->most += most;
    }
    for (int k = 0; k < v->levels; k++) {
        double sum = 0;
        for (int i = 0; i < v->chunks; i++) {
            video_points(points[i % 2], v, i);
            struct qoe_level now = {v->ladder_kbps[k], points[i % 2][k]}, before = {0, 0};
            if (i) before = (struct qoe_level){v->ladder_kbps[k], points[1 - i % 2][k]};
            if (!i && !w->count_first) continue;
            sum +=
                qoe_chunk(&w->qoe, now, before, v->chunk_s, 0, v->ladder_kbps[0]).reward;
        }
        if (!k) lowest = sum;
        top = fmax(top, sum);
    }
    j->least = fmax(lowest, TOP_SHARE * top);
}

static int judge_init(struct adversary_judge *j, const char *policy,
                      const struct adversary_world *world, long nodes, struct err *e)
{
    *j = (struct adversary_judge){.world = world};
    fill_limits(j);
    if (!(j->least > 0))
        return err_field(e, ERR_INVALID, "weights",
                         "no level earns anything with these weights, so there is no "
                         "share of the optimum");
    int rc = algo_new(&j->algo, policy, &world->ctx, e);
    if (rc) return rc;
    j->oracle = oracle_new(world->video, nodes, e);
    return j->oracle ? 0 : ERR_MEMORY;
}

static void judge_free(struct adversary_judge *j)
{
    algo_free(&j->algo);
    oracle_free(j->oracle);
}

struct adversary_sums {
    double earned, stall_s;
};

static int add_step(void *ctx, const struct replay_step *step, struct err *e)
{
    (void)e;
    struct adversary_sums *s = ctx;
    s->earned += step->reward;
    if (step->prev_level >= 0) s->stall_s += step->stall_s;
    return 0;
}

/* The largest regret of this V: with an optimum between F and what no plan exceeds. */
static double most_regret(const struct adversary_judge *j, double earned)
{
    return 1 - earned / (earned > 0 ? j->most : j->least);
}

/* The oracle is not asked if the regret cannot be above `needed`; the optimum is then NaN. */
static int judge_link(struct adversary_score *out, struct adversary_judge *j,
                      const struct trace *trace, double needed, struct err *e)
{
    const struct adversary_world *w = j->world;
    const struct emu_world world = {w->video, trace, w->emu};
    struct replay r = {.world = &world,
                       .qoe = &w->qoe,
                       .first_level = w->count_first ? -1 : FIRST_LEVEL,
                       .algo = &j->algo};
    struct adversary_sums own = {0}, best = {0};
    struct oracle_result plan;
    int rc = replay_run(&r, add_step, &own, e);
    *out = (struct adversary_score){.policy = own.earned, .optimum = (double)NAN};
    if (!rc && most_regret(j, own.earned) <= needed) return 0;
    if (!rc)
        rc = oracle_solve(&plan, j->oracle, &world, REPLAY_START_ROW, &w->qoe,
                          r.first_level, e);
    if (rc) return rc;
    r.levels = plan.levels;
    rc = replay_run(&r, add_step, &best, e);
    /* an oracle with few nodes may miss what the policy found */
    bool found = best.earned >= own.earned;
    *out =
        (struct adversary_score){.policy = own.earned,
                                 .optimum = found ? best.earned : own.earned,
                                 .bound = plan.bound,
                                 .least = j->least,
                                 .stall_s = own.stall_s,
                                 .optimum_stall_s = found ? best.stall_s : own.stall_s};
    return rc;
}

/* NaN without an optimum. */
static double regret(const struct adversary_score *s)
{
    if (s->optimum < s->least) return (s->optimum - s->least) / s->least;
    return (s->optimum - s->policy) / s->optimum;
}

/* ---- links within the bounds ---- */

/* The mean of two functions that keep to the factor keeps to it. */
void adversary_bound(double *ln, double *scratch, int n, double ln_low, double ln_high,
                     double ln_factor)
{
    double *minorant = ln, *majorant = scratch;
    for (int i = 0; i < n; i++)
        majorant[i] = minorant[i] = fmin(fmax(ln[i], ln_low), ln_high);
    /* twice round in both directions: the loop's nearest neighbours are within one round */
    for (int i = 1; i < 2 * n; i++) {
        int at = i % n, from = (i - 1) % n;
        minorant[at] = fmin(minorant[at], minorant[from] + ln_factor);
        majorant[at] = fmax(majorant[at], majorant[from] - ln_factor);
    }
    for (int i = 2 * n - 2; i >= 0; i--) {
        int at = i % n, from = (i + 1) % n;
        minorant[at] = fmin(minorant[at], minorant[from] + ln_factor);
        majorant[at] = fmax(majorant[at], majorant[from] - ln_factor);
    }
    for (int i = 0; i < n; i++)
        ln[i] = 0.5 * (minorant[i] + majorant[i]);
}

struct bounds {
    double ln_low, ln_high, ln_factor, step_s;
    int n; /* slots */
};

static void random_walk(double *ln, double *scratch, const struct bounds *b,
                        struct rng *r)
{
    double at = rng_range(r, b->ln_low, b->ln_high);
    for (int i = 0; i < b->n; i++) {
        ln[i] = at;
        at += rng_range(r, -b->ln_factor, b->ln_factor);
        at = fmin(fmax(at, b->ln_low), b->ln_high);
    }
    adversary_bound(ln, scratch, b->n, b->ln_low, b->ln_high, b->ln_factor);
}

/* Distance on the loop. */
static int loop_distance(int a, int b, int n)
{
    int d = abs(a - b);
    return d < n - d ? d : n - d;
}

static void raise_window(double *ln, const struct bounds *b, int middle, double width,
                         struct rng *r)
{
    double by = exp(rng_range(r, log(WEAK), log(STRONG))) * rng_normal(r);
    for (int i = 0; i < b->n; i++) {
        double d = loop_distance(i, middle, b->n) / width;
        if (d < 1) ln[i] += by * (1 - d * d);
    }
}

/* ln: a copy of one link, changed; other: another link. */
static void change_link(double *ln, double *scratch, const double *other,
                        const struct bounds *b, struct rng *r)
{
    int middle = (int)rng_below(r, (uint32_t)b->n), kind = (int)rng_below(r, 10);
    double width = exp(rng_range(r, 0, log(fmax(2, 0.5 * b->n))));
    double to = rng_range(r, b->ln_low, b->ln_high);
    if (kind < 5) {
        raise_window(ln, b, middle, width, r);
    } else if (kind < 7) {
        for (int i = 0; i < b->n; i++)
            if (loop_distance(i, middle, b->n) < width) ln[i] = to;
    } else if (kind < 9) {
        for (int i = 0; i < b->n; i++)
            if (loop_distance(i, middle, b->n) < width) ln[i] = other[i];
    } else {
        int by = 1 + (int)rng_below(r, 3);
        if (rng_below(r, 2)) by = b->n - by % b->n;
        for (int i = 0; i < b->n; i++)
            scratch[(i + by) % b->n] = ln[i];
        memcpy(ln, scratch, (size_t)b->n * sizeof *ln);
    }
    adversary_bound(ln, scratch, b->n, b->ln_low, b->ln_high, b->ln_factor);
}

/* Row 0 only marks the start. */
static void fill_trace(struct trace *t, const double *ln, const struct bounds *b)
{
    for (int i = 0; i <= b->n; i++) {
        t->time_s[i] = i * b->step_s;
        t->mbps[i] = round(exp(ln[i ? i - 1 : 0]) * DIGITS) / DIGITS;
    }
}

/* ---- the search ---- */

struct evolution {
    struct rng rng;
    double *ln;               /* (POPULATION, slots) */
    double score[POPULATION]; /* regret */
    int born;                 /* links tried */
    double begin_share;       /* sum over the first links with a share */
    int begun;                /* their number */
};

struct hunt {
    const struct adversary_cfg *cfg;
    struct bounds bounds;
    struct evolution *evolution; /* (searches) */
    double *ln;                  /* all their links */
    int workers, until;          /* links tried by each after this round */
    struct adversary_judge *judge;
    struct trace **trace; /* (workers) */
    double *spare;        /* (workers, 2 slots) */
};

static double *link_of(const struct hunt *h, const struct evolution *v, int i)
{
    return v->ln + (size_t)i * (size_t)h->bounds.n;
}

/* NaN: not above `needed`. */
static int try_link(double *out, struct adversary_score *score, const struct hunt *h,
                    int worker, const double *ln, double needed, struct err *e)
{
    fill_trace(h->trace[worker], ln, &h->bounds);
    int rc = judge_link(score, &h->judge[worker], h->trace[worker], needed, e);
    *out = regret(score);
    return rc;
}

static int begin_link(struct evolution *v, const struct hunt *h, int worker,
                      double *scratch, struct err *e)
{
    struct adversary_score score;
    double *ln = link_of(h, v, v->born);
    random_walk(ln, scratch, &h->bounds, &v->rng);
    int rc = try_link(&v->score[v->born], &score, h, worker, ln, -INFINITY, e);
    double share = rc ? (double)NAN : adversary_share(&score);
    if (share == share) {
        v->begin_share += share;
        v->begun++;
    }
    v->born++;
    return rc;
}

static int winner(struct evolution *v)
{
    int best = (int)rng_below(&v->rng, POPULATION);
    for (int i = 1; i < TOURNAMENT; i++) {
        int other = (int)rng_below(&v->rng, POPULATION);
        if (v->score[other] > v->score[best]) best = other;
    }
    return best;
}

static int worst_of(const struct evolution *v)
{
    int worst = 0;
    for (int i = 1; i < POPULATION; i++)
        if (v->score[i] < v->score[worst]) worst = i;
    return worst;
}

static int next_link(struct evolution *v, const struct hunt *h, int worker,
                     double *scratch, struct err *e)
{
    const struct bounds *b = &h->bounds;
    double *child = scratch + b->n, score;
    struct adversary_score parts;
    int from = winner(v), other = (int)rng_below(&v->rng, POPULATION);
    memcpy(child, link_of(h, v, from), (size_t)b->n * sizeof *child);
    change_link(child, scratch, link_of(h, v, other), b, &v->rng);
    int worst = worst_of(v);
    int rc = try_link(&score, &parts, h, worker, child, v->score[worst], e);
    if (!rc && score > v->score[worst]) {
        v->score[worst] = score;
        memcpy(link_of(h, v, worst), child, (size_t)b->n * sizeof *child);
    }
    v->born++;
    return rc;
}

static int hunt_worker(void *ctx, int w, struct err *e)
{
    struct hunt *h = ctx;
    double *scratch = h->spare + 2 * (size_t)w * (size_t)h->bounds.n;
    for (int i = w; i < h->cfg->searches; i += h->workers) {
        struct evolution *v = &h->evolution[i];
        while (v->born < h->until) {
            int rc = v->born < POPULATION ? begin_link(v, h, w, scratch, e)
                                          : next_link(v, h, w, scratch, e);
            if (rc) return rc;
        }
    }
    return 0;
}

static void hunt_free(struct hunt *h)
{
    for (int w = 0; w < h->workers; w++) {
        if (h->judge) judge_free(&h->judge[w]);
        if (h->trace) trace_free(h->trace[w]);
    }
    free(h->judge);
    free(h->trace);
    free(h->spare);
    free(h->ln);
    free(h->evolution);
}

static int hunt_init(struct hunt *h, const char *policy,
                     const struct adversary_world *world, const struct adversary_cfg *cfg,
                     struct err *e)
{
    *h = (struct hunt){.cfg = cfg,
                       .bounds = {log(cfg->low_mbps), log(cfg->high_mbps),
                                  log(cfg->factor), cfg->step_s,
                                  adversary_slots(cfg, world->video)}};
    int threads = cfg->threads < 1 ? 1 : cfg->threads;
    h->workers = threads < cfg->searches ? threads : cfg->searches;
    size_t n = (size_t)h->bounds.n, searches = (size_t)cfg->searches;
    size_t workers = (size_t)h->workers;
    h->evolution = calloc(searches, sizeof *h->evolution);
    h->ln = calloc(searches * POPULATION * n, sizeof *h->ln);
    h->spare = calloc(workers * 2 * n, sizeof *h->spare);
    h->judge = calloc(workers, sizeof *h->judge);
    h->trace = calloc(workers, sizeof *h->trace);
    if (!h->evolution || !h->ln || !h->spare || !h->judge || !h->trace)
        return err_set(e, ERR_MEMORY, "no memory for %d searches", cfg->searches);
    for (int i = 0; i < cfg->searches; i++) {
        rng_init(&h->evolution[i].rng, cfg->seed, (uint64_t)i);
        h->evolution[i].ln = h->ln + (size_t)i * POPULATION * n;
    }
    for (int w = 0; w < h->workers; w++) {
        int rc = judge_init(&h->judge[w], policy, world, FEW_NODES, e);
        if (rc) return rc;
        h->trace[w] = trace_new(h->bounds.n + 1, "adversary", e);
        if (!h->trace[w]) return ERR_MEMORY;
    }
    return 0;
}

static int hunt_run(struct hunt *h, struct err *e)
{
    const struct adversary_cfg *cfg = h->cfg;
    while (h->until < cfg->trials) {
        h->until = h->until + ROUND < cfg->trials ? h->until + ROUND : cfg->trials;
        int rc = pool_try(h->workers, h->workers, hunt_worker, h, e);
        if (rc) return rc;
        if (cfg->progress &&
            cfg->progress(cfg->progress_ctx, (double)h->until / cfg->trials))
            return ADVERSARY_STOPPED;
    }
    return 0;
}

/* ---- given links ---- */

struct verdicts {
    struct adversary_score *out;
    struct trace *const *traces;
    int n, workers;
    struct adversary_judge *judge;
};

static int verdicts_worker(void *ctx, int w, struct err *e)
{
    struct verdicts *v = ctx;
    int rc = 0;
    for (int i = w; i < v->n && !rc; i += v->workers)
        rc = judge_link(&v->out[i], &v->judge[w], v->traces[i], -INFINITY, e);
    return rc;
}

int adversary_judge(struct adversary_score *out, const char *policy,
                    const struct adversary_world *world, struct trace *const *traces,
                    int n, int threads, struct err *e)
{
    if (threads < 1) threads = 1;
    struct verdicts v = {out, traces, n, threads < n ? threads : n, NULL};
    v.judge = calloc((size_t)v.workers + 1, sizeof *v.judge);
    int rc = v.judge ? 0 : err_set(e, ERR_MEMORY, "no memory for %d workers", v.workers);
    for (int w = 0; w < v.workers && !rc; w++)
        rc = judge_init(&v.judge[w], policy, world, 0, e);
    if (!rc) rc = pool_try(v.workers, v.workers, verdicts_worker, &v, e);
    for (int w = 0; v.judge && w < v.workers; w++)
        judge_free(&v.judge[w]);
    free(v.judge);
    return rc;
}

/* ---- the result ---- */

static int by_share(const void *a, const void *b)
{
    const struct adversary_link *x = a, *y = b;
    double s = regret(&y->score), t = regret(&x->score);
    return (s > t) - (s < t);
}

/* The worst link of each evolution, judged with the usual oracle. */
static int hunt_collect(struct adversary_links *out, const struct hunt *h,
                        const char *policy, const struct adversary_world *world,
                        struct err *e)
{
    int n = h->cfg->searches, begun = 0, rc = 0;
    struct trace **traces = calloc((size_t)n, sizeof *traces);
    struct adversary_score *scores = calloc((size_t)n, sizeof *scores);
    out->link = calloc((size_t)n, sizeof *out->link);
    if (!traces || !scores || !out->link)
        rc = err_set(e, ERR_MEMORY, "no memory for %d links", n);
    for (int i = 0; i < n && !rc; i++) {
        const struct evolution *v = &h->evolution[i];
        int best = 0;
        for (int k = 1; k < POPULATION; k++)
            if (v->score[k] > v->score[best]) best = k;
        traces[i] = trace_new(h->bounds.n + 1, "adversary", e);
        if (!traces[i]) {
            rc = ERR_MEMORY;
            break;
        }
        out->link[out->n++].trace = traces[i];
        fill_trace(traces[i], link_of(h, v, best), &h->bounds);
        out->begin_share += v->begin_share;
        begun += v->begun;
    }
    out->begin_share = begun ? out->begin_share / begun : (double)NAN;
    if (!rc) rc = adversary_judge(scores, policy, world, traces, n, h->cfg->threads, e);
    for (int i = 0; i < n && !rc; i++)
        out->link[i].score = scores[i];
    if (!rc) qsort(out->link, (size_t)n, sizeof *out->link, by_share);
    for (int i = 0; i < n && !rc; i++)
        snprintf(out->link[i].trace->name, sizeof out->link[i].trace->name,
                 "adversary-%02d", i);
    free(scores);
    free(traces);
    return rc;
}

int adversary_search(struct adversary_links *out, const char *policy,
                     const struct adversary_world *world, const struct adversary_cfg *cfg,
                     struct err *e)
{
    *out = (struct adversary_links){0};
    int rc = adversary_check(cfg, e);
    if (rc) return rc;
    struct hunt h;
    rc = hunt_init(&h, policy, world, cfg, e);
    if (!rc) rc = hunt_run(&h, e);
    if (!rc) rc = hunt_collect(out, &h, policy, world, e);
    hunt_free(&h);
    if (rc) adversary_links_free(out);
    return rc;
}

void adversary_links_free(struct adversary_links *l)
{
    for (int i = 0; i < l->n; i++)
        trace_free(l->link[i].trace);
    free(l->link);
    *l = (struct adversary_links){0};
}
