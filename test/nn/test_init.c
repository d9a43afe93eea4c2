#include "nn/init.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

/* the products of all pairs of rows (or columns, of a tall matrix) */
static double worst_angle(const float *w, int rows, int cols, double gain)
{
    int count = rows <= cols ? rows : cols, n = rows <= cols ? cols : rows;
    int next = rows <= cols ? cols : 1, stride = rows <= cols ? 1 : cols;
    double worst = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            double dot = 0;
            for (int k = 0; k < n; k++)
                dot +=
                    (double)w[i * next + k * stride] * (double)w[j * next + k * stride];
            worst = fmax(worst, fabs(dot / (gain * gain) - (i == j)));
        }
    return worst;
}

TEST(orthogonal_whatever_the_shape)
{
    static const int shapes[][2] = {{1, 1},  {1, 9},  {9, 1},   {6, 6},
                                    {5, 40}, {40, 5}, {64, 64}, {64, 128}};
    static float w[64 * 128];
    struct rng r;
    rng_init(&r, 1, 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        init_orthogonal(w, shapes[i][0], shapes[i][1], 1.5f, &r);
        ck_assert_double_lt(worst_angle(w, shapes[i][0], shapes[i][1], 1.5), 1e-5);
    }

    /* the check can fail */
    w[0] += 0.01f;
    ck_assert_double_gt(worst_angle(w, 64, 128, 1.5), 1e-4);
}

TEST(no_direction_is_preferred)
{
    /* the mean of each entry over many draws is 0, its variance 1/cols */
    enum { DRAWS = 4000 };
    double sum[6] = {0}, square[6] = {0};
    struct rng r;
    rng_init(&r, 2, 2);
    for (int d = 0; d < DRAWS; d++) {
        float w[6];
        init_orthogonal(w, 2, 3, 1.0f, &r);
        for (int i = 0; i < 6; i++) {
            sum[i] += (double)w[i] / DRAWS;
            square[i] += (double)w[i] * (double)w[i] / DRAWS;
        }
    }
    for (int i = 0; i < 6; i++) {
        ck_assert_double_eq_tol(sum[i], 0.0, 0.05);
        ck_assert_double_eq_tol(square[i], 1.0 / 3, 0.03);
    }
}

TEST(normal_has_its_spread)
{
    static float w[20000];
    double sum = 0, square = 0;
    struct rng r;
    rng_init(&r, 3, 3);
    init_normal(w, 20000, 0.5f, &r);
    for (int i = 0; i < 20000; i++) {
        sum += (double)w[i] / 20000;
        square += (double)w[i] * (double)w[i] / 20000;
    }
    ck_assert_double_eq_tol(sum, 0.0, 0.02);
    ck_assert_double_eq_tol(sqrt(square), 0.5, 0.01);
}

TEST(uniform_fills_its_bounds)
{
    static float w[20000];
    double sum = 0, square = 0, top = 0;
    struct rng r;
    rng_init(&r, 5, 5);
    init_uniform(w, 20000, 0.3f, &r);
    for (int i = 0; i < 20000; i++) {
        sum += (double)w[i] / 20000;
        square += (double)w[i] * (double)w[i] / 20000;
        top = fmax(top, fabs((double)w[i]));
    }
    ck_assert_double_eq_tol(sum, 0.0, 0.01);
    ck_assert_double_eq_tol(square, 0.3 * 0.3 / 3, 0.001);
    ck_assert(top <= 0.3000001 && top > 0.299);
}

TEST(same_stream_same_weights)
{
    float a[12], b[12];
    struct rng r;
    rng_init(&r, 4, 4);
    init_orthogonal(a, 3, 4, 1.0f, &r);
    rng_init(&r, 4, 4);
    init_orthogonal(b, 3, 4, 1.0f, &r);
    ck_assert_mem_eq(a, b, sizeof a);
    init_orthogonal(b, 3, 4, 1.0f, &r);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
}

SUITE(nn_init, orthogonal_whatever_the_shape, no_direction_is_preferred,
      normal_has_its_spread, uniform_fills_its_bounds, same_stream_same_weights);
