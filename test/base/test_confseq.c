#include "base/confseq.h"

#include <check.h>
#include <math.h>

#include "base/rng.h"
#include "support/suites.h"

/* By hand: q = 1/2, so Y = +-2 (x - m). The first unit, 1, sets m = 1. Then treatment 3: Y = 4, m = 2;
 * control 5: Y = -6, m = 3. S = -2, squares 52, which is what E gives as well. */
TEST(worked_by_hand)
{
    struct confseq c = confseq_of(.5, 1, 100, .05);
    ck_assert_double_eq_tol(c.rho, 400 / (2 * log(20) + log(1 + 2 * log(20))), 1e-12);
    confseq_add(&c, true, 0, 1);
    confseq_add(&c, true, 0, 3);
    confseq_add(&c, false, 0, 5);
    ck_assert_double_eq(c.sum, -2);
    ck_assert_double_eq(c.squares, 52);
    ck_assert_double_eq_tol(c.design, 52, 1e-12);
    ck_assert_uint_eq(c.group[0] + c.group[1], 2);
    ck_assert_double_eq(confseq_at(&c, .05).mean, -1);
    ck_assert(isinf(confseq_at(&c, .05).hi)); /* too few */
    confseq_add(&c, true, 1, 100); /* the first of its stratum: against the mean of all */
    ck_assert_double_eq(c.sum, -2 + 2 * 97);
}

/* Unequal shares: q = 1/5, x - m = 1, Y = 5 or -1.25, E = 6.25. */
TEST(unequal_shares_use_the_known_variance)
{
    struct confseq c = confseq_of(.2, 1, 100, .05);
    confseq_add(&c, false, 0, 0);
    confseq_add(&c, false, 0, 1);
    ck_assert_double_eq_tol(c.sum, -1.25, 1e-12);
    ck_assert_double_eq_tol(c.squares, 1.5625, 1e-12);
    ck_assert_double_eq_tol(c.design, (1.5625 + 12.5) / 3, 1e-12);
}

TEST(nonsense_is_ignored)
{
    struct confseq c = confseq_of(.5, 1, 100, .05);
    confseq_add(&c, true, 0, (double)NAN);
    confseq_add(&c, true, 0, (double)INFINITY);
    ck_assert_uint_eq(c.stratum[0].n, 0);
    ck_assert(isnan(confseq_at(&c, .05).mean));
    ck_assert(isinf(confseq_units(&c, 1, .05)));
}

/* A log-normal with a tail that has no useful fourth moment. */
static double heavy(uint64_t seed, uint64_t unit)
{
    double u = rng_uniform_at(seed, unit, 1), v = rng_uniform_at(seed, unit, 2);
    double z = sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
    return exp(1.5 * z);
}

/* In how many of n trials of `units` units the interval leaves out the truth at any look. */
static int misses(int n, int units, double q, double effect)
{
    int missed = 0;
    for (int t = 0; t < n; t++) {
        struct confseq c = confseq_of(q, 1, 1000, .05);
        bool out = false;
        for (int i = 0; i < units && !out; i++) {
            bool treatment = rng_uniform_at((uint64_t)t, (uint64_t)i, 0) < q;
            double x = fmin(20, heavy((uint64_t)t, (uint64_t)i));
            confseq_add(&c, treatment, i % 3, treatment ? x + effect : x);
            struct confseq_interval k = confseq_at(&c, .05);
            out = k.lo > effect || k.hi < effect;
        }
        missed += out;
    }
    return missed;
}

/* Fixed seeds. 400 trials at the level 0.05: 20 are expected at most, 32 are three deviations more. */
static const double SHARES[] = {.5, .1, .9};
TEST(without_an_effect_it_errs_rarely_at_any_look)
{
    ck_assert_int_le(misses(400, 1500, SHARES[_i], 0), 32);
}

TEST(with_an_effect_it_covers_at_any_look)
{
    ck_assert_int_le(misses(400, 1500, SHARES[_i], .7), 32);
}

/* An ordinary interval at every look errs far more often, so the tests above can fail. */
TEST(an_ordinary_interval_errs_often)
{
    int missed = 0;
    for (int t = 0; t < 200; t++) {
        struct confseq c = confseq_of(.5, 1, 1000, .05);
        bool out = false;
        for (int i = 0; i < 1500 && !out; i++) {
            double x = fmin(20, heavy((uint64_t)t, (uint64_t)i));
            confseq_add(&c, rng_uniform_at((uint64_t)t, (uint64_t)i, 0) < .5, 0, x);
            bool enough = c.group[0] >= CONFSEQ_LEAST && c.group[1] >= CONFSEQ_LEAST;
            out = enough && fabs(c.sum) > 1.96 * sqrt(c.squares);
        }
        missed += out;
    }
    ck_assert_int_gt(missed, 40);
}

TEST(units_until_a_width)
{
    struct confseq c = confseq_of(.5, 1, 1000, .05);
    for (int i = 0; i < 2000; i++)
        confseq_add(&c, i & 1, 0, i & 2 ? 1 : -1); /* variance of Y: 4 */
    double n = confseq_units(&c, .2, .05);
    ck_assert_double_gt(n, 4 * 3.84 / .04); /* more than a single look needs */
    ck_assert_double_lt(n, 4 * 12 / .04);
    ck_assert_double_gt(confseq_units(&c, .1, .05), 3.5 * n);
    struct confseq_interval k = confseq_at(&c, .05);
    double width = (k.hi - k.lo) / 2;
    ck_assert_double_eq_tol(confseq_units(&c, width, .05), 1999, 5);
}

/* Two groups of equal shares: the closed form for one unit each is
 * B(51, 51) / B(50, 50) * 4 = 50 * 50 / (100 * 101) * 4. */
TEST(evidence_by_hand)
{
    const double half[] = {.5, .5};
    ck_assert_double_eq_tol(confseq_log_evidence((uint64_t[]){0, 0}, half, 2), 0, 1e-9);
    ck_assert_double_eq_tol(confseq_log_evidence((uint64_t[]){1, 1}, half, 2),
                            log(4 * 50. * 50. / (100. * 101.)), 1e-9);
    const double parts[] = {3, 2}; /* the same as .6, .4 */
    ck_assert_double_lt(confseq_log_evidence((uint64_t[]){600, 400}, parts, 2), 0);
    ck_assert_double_gt(confseq_log_evidence((uint64_t[]){500, 500}, parts, 2), log(1e6));
}

TEST(shares_as_planned_are_rarely_doubted)
{
    const double share[] = {.5, .3, .2};
    int doubted = 0, found = 0;
    for (uint64_t t = 0; t < 300; t++) {
        uint64_t n[3] = {0}, bad[3] = {0};
        double most = 0, most_bad = 0;
        for (uint64_t i = 0; i < 2000; i++) {
            double u = rng_uniform_at(t, i, 3);
            n[u < .5 ? 0 : u < .8 ? 1 : 2]++;
            bad[u < .42 ? 0 : u < .76 ? 1 : 2]++;
            most = fmax(most, confseq_log_evidence(n, share, 3));
            most_bad = fmax(most_bad, confseq_log_evidence(bad, share, 3));
        }
        doubted += most > log(1 / .01);
        found += most_bad > log(1 / .01);
    }
    ck_assert_int_le(doubted, 8); /* 3 are expected at most */
    ck_assert_int_gt(found, 290);
}

SUITE_WITHIN(base_confseq, 60, worked_by_hand, unequal_shares_use_the_known_variance,
             nonsense_is_ignored,
             ROWS(without_an_effect_it_errs_rarely_at_any_look, SHARES),
             ROWS(with_an_effect_it_covers_at_any_look, SHARES),
             an_ordinary_interval_errs_often, units_until_a_width, evidence_by_hand,
             shares_as_planned_are_rarely_doubted);
