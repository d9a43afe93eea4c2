/* siphash.h - SipHash-2-4: a 64-bit hash of a message that nobody can predict without the key.
 *
 * The key has 16 bytes, secret and uniformly drawn.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
 * Threads: pure function. */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_KEY = 16 };

uint64_t siphash(const uint8_t key[SIPHASH_KEY], const void *data, size_t n);

#endif
