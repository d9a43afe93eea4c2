/* encoder.h - a small vision transformer: an image to a feature vector, and the gradient.
 *
 *   tokens z = E patch + e + position                              (side / patch)^2 of them
 *   per block: z += MSA(LN z),  z += W2 max(W1 LN z + b1, 0) + b2
 *   feature f = LN(mean over tokens of z)
 *
 * Source: ViT as NoRGa uses it (lab/gates/residual.h, Definition 2.2), in small: ReLU for GELU, mean for
 * class token. LN has no gain and no offset, as a product follows wherever the encoder normalises:
 *
 *   y = (x - mean(x)) / sqrt(var(x) + 1e-5)                  (Ba, Kiros and Hinton 2016)
 *   dx = (dy - mean(dy) - y mean(dy y)) / sqrt(var(x) + 1e-5)
 *
 * A prompt has, for every block, prefix
 * vectors p_K and p_V and the gate of their scores (lab/gates/attention.h).
 *
 * Parameters: one flat block, E (dim, patch^2), e (dim), position (tokens, dim), then per block Wq,
 * Wk, Wv, Wo (dim, dim), W1 (hidden, dim), b1, W2 (dim, hidden), b2. Prompt vectors: per block key
 * (length, dim), value (length, dim).
 * Shapes: images (n, side^2), row by row; features (n, dim).
 *
 * Errors: encoder_new ERR_MEMORY. Ownership: the workspace keeps what a backward pass needs of the last
 * forward pass; parameters and prompt must stay unchanged until then.
 * Threads: a workspace is not shared. */
#ifndef LAB_ENCODER_H
#define LAB_ENCODER_H

#include "base/err.h"
#include "base/rng.h"
#include "lab/gates/residual.h"

#include <stddef.h>

#define ENCODER_BLOCKS 4 /* at most */

struct encoder_cfg {
    int side, patch; /* pixels; patch divides side */
    int dim, heads, blocks, hidden;
};

size_t encoder_params(const struct encoder_cfg *c);
void encoder_init(float *theta, const struct encoder_cfg *c, struct rng *r);

struct encoder_prompt {
    int length; /* prefix experts per block */
    const float *vectors;
    struct residual gate[ENCODER_BLOCKS];
};
size_t encoder_prompt_floats(const struct encoder_cfg *c, int length);

struct encoder;

/* For up to `batch` images at a time, and prompts of up to `length`. */
struct encoder *encoder_new(const struct encoder_cfg *c, int batch, int length,
                            struct err *e);
void encoder_free(struct encoder *m);

/* p NULL: no prompt. */
void encoder_forward(struct encoder *m, float *features, const float *theta,
                     const float *images, int n, const struct encoder_prompt *p);

/* NULL where not wanted; overwritten otherwise. */
struct encoder_grad {
    float *theta;
    float *vectors;      /* of the prompt */
    double *alpha, *tau; /* (blocks), both or none */
};
void encoder_backward(struct encoder *m, const struct encoder_grad *g,
                      const float *dfeatures);

/* LN of rows of n. root (rows): 1 / sqrt(var + 1e-5), for the backward pass. y may be x, dx may be
 * dy. */
void encoder_norm(float *y, float *root, const float *x, int rows, int n);
void encoder_norm_backward(float *dx, const float *dy, const float *y, const float *root,
                           int rows, int n);

#endif
