#include "abr/deciders/mpc_tail.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

/* Levels of 1 and 2 Mbit/s, chunks of 4 s, a link of 2 Mbit/s, 8 s in the buffer: level 1 takes 4 s. */
static struct view two_levels(double mu_switch)
{
    struct view v = made_view(2);
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.chunk_s = 4;
    v.chunk = 1;
    v.chunks = 0;
    v.buffer_s = 8;
    v.buffer_max_s = 60;
    v.last_level = 0;
    v.qoe = qoe_of_mu(1, mu_switch, 1, QOE_LINEAR);
    for (int i = 0; i < 5; i++)
        view_push(&v, 1e6, 4);
    return v;
}

/* A switch costs mu_switch once and earns 1 Mbit/s per chunk: without a tail the plan of three chunks
 * pays up to 3, with a tail of 10 more chunks up to 13. */
START_TEST(the_tail_earns_a_switch_back)
{
    static const struct {
        double mu_switch, tail;
        int level;
    } rows[] = {{2.9, 0, 1}, {3.1, 0, 0}, {12.9, 10, 1}, {13.1, 10, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct view v = two_levels(rows[i].mu_switch);
        struct mpc_tail_cfg c = {1, 3, rows[i].tail};
        ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), rows[i].level);
    }
}
END_TEST

/* With half the forecast level 1 takes 8 s: the first chunk empties the buffer, later ones stall 4 s each.
 * One chunk at level 1 would earn 1, but the switch and the way back cost 1.2. */
START_TEST(a_cautious_factor_stays_low)
{
    struct view v = two_levels(0.6);
    struct mpc_tail_cfg c = {0.5, 2, 10};
    ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), 0);
    c.factor = 1;
    ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), 1);
}
END_TEST

/* With one chunk left there is no tail, and a plan of one chunk. */
START_TEST(the_end_of_the_video_cuts_the_plan)
{
    struct view v = two_levels(1.1);
    struct mpc_tail_cfg c = {1, 3, 10};
    ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), 1);
    v.chunks = v.chunk + 1;
    ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), 0);
}
END_TEST

START_TEST(nothing_measured_is_the_lowest_level)
{
    struct view v = two_levels(0);
    struct mpc_tail_cfg c = {1, 3, 10};
    v.n_history = 0;
    ck_assert_int_eq(mpc_tail_level(&c, &v, NULL), 0);
}
END_TEST

SUITE(abr_deciders_mpc_tail, the_tail_earns_a_switch_back, a_cautious_factor_stays_low,
      the_end_of_the_video_cuts_the_plan, nothing_measured_is_the_lowest_level);
