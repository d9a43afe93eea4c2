/* pool.h - one function over many indices, on a few threads.
 *
 * pool_run calls fn(ctx, i) once for every i in 0 .. n-1. Threads take the next index from a shared
 * counter, so any thread may run i. fn writes only to what belongs to i; the result then does not
 * depend on the number of threads. The caller's thread works too. threads <= 1 runs everything in
 * it, in order. When the system refuses a thread, the other threads do its share. Subnormal numbers
 * are 0 within fn, on every thread (base/fpu.h). Returns the number of threads that worked, 1 ..
 * POOL_THREADS.
 *
 * pool_try is pool_run for functions that can fail. fn(ctx, i, e) returns 0, or an error code with
 * its reason in e, which is its own and empty. pool_try returns 0, or the code of the failing item of
 * the lowest index, with its reason in e (unless e already holds one). After the failure of i, items
 * above i that have not begun are skipped; all items below i are still run. So the reported item does
 * not depend on the number of threads; which items above it were run does.
 *
 * Ownership: allocates nothing.
 * Threads: may be called from any thread; fn must be safe to run in parallel. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/err.h"

#define POOL_THREADS 64 /* the upper limit */

int pool_run(int n, int threads, void (*fn)(void *ctx, int i), void *ctx);

int pool_try(int n, int threads, int (*fn)(void *ctx, int i, struct err *e), void *ctx,
             struct err *e) __attribute__((warn_unused_result));

/* Number of processors that this process may use, >= 1. It is the default of --threads. */
int pool_cpus(void);

#endif
