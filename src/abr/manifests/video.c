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

int video_make_points(struct video *v, struct err *e)
{
    size_t n = (size_t)v->levels * (size_t)v->chunks;
    float *points = calloc(n, sizeof *points);
    if (!points)
        return err_set(e, ERR_MEMORY, "no memory for the quality of %d x %d chunks",
                       v->chunks, v->levels);
    free(v->points);
    v->points = points;
    v->quality = QUALITY_CHUNK;
    return 0;
}

void video_set_levels(struct video *v, const double *points)
{
    free(v->points);
    v->points = NULL;
    v->quality = QUALITY_LEVEL;
    memcpy(v->level_points, points, (size_t)v->levels * sizeof *points);
}

static bool heights_known(const struct video *v)
{
    for (int k = 0; k < v->levels; k++)
        if (!v->heights[k]) return false;
    return true;
}

void video_rate(struct video *v)
{
    if (v->quality == QUALITY_CURVE)
        quality_curve(v->level_points, v->ladder_kbps,
                      heights_known(v) ? v->heights : NULL, v->levels);
    if (v->quality != QUALITY_CHUNK) return;
    for (int k = 0; k < v->levels; k++) {
        double sum = 0.0;
        for (int c = 0; c < v->chunks; c++)
            sum += (double)v->points[(size_t)c * (size_t)v->levels + (size_t)k];
        v->level_points[k] = sum / v->chunks;
    }
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

static int check_quality(const struct video *v, struct err *e)
{
    for (int k = 0; k < v->levels; k++)
        if (v->heights[k] < 0 || v->heights[k] > VIDEO_HEIGHT_MAX)
            return err_field(e, ERR_RANGE, v->name,
                             "level %d: a height of %d pixels is not within 0 .. %d", k,
                             v->heights[k], VIDEO_HEIGHT_MAX);
    for (int c = 0; c < v->chunks; c++) {
        double points[VIEW_LEVELS];
        video_points(points, v, c);
        for (int k = 0; k < v->levels; k++)
            if (!(points[k] >= 0.0 && points[k] <= QUALITY_MAX))
                return err_field(e, ERR_RANGE, v->name,
                                 "chunk %d, level %d: a quality of %g points is not "
                                 "within 0 .. %g",
                                 c, k, points[k], QUALITY_MAX);
    }
    return 0;
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
    return check_quality(v, e);
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

static const char SIZES[] = "video_size", QUALITY[] = "video_quality", VMAF[] = "vmaf";

/* The numbers of one file, one per line: bytes or points. The other one is NULL. */
struct column {
    int n;
    int64_t *bytes; /* (VIDEO_CHUNKS_MAX), borrowed */
    float *points;  /* the same */
};

static int column_add(struct column *c, const char *text, const char *where,
                      struct err *e)
{
    if (c->n == VIDEO_CHUNKS_MAX)
        return err_field(e, ERR_RANGE, where, "more than %d chunks", VIDEO_CHUNKS_MAX);
    double points = 0.0;
    int rc = c->bytes ? text_int(&c->bytes[c->n], text, 1, VIDEO_BYTES_MAX, where, e)
                      : text_double(&points, text, 0.0, QUALITY_MAX, where, e);
    if (rc) return rc;
    if (c->points) c->points[c->n] = (float)points;
    c->n++;
    return 0;
}

static int read_column(struct column *c, char *text, const char *name, struct err *e)
{
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
        int rc = column_add(c, s, where, e);
        if (rc) return rc;
    }
    return 0;
}

/* Reads dir/KIND_LEVEL. */
static int load_column(struct column *c, const char *dir, const char *kind, int level,
                       struct err *e)
{
    char path[4096], name[32];
    snprintf(name, sizeof name, "%s_%d", kind, level);
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, dir, "the path is too long");
    size_t len;
    char *text = text_read_file(path, PENSIEVE_FILE_MAX, &len, e);
    if (!text) return ERR_IO;
    int rc = strlen(text) == len ? read_column(c, text, name, e)
                                 : err_field(e, ERR_INVALID, name, "holds a NUL byte");
    free(text);
    return rc;
}

/* Files KIND_0, KIND_1, ... without a gap. */
static int count_columns(const char *dir, const char *kind)
{
    int n = 0;
    for (;; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s_%d", dir, kind, n);
        if (n > VIEW_LEVELS || access(path, F_OK)) return n;
    }
}

/* Rows of every level, which must be as many: bytes or points is (levels, VIDEO_CHUNKS_MAX). */
static int load_columns(int64_t *bytes, float *points, int *rows, const char *dir,
                        const char *kind, int levels, struct err *e)
{
    for (int k = 0; k < levels; k++) {
        size_t from = (size_t)k * VIDEO_CHUNKS_MAX;
        struct column c = {.bytes = bytes ? bytes + from : NULL,
                           .points = points ? points + from : NULL};
        int rc = load_column(&c, dir, kind, k, e);
        if (rc) return rc;
        if (k && c.n != *rows)
            return err_field(e, ERR_INVALID, dir, "%s_%d has %d rows and %s_0 has %d",
                             kind, k, c.n, kind, *rows);
        *rows = c.n;
    }
    return 0;
}

/* The last row of the sizes is the rest of the video and may be left out (video.h). The quality of that
 * rest may be missing or be in the files, and so may one row more. */
enum { SPARE_ROWS = 2 };

static int join_quality(struct video *v, const char *dir, const char *kind, bool part,
                        struct err *e)
{
    int n = count_columns(dir, kind), rows = 0;
    if (n != v->levels)
        return err_field(e, ERR_CONFLICT, dir,
                         "holds %d files %s_0, _1, ... and the video has %d levels", n,
                         kind, v->levels);
    float *points = malloc((size_t)n * VIDEO_CHUNKS_MAX * sizeof *points);
    if (!points)
        return err_set(e, ERR_MEMORY, "no memory for the quality of %d levels", n);

    int rc = load_columns(NULL, points, &rows, dir, kind, n, e);
    if (!rc && (rows < v->chunks || (!part && rows > v->chunks + SPARE_ROWS)))
        rc = err_field(e, ERR_CONFLICT, dir,
                       "%s_0 has %d rows and the video has %d chunks: they belong to "
                       "different videos",
                       kind, rows, v->chunks);
    if (!rc) rc = video_make_points(v, e);
    for (int c = 0; c < v->chunks && !rc; c++)
        for (int k = 0; k < n; k++)
            v->points[(size_t)c * (size_t)n + (size_t)k] =
                points[(size_t)k * VIDEO_CHUNKS_MAX + (size_t)c];
    free(points);
    if (!rc) video_rate(v);
    return rc;
}

int video_load_quality(struct video *v, const char *dir, struct err *e)
{
    const char *kind = count_columns(dir, QUALITY) ? QUALITY : VMAF;
    if (!count_columns(dir, kind))
        return err_field(e, ERR_ABSENT, dir, "holds neither %s_0 nor %s_0", QUALITY,
                         VMAF);
    return join_quality(v, dir, kind, false, e);
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
    int levels = count_columns(dir, SIZES);
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
    if (load_columns(bytes, NULL, &rows, dir, SIZES, levels, e)) goto out;

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
    if (count_columns(dir, QUALITY) &&
        join_quality(v, dir, QUALITY, cfg->chunks > 0, e)) {
        video_free(v);
        v = NULL;
    }
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

/* One row of (levels) numbers within 0 .. most. `what` is its place in the file. */
static int read_row(double *out, const struct video *v, const json_t *row, double most,
                    const char *what, const char *name, struct err *e)
{
    if (json_array_size(row) != (size_t)v->levels)
        return text_refuse(name, 0, ERR_INVALID, e, "%s is not an array of %d numbers",
                           what, v->levels);
    for (int k = 0; k < v->levels; k++) {
        bool ok = number(&out[k], json_array_get(row, (size_t)k));
        if (!ok || !(out[k] >= 0.0 && out[k] <= most))
            return text_refuse(name, 0, ERR_RANGE, e,
                               "%s: level %d is not a number within 0 .. %g", what, k,
                               most);
    }
    return 0;
}

static int read_chunk_points(struct video *v, const json_t *rows, const char *name,
                             struct err *e)
{
    if (json_array_size(rows) != (size_t)v->chunks)
        return text_refuse(name, 0, ERR_INVALID, e,
                           "quality is not an array of %d rows, one for each segment",
                           v->chunks);
    int rc = video_make_points(v, e);
    for (int c = 0; c < v->chunks && !rc; c++) {
        char what[48];
        double points[VIEW_LEVELS];
        snprintf(what, sizeof what, "quality: segment %d", c);
        rc = read_row(points, v, json_array_get(rows, (size_t)c), QUALITY_MAX, what, name,
                      e);
        for (int k = 0; k < v->levels && !rc; k++)
            v->points[(size_t)c * (size_t)v->levels + (size_t)k] = (float)points[k];
    }
    return rc;
}

/* Our own keys, each optional. */
static int read_quality(struct video *v, const json_t *root, const char *name,
                        struct err *e)
{
    const json_t *heights = json_object_get(root, "heights");
    const json_t *levels = json_object_get(root, "level_quality");
    const json_t *chunks = json_object_get(root, "quality");
    double row[VIEW_LEVELS];
    int rc = 0;
    if (heights) rc = read_row(row, v, heights, VIDEO_HEIGHT_MAX, "heights", name, e);
    for (int k = 0; heights && !rc && k < v->levels; k++)
        v->heights[k] = (int)lround(row[k]);
    if (!rc && levels) {
        rc = read_row(row, v, levels, QUALITY_MAX, "level_quality", name, e);
        if (!rc) video_set_levels(v, row);
    }
    if (!rc && chunks) rc = read_chunk_points(v, chunks, name, e);
    return rc;
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
    if (v && (read_sizes(v, sizes, name, e) || read_quality(v, root, name, e))) {
        video_free(v);
        v = NULL;
    }
out:
    json_decref(root);
    return v;
}

/* The shortest decimal number that reads as this float. */
static json_t *json_float(float x)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (!((float)strtod(text, NULL) < x) && !((float)strtod(text, NULL) > x)) break;
    }
    return json_real(strtod(text, NULL));
}

/* NULL without memory, as the functions of jansson that take what they get. */
static json_t *sabre_sizes(const struct video *v)
{
    json_t *all = json_array();
    for (int c = 0; c < v->chunks; c++) {
        json_t *row = json_array();
        for (int k = 0; k < v->levels; k++)
            json_array_append_new(row, json_integer(8 * video_chunk(v, c)[k]));
        json_array_append_new(all, row);
    }
    return all;
}

static json_t *sabre_points(const struct video *v)
{
    json_t *all = json_array();
    for (int c = 0; c < v->chunks; c++) {
        json_t *row = json_array();
        for (int k = 0; k < v->levels; k++)
            json_array_append_new(
                row, json_float(v->points[(size_t)c * (size_t)v->levels + (size_t)k]));
        json_array_append_new(all, row);
    }
    return all;
}

static bool is_whole(const json_t *table, const struct video *v)
{
    bool ok = json_array_size(table) == (size_t)v->chunks;
    for (int c = 0; ok && c < v->chunks; c++)
        ok = json_array_size(json_array_get(table, (size_t)c)) == (size_t)v->levels;
    return ok;
}

static json_t *sabre_root(const struct video *v)
{
    json_t *root = json_object(), *rates = json_array(), *heights = json_array(),
           *levels = json_array(), *sizes = sabre_sizes(v),
           *points = v->quality == QUALITY_CHUNK ? sabre_points(v) : NULL;
    for (int k = 0; k < v->levels; k++) {
        json_array_append_new(rates, json_real(v->ladder_kbps[k]));
        json_array_append_new(heights, json_integer(v->heights[k]));
        json_array_append_new(levels, json_real(v->level_points[k]));
    }
    size_t n = (size_t)v->levels;
    bool ok = json_array_size(rates) == n && json_array_size(heights) == n &&
              json_array_size(levels) == n && is_whole(sizes, v) &&
              (v->quality != QUALITY_CHUNK || is_whole(points, v));

    ok &= !json_object_set_new(root, "segment_duration_ms", json_real(v->chunk_s * 1000));
    ok &= !json_object_set(root, "bitrates_kbps", rates);
    ok &= !json_object_set(root, "segment_sizes_bits", sizes);
    if (heights_known(v)) ok &= !json_object_set(root, "heights", heights);
    if (v->quality == QUALITY_LEVEL)
        ok &= !json_object_set(root, "level_quality", levels);
    if (v->quality == QUALITY_CHUNK) ok &= !json_object_set(root, "quality", points);
    json_decref(rates);
    json_decref(heights);
    json_decref(levels);
    json_decref(sizes);
    json_decref(points);
    if (ok) return root;
    json_decref(root);
    return NULL;
}

static int write_sabre(const struct video *v, const char *path, struct err *e)
{
    json_t *root = sabre_root(v);
    char *text = root ? json_dumps(root, JSON_REAL_PRECISION(15)) : NULL;
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
    video_rate(v);
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

static int make_folder(const char *dir, struct err *e)
{
    if (!mkdir(dir, 0755) || errno == EEXIST) return 0;
    return err_field(e, ERR_IO, dir, "cannot be made: %s", strerror(errno));
}

int video_save_quality(const struct video *v, const char *dir, struct err *e)
{
    int rc = make_folder(dir, e);
    size_t room = (size_t)v->chunks * 32, size = 0;
    char *text = rc ? NULL : malloc(room);
    if (!rc && !text) rc = err_set(e, ERR_MEMORY, "no memory for %d chunks", v->chunks);
    for (int k = 0; k < v->levels && !rc; k++, size = 0) {
        char path[4096];
        for (int c = 0; c < v->chunks; c++) {
            double points[VIEW_LEVELS];
            video_points(points, v, c);
            size += (size_t)snprintf(text + size, room - size, "%.2f\n", points[k]);
        }
        if (snprintf(path, sizeof path, "%s/%s_%d", dir, QUALITY, k) >= (int)sizeof path)
            rc = err_field(e, ERR_RANGE, dir, "the path is too long");
        else
            rc = text_write_file(path, text, size, e);
    }
    free(text);
    return rc;
}

int video_save(const struct video *v, const char *dir, struct err *e)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", dir, VIDEO_TABLE) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, dir, "the path is too long");
    int rc = make_folder(dir, e);
    return rc ? rc : write_sabre(v, path, e);
}

uint32_t video_ladder_crc(const struct video *v)
{
    return bytes_crc32(0, v->ladder_kbps, (size_t)v->levels * sizeof v->ladder_kbps[0]);
}
