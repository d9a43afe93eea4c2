#include "support/stored.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/algo.h"
#include "abr/emulator/player.h"
#include "abr/traces/gen.h"
#include "base/rng.h"
#include "support/tmpdir.h"

static struct store_rec row_of(const struct stored_cfg *c, int i, int arm,
                               const struct video *v, const struct qoe_profile *profile)
{
    struct store_rec r = {.kind = STORE_SESSION};
    struct track_row *row = &r.row;
    *row = (struct track_row){.id = {(uint8_t)i, (uint8_t)(i >> 8), 1},
                              .key = (uint64_t)i,
                              .levels = v->levels,
                              .chunks = v->chunks,
                              .chunk_s = v->chunk_s,
                              .buffer_max_s = 30,
                              .opened_at = 1.7e9 + 60 * i,
                              .closed_at = 1.7e9 + 60 * i + 300,
                              .closed = true,
                              .explores = c->drawn > 0,
                              .qoe = profile->qoe};
    snprintf(row->profile, sizeof row->profile, "%s", profile->name);
    snprintf(row->content_id, sizeof row->content_id, "film-%d", i % 3);
    strcpy(row->labels.value[LABELS_DEVICE], i % 2 ? "tv" : "phone");
    memcpy(row->ladder_kbps, v->ladder_kbps, sizeof row->ladder_kbps);
    memcpy(row->points, v->level_points, sizeof row->points);
    if (!c->trial) return r;
    snprintf(row->arm.trial, sizeof row->arm.trial, "%s", c->trial);
    snprintf(row->arm.name, sizeof row->arm.name, "%s", c->arm[arm]);
    row->arm.network = (uint8_t)(1 + i % 3);
    return r;
}

static struct store_rec step_of(const struct store_rec *session, const struct view *v,
                                int level, const struct player *p)
{
    struct store_rec r = {.kind = STORE_STEP};
    memcpy(r.id, session->row.id, sizeof r.id);
    r.step = (struct step){.next = -1,
                           .prev = -1,
                           .ord = (uint32_t)v->chunk,
                           .rev = 1,
                           .chunk = v->chunk,
                           .flags = STEP_DECIDED | STEP_REPORTED | STEP_FOLLOWED,
                           .decided = (int8_t)level,
                           .level = (int8_t)level,
                           .last_level = (int8_t)v->last_level,
                           .expert = -1,
                           .bytes = (uint32_t)p->result.bytes,
                           .buffer_s = v->buffer_s,
                           .download_s = p->result.delay_ms / 1000,
                           .rebuffer_s = p->last.stall_s,
                           .reward = p->last.reward,
                           .at = session->row.opened_at + 1 + v->chunk};
    for (int k = 0; k < v->levels; k++)
        r.step.next_bytes[k] = (uint32_t)v->next_bytes[k];
    return r;
}

static void watch_one(struct store *s, const struct stored_cfg *c, int i, int arm,
                      struct algo *algo, const struct video *video)
{
    struct rng r;
    rng_init(&r, c->seed, 1000 + (uint64_t)i);
    int n = 8 + (int)rng_below(&r, 32);
    struct trace *link = gen_trace(gen_kinds[i % 6], 400, c->seed, (uint64_t)i, NULL);
    struct emu_world world = {video, link, emu_cfg_default()};
    world.cfg.buffer_max_s = 30;
    const struct qoe_profile *profile = qoe_find(i % 2 ? "news" : "standard");
    struct store_rec rec[64];
    rec[0] = row_of(c, i, arm, video, profile);
    struct player p;
    player_start(&p, &world, 1, &profile->qoe, -1);
    algo->reset(algo->self, (uint64_t)i);
    for (int k = 0; k < n; k++) {
        struct view v = p.view;
        int best = algo->decide(algo->self, &v, NULL), level = best;
        if (rng_uniform(&r) < c->drawn) level = (int)rng_below(&r, (uint32_t)v.levels);
        double slower = 1 + c->crowding * level / (video->levels - 1);
        player_step(&p, level, slower);
        rec[k + 1] = step_of(&rec[0], &v, level, &p);
        if (!(c->drawn > 0)) continue;
        rec[k + 1].step.flags |= STEP_SAMPLED;
        rec[k + 1].step.logp =
            (float)log(c->drawn / v.levels + (level == best ? 1 - c->drawn : 0));
    }
    int written = n + 1;
    if (i == 0) rec[5] = rec[--written];   /* a hole */
    if (i == 1) written = 3;               /* too short */
    if (i == 2) rec[0].row.closed = false; /* it runs */
    ck_assert_int_eq(s->write(s->self, rec, written, NULL), 0);
    trace_free(link);
}

void stored_make(const struct stored_cfg *c)
{
    struct store s;
    struct err e = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/abrd.db", c->dir);
    struct store_sqlite_cfg cfg = {.path = path, .reserve = -1};
    ck_assert_msg(!store_sqlite_open(&s, &cfg, &e), "%s: %s", e.field, e.detail);
    struct video *video = video_default(&e);
    struct algo algo[4] = {{0}};
    for (int a = 0; a < c->arms; a++)
        ck_assert_msg(
            !algo_new(&algo[a], c->policy[a], &(struct algo_ctx){.seed = 1}, &e), "%s",
            e.detail);
    for (int i = 0; i < c->sessions; i++) {
        int arm = (int)(rng_uniform_at(c->seed, (uint64_t)i, 77) * c->arms);
        watch_one(&s, c, i, arm, &algo[arm], video);
    }
    for (int a = 0; a < c->arms; a++)
        algo_free(&algo[a]);
    video_free(video);
    s.free(s.self);
}
