/* trajectories.h - abr/emulator/replay.h's steps as a file, for who trains or looks elsewhere.
 *
 * One row per chunk, as CSV, or as JSON lines when the file's name ends in .jsonl or .ndjson:
 *   policy, profile, trace   what was played
 *   chunk, level, kbps, bytes
 *   start_s                  when it was asked for, from the session's first request
 *   download_s, throughput_kbps, stall_s
 *   buffer_s, buffer_after_s when it was asked for, and once it was there and the player had slept
 *   reward                   QoE of the chunk, by the profile's weights
 * and with TRAJECTORIES_PROBS
 *   expert, value, prob0 ... of a network: its expert, the critic's value (in units of rewards
 *                            as feat.h scales them), and the probability of each level
 * and with TRAJECTORIES_OBS
 *   obs0 ... obs127          the observation before the choice, FEAT_FULL of abr/emulator/feat.h
 * In JSON prob and obs are arrays. What a policy has not (probabilities of mpc) is empty in CSV
 * and null in JSON. Numbers carry 9 significant digits, enough for a float.
 *
 * Written beside and renamed when closed: the file is whole or not there. "-" is standard output.
 * Errors: ERR_IO, ERR_MEMORY. Threads: not shared. */
#ifndef CLI_TRAJECTORIES_H
#define CLI_TRAJECTORIES_H

#include "abr/emulator/replay.h"

enum { TRAJECTORIES_PROBS = 1, TRAJECTORIES_OBS = 2 };

struct trajectories;

/* levels: of the video. */
struct trajectories *trajectories_new(const char *path, int with, int levels,
                                      struct err *e);
/* Leaves nothing behind when it was not closed. */
void trajectories_free(struct trajectories *t);

/* What the next steps are of; borrowed until the next call. */
void trajectories_of(struct trajectories *t, const char *policy, const char *profile,
                     const char *trace);
/* For replay_run; ctx is the struct trajectories. */
int trajectories_step(void *ctx, const struct replay_step *s, struct err *e);
int64_t trajectories_rows(const struct trajectories *t);
int trajectories_close(struct trajectories *t, struct err *e)
    __attribute__((warn_unused_result));

#endif
