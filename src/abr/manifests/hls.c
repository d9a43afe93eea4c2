/* hls.c - ladder and chunk sizes from HLS playlists (RFC 8216): a master playlist and its media
 * playlists, which the source reads. */
#include "video_priv.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LEN = 4096, PLAYLIST_MAX = 16 << 20 };

/* The lines of a playlist that are not blank. */
struct lines {
    const char *at, *name;
    int number;
    char line[LINE_LEN];
};

/* 1: there is a line, 0: the end, < 0: refused. */
static int next_line(struct lines *l, struct err *e)
{
    while (*l->at) {
        size_t len = strcspn(l->at, "\n");
        const char *from = l->at;
        l->at += len + (l->at[len] == '\n');
        l->number++;
        while (len && (from[len - 1] == '\r' || from[len - 1] == ' '))
            len--;
        if (!len) continue;
        if (len >= LINE_LEN)
            return text_refuse(l->name, l->number, ERR_RANGE, e,
                               "a line of %zu bytes, more than %d", len, LINE_LEN - 1);
        memcpy(l->line, from, len);
        l->line[len] = '\0';
        return 1;
    }
    return 0;
}

/* The text behind the tag; NULL when the line has another tag. */
static const char *after(const char *line, const char *tag)
{
    size_t n = strlen(tag);
    return strncmp(line, tag, n) ? NULL : line + n;
}

/* The value of an attribute without its quotes. False when the list lacks it. */
static bool attribute(char *out, size_t size, const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = list; *s;) {
        s += strspn(s, ", ");
        size_t key = strcspn(s, "=");
        const char *value = s[key] ? s + key + 1 : s + key;
        bool quoted = *value == '"';
        size_t len = quoted ? strcspn(value + 1, "\"") : strcspn(value, ",");
        if (key == n && !strncmp(s, name, n))
            return snprintf(out, size, "%.*s", (int)len, value + quoted) < (int)size;
        s = value + quoted + len;
        s += quoted && *s == '"';
    }
    return false;
}

/* ---- media playlists ---- */

/* The sub-range of a segment: "bytes" or "bytes@offset"; -1 when it is malformed. */
static int64_t range_bytes(const char *text)
{
    char number[32];
    int64_t bytes;
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "@"), text);
    return text_int(&bytes, number, 1, VIDEO_BYTES_MAX, "", NULL) ? -1 : bytes;
}

/* The tags before a URI, which describe its segment. */
struct pending {
    double duration_s; /* < 0: none yet */
    int64_t bytes;     /* -1: no range */
};

static int read_tag(struct pending *p, const struct lines *l, struct err *e)
{
    const char *value;
    if ((value = after(l->line, "#EXTINF:"))) {
        char number[32];
        snprintf(number, sizeof number, "%.*s", (int)strcspn(value, ", "), value);
        if (text_double(&p->duration_s, number, 0.0, 1e6, "", NULL))
            return text_refuse(l->name, l->number, ERR_INVALID, e,
                               "EXTINF: '%.40s' is not a duration in seconds", number);
    } else if ((value = after(l->line, "#EXT-X-BYTERANGE:"))) {
        p->bytes = range_bytes(value);
        if (p->bytes < 0)
            return text_refuse(l->name, l->number, ERR_INVALID, e,
                               "EXT-X-BYTERANGE: '%.40s' is not bytes@offset", value);
    }
    return 0;
}

/* Reads the media playlist `url`, found at `base`, into a level. */
static int read_media(struct segments *out, int level, const char *text, const char *url,
                      const char *base, struct err *e)
{
    struct lines l = {.at = text, .name = url};
    struct pending p = {-1.0, -1};
    int rc;
    while ((rc = next_line(&l, e)) > 0) {
        if (*l.line == '#') {
            rc = read_tag(&p, &l, e);
            if (rc) return rc;
            continue;
        }
        char joined[SEGMENTS_URL];
        if (p.duration_s < 0.0)
            return text_refuse(url, l.number, ERR_INVALID, e,
                               "a segment without EXTINF before it");
        if (!segments_join(joined, base, l.line))
            return text_refuse(url, l.number, ERR_RANGE, e, "the URI is too long");
        rc = segments_add(out, level, p.duration_s, p.bytes, joined, e);
        if (rc) return rc;
        p = (struct pending){-1.0, -1};
    }
    return rc;
}

/* ---- master playlist ---- */

struct variant {
    double peak_kbps, mean_kbps; /* mean 0: not stated */
    bool picture;                /* its codecs or its resolution say that it has one */
    char codecs[256], resolution[32]; /* "": not stated */
    char uri[SEGMENTS_URL];
};

struct master {
    int n;
    struct variant at[VIEW_LEVELS];
};

static int read_rate(double *kbps, const struct lines *l, const char *list,
                     const char *name, struct err *e)
{
    char text[32];
    double bits_per_s;
    if (!attribute(text, sizeof text, list, name)) return 0;
    if (text_double(&bits_per_s, text, 1.0, 1e12, "", NULL))
        return text_refuse(l->name, l->number, ERR_INVALID, e,
                           "EXT-X-STREAM-INF: %s '%s' is not a number of bits per second",
                           name, text);
    *kbps = bits_per_s / 1000.0;
    return 0;
}

static int read_stream_inf(struct variant *v, const struct lines *l, const char *list,
                           struct err *e)
{
    *v = (struct variant){0};
    int rc = read_rate(&v->peak_kbps, l, list, "BANDWIDTH", e);
    if (!rc) rc = read_rate(&v->mean_kbps, l, list, "AVERAGE-BANDWIDTH", e);
    if (!rc && v->peak_kbps <= 0.0)
        rc = text_refuse(l->name, l->number, ERR_INVALID, e,
                         "EXT-X-STREAM-INF without BANDWIDTH");
    bool codecs = attribute(v->codecs, sizeof v->codecs, list, "CODECS");
    bool resolution = attribute(v->resolution, sizeof v->resolution, list, "RESOLUTION");
    v->picture =
        !codecs || !after(v->codecs, "mp4a.") || strchr(v->codecs, ',') || resolution;
    return rc;
}

/* The same playlist, or one with the same description. */
static bool hls_same(const struct variant *a, const struct variant *b)
{
    if (!strcmp(a->uri, b->uri)) return true;
    return a->peak_kbps == b->peak_kbps && a->mean_kbps == b->mean_kbps &&
           !strcmp(a->codecs, b->codecs) && !strcmp(a->resolution, b->resolution);
}

static bool known(const struct master *m, const struct variant *v)
{
    for (int i = 0; i < m->n; i++)
        if (hls_same(&m->at[i], v)) return true;
    return false;
}

/* Skips variants with sound alone, variants whose playlist is already listed (with another rendition
 * of the sound), and redundant streams (the same variant on another server, as a fallback). */
static int read_master(struct master *m, struct lines *l, struct err *e)
{
    struct variant v;
    bool pending = false;
    int rc;
    while ((rc = next_line(l, e)) > 0) {
        const char *list = after(l->line, "#EXT-X-STREAM-INF:");
        if (after(l->line, "#EXTINF:"))
            return text_refuse(l->name, l->number, ERR_INVALID, e,
                               "is the media playlist of one level: give the master "
                               "playlist, which names them all");
        if (list) {
            rc = read_stream_inf(&v, l, list, e);
            if (rc) return rc;
            pending = true;
        }
        if (*l->line == '#' || !pending) continue;
        pending = false;
        bool fits = segments_join(v.uri, "", l->line);
        if (!v.picture || (fits && known(m, &v))) continue;
        if (m->n == VIEW_LEVELS || !fits)
            return text_refuse(l->name, l->number, ERR_RANGE, e,
                               "more than %d variants, or a URI over %d bytes",
                               VIEW_LEVELS, SEGMENTS_URL - 1);
        m->at[m->n++] = v;
    }
    return rc;
}

/* BANDWIDTH is a peak. The mean is nearer to a chunk's size and is used when all variants state it. */
static bool all_state_means(const struct master *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i].mean_kbps <= 0.0) return false;
    return true;
}

/* "1280x720"; 0 when it is malformed. */
static int variant_height(const char *resolution)
{
    char number[32];
    size_t n = strcspn(resolution, "x");
    int64_t width, height;
    snprintf(number, sizeof number, "%.*s", (int)n, resolution);
    if (!resolution[n] || text_int(&width, number, 1, VIDEO_HEIGHT_MAX, "", NULL) ||
        text_int(&height, resolution + n + 1, 1, VIDEO_HEIGHT_MAX, "", NULL))
        return 0;
    return quality_height((int)width, (int)height);
}

static int read_variants(struct segments *out, const struct master *m,
                         const struct segments_source *source, struct err *e)
{
    bool means = all_state_means(m);
    int rc = 0;
    for (int i = 0; i < m->n && !rc; i++) {
        const struct variant *v = &m->at[i];
        size_t len;
        int level = segments_level(out, v->uri, means ? v->mean_kbps : v->peak_kbps, e);
        if (level < 0) return level;
        out->level[level].height = variant_height(v->resolution);
        rc = segments_keep(out, &out->level[level].playlist, v->uri, e);
        if (rc) return rc;
        char *text = source->read(source->self, v->uri, 0, PLAYLIST_MAX, &len, e);
        if (!text) return e && e->code ? e->code : ERR_IO;
        char base[SEGMENTS_URL];
        strcpy(base, v->uri);
        if (source->found && !source->found(source->self, base))
            rc = text_refuse(v->uri, 0, ERR_RANGE, e,
                             "it is redirected to a URL over %d bytes", SEGMENTS_URL - 1);
        else
            rc = read_media(out, level, text, v->uri, base, e);
        free(text);
    }
    return rc;
}

struct video *hls_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e)
{
    (void)len, (void)cfg;
    struct segments list = {.name = name};
    struct video *v = NULL;
    struct master *m = calloc(1, sizeof *m);
    struct lines *l = calloc(1, sizeof *l);
    if (!m || !l) {
        err_set(e, ERR_MEMORY, "no memory for a playlist");
        goto out;
    }
    *l = (struct lines){.at = text + strspn(text, VIDEO_BLANKS), .name = name};
    if (read_master(m, l, e)) goto out;
    if (!source)
        text_refuse(name, 0, ERR_ABSENT, e,
                    "its media playlists cannot be read from here");
    else if (!read_variants(&list, m, source, e))
        v = segments_video(&list, source, e);
out:
    segments_free(&list);
    free(l);
    free(m);
    return v;
}
