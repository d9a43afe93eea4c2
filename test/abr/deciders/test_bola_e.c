#include "abr/deciders/bola_e.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

struct player {
    struct algo a;
    struct view v;
};

/* Two levels, 1 and 2 Mbit/s: u = 1 and 1 + ln 2; t_min = 10 s, t = max(12, 10 + 2 x 2) = 14 s, so
 * gp = ln 2 / 0.4 = 1.733 and Vp = 5.771. Both levels score the same at
 * Q + P = Vp (gp + (2 x 1 - 1 x 1.693) / 1) = 5.771 x 2.040 = 11.77 s. */
static struct player player_at(double kbps)
{
    struct player p = {.v = made_view(2)};
    struct err e = {0};
    p.v.ladder_kbps[0] = 1000;
    p.v.ladder_kbps[1] = 2000;
    for (int i = 0; i < 4; i++)
        view_push(&p.v, kbps * 125, 1);
    ck_assert_int_eq(bola_e_new(&p.a, NULL, NULL, &e), 0);
    p.a.reset(p.a.self, 1);
    return p;
}

static int next(struct player *p, int last, double buffer_s)
{
    p->v.last_level = last;
    p->v.buffer_s = buffer_s;
    int level = p->a.decide(p->a.self, &p->v, NULL);
    p->v.chunk++;
    return level;
}

START_TEST(the_start_follows_the_throughput)
{
    struct player p = player_at(3000); /* 0.9 of it carries 2 Mbit/s */
    ck_assert_int_eq(next(&p, -1, 0), 1);
    p.a.free(p.a.self);
    p = player_at(2100); /* 0.9 of it does not */
    ck_assert_int_eq(next(&p, -1, 0), 0);
    p.a.free(p.a.self);
}
END_TEST

/* The placeholder is 11.77 s when the throughput allows the top level, and 0 when it does not. */
START_TEST(the_placeholder_stands_for_buffer)
{
    struct player p = player_at(3000);
    (void)next(&p, 1, 4); /* steady from here on */
    ck_assert_int_eq(next(&p, 1, 8), 1);
    p.a.free(p.a.self);
    p = player_at(1500);
    (void)next(&p, 0, 4);
    ck_assert_int_eq(next(&p, 1, 8), 0);
    ck_assert_int_eq(next(&p, 1, 12), 1);
    p.a.free(p.a.self);
}
END_TEST

/* 50 and 100 points: u = 1 and 3, gp = 2 / 0.4 = 5, Vp = 2. Both levels score the same at
 * Q + P = 2 (5 + (2 x 1 - 1 x 3) / 1) = 8 s; with ln R at 11.77 s. */
START_TEST(points_by_hand)
{
    struct player p = player_at(1500);
    p.v.points[0] = 50, p.v.points[1] = 100;
    (void)next(&p, 0, 4);
    ck_assert_int_eq(next(&p, 1, 7.9), 0);
    ck_assert_int_eq(next(&p, 1, 8.1), 1);
    p.a.free(p.a.self);
}
END_TEST

/* 12 s ask for the top level, which the throughput does not carry: a rise is cut, a stay is not. */
START_TEST(it_does_not_rise_above_the_throughput)
{
    struct player p = player_at(1500);
    (void)next(&p, 0, 4);
    ck_assert_int_eq(next(&p, 0, 12), 0);
    ck_assert_int_eq(next(&p, 1, 12), 1);
    p.a.free(p.a.self);
}
END_TEST

/* From the third chunk on: 0.7 x 3000 x 2 / 4 = 1050 kbit/s with 2 s in the buffer. */
START_TEST(a_short_buffer_has_the_last_word)
{
    struct player p = player_at(3000);
    ck_assert_int_eq(next(&p, 1, 4), 1);
    ck_assert_int_eq(next(&p, 1, 2), 1);
    ck_assert_int_eq(next(&p, 1, 2), 0);
    p.a.free(p.a.self);
}
END_TEST

SUITE(abr_deciders_bola_e, the_start_follows_the_throughput,
      the_placeholder_stands_for_buffer, it_does_not_rise_above_the_throughput,
      points_by_hand, a_short_buffer_has_the_last_word);
