#include "serve/learner/forecaster.h"

#include "abr/deciders/hold.h"
#include "abr/deciders/simple.h"
#include "abr/emulator/player.h"
#include "abr/traces/gen.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN_LINKS = 48,
    CHUNK_LENGTHS = 4,
    LADDERS = 4,
    VIDEOS = LADDERS * CHUNK_LENGTHS,
    LEVELS = 6,
    KNOWN_MOST = 98304,
    NEWEST = FORECASTER_OWN / 2,
    KEPT_OF_LOG2 = 2, /* one session in four is kept back */
    KEPT_LEAST = 24
};
static const double LINK_S = 320, MEDIA_S = 240, ANCHOR = 1, RATE = .005;
static const double CHUNK_S[CHUNK_LENGTHS] = {1, 2, 4, 8};
static const double LADDER_KBPS[LADDERS][LEVELS] = {
    {300, 750, 1200, 1850, 2850, 4300},
    {1000, 2500, 5000, 8000, 16000, 40000},
    {150, 400, 1000, 2500, 4000, 6000},
    {230, 560, 1400, 2400, 4200, 9000},
};

struct entry {
    uint64_t source, client;
};

/* What a session that is kept back gains by a correction. */
struct gain {
    struct entry from;
    double sum, weight;
    int n; /* examples */
};

/* Examples of the viewers and where they are from. */
struct pool {
    struct forecast_example *example; /* (most) */
    struct entry *from;               /* (most) */
    int n, most;
    uint64_t met;
};

struct forecaster {
    struct forecaster_cfg cfg;
    float fitted[FORECAST_OWN];
    struct pool own;                /* the newest NEWEST first, in a ring */
    struct pool kept;               /* a ring */
    struct gain *gain;              /* (FORECASTER_KEPT), scratch */
    struct forecast_history *known; /* (known_n) */
    int known_n;
    uint64_t taught,
        taught_at_turn; /* examples of `own`, with those that were replaced */
    struct rng rng;
};

/* The histories of one session, by `rate` or by `hold`: the inputs are what is known. */
static void known_session(struct forecaster *f, const struct trace *t,
                          const struct video *video, bool holds)
{
    const struct plan_cfg plan = PLAN_DEFAULT;
    struct emu_world world = {video, t, emu_cfg_default()};
    struct player p;
    player_start(&p, &world, 1, qoe_standard(), -1);
    for (bool end = false; !end && f->known_n < KNOWN_MOST;) {
        struct forecast_example x;
        if (forecast_example_of(&x, &p.view).mean_kbps > 0)
            f->known[f->known_n++] = x.history;
        int level = holds ? hold_level(&plan, &p.view) : simple_rate_level(&p.view);
        end = player_step(&p, level, 1);
    }
}

static int known_kind(struct forecaster *f, const char *kind,
                      struct video *const video[VIDEOS])
{
    uint64_t seed = f->cfg.seed * 7919 + 21;
    for (uint64_t i = 0; i < KNOWN_LINKS; i++) {
        struct trace *t = kind ? gen_trace(kind, LINK_S, seed, i, NULL)
                               : gen_random_link(LINK_S, seed, i, NULL);
        if (!t) return ERR_MEMORY;
        known_session(f, t, video[i % CHUNK_LENGTHS], false);
        known_session(f, t, video[i % VIDEOS], true);
        trace_free(t);
    }
    return 0;
}

static int known_ground(struct forecaster *f)
{
    struct video *video[VIDEOS] = {0};
    f->known = malloc(KNOWN_MOST * sizeof *f->known);
    f->known_n = 0;
    int rc = f->known ? 0 : ERR_MEMORY;
    for (int i = 0; i < VIDEOS && !rc; i++) {
        double chunk_s = CHUNK_S[i % CHUNK_LENGTHS];
        video[i] = video_generate(LEVELS, (int)(MEDIA_S / chunk_s), chunk_s,
                                  LADDER_KBPS[i / CHUNK_LENGTHS], .2,
                                  f->cfg.seed + (uint64_t)i, NULL);
        if (!video[i]) rc = ERR_MEMORY;
    }
    for (int k = 0; gen_kinds[k] && !rc; k++)
        rc = known_kind(f, gen_kinds[k], video);
    if (!rc) rc = known_kind(f, NULL, video);
    for (int i = 0; i < VIDEOS; i++)
        video_free(video[i]);
    if (rc) {
        free(f->known);
        f->known = NULL;
    }
    return rc;
}

static bool pool_new(struct pool *p, int most)
{
    p->most = most;
    p->example = malloc(sizeof *p->example * (size_t)most);
    p->from = malloc(sizeof *p->from * (size_t)most);
    return p->example && p->from;
}

static void pool_free(struct pool *p)
{
    free(p->example);
    free(p->from);
}

struct forecaster *forecaster_new(const struct forecaster_cfg *cfg, struct err *e)
{
    struct forecaster *f = calloc(1, sizeof *f);
    if (!f) goto fail;
    f->cfg = *cfg;
    rng_init(&f->rng, cfg->seed, 0x6f6c64);
    f->gain = malloc(sizeof *f->gain * FORECASTER_KEPT);
    if (!f->gain || !pool_new(&f->own, FORECASTER_OWN) ||
        !pool_new(&f->kept, FORECASTER_KEPT))
        goto fail;
    return f;

fail:
    err_set(e, ERR_MEMORY, "no memory for the learner of the forecast");
    forecaster_free(f);
    return NULL;
}

void forecaster_free(struct forecaster *f)
{
    if (!f) return;
    pool_free(&f->own);
    pool_free(&f->kept);
    free(f->gain);
    free(f->known);
    free(f);
}

int forecaster_examples(const struct forecaster *f)
{
    return f->own.n;
}

/* Has this source its share of the examples? */
static bool pool_full(const struct pool *p, uint64_t source, double share, int least)
{
    if (!source) return false;
    int n = 0;
    for (int i = 0; i < p->n; i++)
        n += p->from[i].source == source;
    return n >= share * fmax(p->n, least);
}

static void pool_set(struct pool *p, int at, const struct forecast_example *x,
                     struct entry from)
{
    p->example[at] = *x;
    p->from[at] = from;
}

static void pool_put(struct pool *p, int at, const struct forecast_example *x,
                     struct entry from)
{
    pool_set(p, at, x, from);
    p->met++;
    if (p->n < p->most) p->n++;
}

/* An example that leaves the ring of the newest may enter the sample of older ones, behind the ring. */
static void own_put(struct forecaster *f, const struct forecast_example *x,
                    struct entry from)
{
    struct pool *p = &f->own;
    int at = (int)(p->met % NEWEST);
    if (p->met >= NEWEST) {
        uint64_t left = p->met - NEWEST; /* before this one */
        uint64_t to = left < NEWEST ? left : rng_u64(&f->rng) % (left + 1);
        if (to < NEWEST) pool_set(p, NEWEST + (int)to, &p->example[at], p->from[at]);
    }
    pool_put(p, at, x, from);
}

/* Where the examples of one trajectory go. */
struct intake {
    struct pool *pool;
    struct entry from;
    bool full;    /* the source has its share: its examples replace others of its own */
    int at, left; /* place that is looked at next; places that were not */
};

static struct intake intake_of(struct forecaster *f, const struct traj *t)
{
    /* by session, as trajectories of one session are of one link */
    bool keeps = !(t->client * 0x9e3779b97f4a7c15u >> (64 - KEPT_OF_LOG2));
    struct intake in = {keeps ? &f->kept : &f->own, {t->source, t->client}, false, 0, 0};
    int least = keeps ? FORECASTER_KEPT : FORECASTER_LEAST;
    in.full = pool_full(in.pool, t->source, f->cfg.source_share, least);
    if (!in.full) return in;
    in.at = (int)rng_below(&f->rng, (uint32_t)in.pool->n);
    in.left = in.pool->n;
    return in;
}

static void intake_next(struct intake *in)
{
    in->at = (in->at + 1) % in->pool->n;
    in->left--;
}

static void intake_add(struct forecaster *f, struct intake *in,
                       const struct forecast_example *x)
{
    struct pool *p = in->pool;
    f->taught += p == &f->own;
    if (!in->full && p == &f->own) own_put(f, x, in->from);
    if (!in->full && p == &f->kept)
        pool_put(p, (int)(p->met % FORECASTER_KEPT), x, in->from);
    if (!in->full) return;
    while (in->left && p->from[in->at].source != in->from.source)
        intake_next(in);
    if (!in->left) return;
    pool_set(p, in->at, x, in->from);
    intake_next(in);
}

/* The throughput of so many steps together. */
static double together_kbps(const struct traj_step *const *step, int n)
{
    double bytes = 0, seconds = 0;
    for (int i = 0; i < n; i++) {
        bytes += step[i]->bytes;
        seconds += step[i]->download_s;
    }
    return bytes * 8e-3 / seconds;
}

void forecaster_add(struct forecaster *f, const struct traj *t)
{
    const struct traj_step *step[TRAJ_STEPS];
    int n = 0; /* without empty chunks, which say nothing of the link */
    for (int i = 0; i < t->n; i++)
        if (t->step[i].bytes > 0 && t->step[i].download_s > 0) step[n++] = &t->step[i];
    struct intake in = intake_of(f, t);
    struct view v = view_default();
    v.chunk_s = t->view.chunk_s;
    traj_measured_view(&v, &t->before);
    for (int i = 0; i + FORECAST_LATER <= n; i++) {
        struct forecast_example x;
        struct forecast shipped = forecast_example_of(&x, &v);
        if (shipped.mean_kbps > 0) {
            forecast_example_came(&x, &shipped, together_kbps(step + i, 1),
                                  step[i]->bytes,
                                  together_kbps(step + i, FORECAST_LATER));
            intake_add(f, &in, &x);
        }
        view_push(&v, step[i]->bytes, step[i]->download_s);
    }
}

bool forecaster_turn(struct forecaster *f)
{
    const struct pool *own = &f->own;
    if (f->taught < FORECASTER_LEAST || f->taught - f->taught_at_turn < FORECASTER_NEW)
        return false;
    if (!f->known && known_ground(f)) return false;
    const struct forecast_fit_cfg cfg = {f->cfg.steps, RATE, ANCHOR, f->cfg.seed};
    const struct forecast_lesson lesson = {own->example, f->known, own->n, f->known_n};
    forecast_fit(f->fitted, &cfg, &lesson);
    f->taught_at_turn = f->taught;
    return true;
}

static int by_source(const void *a, const void *b)
{
    const struct entry *x = &((const struct gain *)a)->from,
                       *y = &((const struct gain *)b)->from;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return x->client < y->client ? -1 : x->client > y->client;
}

/* The sessions among n examples that are sorted by_source; returns their number. */
static int gains_of_sessions(struct gain *g, int n)
{
    int sessions = 0;
    for (int i = 0; i < n; i++) {
        struct gain *last = sessions ? &g[sessions - 1] : NULL;
        if (last && !by_source(last, &g[i])) {
            last->sum += g[i].sum;
            last->n++;
        } else {
            g[sessions++] = g[i];
        }
    }
    return sessions;
}

/* Weights of n sessions: 1, and less where a source has more than its share of all weight. */
static void gains_weigh(struct gain *g, int n, double share)
{
    enum { ROUNDS = 16 }; /* until the bound follows the weights that it leaves */
    double all = n;
    for (int round = 0; round < ROUNDS; round++) {
        double left = 0;
        for (int i = 0, run; i < n; i += run) {
            for (run = 1; i + run < n && g[i + run].from.source == g[i].from.source;)
                run++;
            double most = g[i].from.source ? fmin(share * all, run) : run;
            for (int k = i; k < i + run; k++)
                g[k].weight = most / run;
            left += most;
        }
        all = left;
    }
}

/* Is the loss of what was kept back significantly smaller than with `served`? A session is a sample. */
static bool forecasts_better(const struct forecaster *f, const float *weights,
                             const float *served)
{
    static const float nothing[FORECAST_OWN];
    const struct pool *kept = &f->kept;
    struct gain *g = f->gain;
    double shipped = 0;
    for (int i = 0; i < kept->n; i++) {
        const struct forecast_example *x = &kept->example[i];
        double without = forecast_fit_loss(nothing, &x->history, x->off, 0);
        double was = served ? forecast_fit_loss(served, &x->history, x->off, 0) : without;
        shipped += without / kept->n;
        double is = forecast_fit_loss(weights, &x->history, x->off, 0);
        g[i] = (struct gain){kept->from[i], was - is, 1, 1};
    }
    qsort(g, (size_t)kept->n, sizeof *g, by_source);
    int n = gains_of_sessions(g, kept->n);
    gains_weigh(g, n, f->cfg.source_share);
    double weight = 0, sum = 0, squares = 0, weights_squared = 0;
    for (int i = 0; i < n; i++) {
        weight += g[i].weight;
        weights_squared += g[i].weight * g[i].weight;
        sum += g[i].weight * g[i].sum / g[i].n;
    }
    /* so many sessions of equal weight have the same standard error */
    double samples = n ? weight * weight / weights_squared : 0, mean = sum / weight;
    if (samples < KEPT_LEAST) return false;
    for (int i = 0; i < n; i++) {
        double off = g[i].weight * (g[i].sum / g[i].n - mean);
        squares += off * off;
    }
    double error = sqrt(squares / (weight * weight) * samples / (samples - 1));
    return mean - FORECASTER_Z * error > 0 && mean >= FORECASTER_GAIN * shipped;
}

bool forecaster_offer(float *weights, const struct forecaster *f, int half,
                      const float *served)
{
    memcpy(weights, f->fitted, sizeof f->fitted);
    for (int i = FORECAST_OWN_W3; i < FORECAST_OWN; i++)
        weights[i] = ldexpf(weights[i], -half);
    return forecasts_better(f, weights, served);
}
