#include "abr/deciders/forecast_own.h"

#include "policy/policy.h"
#include "support/made.h"
#include "support/suites.h"

#include <math.h>

static struct view watched(void)
{
    struct view v = made_view(6);
    static const double kbps[] = {900, 1500, 700, 2400, 1100};
    for (int i = 0; i < 5; i++)
        view_push(&v, kbps[i] * 125 * 2, 2);
    return v;
}

TEST(weights_of_zero_correct_nothing)
{
    static const float weights[FORECAST_OWN];
    struct view v = watched();
    struct forecast a = forecast_of(&v);
    v.own_forecast = weights;
    struct forecast b = forecast_of(&v);
    ck_assert_mem_eq(&a, &b, sizeof a);
}

TEST(a_bias_moves_a_quantile_within_bounds)
{
    static const double moves[][2] = {{.5, .5}, {9, FORECAST_OWN_MOST}};
    int last = FORECAST_QUANTILES - 1;
    for (int i = 0; i < 2; i++) {
        float weights[FORECAST_OWN] = {0};
        weights[FORECAST_OWN_B3 + last] = (float)moves[i][0]; /* of the next chunk */
        struct view v = watched();
        struct forecast a = forecast_of(&v);
        v.own_forecast = weights;
        struct forecast b = forecast_of(&v);
        double moved = log(b.next_kbps[last] / a.next_kbps[last]);
        ck_assert_double_eq_tol(moved, moves[i][1], 1e-6);
        ck_assert_double_eq(b.next_kbps[0], a.next_kbps[0]);
        ck_assert_double_eq(b.later_kbps[last], a.later_kbps[last]);
        weights[FORECAST_OWN_B3 + last] *= -1;
        b = forecast_of(&v); /* never below the quantile before it */
        ck_assert_double_eq(b.next_kbps[last], b.next_kbps[last - 1]);
    }
}

/* ln(m / 1 Mbit/s) is the last input. Two hidden units of a link at a tenth of the rate, by hand: 2 ln 10 and
 * three times that; the unit with the opposite sign rests. */
TEST(the_rate_of_the_link_is_an_input)
{
    double entries[FORECAST_ENTRIES] = {0};
    float x[FORECAST_OWN_INPUTS], weights[FORECAST_OWN] = {0}, r[FORECAST_OUTPUTS];
    float hidden[2][FORECAST_OWN_UNITS];
    forecast_own_inputs(x, entries, 100);
    ck_assert_double_eq_tol((double)x[FORECAST_ENTRIES], log(.1), 1e-6);
    weights[FORECAST_ENTRIES * FORECAST_OWN_UNITS] = -2;
    weights[FORECAST_ENTRIES * FORECAST_OWN_UNITS + 1] = 2;
    weights[FORECAST_OWN_W2] = 3;
    weights[FORECAST_OWN_W3 + 4] = .5f;
    weights[FORECAST_OWN_B3 + 4] = 1;
    forecast_own_network(r, hidden, weights, x);
    ck_assert_double_eq_tol((double)hidden[0][0], 2 * log(10), 1e-5);
    ck_assert(hidden[0][1] == 0);
    ck_assert_double_eq_tol((double)r[4], 1 + .5 * 3 * 2 * log(10), 1e-4);
    ck_assert(r[5] == 0);
}

/* Of another forecast, of a file that names none, and of another size. */
TEST(a_correction_of_another_forecast_is_dropped)
{
    static const float weights[FORECAST_OWN] = {1};
    const struct {
        uint32_t of;
        int n;
        bool drops;
    } rows[] = {{forecast_crc32(), FORECAST_OWN, false},
                {forecast_crc32() + 1, FORECAST_OWN, true},
                {0, FORECAST_OWN, true},
                {forecast_crc32(), FORECAST_OWN - 1, true},
                {0, 0, false}};
    struct policy_cfg cfg = policy_cfg_default(4);
    struct policy *p = policy_new(&cfg, NULL);
    ck_assert_uint_ne(forecast_crc32(), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        policy_copy_input(p, weights, rows[i].n);
        p->input_of = rows[i].of;
        ck_assert(forecast_own_drop_foreign(p) == rows[i].drops);
        ck_assert_int_eq(p->input_n, rows[i].drops ? 0 : rows[i].n);
        /* the next one, and that of a copy, are of this forecast */
        policy_copy_input(p, weights, FORECAST_OWN);
        struct policy *copy = policy_clone(p, NULL);
        ck_assert(!forecast_own_drop_foreign(copy));
        policy_free(copy);
    }
    policy_free(p);
}

SUITE(abr_deciders_forecast_own, a_correction_of_another_forecast_is_dropped,
      weights_of_zero_correct_nothing, a_bias_moves_a_quantile_within_bounds,
      the_rate_of_the_link_is_an_input);
