/* quota.h - rate limit: a token bucket for every key.
 *
 * A bucket holds rate * burst_s tokens and fills at `rate` per second; each request takes one. It is
 * stored as the time at which it is full again:
 *
 *   t' = max(full_at, now) + 1 / rate
 *   t' - now <= burst_s:  allowed, full_at = t';   else refused for t' - now - burst_s seconds
 *
 * burst_s is at least 1 / rate, so that a full bucket always allows one request.
 * Source: generic cell rate algorithm, ITU-T I.371, Annex A.
 *
 * A full bucket equals an absent one, so forgetting it loses nothing. Memory is fixed: a key has eight
 * places, and a new key replaces the fullest bucket there. A client with very many keys makes the
 * table forget what other keys owe. It never makes the table refuse a key that owes nothing.
 *
 * Units: seconds of one steady clock. Threads: locked inside. No allocation after quota_new. */
#ifndef SERVE_QUOTA_H
#define SERVE_QUOTA_H

#include "base/err.h"

#include <stdint.h>

#define QUOTA_KEY 16 /* bytes */

struct quota;

/* rate > 0; keys: number of buckets, rounded up. seed: secret, so that no client can choose keys that
 * share their places. ERR_MEMORY. */
struct quota *quota_new(double rate, double burst_s, int keys, uint64_t seed,
                        struct err *e);
void quota_free(struct quota *q);

/* 0: allowed, one token taken; else the seconds until one is free, and nothing is taken. */
double quota_take(struct quota *q, const unsigned char key[QUOTA_KEY], double now_s);

#endif
