/* video.h - a ladder of bitrates and the size of every chunk at every level.
 *
 * Shapes: bytes is (chunks, levels), row-major. Levels ascend strictly in kbps.
 * Limits: 2..12 levels, chunk 1..10 s, 1..100,000 chunks.
 *
 * Formats, found by content:
 *   - a folder with video_size_0.. (Pensieve: one integer of bytes per line, one file per
 *     level); the ladder is given by the caller, or Pensieve's
 * {300,750,1200,1850,2850,4300} for 6 files and otherwise the mean of each file; chunk
 * length 4 s unless given. As in Pensieve, whose 49 rows are played as 48 chunks, the
 * last row is the video's rest and left out unless cfg.chunks asks for it;
 *   - sabre JSON (segment_duration_ms, bitrates_kbps, segment_sizes_bits);
 *   - a DASH MPD of one Period: its first AdaptationSet of video, with SegmentTemplate
 *     (duration, or a SegmentTimeline) and bandwidths. Sizes are those of the files
 * beside it where its templates lead to files on this disk, else bandwidth times
 * duration. Nothing is fetched; a document type declaration is refused. Files are at most
 * 16 MB.
 *
 * Ownership: video_load/_new give an owned struct; video_free(NULL) is legal.
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is
 * "file:line". Threads: shared read-only after construction. */
#ifndef ABR_VIDEO_H
#define ABR_VIDEO_H

#include "abr/view.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define VIDEO_CHUNKS_MAX 100000
#define VIDEO_DEFAULT_SPREAD 0.2            /* sigma of video_default */
#define VIDEO_BYTES_MAX INT64_C(1000000000) /* one chunk */

struct video {
    char name[64];
    int levels, chunks;
    double chunk_s;
    double ladder_kbps[VIEW_LEVELS];
    int64_t *bytes; /* (chunks, levels), owned */
};

/* Import settings; zeros mean "as the format says", and what is set overrides the format.
 */
struct video_cfg {
    int levels; /* entries of ladder_kbps that are set */
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s;
    int chunks; /* the first so many */
};

/* All sizes zero; the caller fills them. */
struct video *video_new(int levels, int chunks, double chunk_s, const double *ladder_kbps,
                        struct err *e);
/* Sizes are 1 .. 1e9 bytes; the ladder ascends strictly; ERR_RANGE names what does not.
 */
int video_check(const struct video *v, struct err *e) __attribute__((warn_unused_result));
/* cfg may be NULL. */
struct video *video_load(const char *path, const struct video_cfg *cfg, struct err *e);
/* The JSON and XML formats from memory. Segments beside an MPD are looked for in dir;
 * NULL: not at all. */
struct video *video_parse(const char *text, size_t len, const char *name, const char *dir,
                          const struct video_cfg *cfg, struct err *e);
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
