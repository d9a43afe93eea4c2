#include "abr/eval.h"

#include "abr/deciders/oracle.h"
#include "abr/emulator/replay.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 10000
#define LEVEL .95
#define FIRST_LEVEL 1 /* of chunk 0 when it is not counted */

struct eval_cfg eval_cfg_default(void)
{
    return (struct eval_cfg){
        .emu = emu_cfg_default(), .threads = 1, .seed = 1, .resamples = RESAMPLES};
}

int eval_first_level(const struct eval_cfg *cfg)
{
    return cfg->count_first ? -1 : FIRST_LEVEL;
}

/* The score of one trace: sums over counted chunks, divided by their number. */
struct score {
    double qoe, bitrate_mbps, stall_s, switch_mbps, bound, stalled, session_stall_s;
    struct eval_seen
        seen; /* switches_per_min and quality are sums while the session is played */
};

struct run {
    const struct eval_cfg *cfg;
    bool oracle, recorded; /* the level is planned, or as it was */

    int n;                         /* sessions that take part */
    struct eval_session *sessions; /* (n) */
    struct score *scores;          /* (n) */
    int chunks;                    /* of the longest video */
    int *lowest;                   /* (chunks) the plan of level 0 */

    int workers, from, to;   /* traces from .. to-1 are this round's */
    struct algo *algos;      /* (workers) */
    struct oracle **oracles; /* (workers) */
};

/* Sums over the counted chunks of one trace. */
struct tally {
    struct score *score;
    int counted, most;
};

static int tally(void *ctx, const struct replay_step *step, struct err *e)
{
    (void)e;
    struct tally *t = ctx;
    struct score *s = t->score;
    const double *kbps = step->view->ladder_kbps;
    s->qoe += step->reward;
    s->bitrate_mbps += step->kbps / 1000;
    s->seen.quality += step->view->points[step->level];
    t->counted++;
    if (step->prev_level < 0) {
        s->seen.startup_s = step->stall_s;
        return t->counted == t->most;
    }
    s->session_stall_s += step->stall_s;
    s->stalled += step->stall_s > 0;
    s->switch_mbps += fabs(step->kbps - kbps[step->prev_level]) / 1000;
    s->seen.switches_per_min += step->level != step->prev_level;
    return t->counted == t->most; /* the viewer leaves */
}

double eval_stall_ceiling(const struct qoe *k)
{
    return k->stall_ratio_max > 0 ? k->stall_ratio_max : qoe_standard()->stall_ratio_max;
}

/* NaN without media */
static double stall_ratio(double stall_s, double media_s)
{
    return stall_s / (stall_s + media_s);
}

struct stalls {
    double sum_s;
    int chunks, most;
};

static int sum_stalls(void *ctx, const struct replay_step *step, struct err *e)
{
    (void)e;
    struct stalls *s = ctx;
    if (step->prev_level >= 0) s->sum_s += step->stall_s;
    return ++s->chunks == s->most;
}

/* The lowest level from the start stalls more than the ceiling. */
static int check_link(bool *bound, const struct run *r, const struct eval_session *q,
                      struct err *e)
{
    const struct emu_world world = {q->video, q->trace, q->emu};
    const struct replay session = {
        .world = &world, .qoe = &q->qoe, .first_level = -1, .levels = r->lowest};
    struct stalls stalls = {.most = q->chunks};
    int rc = replay_run(&session, sum_stalls, &stalls, e);
    double media_s = q->chunks * q->video->chunk_s;
    *bound = stall_ratio(stalls.sum_s, media_s) > eval_stall_ceiling(&q->qoe);
    return rc < 0 ? rc : 0;
}

/* A policy that is told the sizes which the player knew. */
struct told {
    struct algo *of;
    const uint8_t *sized;
    int chunks;
};

static void told_reset(void *self, uint64_t key)
{
    struct told *t = self;
    t->of->reset(t->of->self, key);
}

static int told_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    struct told *t = self;
    struct view known = *v;
    if (v->chunk >= t->chunks || !t->sized[v->chunk])
        memset(known.next_bytes, 0, sizeof known.next_bytes);
    return t->of->decide(t->of->self, &known, NULL);
}

/* levels: the whole plan of the session; NULL: the algorithm decides. */
static int eval_play(struct score *s, const struct run *r, const struct eval_session *q,
                     struct algo *algo, const int *levels, struct err *e)
{
    const struct emu_world world = {q->video, q->trace, q->emu};
    struct told told = {algo, q->sized, q->chunks};
    struct algo teller = {.self = &told, .reset = told_reset, .decide = told_decide};
    const struct replay session = {.world = &world,
                                   .qoe = &q->qoe,
                                   .first_level = eval_first_level(r->cfg),
                                   .algo = q->sized && algo ? &teller : algo,
                                   .key = q->key,
                                   .levels = levels};
    struct tally t = {.score = s, .most = q->chunks - !r->cfg->count_first};
    struct eval_seen *seen = &s->seen;
    seen->startup_s = NAN;
    int rc = replay_run(&session, tally, &t, e);
    seen->stall_s = s->session_stall_s;
    seen->media_s = q->chunks * q->video->chunk_s;
    seen->quality /= t.counted;
    seen->switches_per_min *= 60 / seen->media_s;
    s->qoe /= t.counted;
    s->bitrate_mbps /= t.counted;
    s->stall_s = s->session_stall_s / t.counted;
    s->switch_mbps /= t.counted;
    s->stalled /= t.counted;
    s->bound /= t.counted;
    return rc < 0 ? rc : 0;
}

static int worker(void *ctx, int w, struct err *e)
{
    struct run *r = ctx;
    for (int i = r->from + w; i < r->to; i += r->workers) {
        const struct eval_session *q = &r->sessions[i];
        struct score *s = &r->scores[i];
        *s = (struct score){0};
        const int *levels = r->recorded ? q->levels : NULL;
        if (r->oracle) {
            const struct emu_world world = {q->video, q->trace, q->emu};
            struct oracle_result best;
            int rc = oracle_solve(&best, r->oracles[w], &world, REPLAY_START_ROW, &q->qoe,
                                  eval_first_level(r->cfg), e);
            if (rc) return rc;
            levels = best.levels;
            s->bound = best.bound;
        }
        int rc = eval_play(s, r, q, levels ? NULL : &r->algos[w], levels, e);
        if (!rc) rc = check_link(&s->seen.link_bound, r, q, e);
        if (rc) return rc;
    }
    return 0;
}

bool eval_excludes(const struct eval_cfg *cfg, const char *name)
{
    for (int i = 0; i < cfg->n_exclude; i++)
        if (strcmp(cfg->exclude[i], name) == 0) return true;
    return false;
}

static int make_scores(struct run *r, int sessions, struct err *e)
{
    r->sessions = calloc((size_t)sessions + 1, sizeof *r->sessions);
    r->scores = calloc((size_t)sessions + 1, sizeof *r->scores);
    r->lowest = calloc((size_t)r->chunks, sizeof *r->lowest);
    if (r->sessions && r->scores && r->lowest) return 0;
    return err_set(e, ERR_MEMORY, "no memory to score %d sessions", sessions);
}

static int choose_traces(struct run *r, const struct qoe *qoe,
                         const struct corpus *corpus, const struct video *video,
                         struct err *e)
{
    r->chunks = video->chunks;
    int rc = make_scores(r, corpus->n, e);
    for (int i = 0; i < corpus->n && !rc; i++) {
        if (eval_excludes(r->cfg, corpus->traces[i]->name)) continue;
        r->sessions[r->n++] = (struct eval_session){.trace = corpus->traces[i],
                                                    .video = video,
                                                    .emu = r->cfg->emu,
                                                    .qoe = *qoe,
                                                    .key = (uint64_t)i,
                                                    .chunks = video->chunks};
    }
    if (!rc && !r->n)
        return err_field(e, ERR_ABSENT, "traces",
                         "no trace to score: '%s' has %d, all are excluded", corpus->name,
                         corpus->n);
    return rc;
}

static int make_workers(struct run *r, const char *policy, const struct algo_ctx *ctx,
                        struct err *e)
{
    int threads = r->cfg->threads < 1 ? 1 : r->cfg->threads;
    r->workers = threads < r->n ? threads : r->n;
    r->algos = calloc((size_t)r->workers, sizeof *r->algos);
    r->oracles = calloc((size_t)r->workers, sizeof *r->oracles);
    if (!r->algos || !r->oracles)
        return err_set(e, ERR_MEMORY, "no memory for %d workers", r->workers);
    for (int w = 0; w < r->workers; w++) {
        int rc = 0;
        if (r->oracle) {
            r->oracles[w] = oracle_new(r->sessions[0].video, 0, e);
            if (!r->oracles[w]) rc = ERR_MEMORY;
        } else if (!r->recorded) {
            rc = algo_new(&r->algos[w], policy, ctx, e);
        }
        if (rc) return rc;
    }
    return 0;
}

static void eval_release(struct run *r)
{
    for (int w = 0; w < r->workers; w++) {
        if (r->algos) algo_free(&r->algos[w]);
        if (r->oracles) oracle_free(r->oracles[w]);
    }
    free(r->oracles);
    free(r->algos);
    free(r->lowest);
    free(r->scores);
    free(r->sessions);
}

static int play_all(struct run *r, struct err *e)
{
    const struct eval_cfg *cfg = r->cfg;
    int round = 4 * r->workers; /* between looks at progress */
    for (r->from = 0; r->from < r->n; r->from = r->to) {
        r->to = r->n - r->from < round ? r->n : r->from + round;
        int rc = pool_try(r->workers, r->workers, worker, r, e);
        if (rc) return rc;
        if (cfg->progress && cfg->progress(cfg->progress_ctx, (double)r->to / r->n))
            return EVAL_STOPPED;
    }
    return 0;
}

/* startup: (n) scratch */
static void summarise_seen(struct eval_row *out, double *startup)
{
    double stall_s = 0, media_s = 0, carried_stall_s = 0, carried_media_s = 0;
    for (int i = 0; i < out->n; i++) {
        const struct eval_seen *s = &out->seen[i];
        startup[i] = s->startup_s;
        out->quality += s->quality / out->n;
        out->switches_per_min += s->switches_per_min / out->n;
        out->link_bound += s->link_bound;
        stall_s += s->stall_s;
        media_s += s->media_s;
        carried_stall_s += s->link_bound ? 0 : s->stall_s;
        carried_media_s += s->link_bound ? 0 : s->media_s;
    }
    out->stall_ratio = stall_ratio(stall_s, media_s);
    out->stall_ratio_carried = stall_ratio(carried_stall_s, carried_media_s);
    out->startup_median_s = out->startup_p90_s = NAN;
    if (!isfinite(startup[0])) return;
    out->startup_median_s = stats_percentile(startup, out->n, .5);
    out->startup_p90_s = stats_percentile(startup, out->n, .9);
}

static int summarise(struct eval_row *out, const struct run *r, struct err *e)
{
    out->n = r->n;
    out->trace_qoe = malloc((size_t)r->n * sizeof *out->trace_qoe);
    out->trace_stall = malloc((size_t)r->n * sizeof *out->trace_stall);
    out->seen = malloc((size_t)r->n * sizeof *out->seen);
    double *startup = malloc((size_t)r->n * sizeof *startup);
    if (r->oracle) out->trace_bound = malloc((size_t)r->n * sizeof *out->trace_bound);
    if (!out->trace_qoe || !out->trace_stall || !out->seen || !startup ||
        (r->oracle && !out->trace_bound)) {
        free(startup);
        eval_row_free(out);
        return err_set(e, ERR_MEMORY, "no memory for the scores of %d traces", r->n);
    }
    for (int i = 0; i < r->n; i++) {
        const struct score *s = &r->scores[i];
        out->trace_qoe[i] = s->qoe;
        out->trace_stall[i] = s->stall_s;
        out->seen[i] = s->seen;
        out->bitrate_mbps += s->bitrate_mbps / r->n;
        out->stall_s += s->stall_s / r->n;
        out->switch_mbps += s->switch_mbps / r->n;
        out->stalled += s->stalled / r->n;
        out->session_stall_s += s->session_stall_s / r->n;
        if (!r->oracle) continue;
        out->trace_bound[i] = s->bound;
        out->oracle_gap += (s->bound - s->qoe) / r->n;
    }
    summarise_seen(out, startup);
    free(startup);
    out->mean_qoe = out->ci_lo = out->ci_hi = stats_mean(out->trace_qoe, r->n);
    if (!r->cfg->resamples) return 0;
    struct stats_interval ci =
        stats_bootstrap(out->trace_qoe, r->n, LEVEL, r->cfg->resamples, r->cfg->seed);
    out->ci_lo = ci.lo;
    out->ci_hi = ci.hi;
    return 0;
}

/* What both ways to play have in common. Takes what r holds. */
static int eval_all(struct eval_row *out, struct run *r, const char *policy,
                    const struct algo_ctx *ctx, struct err *e)
{
    int rc = make_workers(r, policy, ctx, e);
    if (!rc) rc = play_all(r, e);
    if (!rc) rc = summarise(out, r, e);
    eval_release(r);
    return rc;
}

int eval_run(struct eval_row *out, const char *policy, const struct algo_ctx *ctx,
             const char *profile, const struct qoe *qoe, const struct corpus *corpus,
             const struct video *video, const struct eval_cfg *cfg, struct err *e)
{
    *out = (struct eval_row){.qoe = *qoe, .policy = policy};
    snprintf(out->profile, sizeof out->profile, "%s", profile);
    struct run r = {.cfg = cfg, .oracle = strcmp(policy, "oracle") == 0};
    if (!cfg->count_first && video->chunks < 2)
        return err_field(
            e, ERR_RANGE, "video",
            "a video of one chunk: nothing is left when chunk 0 does not count");

    int rc = emu_check(&cfg->emu, video, e);
    if (!rc) rc = choose_traces(&r, qoe, corpus, video, e);
    if (!rc) return eval_all(out, &r, policy, ctx, e);
    eval_release(&r);
    return rc;
}

int eval_run_sessions(struct eval_row *out, const char *policy,
                      const struct algo_ctx *ctx, const char *profile,
                      const struct eval_session *sessions, int n,
                      const struct eval_cfg *cfg, struct err *e)
{
    assert(n > 0 && strcmp(policy, "oracle") != 0);
    struct eval_cfg first = *cfg;
    first.count_first = true;
    *out = (struct eval_row){.qoe = sessions[0].qoe, .policy = policy};
    snprintf(out->profile, sizeof out->profile, "%s", profile);
    struct run r = {
        .cfg = &first, .recorded = strcmp(policy, EVAL_RECORDED) == 0, .n = n};
    for (int i = 0; i < n; i++)
        if (sessions[i].video->chunks > r.chunks) r.chunks = sessions[i].video->chunks;
    int rc = make_scores(&r, n, e);
    if (rc) {
        eval_release(&r);
        return rc;
    }
    memcpy(r.sessions, sessions, (size_t)n * sizeof *sessions);
    return eval_all(out, &r, policy, ctx, e);
}

struct compare_session eval_values(const struct eval_row *row, int i)
{
    const struct eval_seen *s = &row->seen[i];
    return (struct compare_session){
        {[COMPARE_STARTUP] = s->startup_s,
         [COMPARE_STALL_RATIO] = stall_ratio(s->stall_s, s->media_s),
         [COMPARE_QUALITY] = s->quality,
         [COMPARE_SWITCHES] = s->switches_per_min,
         [COMPARE_QOE] = row->trace_qoe[i],
         [COMPARE_WATCHED] = s->media_s}};
}

void eval_row_free(struct eval_row *row)
{
    if (!row) return;
    free(row->trace_qoe);
    free(row->trace_stall);
    free(row->trace_bound);
    free(row->seen);
    row->seen = NULL;
    row->trace_qoe = row->trace_stall = row->trace_bound = NULL;
}

static void put_interval(double *mean, double *lo, double *hi, struct stats_interval ci)
{
    *mean = ci.mean;
    *lo = ci.lo;
    *hi = ci.hi;
}

static struct stats_interval paired(const double *a, const double *b, int n,
                                    uint64_t seed)
{
    struct stats_interval ci = {NAN, NAN, NAN};
    double *d = malloc((size_t)n * sizeof *d);
    if (d) {
        for (int i = 0; i < n; i++)
            d[i] = a[i] - b[i];
        ci = stats_bootstrap(d, n, LEVEL, RESAMPLES, seed);
    }
    free(d);
    return ci;
}

void eval_paired(double *mean, double *lo, double *hi, const struct eval_row *a,
                 const struct eval_row *b, uint64_t seed)
{
    assert(a->n == b->n);
    put_interval(mean, lo, hi, paired(a->trace_qoe, b->trace_qoe, a->n, seed));
}

void eval_paired_stall(double *mean, double *lo, double *hi, const struct eval_row *a,
                       const struct eval_row *b, uint64_t seed)
{
    assert(a->n == b->n);
    put_interval(mean, lo, hi, paired(a->trace_stall, b->trace_stall, a->n, seed));
}

void eval_share(double *share, double *lo, double *hi, const struct eval_row *a,
                const struct eval_row *oracle, uint64_t seed)
{
    assert(a->n == oracle->n);
    put_interval(share, lo, hi,
                 stats_bootstrap_ratio(a->trace_qoe, oracle->trace_qoe, a->n, LEVEL,
                                       RESAMPLES, seed));
}

void eval_gap_closed(double *share, double *lo, double *hi, const struct eval_row *a,
                     const struct eval_row *b, const struct eval_row *oracle,
                     uint64_t seed)
{
    assert(a->n == b->n && a->n == oracle->n);
    size_t n = (size_t)a->n;
    double *d = malloc(2 * n * sizeof *d);
    struct stats_interval ci = {NAN, NAN, NAN};
    for (size_t i = 0; i < n && d; i++) {
        d[i] = a->trace_qoe[i] - b->trace_qoe[i];
        d[n + i] = oracle->trace_qoe[i] - b->trace_qoe[i];
    }
    if (d) ci = stats_bootstrap_ratio(d, d + n, (int)n, LEVEL, RESAMPLES, seed);
    free(d);
    put_interval(share, lo, hi, ci);
}

int eval_above_bound(const struct eval_row *a, const struct eval_row *oracle)
{
    assert(a->n == oracle->n && oracle->trace_bound);
    int above = 0;
    for (int i = 0; i < a->n; i++) {
        double bound = oracle->trace_bound[i];
        above += a->trace_qoe[i] > bound + 1e-9 * fmax(1, fabs(bound));
    }
    return above;
}

void eval_gain_mean(double *gain, double *lo, double *hi, const struct eval_row *const *a,
                    const struct eval_row *const *b, int k, uint64_t seed)
{
    assert(k > 0);
    int n = a[0]->n;
    *gain = *lo = *hi = NAN;
    int *pick = malloc((size_t)n * sizeof *pick);
    double *gains = calloc(RESAMPLES + 1, sizeof *gains);
    if (!pick || !gains) goto out;

    struct rng rng;
    rng_init(&rng, seed, 0);
    for (int round = 0; round <= RESAMPLES; round++) {
        /* the last round is the sample itself */
        for (int i = 0; i < n; i++)
            pick[i] = round < RESAMPLES ? (int)rng_below(&rng, (uint32_t)n) : i;
        for (int j = 0; j < k; j++) {
            assert(a[j]->n == n && b[j]->n == n);
            double sum_a = 0, sum_b = 0;
            for (int i = 0; i < n; i++) {
                sum_a += a[j]->trace_qoe[pick[i]];
                sum_b += b[j]->trace_qoe[pick[i]];
            }
            gains[round] += (sum_a - sum_b) / fabs(sum_b) / k;
        }
    }
    *gain = gains[RESAMPLES];
    *lo = stats_percentile(gains, RESAMPLES, (1 - LEVEL) / 2);
    *hi = stats_percentile(gains, RESAMPLES, (1 + LEVEL) / 2);
out:
    free(gains);
    free(pick);
}

void eval_ratio(double *ratio, double *lo, double *hi, const struct eval_row *const *a,
                const struct eval_row *const *b, int k, uint64_t seed)
{
    assert(k > 0);
    size_t n = (size_t)a[0]->n;
    double *sum = calloc(2 * n, sizeof *sum);
    struct stats_interval ci = {NAN, NAN, NAN};
    for (int j = 0; j < k && sum; j++) {
        assert(a[j]->n == a[0]->n && b[j]->n == a[0]->n);
        for (size_t i = 0; i < n; i++) {
            sum[i] += a[j]->trace_qoe[i];
            sum[n + i] += b[j]->trace_qoe[i];
        }
    }
    if (sum) ci = stats_bootstrap_ratio(sum, sum + n, (int)n, LEVEL, RESAMPLES, seed);
    free(sum);
    put_interval(ratio, lo, hi, ci);
}

void eval_gain(double *gain, double *lo, double *hi, const struct eval_row *a,
               const struct eval_row *b, uint64_t seed)
{
    eval_gain_mean(gain, lo, hi, &a, &b, 1, seed);
}
