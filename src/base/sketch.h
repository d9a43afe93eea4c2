/* sketch.h - approximate weights of very many keys in memory of fixed size.
 *
 *   add(key, x):    C[i][h_i(key)] += x                      i = 0 .. depth - 1
 *   estimate(key):  min_i C[i][h_i(key)]
 *
 * With weight N in the sketch and true weight c of a key:
 *
 *   c <= estimate,   and   estimate <= c + e/width * N   with probability 1 - exp(-depth).
 *
 * Conservative update: a cell is raised only to the key's new estimate, so keys of little weight add
 * less error. The bound holds as before, and the estimate is never larger than without.
 *
 * Ageing: sketch_age(f) multiplies all weights so far by f, so a key that is no longer seen fades as
 * f^t. The cells are not touched; later weights grow by 1/f instead. When that factor passes 2^64,
 * once in 64 halvings, the cells are divided by it. N, c and the bound are then of aged weights.
 *
 * State: cells, weight and unit as bytes (little-endian), for a sketch of the same shape and seed.
 *
 * Source: Count-Min, Cormode & Muthukrishnan 2005, Sec. 3; "conservative update", Estan & Varghese
 * 2002. Differs: h_i is a mixing function keyed by the seed (base/rng.h), not drawn from a pairwise
 * independent family. Somebody who knows the seed could choose keys that collide.
 * Errors: ERR_RANGE a shape beyond the limits, ERR_MEMORY, ERR_CORRUPT a state of another shape or
 * with impossible values.
 * Ownership: no allocation after sketch_new.
 * Threads: not shared. */
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
/* e/width * N: the bound on the error of an estimate, with probability 1 - exp(-depth). */
double sketch_error(const struct sketch *s);

/* 0 < f <= 1. */
void sketch_age(struct sketch *s, double f);

size_t sketch_state_size(const struct sketch *s);
void sketch_state_get(const struct sketch *s, void *out);
/* A failure leaves the sketch unchanged. */
int sketch_state_put(struct sketch *s, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
