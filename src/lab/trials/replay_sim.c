#include "lab/trials/replay_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/player.h"
#include "abr/emulator/replay.h"
#include "abr/eval.h"
#include "abr/recorded/recorded.h"
#include "abr/traces/gen.h"
#include "base/rng.h"

enum { FIGURES = REPLAY_SIM_FIGURES, CHUNKS_MAX = 64 };
static const double LINK_S = 400;
static const double WATCH_LOG_MEAN = 4.4, WATCH_LOG_SIGMA = 1.1; /* as trial_sim.c */

/* ---- viewers ---- */

struct watched {
    struct recorded_chunk chunk[CHUNKS_MAX];
    int n;
};

static void watch(struct watched *out, struct algo *algo, const struct emu_world *world,
                  int chunks, double crowding, uint64_t key)
{
    struct player p;
    player_start(&p, world, 1, qoe_standard(), -1);
    algo->reset(algo->self, key);
    out->n = 0;
    while (out->n < chunks) {
        struct view v = p.view;
        int level = algo->decide(algo->self, &v, NULL);
        player_step(&p, level, 1 + crowding * level / (v.levels - 1));
        struct recorded_chunk *c = &out->chunk[out->n++];
        *c = (struct recorded_chunk){.chunk = v.chunk,
                                     .level = level,
                                     .bytes = (double)p.result.bytes,
                                     .download_s = p.result.delay_ms / 1000,
                                     .stall_s = p.last.stall_s,
                                     .buffer_s = v.buffer_s,
                                     .reward = p.last.reward,
                                     .reported = true};
        memcpy(c->next_bytes, v.next_bytes, sizeof c->next_bytes);
        memcpy(c->points, v.points, sizeof c->points);
    }
}

static void clip(double out[FIGURES], const struct compare_session *s)
{
    for (int f = 0; f < FIGURES; f++)
        out[f] = replay_bias_clip(s->value[f], (enum compare_figure)f);
}

static int replay_one(double out[FIGURES], const struct recorded *r, const char *algo,
                      uint64_t seed, struct err *e)
{
    struct algo_ctx ctx = {.seed = seed};
    struct eval_cfg cfg = eval_cfg_default();
    cfg.resamples = 0;
    const struct eval_session s = {.trace = r->link,
                                   .video = r->video,
                                   .emu = recorded_emu(r),
                                   .qoe = r->terms.qoe,
                                   .key = r->terms.key,
                                   .chunks = r->n,
                                   .sized = r->sized};
    struct eval_row row;
    int rc = eval_run_sessions(&row, algo, &ctx, "", &s, 1, &cfg, e);
    if (rc) return rc;
    struct compare_session seen = eval_values(&row, 0);
    clip(out, &seen);
    eval_row_free(&row);
    return 0;
}

struct pool_making {
    const char *const *algo;
    struct algo chooses[2];
    const struct video *video;
    double crowding;
    uint64_t seed;
};

static int viewer_make(struct replay_sim_viewer *out, struct pool_making *m, uint64_t i,
                       struct err *e)
{
    struct rng r;
    rng_init(&r, m->seed, i);
    int kinds = 0;
    while (gen_kinds[kinds])
        kinds++;
    const char *kind = gen_kinds[rng_below(&r, (uint32_t)kinds)];
    double leaves_s = exp(WATCH_LOG_MEAN + WATCH_LOG_SIGMA * rng_normal(&r));
    int chunks = (int)ceil(leaves_s / m->video->chunk_s);
    if (chunks < 1) chunks = 1;
    if (chunks > m->video->chunks) chunks = m->video->chunks;
    struct trace *link = gen_trace(kind, LINK_S, m->seed, i, e);
    if (!link) return e->code;
    const struct emu_world world = {m->video, link, emu_cfg_default()};
    struct recorded_terms t = {.name = "viewer",
                               .levels = m->video->levels,
                               .chunks = m->video->chunks,
                               .chunk_s = m->video->chunk_s,
                               .buffer_max_s = world.cfg.buffer_max_s,
                               .qoe = *qoe_standard(),
                               .rtt_s = world.cfg.rtt_s,
                               .key = i};
    memcpy(t.ladder_kbps, m->video->ladder_kbps, sizeof t.ladder_kbps);
    memcpy(t.points, m->video->level_points, sizeof t.points);
    int rc = 0;
    for (int a = 0; a < 2 && !rc; a++) {
        struct watched w;
        struct recorded rec = {.n = 0};
        watch(&w, &m->chooses[a], &world, chunks, m->crowding, i);
        rc = recorded_make(&rec, &t, w.chunk, w.n, e);
        if (rc > 0)
            rc = err_set(e, ERR_RANGE, "an emulated session: %s", recorded_whys[rc]);
        if (!rc) clip(out->y[a], &rec.seen);
        for (int b = 0; b < 2 && !rc; b++)
            rc = replay_one(out->p[a][b], &rec, m->algo[b], m->seed, e);
        recorded_free(&rec);
    }
    trace_free(link);
    return rc;
}

int replay_sim_pool(struct replay_sim_pool *out, const char *const algo[2], int n,
                    double crowding, uint64_t seed, struct err *e)
{
    struct algo_ctx ctx = {.seed = seed};
    struct video *video = video_default(e);
    struct pool_making m = {algo, {{0}}, video, crowding, seed};
    *out = (struct replay_sim_pool){n, calloc((size_t)n, sizeof *out->viewer)};
    int rc = video && out->viewer ? 0 : err_set(e, ERR_MEMORY, "no memory for viewers");
    for (int a = 0; a < 2 && !rc; a++)
        rc = algo_new(&m.chooses[a], algo[a], &ctx, e);
    for (int i = 0; i < n && !rc; i++)
        rc = viewer_make(&out->viewer[i], &m, (uint64_t)i, e);
    for (int a = 0; a < 2; a++)
        algo_free(&m.chooses[a]);
    video_free(video);
    if (rc) replay_sim_pool_free(out);
    return rc;
}

void replay_sim_pool_free(struct replay_sim_pool *p)
{
    free(p->viewer);
    *p = (struct replay_sim_pool){.n = 0};
}

/* ---- trials ---- */

void replay_sim_truth(double bias[FIGURES], double difference[FIGURES],
                      const struct replay_sim_cfg *c)
{
    const struct replay_sim_pool *p = c->pool;
    for (int f = 0; f < FIGURES; f++) {
        double predicted = 0, true_ = 0;
        for (int i = 0; i < p->n; i++) {
            const struct replay_sim_viewer *v = &p->viewer[i];
            double own = v->p[0][1][f] - v->y[0][f];
            double both =
                (v->p[0][1][f] - v->p[0][0][f] + v->p[1][1][f] - v->p[1][0][f]) / 2;
            predicted += (c->own ? own : both) / p->n;
            true_ += (v->y[1][f] - v->y[0][f]) / p->n;
        }
        bias[f] = predicted - true_;
        difference[f] = true_;
    }
}

int replay_sim_run(struct replay_bias out[FIGURES], const struct replay_sim_cfg *c,
                   uint64_t trial, struct err *e)
{
    size_t n = (size_t)c->sessions;
    int *arm = malloc(2 * n * sizeof *arm), *who = arm ? arm + n : NULL;
    double *y = malloc(3 * n * sizeof *y);
    int rc = arm && y ? 0 : err_set(e, ERR_MEMORY, "no memory for a trial");
    struct rng r;
    rng_init(&r, c->seed, trial);
    for (size_t i = 0; i < n && !rc; i++) {
        arm[i] = rng_uniform(&r) < .5;
        who[i] = (int)rng_below(&r, (uint32_t)c->pool->n);
    }
    for (int f = 0; f < FIGURES && !rc; f++) {
        double *p[2] = {y + n, y + 2 * n};
        for (size_t i = 0; i < n; i++) {
            const struct replay_sim_viewer *v = &c->pool->viewer[who[i]];
            y[i] = v->y[arm[i]][f];
            p[0][i] = v->p[arm[i]][0][f];
            p[1][i] = v->p[arm[i]][1][f];
        }
        const struct replay_bias_in in = {
            .n = c->sessions, .arm = arm, .y = y, .p = {c->own ? NULL : p[0], p[1]}};
        rc = replay_bias(&out[f], &in, 1, e);
    }
    free(y);
    free(arm);
    return rc;
}
