/* manifests.h - reads manifests that refer to other files, or may be long, on a thread of its own.
 *
 * The sizes of HLS are in its media playlists, those of SegmentBase in index boxes. They are requested
 * from the manifest's origin, one after the other, and the whole goes to contents.h. This happens once,
 * until the manifest changes. If a file could not be fetched, the manifest is read again when it passes
 * the next time.
 *
 * Only configured origins are asked, by the rules of origins.h. A manifest whose files are on another
 * server is not understood. At most MANIFESTS_QUEUE manifests wait; further ones are left out and read when
 * they pass again. A file has at most CONTENTS_MANIFEST bytes.
 *
 * Threads: locked inside (one leaf mutex, not held while a file is fetched or parsed). */
#ifndef SERVE_MANIFESTS_H
#define SERVE_MANIFESTS_H

#include "base/log.h"
#include "serve/players/contents.h"
#include "serve/players/origin.h"

#define MANIFESTS_QUEUE 16

struct manifests;

/* origin and contents are borrowed until manifests_free, which stops a fetch under way. */
struct manifests *manifests_new(struct origin *o, struct contents *c,
                                const struct log *log, struct err *e);
void manifests_free(struct manifests *m);

/* Does it refer to files that must be read, or may it take so long that a worker should not parse it? A
 * SegmentTimeline of a few bytes can stand for many segments. */
bool manifests_takes(const struct contents_manifest *one);
/* Reads it later, unless it is known or waits already. Copies it. */
void manifests_add(struct manifests *m, const struct contents_manifest *one);
/* Logs why no player can be steered by the manifest. */
void manifests_refuse(const struct log *log, const char *path, const struct err *why);

#endif
