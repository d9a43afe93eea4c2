/* clients.h - who is known by what name, and something about each: a table of fixed size.
 *
 * Names are hashed with a secret seed, so that nobody can choose two that are one. When the table
 * is full, the one that was silent longest is forgotten.
 *
 * Errors: clients_new ERR_MEMORY. Threads: locked inside, a leaf; entries are copied in and out.
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
void clients_free(struct clients *r);

/* The key of n bytes and, behind them, a text. */
void clients_key(unsigned char out[CLIENTS_KEY], const struct clients *r,
                 const void *bytes, size_t n, const char *text);

/* False, and nothing in out, when there is none. */
bool clients_get(void *out, struct clients *r, const unsigned char key[CLIENTS_KEY]);
/* Makes or replaces. now_s: of any steady clock, and never less than before. */
void clients_put(struct clients *r, const unsigned char key[CLIENTS_KEY],
                 const void *entry, double now_s);
void clients_forget(struct clients *r, const unsigned char key[CLIENTS_KEY]);
int clients_count(struct clients *r);

#endif
