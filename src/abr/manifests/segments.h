/* segments.h - the chunks of a video as a manifest lists them, and where their sizes are found.
 *
 * A reader of manifests (DASH, HLS) adds levels and their segments: a duration, and either the
 * bytes (a byte range, an index box) or the URL of a resource whose size is to be asked for.
 * segments_video asks the source and makes a video of it.
 *
 * The source is an interface, since a folder is one and an HTTP server (cli/fetch.h) another.
 * URLs are as in the manifest, joined with the bases in it (segments_join), relative to the
 * manifest.
 *
 * Errors: ERR_ABSENT (some files are there and some are not), ERR_INVALID (levels that are not
 * aligned), ERR_RANGE, ERR_MEMORY, those of the source and of video_new. Threads: not shared. */
#ifndef ABR_SEGMENTS_H
#define ABR_SEGMENTS_H

#include "abr/manifests/video.h"

#include <stdbool.h>

#define SEGMENTS_URL 2048 /* bytes, its end included */

struct segments_source {
    void *self;
    bool
        must; /* what is asked for has to be there; else sizes are bitrate times duration */
    /* Bytes of the resource; ERR_ABSENT (and no message) when it is not there. */
    int (*size)(void *self, int64_t *bytes, const char *url, struct err *e);
    /* At most max bytes from `from` on, with a NUL behind them, owned by the caller; NULL on
     * failure. */
    char *(*read)(void *self, const char *url, int64_t from, size_t max, size_t *len,
                  struct err *e);
    /* Gives the address at which `url`, which was read last, was found when that is another: behind
     * redirects. False when that is too long. NULL: there are none. */
    bool (*found)(void *self, char url[SEGMENTS_URL]);
    /* Called with the share of sizes that are known; true stops. May be NULL. */
    bool (*progress)(void *self, double share);
};

/* Files in dir (borrowed) and below; URLs that lead elsewhere are absent. */
struct segments_source segments_folder(const char *dir);

struct segment {
    double duration_s;
    int64_t bytes; /* -1: the size of the resource at url */
    size_t url;    /* place in text */
};

struct segments_level {
    char id[128]; /* for messages */
    double kbps;
    int n, cap;
    struct segment *at; /* (n), owned */
};

struct segments {
    const char *name; /* of the manifest, for messages; borrowed */
    int levels;
    struct segments_level level[VIEW_LEVELS];
    char *text; /* URLs, one after the other, owned */
    size_t text_len, text_cap;
};

/* Adds a level; its place, or < 0. */
int segments_level(struct segments *s, const char *id, double kbps, struct err *e);
int segments_add(struct segments *s, int level, double duration_s, int64_t bytes,
                 const char *url, struct err *e) __attribute__((warn_unused_result));
/* By bitrate, as a ladder is. */
void segments_sort(struct segments *s);
/* What follows in time: both sorted, and of the same ladder (to .1 %) or ERR_INVALID. */
int segments_append(struct segments *to, const struct segments *from, struct err *e)
    __attribute__((warn_unused_result));
/* source may be NULL: nothing is there. Sorts. */
struct video *segments_video(struct segments *s, const struct segments_source *source,
                             struct err *e);
void segments_free(struct segments *s);

/* ref as seen from base, either a URL or relative (RFC 3986, 5.2: of the server, the path and
 * the query, ref takes the place of what it states; dot segments are removed). A ".." that
 * leads out of a relative base is left at the front. False when it is too long. */
bool segments_join(char out[SEGMENTS_URL], const char *base, const char *ref);

#endif
