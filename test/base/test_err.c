#include "base/err.h"

#include "support/suites.h"

#include <string.h>

TEST(first_failure_wins)
{
    struct err e = {0};
    ck_assert_int_eq(err_field(&e, ERR_RANGE, "chunk_s", "%d is too long", 11),
                     ERR_RANGE);
    ck_assert_int_eq(err_set(&e, ERR_IO, "later"), ERR_IO);
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "chunk_s");
    ck_assert_str_eq(e.detail, "11 is too long");
}

TEST(no_place_to_tell_is_legal)
{
    ck_assert_int_eq(err_set(NULL, ERR_IO, "lost"), ERR_IO);
}

TEST(long_details_are_cut_not_overrun)
{
    struct err e = {0};
    err_set(&e, ERR_INVALID, "%0400d", 7);
    ck_assert_uint_eq(strlen(e.detail), sizeof e.detail - 1);
}

TEST(every_code_has_a_word_of_its_own)
{
    for (int a = ERR_NUMERIC; a <= ERR_NONE; a++) {
        ck_assert_str_ne(err_word(a), "unknown");
        for (int b = ERR_NUMERIC; b < a; b++)
            ck_assert_str_ne(err_word(a), err_word(b));
    }
    ck_assert_str_eq(err_word(ERR_CORRUPT), "corrupt");
    ck_assert_str_eq(err_word(7), "unknown");
}

SUITE(base_err, first_failure_wins, no_place_to_tell_is_legal,
      long_details_are_cut_not_overrun, every_code_has_a_word_of_its_own);
