/* worker.h - one thread that serves HTTP, with its own loop and its own policy scratch.
 *
 * Between worker_start and worker_stop the thread owns everything in the worker; the others
 * only raise its flags. A stopped worker leaves the listening socket, answers what it has
 * already begun to read or send for up to grace_s, and cuts the rest (event streams have no
 * end of their own).
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
/* Rises at least once a second. What a request of before may hold is free once it has. */
uint64_t worker_turns(const struct worker *w);
/* It makes a turn soon. */
void worker_wake(struct worker *w);
/* Asks it to stop; does not wait. */
void worker_quit(struct worker *w);
/* Waits for its end and frees it. */
void worker_join(struct worker *w);

#endif
