#include "base/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = -1 };

/* Entries lie in one block. An entry is [key | value], or [int next free] when it is free. The index
 * holds entry numbers. Deleting moves later index slots back, so probing never meets a gap. */
struct table {
    int capacity, count, slots; /* slots is a power of two >= 2 * capacity */
    size_t key_bytes, value_bytes, value_at, entry_bytes;
    uint64_t seed;
    int free_head;          /* list of deleted entries, EMPTY = none */
    int fresh;              /* the first entry that was never used */
    int *index;             /* (slots) */
    bool *used;             /* (capacity) */
    unsigned char *entries; /* (capacity, entry_bytes) */
};

static size_t align16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

struct table *table_new(int capacity, size_t key_bytes, size_t value_bytes, uint64_t seed,
                        struct err *e)
{
    assert(capacity > 0 && capacity <= 1 << 29 && key_bytes > 0);
    struct table *t = calloc(1, sizeof *t);
    if (!t) goto no_memory;

    t->capacity = capacity;
    t->key_bytes = key_bytes;
    t->value_bytes = value_bytes;
    t->seed = seed;
    t->free_head = EMPTY;
    t->value_at = align16(key_bytes);
    t->entry_bytes = align16(t->value_at + value_bytes);
    t->slots = 2;
    while (t->slots / 2 < capacity)
        t->slots *= 2;

    t->index = calloc((size_t)t->slots, sizeof *t->index);
    t->used = calloc((size_t)capacity, sizeof *t->used);
    t->entries = calloc((size_t)capacity, t->entry_bytes);
    if (!t->index || !t->used || !t->entries) goto no_memory;
    memset(t->index, 0xff, (size_t)t->slots * sizeof *t->index);
    return t;

no_memory:
    table_free(t);
    err_set(e, ERR_MEMORY, "no memory for a table of %d entries", capacity);
    return NULL;
}

void table_free(struct table *t)
{
    if (!t) return;
    free(t->entries);
    free(t->used);
    free(t->index);
    free(t);
}

int table_count(const struct table *t)
{
    return t->count;
}

int table_capacity(const struct table *t)
{
    return t->capacity;
}

static unsigned char *entry(const struct table *t, int i)
{
    return t->entries + (size_t)i * t->entry_bytes;
}

static const void *table_key_of(const struct table *t, int i)
{
    return entry(t, i);
}

static void *table_value_of(const struct table *t, int i)
{
    return entry(t, i) + t->value_at;
}

/* eight bytes at a time, multiplied and folded; keyed by the seed */
static int home(const struct table *t, const void *key)
{
    const unsigned char *p = key;
    uint64_t h = t->seed ^ UINT64_C(0x9e3779b97f4a7c15);
    for (size_t left = t->key_bytes; left;) {
        size_t n = left < 8 ? left : 8;
        uint64_t word = 0;
        memcpy(&word, p, n);
        h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 32;
        h *= UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 29;
        p += n;
        left -= n;
    }
    return (int)(h & (uint64_t)(t->slots - 1));
}

/* the slot that holds key, or the empty one where it would go */
static int table_find(const struct table *t, const void *key)
{
    int s = home(t, key);
    while (t->index[s] != EMPTY &&
           memcmp(table_key_of(t, t->index[s]), key, t->key_bytes) != 0)
        s = (s + 1) & (t->slots - 1);
    return s;
}

void *table_get(const struct table *t, const void *key)
{
    int i = t->index[table_find(t, key)];
    return i == EMPTY ? NULL : table_value_of(t, i);
}

static int take_entry(struct table *t)
{
    if (t->free_head == EMPTY) return t->fresh++;
    int i = t->free_head;
    memcpy(&t->free_head, entry(t, i), sizeof t->free_head);
    return i;
}

void *table_put(struct table *t, const void *key, bool *fresh)
{
    int s = table_find(t, key);
    bool absent = t->index[s] == EMPTY;
    if (fresh) *fresh = absent;
    if (!absent) return table_value_of(t, t->index[s]);
    if (t->count == t->capacity) return NULL;

    int i = take_entry(t);
    memcpy(entry(t, i), key, t->key_bytes);
    memset(table_value_of(t, i), 0, t->value_bytes);
    t->used[i] = true;
    t->index[s] = i;
    t->count++;
    return table_value_of(t, i);
}

bool table_delete(struct table *t, const void *key)
{
    int hole = table_find(t, key), i = t->index[hole], mask = t->slots - 1;
    if (i == EMPTY) return false;

    memcpy(entry(t, i), &t->free_head, sizeof t->free_head);
    t->free_head = i;
    t->used[i] = false;
    t->count--;

    /* a later key moves into the hole unless its home lies between the hole and itself */
    for (int s = (hole + 1) & mask; t->index[s] != EMPTY; s = (s + 1) & mask) {
        int h = home(t, table_key_of(t, t->index[s]));
        if (((s - h) & mask) >= ((s - hole) & mask)) {
            t->index[hole] = t->index[s];
            hole = s;
        }
    }
    t->index[hole] = EMPTY;
    return true;
}

void *table_next(const struct table *t, int *cursor, const void **key)
{
    for (; *cursor < t->fresh; (*cursor)++) {
        int i = *cursor;
        if (!t->used[i]) continue;
        (*cursor)++;
        if (key) *key = table_key_of(t, i);
        return table_value_of(t, i);
    }
    return NULL;
}
