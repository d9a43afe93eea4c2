/* contents.h - what is known about media of other servers: the ladders in their manifests.
 *
 * A manifest that an origin (origin.h) answered is parsed as `abrd video` parses one
 * (abr/manifests/video.h): DASH, and HLS from its multivariant playlist. A size is bitrate times duration
 * unless the manifest, its media playlists or its index boxes have byte ranges. Each set of video (an
 * AdaptationSet, a codec) has a ladder of its own, and so have Periods whose ladders differ, up to
 * CONTENTS_SETS of a manifest.
 *
 * A content describes the files that its manifest names, and all others in the manifest's folder and
 * below. Paths are those that the daemon is asked for: the name of the origin, "/" and the rest without
 * query. If several contents describe a file, the one whose manifest is in the innermost folder counts.
 * Among those, the first of these decides: it names the file; it has a level of the file's bitrate; it
 * has the ladder of the player's session; it was used last.
 *
 * Bounds: CONTENTS_MANIFEST bytes a manifest, CONTENTS_SIZES chunks times levels (segments.h), n manifests.
 * A new one replaces the least recently used. A client has at most a quarter of the places: a further
 * manifest replaces one that the same client was the first to ask for.
 *
 * Ownership: a content is shared: pair contents_get and contents_of with contents_put. Threads: locked
 * inside (one leaf mutex, not held while a manifest is parsed). */
#ifndef SERVE_CONTENTS_H
#define SERVE_CONTENTS_H

#include "abr/manifests/segments.h"
#include "abr/manifests/video.h"
#include "base/err.h"
#include "serve/access/addr.h"
#include "serve/players/origins.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTENTS 64
#define CONTENTS_SETS 4
#define CONTENTS_PATH 512
#define CONTENTS_MANIFEST ((size_t)2 << 20)
#define CONTENTS_SIZES 100000

struct contents;
struct content;

/* names is borrowed until contents_free. */
struct contents *contents_new(int n, const struct origins *names, struct err *e);
/* Every content must have been put back. */
void contents_free(struct contents *c);

struct contents_manifest {
    const char *path; /* at which the daemon was asked for it, without query */
    const char *url;  /* at which it was found */
    const char *text; /* (n) bytes and a NUL */
    size_t n;
    struct addr who; /* the subscriber that asked for it; all 0: not counted */
};

/* It was read before, or could not be parsed before. */
bool contents_known(struct contents *c, const struct contents_manifest *m);

/* Reads a manifest. One that is known is not parsed again. files (its size is not asked): what the
 * manifest refers to; NULL: nothing is there. 1: it cannot be parsed, as before; ERR_INVALID and others:
 * it cannot be parsed, and e says why. ERR_IO: a file could not be read; this is not remembered. */
int contents_learn(struct contents *c, const struct contents_manifest *m,
                   const struct segments_source *files, struct err *e)
    __attribute__((warn_unused_result));

/* ladder: of the player's session (video_ladder_crc); 0: not known. NULL: nothing is known about the
 * file. */
struct content *contents_get(struct contents *c, const char *path, double kbps,
                             uint32_t ladder);
/* Of the manifest at this path: its first set. NULL: none. */
struct content *contents_of(struct contents *c, const char *path);
void contents_put(struct contents *c, struct content *one);

const struct video *contents_video(const struct content *one);

struct contents_chunk {
    int number; /* from 1; 0: the file is known, and this part of it is no chunk; -1: not known */
    int level; /* -1: not known */
};
/* The chunk that is in this file, or in the part of it that begins with byte `from` (-1: the whole). */
struct contents_chunk contents_chunk(const struct content *one, const char *path,
                                     int64_t from);

#endif
