#include "abr/deciders/soda.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

/* Levels of 1 and 2 Mbit/s, steps of 4 s, a link of 2 Mbit/s. */
static struct view two_levels(double buffer_s, int last)
{
    struct view v = made_view(2);
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.chunk_s = 4;
    v.chunks = 0;
    v.buffer_s = buffer_s;
    v.buffer_max_s = 60;
    v.last_level = last;
    for (int i = 0; i < 5; i++)
        view_push(&v, 1e6, 4);
    return v;
}

/* At the top level the buffer stays and there is no distortion: with the buffer at its target the
 * cost of a plan at the top is 0, unless the switch to it, gamma (ln 2)^2 = 0.48 gamma, costs more than
 * staying. Staying costs ln 2 x 2 a step for what is downloaded, 6.93 in five steps, and the buffer
 * grows above the target: (4 n / 4)^2 x 0.05 beta, 0.05 (1 + 4 + 9 + 16 + 25) = 2.75 for beta 1.
 * Both together 9.68, so the switch is worth it up to gamma = 20.2. */
START_TEST(a_plan_by_hand)
{
    struct view v = two_levels(30, 0);
    struct soda_cfg c = {0.5, 1, 20.0};
    ck_assert_int_eq(soda_level(&c, &v), 1);
    c.gamma = 20.4;
    ck_assert_int_eq(soda_level(&c, &v), 0);
}
END_TEST

/* 75 and 100 points: v = (1, 0). Staying low costs 1 x 2 a step, 10 in five steps, and 2.75 for the
 * buffer, so the switch is worth it up to gamma = 12.75. */
START_TEST(points_by_hand)
{
    struct view v = two_levels(30, 0);
    v.points[0] = 75, v.points[1] = 100;
    struct soda_cfg c = {0.5, 1, 12.7};
    ck_assert_int_eq(soda_level(&c, &v), 1);
    c.gamma = 12.8;
    ck_assert_int_eq(soda_level(&c, &v), 0);
    v.qoe = qoe_of_mu(1, 1, 1, QOE_LINEAR); /* the points do not count */
    ck_assert_int_eq(soda_level(&c, &v), 1);
}
END_TEST

/* Far below the target the buffer is worth more than the picture. */
START_TEST(an_empty_buffer_is_filled_first)
{
    struct view v = two_levels(4, 1);
    struct soda_cfg c = {0.5, 1, 1};
    ck_assert_int_eq(soda_level(&c, &v), 0);
}
END_TEST

START_TEST(a_link_below_all_levels_and_no_link)
{
    struct view v = two_levels(0.5, 1);
    struct soda_cfg c = {0.5, 0, 0};
    for (int i = 0; i < 8; i++)
        view_push(&v, 1e5, 4); /* 200 kbit/s: every plan empties the buffer */
    ck_assert_int_eq(soda_level(&c, &v), 0);
    v.n_history = 0;
    ck_assert_int_eq(soda_level(&c, &v), 0);
}
END_TEST

SUITE(abr_deciders_soda, a_plan_by_hand, points_by_hand, an_empty_buffer_is_filled_first,
      a_link_below_all_levels_and_no_link);
