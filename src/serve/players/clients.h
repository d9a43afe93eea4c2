/* clients.h - a table of fixed size with an entry for each client; a full table drops the oldest entry.
 *
 * Names are hashed with a secret seed, so that nobody can choose two names with one key. When the table
 * is full, the entry that was put longest ago is dropped, in constant time.
 *
 * Entries are copied in and out, and the work in between may be long (a question to the service). So
 * every change has a number. clients_get returns the number of the last change; clients_put and
 * clients_forget name it and do nothing if it is no longer the last one. Then begin again:
 *
 *   do {
 *       since = clients_get(&mine, c, key);
 *       ...
 *   } while (!clients_put(c, key, &mine, since));
 *
 * What is opened for a client is opened once: clients_open_lock is held while an entry is looked up,
 * opened and put. A client's first requests may come at the same time.
 *
 * Errors: clients_new ERR_MEMORY. Threads: locked inside, a leaf; clients_open_lock is the outermost lock.
 * No allocation after clients_new. */
#ifndef SERVE_CLIENTS_H
#define SERVE_CLIENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENTS_KEY 16

struct clients;

struct clients *clients_new(int capacity, size_t entry_bytes, uint64_t seed,
                            struct err *e);
void clients_free(struct clients *c);

/* The key of n bytes followed by a text. */
void clients_key(unsigned char out[CLIENTS_KEY], const struct clients *c,
                 const void *bytes, size_t n, const char *text);

/* The number of the entry's last change; 0: no entry, and out is not filled. */
uint64_t clients_get(void *out, struct clients *c, const unsigned char key[CLIENTS_KEY]);
/* Replaces the entry if its last change is still `since` (0: makes one if there is none). False:
 * nothing was done. */
bool clients_put(struct clients *c, const unsigned char key[CLIENTS_KEY],
                 const void *entry, uint64_t since) __attribute__((warn_unused_result));
/* False: the entry has another last change, nothing was done. */
bool clients_forget(struct clients *c, const unsigned char key[CLIENTS_KEY],
                    uint64_t since) __attribute__((warn_unused_result));
int clients_count(struct clients *c);

void clients_open_lock(struct clients *c);
void clients_open_unlock(struct clients *c);

#endif
