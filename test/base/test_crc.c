#include "base/crc.h"

#include <check.h>

START_TEST(known_values)
{
    /* the check value of the CRC catalogues */
    ck_assert_uint_eq(crc_update(0, "123456789", 9), 0xcbf43926);
    ck_assert_uint_eq(crc_update(0, "", 0), 0);
    ck_assert_uint_eq(crc_update(0, "a", 1), 0xe8b7be43);
}
END_TEST

START_TEST(pieces_equal_the_whole)
{
    uint32_t crc = crc_update(crc_update(0, "1234", 4), "56789", 5);
    ck_assert_uint_eq(crc, 0xcbf43926);
    ck_assert_uint_ne(crc_update(0, "123456788", 9), 0xcbf43926);
}
END_TEST

Suite *suite_base_crc(void);
Suite *suite_base_crc(void)
{
    Suite *s = suite_create("base/crc");
    TCase *t = tcase_create("base/crc");
    tcase_add_test(t, known_values);
    tcase_add_test(t, pieces_equal_the_whole);
    suite_add_tcase(s, t);
    return s;
}
