/* sketch.h - how much each of very many keys was seen, in memory that does not grow.
 *
 *   add(key, x):    C[i][h_i(key)] += x                      i = 0 .. depth - 1
 *   estimate(key):  min_i C[i][h_i(key)]
 *
 * Source: Count-Min, Cormode & Muthukrishnan 2005, Sec. 3. With weight N in the sketch and true
 * weight c of a key:
 *
 *   c <= estimate,   and   estimate <= c + e/width * N   with probability 1 - exp(-depth).
 *
 * Conservative (Estan & Varghese 2002, "conservative update"): a cell is raised only to the
 * key's new estimate, so that keys of little weight spoil less. The bound holds as before, the
 * estimate is never larger than without.
 *
 * Ageing: sketch_age(f) multiplies all that was added so far by f, so that a key not seen any
 * more fades as f^t. Instead of touching the cells, weights added later grow by 1/f; the cells
 * are divided when that factor passes 2^64, once in 64 halvings. N, c and the bound are then of
 * aged weights.
 *
 * Differs: h_i is a mixing function keyed by the seed (base/rng.h) and not drawn from a pairwise
 * independent family; whoever knows the seed could choose keys that collide.
 *
 * State: cells, weight and unit as bytes (little-endian), for a sketch of the same shape and seed.
 *
 * Errors: ERR_RANGE a shape beyond the limits, ERR_MEMORY, ERR_CORRUPT a state of another shape
 * or with values that cannot be. Threads: not shared. No allocation after _new. */
#ifndef BASE_SKETCH_H
#define BASE_SKETCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_WIDTH_MAX (1 << 24)
#define SKETCH_DEPTH_MAX 16

struct sketch_cfg {
    int width, depth;
    bool conservative;
    uint64_t seed;
};

struct sketch;

struct sketch *sketch_new(const struct sketch_cfg *cfg, struct err *e);
void sketch_free(struct sketch *s);

/* A key for bytes: ids, names. */
uint64_t sketch_key(uint64_t seed, const void *data, size_t n);

/* x >= 0 and finite. */
void sketch_add(struct sketch *s, uint64_t key, double x);
double sketch_estimate(const struct sketch *s, uint64_t key);
double sketch_weight(const struct sketch *s); /* N */
/* What the estimate may be too large by, with probability 1 - exp(-depth). */
double sketch_error(const struct sketch *s);

/* 0 < f <= 1. */
void sketch_age(struct sketch *s, double f);

size_t sketch_state_size(const struct sketch *s);
void sketch_state_get(const struct sketch *s, void *out);
/* On failure the sketch is as it was. */
int sketch_state_put(struct sketch *s, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
