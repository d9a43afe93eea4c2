#include "cli/emulate/emulate_page.h"

#include "cli/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME, BUFFER, MBPS, THROUGHPUT, STALL, COLUMNS };

struct seen {
    int n, profile;
    double elapsed_s, buffer_s, qoe, mbps, change, stall_s; /* sums, except buffer_s */
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
    s->mbps += mbps;
    s->change += player->last.change;
    s->stall_s += player->last.stall_s;
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

/* Means per chunk of a profile's viewers, and their numbers (who); returns how many. */
static int gather(const struct emulate_page *p, int profile, double *qoe, double *mbps,
                  double *stall_s, double *who)
{
    int n = 0;
    for (int i = 0; i < p->viewers; i++) {
        const struct seen *s = &p->seen[i];
        if (!s->n || s->profile != profile) continue;
        qoe[n] = s->qoe / s->n;
        mbps[n] = s->mbps / s->n;
        stall_s[n] = s->stall_s / s->n;
        who[n++] = i;
    }
    return n;
}

static void put_parts(const struct emulate_page *p, const struct viewers_cfg *crowd)
{
    const char *names[VIEWERS_PROFILES];
    double part[3][VIEWERS_PROFILES] = {{0}}, chunks[VIEWERS_PROFILES] = {0};
    static const char *const what[3] = {"bitrate [Mbit/s]", "change of quality",
                                        "stalls [s]"};
    for (int i = 0; i < p->viewers; i++) {
        const struct seen *s = &p->seen[i];
        part[0][s->profile] += s->mbps;
        part[1][s->profile] += s->change;
        part[2][s->profile] += s->stall_s;
        chunks[s->profile] += s->n;
    }
    for (int i = 0; i < crowd->n_profiles; i++) {
        names[i] = profile_name(crowd, i);
        for (int k = 0; k < 3 && chunks[i] > 0; k++)
            part[k][i] /= chunks[i];
    }
    report_figure(p->report, "parts", "The parts of QoE",
                  "Means per chunk, before the profile's weights.");
    report_panel(p->report, &(struct report_panel){.x = {.label = "profile"},
                                                   .y = {.label = "per chunk"},
                                                   .category = names,
                                                   .categories = crowd->n_profiles});
    for (int k = 0; k < 3; k++)
        report_series(p->report, &(struct report_series){.name = what[k],
                                                         .kind = REPORT_BARS,
                                                         .n = crowd->n_profiles,
                                                         .y = part[k]});
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
    double *x = calloc(4 * n, sizeof *x);
    if (!x) return err_set(e, ERR_MEMORY, "no memory for %d viewers", p->viewers);
    double *qoe = x, *mbps = x + n, *stall_s = x + 2 * n, *who = x + 3 * n;
    struct report *r = p->report;
    report_param_int(r, "viewers", p->viewers);
    report_param(r, "traces", "%s, %d", crowd->corpus->name, crowd->corpus->n);

    report_figure(r, "cdf", "QoE over viewers",
                  "The share of viewers whose mean QoE per chunk is at most x.");
    for (int i = 0; i < crowd->n_profiles; i++) {
        report_panel(r, &(struct report_panel){.title = profile_name(crowd, i),
                                               .x = {.label = "QoE per chunk"},
                                               .y = {.label = "share of viewers"}});
        page_distribution(r, profile_name(crowd, i), qoe,
                          gather(p, i, qoe, mbps, stall_s, who));
    }
    put_parts(p, crowd);
    report_figure(r, "stalls", "Stalls against bitrate",
                  "A point is one viewer: down and to the right is better.");
    report_panel(r, &(struct report_panel){.x = {.label = "mean bitrate [Mbit/s]"},
                                           .y = {.label = "stall per chunk [s]"}});
    for (int i = 0; i < crowd->n_profiles; i++)
        page_points(r, profile_name(crowd, i), mbps, stall_s,
                    gather(p, i, qoe, mbps, stall_s, who));

    int first = gather(p, 0, qoe, mbps, stall_s, who);
    page_sort(qoe, who, first);
    if (first) {
        put_viewer(p, crowd, "best", (int)who[first - 1]);
        put_viewer(p, crowd, "median", (int)who[first / 2]);
        put_viewer(p, crowd, "worst", (int)who[0]);
    }
    free(x);
    return page_write(r, p->path, e);
}
