/* viewing.h - what viewers see: the figures of a session, and their sums for a profile.
 *
 *   start-up   wait for the first picture: the reported wait for the session's first chunk, but at least
 *              its download. A session has none if its first outcome is of a later chunk, for example
 *              because the player opened it again in the middle of a video
 *   stalls     reported waits for later chunks [s]
 *   played     length of the reported chunks [s]
 *   ceilings   stall_ratio_max and startup_max_s of the session's weights (abr/emulator/qoe.h); 0: none.
 *              stall ratio = stalls / (stalls + played), compared at the end of the session
 *   link-bound sessions that took the lowest level throughout and still stalled beyond the ceiling, or
 *              beyond that of `standard` if they have none
 *
 * A chunk is decided by the daemon, or fetched at another level than the daemon decided (also when the
 * daemon abandoned it), or decided by the player alone, for instance while the daemon was unreachable.
 *
 * After a restart the sums of profiles begin at 0. The figures of a session in a trial are restored from
 * all its steps, those of other sessions from their newest steps.
 *
 * Threads: not shared; the caller holds the lock of the session's shard. No allocation. */
#ifndef SERVE_VIEWING_H
#define SERVE_VIEWING_H

#include <stdbool.h>
#include <stdint.h>

struct qoe;
struct step;
struct track_row;

enum viewing_by { VIEWING_DAEMON, VIEWING_OTHER_LEVEL, VIEWING_PLAYER, VIEWING_WAYS };
/* "daemon", "other-level", "player"; ends with NULL. */
extern const char *const viewing_by_words[VIEWING_WAYS + 1];

#define VIEWING_BOUNDS 12
/* Upper bounds of the buckets of start-ups [s], ascending. */
extern const double viewing_bounds_s[VIEWING_BOUNDS];

/* A session. */
struct viewing {
    float stall_s, played_s;
    float startup_s;      /* of a session that `started` */
    float points, reward; /* sums over its chunks */
    uint32_t chunks, switches;
    bool above_lowest; /* a chunk was above the lowest level */
    bool started;      /* the wait for its first picture is known */
};

/* Sums; each only grows. */
struct viewing_sums {
    uint64_t by[VIEWING_WAYS],
        switches; /* chunks; chunks at another level than the one before */
    uint64_t startup[VIEWING_BOUNDS +
                     1];   /* sessions by their start-up; the last: above all bounds */
    uint64_t over_startup; /* sessions that started later than the ceiling */
    uint64_t sessions, over_stalls,
        bound; /* ended with a chunk reported; of these: over; link-bound */
    double startup_s, stall_s, played_s, points; /* points: quality of the chunks */
    double bound_stall_s, bound_played_s;        /* of link-bound sessions */
};

/* A step's outcome has arrived. */
void viewing_chunk(struct viewing *v, struct viewing_sums *sums,
                   const struct track_row *row, const struct step *s);
/* The session has ended. */
void viewing_end(const struct viewing *v, struct viewing_sums *sums, const struct qoe *k);
/* A restored step; counts nothing in the sums. */
void viewing_restore(struct viewing *v, const struct track_row *row,
                     const struct step *s);

void viewing_add(struct viewing_sums *out, const struct viewing_sums *a);

#endif
