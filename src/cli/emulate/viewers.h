/* viewers.h - emulated viewers that watch a video at the same time and ask a daemon for every chunk.
 *
 * Viewer v watches the video over trace v mod n of the corpus from a row drawn by (seed, v). It has profile
 * v mod n_profiles, or with shares a drawn one, and the session key first_key + v. `at_once` viewers watch at
 * the same time and step in turn, so the daemon learns from a mixture of trajectories as in real use. Each
 * chunk's download, stall and buffer come from the emulator. Its reward is computed on both sides.
 *
 * A share of the viewers gives no hint. Of these, a share (label) says at the end which profile it had.
 * With `drift` profiles are drawn, and their mix changes: at share s of all viewers, profile i of n has
 * weight (1 + cos 2 pi (drift s - i/n)) to the third. With `contents`, four of five viewers of a
 * profile choose among its own contents (every n-th), the others among all.
 *
 * Liars play like the others, but report the extremes that the API accepts (limits.h), and all pull the
 * daemon the same way, to the highest or the lowest level. A chunk of that level came at once and never
 * stalled; any other took an hour and stalled as long. With VIEWERS_NOISE each chunk is one or the
 * other by chance. A liar may choose its session key: it opens sessions until one explores, at most
 * VIEWERS_TRIES. The first answer shows whether a session explores.
 *
 * Threads: not shared. */
#ifndef CLI_EMULATE_VIEWERS_H
#define CLI_EMULATE_VIEWERS_H

#include "abr/traces/corpus.h"
#include "abr/emulator/emu.h"
#include "abr/emulator/player.h"
#include "cli/emulate/backend.h"

#define VIEWERS_PROFILES 16
#define VIEWERS_HINTLESS "untagged" /* a profile's name for viewers without a hint */
#define VIEWERS_TRIES 50

struct viewers_profile {
    char name[SERVICE_NAME]; /* "" = no hint is given */
    bool custom;             /* send mu instead of a name */
    /* asks no question and watches the lowest level, at the same times: so the results of the
     * other viewers can be compared with those next to this profile */
    bool silent;
    struct qoe qoe; /* what the viewer values, also one without a hint */
    double
        share; /* of the viewers, relative to the other profiles; 0 for all: an even mix */
};

enum viewers_lie { VIEWERS_UP, VIEWERS_DOWN, VIEWERS_NOISE };

struct viewers_cfg {
    int viewers, at_once;
    uint64_t seed;
    const struct corpus *corpus;
    const struct video *video;
    struct emu_cfg emu;
    int n_profiles;
    struct viewers_profile profile[VIEWERS_PROFILES];
    double no_hint, label; /* shares */
    double drift;          /* rounds of the mix over all viewers; 0 = profile v mod n */
    int contents;          /* 0 = no content ids */
    double liars;          /* share */
    enum viewers_lie lie;
    bool one_address;   /* liars have the same address, honest viewers one each */
    bool explore_keys;  /* liars choose session keys that explore */
    uint64_t first_key; /* session key of viewer 0 */
    /* share done (0 .. 1) and viewers finished; true stops the run */
    bool (*progress)(void *ctx, double share, int finished);
    void *progress_ctx;
    /* called for every fetched chunk, its outcome in p; may be NULL */
    void (*chunk)(void *chunk_ctx, int viewer, int profile, const struct player *p);
    void *chunk_ctx;
};

/* "up", "down" or "noise". */
int viewers_lie_parse(enum viewers_lie *out, const char *text, struct err *e)
    __attribute__((warn_unused_result));

struct viewers_row {
    int viewers;
    uint64_t chunks, sampled;
    uint64_t switches,
        by_player; /* chunks at another level than the one before; not asked for */
    double reward, bitrate_mbps, switch_mbps, quality; /* sums over chunks */
    double stall_s, media_s;                /* sums; without the start-up (eval.h) */
    double startup_median_s, startup_p90_s; /* over viewers; NaN: none */
    uint32_t levels_crc;  /* of the levels of this profile's viewers, in their order */
    double gain, room;    /* sums for qoe_chunk_range's scale */
    double mismatch;      /* largest |our reward - the daemon's| seen */
    uint64_t by[BY_WAYS]; /* decisions of each way */
};

struct viewers_result {
    struct viewers_row profile[VIEWERS_PROFILES];
    uint64_t first_policy, last_policy;
    /* CRC-32 over all levels in order of (viewer, chunk): equal runs have equal ones */
    uint32_t levels_crc;
    bool stopped;
};

int viewers_play(struct viewers_result *out, const struct viewers_cfg *cfg,
                 struct backend *backend, struct err *e)
    __attribute__((warn_unused_result));

#endif
