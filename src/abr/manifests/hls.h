/* hls.h - HLS playlists (RFC 8216) on their way to a player: what a proxy changes in them.
 *
 * A multivariant playlist names the levels (variants) of a video, a media playlist the segments of one.
 * hls_offer writes a playlist anew:
 *   - variants above a cap are left out, and one is moved in front of the others, because players begin
 *     with the first one. At least one variant with a picture is left of each codec;
 *   - URIs are replaced by those of the caller.
 * All other lines stay as they are: sound, subtitles, I-frame playlists, keys, comments. So do variants
 * with sound alone.
 *
 * A level's bitrate is that of video.h: AVERAGE-BANDWIDTH if every variant states it, else BANDWIDTH.
 *
 * Errors: ERR_INVALID, ERR_RANGE (e->field is "file:line"), ERR_MEMORY. Threads: pure functions. */
#ifndef ABR_HLS_H
#define ABR_HLS_H

#include "abr/manifests/segments.h"

#include <stdbool.h>
#include <stddef.h>

enum hls_kind { HLS_NONE, HLS_MULTIVARIANT, HLS_MEDIA };

/* By the first tag that only one of them has. */
enum hls_kind hls_kind(const char *text);

/* The ladder of a multivariant playlist, its first set (video.h), as a video of one chunk of that length;
 * NULL on failure. */
struct video *hls_ladder(const char *text, const char *name, double chunk_s,
                         struct err *e);

struct hls_offer {
    double max_kbps;   /* 0: no cap */
    int max_height;    /* of the picture (quality_height); 0: no cap */
    double first_kbps; /* the highest variant up to it goes first; 0: the order stays */
    void *self;
    /* True: out replaces the URI. NULL: all URIs stay. */
    bool (*map)(void *self, char out[SEGMENTS_URL], const char *uri);
};

/* text has (len) bytes and a NUL behind them. The new playlist, owned, with a NUL behind *n bytes; NULL
 * on failure. */
char *hls_offer(size_t *n, const char *text, size_t len, const char *name,
                const struct hls_offer *offer, struct err *e);

#endif
