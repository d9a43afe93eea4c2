#include "abr/manifests/video.h"

#include "base/bytes.h"
#include "base/json_text.h"
#include "base/rng.h"
#include "base/text.h"
#include "video_priv.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PENSIEVE_LEVELS = 6,
    PENSIEVE_FILE_MAX = 4 << 20, /* bytes */
};
static const double PENSIEVE_LADDER[PENSIEVE_LEVELS] = {300, 750, 1200, 1850, 2850, 4300};

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
    quality_curve(v->level_points, ladder_kbps, NULL, levels);
    return v;
}

void video_free(struct video *v)
{
    if (!v) return;
    free(v->bytes);
    free(v->points);
    free(v);
}

void video_points(double *out, const struct video *v, int chunk)
{
    assert(chunk >= 0 && chunk < v->chunks);
    const float *row = v->points + (size_t)chunk * (size_t)v->levels;
    for (int k = 0; k < v->levels; k++)
        out[k] = v->points ? (double)row[k] : v->level_points[k];
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
    return video_generate(PENSIEVE_LEVELS, 48, 4.0, PENSIEVE_LADDER, VIDEO_DEFAULT_SPREAD,
                          1, e);
}

/* ---- Pensieve: a folder of files video_size_0, video_size_1, ... ---- */

/* The integers of one file, one per line, into out (VIDEO_CHUNKS_MAX). */
static int read_size_file(int64_t *out, int *n, char *text, const char *name,
                          struct err *e)
{
    *n = 0;
    int line = 0;
    for (char *next, *s = text; s; s = next) {
        next = strchr(s, '\n');
        if (next) *next++ = '\0';
        line++;
        s += strspn(s, " \t");
        s[strcspn(s, " \t\r")] = '\0';
        if (!*s) continue;

        char where[96];
        snprintf(where, sizeof where, "%.40s:%d", name, line);
        if (*n == VIDEO_CHUNKS_MAX)
            return err_field(e, ERR_RANGE, where, "more than %d chunks",
                             VIDEO_CHUNKS_MAX);
        int rc = text_int(&out[*n], s, 1, VIDEO_BYTES_MAX, where, e);
        if (rc) return rc;
        ++*n;
    }
    return 0;
}

static int load_level(int64_t *out, int *n, const char *dir, int level, struct err *e)
{
    char path[4096], name[32];
    snprintf(name, sizeof name, "video_size_%d", level);
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, dir, "the path is too long");
    size_t len;
    char *text = text_read_file(path, PENSIEVE_FILE_MAX, &len, e);
    if (!text) return ERR_IO;
    int rc = strlen(text) == len ? read_size_file(out, n, text, name, e)
                                 : err_field(e, ERR_INVALID, name, "holds a NUL byte");
    free(text);
    return rc;
}

/* Files video_size_0, _1, ... without a gap. */
static int count_levels(const char *dir)
{
    int n = 0;
    for (;; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/video_size_%d", dir, n);
        if (n > VIEW_LEVELS || access(path, F_OK)) return n;
    }
}

static void ladder_of_means(double *kbps, const int64_t *bytes, int levels, int rows,
                            double chunk_s)
{
    for (int k = 0; k < levels; k++) {
        double sum = 0.0;
        for (int c = 0; c < rows; c++)
            sum += (double)bytes[(size_t)k * VIDEO_CHUNKS_MAX + (size_t)c];
        kbps[k] = sum * 8.0 / 1000.0 / chunk_s / rows;
    }
}

static struct video *read_pensieve(const char *dir, const struct video_cfg *cfg,
                                   struct err *e)
{
    int levels = count_levels(dir);
    if (levels < 2 || levels > VIEW_LEVELS) {
        err_field(e, levels ? ERR_RANGE : ERR_ABSENT, dir,
                  "holds %d files video_size_0, _1, ...: 2 to %d are needed", levels,
                  VIEW_LEVELS);
        return NULL;
    }

    struct video *v = NULL;
    int64_t *bytes = malloc((size_t)levels * VIDEO_CHUNKS_MAX * sizeof *bytes);
    if (!bytes) {
        err_set(e, ERR_MEMORY, "no memory for the sizes of %d levels", levels);
        return NULL;
    }

    int rows = 0;
    for (int k = 0; k < levels; k++) {
        int n = 0;
        if (load_level(bytes + (size_t)k * VIDEO_CHUNKS_MAX, &n, dir, k, e)) goto out;
        if (k && n != rows) {
            err_field(e, ERR_INVALID, dir,
                      "video_size_%d has %d rows and video_size_0 has %d", k, n, rows);
            goto out;
        }
        rows = n;
    }

    int chunks = cfg->chunks ? cfg->chunks : rows - 1;
    if (chunks < 1 || chunks > rows) {
        err_field(e, ERR_RANGE, dir, "%d rows do not make %d chunks", rows, chunks);
        goto out;
    }

    double ladder[VIEW_LEVELS], chunk_s = cfg->chunk_s > 0.0 ? cfg->chunk_s : 4.0;
    if (cfg->levels && cfg->levels != levels) {
        err_field(e, ERR_CONFLICT, "ladder_kbps", "%d rates are given for %d files",
                  cfg->levels, levels);
        goto out;
    }
    if (cfg->levels)
        memcpy(ladder, cfg->ladder_kbps, sizeof ladder);
    else if (levels == PENSIEVE_LEVELS)
        memcpy(ladder, PENSIEVE_LADDER, sizeof PENSIEVE_LADDER);
    else
        ladder_of_means(ladder, bytes, levels, chunks, chunk_s);

    v = video_new(levels, chunks, chunk_s, ladder, e);
    if (!v) goto out;
    for (int c = 0; c < chunks; c++)
        for (int k = 0; k < levels; k++)
            v->bytes[(size_t)c * (size_t)levels + (size_t)k] =
                bytes[(size_t)k * VIDEO_CHUNKS_MAX + (size_t)c];
out:
    free(bytes);
    return v;
}

/* ---- JSON of sabre (Spiteri et al., MMSys 2018) ---- */

static bool number(double *out, const json_t *v)
{
    if (!json_is_number(v)) return false;
    *out = json_number_value(v);
    return true;
}

static int read_ladder(double *kbps, int *levels, const json_t *rates, const char *name,
                       struct err *e)
{
    size_t n = json_array_size(rates);
    if (n < 2 || n > VIEW_LEVELS)
        return text_refuse(name, 0, ERR_RANGE, e,
                           "bitrates_kbps is not an array of 2 to %d numbers",
                           VIEW_LEVELS);
    for (size_t k = 0; k < n; k++)
        if (!number(&kbps[k], json_array_get(rates, k)))
            return text_refuse(name, 0, ERR_INVALID, e,
                               "bitrates_kbps: entry %zu is not a number", k);
    *levels = (int)n;
    return 0;
}

static int read_sizes(struct video *v, const json_t *sizes, const char *name,
                      struct err *e)
{
    for (int c = 0; c < v->chunks; c++) {
        const json_t *row = json_array_get(sizes, (size_t)c);
        if (json_array_size(row) != (size_t)v->levels)
            return text_refuse(
                name, 0, ERR_INVALID, e,
                "segment_sizes_bits: segment %d is not an array of %d sizes", c,
                v->levels);
        for (int k = 0; k < v->levels; k++) {
            double bits;
            bool ok = number(&bits, json_array_get(row, (size_t)k));
            if (!ok || !(bits >= 1.0 && bits <= 8.0 * (double)VIDEO_BYTES_MAX))
                return text_refuse(name, 0, ERR_RANGE, e,
                                   "segment_sizes_bits: segment %d, level %d is not a "
                                   "number of 1 .. 8e9 bits",
                                   c, k);
            v->bytes[(size_t)c * (size_t)v->levels + (size_t)k] =
                (int64_t)ceil(bits / 8.0);
        }
    }
    return 0;
}

static struct video *read_sabre(const char *text, size_t len, const char *name,
                                const struct segments_source *source,
                                const struct video_cfg *cfg, struct err *e)
{
    (void)source, (void)cfg;
    json_t *root = json_text_parse(text, len, VIDEO_FILE_MAX, name, e);
    if (!root) return NULL;

    struct video *v = NULL;
    double ladder[VIEW_LEVELS], chunk_ms;
    int levels = 0;
    const json_t *sizes = json_object_get(root, "segment_sizes_bits");
    if (!number(&chunk_ms, json_object_get(root, "segment_duration_ms")) ||
        !json_is_array(sizes)) {
        text_refuse(name, 0, ERR_INVALID, e,
                    "needs segment_duration_ms, bitrates_kbps and segment_sizes_bits");
        goto out;
    }
    if (read_ladder(ladder, &levels, json_object_get(root, "bitrates_kbps"), name, e))
        goto out;
    if (json_array_size(sizes) > VIDEO_CHUNKS_MAX) {
        text_refuse(name, 0, ERR_RANGE, e, "more than %d segments", VIDEO_CHUNKS_MAX);
        goto out;
    }

    v = video_new(levels, (int)json_array_size(sizes), chunk_ms / 1000.0, ladder, e);
    if (v && read_sizes(v, sizes, name, e)) {
        video_free(v);
        v = NULL;
    }
out:
    json_decref(root);
    return v;
}

static int write_sabre(const struct video *v, const char *path, struct err *e)
{
    json_t *rates = json_array(), *sizes = json_array();
    bool ok = rates && sizes;
    for (int k = 0; ok && k < v->levels; k++)
        ok = !json_array_append_new(rates, json_real(v->ladder_kbps[k]));
    for (int c = 0; ok && c < v->chunks; c++) {
        json_t *row = json_array();
        for (int k = 0; row && k < v->levels; k++)
            json_array_append_new(row, json_integer(8 * video_chunk(v, c)[k]));
        ok = row && !json_array_append_new(sizes, row) &&
             (int)json_array_size(row) == v->levels;
    }
    json_t *root =
        json_pack("{s:f, s:o?, s:o?}", "segment_duration_ms", v->chunk_s * 1000.0,
                  "bitrates_kbps", rates, "segment_sizes_bits", sizes);
    char *text = ok && root ? json_dumps(root, JSON_REAL_PRECISION(15)) : NULL;
    int rc = text ? text_write_file(path, text, strlen(text), e)
                  : err_set(e, ERR_MEMORY, "no memory to write %d chunks", v->chunks);
    free(text);
    json_decref(root);
    return rc;
}

/* ---- the formats ---- */

/* The caller's settings override those of the format. */
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

/* The last steps of every format. Takes v, which may be NULL. */
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

/* The formats that are one text. `begin` is what follows leading blanks. To add a format: one row, a
 * reader with this signature in a source of its own, its line in video.h. */
static const struct video_reader {
    const char *begin;
    struct video *(*read)(const char *text, size_t len, const char *name,
                          const struct segments_source *source,
                          const struct video_cfg *cfg, struct err *e);
} READERS[] = {{"{", read_sabre}, {"<", mpd_read_video}, {"#EXTM3U", hls_read_video}};

struct video *video_parse_from(const char *text, size_t len, const char *name,
                               const struct segments_source *source,
                               const struct video_cfg *cfg, struct err *e)
{
    if (!cfg) cfg = &as_found;
    size_t bom = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0, at = bom;
    while (at < len && text[at] && strchr(VIDEO_BLANKS, text[at]))
        at++;

    for (size_t i = 0; i < sizeof READERS / sizeof *READERS; i++) {
        size_t n = strlen(READERS[i].begin);
        if (len - at < n || memcmp(text + at, READERS[i].begin, n) != 0) continue;
        struct video *v = READERS[i].read(text + bom, len - bom, name, source, cfg, e);
        return video_finish(v, name, cfg, e);
    }
    err_field(e, ERR_INVALID, name,
              "is neither sabre's JSON nor a DASH MPD nor an HLS playlist, nor a folder "
              "with video_size_0");
    return NULL;
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
            return video_finish(read_pensieve(path, cfg, e), name, cfg, e);
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
    return write_sabre(v, path, e);
}

uint32_t video_ladder_crc(const struct video *v)
{
    return bytes_crc32(0, v->ladder_kbps, (size_t)v->levels * sizeof v->ladder_kbps[0]);
}
