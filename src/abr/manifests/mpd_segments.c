/* mpd_segments.c - the segments of one Representation: SegmentTemplate, SegmentList or
 * SegmentBase with its index box. */
#include "mpd_priv.h"

#include "abr/manifests/sidx.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One Representation. */
struct stream {
    char id[128], media[SEGMENTS_URL], base[SEGMENTS_URL];
    double kbps;
    int64_t start_number;
};

static bool append(char *out, const char *s, size_t len)
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
static bool expand(char *out, const struct stream *s, int64_t number, int64_t time)
{
    *out = '\0';
    for (const char *p = s->media; *p;) {
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
        if (!append(out, piece, strlen(piece))) return false;
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
        bool fits = append(ref, from, strcspn(from, " \t\r\n")) &&
                    segments_join(joined, s->base, ref);
        if (!fits)
            return text_refuse(name, mpd_line(base), ERR_RANGE, e, "BaseURL is too long");
        strcpy(s->base, joined);
    }
    return 0;
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
    int rc = mpd_read_times(m, c, element, total_s, m->chunks, e);
    for (int i = 0; i < m->times.n && !rc; i++) {
        char media[SEGMENTS_URL], url[SEGMENTS_URL];
        bool known = expand(media, s, s->start_number + i, m->times.start[i]) &&
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

/* One SegmentURL: a file, or a range of one. */
static int add_listed(struct segments *out, int level, const struct stream *s,
                      const struct mpd_node *at, double length_s, struct err *e)
{
    char media[SEGMENTS_URL] = "", range[64], url[SEGMENTS_URL];
    int64_t from, to, bytes = -1;
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
    return segments_add(out, level, length_s, bytes, url, e);
}

static int read_list(struct mpd *m, struct segments *out, int level,
                     const struct stream *s, const struct mpd_chain *c,
                     const struct mpd_node *list, double total_s, struct err *e)
{
    int n = 0, i = 0;
    for (const struct mpd_node *u = mpd_child(list, "SegmentURL"); u;
         u = mpd_named(u->next, "SegmentURL"))
        n++;
    int rc = mpd_read_times(m, c, "SegmentList", total_s, n, e);
    if (!rc && m->times.n != n)
        rc = text_refuse(m->name, mpd_line(list), ERR_INVALID, e,
                         "SegmentList has %d SegmentURLs for %d segments", n, m->times.n);
    for (const struct mpd_node *u = mpd_child(list, "SegmentURL"); u && !rc;
         u = mpd_named(u->next, "SegmentURL"), i++)
        rc = add_listed(out, level, s, u, duration_s(m, i), e);
    return rc;
}

/* There is one Period, which is the whole file, whatever its clock says. */
static bool is_alone(const struct mpd_chain *c)
{
    const struct mpd_node *first = mpd_child(c->at[0], "Period");
    return first && !mpd_named(first->next, "Period");
}

/* Those of the Period, which has the file's clock at from_s when it begins: several Periods may be
 * made of one file. A segment that is cut by an end of the Period belongs to it with its middle. */
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
    }
    if (out->level[level].n) return 0;
    return text_refuse(out->name, 0, ERR_INVALID, e,
                       "'%.40s': the index has no segment of its Period, %g s on",
                       out->level[level].id, from_s);
}

/* One file per Representation, whose index box lists the segments. */
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

int mpd_read_segments(struct mpd *m, struct segments *out, const struct mpd_chain *c,
                      double total_s, struct err *e)
{
    struct stream s;
    int rc = read_stream(&s, c, m->name, e);
    if (rc) return rc;
    if (out->levels == VIEW_LEVELS)
        return text_refuse(m->name, mpd_line(c->at[c->n - 1]), ERR_RANGE, e,
                           "more than %d Representations", VIEW_LEVELS);
    int level = segments_level(out, s.id, s.kbps, e);

    const struct mpd_node *list = list_of(c);
    if (mpd_inherited(s.media, sizeof s.media, c, "SegmentTemplate", "media"))
        return read_template(m, out, level, &s, c, total_s, e);
    if (list) return read_list(m, out, level, &s, c, list, total_s, e);
    if (has(c, "SegmentBase")) return read_index(m, out, level, &s, c, total_s, e);
    return text_refuse(m->name, mpd_line(c->at[c->n - 1]), ERR_INVALID, e,
                       "Representation without a SegmentTemplate with a media attribute, "
                       "a SegmentList or a SegmentBase");
}
