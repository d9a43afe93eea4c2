#include "abr/deciders/guard.h"

#include "support/suites.h"

#include <math.h>
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

/* A calm link of 2 Mbit/s: one download in 6 is slower than e^-0.047 times that, 1908 kbit/s. The levels
 * take 0.524, 1.048, 2.096 and 4.193 s. */
static struct view ceiled(double buffer_s)
{
    struct view v = short_live(buffer_s);
    v.qoe = qoe_find("standard")->qoe;
    v.n_history = 0;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, 250e3, 1);
    return v;
}

TEST(under_a_ceiling_no_chunk_outlasts_the_buffer)
{
    static const struct {
        double buffer_s;
        unsigned levels;
    } row[] = {{4.2, 0xf}, {4.18, 7}, {2.1, 7}, {2.09, 3},
               {1.05, 3},  {1.04, 1}, {.5, 1},  {0, 1}}; /* level 0 always */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct view v = ceiled(row[i].buffer_s);
        ck_assert_uint_eq(guard_levels(&v), row[i].levels);
        v.buffer_max_s = 3600; /* however much the player can hold */
        ck_assert_uint_eq(guard_levels(&v), row[i].levels);
        v.qoe.stall_ratio_max = 0; /* without one: who is not wary may choose */
        ck_assert_uint_eq(guard_levels(&v), 0xf);
    }
    struct view v = ceiled(1.5);
    v.next_bytes[2] = 1908e3 / 8 * 1.49; /* sizes that are known count */
    v.next_bytes[1] = 1908e3 / 8 * 1.51;
    ck_assert_uint_eq(guard_levels(&v), 5);
    v = ceiled(0);
    v.n_history = 0; /* nothing to go by */
    ck_assert_uint_eq(guard_levels(&v), 0xf);
}

TEST(the_margin_moves_what_is_trusted)
{
    struct view v = ceiled(2.1);
    v.margin = log(2); /* half of it: 1.05, 2.1, 4.2 s */
    ck_assert_uint_eq(guard_levels(&v), 3);
    v.margin = -log(2); /* twice: 4.193 / 2 */
    ck_assert_uint_eq(guard_levels(&v), 0xf);
}

/* A first chunk of a session that does not explore is one level, which starts in time. */
TEST(the_first_chunk_under_a_ceiling)
{
    struct view v = ceiled(0);
    v.n_history = 0;
    v.last_level = -1;
    v.start_kbps = 1000; /* 3 s carry 3000 kbit, level 1 has 2000 and level 2 has 4000 */
    uint32_t one = guard_greedy(&v);
    ck_assert(one == 1 || one == 2);
    ck_assert_uint_eq(guard_levels(&v), 0xf);
}

SUITE(abr_deciders_guard, under_a_ceiling_no_chunk_outlasts_the_buffer,
      the_margin_moves_what_is_trusted, the_first_chunk_under_a_ceiling,
      what_leaves_a_second_is_offered, only_for_the_wary_with_little);
