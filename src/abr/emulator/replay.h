/* replay.h - one session, chunk by chunk: what a policy chose on a trace and what came of it.
 *
 * The deterministic emulator from start row 1 without noise. With first_level >= 0 chunk 0 is
 * fetched at that level before the first step, as the peers' test code does; otherwise the
 * policy chooses it and it is the first step.
 *
 * Time: start_s is when a chunk was asked for, counted from the session's first request;
 * downloads and the player's sleeps (buffer full) pass it.
 *
 * Errors: what visit returns. Threads: as its algo; pure otherwise. */
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
    const int *levels; /* a plan: (chunks) */
};

struct replay_step {
    int chunk, level, prev_level; /* level: that came; prev -1: none */
    double kbps;
    int64_t bytes;
    double start_s, download_s, stall_s; /* download: of the copy that came */
    double buffer_after_s;               /* before: view->buffer_s */
    double throughput_kbps;
    double reward;
    const struct view *view;            /* what was known; borrowed during the call */
    const struct policy_choice *choice; /* of a network; NULL for others; likewise */
};

/* visit: 0 goes on; anything else ends the session and is returned. */
int replay_run(const struct replay *r,
               int (*visit)(void *ctx, const struct replay_step *s, struct err *e),
               void *ctx, struct err *e) __attribute__((warn_unused_result));

#endif
