/* abrd_priv.h - what the sources of the library share. */
#ifndef ABRD_PRIV_H
#define ABRD_PRIV_H

#include "abr/manifests/video.h"
#include "abrd/policy.h"
#include "base/err.h"

#include <stdbool.h>

struct abrd_video {
    int levels, chunks;
    double chunk_s, ladder_kbps[VIEW_LEVELS];
    int64_t *bytes; /* (chunks, levels), owned; NULL: unknown */
    bool stated;    /* level_points were set, else they are the curve */
    double level_points[VIEW_LEVELS];
    double *points; /* (chunks, levels), owned, NaN: unknown; NULL: all are */
};

/* Copies the failure in `why` to e, unless e holds one. Returns its code. */
int abrd_tell(struct abrd_error *e, const struct err *why);
int abrd_fail(struct abrd_error *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
