/* replay.h - plays one session on a trace, chunk by chunk: an algorithm's decisions and their outcomes.
 *
 * The deterministic emulator from start row 1, without noise. With first_level >= 0 chunk 0 is fetched
 * at that level before the first step, as in Pensieve's test code. Otherwise the algorithm chooses it,
 * and it is the first step.
 *
 * Time: start_s is the time of a chunk's request since the session's first request. Downloads and the
 * player's sleeps (buffer full) take time.
 *
 * Errors: those of visit.
 * Threads: as its algo; otherwise pure. */
#ifndef ABR_REPLAY_H
#define ABR_REPLAY_H

#include "abr/deciders/algo.h"
#include "abr/emulator/emu.h"

#define REPLAY_START_ROW 1

struct replay {
    const struct emu_world *world;
    const struct qoe *qoe;
    int first_level;   /* -1: the policy chooses chunk 0 */
    struct algo *algo; /* asked when levels is NULL; reset first, with key */
    uint64_t key;
    const int *levels; /* a level for each chunk, (chunks); NULL: algo decides */
};

struct replay_step {
    int chunk, level,
        prev_level; /* level: of the copy that arrived; prev_level -1: none */
    double kbps;
    int64_t bytes;
    double start_s, download_s, stall_s; /* download_s: of the copy that arrived */
    double buffer_after_s;               /* the buffer before is view->buffer_s */
    double throughput_kbps;
    double reward;
    const struct view *view; /* of the decision; borrowed during the call */
    const struct algo_choice
        *choice; /* of a network, else NULL; borrowed during the call */
};

/* visit returns 0 to continue. Any other value ends the session and is returned. */
int replay_run(const struct replay *r,
               int (*visit)(void *ctx, const struct replay_step *s, struct err *e),
               void *ctx, struct err *e) __attribute__((warn_unused_result));

#endif
