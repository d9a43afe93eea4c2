/* worker.h - one thread that serves HTTP, with its own loop and its own policy scratch.
 *
 * Between worker_start and worker_join the thread owns everything in the worker; other threads only
 * set its flags. A stopped worker leaves the listening socket. It completes the requests in progress
 * for up to grace_s and cuts all others; event streams are cut because they have no end of their own.
 *
 * Threads: worker_quit and worker_wake may be called from any; the rest from the owner. */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include "serve/http/api.h"
#include "serve/http/http.h"

struct worker;

struct worker *worker_start(const struct http_cfg *cfg, int listen_fd,
                            struct api_shared *shared, int index, double grace_s,
                            struct err *e);
/* Counts up at least once a second. After a turn, no request from before it holds anything. */
uint64_t worker_turns(const struct worker *w);
/* Makes the worker take a turn soon. */
void worker_wake(struct worker *w);
/* Asks it to stop; does not wait. */
void worker_quit(struct worker *w);
/* Waits for the thread's end and frees the worker. */
void worker_join(struct worker *w);

#endif
