/* alloc.h - allocations counted, and made to fail.
 *
 * The test runner is linked with --wrap for malloc, calloc, realloc, aligned_alloc,
 * strdup and free, so this sees the calls of our own code (not those inside shared
 * libraries).
 *
 *   alloc_watch();
 *   emu_step(...);
 *   ck_assert_int_eq(alloc_calls(), 0);
 *
 * Threads: counts are of the whole process; failing is for one thread. */
#ifndef TEST_ALLOC_H
#define TEST_ALLOC_H

#include "base/err.h"

/* Starts counting from 0 and forgets what is live; alloc_calls and alloc_live are since
 * then. */
void alloc_watch(void);
/* The same, but the n-th call from now fails. */
void alloc_watch_failing(long n);
long alloc_calls(void); /* malloc, calloc, realloc, aligned_alloc, strdup */
long alloc_live(void);  /* blocks got and not yet freed */

/* Calls make(ctx, &e) with the first allocation failing, then the second, ... until it
 * succeeds; then destroys the result. Asserts each time that a failure gave NULL and
 * ERR_MEMORY and left nothing behind. Returns how many allocations were made to fail, >
 * 0. */
int alloc_each_fails(void *(*make)(void *ctx, struct err *e), void (*destroy)(void *made),
                     void *ctx);

#endif
