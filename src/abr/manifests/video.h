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
 *     A folder with video.json (VIDEO_TABLE, sabre's JSON) is that file;
 *   - a DASH MPD: the first AdaptationSet of video of each Period, with SegmentTemplate
 *     (duration, or a SegmentTimeline), SegmentList, or SegmentBase, whose index box is read
 *     from the file (sidx.h), of which a Period has what is within it. Periods follow each
 *     other and must have one ladder. A document type declaration is refused before any
 *     entity is looked at;
 *   - an HLS master playlist (RFC 8216) and the media playlists it names; the ladder is
 *     AVERAGE-BANDWIDTH where every variant states it, else BANDWIDTH. Of variants with the
 *     same BANDWIDTH, AVERAGE-BANDWIDTH, RESOLUTION and CODECS the first is taken.
 * Sizes of MPD and HLS: byte ranges and index boxes where there are, else those of the files
 * beside the manifest, else bandwidth times duration. Levels must be aligned. Nothing is
 * fetched; files are at most 16 MB.
 *
 * Ownership: video_load/_new give an owned struct; video_free(NULL) is legal.
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is
 * "file:line". Threads: shared read-only after construction. */
#ifndef ABR_VIDEO_H
#define ABR_VIDEO_H

#include "abr/emulator/view.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define VIDEO_CHUNKS_MAX 100000
#define VIDEO_DEFAULT_SPREAD 0.2            /* sigma of video_default */
#define VIDEO_BYTES_MAX INT64_C(1000000000) /* one chunk */
#define VIDEO_FILE_MAX ((size_t)16 << 20)   /* a manifest */

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
/* dir/video.json, as sabre's JSON; the folder is made when it is not there. Loading dir gives
 * the same video. */
#define VIDEO_TABLE "video.json"
int video_save(const struct video *v, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
/* cfg may be NULL. */
struct video *video_load(const char *path, const struct video_cfg *cfg, struct err *e);
/* The formats that are one text, from memory, with a NUL behind it. Segments beside an MPD are looked for in dir;
 * NULL: not at all. */
struct video *video_parse(const char *text, size_t len, const char *name, const char *dir,
                          const struct video_cfg *cfg, struct err *e);
/* The same with another source of segments and playlists (segments.h); NULL: none. text has a
 * NUL behind it. */
struct segments_source;
struct video *video_parse_from(const char *text, size_t len, const char *name,
                               const struct segments_source *source,
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

/* CRC-32 of the ladder's bitrates: two videos with the same ladder have the same. */
uint32_t video_ladder_crc(const struct video *v);

#endif
