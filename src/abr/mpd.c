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

/* A Period's length: what it says, until the next one begins, or to the end of all; <= 0 when
 * it is unknown. */
static int read_length(double *out, const struct mpd *m, const struct mpd_node *root,
                       const struct mpd_node *period, struct err *e)
{
    char text[64], next_at[64];
    const struct mpd_node *next = mpd_named(period->next, "Period");
    *out = 0.0;
    if (mpd_attribute(text, sizeof text, period, "duration")) {
        *out = mpd_seconds(text);
    } else {
        bool begins = mpd_attribute(text, sizeof text, period, "start");
        double start_s = begins ? mpd_seconds(text) : 0.0;
        bool ends = next ? mpd_attribute(next_at, sizeof next_at, next, "start")
                         : mpd_attribute(next_at, sizeof next_at, root,
                                         "mediaPresentationDuration");
        if (!ends) return 0;
        snprintf(text, sizeof text, "%s", next_at);
        *out = mpd_seconds(text) - start_s;
    }
    if (*out > 0.0) return 0;
    return text_refuse(m->name, mpd_line(next ? period : root), ERR_INVALID, e,
                       "'%s' is not a duration above 0", text);
}

static int read_period(struct mpd *m, struct segments *out, const struct mpd_node *root,
                       const struct mpd_node *period, struct err *e)
{
    double total_s;
    int rc = read_length(&total_s, m, root, period, e);
    if (rc) return rc;
    const struct mpd_node *set = mpd_child(period, "AdaptationSet");
    while (set && !is_video(set))
        set = mpd_named(set->next, "AdaptationSet");
    if (!set)
        return text_refuse(m->name, mpd_line(period), ERR_ABSENT, e,
                           "no AdaptationSet of video");
    struct mpd_chain c = {{root, period, set}, 3};
    rc = read_set(m, out, &c, total_s, e);
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
    int rc = read_period(m, out, root, period, e);
    while (!rc && (period = mpd_named(period->next, "Period"))) {
        struct segments more = {.name = m->name};
        rc = read_period(m, &more, root, period, e);
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
