#include "serve/session/traj.h"
#include "support/suites.h"
#include "support/trajs.h"

#include <check.h>
#include <math.h>

TEST(measurements_keep_the_newest)
{
    struct traj_measured m = {0};
    for (int i = 1; i <= VIEW_HISTORY + 3; i++)
        traj_measure(&m, i, i * .5);
    ck_assert_int_eq(m.n, VIEW_HISTORY);
    ck_assert_double_eq(m.bytes[0], 4);
    ck_assert_double_eq(m.bytes[VIEW_HISTORY - 1], VIEW_HISTORY + 3);
    ck_assert_double_eq(m.download_s[0], 2);
    traj_measure(&m, 0, 1); /* an empty chunk is ignored */
    ck_assert_double_eq(m.bytes[VIEW_HISTORY - 1], VIEW_HISTORY + 3);
}

/* A decision of a long session sees what the emulator shows: the newest downloads, and a summary of all. */
TEST(a_view_of_measurements_is_that_of_every_download)
{
    for (int n = 1; n < VIEW_PAST + 40; n += 3) {
        struct traj_measured m = {0};
        struct view pushed = view_default(), v = view_default();
        for (int i = 0; i < n; i++) {
            uint32_t bytes = 1000 + 7919u * (unsigned)i % 100000;
            traj_measure(&m, bytes, .1 + i % 7);
            view_push(&pushed, bytes, .1 + i % 7);
        }
        view_push(&v, 1, 1); /* what it had is gone */
        traj_measured_view(&v, &m);
        ck_assert_int_eq(v.n_history, pushed.n_history);
        size_t size = (size_t)v.n_history * sizeof(double);
        ck_assert_mem_eq(v.throughput_kbps, pushed.throughput_kbps, size);
        ck_assert_mem_eq(v.download_s, pushed.download_s, size);
        ck_assert_int_eq(v.past.n, n < VIEW_PAST ? n : VIEW_PAST);
        ck_assert(pasts_equal(&v.past, &pushed.past));
    }
}

TEST(rewards_are_scaled_and_bounded)
{
    static struct traj t = {.n = 3};
    t.view = view_default();
    t.view.levels = 2;
    t.view.ladder_kbps[0] = 300;
    t.view.ladder_kbps[1] = 4300;
    t.view.chunk_s = 4;
    t.step[0].reward = 6.3;
    t.step[1].reward = -1e7;
    t.step[2].reward = 1e7;
    ck_assert_double_eq_tol((double)traj_reward(&t, 0, FEAT_FULL),
                            6.3 / feat_reward_scale(&t.view), 1e-6);
    ck_assert_double_eq((double)traj_reward(&t, 1, FEAT_FULL), -TRAJ_REWARD);
    ck_assert_double_eq((double)traj_reward(&t, 2, FEAT_FULL), TRAJ_REWARD);
}

TEST(a_truncated_one_has_one_more_state)
{
    static struct traj t = {.n = 2, .truncated = true};
    t.view = view_default();
    t.view.qoe = qoe_find("paper-documentary")->qoe;
    t.view.levels = 2;
    t.view.ladder_kbps[0] = 300;
    t.view.ladder_kbps[1] = 4300;
    t.view.chunk_s = 4;
    t.view.buffer_max_s = 20;
    for (int i = 0; i < 3; i++)
        t.step[i] = (struct traj_step){.chunk = i, .bytes = 1e6, .download_s = 1 + i};
    float obs[3][FEAT_FULL_DIM], cut[2][FEAT_FULL_DIM];
    uint32_t mask[3] = {0};
    int action[3];
    ck_assert(traj_observe(obs[0], mask, action, &t, FEAT_FULL));
    ck_assert_uint_eq(mask[2], 3);
    t.truncated = false;
    mask[2] = 99;
    ck_assert(traj_observe(cut[0], mask, action, &t, FEAT_FULL));
    ck_assert_uint_eq(mask[2], 99);
    ck_assert_mem_eq(cut, obs, sizeof cut);
    ck_assert_mem_ne(obs[1], obs[2], sizeof obs[1]); /* what step 1 measured shows */
}

SUITE(serve_session_traj, measurements_keep_the_newest,
      a_view_of_measurements_is_that_of_every_download, rewards_are_scaled_and_bounded,
      a_truncated_one_has_one_more_state);
