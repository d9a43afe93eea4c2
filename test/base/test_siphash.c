/* The authors' test vectors: key 00 01 .. 0f, messages of 0, 1, 2, .. bytes 00 01 02 .. */
#include "base/siphash.h"

#include "support/suites.h"

TEST(the_published_vectors)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } rows[] = {{0, UINT64_C(0x726fdb47dd0e0e31)}, {1, UINT64_C(0x74f839c593dc67fd)},
                {2, UINT64_C(0x0d6c8009d9a94f5a)}, {3, UINT64_C(0x85676696d7fb7e2d)},
                {7, UINT64_C(0xab0200f58b01d137)}, {8, UINT64_C(0x93f5f5799a932462)},
                {15, UINT64_C(0xa129ca6149be45e5)}};
    uint8_t key[SIPHASH_KEY], in[16];
    for (int i = 0; i < 16; i++)
        key[i] = in[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(siphash(key, in, rows[i].n), rows[i].hash);
    key[15] ^= 1;
    ck_assert_uint_ne(siphash(key, in, 15), rows[6].hash);
}

SUITE(base_siphash, the_published_vectors);
