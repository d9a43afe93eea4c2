/* video.h - a ladder of bitrates and the size of every chunk at every level.
 *
 * Formats, recognised by content:
 *   - Pensieve: a folder with video_size_0, video_size_1, ..., one file per level with one integer of
 *     bytes per line. The ladder is the caller's. Otherwise it is {300,750,1200,1850,2850,4300} for 6
 *     files, and the mean of each file for other numbers of files. Chunks are 4 s long unless the
 *     caller sets their length. The last row is the rest of the video and left out unless cfg.chunks
 *     asks for it: Pensieve plays 49 rows as 48 chunks. The folder may also hold video_quality_0,
 *     video_quality_1, ...: points of each chunk, one number per line (video_load_quality).
 *   - sabre: JSON (segment_duration_ms, bitrates_kbps, segment_sizes_bits). A folder with video.json
 *     (VIDEO_TABLE) is read as that file. Our own keys are optional: heights (levels), level_quality
 *     (levels), quality (segments, levels).
 *   - DASH MPD: one AdaptationSet of video of each Period, the first one unless cfg.set names another,
 *     with SegmentTemplate (duration or SegmentTimeline), SegmentList, or SegmentBase, whose index box is
 *     read from the file (sidx.h); a Period gets the segments within it. Periods follow each other and must
 *     have one ladder. A document type declaration is refused before any of its entities is read.
 *   - HLS: a master playlist (RFC 8216) and the media playlists that it names. The ladder is
 *     AVERAGE-BANDWIDTH when every variant states it, else BANDWIDTH. Of variants with the same
 *     BANDWIDTH, AVERAGE-BANDWIDTH, RESOLUTION and CODECS the first is taken. Variants of another codec
 *     or VIDEO-RANGE than the first one are another set (cfg.set).
 * Sizes of MPD and HLS are byte ranges and index boxes where they exist. Otherwise they are the sizes
 * of the files next to the manifest, or bandwidth times duration without these. Levels must be
 * aligned. Nothing is fetched; files have at most 16 MB.
 *
 * Quality comes from the best source that covers all levels: points of chunks, points of levels, the
 * curve (emulator/quality.h). A Representation states it in the attribute quality of the namespace
 * urn:abrd:mpd: one number for the level, or one for each segment. The number of the last segment may
 * be missing. Heights for the curve are @height with @width, and RESOLUTION.
 *
 * Shapes: bytes is (chunks, levels), row-major. Levels ascend strictly in kbps.
 * Limits: 2 to 32 levels, chunks of 1 to 10 s, 1 to 100,000 chunks.
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line".
 * Ownership: video_load and video_new return an owned struct; video_free(NULL) is legal.
 * Threads: shared read-only after construction. */
#ifndef ABR_VIDEO_H
#define ABR_VIDEO_H

#include "abr/emulator/quality.h"
#include "abr/emulator/view.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIDEO_CHUNKS_MAX 100000
#define VIDEO_DEFAULT_SPREAD 0.2            /* sigma of video_default */
#define VIDEO_BYTES_MAX INT64_C(1000000000) /* one chunk */
#define VIDEO_FILE_MAX ((size_t)16 << 20)   /* a manifest */
#define VIDEO_HEIGHT_MAX 100000             /* pixels */
#define VIDEO_NAMESPACE "urn:abrd:mpd"      /* of our attributes in an MPD */

struct video {
    char name[64];
    int levels, chunks;
    double chunk_s;
    double ladder_kbps[VIEW_LEVELS];
    double peak_kbps[VIEW_LEVELS]; /* what HLS also states of a level; 0: nothing */
    bool live;                     /* of a manifest: more chunks will follow */
    bool sound;     /* the bitrates of the ladder contain the sound, as those of HLS do */
    int64_t *bytes; /* (chunks, levels), owned */
    int heights[VIEW_LEVELS]; /* of the picture (quality_height); 0: not known */
    /* Quality, 0 .. 100 points (emulator/quality.h), from the best source there is: */
    enum quality_source quality;
    double
        level_points[VIEW_LEVELS]; /* stated, the mean of the chunks, or of the curve */
    float *points;                 /* (chunks, levels), owned; NULL: as level_points */
};

/* Settings that override the format. Zeros keep what the format says. */
struct video_cfg {
    int levels; /* set entries of ladder_kbps */
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s;
    int chunks; /* keep this many from the first on */
    int set; /* of MPD and HLS: the set of video that is read, from 0 on; ERR_ABSENT: there is none */
    int segments; /* of MPD and HLS: the most of all levels together; more are ERR_RANGE; 0: no limit */
    int period; /* of an MPD: the Period that is read, from 1 on; 0: all, one after the other */
    /* The length of a live MPD may be unknown: then it has two chunks, whose names mean nothing. */
    bool any_length;
};

/* All sizes are zero; the caller fills them. */
struct video *video_new(int levels, int chunks, double chunk_s, const double *ladder_kbps,
                        struct err *e);
/* The chunks get points of their own, all 0 until the caller fills v->points. */
int video_make_points(struct video *v, struct err *e) __attribute__((warn_unused_result));
/* The levels get these points (levels), and the chunks have none of their own. */
void video_set_levels(struct video *v, const double *points);
/* Computes level_points again, after the ladder, the heights or the points of chunks changed. */
void video_rate(struct video *v);
/* Joins the quality of files video_quality_0, _1, ... in dir, or of vmaf_0, _1, ...: level 0 is the
 * lowest. A file has a row for each chunk and up to two rows more. */
int video_load_quality(struct video *v, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
/* Sizes are 1 .. 1e9 bytes, the ladder ascends strictly, quality is 0 .. 100; else ERR_RANGE. */
int video_check(const struct video *v, struct err *e) __attribute__((warn_unused_result));
/* Writes dir/video.json in sabre's JSON, and makes the folder when it is missing. Loading dir gives
 * the same video. */
#define VIDEO_TABLE "video.json"
int video_save(const struct video *v, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
/* Writes dir/video_quality_0, _1, ... for video_load_quality, and makes the folder when it is missing. */
int video_save_quality(const struct video *v, const char *dir, struct err *e)
    __attribute__((warn_unused_result));
/* Adds the quality of each level to the Representations of the MPD `text`, from which v was read, and
 * replaces quality attributes that are there. Returns the new text, owned; NULL on failure: ERR_INVALID for
 * several Periods or for levels that are not those of v. */
char *mpd_rate_video(const char *text, size_t len, const char *name,
                     const struct video *v, struct err *e);
/* cfg may be NULL. */
struct video *video_load(const char *path, const struct video_cfg *cfg, struct err *e);
/* The formats of one text, from memory; a NUL follows it. Segments of a manifest are looked for in
 * dir, unless it is NULL. */
struct video *video_parse(const char *text, size_t len, const char *name, const char *dir,
                          const struct video_cfg *cfg, struct err *e);
/* The same with another source of segments and playlists (segments.h), or NULL. */
struct segments_source;
struct video *video_parse_from(const char *text, size_t len, const char *name,
                               const struct segments_source *source,
                               const struct video_cfg *cfg, struct err *e);
/* A generated video: log-normal chunk sizes around the ladder, with one factor of scene complexity
 * per chunk for all levels. Limits as above. */
struct video *video_generate(int levels, int chunks, double chunk_s,
                             const double *ladder_kbps, double sigma, uint64_t seed,
                             struct err *e);
/* The video without --video: video_generate with Pensieve's ladder, 48 chunks of 4 s, a fixed seed. */
struct video *video_default(struct err *e);
void video_free(struct video *v);

/* Row of `chunk`: sizes of its levels, borrowed. */
const int64_t *video_chunk(const struct video *v, int chunk);

/* Quality of a chunk at each level: out (levels). */
void video_points(double *out, const struct video *v, int chunk);

/* CRC-32 of the ladder's bitrates. */
uint32_t video_ladder_crc(const struct video *v);

#endif
