/* trajectories.h - the chunks of replayed sessions (abr/emulator/replay.h) as a file, for training or
 * analysis elsewhere.
 *
 * One row per chunk, as CSV, or as JSON lines when the file's name ends in .jsonl or .ndjson:
 *   policy, profile, trace   what was played
 *   chunk, level, kbps, bytes
 *   start_s                  time of the request, from the session's first request
 *   download_s, throughput_kbps, stall_s
 *   buffer_s, buffer_after_s at the request, and after the chunk had come and the player had slept
 *   reward                   QoE of the chunk, by the profile's weights
 * and with TRAJECTORIES_PROBS
 *   expert, value, prob0 ... of a network: its expert, the critic's value (in units of rewards
 *                            as feat.h scales them), and the probability of each level
 * and with TRAJECTORIES_OBS
 *   obs0 ... obs127          the observation before the choice, FEAT_FULL of abr/emulator/feat.h; of a
 *                            long ladder that of abr/deciders/window.h
 * In JSON prob and obs are arrays. A value that a policy does not have (probabilities of mpc) is empty
 * in CSV and null in JSON. Numbers carry 9 significant digits, enough for a float.
 *
 * The file is written under another name and renamed when it is closed: it is complete or not there.
 * "-" is standard output. Errors: ERR_IO, ERR_MEMORY. Threads: not shared. */
#ifndef CLI_EVAL_TRAJECTORIES_H
#define CLI_EVAL_TRAJECTORIES_H

#include "abr/emulator/replay.h"

enum { TRAJECTORIES_PROBS = 1, TRAJECTORIES_OBS = 2 };

struct trajectories;

/* levels: of the video. */
struct trajectories *trajectories_new(const char *path, int with, int levels,
                                      struct err *e);
/* Removes the file if it was not closed. */
void trajectories_free(struct trajectories *t);

/* What the next steps belong to; borrowed until the next call. */
void trajectories_of(struct trajectories *t, const char *policy, const char *profile,
                     const char *trace);
/* For replay_run; ctx is the struct trajectories. */
int trajectories_step(void *ctx, const struct replay_step *s, struct err *e);
int64_t trajectories_rows(const struct trajectories *t);
int trajectories_close(struct trajectories *t, struct err *e)
    __attribute__((warn_unused_result));

#endif
