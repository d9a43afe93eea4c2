#include "cli/emulate/emulate_page.h"

#include "base/stats.h"
#include "cli/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME, BUFFER, MBPS, THROUGHPUT, STALL, COLUMNS };

struct seen {
    int n, profile;
    double elapsed_s, buffer_s;   /* now */
    double qoe, quality, stall_s; /* sums; stalls without the start-up (abr/eval.h) */
    double startup_s, media_s;
    int switches;
};

struct emulate_page {
    const char *path; /* borrowed */
    struct report *report;
    int viewers, chunks;
    struct seen *seen; /* (viewers) */
    double *steps;     /* (viewers, COLUMNS, chunks) */
};

void emulate_page_free(struct emulate_page *p)
{
    if (!p) return;
    report_free(p->report);
    free(p->steps);
    free(p->seen);
    free(p);
}

static double *column(const struct emulate_page *p, int viewer, int which)
{
    return p->steps + ((size_t)viewer * COLUMNS + (size_t)which) * (size_t)p->chunks;
}

static void keep_chunk(void *ctx, int viewer, int profile, const struct player *player)
{
    struct emulate_page *p = ctx;
    if (viewer < 0 || viewer >= p->viewers) return;
    struct seen *s = &p->seen[viewer];
    if (s->n == p->chunks) return;
    const struct view *v = &player->view;
    double download_s = player->result.delay_ms / 1000.0;
    double mbps = v->ladder_kbps[v->last_level] / 1000.0;

    /* the player sleeps while its buffer is full: the missing seconds are its sleep */
    double left_s = s->buffer_s > download_s ? s->buffer_s - download_s : 0.0;
    double slept_s = left_s + v->chunk_s - v->buffer_s;
    s->profile = profile;
    s->elapsed_s += download_s;
    const double row[COLUMNS] = {s->elapsed_s, v->buffer_s, mbps,
                                 (double)player->result.bytes * 8e-6 / download_s,
                                 player->last.stall_s};
    for (int k = 0; k < COLUMNS; k++)
        column(p, viewer, k)[s->n] = row[k];
    s->elapsed_s += slept_s > 1e-9 ? slept_s : 0.0;
    s->buffer_s = v->buffer_s;
    s->qoe += player->last.reward;
    s->quality += player->now.points;
    s->media_s += v->chunk_s;
    if (s->n)
        s->stall_s += player->last.stall_s;
    else
        s->startup_s = player->last.stall_s;
    s->switches += s->n && player->now.kbps != player->before.kbps;
    s->n++;
}

int emulate_page_new(struct emulate_page **out, const char *path,
                     struct viewers_cfg *crowd, int viewers, const struct video *video,
                     struct err *e)
{
    *out = NULL;
    if ((double)viewers * video->chunks > EMULATE_PAGE_CHUNKS)
        return err_field(e, ERR_RANGE, "--report",
                         "%d viewers of %d chunks: more than %d chunks in total", viewers,
                         video->chunks, EMULATE_PAGE_CHUNKS);
    struct emulate_page *p = calloc(1, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for a report");
    *p = (struct emulate_page){.path = path, .viewers = viewers, .chunks = video->chunks};
    p->seen = calloc((size_t)viewers, sizeof *p->seen);
    p->steps =
        calloc((size_t)viewers * (size_t)video->chunks * COLUMNS, sizeof *p->steps);
    int rc =
        p->seen && p->steps
            ? 0
            : err_set(e, ERR_MEMORY, "no memory for the chunks of %d viewers", viewers);
    if (!rc) p->report = page_new(path, "Emulated viewers", e);
    if (!rc && !p->report) rc = e->code;
    if (rc) {
        emulate_page_free(p);
        return rc;
    }
    crowd->chunk = keep_chunk;
    crowd->chunk_ctx = p;
    *out = p;
    return 0;
}

static const char *profile_name(const struct viewers_cfg *crowd, int profile)
{
    const char *name = crowd->profile[profile].name;
    return *name ? name : "untagged";
}

/* Of a profile's viewers: means per chunk, stalls of the session, start-ups and their numbers (who).
 * (viewers) each. */
struct gathered {
    double *qoe, *quality, *stall_s, *startup_s, *who;
};

/* Returns how many there are. */
static int gather(struct gathered *out, const struct emulate_page *p, int profile)
{
    int n = 0;
    for (int i = 0; i < p->viewers; i++) {
        const struct seen *s = &p->seen[i];
        if (!s->n || s->profile != profile) continue;
        out->qoe[n] = s->qoe / s->n;
        out->quality[n] = s->quality / s->n;
        out->stall_s[n] = s->stall_s;
        out->startup_s[n] = s->startup_s;
        out->who[n++] = i;
    }
    return n;
}

enum measure { QUALITY, STALLS, SWITCHES, STARTUP, MEASURES };

/* What the viewers of a profile saw, in the words of `abrd eval`. */
static void measure(double out[MEASURES], const struct emulate_page *p, int profile,
                    struct gathered *g)
{
    double chunks = 0, quality = 0, stall_s = 0, media_s = 0, switches = 0;
    for (int i = 0; i < p->viewers; i++) {
        const struct seen *s = &p->seen[i];
        if (s->profile != profile) continue;
        chunks += s->n;
        quality += s->quality;
        stall_s += s->stall_s;
        media_s += s->media_s;
        switches += s->switches;
    }
    for (int m = 0; m < MEASURES; m++)
        out[m] = 0;
    int n = gather(g, p, profile);
    if (!n) return;
    out[QUALITY] = quality / chunks;
    out[STALLS] = 100 * stall_s / (stall_s + media_s);
    out[SWITCHES] = 60 * switches / media_s;
    out[STARTUP] = stats_percentile(g->startup_s, n, .9);
}

static void put_measures(const struct emulate_page *p, const struct viewers_cfg *crowd,
                         struct gathered *g)
{
    static const char *const what[MEASURES] = {"quality [points]", "stall ratio [%]",
                                               "switches per minute",
                                               "start-up, p90 [s]"};
    const char *names[VIEWERS_PROFILES];
    double seen[VIEWERS_PROFILES][MEASURES], y[VIEWERS_PROFILES];
    for (int i = 0; i < crowd->n_profiles; i++) {
        names[i] = profile_name(crowd, i);
        measure(seen[i], p, i, g);
    }
    report_figure(p->report, "viewers", "What viewers see",
                  "Over the viewers of a profile.");
    for (int m = 0; m < MEASURES; m++) {
        for (int i = 0; i < crowd->n_profiles; i++)
            y[i] = seen[i][m];
        report_panel(p->report, &(struct report_panel){.title = what[m],
                                                       .x = {.label = "profile"},
                                                       .y = {.label = what[m]},
                                                       .category = names,
                                                       .categories = crowd->n_profiles});
        report_series(p->report, &(struct report_series){.name = what[m],
                                                         .kind = REPORT_BARS,
                                                         .n = crowd->n_profiles,
                                                         .y = y});
    }
}

static void put_viewer(const struct emulate_page *p, const struct viewers_cfg *crowd,
                       const char *which, int viewer)
{
    char id[64], title[160], caption[160];
    const struct seen *s = &p->seen[viewer];
    snprintf(id, sizeof id, "timeline-%s", which);
    snprintf(title, sizeof title, "The %s viewer of %s: number %d", which,
             profile_name(crowd, s->profile), viewer);
    snprintf(caption, sizeof caption,
             "QoE %.3f per chunk. A point marks the time at which a chunk had arrived.",
             s->qoe / s->n);
    page_timeline(
        p->report, id, title, caption,
        &(struct page_timeline){.n = s->n,
                                .at_s = column(p, viewer, TIME),
                                .buffer_s = column(p, viewer, BUFFER),
                                .mbps = column(p, viewer, MBPS),
                                .throughput_mbps = column(p, viewer, THROUGHPUT),
                                .stall_s = column(p, viewer, STALL)});
}

int emulate_page_write(struct emulate_page *p, const struct viewers_cfg *crowd,
                       struct err *e)
{
    size_t n = (size_t)p->viewers;
    double *x = calloc(5 * n, sizeof *x);
    if (!x) return err_set(e, ERR_MEMORY, "no memory for %d viewers", p->viewers);
    struct gathered g = {x, x + n, x + 2 * n, x + 3 * n, x + 4 * n};
    struct report *r = p->report;
    report_summary(
        r, "%d viewers of %d profile%s played %d traces; the charts show what they saw.",
        p->viewers, crowd->n_profiles, crowd->n_profiles == 1 ? "" : "s",
        crowd->corpus->n);
    report_param_int(r, "viewers", p->viewers);
    report_param(r, "traces", "%s, %d", crowd->corpus->name, crowd->corpus->n);

    put_measures(p, crowd, &g);
    report_figure(r, "startup", "Start-up over viewers",
                  "The share of viewers who waited at most x for the first picture.");
    for (int i = 0; i < crowd->n_profiles; i++) {
        report_panel(r, &(struct report_panel){.title = profile_name(crowd, i),
                                               .x = {.label = "start-up [s]"},
                                               .y = {.label = "share of viewers"}});
        page_distribution(r, profile_name(crowd, i), g.startup_s, gather(&g, p, i));
    }
    report_figure(r, "stalls", "Stalls against quality",
                  "A point is one viewer: down and to the right is better.");
    report_panel(r, &(struct report_panel){.x = {.label = "quality [points]"},
                                           .y = {.label = "stalls of the session [s]"}});
    for (int i = 0; i < crowd->n_profiles; i++)
        page_points(r, profile_name(crowd, i), g.quality, g.stall_s, gather(&g, p, i));
    report_figure(r, "cdf", "QoE over viewers",
                  "The share of viewers whose mean QoE per chunk is at most x.");
    for (int i = 0; i < crowd->n_profiles; i++) {
        report_panel(r, &(struct report_panel){.title = profile_name(crowd, i),
                                               .x = {.label = "QoE per chunk"},
                                               .y = {.label = "share of viewers"}});
        page_distribution(r, profile_name(crowd, i), g.qoe, gather(&g, p, i));
    }

    int first = gather(&g, p, 0);
    page_sort(g.qoe, g.who, first);
    if (first) {
        put_viewer(p, crowd, "best", (int)g.who[first - 1]);
        put_viewer(p, crowd, "median", (int)g.who[first / 2]);
        put_viewer(p, crowd, "worst", (int)g.who[0]);
    }
    free(x);
    return page_write(r, p->path, e);
}
