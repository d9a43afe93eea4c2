#include "abr/emulator/player.h"

#include "support/csv.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct emu_world world;

static void set_up(void)
{
    struct err e = {0};
    world = (struct emu_world){.cfg = emu_cfg_default()};
    world.video = video_load("test/golden/video", NULL, &e);
    world.trace = trace_load("test/golden/traces/broadband_markov", &e);
    ck_assert_msg(world.video && world.trace, "%s: %s", e.field, e.detail);
}

static void tear_down(void)
{
    video_free((struct video *)world.video);
    trace_free((struct trace *)world.trace);
}

TEST(view_follows_the_recorded_player)
{
    struct csv c;
    csv_open(&c, "test/golden/traj.csv");
    struct player p;
    int rows = 0;
    while (csv_next(&c)) {
        if (strcmp(csv_text(&c, "trace"), "broadband_markov") ||
            strcmp(csv_text(&c, "seq"), "cyc"))
            continue;
        int chunk = (int)csv_number(&c, "chunk"), level = (int)csv_number(&c, "action");
        if (!chunk) player_start(&p, &world, 1, &qoe_find("pensieve")->qoe, -1);
        const struct view *v = &p.view;
        ck_assert_int_eq(v->chunk, chunk);
        ck_assert_int_eq(v->last_level, chunk ? (chunk - 1) % 6 : -1);
        ck_assert_int_eq(v->n_history, chunk < VIEW_HISTORY ? chunk : VIEW_HISTORY);

        bool end = player_step(&p, level, 1.0);
        ck_assert_int_eq(end, chunk == 47);
        ck_assert_double_eq(v->buffer_s, csv_number(&c, "buffer_s"));
        ck_assert_double_eq(p.last.stall_s, csv_number(&c, "rebuf_s"));
        double ms = csv_number(&c, "delay_ms"), bytes = csv_number(&c, "chunk_bytes");
        ck_assert_double_eq(v->download_s[v->n_history - 1], ms / 1000.0);
        ck_assert_double_eq_tol(v->throughput_kbps[v->n_history - 1], bytes * 8 / ms,
                                1e-6);
        ck_assert_double_eq(v->next_bytes[5], csv_number(&c, "next5"));
        double change = chunk ? world.video->ladder_kbps[level] -
                                    world.video->ladder_kbps[(chunk - 1) % 6]
                              : 0.0;
        ck_assert_double_eq_tol(p.last.change, (change < 0 ? -change : change) / 1000,
                                1e-12);
        rows++;
    }
    csv_close(&c);
    ck_assert_int_eq(rows, 48);
}

TEST(first_chunk_may_be_given)
{
    struct player p;
    player_start(&p, &world, 1, &qoe_find("paper-live")->qoe, 1);
    ck_assert_int_eq(p.view.chunk, 1);
    ck_assert_int_eq(p.view.last_level, 1);
    ck_assert_int_eq(p.view.n_history, 1);
    ck_assert_double_eq(p.last.change, 0.0);
    ck_assert_double_gt(p.last.stall_s, 0.0);
    ck_assert_double_eq(p.view.qoe.mu_stall, 6.0);
    for (int i = 1; i < 47; i++)
        ck_assert(!player_step(&p, 0, 1.0));
    ck_assert(player_step(&p, 0, 1.0));
    ck_assert_int_eq(p.view.chunk, p.view.chunks);
}

TEST(what_came_is_what_the_view_is_of)
{
    struct player plain, abandons;
    player_start(&plain, &world, 1, &qoe_find("paper-documentary")->qoe, -1);
    player_step(&plain, 0, 1.0);
    struct emu_world may = world;
    may.cfg.abandon = true;
    player_start(&abandons, &may, 1, &qoe_find("paper-documentary")->qoe, 0);
    ck_assert_int_eq(abandons.view.last_level, 0); /* who says where to begin means it */
    player_start(&abandons, &may, 1, &qoe_find("paper-documentary")->qoe, -1);
    player_step(&abandons, 0, 1.0);
    const struct emu_result *r = &abandons.result;
    ck_assert_int_gt(r->level, 0);
    ck_assert_int_eq(abandons.view.last_level, r->level);
    ck_assert_int_eq(r->bytes, video_chunk(world.video, 0)[r->level]);
    ck_assert_double_eq(abandons.view.download_s[0], r->copy_ms / 1000);
    ck_assert_double_gt(r->delay_ms, r->copy_ms);
    ck_assert_double_eq(abandons.last.stall_s, r->delay_ms / 1000);
    ck_assert_double_gt(abandons.last.quality, plain.last.quality);
}

/* Points of each chunk: level k of chunk n has 10 k + n % 7. */
TEST(what_another_viewer_would_have_felt)
{
    struct video *video = (struct video *)world.video;
    const size_t n = (size_t)video->chunks * (size_t)video->levels;
    video->points = malloc(n * sizeof *video->points);
    ck_assert_ptr_nonnull(video->points);
    for (size_t i = 0; i < n; i++)
        video->points[i] =
            (float)(10 * (i % (size_t)video->levels) + i / (size_t)video->levels % 7);
    const struct qoe k = {.mu_quality = 2,
                          .mu_switch = 3,
                          .mu_stall = 10,
                          .mu_start = 4,
                          .utility = QOE_POINTS};
    const struct qoe *other = &qoe_find("paper-live")->qoe;
    struct player p;
    player_start(&p, &world, 1, &k, -1);
    double before = 0, before_mbps = 0;
    for (int chunk = 0; chunk < 20; chunk++) {
        int level = chunk * 5 % 6;
        double now = 10 * level + chunk % 7, mbps = video->ladder_kbps[level] / 1000;
        ck_assert_double_eq(p.view.points[level], now);
        if (chunk) ck_assert_double_eq(p.view.last_points, before);
        ck_assert(!player_step(&p, level, 1.0));
        double wait = p.result.rebuffer_s, fall = chunk ? fmax(0, before - now) : 0;
        double want = 2 * now - 3 * fall - (chunk ? 10 : 4) * wait;
        ck_assert_double_eq_tol(p.last.reward, want, 1e-9);
        ck_assert_double_eq(p.last.stall_s, wait);
        ck_assert_double_eq(player_felt(&p, &k).reward, p.last.reward);
        double change = chunk ? fabs(mbps - before_mbps) : 0;
        ck_assert_double_eq_tol(player_felt(&p, other).reward, mbps - change - 6 * wait,
                                1e-9);
        /* on a link that carries all, and of the chunk that was fetched, not of the next */
        struct qoe_range r = player_range(&p, &k, 1e6);
        ck_assert_double_eq_tol(r.low, 2. * (chunk % 7), 1e-9);
        ck_assert_double_eq_tol(r.high, 2. * (50 + chunk % 7), 1e-9);
        r = player_range(&p, other, 1e6);
        ck_assert_double_eq_tol(r.low, .3, 1e-12);
        ck_assert_double_eq_tol(r.high, 4.3, 1e-12);
        before = now;
        before_mbps = mbps;
    }
}

SUITE_SET_UP(abr_emulator_player, 0, set_up, tear_down,
             what_another_viewer_would_have_felt, view_follows_the_recorded_player,
             first_chunk_may_be_given, what_came_is_what_the_view_is_of);
