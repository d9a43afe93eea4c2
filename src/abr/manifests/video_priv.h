/* video_priv.h - the readers of video formats, each in its own source. The struct they
 * give has no name yet and is not yet through video_check: video_load does both. */
#ifndef ABR_VIDEO_PRIV_H
#define ABR_VIDEO_PRIV_H

#include "abr/manifests/segments.h"
#include "abr/manifests/video.h"

#include <stddef.h>

enum { VIDEO_PENSIEVE_LEVELS = 6 };
extern const double video_pensieve_ladder[VIDEO_PENSIEVE_LEVELS];

/* dir holds video_size_0, ... */
struct video *video_read_pensieve(const char *dir, const struct video_cfg *cfg,
                                  struct err *e);

/* In sabre.c, mpd.c and hls.c: text of (len) bytes and a NUL, name for messages. Segments and
 * playlists beside a manifest are asked for at the source, unless it is NULL. */
struct video *sabre_read_video(const char *text, size_t len, const char *name,
                               struct err *e);
int sabre_write_video(const struct video *v, const char *path, struct err *e);
struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e);
struct video *hls_read_video(const char *text, const char *name,
                             const struct segments_source *source, struct err *e);

#endif
