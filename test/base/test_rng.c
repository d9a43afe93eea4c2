#include "base/rng.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

/* The generator's own test vector: state 1, 2, 3, 4. */
TEST(known_answer)
{
    static const uint64_t expected[] = {
        UINT64_C(41943041),
        UINT64_C(58720359),
        UINT64_C(3588806011781223),
        UINT64_C(3591011842654386),
        UINT64_C(9228616714210784205),
        UINT64_C(9973669472204895162),
        UINT64_C(14011001112246962877),
        UINT64_C(12406186145184390807),
    };
    struct rng r = {{1, 2, 3, 4}};
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq(rng_u64(&r), expected[i]);
}

/* These decide every seeded result of the project: a change must be wanted. */
TEST(seeding_stays_as_it_is)
{
    struct rng r;
    rng_init(&r, 1, 2);
    ck_assert_uint_eq(rng_u64(&r), UINT64_C(14389687505550131735));
    ck_assert_uint_eq(rng_u64_at(1, 2, 3), UINT64_C(3090379766581250213));
}

TEST(streams_repeat_and_differ)
{
    struct rng a, b, c, d;
    rng_init(&a, 5, 1);
    rng_init(&b, 5, 1);
    rng_init(&c, 5, 2);
    rng_init(&d, 6, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_u64(&a);
        ck_assert_uint_eq(x, rng_u64(&b));
        ck_assert_uint_ne(x, rng_u64(&c));
        ck_assert_uint_ne(x, rng_u64(&d));
    }
}

/* chi-square of counts against equal shares; mean k-1, standard deviation sqrt(2(k-1)) */
static double chi_square(const int *count, int k, int n)
{
    double expected = (double)n / k, sum = 0;
    for (int i = 0; i < k; i++)
        sum += (count[i] - expected) * (count[i] - expected) / expected;
    return (sum - (k - 1)) / sqrt(2.0 * (k - 1));
}

TEST(uniform_is_uniform)
{
    enum { K = 100, N = 200000 };
    int count[K] = {0};
    struct rng r;
    rng_init(&r, 11, 0);
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&r);
        ck_assert(u >= 0 && u < 1);
        count[(int)(u * K)]++;
    }
    ck_assert_double_lt(fabs(chi_square(count, K, N)), 4.5);
}

TEST(below_is_uniform_and_below)
{
    enum { N = 70000 };
    int count[7] = {0};
    struct rng r;
    rng_init(&r, 12, 0);
    for (int i = 0; i < N; i++)
        count[rng_below(&r, 7)]++;
    ck_assert_double_lt(fabs(chi_square(count, 7, N)), 4.5);

    /* three quarters of 2^32: a plain modulus would hit the lower half twice as often */
    int low = 0;
    for (int i = 0; i < N; i++) {
        uint32_t x = rng_below(&r, 3u << 30);
        ck_assert_uint_lt(x, 3u << 30);
        low += x < 3u << 29;
    }
    ck_assert_double_eq_tol((double)low / N, .5, .01);
    ck_assert_uint_eq(rng_below(&r, 1), 0);
}

TEST(normal_and_exponential_have_their_moments)
{
    enum { N = 200000 };
    struct rng r;
    rng_init(&r, 13, 0);
    double m1 = 0, m2 = 0, m4 = 0, x1 = 0, x2 = 0;
    for (int i = 0; i < N; i++) {
        double g = rng_normal(&r), x = rng_exponential(&r, 3);
        ck_assert(isfinite(g) && isfinite(x) && x >= 0);
        m1 += g / N;
        m2 += g * g / N;
        m4 += g * g * g * g / N;
        x1 += x / N;
        x2 += x * x / N;
    }
    ck_assert_double_eq_tol(m1, 0, .01);
    ck_assert_double_eq_tol(m2, 1, .02);
    ck_assert_double_eq_tol(m4, 3, .12);
    ck_assert_double_eq_tol(x1, 3, .04);
    ck_assert_double_eq_tol(x2, 18, .6);

    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < 10000; i++) {
        double x = rng_range(&r, -2, 5);
        lo = fmin(lo, x);
        hi = fmax(hi, x);
    }
    ck_assert(lo >= -2 && lo < -1.98 && hi < 5 && hi > 4.98);
}

static int ones(uint64_t x)
{
    return __builtin_popcountll(x);
}

/* One more in seed, key or counter has to change half of the 64 bits: neighbouring sessions
 * and chunks would otherwise explore alike. */
TEST(counter_based_draws_avalanche)
{
    enum { N = 20000 };
    double flips[3] = {0};
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = rng_u64_at(i % 7, i, i * 3);
        flips[0] += ones(x ^ rng_u64_at(i % 7 + 1, i, i * 3)) / (double)N;
        flips[1] += ones(x ^ rng_u64_at(i % 7, i + 1, i * 3)) / (double)N;
        flips[2] += ones(x ^ rng_u64_at(i % 7, i, i * 3 + 1)) / (double)N;
    }
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(flips[k], 32, .15);
}

TEST(counter_based_draws_are_uniform_and_uncorrelated)
{
    enum { K = 50, N = 100000 };
    int count[K] = {0};
    double product[3] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double u = rng_uniform_at(1, i / 48, i % 48);
        ck_assert(u >= 0 && u < 1);
        count[(int)(u * K)]++;
        product[0] += (u - .5) * (rng_uniform_at(1, i / 48, i % 48 + 1) - .5);
        product[1] += (u - .5) * (rng_uniform_at(1, i / 48 + 1, i % 48) - .5);
        product[2] += (u - .5) * (rng_uniform_at(2, i / 48, i % 48) - .5);
    }
    ck_assert_double_lt(fabs(chi_square(count, K, N)), 4.5);
    /* a correlation of independent draws has standard deviation 1/sqrt(N) */
    for (int k = 0; k < 3; k++)
        ck_assert_double_lt(fabs(product[k] / N * 12), 4.5 / sqrt(N));
}

SUITE(base_rng, known_answer, seeding_stays_as_it_is, streams_repeat_and_differ,
      uniform_is_uniform, below_is_uniform_and_below,
      normal_and_exponential_have_their_moments, counter_based_draws_avalanche,
      counter_based_draws_are_uniform_and_uncorrelated);
