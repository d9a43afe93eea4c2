#include "lab/gates/classgauss.h"

#include <assert.h>
#include <math.h>

static const double RIDGE = 1e-3;

void classgauss_fit(struct classgauss *g, const float *x, int n, int dim)
{
    assert(dim >= 1 && dim <= CLASSGAUSS_DIM && n >= 2);
    double mean[CLASSGAUSS_DIM], l[CLASSGAUSS_DIM][CLASSGAUSS_DIM];
    g->dim = dim;
    for (int k = 0; k < dim; k++) {
        mean[k] = 0;
        for (int i = 0; i < n; i++)
            mean[k] += (double)x[i * dim + k] / n;
        g->mean[k] = (float)mean[k];
    }
    for (int a = 0; a < dim; a++)
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += ((double)x[i * dim + a] - mean[a]) *
                       ((double)x[i * dim + b] - mean[b]);
            sum = sum / (n - 1) + (a == b ? RIDGE : 0);
            for (int k = 0; k < b; k++)
                sum -= l[a][k] * l[b][k];
            /* rounding may eat what the ridge left */
            l[a][b] = a == b ? sqrt(fmax(sum, 1e-9)) : sum / l[b][b];
            g->root[a * dim + b] = (float)l[a][b];
        }
}

void classgauss_draw(float *out, const struct classgauss *g, int n, struct rng *r)
{
    for (int i = 0; i < n; i++, out += g->dim) {
        float z[CLASSGAUSS_DIM];
        for (int k = 0; k < g->dim; k++)
            z[k] = (float)rng_normal(r);
        for (int a = 0; a < g->dim; a++) {
            out[a] = g->mean[a];
            for (int b = 0; b <= a; b++)
                out[a] += g->root[a * g->dim + b] * z[b];
        }
    }
}
