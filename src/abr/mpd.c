/* mpd.c - ladder and chunk sizes from a DASH manifest (ISO/IEC 23009-1). The one place
 * that knows libxml2, which is called without network, entities or external documents. */
#include "video_priv.h"

#include "base/text.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_LEN = 1024, DEPTH = 4 };

/* From MPD down to Representation: what is inherited is looked up from the inside out. */
struct chain {
    const xmlNode *at[DEPTH];
    int n;
};

/* One Representation's segments. */
struct stream {
    char id[128], media[PATH_LEN], base[PATH_LEN];
    double kbps;
    int64_t start_number;
};

/* The segments' times, in units of 1 / timescale s; shared by all levels. */
struct timing {
    double timescale;
    int n;
    int64_t *start, *duration; /* (n), owned */
};

struct mpd {
    const char *name;
    int levels;
    struct stream stream[VIEW_LEVELS];
    struct timing timing;
};

/* The line of the element that is to blame. */
static int line(const xmlNode *at)
{
    return at ? (int)xmlGetLineNo(at) : 1;
}

static bool is(const xmlNode *n, const char *element)
{
    return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, element);
}

/* The next sibling element of that name from n on, n included. */
static const xmlNode *next_named(const xmlNode *n, const char *element)
{
    while (n && !is(n, element))
        n = n->next;
    return n;
}

static const xmlNode *child(const xmlNode *n, const char *element)
{
    return next_named(n->children, element);
}

/* False when the attribute is absent or longer than the buffer. */
static bool attribute(char *out, size_t size, const xmlNode *n, const char *attr)
{
    xmlChar *s = xmlGetNoNsProp(n, (const xmlChar *)attr);
    bool ok = s && strlen((const char *)s) < size;
    if (ok) strcpy(out, (const char *)s);
    xmlFree(s);
    return ok;
}

/* ----------------------------------------------------------------- attributes' values */

/* Times since 1970 in units of 100 ns fit, and sums of segments do not overflow. */
#define NUMBER_MAX INT64_C(100000000000000000)
#define DURATION_MAX INT64_C(1000000000000)

static bool whole(int64_t *out, const char *s)
{
    char *end;
    if (*s != '-' && (*s < '0' || *s > '9')) return false;
    long long v = strtoll(s, &end, 10);
    *out = v;
    return !*end && v > -NUMBER_MAX && v < NUMBER_MAX;
}

/* An xs:duration without years and months, "PT1H2M3.4S"; < 0 when it is not one. */
static double seconds_of(const char *s)
{
    static const struct {
        char unit;
        bool time;
        double seconds;
    } parts[] = {
        {'D', false, 86400.0}, {'H', true, 3600.0}, {'M', true, 60.0}, {'S', true, 1.0}};
    if (*s++ != 'P' || !*s) return -1.0;
    double sum = 0.0;
    bool time = false;
    while (*s) {
        if (*s == 'T' && !time) {
            time = true;
            s++;
            continue;
        }
        char *end;
        if (*s < '0' || *s > '9') return -1.0;
        double v = strtod(s, &end);
        size_t i = 0;
        while (i < 4 && (parts[i].unit != *end || parts[i].time != time))
            i++;
        if (i == 4) return -1.0;
        sum += v * parts[i].seconds;
        s = end + 1;
    }
    return sum < 1e9 ? sum : -1.0;
}

/* The nearest SegmentTemplate that has the attribute, from Representation outwards. */
static const xmlNode *template_with(char *out, size_t size, const struct chain *c,
                                    const char *attr)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const xmlNode *t = child(c->at[i], "SegmentTemplate");
        if (t && attribute(out, size, t, attr)) return t;
    }
    return NULL;
}

/* fallback when it is absent */
static int template_int(int64_t *out, const struct chain *c, const char *attr,
                        int64_t fallback, const char *name, struct err *e)
{
    char text[32];
    const xmlNode *t = template_with(text, sizeof text, c, attr);
    *out = fallback;
    if (!t || (whole(out, text) && *out >= 0)) return 0;
    return text_refuse(name, line(t), ERR_INVALID, e,
                       "SegmentTemplate: %s '%s' is not a whole number", attr, text);
}

/* ------------------------------------------------------------------------------- times
 */

static int timing_add(struct timing *t, int64_t start, int64_t duration)
{
    if (t->n == VIDEO_CHUNKS_MAX) return ERR_RANGE;
    t->start[t->n] = start;
    t->duration[t->n++] = duration;
    return 0;
}

/* One S: itself and its repeats; a negative r repeats up to the next S or the end. */
static int add_run(struct mpd *m, const xmlNode *s, int64_t *at, double end,
                   struct err *e)
{
    char text[32];
    int64_t duration = 0, repeat = 0;
    if (attribute(text, sizeof text, s, "t") && (!whole(at, text) || *at < 0))
        return text_refuse(m->name, line(s), ERR_INVALID, e, "S: t '%s' is not a time",
                           text);
    if (!attribute(text, sizeof text, s, "d") || !whole(&duration, text) ||
        duration < 1 || duration > DURATION_MAX)
        return text_refuse(m->name, line(s), ERR_INVALID, e,
                           "S: d is not a duration of 1 .. 1e12");
    if (attribute(text, sizeof text, s, "r") && (!whole(&repeat, text) || repeat < -1))
        return text_refuse(m->name, line(s), ERR_INVALID, e,
                           "S: r '%s' is not a number of repeats", text);

    const xmlNode *next = next_named(s->next, "S");
    int64_t next_at;
    if (repeat < 0 && next && attribute(text, sizeof text, next, "t") &&
        whole(&next_at, text))
        end = (double)next_at;
    if (repeat < 0 && end <= 0.0)
        return text_refuse(m->name, line(s), ERR_INVALID, e,
                           "S: r is -1 and no end is known");

    for (int64_t i = 0; repeat < 0 ? (double)*at < end - 0.5 : i <= repeat; i++) {
        if (timing_add(&m->timing, *at, duration))
            return text_refuse(m->name, line(s), ERR_RANGE, e, "more than %d segments",
                               VIDEO_CHUNKS_MAX);
        *at += duration;
    }
    return 0;
}

static int read_timeline(struct mpd *m, const xmlNode *timeline, double total_s,
                         int64_t offset, struct err *e)
{
    int64_t at = 0;
    double end = total_s > 0.0 ? total_s * m->timing.timescale + (double)offset : 0.0;
    for (const xmlNode *s = child(timeline, "S"); s; s = next_named(s->next, "S")) {
        int rc = add_run(m, s, &at, end, e);
        if (rc) return rc;
    }
    if (m->timing.n) return 0;
    return text_refuse(m->name, line(timeline), ERR_INVALID, e,
                       "SegmentTimeline has no S");
}

/* A fixed duration: as many segments as the presentation needs, the last one may be
 * short. */
static int read_fixed(struct mpd *m, const struct chain *c, double total_s, int chunks,
                      struct err *e)
{
    const xmlNode *at = c->at[c->n - 1];
    int64_t duration;
    int rc = template_int(&duration, c, "duration", 0, m->name, e);
    if (rc) return rc;
    if (duration < 1 || duration > DURATION_MAX)
        return text_refuse(m->name, line(at), ERR_INVALID, e,
                           "no SegmentTemplate with a duration or a SegmentTimeline");
    double units = total_s * m->timing.timescale;
    if (total_s <= 0.0 && chunks > 0) units = (double)duration * chunks;
    if (units <= 0.0)
        return text_refuse(m->name, line(c->at[0]), ERR_INVALID, e,
                           "no mediaPresentationDuration: say how many chunks there are");

    /* .1 % of a segment is rounding in the manifest's duration, not one more segment */
    double n = ceil(units / (double)duration - 1e-3);
    for (int64_t i = 0; i < n || i == 0; i++) {
        double rest = units - (double)(i * duration);
        int64_t d = rest < (double)duration ? (int64_t)fmax(rest, 1.0) : duration;
        if (timing_add(&m->timing, i * duration, d))
            return text_refuse(m->name, line(at), ERR_RANGE, e, "more than %d segments",
                               VIDEO_CHUNKS_MAX);
    }
    return 0;
}

/* The first level's times hold for all: chunks must be aligned to be a ladder. */
static int read_timing(struct mpd *m, const struct chain *c, double total_s, int chunks,
                       struct err *e)
{
    int64_t timescale, offset;
    int rc = template_int(&timescale, c, "timescale", 1, m->name, e);
    if (!rc) rc = template_int(&offset, c, "presentationTimeOffset", 0, m->name, e);
    if (rc) return rc;
    if (timescale < 1)
        return text_refuse(m->name, line(c->at[c->n - 1]), ERR_RANGE, e,
                           "timescale is 0");
    struct timing *t = &m->timing;
    t->timescale = (double)timescale;
    t->start = malloc(VIDEO_CHUNKS_MAX * sizeof *t->start);
    t->duration = malloc(VIDEO_CHUNKS_MAX * sizeof *t->duration);
    if (!t->start || !t->duration)
        return err_set(e, ERR_MEMORY, "no memory for %d segments", VIDEO_CHUNKS_MAX);

    for (int i = c->n - 1; i >= 0; i--) {
        const xmlNode *tmpl = child(c->at[i], "SegmentTemplate");
        const xmlNode *timeline = tmpl ? child(tmpl, "SegmentTimeline") : NULL;
        if (timeline) return read_timeline(m, timeline, total_s, offset, e);
    }
    return read_fixed(m, c, total_s, chunks, e);
}

/* ------------------------------------------------------------------------- the segments
 */

static bool append(char *out, const char *s, size_t len)
{
    size_t used = strlen(out);
    if (used + len >= PATH_LEN) return false;
    memcpy(out + used, s, len);
    out[used + len] = '\0';
    return true;
}

/* False for what does not stay in the manifest's folder: URLs, absolute paths, "..". */
static bool stays_inside(const char *path)
{
    if (*path == '/' || strchr(path, ':') || strchr(path, '?')) return false;
    for (const char *s = path; (s = strstr(s, "..")); s += 2)
        if ((s == path || s[-1] == '/') && (s[2] == '/' || !s[2])) return false;
    return true;
}

/* $Number$, $Number%05d$, $Time$, $Bandwidth$, $RepresentationID$ and $$. */
static bool expand(char *out, const struct stream *s, int64_t number, int64_t time)
{
    *out = '\0';
    for (const char *p = s->media; *p;) {
        char piece[PATH_LEN];
        if (*p != '$') {
            size_t len = strcspn(p, "$");
            snprintf(piece, sizeof piece, "%.*s", (int)len, p);
            p += len;
        } else {
            const char *close = strchr(p + 1, '$');
            if (!close) return false;
            size_t len = strcspn(p + 1, "%$");
            int width = 1;
            char end;
            if (p[1 + len] == '%' &&
                (sscanf(p + 1 + len, "%%0%2d%c", &width, &end) != 2 || end != 'd'))
                return false;
            const char *id = p + 1;
            if (len == 0)
                strcpy(piece, "$");
            else if (len == 16 && !strncmp(id, "RepresentationID", len))
                strcpy(piece, s->id);
            else if (len == 6 && !strncmp(id, "Number", len))
                snprintf(piece, sizeof piece, "%0*lld", width, (long long)number);
            else if (len == 4 && !strncmp(id, "Time", len))
                snprintf(piece, sizeof piece, "%0*lld", width, (long long)time);
            else if (len == 9 && !strncmp(id, "Bandwidth", len))
                snprintf(piece, sizeof piece, "%0*.0f", width, s->kbps * 1000.0);
            else
                return false;
            p = close + 1;
        }
        if (!append(out, piece, strlen(piece))) return false;
    }
    return true;
}

/* Bytes of a segment's file; -1: there is none on this disk. */
static int64_t file_size(const struct mpd *m, int level, int chunk, const char *dir)
{
    const struct stream *s = &m->stream[level];
    char rest[PATH_LEN], relative[PATH_LEN], path[2 * PATH_LEN];
    if (!dir || !expand(rest, s, s->start_number + chunk, m->timing.start[chunk]))
        return -1;
    strcpy(relative, s->base);
    if (!append(relative, rest, strlen(rest)) || !stays_inside(relative)) return -1;
    if (snprintf(path, sizeof path, "%s/%s", dir, relative) >= (int)sizeof path)
        return -1;
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

/* With files, the video is as long as the first level's are there without a gap. */
static int chunks_on_disk(const struct mpd *m, const char *dir)
{
    int n = 0;
    while (n < m->timing.n && file_size(m, 0, n, dir) >= 0)
        n++;
    return n;
}

static double chunk_length_s(const struct timing *t)
{
    int whole_ones = t->n > 1 ? t->n - 1 : 1; /* the last may be a rest */
    double sum = 0.0;
    for (int i = 0; i < whole_ones; i++)
        sum += (double)t->duration[i];
    return sum / whole_ones / t->timescale;
}

static struct video *make_video(const struct mpd *m, const char *dir, struct err *e)
{
    int on_disk = chunks_on_disk(m, dir), chunks = on_disk ? on_disk : m->timing.n;
    double ladder[VIEW_LEVELS];
    for (int k = 0; k < m->levels; k++)
        ladder[k] = m->stream[k].kbps;
    struct video *v = video_new(m->levels, chunks, chunk_length_s(&m->timing), ladder, e);
    if (!v) return NULL;

    for (int c = 0; c < chunks; c++)
        for (int k = 0; k < m->levels; k++) {
            double s = (double)m->timing.duration[c] / m->timing.timescale;
            int64_t bytes = on_disk ? file_size(m, k, c, dir)
                                    : (int64_t)fmin(ceil(ladder[k] * 125.0 * s),
                                                    (double)VIDEO_BYTES_MAX + 1.0);
            if (bytes < 0) {
                err_field(e, ERR_ABSENT, m->name,
                          "the file of segment %d of representation '%.40s' is missing, "
                          "and those of '%.40s' are there",
                          c, m->stream[k].id, m->stream[0].id);
                video_free(v);
                return NULL;
            }
            v->bytes[(size_t)c * (size_t)m->levels + (size_t)k] = bytes;
        }
    return v;
}

/* ------------------------------------------------------------------------ the manifest
 */

static bool is_video(const xmlNode *set)
{
    char type[64] = "";
    if (attribute(type, sizeof type, set, "contentType")) return !strcmp(type, "video");
    const xmlNode *r = child(set, "Representation");
    bool known = attribute(type, sizeof type, set, "mimeType") ||
                 (r && attribute(type, sizeof type, r, "mimeType"));
    return known && !strncmp(type, "video/", 6);
}

static int read_stream(struct stream *s, const struct chain *c, const char *name,
                       struct err *e)
{
    const xmlNode *at = c->at[c->n - 1];
    char text[32];
    int64_t bits_per_s = 0;
    if (!attribute(text, sizeof text, at, "bandwidth") || !whole(&bits_per_s, text) ||
        bits_per_s < 1)
        return text_refuse(name, line(at), ERR_INVALID, e,
                           "Representation: bandwidth is not a whole number above 0");
    s->kbps = (double)bits_per_s / 1000.0;
    if (!attribute(s->id, sizeof s->id, at, "id")) s->id[0] = '\0';
    if (!template_with(s->media, sizeof s->media, c, "media"))
        return text_refuse(
            name, line(at), ERR_INVALID, e,
            "Representation without a SegmentTemplate with a media attribute "
            "(SegmentBase and SegmentList are not read)");

    s->base[0] = '\0';
    for (int i = 0; i < c->n; i++) {
        const xmlNode *base = child(c->at[i], "BaseURL");
        xmlChar *url = base ? xmlNodeGetContent(base) : NULL;
        const char *from = url ? (const char *)url : "";
        from += strspn(from, " \t\r\n");
        bool fits = append(s->base, from, strcspn(from, " \t\r\n"));
        xmlFree(url);
        if (!fits)
            return text_refuse(name, line(base), ERR_RANGE, e, "BaseURL is too long");
    }
    return template_int(&s->start_number, c, "startNumber", 1, name, e);
}

static int by_rate(const void *a, const void *b)
{
    const struct stream *x = a, *y = b;
    return (x->kbps > y->kbps) - (x->kbps < y->kbps);
}

static int read_set(struct mpd *m, struct chain *c, double total_s, int chunks,
                    struct err *e)
{
    const xmlNode *set = c->at[c->n - 1];
    for (const xmlNode *r = child(set, "Representation"); r;
         r = next_named(r->next, "Representation")) {
        if (m->levels == VIEW_LEVELS)
            return text_refuse(m->name, line(r), ERR_RANGE, e,
                               "more than %d Representations", VIEW_LEVELS);
        c->at[c->n++] = r;
        int rc = read_stream(&m->stream[m->levels], c, m->name, e);
        if (!rc && !m->levels) rc = read_timing(m, c, total_s, chunks, e);
        c->n--;
        if (rc) return rc;
        m->levels++;
    }
    if (m->levels < 2)
        return text_refuse(m->name, line(set), ERR_RANGE, e,
                           "%d Representations of video, 2 needed", m->levels);
    qsort(m->stream, (size_t)m->levels, sizeof m->stream[0], by_rate);
    return 0;
}

static int read_document(struct mpd *m, xmlDoc *doc, int chunks, struct err *e)
{
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (doc->intSubset)
        return text_refuse(m->name, line(root), ERR_INVALID, e,
                           "has a document type declaration");
    if (!root || !is(root, "MPD"))
        return text_refuse(m->name, line(root), ERR_INVALID, e, "is not a DASH MPD");
    const xmlNode *period = child(root, "Period");
    if (!period || next_named(period->next, "Period"))
        return text_refuse(m->name, line(root), ERR_INVALID, e,
                           "has not exactly one Period");

    double total_s = 0.0;
    char text[64];
    if (attribute(text, sizeof text, period, "duration") ||
        attribute(text, sizeof text, root, "mediaPresentationDuration")) {
        total_s = seconds_of(text);
        if (total_s <= 0.0)
            return text_refuse(m->name, line(root), ERR_INVALID, e,
                               "'%s' is not a duration above 0", text);
    }

    const xmlNode *set = child(period, "AdaptationSet");
    while (set && !is_video(set))
        set = next_named(set->next, "AdaptationSet");
    if (!set)
        return text_refuse(m->name, line(period), ERR_ABSENT, e,
                           "no AdaptationSet of video");
    struct chain c = {{root, period, set}, 3};
    return read_set(m, &c, total_s, chunks, e);
}

struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const char *dir, const struct video_cfg *cfg, struct err *e)
{
    /* libxml2 is asked not to print; what it found last is kept in its own context */
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser) {
        err_set(e, ERR_MEMORY, "no memory to parse XML");
        return NULL;
    }
    struct video *v = NULL;
    struct mpd *m = calloc(1, sizeof *m);
    xmlDoc *doc = xmlCtxtReadMemory(parser, text, (int)len, NULL, NULL,
                                    XML_PARSE_NONET | XML_PARSE_NOERROR |
                                        XML_PARSE_NOWARNING | XML_PARSE_NOCDATA);
    if (!m) {
        err_set(e, ERR_MEMORY, "no memory for a manifest");
    } else if (!doc) {
        const xmlError *why = xmlCtxtGetLastError(parser);
        const char *said = why && why->message ? why->message : "empty";
        text_refuse(name, why ? why->line : 1, ERR_INVALID, e, "not XML: %.*s",
                    (int)strcspn(said, "\n"), said);
    } else {
        m->name = name;
        if (!read_document(m, doc, cfg->chunks, e)) v = make_video(m, dir, e);
    }

    if (doc) xmlFreeDoc(doc);
    if (m) {
        free(m->timing.start);
        free(m->timing.duration);
    }
    free(m);
    xmlFreeParserCtxt(parser);
    return v;
}
