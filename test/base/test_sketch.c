#include "base/sketch.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sketch *make(int width, int depth, bool conservative)
{
    struct sketch_cfg cfg = {width, depth, conservative, 7};
    struct sketch *s = sketch_new(&cfg, NULL);
    ck_assert_ptr_nonnull(s);
    return s;
}

TEST(few_keys_are_counted_exactly)
{
    struct sketch *s = make(1024, 4, false);
    sketch_add(s, 11, 3);
    sketch_add(s, 12, .5);
    sketch_add(s, 11, 1);
    ck_assert_double_eq(sketch_estimate(s, 11), 4);
    ck_assert_double_eq(sketch_estimate(s, 12), .5);
    ck_assert_double_eq(sketch_estimate(s, 13), 0);
    ck_assert_double_eq(sketch_weight(s), 4.5);
    ck_assert_double_eq_tol(sketch_error(s), 2.718281828459045 / 1024 * 4.5, 1e-15);
    sketch_free(s);
}

TEST(one_column_counts_everything_together)
{
    struct sketch *s = make(1, 3, false), *c = make(1, 3, true);
    for (uint64_t k = 0; k < 5; k++) {
        sketch_add(s, k, 2);
        sketch_add(c, k, 2);
    }
    ck_assert_double_eq(sketch_estimate(s, 99), 10);
    ck_assert_double_eq(sketch_estimate(c, 99), 10);
    sketch_free(s);
    sketch_free(c);
}

/* 20,000 keys in 4 x 512 cells, weights by Zipf: never too little, and too much by more than
 * the bound for at most exp(-4) of the keys. */
TEST(the_bound_of_the_header_holds)
{
    enum { KEYS = 20000 };
    struct sketch *s = make(512, 4, false), *c = make(512, 4, true);
    double *truth = calloc(KEYS, sizeof *truth);
    for (uint64_t n = 0; n < 200000; n++) {
        double u = rng_uniform_at(1, n, 0);
        int k = (int)(pow(KEYS, u)) - 1; /* density 1 / k */
        truth[k]++;
        sketch_add(s, (uint64_t)k, 1);
        sketch_add(c, (uint64_t)k, 1);
    }
    int beyond = 0, beyond_c = 0, less = 0;
    double sum = 0, sum_c = 0;
    for (int k = 0; k < KEYS; k++) {
        double plain = sketch_estimate(s, (uint64_t)k),
               careful = sketch_estimate(c, (uint64_t)k);
        ck_assert_double_ge(plain, truth[k]);
        ck_assert_double_ge(careful, truth[k]);
        ck_assert_double_le(careful, plain);
        beyond += plain > truth[k] + sketch_error(s);
        beyond_c += careful > truth[k] + sketch_error(c);
        less += careful < plain;
        sum += plain - truth[k];
        sum_c += careful - truth[k];
    }
    ck_assert_double_le(beyond, exp(-4) * KEYS);
    ck_assert_int_le(beyond_c, beyond);
    ck_assert_int_gt(less, KEYS / 2);
    ck_assert_double_lt(sum_c, .7 * sum);
    /* the bound says something: without the minimum over rows it would break */
    struct sketch *one = make(512, 1, false);
    int single = 0;
    for (uint64_t k = 0; k < KEYS; k++)
        sketch_add(one, k, truth[k]);
    for (int k = 0; k < KEYS; k++)
        single += sketch_estimate(one, (uint64_t)k) > truth[k] + sketch_error(one);
    ck_assert_double_gt(single, exp(-4) * KEYS);
    sketch_free(one);
    sketch_free(s);
    sketch_free(c);
    free(truth);
}

/* Against a plain twin that multiplies a table; 1500 halvings pass the largest double. */
TEST(what_is_not_seen_any_more_fades)
{
    struct sketch *s = make(256, 3, true);
    double plain[8] = {0}, weight = 0;
    for (uint64_t t = 0; t < 1500; t++) {
        for (int k = 0; k < 8; k++)
            plain[k] /= 2;
        weight /= 2;
        sketch_age(s, .5);
        uint64_t k = t % 8;
        if (t < 1490 || k == 3) {
            plain[k] += 3;
            weight += 3;
            sketch_add(s, k, 3);
        }
        for (uint64_t i = 0; i < 8; i++)
            ck_assert_double_eq_tol(sketch_estimate(s, i), plain[i], 1e-12);
        ck_assert_double_eq_tol(sketch_weight(s), weight, 1e-12);
    }
    sketch_age(s, 1);
    ck_assert_double_eq_tol(sketch_estimate(s, 3), plain[3], 1e-12);
    sketch_free(s);
}

TEST(memory_is_that_of_the_shape)
{
    struct sketch *s = make(128, 2, true);
    size_t before = sketch_state_size(s);
    alloc_watch();
    for (uint64_t k = 0; k < 100000; k++)
        sketch_add(s, k, 1);
    ck_assert_int_eq(alloc_calls(), 0);
    ck_assert_uint_eq(sketch_state_size(s), before);
    ck_assert_uint_eq(before, 4 * 8 + 8 * (2 + 2 * 128));
    sketch_free(s);
}

TEST(a_state_goes_on_where_it_was)
{
    struct sketch *a = make(64, 3, true), *b = make(64, 3, true);
    for (uint64_t k = 0; k < 500; k++) {
        sketch_add(a, k % 50, 1);
        if (k % 100 == 0) sketch_age(a, .9);
    }
    size_t n = sketch_state_size(a);
    unsigned char *state = malloc(n), *again = malloc(n);
    sketch_state_get(a, state);
    ck_assert_int_eq(sketch_state_put(b, state, n, NULL), 0);
    for (uint64_t k = 0; k < 60; k++) {
        sketch_add(a, k, 2);
        sketch_add(b, k, 2);
        ck_assert_double_eq(sketch_estimate(a, k), sketch_estimate(b, k));
    }
    sketch_state_get(b, again);
    sketch_state_get(a, state);
    ck_assert_mem_eq(state, again, n);
    free(again);
    free(state);
    sketch_free(b);
    sketch_free(a);
}

static void refused(struct sketch *s, const unsigned char *state, size_t n)
{
    struct err e = {0};
    ck_assert_int_eq(sketch_state_put(s, state, n, &e), ERR_CORRUPT);
    ck_assert_str_ne(e.detail, "");
    ck_assert_double_eq(sketch_estimate(s, 1), 5);
}

TEST(another_state_is_refused_and_changes_nothing)
{
    struct sketch *s = make(32, 2, false), *wide = make(33, 2, false);
    sketch_add(s, 1, 5);
    size_t n = sketch_state_size(s);
    unsigned char *state = malloc(n), *other = malloc(sketch_state_size(wide));
    sketch_state_get(wide, other);
    refused(s, other, sketch_state_size(wide));
    refused(s, other, n);
    sketch_state_get(s, state);
    refused(s, state, n - 1);
    bytes_put_u64(state + 24, 8); /* seed */
    refused(s, state, n);
    sketch_state_get(s, state);
    bytes_put_u64(state + n - 8, 0x7ff8000000000000); /* NaN */
    refused(s, state, n);
    sketch_state_get(s, state);
    bytes_put_u64(state + 4 * 8 + 8, 0); /* unit 0 */
    refused(s, state, n);
    free(other);
    free(state);
    sketch_free(wide);
    sketch_free(s);
}

TEST(shapes_have_limits)
{
    static const struct sketch_cfg bad[] = {{0, 4, false, 0},
                                            {4, 0, false, 0},
                                            {SKETCH_WIDTH_MAX + 1, 1, false, 0},
                                            {4, SKETCH_DEPTH_MAX + 1, false, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_ptr_null(sketch_new(&bad[i], &e));
        ck_assert_int_eq(e.code, ERR_RANGE);
    }
}

TEST(keys_differ_by_bytes_length_and_seed)
{
    ck_assert_uint_eq(sketch_key(1, "content", 7), sketch_key(1, "content", 7));
    ck_assert_uint_ne(sketch_key(1, "content", 7), sketch_key(2, "content", 7));
    ck_assert_uint_ne(sketch_key(1, "content", 7), sketch_key(1, "content", 8));
    ck_assert_uint_ne(sketch_key(1, "abcdefghi", 9), sketch_key(1, "abcdefghj", 9));
    ck_assert_uint_ne(sketch_key(1, "", 0), sketch_key(1, "\0", 1));
}

static void *make_any(void *ctx, struct err *e)
{
    return sketch_new(ctx, e);
}

static void destroy(void *s)
{
    sketch_free(s);
}

TEST(every_failing_allocation_is_told)
{
    struct sketch_cfg cfg = {16, 2, false, 0};
    ck_assert_int_eq(alloc_each_fails(make_any, destroy, &cfg), 2);
}

SUITE(base_sketch, few_keys_are_counted_exactly, one_column_counts_everything_together,
      the_bound_of_the_header_holds, what_is_not_seen_any_more_fades,
      memory_is_that_of_the_shape, a_state_goes_on_where_it_was,
      another_state_is_refused_and_changes_nothing, shapes_have_limits,
      keys_differ_by_bytes_length_and_seed, every_failing_allocation_is_told);
