#include "lab/gates/contrast.h"

#include "nn/act.h"

#include <assert.h>

static float contrast_dot(const float *a, const float *b, int dim)
{
    float sum = 0;
    for (int i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static void contrast_add(float *to, const float *x, double by, int dim)
{
    for (int i = 0; i < dim; i++)
        to[i] += (float)by * x[i];
}

double contrast_loss(float *dh, const float *h, int n, const float *mu, int k, int dim,
                     double temperature, double weight)
{
    assert(n >= 1 && k >= 1 && n + k <= CONTRAST_BATCH);
    double loss = 0, each = weight / (n * temperature);
    for (int i = 0; i < n; i++) {
        const float *own = h + i * dim;
        float p[CONTRAST_BATCH];
        double scores = 0;
        for (int j = 0; j < n + k; j++) {
            const float *other = j < n ? h + j * dim : mu + (j - n) * dim;
            p[j] = contrast_dot(own, other, dim) / (float)temperature;
            if (j >= n) scores += (double)p[j];
        }
        loss += (scores / k - (double)act_softmax(p, p, n + k)) / n;

        /* as h, and as h' of the sum over H: both have the share p */
        for (int j = 0; j < n; j++) {
            contrast_add(dh + i * dim, h + j * dim, -each * (double)p[j], dim);
            contrast_add(dh + j * dim, own, -each * (double)p[j], dim);
        }
        for (int c = 0; c < k; c++)
            contrast_add(dh + i * dim, mu + c * dim, each * (1.0 / k - (double)p[n + c]),
                         dim);
    }
    return loss;
}
