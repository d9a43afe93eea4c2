#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct arena {
    unsigned char *block;
    size_t size, used, peak;
};

/* up to the next multiple; 0 on overflow of a size other than 0 */
static size_t round_up(size_t n)
{
    return (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

struct arena *arena_new(size_t bytes, struct err *e)
{
    struct arena *a = calloc(1, sizeof *a);
    size_t size = round_up(bytes);
    if (a && size >= bytes)
        a->block = aligned_alloc(ARENA_ALIGN, size ? size : ARENA_ALIGN);
    if (!a || !a->block) {
        arena_free(a);
        err_set(e, ERR_MEMORY, "no memory for %zu bytes of scratch", bytes);
        return NULL;
    }
    a->size = size;
    return a;
}

void arena_free(struct arena *a)
{
    if (!a) return;
    free(a->block);
    free(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t n = round_up(bytes ? bytes : 1);
    if (n < bytes || n > a->size - a->used) return NULL;
    void *p = a->block + a->used;
    a->used += n;
    if (a->used > a->peak) a->peak = a->used;
    return memset(p, 0, bytes);
}

size_t arena_mark(const struct arena *a)
{
    return a->used;
}

void arena_reset(struct arena *a, size_t mark)
{
    assert(mark <= a->used);
    a->used = mark;
}

size_t arena_peak(const struct arena *a)
{
    return a->peak;
}
