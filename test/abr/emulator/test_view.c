#include "abr/emulator/view.h"

#include "support/suites.h"

#include <math.h>

TEST(knows_nothing_at_first)
{
    struct view v = view_default();
    ck_assert(v.last_level == -1 && v.n_history == 0 && v.chunk == 0 && v.chunks == 0);
    ck_assert(qoe_same(&v.qoe, qoe_standard()));
}

TEST(history_drops_the_oldest)
{
    struct view v = view_default();
    for (int i = 1; i <= VIEW_HISTORY + 3; i++)
        view_push(&v, 1000.0 * i, 2.0);
    ck_assert_int_eq(v.n_history, VIEW_HISTORY);
    ck_assert_double_eq_tol(v.throughput_kbps[0], 4 * 8 / 2.0, 1e-9);
    ck_assert_double_eq_tol(v.throughput_kbps[VIEW_HISTORY - 1], 11 * 8 / 2.0, 1e-9);
    ck_assert_double_eq(v.download_s[0], 2.0);
}

TEST(a_summary_keeps_what_the_history_drops)
{
    struct view v = view_default();
    view_push_kbps(&v, 100, 8);
    for (int i = 0; i < VIEW_PAST - 1; i++)
        view_push_kbps(&v, 1000, 2);
    ck_assert_int_eq(v.past.n, VIEW_PAST);
    double others = (double)(VIEW_PAST - 1) / VIEW_PAST;
    ck_assert_double_eq_tol(v.past.kbit, 800. / VIEW_PAST + 2000 * others, 1e-9);
    ck_assert_double_eq_tol(v.past.download_s, 8. / VIEW_PAST + 2 * others, 1e-12);
    /* each of the others raises it by its share of what is left */
    ck_assert_double_eq_tol(v.past.low, log(1000) + log(.1) * pow(others, VIEW_PAST - 1),
                            1e-9);
    /* one step of ln 10 up, and one value in VIEW_PAST that much lower */
    ck_assert_double_eq_tol(v.past.ln_mean, log(1000) - log(10) / VIEW_PAST, 1e-9);
    ck_assert_double_eq_tol(v.past.ln_variance, pow(log(10), 2) * others / VIEW_PAST,
                            1e-9);
    ck_assert_double_eq_tol(v.past.ln_change, log(10) / (VIEW_PAST - 1), 1e-12);
    struct view_past before = v.past;
    view_push_kbps(&v, 1000, 10);
    ck_assert_int_eq(v.past.n, VIEW_PAST);
    ck_assert_double_eq_tol(v.past.download_s,
                            before.download_s * others + 10. / VIEW_PAST, 1e-12);
    view_push_kbps(&v, 0, 1); /* finite, and the lowest */
    ck_assert_double_eq_tol(v.past.low, log(1e-3), 1e-12);
}

TEST(unknown_sizes_come_from_the_ladder)
{
    struct view v = view_default();
    v.levels = 2;
    v.chunk_s = 4.0;
    v.ladder_kbps[0] = 800;
    v.ladder_kbps[1] = 1600;
    v.next_bytes[1] = 777.0;
    ck_assert_double_eq_tol(view_bytes(&v, 0), 400000.0, 1e-9);
    ck_assert_double_eq(view_bytes(&v, 1), 777.0);
}

/* The chunk before was better than this chunk's copy of its level: a change of scene. */
TEST(rewards_after_the_chunk_as_it_was_fetched)
{
    struct view v = view_default();
    v.levels = 3;
    v.chunk_s = 2;
    v.last_level = 1;
    v.last_points = 90;
    for (int k = 0; k < 3; k++) {
        v.ladder_kbps[k] = 1000 * (k + 1);
        v.points[k] = 50 + 20 * k;
    }
    v.qoe = (struct qoe){.mu_quality = 2,
                         .mu_switch = 3,
                         .mu_stall = 10,
                         .mu_rise = .5,
                         .mu_start = 4,
                         .utility = QOE_POINTS};
    static const double none[] = {50, 70, 90}, last[] = {50 - 120, 70 - 60, 90},
                        level[] = {50 - 60, 70, 90 - 10};
    double reward[VIEW_LEVELS];
    view_rewards(reward, &v, VIEW_NONE);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(reward[k], none[k], 1e-12);
    view_rewards(reward, &v, VIEW_LAST);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(reward[k], last[k], 1e-12);
    view_rewards(reward, &v, 1); /* after this chunk's level 1: 70 points */
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(reward[k], level[k], 1e-12);

    struct qoe_level before = view_last(&v);
    ck_assert(before.kbps == 2000 && before.points == 90);
    v.last_level = -1; /* the first chunk: last_points say nothing */
    before = view_last(&v);
    ck_assert(before.kbps == 0);
    view_rewards(reward, &v, VIEW_LAST);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(reward[k], none[k], 1e-12);

    struct qoe_ladder ladder = view_ladder(&v);
    ck_assert(ladder.kbps == v.ladder_kbps && ladder.points == v.points);
    ck_assert(ladder.levels == 3 && ladder.chunk_s == 2);
}

SUITE(abr_emulator_view, rewards_after_the_chunk_as_it_was_fetched,
      knows_nothing_at_first, history_drops_the_oldest,
      a_summary_keeps_what_the_history_drops, unknown_sizes_come_from_the_ladder);
