#include "abr/deciders/first_level.h"

#include "support/suites.h"

static struct view fresh(struct qoe qoe, int chunks)
{
    static const double ladder[] = {300, 750, 1200, 1850, 2850, 4300};
    struct view v = view_default();
    v.qoe = qoe;
    v.levels = 6;
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] = ladder[k];
    v.chunk_s = 4;
    v.chunks = chunks;
    return v;
}

static int first(const char *profile, int chunks)
{
    struct view v = fresh(qoe_find(profile)->qoe, chunks);
    return first_level(&v);
}

TEST(the_dearer_the_switches_the_nearer_to_the_middle)
{
    for (int chunks = 0; chunks <= 480; chunks += 15) { /* 0: live */
        int k = first("paper-documentary", chunks);
        ck_assert(k == 2 || (chunks > 100 && k == 1)); /* the way is soon paid for */
        ck_assert_int_eq(first("paper-live", chunks), 0);
        ck_assert_int_eq(first("pensieve", chunks), 0);
        ck_assert_int_eq(first("paper-news", chunks), 5);
    }
    int before = 0;
    for (double w = 1; w <= 24; w *= 1.5) {
        struct view v = fresh(qoe_of_mu(1, w, 1, QOE_LINEAR), 15);
        int k = first_level(&v);
        ck_assert_int_ge(k, before);
        before = k;
    }
    ck_assert_int_eq(before, 2); /* the best to stay at throughout */
}

TEST(a_wait_counts_by_what_the_chunk_weighs)
{
    struct view v = fresh(qoe_find("paper-documentary")->qoe, 15);
    v.next_bytes[2] = 5e6;
    ck_assert_int_eq(first_level(&v), 1);
    v.next_bytes[3] = 1; /* lighter than those below */
    ck_assert_int_eq(first_level(&v), 3);
}

TEST(no_way_is_paid_for_behind_the_last_chunk)
{
    struct view v = fresh(qoe_of_mu(1, 24, 1, QOE_LINEAR), 1);
    ck_assert_int_eq(first_level(&v), 0); /* more than 1 s a Mbit/s to wait for */
    v.qoe.mu_stall = 0;
    ck_assert_int_eq(first_level(&v), 5);
}

TEST(any_ladder_and_utility)
{
    for (int u = QOE_LINEAR; u <= QOE_PAMOE; u++) {
        for (int levels = 2; levels <= VIEW_LEVELS; levels++) {
            struct view v = fresh(qoe_of_mu(1, 6, 1, (enum qoe_utility)u), 15);
            v.levels = levels;
            for (int k = 0; k < levels; k++)
                v.ladder_kbps[k] = 20000 + k;
            int k = first_level(&v);
            ck_assert(k >= 0 && k < levels);
        }
    }
}

TEST(only_before_anything_is_known)
{
    struct view v = fresh(qoe_find("paper-documentary")->qoe, 15);
    ck_assert(first_level_is(&v));
    ck_assert_uint_eq(first_level_offer(&v), 4);
    v.last_level = 1; /* fetched, though nobody told how */
    ck_assert(!first_level_is(&v));
    ck_assert_uint_eq(first_level_offer(&v), 0x3f);
    v.last_level = -1;
    view_push(&v, 1e5, 1);
    ck_assert(!first_level_is(&v));
    ck_assert_uint_eq(first_level_offer(&v), 0x3f);
}

/* 4 s of the levels are 1200, 3000, 4800, 7400, 11400 and 17200 kbit. */
TEST(a_start_in_time)
{
    struct view v = fresh(qoe_find("standard")->qoe, 48);
    /* nothing is known: an eighth of 4300 carries 1612 kbit in 3 s */
    ck_assert_int_eq(first_level_most(&v), 0);
    static const struct {
        double kbps;
        int most;
    } row[] = {{1, 0},    {999, 0},  {1001, 1}, {1601, 2},
               {2467, 3}, {3801, 4}, {5734, 5}, {1e6, 5}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        v.start_kbps = row[i].kbps;
        ck_assert_int_eq(first_level_most(&v), row[i].most);
        ck_assert_int_le(first_level(&v), row[i].most);
    }
    v.start_kbps = 1001;
    v.next_bytes[1] = 3004e3 / 8; /* what the chunk really weighs */
    ck_assert_int_eq(first_level_most(&v), 0);
    v.start_kbps = 1;
    v.qoe.startup_max_s = 0; /* no ceiling */
    ck_assert_int_eq(first_level_most(&v), 5);
    for (int i = 0; i < QOE_PAPERS; i++) {
        v.qoe = qoe_papers[i].qoe;
        ck_assert_int_eq(first_level_most(&v), 5);
    }
}

/* 0.09 of 40 Mbit/s are 3.6, of which 1 Mbit/s leaves sqrt(3.6) = 1.897: 5692 kbit in 3 s. */
TEST(a_tall_ladder_has_slow_viewers_too)
{
    struct view v = fresh(qoe_find("standard")->qoe, 48);
    static const double ladder[] = {400, 1400, 1500, 6000, 15000, 40000};
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] = ladder[k];
    ck_assert_int_eq(first_level_most(&v), 1); /* 5600, and 6000 are more */
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] *= .2;
    /* 8 Mbit/s: 0.72, as it is, 2160 kbit in 3 s */
    ck_assert_int_eq(first_level_most(&v), 2); /* 320 .. 1200, 4800 */
}

/* In points a wait for the first picture costs mu_start. */
TEST(the_start_has_a_weight_of_its_own)
{
    struct qoe k = qoe_find("standard")->qoe;
    k.startup_max_s = 0;
    struct view v = fresh(k, 1);
    int before = 6;
    for (double w = 0; w < 1000; w = 2 * w + 1) {
        v.qoe.mu_start = w;
        v.qoe.mu_stall = 1000 - w; /* does not matter for the only chunk */
        for (int i = 0; i < 6; i++)
            v.points[i] = 50 + 10 * i;
        int is = first_level(&v);
        ck_assert_int_le(is, before);
        if (w == 0) ck_assert_int_eq(is, 5);
        before = is;
    }
    ck_assert_int_eq(before, 0);
}

SUITE(abr_deciders_first_level, a_start_in_time, a_tall_ladder_has_slow_viewers_too,
      the_start_has_a_weight_of_its_own, the_dearer_the_switches_the_nearer_to_the_middle,
      a_wait_counts_by_what_the_chunk_weighs, no_way_is_paid_for_behind_the_last_chunk,
      any_ladder_and_utility, only_before_anything_is_known);
