/* progress.h - how far a long command is (a bar with the time left on a terminal, a plain line every
 * ten seconds elsewhere), and what it spent its CPU time on. Both go to stderr, so that results can be
 * piped.
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
/* share in 0 .. 1; note may be "". Cheap to call often: draws at most ten times per second
 * on a terminal. */
void progress_show(struct progress *p, double share, const char *note);
/* For long work that asks whether to stop: shows the share, true after Ctrl-C. p: struct progress. */
bool progress_watch(void *p, double share);
/* Clears the bar. Call it before results are printed, also after a failure. */
void progress_end(struct progress *p);

/* The line itself; what progress_show prints after elapsed_s. */
void progress_line(char *buf, size_t n, const char *label, double share, double elapsed_s,
                   const char *note, bool bar);

/* ---- CPU time ----
 *
 *   struct progress_cpu c = {0};
 *   progress_cpu_note(&c, clock_cpu(), "MNIST, M = 7");      from now on the command does this
 *   progress_cpu_line(line, sizeof line, &c, clock_cpu());   "12.3 s CPU: MNIST, M = 7 8.1 s, ..."
 *
 * Equal notes are one part. Beyond PROGRESS_PARTS the time counts in the total only. The line names the
 * largest parts with a tenth of the total or more, four at most. */

#define PROGRESS_PARTS 64

struct progress_cpu {
    struct progress_part {
        char text[80];
        double cpu_s;
    } note[PROGRESS_PARTS];
    int notes, now; /* now: the part that runs; notes: none */
    double since_s; /* when it began */
};

void progress_cpu_note(struct progress_cpu *s, double cpu_s, const char *note);
void progress_cpu_line(char *out, size_t size, const struct progress_cpu *s,
                       double cpu_s);

#endif
