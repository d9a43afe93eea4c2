#include "nn/init.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* a vector inside the matrix: a row or a column */
struct vec {
    float *at;
    int n, stride;
};

static struct vec nth(float *w, int rows, int cols, int i)
{
    return rows <= cols ? (struct vec){w + (size_t)i * (size_t)cols, cols, 1}
                        : (struct vec){w + i, rows, cols};
}

static double init_dot(struct vec a, struct vec b)
{
    double sum = 0.0;
    for (int i = 0; i < a.n; i++)
        sum += (double)a.at[i * a.stride] * (double)b.at[i * b.stride];
    return sum;
}

static void subtract(struct vec a, struct vec b, double times)
{
    for (int i = 0; i < a.n; i++)
        a.at[i * a.stride] =
            (float)((double)a.at[i * a.stride] - times * (double)b.at[i * b.stride]);
}

static void scale(struct vec a, double by)
{
    for (int i = 0; i < a.n; i++)
        a.at[i * a.stride] = (float)((double)a.at[i * a.stride] * by);
}

/* false when nothing of v is left: it lies in the span of those before it */
static bool orthonormalise(float *w, int rows, int cols, int i)
{
    struct vec v = nth(w, rows, cols, i);
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < i; j++) {
            struct vec q = nth(w, rows, cols, j);
            subtract(v, q, init_dot(v, q));
        }
        double norm = sqrt(init_dot(v, v));
        if (norm < 1e-6) return false;
        scale(v, 1.0 / norm);
    }
    return true;
}

void init_orthogonal(float *w, int rows, int cols, float gain, struct rng *r)
{
    assert(rows > 0 && cols > 0);
    int count = rows <= cols ? rows : cols;
    for (int i = 0; i < count; i++) {
        struct vec v = nth(w, rows, cols, i);
        do {
            for (int j = 0; j < v.n; j++)
                v.at[j * v.stride] = (float)rng_normal(r);
        } while (!orthonormalise(w, rows, cols, i));
    }
    for (int i = 0; i < count; i++)
        scale(nth(w, rows, cols, i), (double)gain);
}

void init_normal(float *w, size_t n, float std, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        w[i] = std * (float)rng_normal(r);
}

void init_uniform(float *w, size_t n, float bound, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        w[i] = (float)rng_range(r, -(double)bound, (double)bound);
}
