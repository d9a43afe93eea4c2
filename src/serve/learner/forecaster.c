#include "serve/learner/forecaster.h"

#include "abr/deciders/simple.h"
#include "abr/emulator/player.h"
#include "abr/traces/gen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_LINKS = 48, CHUNK_LENGTHS = 4, LEVELS = 6, KNOWN_MOST = 65536 };
static const double LINK_S = 320, MEDIA_S = 240, ANCHOR = 10, RATE = .002;
static const double CHUNK_S[CHUNK_LENGTHS] = {1, 2, 4, 8};
static const double LADDER_KBPS[LEVELS] = {300, 750, 1200, 1850, 2850, 4300};

struct forecaster {
    struct forecaster_cfg cfg;
    struct forecast_fit *fit;
    struct forecast_example *own, *known; /* (FORECASTER_OWN), (known_n) */
    uint64_t *source;                     /* (FORECASTER_OWN) of the own ones */
    int own_n, known_n;
    uint64_t met;
};

/* The history of one session of the default ladder, by `rate`: its inputs are what is known. */
static void known_session(struct forecaster *f, const struct trace *t,
                          const struct video *video)
{
    struct emu_world world = {video, t, emu_cfg_default()};
    struct player p;
    player_start(&p, &world, 1, qoe_standard(), -1);
    for (bool end = false; !end && f->known_n < KNOWN_MOST;) {
        f->known_n += forecast_example_of(&f->known[f->known_n], &p.view) > 0;
        end = player_step(&p, simple_rate_level(&p.view), 1);
    }
}

static int known_kind(struct forecaster *f, const char *kind,
                      struct video *const video[CHUNK_LENGTHS], struct err *e)
{
    uint64_t seed = f->cfg.seed * 7919 + 21;
    for (uint64_t i = 0; i < KNOWN_LINKS; i++) {
        struct trace *t = kind ? gen_trace(kind, LINK_S, seed, i, e)
                               : gen_random_link(LINK_S, seed, i, e);
        if (!t) return ERR_MEMORY;
        known_session(f, t, video[i % CHUNK_LENGTHS]);
        trace_free(t);
    }
    return 0;
}

static int known_ground(struct forecaster *f, struct err *e)
{
    struct video *video[CHUNK_LENGTHS] = {0};
    int rc = 0;
    for (int i = 0; i < CHUNK_LENGTHS && !rc; i++) {
        int chunks = (int)(MEDIA_S / CHUNK_S[i]);
        video[i] = video_generate(LEVELS, chunks, CHUNK_S[i], LADDER_KBPS, .2,
                                  f->cfg.seed + (uint64_t)i, e);
        if (!video[i]) rc = ERR_MEMORY;
    }
    for (int k = 0; gen_kinds[k] && !rc; k++)
        rc = known_kind(f, gen_kinds[k], video, e);
    if (!rc) rc = known_kind(f, NULL, video, e);
    for (int i = 0; i < CHUNK_LENGTHS; i++)
        video_free(video[i]);
    return rc;
}

struct forecaster *forecaster_new(const struct forecaster_cfg *cfg, struct err *e)
{
    struct forecaster *f = calloc(1, sizeof *f);
    if (!f) goto fail;
    f->cfg = *cfg;
    f->fit = forecast_fit_new(cfg->seed, e);
    f->own = calloc(FORECASTER_OWN, sizeof *f->own);
    f->source = calloc(FORECASTER_OWN, sizeof *f->source);
    f->known = malloc(KNOWN_MOST * sizeof *f->known);
    if (!f->fit || !f->own || !f->source || !f->known || known_ground(f, e)) goto fail;
    return f;

fail:
    err_set(e, ERR_MEMORY, "no memory for the learner of the forecast");
    forecaster_free(f);
    return NULL;
}

void forecaster_free(struct forecaster *f)
{
    if (!f) return;
    forecast_fit_free(f->fit);
    free(f->known);
    free(f->source);
    free(f->own);
    free(f);
}

void forecaster_put(struct forecaster *f, const struct policy *p)
{
    forecast_fit_put(f->fit, p->input_n == FORECAST_OWN ? p->input : NULL);
}

int forecaster_examples(const struct forecaster *f)
{
    return f->own_n;
}

/* Has this source its share of the examples? */
static bool source_full(const struct forecaster *f, uint64_t source)
{
    if (!source) return false;
    int n = 0;
    for (int i = 0; i < f->own_n; i++)
        n += f->source[i] == source;
    return n >= f->cfg.source_share * fmax(f->own_n, FORECASTER_LEAST);
}

static void example_keep(struct forecaster *f, const struct forecast_example *x,
                         uint64_t source)
{
    uint64_t at = f->met++ % FORECASTER_OWN;
    f->own[at] = *x;
    f->source[at] = source;
    if (f->own_n < FORECASTER_OWN) f->own_n++;
}

void forecaster_add(struct forecaster *f, const struct traj *t)
{
    if (source_full(f, t->source)) return;
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
            example_keep(f, &x, t->source);
        }
        view_push(&v, s->bytes, s->download_s);
    }
}

bool forecaster_turn(struct forecaster *f)
{
    if (f->own_n < FORECASTER_LEAST) return false;
    forecast_fit_steps(f->fit, f->own, f->own_n, f->known, f->known_n, ANCHOR, RATE,
                       f->cfg.steps);
    return true;
}

void forecaster_offer(float *weights, const struct forecaster *f, int half)
{
    memcpy(weights, forecast_fit_weights(f->fit), sizeof *weights * FORECAST_OWN);
    for (int i = FORECAST_OWN_W3; i < FORECAST_OWN; i++)
        weights[i] = ldexpf(weights[i], -half);
}
