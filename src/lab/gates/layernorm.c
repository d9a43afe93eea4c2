#include "lab/gates/layernorm.h"

#include <math.h>

void layernorm_forward(float *y, float *root, const float *x, int rows, int n)
{
    for (int i = 0; i < rows; i++, x += n, y += n) {
        float mean = 0, var = 0;
        for (int k = 0; k < n; k++)
            mean += x[k];
        mean /= (float)n;
        for (int k = 0; k < n; k++)
            var += (x[k] - mean) * (x[k] - mean);
        root[i] = 1 / sqrtf(var / (float)n + 1e-5f);
        for (int k = 0; k < n; k++)
            y[k] = (x[k] - mean) * root[i];
    }
}

void layernorm_backward(float *dx, const float *dy, const float *y, const float *root,
                        int rows, int n)
{
    for (int i = 0; i < rows; i++, dx += n, dy += n, y += n) {
        float mean = 0, along = 0;
        for (int k = 0; k < n; k++) {
            mean += dy[k];
            along += dy[k] * y[k];
        }
        mean /= (float)n;
        along /= (float)n;
        for (int k = 0; k < n; k++)
            dx[k] = root[i] * (dy[k] - mean - y[k] * along);
    }
}
