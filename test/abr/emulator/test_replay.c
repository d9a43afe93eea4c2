#include "abr/emulator/replay.h"

#include "abr/emulator/player.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

/* 8 Mbit/s for ever; 4 chunks of 2 s at 1 and 4 Mbit/s. */
static double times[3] = {0, 100, 200}, mbps[3] = {8, 8, 8};
static const struct trace trace = {.name = "t", .n = 3, .time_s = times, .mbps = mbps};
static int64_t bytes[8] = {250000, 1000000, 250000, 1000000,
                           250000, 1000000, 250000, 1000000};
static const struct video video = {.name = "v",
                                   .levels = 2,
                                   .chunks = 4,
                                   .chunk_s = 2,
                                   .ladder_kbps = {1000, 4000},
                                   .bytes = bytes};

struct seen {
    int n, stop_after;
    struct replay_step step[4];
    double buffer_s[4];
};

static int see(void *ctx, const struct replay_step *s, struct err *e)
{
    struct seen *seen = ctx;
    ck_assert_int_lt(seen->n, 4);
    ck_assert_ptr_null(s->choice);
    seen->step[seen->n] = *s;
    seen->buffer_s[seen->n++] = s->view->buffer_s;
    return seen->n == seen->stop_after ? err_set(e, ERR_IO, "enough") : 0;
}

static struct emu_world world(void)
{
    struct emu_world w = {&video, &trace, emu_cfg_default()};
    w.cfg.payload = 1.0;
    w.cfg.rtt_s = 0.5;
    w.cfg.buffer_max_s = 3.0;
    return w;
}

TEST(steps_tell_what_was_played)
{
    const struct emu_world w = world();
    const int plan[4] = {0, 1, 1, 0};
    struct replay r = {.world = &w,
                       .qoe = &qoe_find("pensieve")->qoe,
                       .first_level = -1,
                       .levels = plan};
    struct seen seen = {0};
    ck_assert_int_eq(replay_run(&r, see, &seen, NULL), 0);
    ck_assert_int_eq(seen.n, 4);

    /* .25 s and 1 s of transfer, .5 s of round trip; the buffer holds 3 s: after the second
     * chunk 2 - 1.5 + 2 = 2.5, after the third 3, after the fourth 3 - .75 + 2 - 1.5 asleep */
    const double download_s[4] = {.75, 1.5, 1.5, .75};
    const double before_s[4] = {0, 2, 2.5, 3}, start_s[4] = {0, .75, 2.25, 3.75};
    for (int i = 0; i < 4; i++) {
        const struct replay_step *s = &seen.step[i];
        ck_assert_int_eq(s->chunk, i);
        ck_assert_int_eq(s->level, plan[i]);
        ck_assert_int_eq(s->prev_level, i ? plan[i - 1] : -1);
        ck_assert_int_eq(s->bytes, bytes[2 * i + plan[i]]);
        ck_assert_double_eq_tol(s->download_s, download_s[i], 1e-9);
        ck_assert_double_eq_tol(s->start_s, start_s[i], 1e-9);
        ck_assert_double_eq_tol(seen.buffer_s[i], before_s[i], 1e-9);
    }
    ck_assert_double_eq_tol(seen.step[1].throughput_kbps, 8000 / 1.5, 1e-6);
    ck_assert_double_eq_tol(seen.step[1].reward, 4 - 3, 1e-9);
    ck_assert_double_eq_tol(seen.step[0].reward, 1 - 4.3 * .75, 1e-9); /* the start */
    ck_assert_double_eq_tol(seen.step[3].buffer_after_s, 2.75, 1e-9);
}

TEST(the_first_chunk_may_be_given_and_a_visit_may_end_it)
{
    const struct emu_world w = world();
    const int plan[4] = {0, 1, 1, 0};
    struct replay r = {
        .world = &w, .qoe = &qoe_find("pensieve")->qoe, .first_level = 1, .levels = plan};
    struct seen seen = {.stop_after = 2};
    struct err e = {0};
    ck_assert_int_eq(replay_run(&r, see, &seen, &e), ERR_IO);
    ck_assert_int_eq(seen.n, 2);
    ck_assert_int_eq(seen.step[0].chunk, 1);
    ck_assert_int_eq(seen.step[0].prev_level, 1);
    ck_assert_double_eq_tol(seen.step[0].start_s, 1.5, 1e-9); /* chunk 0 took so long */
}

TEST(an_algorithm_is_reset_and_asked)
{
    const struct emu_world w = world();
    struct algo a;
    ck_assert_int_eq(algo_new(&a, "fixed-1", NULL, NULL), 0);
    struct replay r = {
        .world = &w, .qoe = &qoe_find("pensieve")->qoe, .first_level = -1, .algo = &a};
    struct seen seen = {0};
    ck_assert_int_eq(replay_run(&r, see, &seen, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(seen.step[i].level, 1);
    algo_free(&a);
}

SUITE(abr_emulator_replay, steps_tell_what_was_played,
      the_first_chunk_may_be_given_and_a_visit_may_end_it,
      an_algorithm_is_reset_and_asked);
