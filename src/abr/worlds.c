#include "abr/worlds.h"

#include "abr/gen.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

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

/* Levels spread evenly on a log scale, each moved by up to a quarter of a step. */
static struct video *draw_video(struct rng *r, uint64_t seed, struct err *e)
{
    static const double chunk_s[] = {1, 2, 2, 3, 4, 4, 5, 6, 8, 10};
    double ladder[VIEW_LEVELS], seconds = chunk_s[rng_below(r, 10)];
    int levels = 2 + (int)rng_below(r, VIEW_LEVELS - 1);
    int chunks = (int)(rng_range(r, 100.0, 240.0) / seconds);
    double top = 700.0 * exp(rng_uniform(r) * log(25000.0 / 700.0));
    double ratio = levels < 4 ? rng_range(r, 1.5, 6.0) : rng_range(r, 5.0, 30.0);
    for (int k = 0; k < levels; k++) {
        bool end = k == 0 || k == levels - 1;
        double at = (double)k / (levels - 1);
        double jitter = end ? 0.0 : rng_range(r, -0.25, 0.25) / (levels - 1);
        ladder[k] = round(top * pow(ratio, at + jitter - 1.0));
    }
    return video_generate(levels, chunks, seconds, ladder, rng_range(r, 0.0, 0.35), seed,
                          e);
}

static int generate_videos(struct worlds *w, const struct worlds_cfg *cfg, struct err *e)
{
    struct rng r;
    rng_init(&r, cfg->seed, 0x76696465); /* apart from the links' streams */
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
    size_t traces = (size_t)cfg->links + 1, videos = (size_t)cfg->ladders + 1;
    assert(cfg->n_corpora <= WORLDS_CORPORA);
    for (int c = 0; c < cfg->n_corpora; c++)
        traces += (size_t)cfg->corpora[c]->n;

    struct worlds *w = calloc(1, sizeof *w);
    if (!w) goto memory;
    w->traces = calloc(traces, sizeof(*w->traces));
    w->megabits = calloc(traces, sizeof *w->megabits);
    w->own_traces = calloc((size_t)cfg->links + 1, sizeof(*w->own_traces));
    w->videos = calloc(videos, sizeof(*w->videos));
    w->own_videos = calloc(videos, sizeof(*w->own_videos));
    if (!w->traces || !w->megabits || !w->own_traces || !w->videos || !w->own_videos)
        goto memory;

    take_corpora(w, cfg);
    if (generate_links(w, cfg, e) || generate_videos(w, cfg, e)) goto failed;
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

/* Megabits from the first row to `t` seconds behind it, t within one round. */
static double amount(const struct trace *tr, const double *sum, double t)
{
    double at = tr->time_s[0] + t;
    int low = 0, high = tr->n - 1; /* time_s[low] <= at <= time_s[high] */
    while (high - low > 1) {
        int mid = (low + high) / 2;
        if (tr->time_s[mid] <= at) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return sum[low] + tr->mbps[high] * (at - tr->time_s[low]);
}

double worlds_ahead(const struct worlds *w, int i, int row, double clock_s,
                    double seconds)
{
    const struct trace *t = w->traces[i];
    const double *sum = w->megabits[i];
    double round_s = t->time_s[t->n - 1] - t->time_s[0], whole = sum[t->n - 1];
    double from = row < t->n ? fmax(clock_s - t->time_s[0], 0.0) : 0.0;
    double to = from + seconds, rounds = floor(to / round_s);
    double end = fmin(to - rounds * round_s, round_s);
    double got =
        rounds * whole + amount(t, sum, end) - amount(t, sum, fmin(from, round_s));
    return fmax(got, 0.0) / seconds;
}
