/* policy.h - the policy and the emulator as a library, for players that decide by themselves.
 *
 * The library makes the decisions that `abrd serve` makes over HTTP, without the daemon. A player loads
 * the weights, describes the video, reports the outcome of each chunk and asks for the next level. The
 * emulator that the policy was trained on is included, to try both without a network. The library needs
 * no threads, and no files other than the one that is loaded.
 *
 *   cc player.c $(pkg-config --cflags --libs abrd)
 *
 *   struct abrd_error e = {0};
 *   struct abrd_policy *p = abrd_policy_load("moe.safetensors", &e);
 *   struct abrd_video *v = abrd_video_new(kbps, 6, 4.0, 48, NULL, &e);
 *   struct abrd_viewer who = abrd_viewer_named("news");
 *   struct abrd_session *s = abrd_session_new(p, v, &who, &e);
 *   while (...) {
 *       struct abrd_decision d;
 *       if (abrd_session_decide(s, buffer_s, &d, &e)) ...
 *       fetch chunk d.chunk at d.level, and measure;
 *       abrd_session_report(s, &outcome, &e);
 *   }
 *
 * Stable while ABRD_API is the same: structs with members keep them and their order, and functions keep
 * their meaning. All other structs are opaque. The header is C and C++. Code for API 1 and 2 compiles.
 * API 2 added members at the end of abrd_viewer and abrd_decision, quality, and profiles in points.
 * API 3 accepts ladders of up to 32 instead of 12 levels, so abrd_decision is longer. Object files that
 * were compiled for API 2 still link; abrd_session_decide gives them the former struct, and ABRD_RANGE
 * for a longer ladder.
 *
 * Units: kbit/s, seconds, bytes, as named.
 * Errors: NULL or a negative code, with the reason in *e (which may be NULL). The first error stays
 * until the caller clears it. The library prints nothing, and bad arguments do not end the program.
 * Ownership: the result of each _new, _load and _read is released by its _free, which also takes NULL.
 * A session borrows its policy and video, an emulator its video and trace. Deciding, reporting and
 * fetching allocate nothing.
 * Threads: policies, videos and traces are read-only and shared. A session or an emulator belongs to
 * one thread. */
#ifndef ABRD_POLICY_H
#define ABRD_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ABRD_API 3
#define ABRD_LEVELS 32 /* longest ladder */

enum abrd_code {
    ABRD_OK = 0,
    ABRD_IO = -1,      /* a file could not be read */
    ABRD_MEMORY = -2,  /* no memory */
    ABRD_INVALID = -3, /* malformed, or of another kind */
    ABRD_RANGE = -4,   /* outside its limits */
    ABRD_ABSENT = -5,  /* does not exist */
    ABRD_CORRUPT = -8, /* a file is damaged */
    ABRD_NUMERIC = -9, /* the weights give NaN or infinity */
};

struct abrd_error {
    int code;
    char text[336]; /* "field: what is wrong" */
};

/* ---- weights: a policy file of abrd (safetensors) */

struct abrd_policy;

struct abrd_policy *abrd_policy_load(const char *path, struct abrd_error *e);
/* The same from memory, which is not needed afterwards. */
struct abrd_policy *abrd_policy_read(const void *data, size_t bytes,
                                     struct abrd_error *e);
void abrd_policy_free(struct abrd_policy *p);

/* ---- the video */

struct abrd_video;

/* ladder_kbps (levels) ascends, with 2 .. ABRD_LEVELS levels. chunks 0: live, without a known end.
 * bytes (chunks, levels): sizes, row by row; NULL: unknown, bitrate times duration is assumed. All is
 * copied. */
struct abrd_video *abrd_video_new(const double *ladder_kbps, int levels, double chunk_s,
                                  int chunks, const int64_t *bytes, struct abrd_error *e);
void abrd_video_free(struct abrd_video *v);

/* Quality is in points, 0 .. 100, the scale of VMAF. It is that of the chunk where it is known, else
 * that of the level, else a curve of the ladder's bitrates. */
enum abrd_quality { ABRD_CURVE, ABRD_LEVEL, ABRD_CHUNK };

/* Call these before the first session of the video. All is copied. level (levels): quality of each
 * level; NULL: the curve. chunk (chunks, levels): of each chunk, row by row, NAN where it is unknown;
 * NULL: unknown. Hundredths count. */
int abrd_video_set_quality(struct abrd_video *v, const double *level, const double *chunk,
                           struct abrd_error *e);
/* Heights of the levels' pictures for the curve (levels), 16 .. 8640 pixels. Without effect on levels
 * whose quality is set. */
int abrd_video_set_heights(struct abrd_video *v, const int *height, struct abrd_error *e);

/* ---- the viewer */

enum abrd_utility { ABRD_LINEAR, ABRD_LOG, ABRD_POINTS };

/* ABRD_POINTS: quality, switches, stalls and startup are weights relative to the profile "standard",
 * 0 .. 100. With weight 1 each, the QoE of a chunk of 4 s with q points is
 *
 *   0.8469 q - 1.0610 fall of q - 28.7959 seconds stalled - 7.1990 seconds before the first picture
 *
 * ABRD_LINEAR, ABRD_LOG: the papers' weights, 0 .. 1000. QoE of a chunk = quality q(bitrate)
 * - switches |change of q| - stalls * seconds stalled. q is the bitrate in Mbit/s, or with ABRD_LOG the
 * logarithm of the bitrate over the lowest one. startup is not used. */
struct abrd_viewer {
    double quality, switches, stalls; /* not all weights are zero */
    int utility;                      /* enum abrd_utility */
    double buffer_max_s; /* the most media that the player holds: a chunk .. an hour */
    double startup;
    /* Ceilings, which bound what a decision may risk; 0: none. Levels that may stall on a link that
     * disappoints are withheld, and stalls cost more while this session is above the ceiling. Nothing is
     * promised for a single session. */
    double stall_ratio_max; /* of stalled / (stalled + played): 0.0001 .. 0.5 */
    double startup_max_s;   /* of the wait for the first picture: 0.1 .. 60 */
};

/* In points: "standard", "documentary", "live", "news", "sports", "lecture". The papers' weights:
 * "paper-documentary", "paper-live", "paper-news", "pensieve". With a buffer of 60 s and the daemon's
 * default ceilings; other names give standard. */
struct abrd_viewer abrd_viewer_named(const char *profile);

/* ---- deciding */

struct abrd_session;

struct abrd_decision {
    int chunk, level;
    double kbps;
    int expert;   /* the expert that decided */
    double value; /* expected sum of QoE from here, discounted */
    double
        probability[ABRD_LEVELS]; /* of each level; the decision is the most likely one.
                                   * 12 levels of a longer ladder have one, others 0 */
    double quality;               /* points of the level */
    int quality_from;             /* enum abrd_quality */
};

struct abrd_outcome {
    int level;         /* the level that was fetched, whatever was decided */
    double bytes;      /* > 0 */
    double download_s; /* request to last byte, > 0 */
    double
        stall_s; /* of playback while the chunk arrived; for chunk 0 until playback began */
};

struct abrd_session *abrd_session_new(const struct abrd_policy *p,
                                      const struct abrd_video *v,
                                      const struct abrd_viewer *who,
                                      struct abrd_error *e);
void abrd_session_free(struct abrd_session *s);

#define abrd_session_decide abrd_session_decide_long
/* The level of the next chunk. Changes nothing. ABRD_RANGE behind the last chunk. With ABRD_NUMERIC *out
 * is the lowest level. */
int abrd_session_decide(const struct abrd_session *s, double buffer_s,
                        struct abrd_decision *out, struct abrd_error *e);

/* Reports the outcome of that chunk. The session moves on to the next chunk. */
int abrd_session_report(struct abrd_session *s, const struct abrd_outcome *o,
                        struct abrd_error *e);

/* The viewer jumped: `chunk` is the next one, and its level does not count as a switch. */
int abrd_session_seek(struct abrd_session *s, int chunk, struct abrd_error *e);

/* Sizes of the next chunk (levels), when the video's table lacks them. Valid until the report. */
int abrd_session_sizes(struct abrd_session *s, const int64_t *bytes,
                       struct abrd_error *e);

/* Quality of the next chunk (levels), when the video's table lacks it; NAN: unknown. Valid until the
 * report. */
int abrd_session_next_quality(struct abrd_session *s, const double *points,
                              struct abrd_error *e);

/* The number of reported chunks, the sum of their QoE, and their mean quality in points. */
int abrd_session_chunks(const struct abrd_session *s);
double abrd_session_qoe(const struct abrd_session *s);
double abrd_session_quality(const struct abrd_session *s);

/* ---- the emulator: a player on a trace-driven link, as in Pensieve */

struct abrd_trace;

/* Pensieve, Mahimahi, sabre JSON, CSV, HSDPA or 4G logs; recognised by content. */
struct abrd_trace *abrd_trace_load(const char *path, struct abrd_error *e);
/* mbps[i] holds from time_s[i-1] to time_s[i]; row 0 only marks the start. */
struct abrd_trace *abrd_trace_new(const double *time_s, const double *mbps, int rows,
                                  struct abrd_error *e);
void abrd_trace_free(struct abrd_trace *t);

struct abrd_emulator;

struct abrd_fetched {
    int chunk;
    int last; /* not 0: the last chunk */
    struct abrd_outcome outcome;
    double buffer_s; /* after the chunk */
};

/* The video needs an end, and chunks of 1 .. 10 s. Each chunk takes one round trip of 80 ms. */
struct abrd_emulator *abrd_emulator_new(const struct abrd_video *v,
                                        const struct abrd_trace *t, double buffer_max_s,
                                        struct abrd_error *e);
void abrd_emulator_free(struct abrd_emulator *m);

/* Fetches the next chunk. ABRD_RANGE for an unknown level, and behind the last chunk. */
int abrd_emulator_fetch(struct abrd_emulator *m, int level, struct abrd_fetched *out,
                        struct abrd_error *e);

#ifdef __cplusplus
}
#endif

#endif
