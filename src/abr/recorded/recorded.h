/* recorded.h - a session that was played for real, as a link, a video and a player for the emulator.
 *
 * Time. A player with b seconds in its buffer at the request of a chunk of L seconds, and b' at the next
 * request, has meanwhile played b + L - b' and waited `stall` seconds. So the next request came
 * max(download, b + L - b' + stall) after this one. Wall clocks are not used: they include pauses,
 * and an emulated player never pauses.
 *
 * Link. During a download the link carried bytes / (download - rtt), divided by the emulator's payload,
 * since a trace holds what the link carries in all (emu.h). Between two downloads it was idle, and
 * nothing was measured. The first half of such a gap gets the throughput of the download before it, the
 * second half that of the download after it. So every rate in the link was measured, and outages are as
 * long as they were observed. When a replay needs more time than the session took, the link begins again.
 *
 * A policy is told the sizes that the player had reported, not those that were filled in, and none of later
 * chunks.
 *
 * A replay cannot see what the daemon has learned of links and stalls (deciders/caution.h), how other levels
 * would have changed the throughput or the viewer's time of leaving, and requests of other programs.
 * replay_bias.h measures the bias that follows.
 *
 * Round trips are part of the measured downloads. They are not reported, so rtt is an assumption. It is
 * charged apart, at most 0.9 of a download: the level that was played takes as long as it took, others
 * take the round trip and their own bytes.
 *
 * Video. Sizes are those that the player reported for the levels of the next chunk. A size that is not
 * known is the bitrate's, times what the fetched chunk had over its own bitrate. After the last chunk that
 * was played, sizes are those of the bitrates, for policies that look ahead: up to the video's end, or 60
 * chunks of a live stream. A replay ends where the viewer left.
 *
 * A session is refused for one reason of recorded_why, which the caller counts.
 *
 * Errors: ERR_MEMORY. Ownership: recorded_free releases what a session holds.
 * Threads: pure functions; a session is read-only afterwards. */
#ifndef ABR_RECORDED_H
#define ABR_RECORDED_H

#include "abr/compare.h"
#include "abr/emulator/emu.h"
#include "abr/emulator/qoe.h"

#define RECORDED_NAME 33
#define RECORDED_LEAST 5   /* chunks; fewer show little of a link */
#define RECORDED_MOST 4096 /* chunks; a longer session is cut there */

/* A chunk as it was fetched. */
struct recorded_chunk {
    int chunk; /* in the video */
    int level;
    double bytes, download_s, stall_s;
    double buffer_s; /* at its request; NaN: not known, so no idle time is either */
    double reward;
    double next_bytes[VIEW_LEVELS]; /* of this chunk; 0: unknown */
    double points[VIEW_LEVELS];     /* of this chunk */
    bool reported;                  /* its outcome is known */
    bool sampled, followed;         /* drawn from the policy; fetched as decided */
    double logp;                    /* of the decision, if sampled */
};

struct recorded_terms {
    char name[RECORDED_NAME];
    int levels, chunks; /* chunks 0: no known end */
    double ladder_kbps[VIEW_LEVELS], points[VIEW_LEVELS];
    double chunk_s, buffer_max_s;
    struct qoe qoe;
    double rtt_s;
    uint64_t key;
    int least; /* chunks */
};

enum recorded_why {
    RECORDED_OK,
    RECORDED_SHORT, /* fewer chunks than `least` */
    RECORDED_HOLE,  /* a chunk was skipped, repeated or not reported */
    RECORDED_LATE, /* its start is not known: media was in the buffer at the first chunk */
    RECORDED_EMPTY,  /* a download without bytes or time */
    RECORDED_LIMITS, /* outside of the emulator's limits */
    RECORDED_WHYS
};
/* One phrase for each; [RECORDED_OK] is "usable". */
extern const char *const recorded_whys[RECORDED_WHYS];

struct recorded {
    struct recorded_terms terms;
    struct trace *link;           /* owned */
    struct video *video;          /* owned */
    int n;                        /* chunks that were played */
    struct recorded_chunk *chunk; /* (n) owned */
    int *level;                   /* (n) owned */
    uint8_t *sized; /* (n) owned; the sizes of all its levels were reported */
    struct compare_session seen; /* as the player reported it */
    /* of the caller */
    int arm; /* of a trial; -1: none */
    bool explores;
};

/* chunk (n): in the order of the session. Fills *out if the result is RECORDED_OK (0); a negative ERR_*
 * otherwise, or the reason. */
int recorded_make(struct recorded *out, const struct recorded_terms *terms,
                  const struct recorded_chunk *chunk, int n, struct err *e)
    __attribute__((warn_unused_result));
void recorded_free(struct recorded *r);

/* The player of its emulation. */
struct emu_cfg recorded_emu(const struct recorded *r);

#endif
