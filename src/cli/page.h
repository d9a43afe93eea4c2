/* page.h - a report (report/report.h) as the HTML page that --report names, and its common figures.
 *
 * A page consists of the report, uPlot, our script and our style. home.h finds these texts; uPlot
 * exists after `make web`; the error says so if it is missing.
 *
 * Errors: ERR_INVALID (a name that is not letters, digits, '-' and '_' before .html), ERR_ABSENT,
 * ERR_IO, and those of report_write. Threads: main thread. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "report/report.h"

/* The texts of a page, owned: page_assets_free, also after a failure. */
int page_assets(struct report_assets *out, struct err *e)
    __attribute__((warn_unused_result));
void page_assets_free(struct report_assets *a);

/* An empty report of that file's name. Finds what would fail at the end, before any work is done. */
struct report *page_new(const char *path, const char *title, struct err *e);
/* path.html, path.csv and path.json. */
int page_write(const struct report *r, const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* Sorts the n pairs by x, as a series needs them: equal ones are moved apart by a billionth.
 * y may be NULL. */
void page_sort(double *x, double *y, int n);

/* Into the last panel: the share of the n values that are at most x; a point per pair.
 * Without memory the series is left out. */
void page_distribution(struct report *r, const char *name, const double *values, int n);
void page_points(struct report *r, const char *name, const double *x, const double *y,
                 int n);

/* A session chunk by chunk: when the chunk had come, and the state at that time. */
struct page_timeline {
    int n;
    const double *at_s, *buffer_s, *mbps, *throughput_mbps, *stall_s; /* (n) */
};

/* A figure of two panels: rates, buffer and stalls. */
void page_timeline(struct report *r, const char *id, const char *title,
                   const char *caption, const struct page_timeline *t);

#endif
