/* nucb_priv.h - what nucb.c and nucb_cov.c share. */
#ifndef MOE_NUCB_PRIV_H
#define MOE_NUCB_PRIV_H

#include "policy/nucb.h"

#include "base/rng.h"

enum { NUCB_ROWS = 64 /* of one pass through the network */ };

struct nucb_layer {
    size_t at; /* in theta */
    int in, out;
};

struct nucb {
    struct nucb_cfg cfg;
    struct nucb_layer layer[NUCB_DEPTH_MAX];
    size_t params;
    int64_t count; /* rewards learned from */
    struct rng rng;

    float *theta, *theta0;
    float *zinv;   /* (params) 1 / diagonal of Z */
    double *full;  /* (params, params) Z^-1, NUCB_FULL alone */
    float *record; /* (history, K + 2 V): u, reward, trust */
    float *base;   /* (V) b */

    /* scratch of a pass: NUCB_ROWS rows */
    float *act[NUCB_DEPTH_MAX + 1]; /* inputs of each layer, and the output */
    float *square, *spread;         /* (NUCB_ROWS, widest) */
    float *delta[2];                /* (NUCB_ROWS, widest) */
    float *grad, *before;           /* (params) */
    float *target, *weight;         /* (NUCB_ROWS, V) */
    double *g, *zg;                 /* (params), NUCB_FULL alone */
};

/* What reaches the outputs of the layer below from n rows of `above`: through theta, where that
 * layer is above 0. */
void nucb_pull_back(struct nucb *b, float *below, const float *above, int l, int n);

/* sums[i] = g' Z^-1 g of row i of the last pass, for n rows. */
void nucb_cov_widths(struct nucb *b, double *sums, const float *psi, int n);
/* Z += g g' / w, g of the first row of the last pass. */
void nucb_cov_grow(struct nucb *b, const float *psi);

#endif
