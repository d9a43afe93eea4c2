/* jobs.h - slow work of requests, done by one thread beside the workers.
 *
 * A handler that would wait for the disk, for NATS or for an emulation gives that work to
 * jobs_begin, and the worker answers other requests meanwhile. The returned job is what
 * reply_wait waits for: its three functions are jobs_ready, jobs_drop and the job. When the work
 * is done, the thread rings the worker's bell.
 *
 * Jobs run one at a time, in the order in which they came. At most max are there at once;
 * a further one is ERR_FULL. A job whose client leaves is done all the same: a change that
 * was asked for does not depend on the moment at which its client goes away.
 *
 * jobs_stop begins the end: the running job is finished; those that wait are not begun.
 *
 * Threads: locked inside, a leaf; no lock is held while a job runs. */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include "base/err.h"

#include <stdbool.h>

struct jobs;
struct jobs_work {
    void (*run)(void *self);  /* on the thread of the jobs */
    void (*free)(void *self); /* once, from any thread; nobody uses self any more */
    void *self;
    int bell; /* eventfd to ring when the job is over; -1: none. Not rung after jobs_drop */
};

struct jobs *jobs_new(int max, struct err *e);
/* After every job was dropped. Waits for the running one. */
void jobs_free(struct jobs *j);
void jobs_stop(struct jobs *j);

/* The job, until jobs_drop; work->self is taken, also on failure. NULL: ERR_FULL, or
 * ERR_MEMORY. */
void *jobs_begin(struct jobs *j, const struct jobs_work *work, struct err *e);
/* It is over. */
bool jobs_ready(void *job);
/* The work->self of a job that is over; NULL: it was never begun. */
void *jobs_result(void *job);
void jobs_drop(void *job);

#endif
