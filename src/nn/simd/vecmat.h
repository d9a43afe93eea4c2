/* vecmat.h - one vector with many zeros times a matrix: the products of a batch of one.
 *
 *   y = sum over j with x_j != 0 of x_j W_j + b,     W_j row j of W (in, pad)
 *
 * W is the transposed weight matrix of a layer. Its rows are padded with zeros to a multiple of
 * VECMAT_LANES, so the sum runs over whole vectors. Rows whose x_j is 0 are never read. Half of the
 * inputs behind a ReLU are 0, and so is half of an observation of a ladder with 6 of 12 levels. At
 * batch 1 a product costs what reading its weights costs.
 *
 * A wide layer can be quantized: W_ji = s_i Q_ji and x_j = t q_j up to rounding, Q and q words of 16
 * bits, s_i a column's step and t the input's step. Then
 *
 *   y_i = s_i t (sum over j of Q_ji q_j) + b_i
 *
 * reads half the bytes and takes one instruction for two products. The sum is exact: with
 * |Q| <= VECMAT_WEIGHT_MAX and sum |q_j| <= VECMAT_SUM_MAX it stays within 32 bits (Hoelder's
 * inequality). The steps are the smallest that keep to this, so the error of a weight is at most
 * 1 / 16382 of its column's largest, and that of an entry at most half of t:
 *   t = max(max |x_j| / VECMAT_ENTRY_MAX, sum |x_j| / (VECMAT_SUM_MAX - n)).
 *
 * There is one kernel per instruction set. They differ in the last bits, since fused products and
 * other orders of summation do. The result of a kernel depends on its arguments alone. A row that is
 * not read hides what it holds: 0 times infinity is 0 here. The packer of the weights checks whether
 * they are finite.
 *
 * softmax is here because a decision's three softmaxes would otherwise take a tenth of its time.
 *
 * Ownership: all memory is the caller's; no heap.
 * Threads: pure functions, constant tables. */
#ifndef NN_VECMAT_H
#define NN_VECMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECMAT_LANES 16 /* floats; the widest vector there is */
#define VECMAT_BLOCK 32 /* words of 16 bits of such a vector */

#define VECMAT_WEIGHT_MAX 8191 /* 8191 * 2^18 < 2^31 */
#define VECMAT_ENTRY_MAX 32767
#define VECMAT_SUM_MAX (1 << 18)

/* A quantized layer; views into the caller's memory. */
struct vecmat_quant {
    const int16_t *q;         /* (in, pad); column i is word vecmat_word(i) of a row */
    const float *step, *bias; /* (pad) */
    int pad;                  /* a multiple of VECMAT_BLOCK */
};

/* The entries of a quantized input that are not 0. */
struct vecmat_entries {
    const int *at;    /* from nonzero */
    const int16_t *q; /* from quantize */
    float step;
    int n;
};

struct vecmat_kernel {
    const char *isa; /* "avx512" (with VNNI), "avx2", "base" */

    /* Ascending places of the entries of x (n) that are not 0, then a 0, into at
     * (n + VECMAT_LANES). Returns their number. */
    int (*nonzero)(int *at, const float *x, int n);

    /* y (pad) from W (in, pad), b (pad) and the n places `at` of x; relu: negative results
     * become 0, NaN stays. y overlaps no input. */
    void (*affine)(float *y, const float *w, const float *b, const float *x,
                   const int *at, int n, int pad, bool relu);

    /* The entries of x (n <= 2^16) that are not 0, in the order of nonzero, then a 0, into q
     * (n + VECMAT_LANES). Returns the step; NaN when x is not finite. */
    float (*quantize)(int16_t *q, const float *x, int n);

    /* y (pad), as affine. */
    void (*quant_affine)(float *y, const struct vecmat_quant *m,
                         const struct vecmat_entries *x, bool relu);

    /* p_i = e^(x_i - top) / sum over the n (<= 64, a multiple of VECMAT_LANES) entries whose bit is
     * set in the mask, top the largest of these x. p_i is 0 where the bit is not set and where x is
     * 87 below top. *sum is the sum of e^(x_i - top). Returns top. NaN or +inf makes every p NaN.
     * Relative error: 5e-7 and the rounding of x_i - top. p may be x. */
    float (*softmax)(float *p, float *sum, const float *x, int n, uint64_t mask);
};

/* The i-th kernel that this CPU can run, the fastest first; NULL behind the last. */
const struct vecmat_kernel *vecmat_kernel(int i);

/* n rounded up to whole vectors. */
int vecmat_pad(int n);

/* wt (in, vecmat_pad(out)) from a layer's w (out, in). */
void vecmat_pack(float *wt, const float *w, int in, int out);

/* q (in, pad) and step (pad) of a layer's w (out, in); pad = vecmat_quant_pad(out). */
void vecmat_quant_pack(int16_t *q, float *step, const float *w, int in, int out);
int vecmat_quant_pad(int n); /* n rounded up to whole blocks */
int vecmat_word(int column); /* the column's place in its row */

#endif
