/* folder.h - the data folder: its lock, its files, and the weights that a start begins with.
 *
 *   abrd.db                   the store; -wal, -shm, -count, -reserve: store_sqlite.h
 *   policy.safetensors        the newest checkpoint of the learner; .prev: the one before
 *   secret                    makes draws unpredictable (decide.h): 32 hex digits, 0600
 *   untagged.state            what was learned about viewers without a hint (hintless.h)
 *   experience.state          what was seen of links and stalls (experience.h)
 *   trial.state               a trial's plan, phase and stopped arms (serve/trial/trial_run.h)
 *   lock                      held by the daemon that uses the folder
 *
 * A damaged checkpoint is kept as policy.safetensors.bad. Then the one before is used, or the policy
 * of the configuration. Each such step is logged and counted, and so is a file that is missing although
 * a daemon used the folder before.
 *
 * Errors: ERR_CONFLICT another process uses the folder; ERR_IO; those of ckpt.h.
 * Threads: not shared. */
#ifndef SERVE_FOLDER_H
#define SERVE_FOLDER_H

#include "base/err.h"
#include "base/entropy.h"
#include "base/log.h"
#include "base/siphash.h"
#include "policy/policy.h"
#include "learn/ckpt.h"

#include <stdbool.h>
#include <stdint.h>

#define FOLDER_PATH 512

struct folder {
    int lock;                   /* file descriptor; -1 = no folder */
    uint64_t refused;           /* damaged files, now NAME.bad */
    uint64_t missing;           /* files that a start expected */
    bool used;                  /* a daemon was here before */
    char from[FOLDER_PATH + 8]; /* the file that folder_policy read; cut when longer */
    char db[FOLDER_PATH], policy[FOLDER_PATH], hintless[FOLDER_PATH], secret[FOLDER_PATH],
        experience[FOLDER_PATH], trial[FOLDER_PATH];
};

/* Makes the folder if it is not there. dir NULL: nothing is kept. */
int folder_open(struct folder *f, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
void folder_close(struct folder *f);
/* Does a daemon hold the folder's lock? */
bool folder_in_use(const char *dir);

/* Counts and logs, as this event, that a file is missing and what happens without it. */
void folder_misses(struct folder *f, const struct log *log, const char *event,
                   const char *path, const char *otherwise);
/* Renames a damaged file to NAME.bad and counts it. */
void folder_keep_bad(struct folder *f, const char *path);
/* Before untagged.state is made: the same for it, if a daemon was here before. */
void folder_hintless(struct folder *f, const struct log *log);

/* The folder's secret. If there is none, or it is damaged: a new one, durable before it is used.
 * Without a folder it lives as long as the caller keeps it. */
int folder_secret(struct folder *f, uint8_t out[SIPHASH_KEY], const struct entropy *from,
                  const struct log *log, struct err *e)
    __attribute__((warn_unused_result));

/* The weights to start with, owned. *state (owned) is the learner's state if they come from a
 * checkpoint, else NULL. fallback: the policy of the configuration, may be NULL. meta: its metadata,
 * may be NULL. A correction of another forecast is dropped and logged (abr/deciders/forecast_own.h). */
struct policy *folder_policy(struct folder *f, const char *fallback,
                             struct ckpt_meta *meta, void **state, size_t *state_n,
                             const struct log *log, struct err *e);

/* Copies `from` to the new file `to` (mode 600) and puts it on the disk. ERR_ABSENT: there is no
 * `from`; ERR_IO. A failure may leave a part of the copy. */
int folder_copy_file(const char *to, const char *from, struct err *e)
    __attribute__((warn_unused_result));

#endif
