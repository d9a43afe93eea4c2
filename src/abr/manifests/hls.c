/* hls.c - ladder and chunk sizes from HLS playlists (RFC 8216): a master playlist and its media
 * playlists, which the source reads; and playlists written anew (hls.h). */
#include "abr/manifests/hls.h"

#include "base/text.h"
#include "video_priv.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LEN = 4096, PLAYLIST_MAX = 16 << 20 };

/* The lines of a playlist that are not blank. */
struct lines {
    const char *at, *name;
    const char *from; /* where the line begins in the text */
    int number;
    char line[LINE_LEN];
};

/* The playlist without a byte order mark. RFC 8216 forbids the mark, but some have it. */
static const char *hls_begin(const char *text)
{
    return strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3;
}

/* 1: there is a line, 0: the end, < 0: refused. */
static int next_line(struct lines *l, struct err *e)
{
    if (!l->number) l->at = hls_begin(l->at);
    while (*l->at) {
        size_t len = strcspn(l->at, "\n");
        const char *from = l->from = l->at;
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

/* The sub-range of a segment: "bytes" or "bytes@offset"; *from -1: no offset. False when it is
 * malformed. */
static bool range_bytes(int64_t *bytes, int64_t *from, const char *text)
{
    char number[32];
    size_t n = strcspn(text, "@");
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    *from = -1;
    if (text_int(bytes, number, 1, VIDEO_BYTES_MAX, "", NULL)) return false;
    return !text[n] || !text_int(from, text + n + 1, 0, INT64_MAX / 2, "", NULL);
}

/* The tags before a URI, which describe its segment. */
struct pending {
    double duration_s;   /* < 0: none yet */
    int64_t bytes, from; /* -1: no range; from -1: after the range before */
};
static const struct pending NOTHING = {-1.0, -1, -1};

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
        if (!range_bytes(&p->bytes, &p->from, value))
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
    struct pending p = NOTHING;
    bool ended = false;
    int64_t end = 0; /* of the range before */
    int rc;
    while ((rc = next_line(&l, e)) > 0) {
        if (*l.line == '#') {
            ended |= !strcmp(l.line, "#EXT-X-ENDLIST");
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
        if (p.bytes >= 0) {
            int64_t from = p.from >= 0 ? p.from : end;
            segments_begins(out, level, from);
            end = from + p.bytes;
        }
        p = NOTHING;
    }
    out->live |= !ended;
    return rc;
}

/* ---- master playlist ---- */

struct variant {
    double peak_kbps, mean_kbps; /* mean 0: not stated */
    bool picture;                /* its codecs or its resolution say that it has one */
    char codecs[256], resolution[32]; /* "": not stated */
    int set;                          /* of its codec and range, in their order */
    char uri[SEGMENTS_URL];
};

enum { SETS_MAX = 8, FAMILY = 16, BLOCKS_MAX = 1000 };

struct master {
    int set; /* that is wanted */
    int n;   /* variants of it */
    struct variant at[VIEW_LEVELS];
    int sets;
    char family[SETS_MAX][FAMILY];
};

/* The codec of the picture without its profile, and the VIDEO-RANGE; "": no codec of a picture is
 * stated. */
static void family_of(char out[FAMILY], const char *codecs, const char *range)
{
    static const char *const others[] = {"mp4a", "ac-3", "ec-3", "ac-4", "mha",
                                         "mhm",  "opus", "Opus", "fLaC", "alac",
                                         "dts",  "stpp", "wvtt", "mp3"};
    static const struct {
        const char *begin, *name;
    } same[] = {{"avc", "avc"}, {"hvc", "hevc"}, {"hev", "hevc"}, {"dvh", "dvh"}};
    char name[5] = "";
    for (const char *c = codecs; *c && !*name; c += strcspn(c, ","), c += *c == ',') {
        c += strspn(c, " ");
        bool other = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            other |= !strncmp(c, others[i], strlen(others[i]));
        if (!other) snprintf(name, sizeof name, "%.*s", (int)strcspn(c, ".,"), c);
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!strncmp(name, same[i].begin, 3)) strcpy(name, same[i].name);
    snprintf(out, FAMILY, "%s%s%.8s", name, *name && *range ? " " : "",
             *name && strcmp(range, "SDR") != 0 ? range : "");
}

/* The number of the variant's set. Without codecs it belongs to the first one. */
static int set_of(struct master *m, const char *family)
{
    if (!*family) return 0;
    for (int i = 0; i < m->sets; i++)
        if (!strcmp(m->family[i], family)) return i;
    if (m->sets == SETS_MAX) return SETS_MAX;
    strcpy(m->family[m->sets], family);
    return m->sets++;
}

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

static int read_stream_inf(struct variant *v, struct master *m, const struct lines *l,
                           const char *list, struct err *e)
{
    char range[FAMILY] = "", family[FAMILY];
    *v = (struct variant){0};
    int rc = read_rate(&v->peak_kbps, l, list, "BANDWIDTH", e);
    if (!rc) rc = read_rate(&v->mean_kbps, l, list, "AVERAGE-BANDWIDTH", e);
    if (!rc && v->peak_kbps <= 0.0)
        rc = text_refuse(l->name, l->number, ERR_INVALID, e,
                         "EXT-X-STREAM-INF without BANDWIDTH");
    (void)attribute(v->codecs, sizeof v->codecs, list, "CODECS");
    bool resolution = attribute(v->resolution, sizeof v->resolution, list, "RESOLUTION");
    if (!attribute(range, sizeof range, list, "VIDEO-RANGE")) range[0] = '\0';
    family_of(family, v->codecs, range);
    v->picture = !v->codecs[0] || family[0] || resolution;
    if (v->picture) v->set = set_of(m, family);
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
            rc = read_stream_inf(&v, m, l, list, e);
            if (rc) return rc;
            pending = true;
        }
        if (*l->line == '#' || !pending) continue;
        pending = false;
        bool fits = segments_join(v.uri, "", l->line);
        if (!v.picture || v.set != m->set || (fits && known(m, &v))) continue;
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
        out->level[level].peak_kbps = v->peak_kbps;
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
    (void)len;
    struct segments list = {.name = name, .sound = true, .most = cfg->segments};
    struct video *v = NULL;
    struct master *m = calloc(1, sizeof *m);
    struct lines *l = calloc(1, sizeof *l);
    if (!m || !l) {
        err_set(e, ERR_MEMORY, "no memory for a playlist");
        goto out;
    }
    *l = (struct lines){.at = text + strspn(text, VIDEO_BLANKS), .name = name};
    m->set = cfg->set;
    if (read_master(m, l, e)) goto out;
    if (cfg->set && !m->n) {
        text_refuse(name, 0, ERR_ABSENT, e, "it has %d codecs", m->sets);
        goto out;
    }
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

/* ---- playlists alone ---- */

static struct video *ladder_video(const struct master *m, double chunk_s, struct err *e)
{
    bool means = all_state_means(m);
    struct segments list = {.name = ""};
    for (int i = 0; i < m->n; i++) {
        const struct variant *v = &m->at[i];
        int level = segments_level(&list, v->uri, means ? v->mean_kbps : v->peak_kbps, e);
        list.level[level].height = variant_height(v->resolution);
    }
    segments_sort(&list);
    double ladder[VIEW_LEVELS];
    for (int k = 0; k < list.levels; k++)
        ladder[k] = list.level[k].kbps;
    struct video *v = video_new(list.levels, 1, chunk_s, ladder, e);
    for (int k = 0; v && k < list.levels; k++)
        v->heights[k] = list.level[k].height;
    if (v) video_rate(v);
    segments_free(&list);
    return v;
}

struct video *hls_ladder(const char *text, const char *name, double chunk_s,
                         struct err *e)
{
    struct video *v = NULL;
    struct master *m = calloc(1, sizeof *m);
    struct lines *l = calloc(1, sizeof *l);
    if (!m || !l) {
        err_set(e, ERR_MEMORY, "no memory for a playlist");
    } else {
        *l = (struct lines){.at = text, .name = name};
        if (!read_master(m, l, e)) v = ladder_video(m, chunk_s, e);
    }
    free(l);
    free(m);
    return v;
}

enum hls_kind hls_kind(const char *text)
{
    text = hls_begin(text);
    if (strncmp(text + strspn(text, VIDEO_BLANKS), "#EXTM3U", 7) != 0) return HLS_NONE;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (after(at, "#EXT-X-STREAM-INF:")) return HLS_MULTIVARIANT;
        if (after(at, "#EXTINF:") || after(at, "#EXT-X-TARGETDURATION:"))
            return HLS_MEDIA;
    }
    return HLS_NONE;
}

/* A variant as it stands in the text: from its tag to the end of its URI's line. */
struct hls_block {
    struct variant v;
    const char *from, *to;
    bool gone;
};

struct hls_writer {
    const struct hls_offer *offer;
    const char *name;
    struct text_buffer out;   /* owned */
    struct master m;          /* the families alone */
    struct hls_block *blocks; /* (n_blocks), owned */
    int n_blocks, blocks_cap;
    bool means; /* every variant states AVERAGE-BANDWIDTH */
};

static void hls_put_uri(struct hls_writer *w, const char *uri, size_t n)
{
    char copy[SEGMENTS_URL], out[SEGMENTS_URL];
    bool fits = n < sizeof copy;
    if (fits) snprintf(copy, sizeof copy, "%.*s", (int)n, uri);
    if (fits && n && w->offer->map && w->offer->map(w->offer->self, out, copy))
        text_put(&w->out, out, strlen(out));
    else
        text_put(&w->out, uri, n);
}

/* A tag, with the URIs in its attributes. */
static void hls_put_tag(struct hls_writer *w, const char *line, size_t n)
{
    static const char uri[] = "URI=\"";
    size_t done = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        bool begins = !quoted && i && (line[i - 1] == ',' || line[i - 1] == ':') &&
                      n - i > sizeof uri && !strncmp(line + i, uri, sizeof uri - 1);
        if (begins) {
            size_t at = i + sizeof uri - 1, len = 0;
            while (at + len < n && line[at + len] != '"')
                len++;
            text_put(&w->out, line + done, at - done);
            hls_put_uri(w, line + at, len);
            done = i = at + len;
        } else if (line[i] == '"') {
            quoted = !quoted;
        }
    }
    text_put(&w->out, line + done, n - done);
}

/* Lines within from .. to. */
static void hls_put_lines(struct hls_writer *w, const char *from, const char *to)
{
    while (from < to) {
        const char *end = memchr(from, '\n', (size_t)(to - from));
        size_t whole = end ? (size_t)(end - from) + 1 : (size_t)(to - from), n = whole;
        while (n && (from[n - 1] == '\n' || from[n - 1] == '\r' || from[n - 1] == ' '))
            n--;
        if (n && *from == '#')
            hls_put_tag(w, from, n);
        else
            hls_put_uri(w, from, n);
        text_put(&w->out, from + n, whole - n);
        from += whole;
    }
}

static struct hls_block *hls_add_block(struct hls_writer *w)
{
    if (w->n_blocks == w->blocks_cap) {
        int cap = w->blocks_cap ? 2 * w->blocks_cap : 16;
        struct hls_block *more = realloc(w->blocks, (size_t)cap * sizeof *more);
        w->out.no_memory |= !more;
        if (!more) return NULL;
        w->blocks = more;
        w->blocks_cap = cap;
    }
    return &w->blocks[w->n_blocks++];
}

/* Finds the variants in the text. */
static int hls_cut(struct hls_writer *w, struct lines *l, struct err *e)
{
    struct hls_block *open = NULL;
    for (int rc; (rc = next_line(l, e));) {
        if (rc < 0) return rc;
        const char *list = after(l->line, "#EXT-X-STREAM-INF:");
        if (list) {
            if (w->n_blocks == BLOCKS_MAX)
                return text_refuse(w->name, l->number, ERR_RANGE, e,
                                   "more than %d variants", BLOCKS_MAX);
            open = hls_add_block(w);
            if (!open) return err_set(e, ERR_MEMORY, "no memory for variants");
            open->from = l->from;
            open->gone = false;
            rc = read_stream_inf(&open->v, &w->m, l, list, e);
            if (rc) return rc;
        }
        if (*l->line == '#' || !open) continue;
        open->to = l->at;
        open = NULL;
    }
    w->means = true;
    for (int i = 0; i < w->n_blocks; i++)
        w->means &= !w->blocks[i].v.picture || w->blocks[i].v.mean_kbps > 0;
    if (!open) return 0;
    return text_refuse(w->name, l->number, ERR_INVALID, e,
                       "EXT-X-STREAM-INF without a URI behind it");
}

static double hls_block_kbps(const struct hls_writer *w, const struct hls_block *b)
{
    return w->means ? b->v.mean_kbps : b->v.peak_kbps;
}

/* Marks what is above a cap. The lowest variants of a set whose variants are all above it stay. */
static void hls_apply_caps(struct hls_writer *w)
{
    const struct hls_offer *o = w->offer;
    for (int set = 0; set <= SETS_MAX; set++) {
        double lowest = 0;
        bool left = false;
        for (int i = 0; i < w->n_blocks; i++) {
            struct hls_block *b = &w->blocks[i];
            double kbps = hls_block_kbps(w, b);
            if (!b->v.picture || b->v.set != set) continue;
            int height = variant_height(b->v.resolution);
            b->gone = (o->max_kbps > 0 && kbps > o->max_kbps * (1 + 1e-6)) ||
                      (o->max_height > 0 && height > o->max_height);
            left |= !b->gone;
            if (lowest <= 0 || kbps < lowest) lowest = kbps;
        }
        for (int i = 0; i < w->n_blocks && !left; i++) {
            struct hls_block *b = &w->blocks[i];
            if (b->v.picture && b->v.set == set && hls_block_kbps(w, b) <= lowest)
                b->gone = false;
        }
    }
}

/* The variant that goes first: of the codec that is first now. NULL: none. */
static const struct hls_block *hls_first(const struct hls_writer *w)
{
    const struct hls_block *best = NULL;
    double most = w->offer->first_kbps * (1 + 1e-6), best_kbps = 0;
    int set = -1;
    for (int i = 0; i < w->n_blocks && w->offer->first_kbps > 0; i++) {
        const struct hls_block *b = &w->blocks[i];
        double kbps = hls_block_kbps(w, b);
        if (b->gone || !b->v.picture || (best && b->v.set != set)) continue;
        bool fits = kbps <= most, had = best_kbps <= most;
        bool better = !best || (fits && (!had || kbps > best_kbps)) ||
                      (!fits && !had && kbps < best_kbps);
        if (!better) continue;
        set = b->v.set;
        best = b;
        best_kbps = kbps;
    }
    return best;
}

static void hls_put_playlist(struct hls_writer *w, const char *text, size_t len)
{
    const struct hls_block *first = hls_first(w);
    const char *at = hls_begin(text);
    for (int i = 0; i < w->n_blocks; i++) {
        const struct hls_block *b = &w->blocks[i];
        hls_put_lines(w, at, b->from);
        if (i == 0 && first) {
            hls_put_lines(w, first->from, first->to);
            if (first->to[-1] != '\n') text_put(&w->out, "\n", 1);
        }
        if (!b->gone && b != first) hls_put_lines(w, b->from, b->to);
        at = b->to;
    }
    hls_put_lines(w, at, text + len);
}

char *hls_offer(size_t *n, const char *text, size_t len, const char *name,
                const struct hls_offer *offer, struct err *e)
{
    struct hls_writer *w = calloc(1, sizeof *w);
    struct lines *l = calloc(1, sizeof *l);
    char *out = NULL;
    if (!w || !l) {
        err_set(e, ERR_MEMORY, "no memory for a playlist");
        goto out;
    }
    w->offer = offer;
    w->name = name;
    *l = (struct lines){.at = text, .name = name};
    if (hls_kind(text) == HLS_MULTIVARIANT && hls_cut(w, l, e)) goto out;
    hls_apply_caps(w);
    hls_put_playlist(w, text, len);
    if (w->out.no_memory) {
        err_set(e, ERR_MEMORY, "no memory for a playlist of %zu bytes", len);
        goto out;
    }
    *n = w->out.n;
    out = w->out.text;
    w->out.text = NULL;
out:
    if (w) {
        free(w->blocks);
        free(w->out.text);
    }
    free(w);
    free(l);
    return out;
}
