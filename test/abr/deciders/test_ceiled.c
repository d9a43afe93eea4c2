#include "abr/deciders/ceiled.h"

#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast.h"
#include "support/made.h"
#include "support/suites.h"

static struct algo a;

static void open_fixed(void)
{
    struct err e = {0};
    ck_assert_msg(ceiled_new(&a, "fixed-5", NULL, &e) == 0, "%s", e.detail);
    a.reset(a.self, 1);
}

static void close_it(void)
{
    algo_free(&a);
}

/* A calm link of 2000 kbit/s. */
static struct view measured(double buffer_s)
{
    struct view v = made_view(6);
    v.qoe = qoe_find("standard")->qoe;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, 250e3, 1);
    v.last_level = 0;
    v.buffer_s = buffer_s;
    return v;
}

TEST(what_outlasts_the_buffer_is_lowered)
{
    struct view v = measured(0);
    struct forecast f = forecast_of(&v);
    for (int k = 1; k < 6; k++) {
        double late_s =
            forecast_bytes(&f, view_bytes(&v, k)) * 8e-3 / f.next_kbps[FORECAST_LOW];
        v = measured(late_s + .001);
        ck_assert_int_eq(a.decide(a.self, &v, NULL), k);
        v = measured(late_s - .001);
        ck_assert_int_eq(a.decide(a.self, &v, NULL), k - 1);
        v.qoe = qoe_find("paper-news")->qoe; /* no ceiling */
        ck_assert_int_eq(a.decide(a.self, &v, NULL), 5);
    }
}

TEST(so_is_a_first_chunk_that_comes_late)
{
    struct view v = made_view(6);
    v.qoe = qoe_find("standard")->qoe;
    v.start_kbps = 1000; /* 3 s carry 3000 kbit: 2.5 chunks of 300, one of 750 */
    ck_assert_int_eq(first_level_most(&v), 1);
    ck_assert_int_eq(a.decide(a.self, &v, NULL), 1);
    v.qoe.startup_max_s = 0;
    ck_assert_int_eq(a.decide(a.self, &v, NULL), 5);
}

TEST(an_unknown_policy_is_refused)
{
    struct algo other;
    struct err e = {0};
    ck_assert_int_lt(ceiled_new(&other, "nobody", NULL, &e), 0);
    ck_assert_int_ne(e.code, 0);
}

SUITE_SET_UP(abr_deciders_ceiled, 30, open_fixed, close_it,
             what_outlasts_the_buffer_is_lowered, so_is_a_first_chunk_that_comes_late,
             an_unknown_policy_is_refused);
