/* vecmat.h - one vector with many zeros times a matrix: the products of a batch of one.
 *
 *   y = sum over j with x_j != 0 of x_j W_j + b,     W_j row j of W (in, pad)
 *
 * W is the transposed weight matrix of a layer, its rows padded with zeros to a multiple
 * of VECMAT_LANES, so that the sum runs over whole vectors and rows whose x_j is 0 are
 * never read. Behind a ReLU half of the inputs are 0, and an observation of a ladder with 6
 * of 12 levels is as empty: at batch 1 a product costs what its weights cost to read.
 *
 * There is a kernel per instruction set; they differ in the last bits, as fused products
 * and other orders of summation do. A kernel's result depends on its arguments alone.
 *
 * A row that is not read hides what it holds: 0 times infinity is 0 here. Who packs
 * weights looks whether they are finite.
 *
 * softmax is here because a decision's three would otherwise cost a tenth of its time.
 *
 * Threads: pure functions, constant tables. No heap. */
#ifndef NN_VECMAT_H
#define NN_VECMAT_H

#include <stdbool.h>

#define VECMAT_LANES 16 /* floats; the widest vector there is */

struct vecmat_kernel {
    const char *isa; /* "avx512", "avx2", "base" */

    /* Ascending places of what is not 0 in x (n), into at (n). Their number. */
    int (*nonzero)(int *at, const float *x, int n);

    /* y (pad) from W (in, pad), b (pad) and the n places `at` of x; relu: negative results
     * become 0, NaN stays. y overlaps no input. */
    void (*affine)(float *y, const float *w, const float *b, const float *x,
                   const int *at, int n, int pad, bool relu);

    /* p_i = e^(x_i - top) / sum over n (a multiple of VECMAT_LANES) entries, top the largest
     * x; 0 where x is -inf or 87 below top. *sum is the sum of e^(x_i - top). Returns top. A
     * NaN, or +inf, makes every p NaN. A relative error of
     * 5e-7, and of the rounding of x_i - top. p may be x. */
    float (*softmax)(float *p, float *sum, const float *x, int n);
};

/* The i-th kernel that this CPU can run, the fastest first; NULL behind the last. */
const struct vecmat_kernel *vecmat_kernel(int i);

/* n rounded up to whole vectors. */
int vecmat_pad(int n);

/* wt (in, vecmat_pad(out)) from a layer's w (out, in). */
void vecmat_pack(float *wt, const float *w, int in, int out);

#endif
