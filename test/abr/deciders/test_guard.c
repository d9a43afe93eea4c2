#include "abr/deciders/guard.h"

#include "support/suites.h"

#include <stdbool.h>

/* 2 s chunks of .5, 1, 2 and 4 Mbit/s; 1.8 Mbit/s trusted of the 2 that were measured */
static struct view short_live(double buffer_s)
{
    struct view v = view_default();
    v.qoe = qoe_of_mu(1, 1, 6, QOE_LINEAR);
    v.levels = 4;
    for (int k = 0; k < 4; k++) {
        v.ladder_kbps[k] = 500 << k;
        v.next_bytes[k] = 0;
    }
    v.chunk_s = 2;
    v.buffer_s = buffer_s;
    v.buffer_max_s = 6;
    view_push(&v, 500000, 1); /* 4 Mbit/s, which is past */
    view_push(&v, 500000, 2);
    return v;
}

TEST(what_leaves_a_second_is_offered)
{
    /* level k takes (1 << k) / 1.8 s */
    struct view v = short_live(1 + 4 / 1.8 + .01);
    ck_assert_uint_eq(guard_levels(&v), 7);
    v.buffer_s -= .02;
    ck_assert_uint_eq(guard_levels(&v), 3);
    v = short_live(6);
    ck_assert_uint_eq(guard_levels(&v), 0xf);
    v.next_bytes[3] = 1.8e6 / 8 * 5 + 1; /* what the chunk really weighs */
    ck_assert_uint_eq(guard_levels(&v), 7);
    v.next_bytes[2] = v.next_bytes[3];
    v.next_bytes[3] -= 2; /* a level above may be lighter */
    ck_assert_uint_eq(guard_levels(&v), 0xb);
    for (double s = 0; s <= 1; s += .5) { /* the lowest always */
        v = short_live(s);
        ck_assert_uint_eq(guard_levels(&v), 1);
    }
}

TEST(only_for_the_wary_with_little)
{
    struct view v = short_live(.5);
    v.n_history = 0;
    ck_assert_uint_eq(guard_levels(&v), 0xf);
    v = short_live(.5);
    v.buffer_max_s = 12.1;
    ck_assert_uint_eq(guard_levels(&v), 0xf);
    v.buffer_max_s = 12;
    ck_assert_uint_eq(guard_levels(&v), 1);
    for (int i = 0; i < QOE_PAPERS; i++) {
        bool live = qoe_find("paper-live") == &qoe_papers[i];
        v.qoe = qoe_papers[i].qoe;
        ck_assert_uint_eq(guard_levels(&v), live ? 1 : 0xf);
    }
    v.qoe = qoe_of_mu(1, 5.1, 25, QOE_LINEAR);
    ck_assert_uint_eq(guard_levels(&v), 0xf);
    v.qoe = qoe_of_mu(5, 5, 25, QOE_LOG);
    ck_assert_uint_eq(guard_levels(&v), 1);
}

SUITE(abr_deciders_guard, what_leaves_a_second_is_offered, only_for_the_wary_with_little);
