#include "abr/emulator/replay.h"

#include "abr/emulator/player.h"

#include <assert.h>

/* Time of a chunk: its download, and the sleep, which follows from the buffer. */
static double elapsed_s(const struct player *after, double buffer_before_s)
{
    double download_s = after->result.delay_ms / 1000.0;
    double left_s = buffer_before_s > download_s ? buffer_before_s - download_s : 0.0;
    double slept_s = left_s + after->view.chunk_s - after->result.buffer_s;
    return download_s + (slept_s > 1e-9 ? slept_s : 0.0);
}

int replay_run(const struct replay *r,
               int (*visit)(void *ctx, const struct replay_step *s, struct err *e),
               void *ctx, struct err *e)
{
    struct player p;
    struct emu_world world = *r->world;
    if (r->levels) world.cfg.abandon = false; /* a plan is played as it is */
    player_start(&p, &world, REPLAY_START_ROW, r->qoe, r->first_level);
    if (!r->levels) r->algo->reset(r->algo->self, r->key);

    double now_s = r->first_level < 0 ? 0.0 : elapsed_s(&p, 0.0);
    int rc = 0;
    for (bool end = false; !end && !rc;) {
        const struct view known = p.view;
        int level = r->levels ? r->levels[known.chunk]
                              : r->algo->decide(r->algo->self, &p.view, r->world->video);
        assert(level >= 0 && level < known.levels);
        end = player_step(&p, level, 1.0);
        level = p.result.level;

        double download_s = p.result.copy_ms / 1000.0;
        const struct replay_step step = {
            .chunk = known.chunk,
            .level = level,
            .prev_level = known.last_level,
            .kbps = known.ladder_kbps[level],
            .bytes = p.result.bytes,
            .start_s = now_s,
            .download_s = download_s,
            .stall_s = p.last.stall_s,
            .buffer_after_s = p.result.buffer_s,
            .throughput_kbps = (double)p.result.bytes * 8e-3 / download_s,
            .reward = p.last.reward,
            .view = &known,
            .choice =
                !r->levels && r->algo->choice ? r->algo->choice(r->algo->self) : NULL,
        };
        rc = visit(ctx, &step, e);
        now_s += elapsed_s(&p, known.buffer_s);
    }
    return rc;
}
