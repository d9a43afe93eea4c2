#include "abr/deciders/fugu.h"

#include "abr/deciders/forecast.h"
#include "support/made.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>

static int fugu_level(const struct view *v, const char *arg)
{
    struct algo a = {0};
    struct err e = {0};
    ck_assert_int_eq(fugu_new(&a, arg, NULL, &e), 0);
    int level = a.decide(a.self, v, NULL);
    a.free(a.self);
    return level;
}

/* A calm link of 2 Mbit/s, levels of 1 and 2 Mbit/s, chunks of 4 s. */
static struct view calm(double buffer_s)
{
    struct view v = made_view(2);
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.chunk_s = 4;
    v.chunk = 1;
    v.chunks = 0;
    v.buffer_s = buffer_s;
    v.last_level = 0;
    v.qoe = qoe_of_mu(1, 0, 4, QOE_LINEAR);
    for (int i = 0; i < 8; i++)
        view_push(&v, 1e6, 4);
    return v;
}

START_TEST(the_buffer_decides)
{
    struct view v = calm(30);
    ck_assert_int_eq(fugu_level(&v, NULL), 1);
    v = calm(2);
    ck_assert_int_eq(fugu_level(&v, NULL), 0);
}
END_TEST

/* The last chunk earns 1 Mbit/s more, less the switch and 4 a second of the stall that is expected. */
START_TEST(the_last_chunk_by_hand)
{
    struct view v = calm(4);
    v.chunks = v.chunk + 1;
    struct forecast f = forecast_of(&v);
    double stall_s = 0;
    for (int i = 0; i < FORECAST_QUANTILES; i++)
        stall_s += forecast_share[i] * fmax(8000 / f.next_kbps[i] - 4, 0);
    double most = 1 - 4 * stall_s;
    ck_assert(most > .1);
    v.qoe.mu_switch = most - .01;
    ck_assert_int_eq(fugu_level(&v, "factor=1"), 1);
    v.qoe.mu_switch = most + .01;
    ck_assert_int_eq(fugu_level(&v, "factor=1"), 0);
}
END_TEST

START_TEST(nothing_measured_is_the_lowest_level)
{
    struct view v = calm(30);
    v.n_history = 0;
    ck_assert_int_eq(fugu_level(&v, NULL), 0);
}
END_TEST

SUITE(abr_deciders_fugu, the_buffer_decides, the_last_chunk_by_hand,
      nothing_measured_is_the_lowest_level);
