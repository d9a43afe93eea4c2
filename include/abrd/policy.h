/* policy.h - the policy and the emulator as a library, for players that decide by themselves.
 *
 * What `abrd serve` answers over HTTP, without the daemon: load its weights, describe the video,
 * tell what each chunk took, ask for the next level. And the emulator that the policy was trained
 * on, to try both without a network. It needs neither threads nor files but the one that is loaded.
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
 * Stable: structs with members keep them and their order, and functions their meaning, while
 * ABRD_API is the same; the rest is opaque. The header is C and C++.
 *
 * Units: kbit/s, seconds, bytes, as named. Ownership: each _new, _load and _read gives what its
 * _free takes, which takes NULL as well; a session borrows its policy and video, an emulator its
 * video and trace. Errors: NULL or a negative code, told in *e (which may be NULL); the first one
 * stays until the caller clears it. Nothing is printed, and bad arguments do not end the program.
 * Threads: policies, videos and traces are read-only and shared; a session or an emulator belongs
 * to one thread. Deciding, reporting and fetching allocate nothing. */
#ifndef ABRD_POLICY_H
#define ABRD_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ABRD_API 1
#define ABRD_LEVELS 12 /* longest ladder */

enum abrd_code {
    ABRD_OK = 0,
    ABRD_IO = -1,      /* a file could not be read */
    ABRD_MEMORY = -2,  /* no memory */
    ABRD_INVALID = -3, /* malformed, or not of this kind */
    ABRD_RANGE = -4,   /* beyond its limits */
    ABRD_ABSENT = -5,  /* it is not there */
    ABRD_CORRUPT = -8, /* a file is damaged */
    ABRD_NUMERIC = -9, /* weights that give no number */
};

struct abrd_error {
    int code;
    char text[336]; /* "field: what is wrong" */
};

/* ---- weights: a policy file of abrd (safetensors) */

struct abrd_policy;

struct abrd_policy *abrd_policy_load(const char *path, struct abrd_error *e);
/* The same from memory, which may go afterwards. */
struct abrd_policy *abrd_policy_read(const void *data, size_t bytes,
                                     struct abrd_error *e);
void abrd_policy_free(struct abrd_policy *p);

/* ---- the video */

struct abrd_video;

/* ladder_kbps (levels), 2 .. ABRD_LEVELS, ascends. chunks 0: live, no end is known. bytes (chunks,
 * levels): sizes, row by row; NULL: unknown, they are taken to be bitrate times duration. All is
 * copied. */
struct abrd_video *abrd_video_new(const double *ladder_kbps, int levels, double chunk_s,
                                  int chunks, const int64_t *bytes, struct abrd_error *e);
void abrd_video_free(struct abrd_video *v);

/* ---- who watches */

enum abrd_utility { ABRD_LINEAR, ABRD_LOG };

/* QoE of a chunk = quality q(bitrate) - switches |change of q| - stalls * seconds stalled; q counts
 * Mbit/s, or with ABRD_LOG the logarithm of the bitrate over the lowest one. */
struct abrd_viewer {
    double quality, switches, stalls; /* 0 .. 1000, not all zero */
    int utility;                      /* enum abrd_utility */
    double buffer_max_s; /* what the player holds at most: a chunk .. an hour */
};

/* "documentary", "live", "news", "pensieve", with a buffer of 60 s; other names give pensieve. */
struct abrd_viewer abrd_viewer_named(const char *profile);

/* ---- deciding */

struct abrd_session;

struct abrd_decision {
    int chunk, level;
    double kbps;
    int expert;                      /* that decided */
    double value;                    /* expected sum of QoE from here, discounted */
    double probability[ABRD_LEVELS]; /* of each level; the most likely one is taken */
};

struct abrd_outcome {
    int level;         /* that was fetched, decided or not */
    double bytes;      /* > 0 */
    double download_s; /* request to last byte, > 0 */
    double stall_s;    /* playback stood still meanwhile; for chunk 0 until it began */
};

struct abrd_session *abrd_session_new(const struct abrd_policy *p,
                                      const struct abrd_video *v,
                                      const struct abrd_viewer *who,
                                      struct abrd_error *e);
void abrd_session_free(struct abrd_session *s);

/* The level of the next chunk; asking changes nothing. ABRD_RANGE behind the last chunk. With
 * ABRD_NUMERIC *out is the lowest level. */
int abrd_session_decide(const struct abrd_session *s, double buffer_s,
                        struct abrd_decision *out, struct abrd_error *e);

/* What that chunk took; the session goes on to the one after it. */
int abrd_session_report(struct abrd_session *s, const struct abrd_outcome *o,
                        struct abrd_error *e);

/* The viewer jumped: `chunk` comes next, and no chunk before it counts as a switch. */
int abrd_session_seek(struct abrd_session *s, int chunk, struct abrd_error *e);

/* Sizes of the next chunk (levels), when the video's table does not have them; until the report. */
int abrd_session_sizes(struct abrd_session *s, const int64_t *bytes,
                       struct abrd_error *e);

/* Of all chunks reported so far: their number, and the sum of their QoE. */
int abrd_session_chunks(const struct abrd_session *s);
double abrd_session_qoe(const struct abrd_session *s);

/* ---- the emulator: a player on a link that a trace shapes, as in Pensieve */

struct abrd_trace;

/* Pensieve, Mahimahi, sabre JSON, CSV, HSDPA or 4G logs; found out by content. */
struct abrd_trace *abrd_trace_load(const char *path, struct abrd_error *e);
/* mbps[i] holds from time_s[i-1] to time_s[i]; row 0 only marks the start. */
struct abrd_trace *abrd_trace_new(const double *time_s, const double *mbps, int rows,
                                  struct abrd_error *e);
void abrd_trace_free(struct abrd_trace *t);

struct abrd_emulator;

struct abrd_fetched {
    int chunk;
    int last; /* not 0: that was the last chunk */
    struct abrd_outcome outcome;
    double buffer_s; /* after it */
};

/* The video needs an end, and chunks of 1 .. 10 s. One round trip of 80 ms for each chunk. */
struct abrd_emulator *abrd_emulator_new(const struct abrd_video *v,
                                        const struct abrd_trace *t, double buffer_max_s,
                                        struct abrd_error *e);
void abrd_emulator_free(struct abrd_emulator *m);

/* Fetches the next chunk. ABRD_RANGE for a level that does not exist, and behind the end. */
int abrd_emulator_fetch(struct abrd_emulator *m, int level, struct abrd_fetched *out,
                        struct abrd_error *e);

#ifdef __cplusplus
}
#endif

#endif
