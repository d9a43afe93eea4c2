#include "abr/emulator/player.h"

#include <assert.h>
#include <math.h>

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
    double prev_kbps = v->last_level < 0 ? 0.0 : v->ladder_kbps[v->last_level];
    p->last = qoe_chunk(&v->qoe, v->ladder_kbps[level], prev_kbps, p->result.rebuffer_s,
                        v->ladder_kbps[0]);

    view_push(v, (double)p->result.bytes, p->result.copy_ms / 1000.0);
    v->buffer_s = p->result.buffer_s;
    v->last_level = level;
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
