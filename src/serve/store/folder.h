/* folder.h - the data folder: whose it is, and which weights a start begins with.
 *
 *   abrd.db                   the store; -wal, -shm, -count, -reserve: store_sqlite.h
 *   policy.safetensors        the newest checkpoint of the learner; .prev: the one before
 *   secret                    what nobody foretells draws from (decide.h): 32 hex digits, 0600
 *   untagged.state            what was learned of viewers without a hint (hintless.h)
 *   lock                      held by the daemon that uses the folder
 *
 * A damaged checkpoint is put aside as policy.safetensors.bad and the one before is used, or
 * the policy that was named in the configuration; each such step is logged and counted. So is a file
 * that is not there although a daemon used the folder before.
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
    uint64_t refused;           /* damaged files that were put aside */
    uint64_t missing;           /* files that a start expected */
    bool used;                  /* a daemon was here before */
    char from[FOLDER_PATH + 8]; /* the file that folder_policy read; cut when longer */
    char db[FOLDER_PATH], policy[FOLDER_PATH], hintless[FOLDER_PATH], secret[FOLDER_PATH];
};

/* Makes the folder when it is not there. dir NULL: nothing is kept. */
int folder_open(struct folder *f, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
void folder_close(struct folder *f);

/* A start misses this file, without which `otherwise` happens: counts and logs it as this event. */
void folder_misses(struct folder *f, const struct log *log, const char *event,
                   const char *path, const char *otherwise);
/* Before untagged.state is made: misses it when a daemon was here before. */
void folder_hintless(struct folder *f, const struct log *log);

/* The folder's secret; a new one, durable before it is used, when there is none or it is damaged.
 * Without a folder it lives as long as the caller keeps it. */
int folder_secret(struct folder *f, uint8_t out[SIPHASH_KEY], const struct entropy *from,
                  const struct log *log, struct err *e)
    __attribute__((warn_unused_result));

/* The weights to start with, owned. When they come from a checkpoint *state (owned) is
 * the learner's; else NULL. fallback: the policy of the configuration, may be NULL.
 * meta: its metadata, may be NULL. */
struct policy *folder_policy(struct folder *f, const char *fallback,
                             struct ckpt_meta *meta, void **state, size_t *state_n,
                             const struct log *log, struct err *e);

#endif
