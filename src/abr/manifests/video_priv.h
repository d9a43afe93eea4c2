/* video_priv.h - the readers of manifests in mpd.c and hls.c.
 *
 * text has (len) bytes and a NUL behind them; blanks may lead it. name: for messages. Segments and
 * playlists next to the manifest are read from the source, which may be NULL. The result has no name
 * yet, and video_check has not seen it: video_parse_from does both. */
#ifndef ABR_VIDEO_PRIV_H
#define ABR_VIDEO_PRIV_H

#include "abr/manifests/segments.h"
#include "abr/manifests/video.h"

struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e);
struct video *hls_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e);

#define VIDEO_BLANKS " \t\n\v\f\r"

#endif
