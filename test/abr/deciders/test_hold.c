#include "abr/deciders/hold.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

/* A calm link of 2 Mbit/s; levels of 1 and 2 Mbit/s, chunks of 4 s. */
static struct view calm(double buffer_s)
{
    struct view v = made_view(2);
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.chunk_s = 4;
    v.chunk = 1;
    v.chunks = 0;
    v.buffer_s = buffer_s;
    v.buffer_max_s = 60;
    v.last_level = 0;
    v.qoe = qoe_of_mu(1, 0, 4, QOE_LINEAR);
    for (int i = 0; i < 8; i++)
        view_push(&v, 1e6, 4);
    return v;
}

static const struct plan_cfg PLAIN = {.factor = 1, .tail = 10, .caution = 1, .next = 1};

START_TEST(nothing_measured_is_the_lowest_level)
{
    struct view v = calm(20);
    v.n_history = 0;
    ck_assert_int_eq(hold_level(&PLAIN, &v), 0);
}
END_TEST

/* With 30 s in the buffer ten chunks at 2 Mbit/s bear the worst quantile, e^-0.424: 6.1 s each, 21 s
 * too much. With 5 s the next chunk alone may stall. */
START_TEST(a_full_buffer_bears_the_upper_level)
{
    struct view v = calm(30);
    ck_assert_int_eq(hold_level(&PLAIN, &v), 1);
    v = calm(3);
    ck_assert_int_eq(hold_level(&PLAIN, &v), 0);
}
END_TEST

/* A switch is paid once and earns 1 Mbit/s for T + 1 chunks, 11. */
START_TEST(a_switch_must_be_earned_back)
{
    struct view v = calm(50);
    v.qoe.mu_stall = .001; /* the worst quantiles stall even so */
    v.qoe.mu_switch = 10.9;
    ck_assert_int_eq(hold_level(&PLAIN, &v), 1);
    v.qoe.mu_switch = 11.1;
    ck_assert_int_eq(hold_level(&PLAIN, &v), 0);
    v.chunks = v.chunk + 5; /* four chunks behind this one */
    v.qoe.mu_switch = 4.9;
    ck_assert_int_eq(hold_level(&PLAIN, &v), 1);
    v.qoe.mu_switch = 5.1;
    ck_assert_int_eq(hold_level(&PLAIN, &v), 0);
}
END_TEST

START_TEST(caution_and_factor_lower_the_level)
{
    struct view v = calm(12);
    v.qoe.mu_stall = 0.3;
    v.qoe.mu_switch = 0.6; /* one chunk at the upper level is not worth the way back */
    static const struct {
        struct plan_cfg cfg;
        int level;
    } rows[] = {
        {{.factor = 1, .tail = 10, .caution = 1, .next = 1}, 1},
        /* ten chunks stall 3 s in the middle of the quantiles */
        {{.factor = 0.8, .tail = 10, .caution = 1, .next = 1}, 1},
        /* no quantile bears the upper level */
        {{.factor = 0.8, .tail = 10, .caution = 100, .next = 1}, 0},
        {{.factor = 0.3, .tail = 10, .caution = 1, .next = 1}, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(hold_level(&rows[i].cfg, &v), rows[i].level);
}
END_TEST

SUITE(abr_deciders_hold, nothing_measured_is_the_lowest_level,
      a_full_buffer_bears_the_upper_level, a_switch_must_be_earned_back,
      caution_and_factor_lower_the_level);
