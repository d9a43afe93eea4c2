#include "base/bytes.h"

#include "support/suites.h"

#include <string.h>

TEST(crc_known_answers)
{
    ck_assert_uint_eq(bytes_crc32(0, "", 0), 0);
    ck_assert_uint_eq(bytes_crc32(0, "123456789", 9), 0xcbf43926);
    ck_assert_uint_eq(bytes_crc32(0, "a", 1), 0xe8b7be43);
}

TEST(crc_in_pieces_is_the_crc_of_the_whole)
{
    const char *s = "The quick brown fox jumps over the lazy dog";
    size_t n = strlen(s);
    for (size_t cut = 0; cut <= n; cut++)
        ck_assert_uint_eq(bytes_crc32(bytes_crc32(0, s, cut), s + cut, n - cut),
                          0x414fa339);
}

TEST(crc_sees_every_flipped_bit)
{
    unsigned char d[32] = {1, 2, 3};
    uint32_t whole = bytes_crc32(0, d, sizeof d);
    for (unsigned bit = 0; bit < 8 * sizeof d; bit++) {
        d[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_uint_ne(bytes_crc32(0, d, sizeof d), whole);
        d[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

TEST(numbers_are_little_endian_at_any_address)
{
    unsigned char b[16];
    memset(b, 0xaa, sizeof b);
    bytes_put_u64(b + 1, UINT64_C(0x0807060504030201));
    for (int i = 1; i <= 8; i++)
        ck_assert_uint_eq(b[i], (unsigned)i);
    ck_assert_uint_eq(b[0], 0xaa);
    ck_assert_uint_eq(b[9], 0xaa);
    ck_assert_uint_eq(bytes_get_u64(b + 1), UINT64_C(0x0807060504030201));
    ck_assert_uint_eq(bytes_get_u32(b + 1), 0x04030201);
    ck_assert_uint_eq(bytes_get_u16(b + 1), 0x0201);

    bytes_put_u32(b + 3, 0xfffefdfc);
    ck_assert_uint_eq(bytes_get_u32(b + 3), 0xfffefdfc);
    bytes_put_u16(b + 3, 0x8001);
    ck_assert_uint_eq(bytes_get_u16(b + 3), 0x8001);
    ck_assert_uint_eq(b[5], 0xfe);

    bytes_put_f64(b + 1, -1.5); /* bff8000000000000 */
    ck_assert_uint_eq(b[8], 0xbf);
    ck_assert_uint_eq(b[7], 0xf8);
    ck_assert_uint_eq(b[1], 0);
    ck_assert_double_eq(bytes_get_f64(b + 1), -1.5);
}

SUITE(base_bytes, crc_known_answers, crc_in_pieces_is_the_crc_of_the_whole,
      crc_sees_every_flipped_bit, numbers_are_little_endian_at_any_address);
