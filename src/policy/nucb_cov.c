/* What is known of the rewards: Z, its diagonal or all of it. */
#include "nucb_priv.h"

#include "nn/blas.h"

#include <math.h>
#include <string.h>

/* d (psi' f) / d (output of the head before the root), the same in every row */
static void from_psi(const struct nucb *b, float *delta, const float *psi, int n)
{
    int v = b->cfg.tasks;
    float root = sqrtf((float)b->cfg.width);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v; j++)
            delta[i * v + j] = root * psi[j];
}

/* ---- how sure: the diagonal ---- */

static void squares(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * x[i];
}

/* sums[i] += sum over the layer's parameters of g^2 / Z, with g[j, k] = delta_j act_k. */
static void add_layer(struct nucb *b, double *sums, const float *delta, int l, int n)
{
    struct nucb_layer a = b->layer[l];
    squares(b->square, b->act[l], (size_t)n * (size_t)a.in);
    blas_gemm_nt(b->spread, b->square, b->zinv + a.at, n, a.out, a.in, 0.0f);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < a.out; j++) {
            double d = (double)delta[i * a.out + j];
            sums[i] += d * d * (double)b->spread[i * a.out + j];
        }
}

static void widths_diagonal(struct nucb *b, double *sums, const float *psi, int n)
{
    float *delta = b->delta[0], *below = b->delta[1];
    from_psi(b, delta, psi, n);
    for (int l = b->cfg.depth - 1;; l--) {
        add_layer(b, sums, delta, l, n);
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, n);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* 1 / (Z + g^2 / w), for the first row of the last pass. */
static void grow_diagonal(struct nucb *b, const float *psi)
{
    float *delta = b->delta[0], *below = b->delta[1];
    float share = 1.0f / (float)b->cfg.width;
    from_psi(b, delta, psi, 1);
    for (int l = b->cfg.depth - 1;; l--) {
        struct nucb_layer a = b->layer[l];
        for (int j = 0; j < a.out; j++)
            for (int k = 0; k < a.in; k++) {
                float g = delta[j] * b->act[l][k],
                      *z = &b->zinv[a.at + (size_t)(j * a.in + k)];
                *z /= 1.0f + *z * g * g * share;
            }
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, 1);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* ---- how sure: all of Z ---- */

/* The gradient of psi' f in row i of the last pass, into g. */
static void gradient_row(struct nucb *b, const float *psi, int i)
{
    float *delta = b->delta[0], *below = b->delta[1];
    from_psi(b, delta, psi, NUCB_ROWS);
    for (int l = b->cfg.depth - 1;; l--) {
        struct nucb_layer a = b->layer[l];
        const float *in = b->act[l] + (size_t)i * (size_t)a.in;
        const float *d = delta + (size_t)i * (size_t)a.out;
        for (int j = 0; j < a.out; j++)
            for (int k = 0; k < a.in; k++)
                b->g[a.at + (size_t)(j * a.in + k)] = (double)d[j] * (double)in[k];
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, i + 1);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* zg = Z^-1 g; returns g' Z^-1 g. Z^-1 is symmetric, so its rows are summed. */
static double times_full(struct nucb *b)
{
    size_t p = b->params;
    memset(b->zg, 0, sizeof *b->zg * p);
    for (size_t i = 0; i < p; i++) {
        double g = b->g[i];
        if (g == 0) continue;
        const double *z = b->full + i * p;
        for (size_t j = 0; j < p; j++)
            b->zg[j] += g * z[j];
    }
    double s = 0;
    for (size_t i = 0; i < p; i++)
        s += b->g[i] * b->zg[i];
    return s;
}

static void widths_full(struct nucb *b, double *sums, const float *psi, int n)
{
    for (int i = 0; i < n; i++) {
        gradient_row(b, psi, i);
        sums[i] = times_full(b);
    }
}

/* Sherman and Morrison: (Z + g g' / w)^-1 */
static void grow_full(struct nucb *b, const float *psi)
{
    gradient_row(b, psi, 0);
    double w = b->cfg.width, below = w + times_full(b);
    size_t p = b->params;
    for (size_t i = 0; i < p; i++) {
        double by = b->zg[i] / below;
        if (by == 0) continue;
        double *z = b->full + i * p;
        for (size_t j = 0; j < p; j++)
            z[j] -= by * b->zg[j];
    }
}

/* ---- either ---- */

void nucb_cov_widths(struct nucb *b, double *sums, const float *psi, int n)
{
    memset(sums, 0, sizeof *sums * (size_t)n);
    if (b->full)
        widths_full(b, sums, psi, n);
    else
        widths_diagonal(b, sums, psi, n);
}

void nucb_cov_grow(struct nucb *b, const float *psi)
{
    if (b->full)
        grow_full(b, psi);
    else
        grow_diagonal(b, psi);
}
