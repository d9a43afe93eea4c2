/* mpd_times.c - when the segments of a DASH manifest begin and how long they last. */
#include "mpd_priv.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define DURATION_MAX INT64_C(1000000000000)

static int times_add(struct mpd_times *t, int64_t start, int64_t duration)
{
    if (t->n == VIDEO_CHUNKS_MAX) return ERR_RANGE;
    t->start[t->n] = start;
    t->duration[t->n++] = duration;
    return 0;
}

/* One S: itself and its repeats; a negative r repeats up to the next S or the end. */
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

/* A fixed duration: as many segments as the presentation needs, the last one may be
 * short. */
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
    if (total_s <= 0.0 && count > 0) units = (double)duration * (double)count;
    if (units <= 0.0)
        return text_refuse(m->name, mpd_line(c->at[0]), ERR_INVALID, e,
                           "no mediaPresentationDuration: say how many chunks there are");

    /* .1 % of a segment is rounding in the manifest's duration, not one more segment */
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

int mpd_read_clock(int64_t *timescale, int64_t *offset, const struct mpd_chain *c,
                   const char *element, const char *name, struct err *e)
{
    int rc = mpd_inherited_int(timescale, c, element, "timescale", 1, name, e);
    if (!rc)
        rc = mpd_inherited_int(offset, c, element, "presentationTimeOffset", 0, name, e);
    if (rc || *timescale > 0) return rc;
    return text_refuse(name, mpd_line(c->at[c->n - 1]), ERR_RANGE, e, "timescale is 0");
}

int mpd_read_times(struct mpd *m, const struct mpd_chain *c, const char *element,
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
