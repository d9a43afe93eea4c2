/* pool.h - run one function over many indices on a few threads.
 *
 * pool_run calls fn(ctx, i) once for every i in 0 .. n-1. Threads take the next index
 * from a shared counter, so which thread runs i is not defined: fn writes only to what
 * belongs to i, and then the result does not depend on the number of threads. The
 * caller's thread works too; threads <= 1 runs everything in it, in order. When the
 * system refuses a thread the others do its share. Subnormal numbers are 0 within fn
 * (base/fpu.h), in whatever thread it runs.
 *
 * Returns the number of threads that worked, 1 .. POOL_THREADS.
 *
 * pool_try is pool_run for functions that can fail: fn(ctx, i, e) returns 0, or another code and
 * its reason in e, which is its own and empty. pool_try returns 0, or the code of the failing item
 * of the lowest index, with its reason in e (as err.h has it: unless e already holds one). Once i
 * has failed, items above i that have not begun are left out, all below i are still done; so that
 * item, and what is told, does not depend on the number of threads - which items above it were
 * done does. Allocates nothing.
 *
 * Threads: may be called from any thread; fn must be safe to run in parallel. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/err.h"

#define POOL_THREADS 64 /* at most, whatever is asked for */

int pool_run(int n, int threads, void (*fn)(void *ctx, int i), void *ctx);

int pool_try(int n, int threads, int (*fn)(void *ctx, int i, struct err *e), void *ctx,
             struct err *e) __attribute__((warn_unused_result));

/* Processors that this process may use, >= 1: the default of --threads. */
int pool_cpus(void);

#endif
