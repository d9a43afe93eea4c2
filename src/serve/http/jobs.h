/* jobs.h - slow work of requests, run by one thread next to the workers.
 *
 * A handler that would wait for the disk, for NATS or for an emulation passes that work to
 * jobs_begin; its worker answers other requests meanwhile. The handler returns reply_wait with
 * jobs_ready, jobs_drop and the job. When the work is done, the thread writes to the worker's
 * eventfd.
 *
 * Jobs run one at a time, in order of arrival. There are at most max at once; one more is ERR_FULL. A
 * job is finished even if its client leaves: a change must not depend on when its client leaves.
 *
 * After jobs_stop the running job is finished, and waiting jobs are not begun.
 *
 * Threads: locked inside, a leaf; no lock is held while a job runs. */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include "base/err.h"

#include <stdbool.h>

struct jobs;
struct jobs_work {
    void (*run)(void *self); /* on the thread of the jobs */
    void (*free)(
        void *self); /* called once, from any thread, after the last use of self */
    void *self;
    int bell; /* eventfd written when the job is over; -1: none. Not used after jobs_drop */
};

struct jobs *jobs_new(int max, struct err *e);
/* Every job must have been dropped. Waits for the running one. */
void jobs_free(struct jobs *j);
void jobs_stop(struct jobs *j);

/* The job, valid until jobs_drop. work->self is taken, also on failure. NULL: ERR_FULL or
 * ERR_MEMORY. */
void *jobs_begin(struct jobs *j, const struct jobs_work *work, struct err *e);
/* True once the job is over. */
bool jobs_ready(void *job);
/* The work->self of a job that is over; NULL: the job was never begun. */
void *jobs_result(void *job);
void jobs_drop(void *job);

#endif
