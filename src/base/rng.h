/* rng.h - reproducible random numbers: sequential streams and counter-based draws.
 *
 * A stream is keyed by (seed, id). Streams with different ids are independent, so each environment,
 * thread or layer has its own, and results do not depend on the order in which they run.
 *
 * A counter-based draw is a pure function of (seed, key, counter): the same question has the same
 * answer after a restart, on any worker, in process or over HTTP.
 *
 * Source of the streams: xoshiro256++, Blackman and Vigna 2019.
 * Threads: a struct rng is not shared; the _at functions are pure. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed, uint64_t id);
uint64_t rng_u64(struct rng *r);
double rng_uniform(struct rng *r); /* [0, 1), 53 bits */
double rng_range(struct rng *r, double lo, double hi);
uint32_t rng_below(struct rng *r, uint32_t n); /* 0 .. n-1, unbiased; n > 0 */
double rng_normal(struct rng *r);              /* N(0, 1), Box-Muller, no cache */
double rng_exponential(struct rng *r, double mean);

uint64_t rng_u64_at(uint64_t seed, uint64_t key, uint64_t counter);
double rng_uniform_at(uint64_t seed, uint64_t key, uint64_t counter); /* [0, 1) */

#endif
