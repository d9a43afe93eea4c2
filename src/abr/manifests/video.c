#include "video_priv.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_shape(int levels, int chunks, double chunk_s, const double *ladder_kbps,
                       struct err *e)
{
    if (levels < 2 || levels > VIEW_LEVELS)
        return err_field(e, ERR_RANGE, "levels", "%d levels are not within 2 .. %d",
                         levels, VIEW_LEVELS);
    if (chunks < 1 || chunks > VIDEO_CHUNKS_MAX)
        return err_field(e, ERR_RANGE, "chunks", "%d chunks are not within 1 .. %d",
                         chunks, VIDEO_CHUNKS_MAX);
    if (!(chunk_s >= 1.0 && chunk_s <= 10.0))
        return err_field(e, ERR_RANGE, "chunk_s", "%g s is not within 1 .. 10", chunk_s);

    for (int k = 0; k < levels; k++) {
        double below = k ? ladder_kbps[k - 1] : 0.0;
        if (!(ladder_kbps[k] > below && ladder_kbps[k] <= 1e6))
            return err_field(e, ERR_RANGE, "ladder_kbps",
                             "level %d: %g kbit/s is not above %g (and up to 1e6): the "
                             "ladder must ascend",
                             k, ladder_kbps[k], below);
    }
    return 0;
}

struct video *video_new(int levels, int chunks, double chunk_s, const double *ladder_kbps,
                        struct err *e)
{
    if (check_shape(levels, chunks, chunk_s, ladder_kbps, e)) return NULL;

    struct video *v = calloc(1, sizeof *v);
    if (v) v->bytes = calloc((size_t)levels * (size_t)chunks, sizeof *v->bytes);
    if (!v || !v->bytes) {
        video_free(v);
        err_set(e, ERR_MEMORY, "no memory for a video of %d x %d chunks", chunks, levels);
        return NULL;
    }

    v->levels = levels;
    v->chunks = chunks;
    v->chunk_s = chunk_s;
    memcpy(v->ladder_kbps, ladder_kbps, (size_t)levels * sizeof *ladder_kbps);
    return v;
}

void video_free(struct video *v)
{
    if (!v) return;
    free(v->bytes);
    free(v);
}

const int64_t *video_chunk(const struct video *v, int chunk)
{
    assert(chunk >= 0 && chunk < v->chunks);
    return v->bytes + (size_t)chunk * (size_t)v->levels;
}

int video_check(const struct video *v, struct err *e)
{
    int rc = check_shape(v->levels, v->chunks, v->chunk_s, v->ladder_kbps, e);
    if (rc) return rc;
    for (int c = 0; c < v->chunks; c++)
        for (int k = 0; k < v->levels; k++) {
            int64_t bytes = video_chunk(v, c)[k];
            if (bytes < 1 || bytes > VIDEO_BYTES_MAX)
                return err_field(
                    e, ERR_RANGE, v->name,
                    "chunk %d, level %d: %lld bytes are not within 1 .. %lld", c, k,
                    (long long)bytes, (long long)VIDEO_BYTES_MAX);
        }
    return 0;
}

struct video *video_generate(int levels, int chunks, double chunk_s,
                             const double *ladder_kbps, double sigma, uint64_t seed,
                             struct err *e)
{
    if (!(sigma >= 0.0 && sigma <= 2.0)) {
        err_field(e, ERR_RANGE, "sigma", "%g is not within 0 .. 2", sigma);
        return NULL;
    }
    struct video *v = video_new(levels, chunks, chunk_s, ladder_kbps, e);
    if (!v) return NULL;
    snprintf(v->name, sizeof v->name, "generated-%llu", (unsigned long long)seed);

    /* four fifths of the logarithm's variance is the scene, seen by every level alike;
     * the rest is the encoder. -sigma^2/2 keeps the mean at the ladder. */
    struct rng r;
    rng_init(&r, seed, 0);
    double scene_sd = sigma * sqrt(0.8), own_sd = sigma * sqrt(0.2);
    for (int c = 0; c < chunks; c++) {
        double scene = scene_sd * rng_normal(&r) - sigma * sigma / 2.0;
        for (int k = 0; k < levels; k++) {
            double x = exp(scene + own_sd * rng_normal(&r));
            double bytes = ladder_kbps[k] * 1000.0 / 8.0 * chunk_s * x;
            int64_t *at = &v->bytes[(size_t)c * (size_t)levels + (size_t)k];
            *at = (int64_t)fmin(fmax(bytes, 1.0), (double)VIDEO_BYTES_MAX);
        }
    }
    return v;
}

struct video *video_default(struct err *e)
{
    return video_generate(VIDEO_PENSIEVE_LEVELS, 48, 4.0, video_pensieve_ladder,
                          VIDEO_DEFAULT_SPREAD, 1, e);
}

/* What the caller set takes the place of what the format said. */
static int override(struct video *v, const struct video_cfg *cfg, struct err *e)
{
    if (cfg->levels && cfg->levels != v->levels)
        return err_field(e, ERR_CONFLICT, "ladder_kbps", "%d rates for %d levels",
                         cfg->levels, v->levels);
    if (cfg->chunks > v->chunks)
        return err_field(e, ERR_RANGE, "chunks", "%d asked for, the video has %d",
                         cfg->chunks, v->chunks);
    if (cfg->levels) memcpy(v->ladder_kbps, cfg->ladder_kbps, sizeof v->ladder_kbps);
    if (cfg->chunk_s > 0.0) v->chunk_s = cfg->chunk_s;
    if (cfg->chunks > 0) v->chunks = cfg->chunks;
    return 0;
}

/* Last steps of every format; takes v, which may be NULL. */
static struct video *video_finish(struct video *v, const char *name,
                                  const struct video_cfg *cfg, struct err *e)
{
    if (!v) return NULL;
    text_clean(v->name, sizeof v->name, name);
    if (!override(v, cfg, e) && !video_check(v, e)) return v;
    video_free(v);
    return NULL;
}

static const struct video_cfg as_found;

struct video *video_parse_from(const char *text, size_t len, const char *name,
                               const struct segments_source *source,
                               const struct video_cfg *cfg, struct err *e)
{
    if (!cfg) cfg = &as_found;
    size_t bom = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0, at = bom;
    while (at < len && isspace((unsigned char)text[at]))
        at++;

    struct video *v = NULL;
    if (at < len && text[at] == '{')
        v = sabre_read_video(text + bom, len - bom, name, e);
    else if (at < len && text[at] == '<')
        v = mpd_read_video(text + at, len - at, name, source, cfg, e);
    else if (len - at >= 7 && !memcmp(text + at, "#EXTM3U", 7))
        v = hls_read_video(text + at, name, source, e);
    else
        err_field(e, ERR_INVALID, name,
                  "is neither sabre's JSON nor a DASH MPD nor an HLS playlist, nor a "
                  "folder with video_size_0");
    return video_finish(v, name, cfg, e);
}

struct video *video_parse(const char *text, size_t len, const char *name, const char *dir,
                          const struct video_cfg *cfg, struct err *e)
{
    struct segments_source folder = segments_folder(dir);
    return video_parse_from(text, len, name, dir ? &folder : NULL, cfg, e);
}

struct video *video_load(const char *path, const struct video_cfg *cfg, struct err *e)
{
    char name[256];
    text_last_component(name, sizeof name, path);
    struct stat st;
    if (stat(path, &st)) {
        err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, path, "%s", strerror(errno));
        return NULL;
    }
    if (!cfg) cfg = &as_found;
    char table[4096];
    if (S_ISDIR(st.st_mode)) {
        /* what video_save wrote stands for the folder */
        snprintf(table, sizeof table, "%s/%s", path, VIDEO_TABLE);
        if (access(table, F_OK))
            return video_finish(video_read_pensieve(path, cfg, e), name, cfg, e);
        path = table;
    }

    size_t len;
    char *text = text_read_file(path, VIDEO_FILE_MAX, &len, e), dir[4096];
    if (!text) return NULL;
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    struct video *v = video_parse(text, len, name, dir, cfg, e);
    free(text);
    return v;
}

int video_save(const struct video *v, const char *dir, struct err *e)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", dir, VIDEO_TABLE) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, dir, "the path is too long");
    if (mkdir(dir, 0755) && errno != EEXIST)
        return err_field(e, ERR_IO, dir, "cannot be made: %s", strerror(errno));
    return sabre_write_video(v, path, e);
}

uint32_t video_ladder_crc(const struct video *v)
{
    return bytes_crc32(0, v->ladder_kbps, (size_t)v->levels * sizeof v->ladder_kbps[0]);
}
