#include "learn/inject.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Moments and tail shares of 400,000 draws against the normal distribution; five standard
 * errors each. */
START_TEST(draws_are_normal)
{
    enum { N = 400000 };
    struct inject z;
    struct rng r;
    inject_init(&z);
    rng_init(&r, 5, 0);
    double sum = 0, square = 0, fourth = 0;
    int above1 = 0, above3 = 0, beyond = 0, positive = 0;
    for (int i = 0; i < N; i++) {
        double x = inject_normal(&z, &r);
        sum += x;
        square += x * x;
        fourth += x * x * x * x;
        above1 += fabs(x) > 1.0;
        above3 += fabs(x) > 3.0;
        beyond += fabs(x) > 3.6; /* only the tail branch draws these */
        positive += x > 0.0;
    }
    ck_assert_double_eq_tol(sum / N, 0.0, 5 * 1.0 / sqrt(N));
    ck_assert_double_eq_tol(square / N, 1.0, 5 * sqrt(2.0 / N));
    ck_assert_double_eq_tol(fourth / N, 3.0, 5 * sqrt(96.0 / N));
    ck_assert_double_eq_tol((double)above1 / N, 0.3173105, 5 * sqrt(.22 / N));
    ck_assert_double_eq_tol((double)above3 / N, 0.0026998, 5 * sqrt(.0027 / N));
    ck_assert_double_eq_tol((double)beyond / N, 0.00031822, 5 * sqrt(.00032 / N));
    ck_assert_double_eq_tol((double)positive / N, 0.5, 5 * sqrt(.25 / N));
}
END_TEST

START_TEST(layers_have_equal_area)
{
    struct inject z;
    inject_init(&z);
    for (int i = 1; i < INJECT_LAYERS - 1; i++) {
        double high = exp(-.5 * z.edge[i + 1] * z.edge[i + 1]);
        double low = exp(-.5 * z.edge[i] * z.edge[i]);
        ck_assert_double_eq_tol(z.edge[i] * (high - low), 9.91256303526217e-3, 1e-9);
    }
}
END_TEST

START_TEST(scale_and_range)
{
    struct rng r;
    rng_init(&r, 1, 2);
    float w[1002] = {0};
    inject_noise(w + 1, 1000, 1e-3, &r);
    double square = 0;
    for (int i = 0; i < 1002; i++)
        square += (double)w[i] * (double)w[i];
    ck_assert_float_eq(w[0], 0.f);
    ck_assert_float_eq(w[1001], 0.f);
    ck_assert_double_eq_tol(sqrt(square / 1000), 1e-3, 2e-4);
}
END_TEST

/* one number of the stream per call, and that number decides */
START_TEST(a_call_follows_from_one_draw)
{
    struct rng r, twin;
    rng_init(&r, 4, 4);
    rng_init(&twin, 4, 4);
    float w[3][50] = {{0}};
    inject_noise(w[0], 50, 1.0, &r);
    rng_u64(&twin);
    ck_assert_mem_eq(&r, &twin, sizeof r);
    inject_noise(w[1], 50, 1.0, &r);
    inject_noise(w[2], 50, 1.0, &twin);
    ck_assert_mem_eq(w[1], w[2], sizeof w[1]);
    ck_assert(memcmp(w[0], w[1], sizeof w[0]) != 0);
}
END_TEST

static int rising(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's distance of two samples: vector draws against the ziggurat's.
 * Beyond 1.95 sqrt(2 / n) lies one chance in a thousand. */
START_TEST(both_generators_draw_the_same_distribution)
{
    enum { N = 200000 };
    struct inject z;
    struct rng r;
    inject_init(&z);
    rng_init(&r, 6, 0);
    float *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
    ck_assert(x && y);
    inject_noise(x, N, 1.0, &r);
    for (int i = 0; i < N; i++)
        y[i] = (float)inject_normal(&z, &r);
    qsort(x, N, sizeof *x, rising);
    qsort(y, N, sizeof *y, rising);
    double distance = 0.0;
    for (int i = 0, j = 0; i < N && j < N;) {
        if (x[i] <= y[j])
            i++;
        else
            j++;
        distance = fmax(distance, fabs((double)(i - j)) / N);
    }
    ck_assert_double_lt(distance, 1.95 * sqrt(2.0 / N));
    free(x);
    free(y);
}
END_TEST

SUITE(learn_inject, draws_are_normal, layers_have_equal_area, scale_and_range,
      a_call_follows_from_one_draw, both_generators_draw_the_same_distribution);
