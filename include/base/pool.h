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
 * Threads: may be called from any thread; fn must be safe to run in parallel. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#define POOL_THREADS 64 /* at most, whatever is asked for */

int pool_run(int n, int threads, void (*fn)(void *ctx, int i), void *ctx);

/* Processors that this process may use, >= 1: the default of --threads. */
int pool_cpus(void);

#endif
