/* attention.h - multi-head self-attention whose heads may have prefix experts, with its gradient.
 *
 *   q = x Wq^T,  K = [p_K; x] Wk^T,  V = [p_V; x] Wv^T             per head, dk = dim / heads
 *   S = q K^T / sqrt(dk);  its first L columns become  s + alpha sigma(tau s)
 *   y = concat over heads of softmax(S) V, times Wo^T
 *
 * Source: NoRGa (lab/gates/residual.h). Without prefix it is Eq. 7. With the linear gate it is prefix
 * tuning, Eq. 10, which is the mixture of N experts Wv x_j and L experts Wv p_V of Eq. 11. With
 * another gate it has the residual gates of Eq. 12 to 15. The paper writes y = x W; here W is (out, in)
 * as in nn/linear.h. All sequences of a batch share the prefix.
 *
 * Shapes: x, y (n, tokens, dim), weights four times (dim, dim), prefix key and value (prefix, dim), softmax per
 * sequence and head (tokens, prefix + tokens). prefix + tokens <= KERN_SOFTMAX_MAX.
 *
 * Errors: attention_new ERR_MEMORY. Ownership: the workspace owns what a backward pass needs of the
 * last forward pass; x and the weights must stay unchanged until then.
 * Threads: a workspace is not shared. */
#ifndef LAB_ATTENTION_H
#define LAB_ATTENTION_H

#include "base/err.h"
#include "lab/gates/residual.h"

struct attention_dim {
    int tokens, dim, heads;
    int prefix; /* L at most */
};

struct attention_prefix {
    int length; /* 0: none, and the rest is ignored */
    const float *key, *value;
    struct residual gate;
};

struct attention;

/* For up to `batch` sequences at a time. */
struct attention *attention_new(const struct attention_dim *dim, int batch,
                                struct err *e);
void attention_free(struct attention *a);

/* w: Wq, Wk, Wv, Wo, one block. p NULL: no prefix. y overlaps nothing. */
void attention_forward(struct attention *a, float *y, const float *x, const float *w,
                       const struct attention_prefix *p, int n);

/* NULL where not wanted; overwritten otherwise. */
struct attention_grad {
    float *w;            /* as w above */
    float *key, *value;  /* both or none */
    double *alpha, *tau; /* both or none; of the prefix's gate */
};

/* Of the last forward pass. dx (n, tokens, dim) may be NULL. */
void attention_backward(struct attention *a, float *dx, const struct attention_grad *g,
                        const float *dy);

/* The softmax of one sequence and head of the last forward pass, (tokens, length + tokens). */
const float *attention_shares(const struct attention *a, int sequence, int head);

#endif
