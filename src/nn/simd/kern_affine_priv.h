/* kern_affine_priv.h - one row through a layer, for AVX2 and AVX-512.
 *
 * The weights are read as they lie, a vector of one output's at a time; the lanes of LANES
 * outputs are added up together. */
#include "kern_vec_priv.h"

#include <math.h>

/* Lane i: b[i] plus the product of output i's weights, row i of w (rows, in), with x. rows is
 * LANES at most, a constant where that is known. */
LANE vec dots(const float *w, const float *b, const float *x, int in, int rows)
{
    vec sum[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        sum[i] = all(0.0f);
    for (int k = 0; k < in; k += LANES) {
        part on = part_of(in - k);
        vec v = load(x + k, on);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < rows) sum[i] = multiply_add(load(w + i * in + k, on), v, sum[i]);
    }
    turn(sum);
#pragma GCC unroll 4
    for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++)
            sum[i] = sum[i] + sum[i + half];
    return load(b, part_of(rows)) + sum[0];
}

/* the same for one output */
LANE float dot(const float *w, const float *x, int in)
{
    vec sum = all(0.0f);
    for (int k = 0; k < in; k += LANES) {
        part on = part_of(in - k);
        sum = multiply_add(load(w + k, on), load(x + k, on), sum);
    }
    return total(sum);
}

static void affine(float *y, const float *w, const float *b, const float *x, int out,
                   int in, bool relu)
{
    enum { FEW = 4 }; /* so many outputs are quicker one by one */
    vec floor = all(relu ? 0.0f : -INFINITY);
    int j = 0;
    for (; j + LANES <= out; j += LANES) {
        vec v = dots(w + (long)j * in, b + j, x, in, LANES);
        store(y + j, part_of(LANES), not_below(floor, v));
    }
    if (out - j > FEW) {
        vec v = dots(w + (long)j * in, b + j, x, in, out - j);
        store(y + j, part_of(out - j), not_below(floor, v));
        return;
    }
    for (; j < out; j++) {
        float v = b[j] + dot(w + (long)j * in, x, in);
        y[j] = relu && v < 0.0f ? 0.0f : v;
    }
}
