/* crowd.h - a crowd of emulated viewers who ask a daemon for every chunk.
 *
 * Viewer v watches the video over trace v mod n of the corpus from a row drawn by (seed,
 * v), values it as profile v mod n_profiles, and is known to the daemon by the session
 * key v. `at_once` viewers are under way together and step in turn, so that the daemon's
 * learning meets trajectories from a mixture, as it would outside. Each chunk's download,
 * stall and buffer come from the emulator; its reward is computed on both sides.
 *
 * A share of the viewers gives no hint, of whom a share says at the end what it watched.
 * With `drift` the profiles are drawn, and their mix goes round: at share s of the crowd,
 * profile i of n has weight 1 + cos 2 pi (drift s - i/n) to the third. With `contents`
 * four of five viewers of a profile choose among the contents that are its own (every
 * n-th), the others among all.
 *
 * Liars play like the others, but what they report of a chunk is the extreme of what the API takes
 * (limits.h), and all pull the same way: the chunk came at once and never stalled when it was
 * of the level that they want the daemon to choose, the highest or the lowest; else it took
 * an hour and stalled as long. With CROWD_NOISE each chunk is one or the other by chance.
 *
 * Threads: not shared. */
#ifndef CLI_CROWD_H
#define CLI_CROWD_H

#include "abr/traces/corpus.h"
#include "abr/emulator/emu.h"
#include "abr/emulator/player.h"
#include "cli/door.h"

#define CROWD_PROFILES 16

struct crowd_profile {
    char name[SERVICE_NAME]; /* "" = untagged: no hint is given */
    bool custom;             /* send mu instead of a name */
    bool
        silent; /* asks nobody and watches the lowest level, when others would ask: what they
                  * get can then be compared with what they get beside this profile */
    struct qoe qoe; /* what the viewer values; also of an untagged one */
};

enum crowd_lie { CROWD_UP, CROWD_DOWN, CROWD_NOISE };

struct crowd_cfg {
    int viewers, at_once;
    uint64_t seed;
    const struct corpus *corpus;
    const struct video *video;
    struct emu_cfg emu;
    int n_profiles;
    struct crowd_profile profile[CROWD_PROFILES];
    double no_hint, label; /* shares */
    double drift;          /* rounds of the mix over all viewers; 0 = profile v mod n */
    int contents;          /* 0 = no content ids */
    double liars;          /* share */
    enum crowd_lie lie;
    /* share done 0..1, and viewers finished; true stops the run */
    bool (*progress)(void *ctx, double share, int finished);
    void *progress_ctx;
    /* called for every chunk that a viewer fetched, whose outcome the player holds; may be
     * NULL */
    void (*chunk)(void *chunk_ctx, int viewer, int profile, const struct player *p);
    void *chunk_ctx;
};

/* "up", "down" or "noise". */
int crowd_lie_parse(enum crowd_lie *out, const char *text, struct err *e)
    __attribute__((warn_unused_result));

struct crowd_row {
    int viewers;
    uint64_t chunks, sampled;
    double reward, bitrate_mbps, stall_s, switch_mbps; /* sums over chunks */
    uint32_t levels_crc;  /* of the levels of this profile's viewers, in their order */
    double gain, room;    /* sums for qoe_chunk_range's scale */
    double mismatch;      /* largest |our reward - the daemon's| seen */
    uint64_t by[BY_WAYS]; /* decisions of each way */
};

struct crowd_result {
    struct crowd_row profile[CROWD_PROFILES];
    uint64_t first_policy, last_policy;
    /* CRC-32 over all levels in order of (viewer, chunk): equal runs have equal ones */
    uint32_t levels_crc;
    bool stopped;
};

int crowd_play(struct crowd_result *out, const struct crowd_cfg *cfg, struct door *door,
               struct err *e) __attribute__((warn_unused_result));

#endif
