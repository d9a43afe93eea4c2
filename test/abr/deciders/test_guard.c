#include "abr/deciders/guard.h"

#include "abr/deciders/forecast.h"
#include "support/suites.h"

#include <math.h>

/* A calm link of 2 Mbit/s, chunks of 2 s of 0.5, 1, 2 and 4 Mbit/s. */
static struct view ceiled(double buffer_s)
{
    struct view v = view_default();
    v.qoe = qoe_find("standard")->qoe;
    v.levels = 4;
    for (int k = 0; k < 4; k++)
        v.ladder_kbps[k] = 500 << k;
    v.chunk_s = 2;
    v.buffer_s = buffer_s;
    v.buffer_max_s = 20;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, 250e3, 1);
    return v;
}

/* Seconds that level k takes when the link carries the low quantile. */
static double low_s(int k)
{
    struct view v = ceiled(1);
    struct forecast f = forecast_of(&v);
    return forecast_bytes(&f, view_bytes(&v, k)) * 8e-3 / f.next_kbps[FORECAST_LOW];
}

TEST(under_a_ceiling_no_chunk_outlasts_the_buffer)
{
    for (int k = 1; k < 4; k++) {
        struct view v = ceiled(low_s(k) + .001);
        ck_assert_uint_eq(guard_levels(&v), (2u << k) - 1);
        v.buffer_s -= .002;
        ck_assert_uint_eq(guard_levels(&v), (1u << k) - 1);
        v.buffer_max_s = 3600; /* however much the player can hold */
        ck_assert_uint_eq(guard_levels(&v), (1u << k) - 1);
        v.qoe.stall_ratio_max = 0; /* without one nothing is withheld */
        ck_assert_uint_eq(guard_levels(&v), 0xf);
    }
    struct view v = ceiled(0); /* level 0 always */
    ck_assert_uint_eq(guard_levels(&v), 1);
    v = ceiled(low_s(1));
    v.next_bytes[2] = 249e3; /* sizes that are known count: level 1 has 250 kB */
    v.next_bytes[1] = 251e3;
    ck_assert_uint_eq(guard_levels(&v), 5);
    v = ceiled(0);
    v.n_history = 0; /* nothing to go by */
    ck_assert_uint_eq(guard_levels(&v), 0xf);
}

TEST(the_margin_moves_what_is_trusted)
{
    struct view v = ceiled(low_s(2) + .001);
    v.margin = log(low_s(2) / low_s(1)); /* about half of it */
    ck_assert_uint_eq(guard_levels(&v), 3);
    v.margin = -log(low_s(3) / low_s(2)); /* about twice */
    ck_assert_uint_eq(guard_levels(&v), 0xf);
}

SUITE(abr_deciders_guard, under_a_ceiling_no_chunk_outlasts_the_buffer,
      the_margin_moves_what_is_trusted);
