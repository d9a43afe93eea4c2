#include "abr/deciders/simple.h"

#include "support/made.h"
#include "support/suites.h"

#include <math.h>

TEST(harmonic_mean_by_hand)
{
    struct view v = made_view(5);
    ck_assert(simple_harmonic_kbps(&v, 0, 5) == 0);
    view_push(&v, 125e3, 1);                              /* 1000 kbit/s */
    view_push(&v, 250e3, 1);                              /* 2000 */
    view_push(&v, 500e3, 1);                              /* 4000 */
    double all = 3 / (1 / 1000. + 1 / 2000. + 1 / 4000.); /* 1714.3 */
    ck_assert_double_eq_tol(simple_harmonic_kbps(&v, 3, 5), all, 1e-9);
    ck_assert_double_eq_tol(simple_harmonic_kbps(&v, 3, 1), 4000, 1e-9);
    ck_assert_double_eq_tol(simple_harmonic_kbps(&v, 2, 2), 2 / (1.5e-3), 1e-9);
}

TEST(a_dead_link_is_finite)
{
    struct view v = made_view(5);
    v.n_history = 2;
    v.throughput_kbps[0] = 0;
    v.throughput_kbps[1] = 1000;
    double kbps = simple_harmonic_kbps(&v, 2, 5);
    ck_assert(kbps > 0 && kbps < 1);
    ck_assert_int_eq(simple_rate_level(&v), 0);
}

TEST(rate_takes_what_fits_the_newest_five)
{
    struct view v = made_view(5);
    ck_assert_int_eq(simple_rate_level(&v), 0); /* nothing known */
    view_push(&v, 1, 1);                        /* forgotten after five more */
    for (int i = 0; i < 5; i++)
        view_push(&v, 1200e3 / 8, 1);
    ck_assert_int_eq(simple_rate_level(&v), 2); /* exactly as fast still fits */
    for (int i = 0; i < 5; i++)
        view_push(&v, 1199e3 / 8, 1);
    ck_assert_int_eq(simple_rate_level(&v), 1);
    for (int i = 0; i < 5; i++)
        view_push(&v, 1e9, 1);
    ck_assert_int_eq(simple_rate_level(&v), 4);
}

/* Points of a chunk may fall from one level to the next; the utility does not. */
TEST(points_never_fall)
{
    struct view v = made_view(4);
    const double points[] = {40, 65, 60, 90}, wanted[] = {0, 1, 1, 2};
    double u[VIEW_LEVELS];
    ck_assert(!simple_points(u, &v)); /* no level looks better */
    for (int k = 0; k < 4; k++)
        v.points[k] = points[k];
    ck_assert(simple_points(u, &v));
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol(u[k], wanted[k], 1e-12);
    v.qoe = qoe_papers[0].qoe;
    ck_assert(!simple_points(u, &v));
}

TEST(buffer_maps_reservoir_and_cushion)
{
    struct view v = made_view(5);
    const struct {
        double buffer_s;
        int level;
    } cases[] = {{0, 0},    {4.99, 0}, {5, 0},     {7.49, 0}, {7.5, 1},
                 {12.4, 2}, {12.5, 3}, {14.99, 3}, {15, 4},   {60, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        v.buffer_s = cases[i].buffer_s;
        ck_assert_int_eq(simple_buffer_level(&v), cases[i].level);
    }
}

TEST(buffer_scales_to_short_players)
{
    struct view v = made_view(5);
    v.buffer_max_s = 6; /* reservoir 2, cushion 4 */
    v.buffer_s = 1.9;
    ck_assert_int_eq(simple_buffer_level(&v), 0);
    v.buffer_s = 3;
    ck_assert_int_eq(simple_buffer_level(&v), 1);
    v.buffer_s = 6;
    ck_assert_int_eq(simple_buffer_level(&v), 4);
}

SUITE(abr_deciders_simple, points_never_fall, harmonic_mean_by_hand,
      a_dead_link_is_finite, rate_takes_what_fits_the_newest_five,
      buffer_maps_reservoir_and_cushion, buffer_scales_to_short_players);
