/* siphash.h - SipHash-2-4: a 64-bit number of a message that nobody foretells without the key.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. key is 16
 * bytes, secret and uniformly drawn. Threads: pure function. */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_KEY = 16 };

uint64_t siphash(const uint8_t key[SIPHASH_KEY], const void *data, size_t n);

#endif
