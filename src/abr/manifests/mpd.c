/* mpd.c - ladder and chunk sizes from a DASH manifest (ISO/IEC 23009-1). */
#include "abr/manifests/segments.h"

#include "abr/manifests/sidx.h"
#include "base/text.h"
#include "video_priv.h"

#include <ctype.h>
#include <expat.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MPD_DEPTH = 4 };

/* The elements from MPD down to Representation. Inherited values are looked up from the inside out. */
struct mpd_chain {
    const struct mpd_node *at[MPD_DEPTH];
    int n;
};

/* The times of a Representation's segments, in units of 1 / timescale s. */
struct mpd_times {
    double timescale;
    int n;
    int64_t *start, *duration; /* (n), owned; room for VIDEO_CHUNKS_MAX */
};

/* The manifest that is being read. */
struct mpd {
    const char *name;                     /* for messages */
    const struct segments_source *source; /* NULL: none; index boxes cannot be read */
    const struct video_cfg *cfg;
    bool live;              /* its type is dynamic */
    struct mpd_times times; /* of the Representation that is being read */
};

/* An element. */
struct mpd_node {
    struct mpd_node *parent, *children, *next; /* next: sibling */
    int line, attributes;
    long from, bytes; /* its start tag in the text */
    char *content;    /* text of a BaseURL, NULL: none; owned by the tree */
    char texts[]; /* the name without its prefix, then names and values of attributes */
};

/* ---- the text as a tree, by expat ---- */

/* expat gets neither a way to read external entities nor a document type. A document type
 * declaration ends the parsing, before any of its entities is read. */

/* A node is one block: the struct, then its name and attributes as texts. */
struct builder {
    XML_Parser parser;
    struct mpd_node *root, *open; /* the innermost that is not closed */
    struct mpd_node **after;      /* where the next one belongs */
    bool doctype, no_memory;
};

static void give_up(struct builder *b, bool *why)
{
    *why = true;
    XML_StopParser(b->parser, XML_FALSE);
}

/* The name without its prefix. */
static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

static struct mpd_node *mpd_make(const char *name, const char **attributes, int line)
{
    size_t size = strlen(name) + 1;
    int n = 0;
    for (const char **a = attributes; *a; a++, n++)
        size += strlen(*a) + 1;
    struct mpd_node *node = malloc(sizeof *node + size);
    if (!node) return NULL;
    *node = (struct mpd_node){.line = line, .attributes = n / 2};
    char *to = node->texts;
    to = stpcpy(to, name) + 1;
    for (const char **a = attributes; *a; a++)
        to = stpcpy(to, *a) + 1;
    return node;
}

static void begins(void *ctx, const char *name, const char **attributes)
{
    struct builder *b = ctx;
    struct mpd_node *node =
        mpd_make(local(name), attributes, (int)XML_GetCurrentLineNumber(b->parser));
    if (!node) {
        give_up(b, &b->no_memory);
        return;
    }
    node->from = (long)XML_GetCurrentByteIndex(b->parser);
    node->bytes = XML_GetCurrentByteCount(b->parser);
    node->parent = b->open;
    *b->after = node;
    b->open = node;
    b->after = &node->children;
}

static void ends(void *ctx, const char *name)
{
    (void)name;
    struct builder *b = ctx;
    struct mpd_node *node = b->open;
    if (!node) return; /* an empty element is closed even after XML_StopParser */
    b->after = &node->next;
    b->open = node->parent;
}

/* Content of a BaseURL. No other element's content is kept. */
static void says(void *ctx, const char *text, int len)
{
    struct builder *b = ctx;
    struct mpd_node *node = b->open;
    if (!node || strcmp(node->texts, "BaseURL") != 0) return;
    size_t had = node->content ? strlen(node->content) : 0, n = (size_t)len;
    if (had + n > SEGMENTS_URL)
        n = SEGMENTS_URL - had; /* already more than a URL may have */
    char *more = realloc(node->content, had + n + 1);
    if (!more) {
        give_up(b, &b->no_memory);
        return;
    }
    memcpy(more + had, text, n);
    more[had + n] = '\0';
    node->content = more;
}

static void refuse_doctype(void *ctx, const char *name, const char *system,
                           const char *external, int internal)
{
    (void)name;
    (void)system;
    (void)external;
    (void)internal;
    struct builder *b = ctx;
    give_up(b, &b->doctype);
}

static void mpd_tree_free(struct mpd_node *root)
{
    /* without recursion: children are detached and freed first, so any depth is safe */
    struct mpd_node *at = root;
    while (at) {
        struct mpd_node *next = at->children;
        if (next) {
            at->children = next->next;
            next->next = NULL;
            next->parent = at;
        } else {
            next = at->parent;
            free(at->content);
            free(at);
        }
        at = next;
    }
}

static int mpd_refuse(const struct builder *b, const char *name, struct err *e)
{
    int line = (int)XML_GetCurrentLineNumber(b->parser);
    enum XML_Error why = XML_GetErrorCode(b->parser);
    if (b->no_memory || why == XML_ERROR_NO_MEMORY)
        return err_set(e, ERR_MEMORY, "no memory for the manifest");
    if (b->doctype)
        return text_refuse(name, line, ERR_INVALID, e,
                           "has a document type declaration, which no manifest needs");
    return text_refuse(name, line, ERR_INVALID, e, "not XML: %s", XML_ErrorString(why));
}

/* The root of the document, owned. NULL: e says what is wrong. */
static struct mpd_node *mpd_tree(const char *text, size_t len, const char *name,
                                 struct err *e)
{
    struct builder b = {.parser = XML_ParserCreate(NULL)};
    if (!b.parser) {
        err_set(e, ERR_MEMORY, "no memory to parse XML");
        return NULL;
    }
    b.after = &b.root;
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, begins, ends);
    XML_SetCharacterDataHandler(b.parser, says);
    XML_SetStartDoctypeDeclHandler(b.parser, refuse_doctype);
    if (XML_Parse(b.parser, text, (int)len, XML_TRUE) != XML_STATUS_OK) {
        mpd_refuse(&b, name, e);
        mpd_tree_free(b.root);
        b.root = NULL;
    }
    XML_ParserFree(b.parser);
    return b.root;
}

/* ---- elements, attributes and numbers ---- */

static int mpd_line(const struct mpd_node *at)
{
    return at ? at->line : 1;
}

/* The first element of that name among n and its following siblings. */
static const struct mpd_node *mpd_named(const struct mpd_node *n, const char *element)
{
    while (n && strcmp(n->texts, element) != 0)
        n = n->next;
    return n;
}

static const struct mpd_node *mpd_child(const struct mpd_node *n, const char *element)
{
    return mpd_named(n->children, element);
}

/* False when the attribute is absent or longer than the buffer. */
static bool mpd_attribute(char *out, size_t size, const struct mpd_node *n,
                          const char *attr)
{
    const char *at = n->texts + strlen(n->texts) + 1;
    for (int i = 0; i < n->attributes; i++) {
        const char *value = at + strlen(at) + 1;
        if (!strcmp(at, attr)) {
            if (strlen(value) >= size) return false;
            strcpy(out, value);
            return true;
        }
        at = value + strlen(value) + 1;
    }
    return false;
}

/* The value of an attribute in the namespace VIDEO_NAMESPACE; NULL when it is absent. expat leaves
 * prefixes to us: xmlns:PREFIX of the element or of one around it declares a prefix. */
static const char *mpd_own_attribute(const struct mpd_node *n, const char *attr)
{
    const char *at = n->texts + strlen(n->texts) + 1;
    for (int i = 0; i < n->attributes; i++) {
        const char *value = at + strlen(at) + 1, *colon = strchr(at, ':');
        if (colon && !strcmp(colon + 1, attr)) {
            char declares[64], space[64];
            bool fits = snprintf(declares, sizeof declares, "xmlns:%.*s",
                                 (int)(colon - at), at) < (int)sizeof declares;
            const struct mpd_node *up = fits ? n : NULL;
            while (up && !mpd_attribute(space, sizeof space, up, declares))
                up = up->parent;
            if (up && !strcmp(space, VIDEO_NAMESPACE)) return value;
        }
        at = value + strlen(value) + 1;
    }
    return NULL;
}

#define NUMBER_MAX INT64_C(100000000000000000)

/* Whole numbers within +-1e17. Times since 1970 in units of 100 ns fit, and sums of segments do not
 * overflow. */
static bool mpd_whole(int64_t *out, const char *s)
{
    char *end;
    if (*s != '-' && (*s < '0' || *s > '9')) return false;
    long long v = strtoll(s, &end, 10);
    *out = v;
    return !*end && v > -NUMBER_MAX && v < NUMBER_MAX;
}

/* An xs:duration, "PT1H2M3.4S" [s]. Years and months have no fixed length and must be 0. < 0 when it
 * is malformed. */
static double mpd_seconds(const char *s)
{
    static const struct {
        char unit;
        bool time;
        double seconds;
    } parts[] = {{'Y', false, 0.0},   {'M', false, 0.0}, {'D', false, 86400.0},
                 {'H', true, 3600.0}, {'M', true, 60.0}, {'S', true, 1.0}};
    static const size_t units = sizeof parts / sizeof *parts;
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
        while (i < units && (parts[i].unit != *end || parts[i].time != time))
            i++;
        if (i == units || (v > 0.0 && parts[i].seconds <= 0.0)) return -1.0;
        sum += v * parts[i].seconds;
        s = end + 1;
    }
    return sum < 1e9 ? sum : -1.0;
}

/* The nearest element of that name that has the attribute, from Representation outwards. */
static const struct mpd_node *mpd_inherited(char *out, size_t size,
                                            const struct mpd_chain *c,
                                            const char *element, const char *attr)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const struct mpd_node *t = mpd_child(c->at[i], element);
        if (t && mpd_attribute(out, size, t, attr)) return t;
    }
    return NULL;
}

/* An inherited whole number >= 0; fallback when it is absent. */
static int mpd_inherited_int(int64_t *out, const struct mpd_chain *c, const char *element,
                             const char *attr, int64_t fallback, const char *name,
                             struct err *e)
{
    char text[32];
    const struct mpd_node *t = mpd_inherited(text, sizeof text, c, element, attr);
    *out = fallback;
    if (!t || (mpd_whole(out, text) && *out >= 0)) return 0;
    return text_refuse(name, mpd_line(t), ERR_INVALID, e,
                       "%s: %s '%s' is not a whole number", element, attr, text);
}

/* "17-42". False when it is malformed or does not ascend. */
static bool mpd_range(int64_t *from, int64_t *to, const char *s)
{
    char copy[64], *dash = NULL;
    if (snprintf(copy, sizeof copy, "%s", s) < (int)sizeof copy) dash = strchr(copy, '-');
    if (!dash) return false;
    *dash = '\0';
    return mpd_whole(from, copy) && mpd_whole(to, dash + 1) && *from >= 0 && *to >= *from;
}

/* ---- times of segments ---- */

#define DURATION_MAX INT64_C(1000000000000)

static int times_add(struct mpd_times *t, int64_t start, int64_t duration)
{
    if (t->n == VIDEO_CHUNKS_MAX) return ERR_RANGE;
    t->start[t->n] = start;
    t->duration[t->n++] = duration;
    return 0;
}

/* An S and its repeats. A negative r repeats until the next S or the end. */
static int add_run(struct mpd *m, const struct mpd_node *s, int64_t *at, double end,
                   struct err *e)
{
    char text[32];
    int64_t duration = 0, repeat = 0;
    if (mpd_attribute(text, sizeof text, s, "t") && (!mpd_whole(at, text) || *at < 0))
        return text_refuse(m->name, mpd_line(s), ERR_INVALID, e,
                           "S: t '%s' is not a time", text);
    if (!mpd_attribute(text, sizeof text, s, "d") || !mpd_whole(&duration, text) ||
        duration < 1 || duration > DURATION_MAX)
        return text_refuse(m->name, mpd_line(s), ERR_INVALID, e,
                           "S: d is not a duration of 1 .. 1e12");
    if (mpd_attribute(text, sizeof text, s, "r") &&
        (!mpd_whole(&repeat, text) || repeat < -1))
        return text_refuse(m->name, mpd_line(s), ERR_INVALID, e,
                           "S: r '%s' is not a number of repeats", text);

    const struct mpd_node *next = mpd_named(s->next, "S");
    int64_t next_at;
    if (repeat < 0 && next && mpd_attribute(text, sizeof text, next, "t") &&
        mpd_whole(&next_at, text))
        end = (double)next_at;
    if (repeat < 0 && end <= 0.0 && m->live && m->cfg->any_length) repeat = 1;
    if (repeat < 0 && end <= 0.0)
        return text_refuse(m->name, mpd_line(s), ERR_INVALID, e,
                           "S: r is -1 and no end is known");

    for (int64_t i = 0; repeat < 0 ? (double)*at < end - 0.5 : i <= repeat; i++) {
        if (times_add(&m->times, *at, duration))
            return text_refuse(m->name, mpd_line(s), ERR_RANGE, e,
                               "more than %d segments", VIDEO_CHUNKS_MAX);
        *at += duration;
    }
    return 0;
}

static int read_timeline(struct mpd *m, const struct mpd_node *timeline, double total_s,
                         int64_t offset, struct err *e)
{
    int64_t at = 0;
    double end = total_s > 0.0 ? total_s * m->times.timescale + (double)offset : 0.0;
    for (const struct mpd_node *s = mpd_child(timeline, "S"); s;
         s = mpd_named(s->next, "S")) {
        int rc = add_run(m, s, &at, end, e);
        if (rc) return rc;
    }
    if (m->times.n) return 0;
    return text_refuse(m->name, mpd_line(timeline), ERR_INVALID, e,
                       "SegmentTimeline has no S");
}

/* Segments of a fixed duration, as many as the presentation needs. The last one may be shorter. */
static int read_fixed(struct mpd *m, const struct mpd_chain *c, const char *element,
                      double total_s, int count, struct err *e)
{
    const struct mpd_node *at = c->at[c->n - 1];
    int64_t duration;
    int rc = mpd_inherited_int(&duration, c, element, "duration", 0, m->name, e);
    if (rc) return rc;
    if (duration < 1 || duration > DURATION_MAX)
        return text_refuse(m->name, mpd_line(at), ERR_INVALID, e,
                           "no %s with a duration or a SegmentTimeline", element);
    double units = total_s * m->times.timescale;
    if (total_s <= 0.0 && !count && m->live && m->cfg->any_length) count = 2;
    if (total_s <= 0.0 && count > 0) units = (double)duration * (double)count;
    if (units <= 0.0)
        return text_refuse(m->name, mpd_line(c->at[0]), ERR_INVALID, e,
                           "no mediaPresentationDuration: say how many chunks there are");

    /* 0.1 % of a segment is rounding of the manifest's duration, not one more segment */
    double n = ceil(units / (double)duration - 1e-3);
    for (int64_t i = 0; (double)i < n || i == 0; i++) {
        double rest = units - (double)(i * duration);
        int64_t d = rest < (double)duration ? (int64_t)fmax(rest, 1.0) : duration;
        if (times_add(&m->times, i * duration, d))
            return text_refuse(m->name, mpd_line(at), ERR_RANGE, e,
                               "more than %d segments", VIDEO_CHUNKS_MAX);
    }
    return 0;
}

/* The media's clock: its units of 1 / timescale s, and its value at the Period's start. */
static int mpd_read_clock(int64_t *timescale, int64_t *offset, const struct mpd_chain *c,
                          const char *element, const char *name, struct err *e)
{
    int rc = mpd_inherited_int(timescale, c, element, "timescale", 1, name, e);
    if (!rc)
        rc = mpd_inherited_int(offset, c, element, "presentationTimeOffset", 0, name, e);
    if (rc || *timescale > 0) return rc;
    return text_refuse(name, mpd_line(c->at[c->n - 1]), ERR_RANGE, e, "timescale is 0");
}

/* Fills m->times from SegmentTemplate or SegmentList: from a SegmentTimeline, or with equal durations
 * until total_s (<= 0: unknown) or `count` segments (0: total_s alone decides). */
static int mpd_read_times(struct mpd *m, const struct mpd_chain *c, const char *element,
                          double total_s, int count, struct err *e)
{
    int64_t timescale, offset;
    int rc = mpd_read_clock(&timescale, &offset, c, element, m->name, e);
    if (rc) return rc;
    struct mpd_times *t = &m->times;
    t->timescale = (double)timescale;
    t->n = 0;
    if (!t->start) t->start = malloc(VIDEO_CHUNKS_MAX * sizeof *t->start);
    if (!t->duration) t->duration = malloc(VIDEO_CHUNKS_MAX * sizeof *t->duration);
    if (!t->start || !t->duration)
        return err_set(e, ERR_MEMORY, "no memory for %d segments", VIDEO_CHUNKS_MAX);

    for (int i = c->n - 1; i >= 0; i--) {
        const struct mpd_node *outer = mpd_child(c->at[i], element);
        const struct mpd_node *timeline =
            outer ? mpd_child(outer, "SegmentTimeline") : NULL;
        if (timeline) return read_timeline(m, timeline, total_s, offset, e);
    }
    return read_fixed(m, c, element, total_s, count, e);
}

/* ---- segments of a Representation: SegmentTemplate, SegmentList or SegmentBase ---- */

/* One Representation. */
struct stream {
    char id[128], media[SEGMENTS_URL], base[SEGMENTS_URL];
    double kbps;
    int64_t start_number;
};

static bool mpd_append(char *out, const char *s, size_t len)
{
    size_t used = strlen(out);
    if (used + len >= SEGMENTS_URL) return false;
    memcpy(out + used, s, len);
    out[used + len] = '\0';
    return true;
}

/* "%05d" with one or two digits behind the zero. */
static bool width_of(int *width, const char *s)
{
    if (s[0] != '%' || s[1] != '0' || !isdigit((unsigned char)s[2])) return false;
    *width = s[2] - '0';
    s += 3;
    if (isdigit((unsigned char)*s)) *width = 10 * *width + *s++ - '0';
    return *s == 'd';
}

/* $Number$, $Number%05d$, $Time$, $Bandwidth$, $RepresentationID$ and $$. */
static bool expand(char *out, const struct stream *s, const char *template,
                   int64_t number, int64_t time)
{
    *out = '\0';
    for (const char *p = template; *p;) {
        char piece[SEGMENTS_URL];
        if (*p != '$') {
            size_t len = strcspn(p, "$");
            snprintf(piece, sizeof piece, "%.*s", (int)len, p);
            p += len;
        } else {
            const char *close = strchr(p + 1, '$');
            if (!close) return false;
            size_t len = strcspn(p + 1, "%$");
            int width = 1;
            if (p[1 + len] == '%' && !width_of(&width, p + 1 + len)) return false;
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
        if (!mpd_append(out, piece, strlen(piece))) return false;
    }
    return true;
}

static int read_base(struct stream *s, const struct mpd_chain *c, const char *name,
                     struct err *e)
{
    s->base[0] = '\0';
    for (int i = 0; i < c->n; i++) {
        const struct mpd_node *base = mpd_child(c->at[i], "BaseURL");
        char ref[SEGMENTS_URL] = "", joined[SEGMENTS_URL];
        const char *from = base && base->content ? base->content : "";
        from += strspn(from, " \t\r\n");
        bool fits = mpd_append(ref, from, strcspn(from, " \t\r\n")) &&
                    segments_join(joined, s->base, ref);
        if (!fits)
            return text_refuse(name, mpd_line(base), ERR_RANGE, e, "BaseURL is too long");
        strcpy(s->base, joined);
    }
    return 0;
}

/* Keeps the URL of the initialization segment, if there is one. */
static int read_init(struct segments *out, int level, const struct stream *s,
                     const char *template, struct err *e)
{
    char media[SEGMENTS_URL], url[SEGMENTS_URL];
    if (!expand(media, s, template, s->start_number, 0) ||
        !segments_join(url, s->base, media))
        return 0; /* needed only to read the media */
    return segments_keep(out, &out->level[level].init, url, e);
}

static double duration_s(const struct mpd *m, int i)
{
    return (double)m->times.duration[i] / m->times.timescale;
}

static int read_template(struct mpd *m, struct segments *out, int level,
                         const struct stream *s, const struct mpd_chain *c,
                         double total_s, struct err *e)
{
    static const char element[] = "SegmentTemplate";
    char init[SEGMENTS_URL];
    int rc = mpd_read_times(m, c, element, total_s, m->cfg->chunks, e);
    if (!rc && mpd_inherited(init, sizeof init, c, element, "initialization"))
        rc = read_init(out, level, s, init, e);
    for (int i = 0; i < m->times.n && !rc; i++) {
        char media[SEGMENTS_URL], url[SEGMENTS_URL];
        bool known = expand(media, s, s->media, s->start_number + i, m->times.start[i]) &&
                     segments_join(url, s->base, media);
        rc = segments_add(out, level, duration_s(m, i), -1, known ? url : "", e);
    }
    return rc;
}

static const struct mpd_node *list_of(const struct mpd_chain *c)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const struct mpd_node *list = mpd_child(c->at[i], "SegmentList");
        if (list && mpd_child(list, "SegmentURL")) return list;
    }
    return NULL;
}

/* One SegmentURL: a file, or a range of a file. */
static int add_listed(struct segments *out, int level, const struct stream *s,
                      const struct mpd_node *at, double length_s, struct err *e)
{
    char media[SEGMENTS_URL] = "", range[64], url[SEGMENTS_URL];
    int64_t from = -1, to, bytes = -1;
    if (mpd_attribute(range, sizeof range, at, "mediaRange")) {
        if (!mpd_range(&from, &to, range))
            return text_refuse(out->name, mpd_line(at), ERR_INVALID, e,
                               "SegmentURL: mediaRange '%s' is not first-last", range);
        bytes = to - from + 1;
    }
    if (!mpd_attribute(media, sizeof media, at, "media")) media[0] = '\0';
    if (!segments_join(url, s->base, media))
        return text_refuse(out->name, mpd_line(at), ERR_RANGE, e,
                           "SegmentURL: media is too long");
    int rc = segments_add(out, level, length_s, bytes, url, e);
    if (!rc) segments_begins(out, level, from);
    return rc;
}

static int read_list(struct mpd *m, struct segments *out, int level,
                     const struct stream *s, const struct mpd_chain *c,
                     const struct mpd_node *list, double total_s, struct err *e)
{
    int n = 0, i = 0;
    for (const struct mpd_node *u = mpd_child(list, "SegmentURL"); u;
         u = mpd_named(u->next, "SegmentURL"))
        n++;
    char init[SEGMENTS_URL];
    const struct mpd_node *first = mpd_child(list, "Initialization");
    int rc = mpd_read_times(m, c, "SegmentList", total_s, n, e);
    if (!rc && first && mpd_attribute(init, sizeof init, first, "sourceURL"))
        rc = read_init(out, level, s, init, e);
    /* the sound may last a little longer than the picture: a short rest is no segment */
    struct mpd_times *t = &m->times;
    if (!rc && t->n == n + 1 && t->duration[n] <= t->duration[n - 1] / 4) t->n = n;
    if (!rc && t->n != n)
        rc = text_refuse(m->name, mpd_line(list), ERR_INVALID, e,
                         "SegmentList has %d SegmentURLs for %d segments", n, t->n);
    for (const struct mpd_node *u = mpd_child(list, "SegmentURL"); u && !rc;
         u = mpd_named(u->next, "SegmentURL"), i++)
        rc = add_listed(out, level, s, u, duration_s(m, i), e);
    return rc;
}

/* The manifest has one Period, which is then the whole file, whatever its clock says. */
static bool is_alone(const struct mpd_chain *c)
{
    const struct mpd_node *first = mpd_child(c->at[0], "Period");
    return first && !mpd_named(first->next, "Period");
}

/* Adds the segments of a Period, since several Periods may be parts of one file. The file's clock is
 * from_s at the Period's start. A segment that the Period's start or end cuts belongs to the Period
 * that holds its middle. */
static int add_indexed(struct segments *out, int level, const struct sidx_entry *entries,
                       int n, double from_s, double total_s, const char *url,
                       struct err *e)
{
    for (int i = 0; i < n; i++) {
        double middle_s = entries[i].start_s + 0.5 * entries[i].duration_s;
        if (middle_s < from_s || (total_s > 0.0 && middle_s >= from_s + total_s))
            continue;
        int rc =
            segments_add(out, level, entries[i].duration_s, entries[i].bytes, url, e);
        if (rc) return rc;
        segments_begins(out, level, entries[i].from);
    }
    if (out->level[level].n) return 0;
    return text_refuse(out->name, 0, ERR_INVALID, e,
                       "'%.40s': the index has no segment of its Period, %g s on",
                       out->level[level].id, from_s);
}

/* SegmentBase: one file per Representation; its index box lists the segments. */
static int read_index(struct mpd *m, struct segments *out, int level,
                      const struct stream *s, const struct mpd_chain *c, double total_s,
                      struct err *e)
{
    char range[64];
    int64_t from = 0, to = 0;
    const struct mpd_node *at =
        mpd_inherited(range, sizeof range, c, "SegmentBase", "indexRange");
    if (at && !mpd_range(&from, &to, range))
        return text_refuse(m->name, mpd_line(at), ERR_INVALID, e,
                           "SegmentBase: indexRange '%s' is not first-last", range);
    if (!m->source || !*s->base)
        return text_refuse(m->name, mpd_line(c->at[c->n - 1]), ERR_ABSENT, e,
                           "SegmentBase: the sizes are in the index of a file that "
                           "cannot be read from here");
    struct sidx_entry *entries = NULL;
    int64_t timescale = 1, offset = 0;
    int n = 0, rc = mpd_read_clock(&timescale, &offset, c, "SegmentBase", m->name, e);
    if (!rc) rc = sidx_load(&entries, &n, m->source, s->base, from, to, e);
    if (!rc)
        rc = is_alone(c)
                 ? add_indexed(out, level, entries, n, 0.0, 0.0, s->base, e)
                 : add_indexed(out, level, entries, n, (double)offset / (double)timescale,
                               total_s, s->base, e);
    free(entries);
    return rc;
}

static bool has(const struct mpd_chain *c, const char *element)
{
    for (int i = 0; i < c->n; i++)
        if (mpd_child(c->at[i], element)) return true;
    return false;
}

static int read_stream(struct stream *s, const struct mpd_chain *c, const char *name,
                       struct err *e)
{
    const struct mpd_node *at = c->at[c->n - 1];
    char text[32];
    int64_t bits_per_s = 0;
    if (!mpd_attribute(text, sizeof text, at, "bandwidth") ||
        !mpd_whole(&bits_per_s, text) || bits_per_s < 1)
        return text_refuse(name, mpd_line(at), ERR_INVALID, e,
                           "Representation: bandwidth is not a whole number above 0");
    s->kbps = (double)bits_per_s / 1000.0;
    if (!mpd_attribute(s->id, sizeof s->id, at, "id")) s->id[0] = '\0';
    int rc = read_base(s, c, name, e);
    if (rc) return rc;
    return mpd_inherited_int(&s->start_number, c, "SegmentTemplate", "startNumber", 1,
                             name, e);
}

/* The nearest value of an attribute from Representation to AdaptationSet, in pixels; 0: none. */
static int mpd_pixels(const struct mpd_chain *c, const char *attr)
{
    for (int i = c->n - 1; i >= c->n - 2; i--) {
        char text[32];
        int64_t pixels;
        if (mpd_attribute(text, sizeof text, c->at[i], attr))
            return mpd_whole(&pixels, text) && pixels > 0 && pixels <= VIDEO_HEIGHT_MAX
                       ? (int)pixels
                       : 0;
    }
    return 0;
}

/* The quality that a Representation states for its segments, which are there already. */
static int read_points(struct segments *out, int level, const struct mpd_node *at,
                       struct err *e)
{
    const char *text = mpd_own_attribute(at, "quality");
    if (!text) return 0;
    int n = 0, rc = 0;
    double *points = malloc(VIDEO_CHUNKS_MAX * sizeof *points);
    if (!points) return err_set(e, ERR_MEMORY, "no memory for the quality of a level");
    struct err why = {0};
    while (!rc && n < VIDEO_CHUNKS_MAX) {
        text += strspn(text, VIDEO_BLANKS);
        if (!*text) break;
        rc = text_scan_double(&points[n++], &text, &why);
        if (!rc && *text && !strchr(VIDEO_BLANKS, *text))
            rc = err_set(&why, ERR_INVALID, "'%.20s' follows a number", text);
    }
    if (!rc) rc = segments_rate(out, level, points, n, &why);
    free(points);
    if (!rc) return 0;
    return text_refuse(out->name, mpd_line(at), rc, e, "Representation: quality: %s",
                       why.detail);
}

static int mpd_add_level(struct mpd *m, struct segments *out, int level, struct stream *s,
                         const struct mpd_chain *c, double total_s, struct err *e)
{
    const struct mpd_node *list = list_of(c);
    if (mpd_inherited(s->media, sizeof s->media, c, "SegmentTemplate", "media"))
        return read_template(m, out, level, s, c, total_s, e);
    if (list) return read_list(m, out, level, s, c, list, total_s, e);
    if (has(c, "SegmentBase")) return read_index(m, out, level, s, c, total_s, e);
    return text_refuse(m->name, mpd_line(c->at[c->n - 1]), ERR_INVALID, e,
                       "Representation without a SegmentTemplate with a media attribute, "
                       "a SegmentList or a SegmentBase");
}

/* Adds the Representation at the chain's end as a level, with its segments and their quality. */
static int mpd_read_segments(struct mpd *m, struct segments *out,
                             const struct mpd_chain *c, double total_s, struct err *e)
{
    struct stream s;
    int rc = read_stream(&s, c, m->name, e);
    if (rc) return rc;
    if (out->levels == VIEW_LEVELS)
        return text_refuse(m->name, mpd_line(c->at[c->n - 1]), ERR_RANGE, e,
                           "more than %d Representations", VIEW_LEVELS);
    int level = segments_level(out, s.id, s.kbps, e);
    out->level[level].height =
        quality_height(mpd_pixels(c, "width"), mpd_pixels(c, "height"));
    rc = mpd_add_level(m, out, level, &s, c, total_s, e);
    return rc ? rc : read_points(out, level, c->at[c->n - 1], e);
}

/* ---- sets and Periods ---- */

static bool is_video(const struct mpd_node *set)
{
    char type[64] = "";
    if (mpd_attribute(type, sizeof type, set, "contentType"))
        return !strcmp(type, "video");
    const struct mpd_node *r = mpd_child(set, "Representation");
    bool known = mpd_attribute(type, sizeof type, set, "mimeType") ||
                 (r && mpd_attribute(type, sizeof type, r, "mimeType"));
    return known && !strncmp(type, "video/", 6);
}

/* Reads the levels of the first set of video. Other sets are other codecs or views. */
static int read_set(struct mpd *m, struct segments *out, struct mpd_chain *c,
                    double total_s, struct err *e)
{
    const struct mpd_node *set = c->at[c->n - 1];
    for (const struct mpd_node *r = mpd_child(set, "Representation"); r;
         r = mpd_named(r->next, "Representation")) {
        c->at[c->n++] = r;
        int rc = mpd_read_segments(m, out, c, total_s, e);
        c->n--;
        if (rc) return rc;
    }
    if (out->levels >= 2) return 0;
    return text_refuse(m->name, mpd_line(set), ERR_RANGE, e,
                       "%d Representations of video, 2 needed", out->levels);
}

/* A time or duration of the element [s]; < 0 when it has none. */
static int read_time(double *out, const struct mpd *m, const struct mpd_node *at,
                     const char *attr, bool duration, struct err *e)
{
    char text[64];
    *out = -1.0;
    if (!mpd_attribute(text, sizeof text, at, attr)) return 0;
    *out = mpd_seconds(text);
    if (duration ? *out > 0.0 : *out >= 0.0) return 0;
    return text_refuse(m->name, mpd_line(at), ERR_INVALID, e, "%s '%s' is not a %s", attr,
                       text, duration ? "duration above 0" : "time");
}

/* Begin and duration of a Period [s] (ISO/IEC 23009-1, 5.3.2.1). */
struct span {
    double begins, lasts; /* begins < 0, lasts <= 0: unknown */
};

/* Without a start a Period begins at the end of the Period before it. Without a duration it lasts
 * until the start of the next one, or until the end of the presentation. */
static int read_span(struct span *out, const struct mpd *m, const struct mpd_node *root,
                     const struct mpd_node *period, const struct span *before,
                     struct err *e)
{
    int rc = read_time(&out->begins, m, period, "start", false, e);
    if (!rc) rc = read_time(&out->lasts, m, period, "duration", true, e);
    if (out->begins < 0.0 && before->begins >= 0.0 && before->lasts >= 0.0)
        out->begins = before->begins + before->lasts;
    if (rc || out->lasts > 0.0 || out->begins < 0.0) return rc;

    double end;
    const struct mpd_node *next = mpd_named(period->next, "Period");
    rc = next ? read_time(&end, m, next, "start", false, e)
              : read_time(&end, m, root, "mediaPresentationDuration", true, e);
    if (rc || end < 0.0) return rc;
    out->lasts = end - out->begins;
    if (out->lasts > 0.0) return 0;
    if (next)
        return text_refuse(m->name, mpd_line(next), ERR_INVALID, e,
                           "Period begins at %g s and the one before at %g s", end,
                           out->begins);
    return text_refuse(m->name, mpd_line(period), ERR_INVALID, e,
                       "Period begins at %g s and all ends at %g s", out->begins, end);
}

/* span: in: of the Period before; out: of this one. */
static int read_period(struct mpd *m, struct segments *out, const struct mpd_node *root,
                       const struct mpd_node *period, struct span *span, struct err *e)
{
    const struct span before = *span;
    int rc = read_span(span, m, root, period, &before, e);
    if (rc) return rc;
    const struct mpd_node *set = mpd_child(period, "AdaptationSet");
    for (int i = m->cfg->set; set && (!is_video(set) || i-- > 0);)
        set = mpd_named(set->next, "AdaptationSet");
    if (!set)
        return text_refuse(m->name, mpd_line(period), ERR_ABSENT, e,
                           "no AdaptationSet of video%s", m->cfg->set ? " more" : "");
    struct mpd_chain c = {{root, period, set}, 3};
    rc = read_set(m, out, &c, span->lasts, e);
    segments_sort(out);
    return rc;
}

/* Periods follow each other in time. */
static int read_document(struct mpd *m, struct segments *out, const struct mpd_node *root,
                         struct err *e)
{
    if (!mpd_named(root, "MPD"))
        return text_refuse(m->name, mpd_line(root), ERR_INVALID, e, "is not a DASH MPD");
    const struct mpd_node *period = mpd_child(root, "Period");
    if (!period)
        return text_refuse(m->name, mpd_line(root), ERR_INVALID, e, "has no Period");
    char type[16];
    m->live = mpd_attribute(type, sizeof type, root, "type") && !strcmp(type, "dynamic");
    out->live = m->live;
    struct span span = {0}; /* before the first Period: empty, ends at 0 s */
    const int wanted = m->cfg->period;
    int rc = 0, n = 0;
    for (; period && !rc && (!wanted || n < wanted);
         period = mpd_named(period->next, "Period")) {
        const struct span before = span;
        n++;
        if (wanted > n) {
            rc = read_span(&span, m, root, period, &before, e);
        } else if (!out->levels) {
            rc = read_period(m, out, root, period, &span, e);
        } else {
            struct segments more = {.name = m->name, .most = out->most};
            rc = read_period(m, &more, root, period, &span, e);
            if (!rc) rc = segments_append(out, &more, e);
            segments_free(&more);
        }
    }
    if (!rc && n < wanted)
        rc = text_refuse(m->name, mpd_line(root), ERR_ABSENT, e, "has %d Periods", n);
    return rc;
}

struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e)
{
    size_t blanks =
        strspn(text, VIDEO_BLANKS); /* not allowed before an XML declaration */
    struct mpd_node *root = mpd_tree(text + blanks, len - blanks, name, e);
    if (!root) return NULL;
    struct video *v = NULL;
    struct mpd m = {.name = name, .source = source, .cfg = cfg};
    struct segments list = {.name = name, .most = cfg->segments};
    if (!read_document(&m, &list, root, e)) v = segments_video(&list, source, e);

    segments_free(&list);
    free(m.times.start);
    free(m.times.duration);
    mpd_tree_free(root);
    return v;
}

/* ---- a manifest with quality ---- */

/* The prefix of our namespace at an element; false: none is declared. */
static bool mpd_prefix(char out[32], const struct mpd_node *n)
{
    for (; n; n = n->parent) {
        const char *at = n->texts + strlen(n->texts) + 1;
        for (int i = 0; i < n->attributes; i++) {
            const char *value = at + strlen(at) + 1;
            if (!strncmp(at, "xmlns:", 6) && !strcmp(value, VIDEO_NAMESPACE))
                return snprintf(out, 32, "%s", at + 6) < 32;
            at = value + strlen(value) + 1;
        }
    }
    return false;
}

/* Copies a start tag up to its end, without the attribute `name`. */
static void mpd_put_tag(struct text_buffer *w, const char *tag, size_t n,
                        const char *name)
{
    size_t i = 1 + strcspn(tag + 1, " \t\r\n/>"), len = strlen(name);
    text_put(w, tag, i);
    for (;;) {
        size_t blanks = strspn(tag + i, " \t\r\n"), at = i + blanks;
        if (at >= n || tag[at] == '/' || tag[at] == '>') break;
        size_t key = strcspn(tag + at, " \t\r\n="), value = at + key;
        value += strcspn(tag + value, "\"'");
        size_t end = value + 2 + strcspn(tag + value + 1, tag[value] == '"' ? "\"" : "'");
        if (key != len || strncmp(tag + at, name, len) != 0)
            text_put(w, tag + i, end - i);
        i = end;
    }
}

static void mpd_put_quality(struct text_buffer *w, const struct mpd_node *r,
                            const char *text, const struct video *v, int level)
{
    char prefix[32] = "abrd", name[64], number[64];
    bool declared = mpd_prefix(prefix, r);
    const char *tag = text + r->from;
    size_t n = (size_t)r->bytes;
    snprintf(name, sizeof name, "%s:quality", prefix);
    mpd_put_tag(w, tag, n, name);
    if (!declared)
        text_put(w, number,
                 (size_t)snprintf(number, sizeof number, " xmlns:%s=\"%s\"", prefix,
                                  VIDEO_NAMESPACE));
    text_put(w, " ", 1);
    text_put(w, name, strlen(name));
    for (int c = 0; c < v->chunks; c++) {
        double points[VIEW_LEVELS];
        video_points(points, v, c);
        text_put(w, number,
                 (size_t)snprintf(number, sizeof number, "%s%.1f", c ? " " : "=\"",
                                  points[level]));
    }
    bool empty = n >= 2 && tag[n - 2] == '/';
    text_put(w, empty ? "\"/>" : "\">", empty ? 3 : 2);
}

/* The level of a Representation; -1: none has its bitrate. */
static int mpd_level(const struct mpd_node *r, const struct video *v)
{
    char text[32];
    int64_t bits_per_s;
    if (!mpd_attribute(text, sizeof text, r, "bandwidth") ||
        !mpd_whole(&bits_per_s, text))
        return -1;
    for (int k = 0; k < v->levels; k++)
        if (fabs(v->ladder_kbps[k] - (double)bits_per_s / 1000.0) < 1e-6) return k;
    return -1;
}

static int mpd_rate_set(struct text_buffer *w, size_t *done, const struct mpd_node *set,
                        const char *text, const char *name, const struct video *v,
                        struct err *e)
{
    for (const struct mpd_node *r = mpd_child(set, "Representation"); r;
         r = mpd_named(r->next, "Representation")) {
        int level = mpd_level(r, v);
        if (level < 0)
            return text_refuse(name, mpd_line(r), ERR_INVALID, e,
                               "Representation: no level of the video has its bandwidth");
        text_put(w, text + *done, (size_t)r->from - *done);
        mpd_put_quality(w, r, text, v, level);
        *done = (size_t)(r->from + r->bytes);
    }
    return 0;
}

char *mpd_rate_video(const char *text, size_t len, const char *name,
                     const struct video *v, struct err *e)
{
    size_t blanks = strspn(text, VIDEO_BLANKS), done = 0;
    bool bom = !strncmp(text, "\xef\xbb\xbf", 3);
    if (bom) blanks = 3;
    struct mpd_node *root = mpd_tree(text + blanks, len - blanks, name, e);
    if (!root) return NULL;
    struct text_buffer w = {0};
    const char *from = text + blanks;
    const struct mpd_node *period = mpd_child(root, "Period"), *set = NULL;
    int rc = 0;
    if (!period || mpd_named(period->next, "Period"))
        rc = text_refuse(name, mpd_line(root), ERR_INVALID, e,
                         "is not an MPD with one Period");
    if (!rc) {
        set = mpd_child(period, "AdaptationSet");
        while (set && !is_video(set))
            set = mpd_named(set->next, "AdaptationSet");
        if (!set)
            rc = text_refuse(name, mpd_line(period), ERR_ABSENT, e,
                             "no AdaptationSet of video");
    }
    if (!rc) rc = mpd_rate_set(&w, &done, set, from, name, v, e);
    if (!rc) text_put(&w, from + done, strlen(from + done));
    if (!rc && w.no_memory) rc = err_set(e, ERR_MEMORY, "no memory for the manifest");
    mpd_tree_free(root);
    if (!rc) return w.text;
    free(w.text);
    return NULL;
}
