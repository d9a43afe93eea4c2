#include "cli/page.h"

#include "base/text.h"
#include "cli/home.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the files ---- */

enum { ASSET_MAX = 4 << 20 };

static int load_asset(const char **out, const char *rel, struct err *e)
{
    char path[HOME_PATH];
    int rc = home_find(path, rel, e);
    if (rc) return rc;
    *out = text_read_file(path, ASSET_MAX, NULL, e);
    return *out ? 0 : ERR_IO;
}

int page_assets(struct report_assets *a, struct err *e)
{
    *a = (struct report_assets){0};
    static const char uplot[] = "web/vendor/uPlot.iife.min.js";
    struct err why = {0};
    int rc = load_asset(&a->uplot_js, uplot, &why);
    if (!rc) rc = load_asset(&a->uplot_css, "web/vendor/uPlot.min.css", &why);
    if (rc == ERR_ABSENT)
        return err_field(e, rc, uplot,
                         "the chart library is missing; run 'make web', or leave out the "
                         "page (--report, in the labs --out)");
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    rc = load_asset(&a->page_js, "web/report/report.js", e);
    return rc ? rc : load_asset(&a->page_css, "web/report/report.css", e);
}

void page_assets_free(struct report_assets *a)
{
    const char *const text[] = {a->uplot_js, a->uplot_css, a->page_js, a->page_css};
    for (int i = 0; i < 4; i++)
        free((void *)(uintptr_t)text[i]);
    *a = (struct report_assets){0};
}

static int page_split(char dir[PATH_MAX], char *name, size_t name_size, const char *path,
                      struct err *e)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-_";
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = strspn(file, plain);
    if (!n || n >= name_size || strcmp(file + n, ".html") != 0)
        return err_field(e, ERR_INVALID, "--report",
                         "'%.60s' is not NAME.html with a NAME of letters, digits, '-' "
                         "and '_'",
                         path);
    snprintf(name, name_size, "%.*s", (int)n, file);
    struct stat st;
    if (!stat(text_folder_of(dir, path), &st) && S_ISDIR(st.st_mode)) return 0;
    return err_field(e, ERR_ABSENT, "--report", "there is no folder '%.60s'", dir);
}

struct report *page_new(const char *path, const char *title, struct err *e)
{
    char dir[PATH_MAX], name[64];
    struct report_assets assets = {0};
    struct report *r = NULL;
    if (!page_split(dir, name, sizeof name, path, e) && !page_assets(&assets, e))
        r = report_new(name, title, e);
    page_assets_free(&assets);
    return r;
}

int page_write(const struct report *r, const char *path, struct err *e)
{
    char dir[PATH_MAX], name[64];
    struct report_assets assets = {0};
    int rc = page_split(dir, name, sizeof name, path, e);
    if (!rc) rc = page_assets(&assets, e);
    if (!rc) rc = report_write_alone(r, dir, &assets, e);
    page_assets_free(&assets);
    return rc;
}

/* ---- figures ---- */

struct pair {
    double x, y;
};

static int by_x(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

void page_sort(double *x, double *y, int n)
{
    struct pair *p = malloc((size_t)n * sizeof *p);
    if (!p) return; /* without memory the points stay unsorted */
    for (int i = 0; i < n; i++)
        p[i] = (struct pair){x[i], y ? y[i] : 0.0};
    qsort(p, (size_t)n, sizeof *p, by_x);
    for (int i = 0; i < n; i++) {
        double least = i ? x[i - 1] + 1e-9 * (1.0 + fabs(x[i - 1])) : p[i].x;
        x[i] = p[i].x > least ? p[i].x : least;
        if (y) y[i] = p[i].y;
    }
    free(p);
}

/* The n pairs sorted, in one block: x, then y. NULL: no memory. */
static double *sorted_pairs(const double *x, const double *y, int n)
{
    double *both = malloc(2 * (size_t)(n ? n : 1) * sizeof *both);
    if (!both) return NULL;
    for (int i = 0; i < n; i++) {
        both[i] = x[i];
        both[n + i] = y ? y[i] : 0.0;
    }
    page_sort(both, both + n, n);
    return both;
}

void page_distribution(struct report *r, const char *name, const double *values, int n)
{
    double *both = sorted_pairs(values, NULL, n);
    for (int i = 0; i < n && both; i++)
        both[n + i] = (double)(i + 1) / n;
    if (both)
        report_series(
            r, &(struct report_series){.name = name, .n = n, .x = both, .y = both + n});
    free(both);
}

void page_points(struct report *r, const char *name, const double *x, const double *y,
                 int n)
{
    double *both = sorted_pairs(x, y, n);
    if (both)
        report_series(
            r,
            &(struct report_series){
                .name = name, .kind = REPORT_POINTS, .n = n, .x = both, .y = both + n});
    free(both);
}

static void put_line(struct report *r, const struct page_timeline *t, const char *name,
                     enum report_kind kind, const double *y)
{
    report_series(r, &(struct report_series){
                         .name = name, .kind = kind, .n = t->n, .x = t->at_s, .y = y});
}

void page_timeline(struct report *r, const char *id, const char *title,
                   const char *caption, const struct page_timeline *t)
{
    const struct report_axis time = {.label = "time [s]"};
    report_figure(r, id, title, caption);
    report_panel(
        r, &(struct report_panel){.title = "rates", .x = time, .y = {.label = "Mbit/s"}});
    put_line(r, t, "bitrate", REPORT_LINE, t->mbps);
    put_line(r, t, "throughput", REPORT_DASHED, t->throughput_mbps);
    report_panel(r, &(struct report_panel){
                        .title = "buffer", .x = time, .y = {.label = "seconds"}});
    put_line(r, t, "buffer", REPORT_LINE, t->buffer_s);

    double *stalls = malloc((size_t)(t->n ? t->n : 1) * sizeof *stalls);
    for (int i = 0; i < t->n && stalls; i++)
        stalls[i] = t->stall_s[i] > 0 ? t->stall_s[i] : (double)NAN;
    if (stalls) put_line(r, t, "stall", REPORT_POINTS, stalls);
    free(stalls);
}
