/* contents.h - what is known about media of other servers: the ladders in their manifests.
 *
 * A DASH manifest that an origin (origin.h) answered is parsed as `abrd video` parses one
 * (abr/manifests/video.h: SegmentTemplate or SegmentList; a size is bitrate times duration unless the
 * manifest has byte ranges). It describes the files in its folder and below, by path: the name of the
 * origin, "/" and the path as it was requested, without query. If several manifests describe a file,
 * the one in the innermost folder counts. Among those, the first of these decides: it names the file;
 * it has a level of the file's bitrate; it has the ladder of the player's session; it was used last.
 *
 * Bounds: CONTENTS_MANIFEST bytes a manifest, CONTENTS_SIZES chunks times levels, n manifests. A new one
 * replaces the least recently used.
 *
 * Ownership: a content is shared: pair contents_get with contents_put. Threads: locked inside (one
 * leaf mutex, not held while a manifest is parsed). */
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

/* Reads a manifest, a NUL behind its n bytes. One that is known is not parsed again. 1: it cannot be
 * parsed, as before; ERR_INVALID and others: it cannot be parsed, and e says why. */
int contents_learn(struct contents *c, const char *path, const char *text, size_t n,
                   struct err *e) __attribute__((warn_unused_result));

/* ladder: of the player's session (video_ladder_crc); 0: not known. NULL: nothing is known about the
 * file. */
struct content *contents_get(struct contents *c, const char *path, double kbps,
                             uint32_t ladder);
void contents_put(struct contents *c, struct content *one);

const struct video *contents_video(const struct content *one);
/* The number of the chunk in this file, from 1; -1: the manifest does not name the file. */
int contents_number(const struct content *one, const char *file);

#endif
