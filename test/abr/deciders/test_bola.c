#include "abr/deciders/bola.h"

#include "support/suites.h"

#include <math.h>

/* Two levels, 500 and 1000 kbit/s; chunks of 4 s, a buffer of 34 s. By hand: Q_top = 30,
 * Q_low = 10, v = (0, ln 2), a = 500 ln 2 / 500 = ln 2, V = 20 / (2 ln 2) = 14.427, and
 * g = ln 2 + 10 / V = 2 ln 2; so V g = 20 and V (v_2 + g) = 30. */
static struct view two_levels(void)
{
    struct view v = view_default();
    v.levels = 2;
    v.ladder_kbps[0] = 500;
    v.ladder_kbps[1] = 1000;
    v.chunk_s = 4;
    v.buffer_max_s = 34;
    return v;
}

static int level_at(struct view *v, double buffer_s)
{
    v->buffer_s = buffer_s;
    return bola_level(v);
}

TEST(gains_by_hand)
{
    struct view v = two_levels();
    struct bola_gains k = bola_gains(&v);
    ck_assert_double_eq_tol(k.v, 10 / log(2), 1e-12);
    ck_assert_double_eq_tol(k.g, 2 * log(2), 1e-12);
}

TEST(levels_by_hand)
{
    struct view v = two_levels();
    /* sizes as the ladder says: (20 - Q)/1 = (30 - Q)/2 at Q = 10 */
    ck_assert_int_eq(level_at(&v, 9.9), 0);
    ck_assert_int_eq(level_at(&v, 10.1), 1);
    ck_assert_int_eq(level_at(&v, 34), 1); /* above Q_top, where the paper stops */

    /* this chunk's are 1 : 3 -> (20 - Q)/1 = (30 - Q)/3 at Q = 15 */
    v.next_bytes[0] = 250e3;
    v.next_bytes[1] = 750e3;
    ck_assert_int_eq(level_at(&v, 14.9), 0);
    ck_assert_int_eq(level_at(&v, 15.1), 1);
}

TEST(levels_never_fall_as_the_buffer_grows)
{
    struct view v = two_levels();
    const double limits[] = {4, 8, 16, 60, 600};
    v.levels = 6;
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] = 300 * (1 + k);
    for (int i = 0; i < 5; i++) {
        v.buffer_max_s = limits[i];
        int level = 0;
        for (double b = 0; b <= limits[i]; b += limits[i] / 500) {
            int next = level_at(&v, b);
            ck_assert_int_ge(next, level);
            level = next;
        }
        ck_assert_int_eq(level_at(&v, 0), 0);
        ck_assert_int_eq(level, 5);
    }
}

/* 500, 1000 and 2000 kbit/s with 50, 55 and 100 points: v = (0, 0.2, 2), a = 0.2, V = 20 / 2.2 and
 * g = 0.2 + 10 / V = 1.3. The lowest and the top score the same at (V g - Q) / 1 = (V (2 + g) - Q) / 4,
 * so Q = 5.76 s. The second level is never best there. With ln R it is best from 10 s on. */
TEST(points_by_hand)
{
    struct view v = two_levels();
    v.levels = 3;
    v.ladder_kbps[2] = 2000;
    v.points[0] = 50, v.points[1] = 55, v.points[2] = 100;
    ck_assert_int_eq(level_at(&v, 5.7), 0);
    ck_assert_int_eq(level_at(&v, 5.8), 2);
    v.qoe = qoe_of_mu(1, 1, 1, QOE_LINEAR); /* the points do not count */
    ck_assert_int_eq(level_at(&v, 5.8), 0);
    ck_assert_int_eq(level_at(&v, 10.1), 1);
}

/* Without a level that looks better the utility is ln R. */
TEST(equal_points_count_as_none)
{
    struct view v = two_levels();
    v.points[0] = v.points[1] = 80;
    ck_assert_int_eq(level_at(&v, 9.9), 0);
    ck_assert_int_eq(level_at(&v, 10.1), 1);
}

SUITE(abr_deciders_bola, gains_by_hand, levels_by_hand,
      levels_never_fall_as_the_buffer_grows, points_by_hand, equal_points_count_as_none);
