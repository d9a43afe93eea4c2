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
    KEPT_OF = 4, /* one trajectory of so many is kept back */
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
    uint64_t source, trajectory;
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
    struct forecast_history *known; /* (known_n) */
    int known_n;
    uint64_t trajectories, met_at_turn;
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
        if (forecast_example_of(&x, &p.view) > 0) f->known[f->known_n++] = x.history;
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
    if (!pool_new(&f->own, FORECASTER_OWN) || !pool_new(&f->kept, FORECASTER_KEPT))
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

static void pool_put(struct pool *p, int at, const struct forecast_example *x,
                     struct entry from)
{
    p->example[at] = *x;
    p->from[at] = from;
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
        if (to < NEWEST) {
            p->example[NEWEST + to] = p->example[at];
            p->from[NEWEST + to] = p->from[at];
        }
    }
    pool_put(p, at, x, from);
}

void forecaster_add(struct forecaster *f, const struct traj *t)
{
    struct entry from = {t->source, f->trajectories++};
    bool keeps = from.trajectory % KEPT_OF == KEPT_OF - 1;
    if (pool_full(keeps ? &f->kept : &f->own, t->source, f->cfg.source_share,
                  keeps ? FORECASTER_LEAST / KEPT_OF : FORECASTER_LEAST))
        return;
    struct view v = view_default();
    v.chunk_s = t->view.chunk_s;
    for (int i = 0; i < t->before.n; i++)
        view_push(&v, t->before.bytes[i], t->before.download_s[i]);
    for (int i = 0; i + FORECAST_FIT_LATER <= t->n; i++) {
        const struct traj_step *s = &t->step[i];
        double bytes = 0, seconds = 0;
        for (int k = 0; k < FORECAST_FIT_LATER; k++) {
            if (!(s[k].bytes > 0 && s[k].download_s > 0)) return;
            bytes += s[k].bytes;
            seconds += s[k].download_s;
        }
        struct forecast_example x;
        double mean_kbps = forecast_example_of(&x, &v);
        if (mean_kbps > 0) {
            forecast_example_came(&x, s->bytes * 8e-3 / s->download_s,
                                  bytes * 8e-3 / seconds, mean_kbps);
            if (keeps)
                pool_put(&f->kept, (int)(f->kept.met % FORECASTER_KEPT), &x, from);
            else
                own_put(f, &x, from);
        }
        view_push(&v, s->bytes, s->download_s);
    }
}

bool forecaster_turn(struct forecaster *f)
{
    const struct pool *own = &f->own;
    if (own->n < FORECASTER_LEAST || own->met - f->met_at_turn < FORECASTER_NEW)
        return false;
    if (!f->known && known_ground(f)) return false;
    const struct forecast_fit_cfg cfg = {f->cfg.steps, RATE, ANCHOR, f->cfg.seed};
    const struct forecast_lesson lesson = {own->example, f->known, own->n, f->known_n};
    forecast_fit(f->fitted, &cfg, &lesson);
    f->met_at_turn = own->met;
    return true;
}

/* Is the loss of what was kept back significantly smaller than with `served`? A trajectory is a sample. */
static bool forecasts_better(const struct pool *kept, const float *weights,
                             const float *served)
{
    static const float nothing[FORECAST_OWN];
    double sum = 0, squares = 0;
    int n = 0;
    for (int i = 0, count; i < kept->n; i += count) {
        double gain = 0;
        for (count = 0; i + count < kept->n &&
                        kept->from[i + count].trajectory == kept->from[i].trajectory;
             count++) {
            const struct forecast_example *x = &kept->example[i + count];
            gain += forecast_fit_loss(served ? served : nothing, &x->history, x->off, 0) -
                    forecast_fit_loss(weights, &x->history, x->off, 0);
        }
        gain /= count;
        sum += gain;
        squares += gain * gain;
        n++;
    }
    if (n < KEPT_LEAST) return false;
    double mean = sum / n, variance = (squares / n - mean * mean) * n / (n - 1);
    return mean - FORECASTER_Z * sqrt(fmax(variance, 0) / n) > 0;
}

bool forecaster_offer(float *weights, const struct forecaster *f, int half,
                      const float *served)
{
    memcpy(weights, f->fitted, sizeof f->fitted);
    for (int i = FORECAST_OWN_W3; i < FORECAST_OWN; i++)
        weights[i] = ldexpf(weights[i], -half);
    return forecasts_better(&f->kept, weights, served);
}
