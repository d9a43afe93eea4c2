/* measure.h - the quality of a stream, measured with ffmpeg: every level against a reference.
 *
 * The input is a DASH or HLS manifest with its media next to it, a folder with such a manifest
 * (manifest.mpd, master.m3u8 or index.m3u8), or a folder with one whole video file per level. Chunks of
 * whole files are chunk_s long, and their sizes are the mean of the file.
 *
 * A picture of the reference is compared with the picture that the level shows at that time, scaled to the
 * size of the reference (bicubic). The reference is a file, or the level with the highest bitrate, which
 * then has 100 points by definition. Points are relative to it: 100 is a picture like that of the
 * reference, whatever its height.
 *
 * ffmpeg reads the segments through a playlist in a temporary folder, which is removed at the end.
 *
 * Errors: those of ffmpeg.h, scores.h and video.h; ERR_ABSENT (no filter of that name).
 * Threads: main thread. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "abr/manifests/scores.h"
#include "abr/manifests/video.h"

#include <stdbool.h>

struct measure_cfg {
    const char *input, *reference; /* reference NULL: the top level */
    const char *metric;            /* "auto": VMAF if ffmpeg has it, else SSIM */
    int chunks;                    /* 0: all */
    double chunk_s;                /* of whole files */
    bool quiet;
};

struct measured {
    struct video *video; /* with points of every chunk, owned */
    char manifest[4096]; /* "": whole files */
    enum scores_metric metric;
};

int measure(struct measured *out, const struct measure_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

#endif
