/* roll.h - who is known by what name, and something about each: a table of fixed size.
 *
 * Names are hashed with a secret seed, so that nobody can choose two that are one. When the table
 * is full, the one that was silent longest is forgotten.
 *
 * Errors: roll_new ERR_MEMORY. Threads: locked inside, a leaf; entries are copied in and out.
 * No allocation after roll_new. */
#ifndef SERVE_ROLL_H
#define SERVE_ROLL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROLL_KEY 16

struct roll;

struct roll *roll_new(int capacity, size_t entry_bytes, uint64_t seed, struct err *e);
void roll_free(struct roll *r);

/* The key of n bytes and, behind them, a text. */
void roll_key(unsigned char out[ROLL_KEY], const struct roll *r, const void *bytes,
              size_t n, const char *text);

/* False, and nothing in out, when there is none. */
bool roll_get(void *out, struct roll *r, const unsigned char key[ROLL_KEY]);
/* Makes or replaces. now_s: of any steady clock, and never less than before. */
void roll_put(struct roll *r, const unsigned char key[ROLL_KEY], const void *entry,
              double now_s);
void roll_forget(struct roll *r, const unsigned char key[ROLL_KEY]);
int roll_count(struct roll *r);

#endif
