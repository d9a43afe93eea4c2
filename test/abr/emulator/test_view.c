#include "abr/emulator/view.h"

#include "support/suites.h"

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

SUITE(abr_emulator_view, knows_nothing_at_first, history_drops_the_oldest,
      unknown_sizes_come_from_the_ladder);
