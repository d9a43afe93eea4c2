/* limits.h - ranges of the numbers that the service accepts.
 *
 * The limits fit any real player. Everything computed from accepted numbers (throughput, reward,
 * observation) is finite.
 *
 * Units: kbit/s, seconds, bytes.
 * Errors: e->field is the JSON path ("last.download_s", "ladder_kbps[3]"), e->detail has the range.
 * Threads: pure functions. */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H

#include "serve/session/service.h"

/* the limits of view.h, which also hold for players in C (abrd/policy.h) */
#define LIMITS_KBPS_MIN VIEW_KBPS_MIN
#define LIMITS_KBPS_MAX VIEW_KBPS_MAX
#define LIMITS_CHUNK_S_MIN VIEW_CHUNK_S_MIN
#define LIMITS_CHUNK_S_MAX VIEW_CHUNK_S_MAX
#define LIMITS_CHUNKS VIEW_CHUNKS_MAX
#define LIMITS_CHUNK VIEW_CHUNK_MAX
#define LIMITS_BUFFER_S VIEW_BUFFER_S_MAX
#define LIMITS_MU QOE_MU_MAX
#define LIMITS_WATCHED_S 1e7 /* of one session */
#define LIMITS_WEIGHT QOE_WEIGHT_MAX
#define LIMITS_STALL_RATIO_MIN QOE_STALL_RATIO_MIN
#define LIMITS_STALL_RATIO_MAX QOE_STALL_RATIO_MAX
#define LIMITS_STARTUP_S_MIN QOE_STARTUP_S_MIN
#define LIMITS_STARTUP_S_MAX QOE_STARTUP_S_MAX
#define LIMITS_QUALITY QOE_POINTS_MAX
#define LIMITS_HEIGHT_MIN QUALITY_HEIGHT_MIN
#define LIMITS_HEIGHT_MAX QUALITY_HEIGHT_MAX
#define LIMITS_BYTES VIEW_BYTES_MAX      /* of a received chunk */
#define LIMITS_NEXT_BYTES VIEW_BYTES_MAX /* of a level of the next chunk */
#define LIMITS_DOWNLOAD_S_MIN VIEW_DOWNLOAD_S_MIN
#define LIMITS_SECONDS VIEW_SECONDS_MAX
#define LIMITS_EXTERNAL 1000.0
#define LIMITS_THROUGHPUT_KBPS 1e8 /* as measured by a player */

int limits_open(const struct session_open *in, struct err *e)
    __attribute__((warn_unused_result));

/* levels and chunks are the session's; chunks = 0: live. */
int limits_question(const struct question *q, int levels, int chunks, struct err *e)
    __attribute__((warn_unused_result));

/* prefix precedes the field's name: "last." or "". */
int limits_outcome(const struct outcome *o, const char *prefix, int levels, int chunks,
                   struct err *e) __attribute__((warn_unused_result));

/* Accepts a chunk that any session may have. */
/* 0: no cap. */
/* The bytes and bitrate of other streams. */
int limits_other(const struct outcome *o, const char *prefix, struct err *e)
    __attribute__((warn_unused_result));
int limits_cap(double max_kbps, struct err *e) __attribute__((warn_unused_result));
int limits_chunk(int chunk, struct err *e) __attribute__((warn_unused_result));

int limits_underway(const struct underway_in *in, int levels, struct err *e)
    __attribute__((warn_unused_result));

int limits_reward(const struct reward_in *in, int levels, int chunks, struct err *e)
    __attribute__((warn_unused_result));

/* Pieces of a stateless question, as limits_open and limits_question check them. */
int limits_ladder(const double *kbps, int levels, struct err *e)
    __attribute__((warn_unused_result));
int limits_heights(const double *height, int levels, struct err *e)
    __attribute__((warn_unused_result));
int limits_quality(const double *points, int levels, struct err *e)
    __attribute__((warn_unused_result));
int limits_next_quality(const double *points, int levels, struct err *e)
    __attribute__((warn_unused_result));
/* quality_curve for heights as JSON has them; NULL: unknown. */
void limits_curve(double *points, const double *ladder_kbps, const double *height,
                  int levels);

/* A player's measurements of n chunks: the entries of throughput_kbps and download_s. */
int limits_history(const double *kbps, const double *seconds, int n, struct err *e)
    __attribute__((warn_unused_result));
int limits_view(const struct view *v, struct err *e) __attribute__((warn_unused_result));

/* Weights relative to `standard`, as a request has them (qoe.h). */
int limits_weights(const double weight[QOE_WEIGHTS], struct err *e)
    __attribute__((warn_unused_result));
/* 0: none. prefix precedes the fields' names: "" or "news:". */
int limits_ceilings(double stall_ratio_max, double startup_max_s, const char *prefix,
                    struct err *e) __attribute__((warn_unused_result));
/* Weights and ceilings of any utility. */
int limits_qoe(const struct qoe *k, struct err *e) __attribute__((warn_unused_result));

/* [a-z0-9_-], 1..63 characters. */
int limits_name(const char *name, struct err *e) __attribute__((warn_unused_result));

#endif
