/* table.h - a hash table of fixed capacity.
 *
 * Keys and values are flat bytes of sizes that are fixed at the start; pad names with zeros. Entries
 * do not move: a value's address is valid until its key is deleted. A lookup costs one or two probes
 * (linear probing without tombstones, an index of twice the capacity).
 *
 * The hash is keyed by `seed`. Use a random seed for keys from outside, so that nobody can choose
 * keys that all collide.
 *
 * Errors: table_new ERR_MEMORY; table_put returns NULL when the table is full.
 * Ownership: no allocation after table_new.
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
/* The value of key. An absent key is added with a value of zeros; NULL when the table is full. *fresh
 * says whether the key was added; fresh may be NULL. */
void *table_put(struct table *t, const void *key, bool *fresh);
/* True when the key existed. */
bool table_delete(struct table *t, const void *key);

/* Visits every entry once: start with cursor 0 and stop at NULL. The entry just visited may be
 * deleted. Entries that are added meanwhile may be missed. key may be NULL. */
void *table_next(const struct table *t, int *cursor, const void **key);

#endif
