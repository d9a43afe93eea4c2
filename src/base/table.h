/* table.h - a hash table of fixed capacity; no allocation after _new.
 *
 * Keys and values are flat bytes of sizes fixed at the start (pad names with zeros).
 * Entries do not move: a value's address holds until its key is deleted. Lookups cost one
 * or two probes (the index is twice the capacity, linear probing, no tombstones).
 *
 * The hash is keyed by `seed`: give a random one when keys come from outside, so that
 * nobody can pick keys that all collide.
 *
 * Errors: table_new ERR_MEMORY; table_put NULL when full.
 * Threads: not shared; the owner locks. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* capacity 1 .. 2^29 entries. Values are aligned to 16 bytes. */
struct table *table_new(int capacity, size_t key_bytes, size_t value_bytes, uint64_t seed,
                        struct err *e);
void table_free(struct table *t);

int table_count(const struct table *t);
int table_capacity(const struct table *t);

/* The value of key; NULL when absent. */
void *table_get(const struct table *t, const void *key);
/* The value of key, made (all zero) when absent; NULL when it is absent and the table is
 * full. fresh, which may be NULL, tells which. */
void *table_put(struct table *t, const void *key, bool *fresh);
/* true when it was there. */
bool table_delete(struct table *t, const void *key);

/* Visits every entry once: start with cursor 0, until NULL. The entry just visited may be
 * deleted; entries added meanwhile may be missed. key may be NULL. */
void *table_next(const struct table *t, int *cursor, const void **key);

#endif
