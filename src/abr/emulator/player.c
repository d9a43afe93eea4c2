#include "abr/emulator/player.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "abr/deciders/abandon.h"
#include "abr/deciders/first_level.h"

/* Sets the view to that before chunk v->chunk. Behind the last chunk it shows chunk 0's sizes, as the
 * original simulator does. */
static void player_look_ahead(struct player *p)
{
    const struct video *video = p->emu.world->video;
    const int64_t *bytes = video_chunk(video, p->emu.chunk);
    for (int k = 0; k < video->levels; k++)
        p->view.next_bytes[k] = (double)bytes[k];
    video_points(p->view.points, video, p->emu.chunk);
}

static int player_look(void *ctx, int level, double bytes, double elapsed_s,
                       double buffer_s)
{
    const struct view *v = ctx;
    const struct underway u = {level, bytes, elapsed_s, buffer_s};
    return abandon_level(v, &u);
}

static void player_fetch(struct player *p, int level, double noise)
{
    struct view *v = &p->view;
    if (!p->emu.world->cfg.abandon) {
        emu_step(&p->emu, level, noise, &p->result);
        return;
    }
    bool first = first_level_is(v);
    const struct emu_watch watch = {.first_s = first ? ABANDON_FIRST_S : ABANDON_EVERY_S,
                                    .first_share = first ? ABANDON_FIRST_SHARE : 1.0,
                                    .every_s = first ? HUGE_VAL : ABANDON_EVERY_S,
                                    .level = player_look,
                                    .ctx = v};
    emu_step_watched(&p->emu, level, noise, &watch, &p->result);
}

/* Moves the chunk that was just fetched into the history. */
static bool player_take(struct player *p)
{
    struct view *v = &p->view;
    int level = p->result.level;
    p->before = view_last(v);
    p->now = (struct qoe_level){v->ladder_kbps[level], v->points[level]};
    memcpy(p->points, v->points, sizeof p->points);
    p->last = qoe_chunk(&v->qoe, p->now, p->before, v->chunk_s, p->result.rebuffer_s,
                        v->ladder_kbps[0]);

    if (v->last_level >= 0) v->stalled_s += p->last.stall_s;
    v->played_s += v->chunk_s;
    view_push(v, (double)p->result.bytes, p->result.copy_ms / 1000.0);
    v->buffer_s = p->result.buffer_s;
    v->last_level = level;
    v->last_points = p->now.points;
    v->chunk++;
    player_look_ahead(p);
    return p->result.end;
}

void player_start(struct player *p, const struct emu_world *world, int start_row,
                  const struct qoe *qoe, int first_level)
{
    const struct video *video = world->video;
    *p = (struct player){0};
    emu_start(&p->emu, world, start_row);

    p->view = view_default();
    p->view.levels = video->levels;
    for (int k = 0; k < video->levels; k++)
        p->view.ladder_kbps[k] = video->ladder_kbps[k];
    p->view.chunk_s = video->chunk_s;
    p->view.chunks = video->chunks;
    p->view.buffer_max_s = world->cfg.buffer_max_s;
    p->view.qoe = *qoe;
    player_look_ahead(p);

    if (first_level < 0) return;
    emu_step(&p->emu, first_level, 1.0, &p->result);
    (void)player_take(p);
}

bool player_step(struct player *p, int level, double noise)
{
    assert(p->view.chunk < p->view.chunks);
    player_fetch(p, level, noise);
    return player_take(p);
}

struct qoe_parts player_felt(const struct player *p, const struct qoe *k)
{
    const struct view *v = &p->view;
    return qoe_chunk(k, p->now, p->before, v->chunk_s, p->last.stall_s,
                     v->ladder_kbps[0]);
}

struct qoe_range player_range(const struct player *p, const struct qoe *k,
                              double carried_kbps)
{
    const struct view *v = &p->view;
    const struct qoe_ladder ladder = {v->ladder_kbps, p->points, v->levels, v->chunk_s};
    return qoe_chunk_range(k, &ladder, carried_kbps);
}
