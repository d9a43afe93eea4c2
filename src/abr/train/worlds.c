#include "abr/train/worlds.h"

#include "abr/emulator/feat.h"

#include "abr/traces/gen.h"
#include "abr/traces/splice.h"
#include "base/bytes.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    SPLICES = 0x73706c
}; /* their random streams, different from those of generated links */

static double *running_sum(const struct trace *t)
{
    double *sum = malloc((size_t)t->n * sizeof *sum);
    if (!sum) return NULL;
    sum[0] = 0.0;
    for (int i = 1; i < t->n; i++)
        sum[i] = sum[i - 1] + t->mbps[i] * (t->time_s[i] - t->time_s[i - 1]);
    return sum;
}

static void take_corpora(struct worlds *w, const struct worlds_cfg *cfg)
{
    for (int c = 0; c < cfg->n_corpora; c++)
        for (int i = 0; i < cfg->corpora[c]->n; i++) {
            const struct trace *t = cfg->corpora[c]->traces[i];
            if (trace_mean_mbps(t) > cfg->min_mbps) w->traces[w->n_real++] = t;
        }
    w->n_traces = w->n_real;
}

static int splice_recordings(struct worlds *w, const struct worlds_cfg *cfg,
                             struct err *e)
{
    int recordings = w->n_real;
    for (int i = 0; i < cfg->splices && recordings; i++) {
        struct trace *t = splice_link(w->traces, recordings, cfg->link_s,
                                      cfg->seed ^ SPLICES, (uint64_t)i, e);
        if (!t) return e ? e->code : ERR_MEMORY;
        w->own_traces[w->n_own_traces++] = t;
        w->traces[w->n_real++] = t;
    }
    w->n_traces = w->n_real;
    return 0;
}

static int generate_links(struct worlds *w, const struct worlds_cfg *cfg, struct err *e)
{
    for (int i = 0; i < cfg->links; i++) {
        struct trace *t = gen_random_link(cfg->link_s, cfg->seed, (uint64_t)i, e);
        if (!t) return e ? e->code : ERR_MEMORY;
        w->own_traces[w->n_own_traces++] = t;
        if (trace_mean_mbps(t) > cfg->min_mbps) w->traces[w->n_traces++] = t;
    }
    return 0;
}

/* Points of the levels: the curve bent by a power, up to a top of 70 to 100. */
static void draw_quality(struct video *v, struct rng *r)
{
    double power = exp(rng_range(r, -0.7, 0.7)), top = rng_range(r, 70.0, 100.0);
    for (int k = 0; k < v->levels; k++)
        v->level_points[k] = top * pow(v->level_points[k] * 0.01, power);
    v->quality = QUALITY_LEVEL;
}

/* Levels spread evenly on a log scale, each moved by up to a quarter of a step. */
static struct video *draw_video(struct rng *r, uint64_t seed, struct err *e)
{
    static const double chunk_s[] = {1, 2, 2, 3, 4, 4, 5, 6, 8, 10};
    double ladder[VIEW_LEVELS], seconds = chunk_s[rng_below(r, 10)];
    int levels = 2 + (int)rng_below(r, FEAT_LEVELS - 1);
    int chunks =
        (int)(40.0 * exp(rng_uniform(r) * log(20.0)) / seconds); /* 40 .. 800 s */
    chunks = chunks < WORLDS_LEAST_CHUNKS ? WORLDS_LEAST_CHUNKS : chunks;
    double top = 700.0 * exp(rng_uniform(r) * log(45000.0 / 700.0));
    double most = levels < 4 ? 8.0 : 100.0, least = levels < 4 ? 1.5 : 4.0;
    double ratio = least * exp(rng_uniform(r) * log(most / least));
    for (int k = 0; k < levels; k++) {
        bool end = k == 0 || k == levels - 1;
        double at = (double)k / (levels - 1);
        double jitter = end ? 0.0 : rng_range(r, -0.25, 0.25) / (levels - 1);
        ladder[k] = round(top * pow(ratio, at + jitter - 1.0));
    }
    double sigma = rng_range(r, 0.0, 0.35);
    struct video *v = video_generate(levels, chunks, seconds, ladder, sigma, seed, e);
    if (v) draw_quality(v, r);
    return v;
}

static int generate_videos(struct worlds *w, const struct worlds_cfg *cfg, struct err *e)
{
    struct rng r;
    rng_init(&r, cfg->seed, 0x76696465); /* different from the streams of the links */
    w->videos[w->n_videos++] = cfg->video;
    for (int i = 0; i < cfg->ladders; i++) {
        struct video *v = draw_video(&r, rng_u64(&r), e);
        if (!v) return e ? e->code : ERR_MEMORY;
        w->own_videos[w->n_own_videos++] = v;
        w->videos[w->n_videos++] = v;
    }
    return 0;
}

struct worlds *worlds_new(const struct worlds_cfg *cfg, struct err *e)
{
    size_t own = (size_t)cfg->links + (size_t)cfg->splices + 1, traces = own,
           videos = (size_t)cfg->ladders + 1;
    assert(cfg->n_corpora <= WORLDS_CORPORA);
    for (int c = 0; c < cfg->n_corpora; c++)
        traces += (size_t)cfg->corpora[c]->n;

    struct worlds *w = calloc(1, sizeof *w);
    if (!w) goto memory;
    w->traces = calloc(traces, sizeof(*w->traces));
    w->megabits = calloc(traces, sizeof *w->megabits);
    w->own_traces = calloc(own, sizeof(*w->own_traces));
    w->videos = calloc(videos, sizeof(*w->videos));
    w->own_videos = calloc(videos, sizeof(*w->own_videos));
    if (!w->traces || !w->megabits || !w->own_traces || !w->videos || !w->own_videos)
        goto memory;

    take_corpora(w, cfg);
    if (splice_recordings(w, cfg, e) || generate_links(w, cfg, e) ||
        generate_videos(w, cfg, e))
        goto failed;
    if (!w->n_traces) {
        err_set(e, ERR_ABSENT, "no trace has a mean above %g Mbit/s", cfg->min_mbps);
        goto failed;
    }
    for (int i = 0; i < w->n_traces; i++) {
        w->megabits[i] = running_sum(w->traces[i]);
        if (!w->megabits[i]) goto memory;
    }
    return w;

memory:
    err_set(e, ERR_MEMORY, "no memory for %zu traces", traces);
failed:
    worlds_free(w);
    return NULL;
}

void worlds_free(struct worlds *w)
{
    if (!w) return;
    for (int i = 0; w->megabits && i < w->n_traces; i++)
        free(w->megabits[i]);
    for (int i = 0; i < w->n_own_videos; i++)
        video_free(w->own_videos[i]);
    for (int i = 0; i < w->n_own_traces; i++)
        trace_free(w->own_traces[i]);
    free(w->own_videos);
    free(w->videos);
    free(w->own_traces);
    free(w->megabits);
    free(w->traces);
    free(w);
}

/* The times of a trace's rows, and their mean distance. */
struct rows {
    const struct trace *trace;
    const double *sum;
    double per_s;
};

/* Megabits from the first row to `t` seconds after it, t within one round. The rows of most traces are
 * evenly spaced, so the place is guessed and then corrected. */
static double amount(const struct rows *r, double t)
{
    const double *time_s = r->trace->time_s;
    double at = time_s[0] + t;
    int last = r->trace->n - 2, low = (int)(t * r->per_s);
    low = low < 0 ? 0 : low > last ? last : low;
    while (low > 0 && time_s[low] > at)
        low--;
    while (low < last && time_s[low + 1] <= at)
        low++;
    return r->sum[low] + r->trace->mbps[low + 1] * (at - time_s[low]);
}

static double worlds_larger(double a, double b)
{
    return a > b ? a : b;
}

static double worlds_smaller(double a, double b)
{
    return a < b ? a : b;
}

void worlds_ahead(double *mbps, const struct worlds *w, int i, int row, double clock_s,
                  const double *seconds, int n)
{
    const struct trace *t = w->traces[i];
    double round_s = t->time_s[t->n - 1] - t->time_s[0];
    struct rows r = {t, w->megabits[i], (t->n - 1) / round_s};
    double whole = r.sum[t->n - 1];
    double from = row < t->n ? worlds_larger(clock_s - t->time_s[0], 0.0) : 0.0;
    double before = amount(&r, worlds_smaller(from, round_s));
    for (int k = 0; k < n; k++) {
        double to = from + seconds[k], rounds = to < round_s ? 0.0 : floor(to / round_s);
        double end = worlds_smaller(to - rounds * round_s, round_s);
        double got = rounds * whole + amount(&r, end) - before;
        mbps[k] = worlds_larger(got, 0.0) / seconds[k];
    }
}

uint32_t worlds_crc(const struct worlds *w)
{
    uint32_t crc = 0;
    for (int i = 0; i < w->n_traces; i++)
        crc = trace_crc(crc, w->traces[i]);
    for (int i = 0; i < w->n_videos; i++) {
        const struct video *v = w->videos[i];
        size_t row = (size_t)v->levels * sizeof *video_chunk(v, 0);
        uint32_t ladder = video_ladder_crc(v);
        crc = bytes_crc32(crc, &ladder, sizeof ladder);
        crc = bytes_crc32(crc, &v->chunk_s, sizeof v->chunk_s);
        for (int k = 0; k < v->chunks; k++)
            crc = bytes_crc32(crc, video_chunk(v, k), row);
    }
    return crc;
}
