#include "base/entropy.h"

#include "support/suites.h"

#include <string.h>

TEST(the_system_gives_other_bytes_each_time)
{
    const struct entropy system = {0};
    unsigned char a[256] = {0}, b[256] = {0}, zero[256] = {0};
    ck_assert_int_eq(entropy_draw(&system, a, sizeof a, NULL), 0);
    ck_assert_int_eq(entropy_draw(&system, b, sizeof b, NULL), 0);
    ck_assert_mem_ne(a, zero, sizeof a);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_mem_ne(a + 240, zero, 16);
}

static int counted(void *ctx, void *out, size_t n, struct err *e)
{
    int *calls = ctx;
    if (*calls == 2) return err_set(e, ERR_IO, "dry");
    memset(out, ++*calls, n);
    return 0;
}

TEST(a_source_of_the_callers_is_asked_instead)
{
    int calls = 0;
    const struct entropy mine = {counted, &calls};
    unsigned char a[3] = {0};
    struct err e = {0};
    ck_assert_int_eq(entropy_draw(&mine, a, 2, &e), 0);
    ck_assert_mem_eq(a, "\1\1\0", 3);
    ck_assert_int_eq(entropy_draw(&mine, a, 3, &e), 0);
    ck_assert_mem_eq(a, "\2\2\2", 3);
    ck_assert_int_eq(entropy_draw(&mine, a, 3, &e), ERR_IO);
    ck_assert_str_eq(e.detail, "dry");
}

SUITE(base_entropy, the_system_gives_other_bytes_each_time,
      a_source_of_the_callers_is_asked_instead);
