/* clients.h - who is known by what name, and something about each: a table of fixed size.
 *
 * Names are hashed with a secret seed, so that nobody can choose two that are one. When the table
 * is full, the one that was put longest ago is forgotten, in constant time.
 *
 * Entries are copied in and out, and what is done between may take long (a question to the
 * service). So every change has a number: clients_get tells the last one, and what is put back or
 * forgotten names it. Who comes too late is told so and begins again with what is there now:
 *
 *   do {
 *       since = clients_get(&mine, c, key);
 *       ...
 *   } while (!clients_put(c, key, &mine, since));
 *
 * Errors: clients_new ERR_MEMORY. Threads: locked inside, a leaf. No allocation after
 * clients_new. */
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

/* The key of n bytes and, behind them, a text. */
void clients_key(unsigned char out[CLIENTS_KEY], const struct clients *c,
                 const void *bytes, size_t n, const char *text);

/* The number of its last change; 0, and nothing in out, when there is none. */
uint64_t clients_get(void *out, struct clients *c, const unsigned char key[CLIENTS_KEY]);
/* Replaces the entry if its last change is still `since`; 0: makes one if there is none. False:
 * nothing was done. */
bool clients_put(struct clients *c, const unsigned char key[CLIENTS_KEY],
                 const void *entry, uint64_t since) __attribute__((warn_unused_result));
/* False when there is one, and with another last change: nothing was done. */
bool clients_forget(struct clients *c, const unsigned char key[CLIENTS_KEY],
                    uint64_t since) __attribute__((warn_unused_result));
int clients_count(struct clients *c);

#endif
