/* page.h - a report (report/report.h) as the file that --report names.
 *
 * Errors: ERR_INVALID (a name that is not letters, digits, '-' and '_' before .html), and those of
 * assets.h and report_write. Threads: main thread. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "report/report.h"

/* An empty report of that file's name; fails before any work is done. */
struct report *page_new(const char *path, const char *title, struct err *e);
/* path.html, path.csv and path.json. */
int page_write(const struct report *r, const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* Sorts the n pairs by x, as a series wants them: equal ones are moved apart by a billionth.
 * y may be NULL. */
void page_sort(double *x, double *y, int n);

/* Into the last panel: the share of the n values that are at most x; a point per pair.
 * Without memory for it the series is left out. */
void page_distribution(struct report *r, const char *name, const double *values, int n);
void page_points(struct report *r, const char *name, const double *x, const double *y,
                 int n);

/* A session, chunk by chunk: when each was there, and what was then. */
struct page_timeline {
    int n;
    const double *at_s, *buffer_s, *mbps, *throughput_mbps, *stall_s; /* (n) */
};

/* A figure of two panels: rates, buffer and stalls. */
void page_timeline(struct report *r, const char *id, const char *title,
                   const char *caption, const struct page_timeline *t);

#endif
