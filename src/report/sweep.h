/* sweep.h - many independent runs over the processors; files keep the results of finished runs.
 *
 *   static int one(void *ctx, int i, struct sweep_job *job, struct err *e)
 *   {
 *       const struct plan *p = ctx;
 *       for (int t = 0; t < p->steps; t++) {
 *           ...
 *           if (sweep_tick(job, (double)t / p->steps)) return SWEEP_STOPPED;
 *       }
 *       sweep_put(job, curve, sizeof curve);
 *       return 0;
 *   }
 *   struct sweep_run run[] = {{.name = "pamoe-1", .config = "variant=pamoe seed=1 steps=2000000"}};
 *   struct sweep *s = sweep_new(&cfg, run, n, &e);
 *   rc = sweep_go(s, one, &plan, &e);          (0, SWEEP_STOPPED or ERR_*)
 *   const double *curve = sweep_result(s, 0, &bytes);
 *
 * The next free thread takes the next run in their order (base/pool): put long ones first. A run is a
 * function of its configuration alone and gives bytes. Results do not depend on the number of threads,
 * nor on which runs were read back.
 *
 * Files: dir/NAME.run, written whole (temporary name, fsync, rename) when its run ends:
 *   abrd run 1 HASH BYTES CRC\n   hash of configuration and version; length and CRC-32 of the rest
 *   CONFIG\n                      for people
 *   the bytes of sweep_put
 * A sweep that was stopped continues from these files. A file of another configuration or version, or
 * a torn one, counts in sweep_redo, and its run is repeated. With dir NULL nothing is kept. The bytes
 * are the machine's own: a folder is resumed on the machine that began it.
 *
 * Progress: the callback is never in two threads at a time, but may be in any. It returns true to stop.
 * Running runs then see true from sweep_tick, no others begin, and sweep_go returns SWEEP_STOPPED.
 * Finished runs are kept.
 *
 * Errors: ERR_INVALID (a name that is no file name, or a name twice), ERR_MEMORY, ERR_IO; of failing
 * runs the error of the lowest index, with its name in e->field.
 * Ownership: texts of runs are borrowed as long as the sweep lives.
 * Threads: not shared; sweep_tick and sweep_put in the run's own thread. */
#ifndef REPORT_SWEEP_H
#define REPORT_SWEEP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWEEP_STOPPED 1 /* progress asked to stop: no results, no error */

struct sweep_run {
    const char *name;   /* letters, digits, '-', '_', '.'; the file's name */
    const char *config; /* all that the result depends on, one line; seed too */
};

struct sweep_progress {
    double share; /* of the whole sweep, 0 .. 1 */
    int done, n;
    char running[96]; /* names of what runs now, "pamoe-1, moe-3" */
};

struct sweep_cfg {
    const char *dir;     /* exists; NULL keeps nothing */
    const char *version; /* of the program: files of another one are done again */
    int threads;
    bool (*progress)(void *ctx, const struct sweep_progress *p); /* may be NULL */
    void *progress_ctx;
};

struct sweep;
struct sweep_job;

struct sweep *sweep_new(const struct sweep_cfg *cfg, const struct sweep_run *run, int n,
                        struct err *e);
void sweep_free(struct sweep *s);

/* After sweep_new: runs whose results were read back, and files that were there but did not fit
 * (with the first one's name and what is wrong with it). */
int sweep_kept(const struct sweep *s);
int sweep_redo(const struct sweep *s, const char **why);

/* Does what is not there yet. one returns 0, SWEEP_STOPPED or ERR_*. */
int sweep_go(struct sweep *s,
             int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
             void *ctx, struct err *e) __attribute__((warn_unused_result));

/* Within a run: how far it is (0 .. 1). True: leave with SWEEP_STOPPED. Cheap, but not for the
 * innermost loop. */
bool sweep_tick(struct sweep_job *job, double share);
/* Appends to the run's result; a lack of memory is found by sweep_go. */
void sweep_put(struct sweep_job *job, const void *data, size_t n);

/* The result of run i after sweep_go gave 0; aligned as by malloc, owned by the sweep. */
const void *sweep_result(const struct sweep *s, int i, size_t *bytes);

#endif
