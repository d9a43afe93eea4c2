/* video.h - a ladder of bitrates and the size of every chunk at every level.
 *
 * Shapes: bytes is (chunks, levels), row-major. Levels ascend strictly in kbps.
 * Limits: 2..12 levels, chunk 1..10 s, 1..100,000 chunks.
 *
 * Formats, found by content:
 *   - a folder with video_size_0.. (Pensieve: one integer of bytes per line); the ladder
 *     is given by the caller, or Pensieve's {300,750,1200,1850,2850,4300} for 6 files and
 *     otherwise the mean of each file; chunk length 4 s unless given;
 *   - sabre JSON (segment_duration_ms, bitrates_kbps, segment_sizes_bits);
 *   - a DASH MPD (see video_mpd.c).
 *
 * Ownership: video_load/_new give an owned struct; video_free(NULL) is legal.
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line".
 * Threads: shared read-only after construction. */
#ifndef ABR_VIDEO_H
#define ABR_VIDEO_H

#include "abr/view.h"
#include "base/err.h"

#include <stdint.h>

struct video {
    char name[64];
    int levels, chunks;
    double chunk_s;
    double ladder_kbps[VIEW_LEVELS];
    int64_t *bytes; /* (chunks, levels), owned */
};

/* Import settings for what a format leaves open; zeros mean "as the format says". */
struct video_cfg {
    int levels;
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s;
};

/* All sizes zero; the caller fills them. */
struct video *video_new(int levels, int chunks, double chunk_s, const double *ladder_kbps,
                        struct err *e);
/* cfg may be NULL. */
struct video *video_load(const char *path, const struct video_cfg *cfg, struct err *e);
/* Generated: log-normal chunk sizes around the ladder, one scene-complexity factor per
 * chunk shared by all levels. Seeded; limits as above. */
struct video *video_generate(int levels, int chunks, double chunk_s,
                             const double *ladder_kbps, double sigma, uint64_t seed,
                             struct err *e);
/* Pensieve's ladder, 48 chunks of 4 s, video_generate with a fixed seed: what `abrd`
 * uses when no --video is given. */
struct video *video_default(struct err *e);
void video_free(struct video *v);

/* Row of `chunk`: sizes of its levels, borrowed. */
const int64_t *video_chunk(const struct video *v, int chunk);

#endif
