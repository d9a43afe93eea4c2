/* arena.h - scratch memory taken in order and given back all at once.
 *
 * One block, sized at the start. arena_alloc moves a pointer forward; arena_mark and
 * arena_reset give back everything taken since the mark. For per-thread scratch of hot
 * paths, where nothing may call malloc.
 *
 * arena_alloc returns zeroed memory aligned to ARENA_ALIGN (a cache line; any vector), or
 * NULL when the block is used up; arena_peak tells how large it has to be.
 *
 * Ownership: what arena_alloc gives is borrowed until the reset behind it, or arena_free.
 * Threads: not shared, one per thread. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/err.h"

#include <stddef.h>

#define ARENA_ALIGN 64

struct arena;

struct arena *arena_new(size_t bytes, struct err *e);
void arena_free(struct arena *a);

void *arena_alloc(struct arena *a, size_t bytes);
size_t arena_mark(const struct arena *a);
void arena_reset(struct arena *a, size_t mark);
size_t arena_peak(const struct arena *a);

#endif
