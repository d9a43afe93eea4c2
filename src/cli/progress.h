/* progress.h - how far a long command is: a bar with the time left on a terminal, a plain
 * line every ten seconds elsewhere. All on stderr, so that results can be piped.
 *
 *   train  [#########...........]  46 %  0:31 left  qoe 0.912
 *
 * Threads: not shared. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    const char *label; /* borrowed */
    bool terminal, quiet, drawn;
    double start_s, last_s; /* clock_mono */
};

/* quiet: show nothing at all. */
void progress_init(struct progress *p, const char *label, bool quiet);
/* share in 0 .. 1; note may be "". Cheap to call often: draws at most ten times a second
 * on a terminal. */
void progress_show(struct progress *p, double share, const char *note);
/* Clears the bar; call it before printing results, also after a failure. */
void progress_end(struct progress *p);

/* The line itself; what progress_show prints after elapsed_s. */
void progress_line(char *buf, size_t n, const char *label, double share, double elapsed_s,
                   const char *note, bool bar);

#endif
