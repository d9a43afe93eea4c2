/* limits.h - what the service accepts: every number finite and within its range.
 *
 * Errors name the JSON field path in e->field ("last.download_s", "ladder_kbps[3]") and
 * the range in e->detail. The limits are wide enough for any real player and narrow
 * enough that everything computed from them (throughput, reward, observation) is finite.
 *
 * Units: kbit/s, seconds, bytes. Threads: pure functions. */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H

#include "serve/service.h"

#define LIMITS_KBPS_MIN 10.0
#define LIMITS_KBPS_MAX 1e6
#define LIMITS_CHUNK_S_MIN 0.5
#define LIMITS_CHUNK_S_MAX 30.0
#define LIMITS_CHUNKS 1000000   /* in one video */
#define LIMITS_CHUNK 1000000000 /* index in a live stream */
#define LIMITS_BUFFER_S 3600.0
#define LIMITS_MU 1000.0
#define LIMITS_BYTES 4e9      /* of a chunk that arrived: fits 32 bits */
#define LIMITS_NEXT_BYTES 4e9 /* of a chunk on offer */
#define LIMITS_DOWNLOAD_S_MIN 1e-6
#define LIMITS_SECONDS 3600.0 /* longest download or stall of one chunk */
#define LIMITS_EXTERNAL 1000.0
#define LIMITS_THROUGHPUT_KBPS 1e8 /* as measured by a player */

int limits_open(const struct session_open *in, struct err *e)
    __attribute__((warn_unused_result));

/* levels and chunks are the session's; chunks = 0 is live. */
int limits_question(const struct question *q, int levels, int chunks, struct err *e)
    __attribute__((warn_unused_result));

/* prefix is put before the field's name: "last." or "". */
int limits_outcome(const struct outcome *o, const char *prefix, int levels, int chunks,
                   struct err *e) __attribute__((warn_unused_result));

int limits_reward(const struct reward_in *in, int levels, int chunks, struct err *e)
    __attribute__((warn_unused_result));

int limits_view(const struct view *v, struct err *e) __attribute__((warn_unused_result));

int limits_qoe(const struct qoe *k, struct err *e) __attribute__((warn_unused_result));

/* [a-z0-9_-], 1..63 characters. */
int limits_name(const char *name, struct err *e) __attribute__((warn_unused_result));

#endif
