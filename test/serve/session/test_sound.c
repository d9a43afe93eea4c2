#include "serve/session/sound.h"

#include "support/suites.h"

/* A link of 2 Mbit/s carries a chunk of 150,000 bytes and 64,000 bytes of sound in 0.856 s; sound of 128
 * kbit/s takes 13,696 bytes of it in that time. */
TEST(what_the_link_leaves)
{
    ck_assert_int_eq(sound_left_bytes(150000, 64000, 128, 0.856), 200304);
    ck_assert_int_eq(sound_left_bytes(150000, 0, 128, 0.6),
                     140400); /* one after the other */
    ck_assert_int_eq(sound_left_bytes(150000, 64000, 0, 0.856), 214000);
    ck_assert(sound_left_kbps(2000, 128) == 1872 && sound_left_kbps(2000, 0) == 2000);
}

TEST(never_nothing)
{
    ck_assert_int_eq(sound_left_bytes(1000, 0, 128, 10), 50); /* a twentieth */
    ck_assert(sound_left_kbps(100, 128) == 5);
    ck_assert_int_eq(sound_left_bytes(1, 0, 1e6, 3600), 1);
    ck_assert_int_eq(sound_left_bytes(0, 0, 128, 1), 0);
}

SUITE(serve_session_sound, what_the_link_leaves, never_nothing);
