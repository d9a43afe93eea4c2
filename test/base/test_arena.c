#include "base/arena.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

START_TEST(aligned_zeroed_and_apart)
{
    struct arena *a = arena_new(4096, NULL);
    unsigned char *last = NULL;
    for (size_t n = 1; n < 100; n += 13) {
        unsigned char *p = arena_alloc(a, n);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % ARENA_ALIGN, 0);
        ck_assert(!last || p >= last);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(p[i], 0);
        memset(p, 0xff, n);
        last = p + n;
    }
    arena_free(a);
}
END_TEST

START_TEST(reset_gives_back_and_clears)
{
    struct arena *a = arena_new(256, NULL);
    ck_assert_ptr_nonnull(arena_alloc(a, 64));
    size_t mark = arena_mark(a);
    unsigned char *p = arena_alloc(a, 100);
    memset(p, 0xff, 100);
    arena_reset(a, mark);
    unsigned char *q = arena_alloc(a, 100);
    ck_assert_ptr_eq(p, q);
    ck_assert_uint_eq(q[99], 0);
    ck_assert_uint_eq(arena_peak(a), 192);
    arena_free(a);
}
END_TEST

START_TEST(the_end_is_the_end)
{
    struct arena *a = arena_new(128, NULL);
    ck_assert_ptr_nonnull(arena_alloc(a, 65));
    ck_assert_ptr_null(arena_alloc(a, 1));
    arena_reset(a, 0);
    ck_assert_ptr_nonnull(arena_alloc(a, 0)); /* a place of its own, even if empty */
    ck_assert_ptr_null(arena_alloc(a, 65));
    ck_assert_ptr_null(arena_alloc(a, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(a, SIZE_MAX - 70));
    ck_assert_ptr_nonnull(arena_alloc(a, 64));
    arena_free(a);
}
END_TEST

START_TEST(too_much_is_an_error)
{
    struct err e = {0};
    ck_assert_ptr_null(arena_new(SIZE_MAX - 1, &e));
    ck_assert_int_eq(e.code, ERR_MEMORY);
    arena_free(NULL);
}
END_TEST

START_TEST(reset_forward_is_a_bug)
{
    struct arena *a = arena_new(128, NULL);
    ck_assert_ptr_nonnull(
        freopen("/dev/null", "w", stderr)); /* the assertion's message */
    arena_reset(a, 64);
    arena_free(a);
}
END_TEST

Suite *suite_base_arena(void);
Suite *suite_base_arena(void)
{
    Suite *s = suite_create("base/arena");
    TCase *t = tcase_create("base/arena");
    tcase_add_test(t, aligned_zeroed_and_apart);
    tcase_add_test(t, reset_gives_back_and_clears);
    tcase_add_test(t, the_end_is_the_end);
    tcase_add_test(t, too_much_is_an_error);
    tcase_add_test_raise_signal(t, reset_forward_is_a_bug, 6);
    suite_add_tcase(s, t);
    return s;
}
