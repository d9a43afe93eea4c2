/* scores.h - the scores of frames as ffmpeg prints them, averaged over the chunks of a video.
 *
 *   struct scores *s = scores_new(SCORES_SSIM, frame_s, ends_s, chunks, 0, &e);
 *   scores_add(s, bytes, n)        what ffmpeg printed, in pieces of any length
 *   scores_points(points, s, &e)   points of each chunk
 *
 * What is read:
 *   - SSIM: filters ssim and metadata=print, a line "frame:N pts:P pts_time:T" and lines
 *     "lavfi.ssim.NAME=VALUE" for each frame. Y counts: VMAF looks at the luma alone, too. The mean SSIM of
 *     a chunk becomes points by quality_of_ssim.
 *   - VMAF: filter libvmaf with log_fmt=csv. The first line names the columns. Frame n is at n frame_s.
 *     VMAF is points.
 * Other lines are skipped: ffmpeg mixes several of its filters' lines.
 *
 * A frame belongs to the chunk that plays at its time, and frames after the last chunk to none. The
 * tolerance is a quarter of a frame, since containers round times.
 * Errors: ERR_INVALID (a chunk but the last has no frame, or a score is no number), ERR_MEMORY.
 * Ownership: ends_s is copied. Threads: not shared. */
#ifndef ABR_SCORES_H
#define ABR_SCORES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum scores_metric { SCORES_SSIM, SCORES_VMAF };

/* "ssim", "vmaf". */
const char *scores_metric_name(enum scores_metric m);

struct scores;

/* ends_s (chunks): where each chunk ends, or NULL: chunks of chunk_s as long as there are frames. */
struct scores *scores_new(enum scores_metric metric, double frame_s, const double *ends_s,
                          int chunks, double chunk_s, struct err *e);
void scores_free(struct scores *s);

void scores_add(struct scores *s, const char *bytes, size_t n);
/* End of the last frame so far [s]; 0: none. */
double scores_end_s(const struct scores *s);
/* Number of chunks with ends_s, else of chunks that got frames. */
int scores_chunks(const struct scores *s);
/* points (scores_chunks). A last chunk without a frame gets those of the chunk before. */
int scores_points(float *points, const struct scores *s, struct err *e)
    __attribute__((warn_unused_result));

/* ---- what else ffmpeg says ---- */

/* Is a filter in what `ffmpeg -filters` prints? */
bool scores_has_filter(const char *filters, const char *name);

struct scores_picture {
    int width, height;
    double frame_s;
};
/* The header of a YUV4MPEG2 stream: "YUV4MPEG2 W426 H240 F24:1 ...". False when it is none. */
bool scores_picture(struct scores_picture *out, const char *header);

#endif
