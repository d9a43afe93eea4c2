/* kern.h - the inner loops of learning, compiled once per instruction set.
 *
 *   product   C (m, n) = start + A (m, k) B (k, n), then max(., 0), then the gate
 *             start: C itself (add), bias (n) in each row, or 0
 *             gate:  an element becomes 0 where gate (m, n) is not > 0
 *   affine    y (out) = W (out, in) x + b, then max(., 0) when relu: a product of one row
 *   gather    row i of out (n, dim) is row order[i] of rows (.., dim)
 *   choose    per row of x + z (rows, n) the place of the largest, the first of equal ones; NaN only
 *             when there is nothing else. z may be NULL
 *   colsum    s (n) = sum over rows of x (rows, n)
 *   adam      the step of adam.h with precomputed constants, then the noise below
 *   sumsq     sum of squares, in double
 *   noise     w_i += scale * eps_i, eps_i ~ N(0, 1)
 *   softmax   per row of x (rows, n): p, ln p and entropy over the bits of mask; p and ln p are 0
 *             where the bit is not set, or x is -inf. At least one bit below n is set. mask NULL: all
 *             bits; logp and entropy may be NULL; p may be x
 *   exp       y_i = exp(x_i), x within -87 .. 88
 *
 * One table of functions per instruction set. kern_best gives the widest table that this CPU can run.
 * kern_get gives each of them in turn, for comparisons by tests and `bench`. The plain table runs
 * everywhere; its products are those of BLAS.
 *
 * The noise is the inverse of the normal distribution at the numbers of 16 interleaved xoshiro128+
 * streams (Blackman and Vigna 2019), which start from a hash of `key`. The integers are the same on
 * every CPU; the floats agree to rounding. The inverse is one cubic for each octave of the tail's
 * probability, with an error of at most 2.4e-4. Its values end at 6.2 standard deviations.
 *
 * Determinism: a result depends on the arguments and on the table, never on threads. An element of a
 * product does not depend on the other rows. The last bits differ between tables, as wide ones use
 * fused multiply-adds. NaN and infinity pass through all of them.
 *
 * Ownership: all memory is the caller's; no heap. Outputs overlap no inputs unless stated (y may be x
 * in exp).
 * Threads: pure functions. */
#ifndef NN_KERN_H
#define NN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All matrices are dense. a is (m, k), or (k, m) when a_transposed; b is (k, n), or (n, k) when
 * b_transposed. At most one of them is transposed. */
struct kern_product {
    float *c;
    const float *a, *b, *bias, *gate; /* bias and gate may be NULL */
    int m, n, k;                      /* k > 0 */
    bool a_transposed, b_transposed, add, relu;
};

struct kern_adam {
    float scale, decay, beta1, beta2, c1, c2; /* c = 1 - beta */
    float rate, root, eps; /* rate = lr / (1 - b1^t), root = 1 / sqrt(1 - b2^t) */
    float noise;           /* scale; 0 = none */
    uint64_t key;          /* of the noise */
};

struct kern {
    const char *name;
    void (*product)(const struct kern_product *p);
    void (*affine)(float *y, const float *w, const float *b, const float *x, int out,
                   int in, bool relu);
    void (*gather)(float *out, const float *rows, const int *order, int n, int dim);
    void (*choose)(int *at, const float *x, const float *z, int rows, int n);
    void (*colsum)(float *s, const float *x, int rows, int n);
    void (*adam)(float *theta, float *m, float *v, const float *grad, size_t n,
                 const struct kern_adam *c);
    double (*sumsq)(const float *x, size_t n);
    void (*noise)(float *w, size_t n, float scale, uint64_t key);
    void (*softmax)(float *p, float *logp, float *entropy, const float *x,
                    const uint32_t *mask, int rows, int n);
    void (*exp)(float *y, const float *x, size_t n);
};

#define KERN_SOFTMAX_MAX 64 /* columns of softmax and choose, 32 with a mask, at most */

const struct kern *kern_best(void);
/* The i-th table that this CPU can run, plain first; NULL behind the last. */
const struct kern *kern_get(int i);

#endif
