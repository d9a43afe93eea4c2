/* quota.h - so many a second and no more: a token bucket for every key.
 *
 * A bucket holds rate * burst_s tokens and fills at `rate` a second; each request takes one.
 * It is kept as one number, the time when it will be full again (the generic cell rate
 * algorithm, ITU-T I.371, Annex A):
 *
 *   t' = max(full_at, now) + 1 / rate
 *   t' - now <= burst_s:  allowed, full_at = t';   else refused for t' - now - burst_s seconds
 *
 * with burst_s never less than 1 / rate, so that one request always fits an untouched bucket.
 * A full bucket is the same as none, so that forgetting it loses nothing. Memory is fixed: a
 * key has eight places it may be kept at, and a new one takes the place of the fullest bucket
 * there. Whoever asks under very many keys makes the table forget what others owe; he never
 * makes it refuse those who owe nothing.
 *
 * Units: seconds of one steady clock. Threads: locked inside. No allocation after quota_new. */
#ifndef SERVE_QUOTA_H
#define SERVE_QUOTA_H

#include "base/err.h"

#include <stdint.h>

#define QUOTA_KEY 16 /* bytes */

struct quota;

/* rate > 0; keys: how many are remembered, rounded up. seed: secret, so that nobody can choose
 * keys that share their places. ERR_MEMORY. */
struct quota *quota_new(double rate, double burst_s, int keys, uint64_t seed,
                        struct err *e);
void quota_free(struct quota *q);

/* 0: allowed and taken; else the seconds until one will be allowed, and nothing is taken. */
double quota_take(struct quota *q, const unsigned char key[QUOTA_KEY], double now_s);

#endif
