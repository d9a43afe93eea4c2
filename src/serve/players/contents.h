/* contents.h - what is known of media that pass by: the ladders that their manifests told.
 *
 * A DASH manifest that was handed on from an origin (origin.h) is read as `abrd video` reads one
 * (abr/manifests/video.h: SegmentTemplate or SegmentList; sizes are bitrate times duration unless it has
 * byte ranges). It stands for the files in its folder and below, by their path: the name of the
 * origin, "/" and the path as it was asked for, without query. Of several manifests that stand for a
 * file the one in the innermost folder counts; among those one that names the file, then one with a
 * level of its bitrate, then one with the ladder that its player has, then the one that was used last.
 *
 * Bounds: CONTENTS_MANIFEST bytes a manifest, CONTENTS_SIZES chunks times levels, n manifests: the
 * one that was used least recently goes.
 *
 * Ownership: a content is shared: pair contents_get with contents_put. Threads: locked inside (one
 * leaf mutex, not held while a manifest is read). */
#ifndef SERVE_CONTENTS_H
#define SERVE_CONTENTS_H

#include "abr/manifests/video.h"
#include "base/err.h"

#include <stddef.h>

#define CONTENTS 64
#define CONTENTS_PATH 512
#define CONTENTS_MANIFEST ((size_t)256 << 10)
#define CONTENTS_SIZES 100000

struct contents;
struct content;

struct contents *contents_new(int n, struct err *e);
/* Every content must have been put back. */
void contents_free(struct contents *c);

/* A manifest that passed, NUL behind its n bytes. What is there already is not read again. 1: it
 * is not understood, as before; ERR_INVALID and others: it is not, and e says why. */
int contents_learn(struct contents *c, const char *path, const char *text, size_t n,
                   struct err *e) __attribute__((warn_unused_result));

/* ladder: of what its player plays (video_ladder_crc); 0: not known. NULL: nothing is known of this
 * file. */
struct content *contents_get(struct contents *c, const char *path, double kbps,
                             uint32_t ladder);
void contents_put(struct contents *c, struct content *one);

const struct video *contents_video(const struct content *one);
/* Which chunk the file holds, 1 for the first; -1: the manifest does not name it. */
int contents_number(const struct content *one, const char *file);

#endif
