#include "abr/deciders/bba2.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

static struct algo bba2(const char *arg)
{
    struct algo a = {0};
    struct err e = {0};
    ck_assert_int_eq(bba2_new(&a, arg, NULL, &e), 0);
    a.reset(a.self, 1);
    return a;
}

static int at(struct algo *a, struct view *v, int last, double buffer_s)
{
    v->last_level = last;
    v->buffer_s = buffer_s;
    return a->decide(a->self, v, NULL);
}

/* Reservoir 6 s, cushion 30 s. Sizes in units of kbit/s: 300 .. 2850, so f(B) = 300 + 2550 (B - 6) / 30.
 * f(21) = 1575: above S+ of level 1 (1200), the highest level below it is 2. f(12) = 810. */
START_TEST(the_map_by_hand)
{
    struct algo a = bba2("reservoir=0.1+cushion=0.5");
    struct view v = made_view(5);
    (void)at(&a, &v, -1, 0);
    ck_assert_int_eq(at(&a, &v, 0, 21), 2); /* the map asks for more: start-up is over */
    static const struct {
        int last;
        double buffer_s;
        int level;
    } rows[] = {
        {1, 21, 2}, {0, 5, 0},  {4, 5, 0},
        {4, 36, 4}, {0, 40, 4}, {1, 12, 1}, /* f = 810: neither S+ nor S- */
        {4, 12, 2}, /* f = 810 <= S- 1850: lowest above it, 1200 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(at(&a, &v, rows[i].last, rows[i].buffer_s), rows[i].level);
    a.free(a.self);
}
END_TEST

/* An empty cushion asks for 0.875 x 4 = 3.5 s of growth per chunk. */
START_TEST(the_start_climbs_while_the_buffer_grows_fast)
{
    struct algo a = bba2("reservoir=0.5+cushion=0.5");
    struct view v = made_view(5);
    ck_assert_int_eq(at(&a, &v, -1, 0), 0);
    ck_assert_int_eq(at(&a, &v, 0, 3.6), 1);
    ck_assert_int_eq(at(&a, &v, 1, 7.0), 1); /* 3.4 s: not fast enough */
    ck_assert_int_eq(at(&a, &v, 1, 10.6), 2);
    ck_assert_int_eq(at(&a, &v, 2, 10.6),
                     0); /* no growth: the map decides from here on */
    ck_assert_int_eq(at(&a, &v, 0, 14.5), 0);
    a.reset(a.self, 2);
    ck_assert_int_eq(at(&a, &v, -1, 0), 0);
    ck_assert_int_eq(at(&a, &v, 0, 3.6), 1);
    a.free(a.self);
}
END_TEST

SUITE(abr_deciders_bba2, the_map_by_hand, the_start_climbs_while_the_buffer_grows_fast);
