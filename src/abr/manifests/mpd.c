/* mpd.c - ladder and chunk sizes from a DASH manifest (ISO/IEC 23009-1). The XML itself is
 * read in mpd_tree.c. */
#include "mpd_priv.h"
#include "video_priv.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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

/* Levels are found in the first set of video; other sets are other codecs or views. */
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

/* A time or duration of that element [s]; < 0: it does not state it. */
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

/* When a Period begins and how long it lasts [s] (ISO/IEC 23009-1, 5.3.2.1). */
struct span {
    double begins, lasts; /* begins < 0, lasts <= 0: unknown */
};

/* Without a start a Period begins where the one before it ends, which that one's duration tells.
 * Without a duration it lasts until the next one's start, or to the end of all. */
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

/* span: of the Period before, and then of this one. */
static int read_period(struct mpd *m, struct segments *out, const struct mpd_node *root,
                       const struct mpd_node *period, struct span *span, struct err *e)
{
    const struct span before = *span;
    int rc = read_span(span, m, root, period, &before, e);
    if (rc) return rc;
    const struct mpd_node *set = mpd_child(period, "AdaptationSet");
    while (set && !is_video(set))
        set = mpd_named(set->next, "AdaptationSet");
    if (!set)
        return text_refuse(m->name, mpd_line(period), ERR_ABSENT, e,
                           "no AdaptationSet of video");
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
    struct span span = {0}; /* nothing, until 0 s */
    int rc = read_period(m, out, root, period, &span, e);
    while (!rc && (period = mpd_named(period->next, "Period"))) {
        struct segments more = {.name = m->name};
        rc = read_period(m, &more, root, period, &span, e);
        if (!rc) rc = segments_append(out, &more, e);
        segments_free(&more);
    }
    return rc;
}

struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e)
{
    struct mpd_node *root = mpd_tree(text, len, name, e);
    if (!root) return NULL;
    struct video *v = NULL;
    struct mpd m = {.name = name, .source = source, .chunks = cfg->chunks};
    struct segments list = {.name = name};
    if (!read_document(&m, &list, root, e)) v = segments_video(&list, source, e);

    segments_free(&list);
    free(m.times.start);
    free(m.times.duration);
    mpd_tree_free(root);
    return v;
}
