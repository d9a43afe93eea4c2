/* segments.h - the chunks of a video as a manifest lists them, and where their sizes are found.
 *
 * A reader of manifests (DASH, HLS) adds levels and their segments. A segment has a duration, and
 * either its bytes (a byte range, an index box) or the URL of a resource whose size is unknown.
 * segments_video asks the source for the unknown sizes and makes a video.
 *
 * The source is an interface with two implementations: a folder (segments_folder) and an HTTP server
 * (cli/fetch.h). URLs are those of the manifest, joined with its base URLs (segments_join). They are relative
 * to the manifest.
 *
 * Limits: VIDEO_CHUNKS_MAX segments of a level. With `most`, that many of all levels together, and URLs
 * of SEGMENTS_URL_MEAN bytes each on average.
 *
 * Errors: ERR_ABSENT (some of the files are missing), ERR_INVALID (levels that are not aligned),
 * ERR_RANGE (also a limit), ERR_MEMORY, those of the source and of video_new.
 * Threads: not shared. */
#ifndef ABR_SEGMENTS_H
#define ABR_SEGMENTS_H

#include "abr/manifests/video.h"

#include <stdbool.h>

#define SEGMENTS_URL 2048 /* bytes, its end included */
#define SEGMENTS_URL_MEAN 256

struct segments;

struct segments_source {
    void *self;
    bool
        must; /* a missing resource is an error; else its size is bitrate times duration */
    /* Bytes of the resource; ERR_ABSENT without a message when it is missing. */
    int (*size)(void *self, int64_t *bytes, const char *url, struct err *e);
    /* At most max bytes from `from` on, then a NUL; owned by the caller. NULL on failure. */
    char *(*read)(void *self, const char *url, int64_t from, size_t max, size_t *len,
                  struct err *e);
    /* Replaces `url`, which was read last, by the address that redirects led to. False when that
     * address is too long. NULL: there are no redirects. */
    bool (*found)(void *self, char url[SEGMENTS_URL]);
    /* Gets the share of known sizes; true stops. May be NULL. */
    bool (*progress)(void *self, double share);
    /* Gets the list with its levels sorted, before their sizes are asked for; != 0 stops. May be NULL. */
    int (*listed)(void *self, const struct segments *s, struct err *e);
};

/* Files in dir (borrowed) and its sub-folders. URLs that lead elsewhere count as missing. */
struct segments_source segments_folder(const char *dir);

struct segment {
    double duration_s;
    int64_t bytes; /* -1: the size of the resource at url */
    int64_t from;  /* first byte within the resource; -1: it is the whole resource */
    size_t url;    /* offset in text */
    float points;  /* quality; < 0: not stated */
};

struct segments_level {
    char id[128]; /* for messages */
    double kbps;
    double peak_kbps; /* 0: not stated */
    int height;       /* of the picture (quality_height); 0: not known */
    /* offsets in text, or SEGMENTS_NONE: of the URL of an initialization segment, and of the playlist
     * that lists the segments */
    size_t init, playlist;
    int n, cap;
    struct segment *at; /* (n), owned */
};

struct segments {
    const char *name;    /* of the manifest, for messages; borrowed */
    int levels, periods; /* periods: that were appended */
    int most, n; /* segments of all levels: the limit (0: none), and those added */
    bool live;   /* more segments will follow */
    bool sound;  /* the bitrates of the levels contain the sound */
    struct segments_level level[VIEW_LEVELS];
    char *text; /* URLs, one after the other, owned */
    size_t text_len, text_cap;
};

#define SEGMENTS_NONE ((size_t)-1)

/* The URL at an offset. */
const char *segments_url(const struct segments *s, size_t at);
/* Keeps a URL: *at is level.init or level.playlist. */
int segments_keep(struct segments *s, size_t *at, const char *url, struct err *e)
    __attribute__((warn_unused_result));
/* Adds a level. Returns its index, or < 0. */
int segments_level(struct segments *s, const char *id, double kbps, struct err *e);
int segments_add(struct segments *s, int level, double duration_s, int64_t bytes,
                 const char *url, struct err *e) __attribute__((warn_unused_result));
/* The segment added last is a part of its resource, from this byte on. */
void segments_begins(struct segments *s, int level, int64_t from);
/* Gives the segments of a level their quality: n points in their order. One number is for all of them,
 * and the last may be missing. ERR_INVALID for fewer, ERR_RANGE for numbers outside 0 .. 100. */
int segments_rate(struct segments *s, int level, const double *points, int n,
                  struct err *e) __attribute__((warn_unused_result));
/* Sorts the levels by bitrate. */
void segments_sort(struct segments *s);
/* Appends the segments of the next period. The levels of both must be sorted. ERR_INVALID when
 * bitrates differ by more than 0.1 %. */
int segments_append(struct segments *to, const struct segments *from, struct err *e)
    __attribute__((warn_unused_result));
/* Sorts the levels. source may be NULL: no file exists. */
struct video *segments_video(struct segments *s, const struct segments_source *source,
                             struct err *e);
void segments_free(struct segments *s);

/* Resolves ref against base (RFC 3986, 5.2); each is a URL or relative. Dot segments are removed. A
 * ".." that leads out of a relative base stays at the front. False when the result is too long. */
bool segments_join(char out[SEGMENTS_URL], const char *base, const char *ref);

#endif
