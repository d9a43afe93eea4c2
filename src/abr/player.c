#include "abr/player.h"

#include <assert.h>

/* The view stands before chunk v->chunk. Behind the last chunk it shows chunk 0's sizes,
 * as the original simulator does. */
static void look_ahead(struct player *p)
{
    const struct video *video = p->emu.world->video;
    const int64_t *bytes = video_chunk(video, p->emu.chunk);
    for (int k = 0; k < video->levels; k++)
        p->view.next_bytes[k] = (double)bytes[k];
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
    look_ahead(p);

    if (first_level >= 0) (void)player_step(p, first_level, 1.0);
}

bool player_step(struct player *p, int level, double noise)
{
    struct view *v = &p->view;
    assert(v->chunk < v->chunks);
    emu_step(&p->emu, level, noise, &p->result);

    double prev_kbps = v->last_level < 0 ? 0.0 : v->ladder_kbps[v->last_level];
    p->last = qoe_chunk(&v->qoe, v->ladder_kbps[level], prev_kbps, p->result.rebuffer_s,
                        v->ladder_kbps[0]);

    view_push(v, (double)p->result.bytes, p->result.delay_ms / 1000.0);
    v->buffer_s = p->result.buffer_s;
    v->last_level = level;
    v->chunk++;
    look_ahead(p);
    return p->result.end;
}
