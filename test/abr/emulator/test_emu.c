#include "abr/emulator/emu.h"

#include "abr/traces/corpus.h"
#include "base/text.h"
#include "support/alloc.h"
#include "support/csv.h"
#include "support/made.h"
#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Recorded trajectories of the original simulators; every number must be the same double.
 */

static struct video *load_video(const char *path, int chunks)
{
    struct err e = {0};
    struct video_cfg cfg = {.chunks = chunks};
    struct video *v = video_load(path, &cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

static struct trace *load_trace(const char *dir, const char *name)
{
    char path[512];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct trace *t = trace_load(path, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    return t;
}

static void same(const struct csv *c, const char *heading, double got)
{
    double want = csv_number(c, heading);
    ck_assert_msg(want == got, "%s: %s %.17g, expected %.17g", c->cell[0], heading, got,
                  want);
}

static void same_row(const struct csv *c, const struct emu_result *r,
                     bool buffer_is_reset)
{
    same(c, "delay_ms", r->delay_ms);
    same(c, "sleep_ms", r->sleep_ms);
    same(c, "buffer_s", buffer_is_reset ? 0.0 : r->buffer_s);
    same(c, "rebuf_s", r->rebuffer_s);
    same(c, "chunk_bytes", (double)r->bytes);
    same(c, "end", r->end);
    same(c, "remain", r->remain);
}

/* Deterministic environment: start row 1, no noise. Returns the rows compared. */
static int replay(const char *csv, const char *traces, const char *video)
{
    struct csv c;
    csv_open(&c, csv);
    struct emu_world w = {.video = load_video(video, 0), .cfg = emu_cfg_default()};
    struct trace *t = NULL;
    struct emu m;
    int rows = 0;
    while (csv_next(&c)) {
        if (!t || strcmp(t->name, csv_text(&c, "trace"))) {
            trace_free(t);
            w.trace = t = load_trace(traces, csv_text(&c, "trace"));
        }
        if (csv_number(&c, "chunk") == 0.0) emu_start(&m, &w, 1);
        struct emu_result r;
        emu_step(&m, (int)csv_number(&c, "action"), 1.0, &r);
        same_row(&c, &r, false);
        for (int k = 0; k < 6; k++) {
            char heading[24];
            snprintf(heading, sizeof heading, "next%d", k);
            same(&c, heading, (double)video_chunk(w.video, m.chunk)[k]);
        }
        rows++;
    }
    csv_close(&c);
    trace_free(t);
    video_free((struct video *)w.video);
    return rows;
}

TEST(golden_portable)
{
    ck_assert_int_eq(
        replay("test/golden/traj.csv", "test/golden/traces", "test/golden/video"), 1680);
}

TEST(golden_hsdpa)
{
    const char *csv = shared_path("golden/traj_hsdpa_detail_30.csv");
    if (!csv) return;
    ck_assert_int_eq(replay(csv, "../shared/traces/pensieve-test-hsdpa-142",
                            "../shared/video/envivio-dash3"),
                     29 * 5 * 48);
}

TEST(golden_train)
{
    const char *csv = shared_path("golden/traj_train_detail_12.csv");
    if (!csv) return;
    ck_assert_int_eq(replay(csv, "../shared/traces/pensieve-train-127",
                            "../shared/video/envivio-dash3"),
                     12 * 5 * 48);
}

/* Environments with random draws: start row and noise stand in every row. */
static int replay_draws(const char *csv, const struct emu_cfg *cfg, bool end_is_reset)
{
    struct csv c;
    csv_open(&c, csv);
    struct emu_world w = {.video = load_video("../shared/video/envivio-dash3", 0),
                          .cfg = *cfg};
    struct trace *t = NULL;
    struct emu m = {0};
    int rows = 0;
    while (csv_next(&c)) {
        if (csv_number(&c, "remain") == 47.0) {
            trace_free(t);
            w.trace = t =
                load_trace("../shared/traces/pensieve-train-127", csv_text(&c, "trace"));
            emu_start(&m, &w, (int)csv_number(&c, "start_ptr"));
        }
        struct emu_result r;
        emu_step(&m, (int)csv_number(&c, "action"), csv_number(&c, "noise"), &r);
        same_row(&c, &r, end_is_reset && r.end);
        rows++;
    }
    csv_close(&c);
    trace_free(t);
    video_free((struct video *)w.video);
    return rows;
}

TEST(golden_train_noise)
{
    const char *csv = shared_path("golden/traj_train_env_noise.csv");
    if (!csv) return;
    struct emu_cfg cfg = emu_cfg_default();
    ck_assert_int_eq(replay_draws(csv, &cfg, false), 40 * 48);
}

TEST(golden_pamoe)
{
    const char *csv = shared_path("golden/traj_pamoe_env.csv");
    if (!csv) return;
    struct emu_cfg cfg = emu_cfg_default();
    cfg.bandwidth_x = 2.0;
    cfg.wrap = EMU_WRAP_FIRST;
    /* it reads the buffer after the end has emptied it */
    ck_assert_int_eq(replay_draws(csv, &cfg, true), 3 * 6 * 48);
}

/* The sequence "rnd" of test/golden/actions.json. */
static void read_random_actions(int action[48])
{
    struct err e = {0};
    char *text = text_read_file("test/golden/actions.json", 100000, NULL, &e);
    ck_assert_msg(text != NULL, "%s", e.detail);
    const char *at = strstr(text, "\"rnd\": [");
    ck_assert_ptr_nonnull(at);
    at += strlen("\"rnd\": ");
    for (int i = 0; i < 48; i++) {
        double v;
        at++; /* [ or , */
        ck_assert_int_eq(text_scan_double(&v, &at, &e), 0);
        action[i] = (int)v;
    }
    free(text);
}

/* The peers' buffer-based rule: reservoir 5 s, cushion 10 s, level 1 first. */
static int by_buffer(double buffer_s)
{
    int level = (int)floor(5.0 * (buffer_s - 5.0) / 10.0);
    return level < 0 ? 0 : level > 5 ? 5 : level;
}

static void near(const struct csv *c, const char *heading, double got)
{
    double want = csv_number(c, heading);
    ck_assert_msg(fabs(got - want) <= 1e-9 * fmax(1.0, fabs(want)),
                  "%s %s: %s %.17g, expected %.17g", c->cell[0], c->cell[1], heading, got,
                  want);
}

/* Sums over all 142 test traces; the emulator and QoE_lin together. The buffer-based
 * rule's mean per chunk is the figure that peers publish, .639. */
TEST(golden_summary)
{
    const char *path = shared_path("golden/summary_hsdpa_test_142.csv");
    if (!path) return;
    int rnd[48], rows = 0;
    double bb = 0.0;
    read_random_actions(rnd);
    struct csv c;
    csv_open(&c, path);
    struct emu_world w = {.video = load_video("../shared/video/envivio-dash3", 0),
                          .cfg = emu_cfg_default()};
    const double *kbps = w.video->ladder_kbps;
    const struct qoe *qoe = &qoe_find("pensieve")->qoe;
    struct trace *t = NULL;
    while (csv_next(&c)) {
        if (!t || strcmp(t->name, csv_text(&c, "trace"))) {
            trace_free(t);
            w.trace = t = load_trace("../shared/traces/pensieve-test-hsdpa-142",
                                     csv_text(&c, "trace"));
        }
        const char *policy = csv_text(&c, "policy");
        struct emu m;
        struct emu_result r = {0};
        double sum = 0, skip_first = 0, stall = 0, delay = 0, slept = 0, bytes = 0,
               rate = 0;
        int prev = 1; /* the peers charge a switch from level 1 to chunk 0 */
        emu_start(&m, &w, 1);
        for (int i = 0; i < 48; i++) {
            int level = !strcmp(policy, "low")    ? 0
                        : !strcmp(policy, "high") ? 5
                        : !strcmp(policy, "cyc")  ? i % 6
                        : !strcmp(policy, "rnd")  ? rnd[i]
                        : i == 0                  ? 1
                                                  : by_buffer(r.buffer_s);
            emu_step(&m, level, 1.0, &r);
            double reward =
                qoe_chunk(qoe, (struct qoe_level){kbps[level], 0},
                          (struct qoe_level){kbps[prev], 0}, 4, r.rebuffer_s, 300)
                    .reward;
            sum += reward;
            skip_first += i ? reward : 0.0;
            stall += r.rebuffer_s;
            delay += r.delay_ms;
            slept += r.sleep_ms;
            bytes += (double)r.bytes;
            rate += kbps[level] / 48;
            prev = level;
        }
        near(&c, "sum_qoe_lin_48", sum);
        near(&c, "sum_qoe_lin_skip_first_47", skip_first);
        near(&c, "sum_rebuf_s", stall);
        near(&c, "sum_delay_ms", delay);
        near(&c, "sum_sleep_ms", slept);
        near(&c, "final_buffer_s", r.buffer_s);
        near(&c, "sum_bytes", bytes);
        near(&c, "ladder_mean_kbps", rate);
        if (!strcmp(policy, "bb")) bb += skip_first / 47 / 142;
        rows++;
    }
    ck_assert_int_eq(rows, 142 * 5);
    ck_assert_double_eq_tol(bb, 0.639, 0.001);
    csv_close(&c);
    trace_free(t);
    video_free((struct video *)w.video);
}

TEST(step_allocates_nothing)
{
    struct emu_world w = {.video = load_video("test/golden/video", 0),
                          .trace = load_trace("test/golden/traces", "short_wraps"),
                          .cfg = emu_cfg_default()};
    struct emu m;
    struct emu_result r;
    alloc_watch();
    emu_start(&m, &w, 1);
    for (int i = 0; i < 200; i++)
        emu_step(&m, i % 6, 1.0, &r);
    ck_assert_int_eq(alloc_calls(), 0);
    trace_free((struct trace *)w.trace);
    video_free((struct video *)w.video);
}

/* ------------------------------------------------------------------ beyond the original
 */

static const double two_rungs[] = {1000, 2000};

static struct video *flat_video(int levels, int chunks, double chunk_s,
                                const double *kbps)
{
    struct err e = {0};
    struct video *v = video_generate(levels, chunks, chunk_s, kbps, 0.0, 1, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

TEST(by_hand)
{
    /* 2 Mbit/s at 95 %: a chunk of 500,000 bytes needs 4e6 / 1.9e6 s */
    struct video *v = flat_video(2, 3, 4.0, two_rungs);
    struct trace *t = made_trace(2, (const double[][2]){{0, 2}, {1000, 2}});
    struct emu_world w = {v, t, emu_cfg_default()};
    struct emu m;
    struct emu_result r;
    emu_start(&m, &w, 1);
    emu_step(&m, 0, 1.0, &r);
    ck_assert_double_eq_tol(r.delay_ms, 80.0 + 4e3 / 1.9, 1e-9);
    ck_assert_double_eq_tol(r.rebuffer_s, r.delay_ms / 1000.0, 1e-12);
    ck_assert_double_eq_tol(r.buffer_s, 4.0, 1e-12);
    emu_step(&m, 1, 1.5, &r);
    ck_assert_double_eq_tol(r.delay_ms, 1.5 * (80.0 + 8e3 / 1.9), 1e-9);
    ck_assert_double_eq_tol(r.rebuffer_s, r.delay_ms / 1000.0 - 4.0, 1e-9);
    ck_assert(!r.end && r.remain == 1);
    emu_step(&m, 0, 1.0, &r);
    ck_assert(r.end && r.remain == 0);
    emu_step(&m, 0, 1.0, &r);
    ck_assert_double_eq_tol(r.buffer_s, 4.0, 1e-12); /* anew, with an empty buffer */
    trace_free(t);
    video_free(v);
}

struct watcher {
    int times, after, other;
    double bytes, elapsed_s, buffer_s;
};

static int look(void *ctx, int level, double bytes, double elapsed_s, double buffer_s)
{
    struct watcher *w = ctx;
    w->bytes = bytes;
    w->elapsed_s = elapsed_s;
    w->buffer_s = buffer_s;
    return ++w->times > w->after ? w->other : level;
}

TEST(an_abandoned_copy_costs_its_time)
{
    struct video *v = flat_video(2, 3, 4.0, two_rungs);
    struct trace *t = made_trace(2, (const double[][2]){{0, 2}, {1000, 2}});
    struct emu_world w = {v, t, emu_cfg_default()};
    struct emu m, plain;
    struct emu_result r, same;
    struct watcher who = {.after = 100};
    struct emu_watch watch = {
        .first_s = .25, .first_share = 1, .every_s = .5, .level = look, .ctx = &who};
    emu_start(&m, &w, 1);
    plain = m;
    who.other = 1;
    emu_step_watched(&m, 1, 1.0, &watch, &r); /* looks, and lets it come */
    emu_step(&plain, 1, 1.0, &same);
    ck_assert_int_eq(who.times, 8); /* of 4.21 s, at .25, .75 .. 3.75 s */
    ck_assert_double_eq(r.delay_ms, same.delay_ms);
    ck_assert_double_eq(r.copy_ms, same.delay_ms);
    ck_assert_double_eq(m.clock_s, plain.clock_s);
    ck_assert_int_eq(r.level, 1);

    who = (struct watcher){.after = 1, .other = 0};
    emu_step_watched(&m, 1, 1.0, &watch, &r); /* given up at the second look */
    ck_assert_int_eq(who.times, 2);
    ck_assert_double_eq_tol(who.elapsed_s, .08 + .75, 1e-12);
    ck_assert_double_eq_tol(who.bytes, .75 * 1.9e6 / 8, 1e-6);
    ck_assert_double_eq_tol(who.buffer_s, 4 - .83, 1e-9);
    ck_assert_int_eq(r.level, 0);
    ck_assert_int_eq(r.bytes, 500000);
    ck_assert_double_eq_tol(r.copy_ms, 80.0 + 4e3 / 1.9, 1e-9);
    ck_assert_double_eq_tol(r.delay_ms, 830.0 + r.copy_ms, 1e-9);
    ck_assert_double_eq_tol(m.clock_s, plain.clock_s + .75 + 4 / 1.9, 1e-9);

    emu_start(&m, &w, 1);
    who = (struct watcher){.other = 1}; /* 2.1 s, half of which are over before 3 s */
    watch = (struct emu_watch){3, .5, HUGE_VAL, look, &who};
    emu_step_watched(&m, 0, 1.0, &watch, &r);
    ck_assert_int_eq(who.times, 1);
    ck_assert_double_eq_tol(who.bytes, 250000, 1e-6);
    ck_assert_double_eq_tol(r.delay_ms, 80.0 + 2e3 / 1.9 + 80.0 + 8e3 / 1.9, 1e-9);
    trace_free(t);
    video_free(v);
}

TEST(settings_count)
{
    struct video *v = flat_video(2, 100, 2.0, two_rungs);
    struct trace *t = made_trace(2, (const double[][2]){{0, 8}, {1000, 8}});
    struct emu_world w = {v, t, emu_cfg_default()};
    w.cfg.rtt_s = 0.0;
    w.cfg.payload = 1.0;
    w.cfg.buffer_max_s = 5.0;
    w.cfg.drain_s = 0.25;
    ck_assert_int_eq(emu_check(&w.cfg, v, NULL), 0);
    struct emu m;
    struct emu_result r;
    emu_start(&m, &w, 1);
    for (int i = 0; i < 20; i++) {
        emu_step(&m, 0, 1.0, &r);
        ck_assert_double_eq_tol(r.delay_ms, 250.0, 1e-9);
        ck_assert_double_le(r.buffer_s, 5.0);
    }
    /* at the limit: 2 s in, .25 s played while loading, 1.75 s slept */
    ck_assert_double_eq_tol(r.buffer_s, 5.0, 0.25);
    trace_free(t);
    video_free(v);
}

TEST(no_wrap_holds_the_last_positive_row)
{
    struct video *v = flat_video(2, 200, 4.0, two_rungs);
    struct trace *t =
        made_trace(4, (const double[][2]){{0, 9}, {10, 4}, {20, 0}, {30, 0}});
    struct emu_world w = {v, t, emu_cfg_default()};
    w.cfg.wrap = EMU_WRAP_NONE;
    w.cfg.payload = 1.0;
    w.cfg.rtt_s = 0.0;
    struct emu m;
    struct emu_result r;
    emu_start(&m, &w, 1);
    double outage_ms = 0.0;
    for (int i = 0; i < 200; i++) {
        emu_step(&m, 0, 1.0, &r);
        if (r.delay_ms > outage_ms) outage_ms = r.delay_ms;
    }
    ck_assert_double_ge(outage_ms, 20000.0); /* the zero rows were lived through once */
    ck_assert_double_eq_tol(r.delay_ms, 1000.0, 1e-9);
    ck_assert_int_eq(m.row, t->n);
    trace_free(t);
    video_free(v);
}

TEST(wraps_differ)
{
    /* the trace begins at 5 s: Pensieve's wrap makes row 1 last from 0, PA-MoE's from 5
     */
    struct video *v = flat_video(2, 4, 4.0, two_rungs);
    struct trace *t = made_trace(3, (const double[][2]){{5, 1}, {6, 4}, {7, .5}});
    double took[2];
    for (int k = 0; k < 2; k++) {
        struct emu_world w = {v, t, emu_cfg_default()};
        w.cfg.wrap = k ? EMU_WRAP_FIRST : EMU_WRAP_ZERO;
        struct emu m;
        struct emu_result r;
        emu_start(&m, &w, 1);
        emu_step(&m, 0, 1.0, &r);
        emu_step(&m, 1, 1.0, &r);
        took[k] = r.delay_ms;
    }
    ck_assert_double_lt(took[0], took[1]);
    trace_free(t);
    video_free(v);
}

TEST(any_ladder_any_chunk)
{
    for (int levels = 2; levels <= VIEW_LEVELS; levels += 5) {
        double kbps[VIEW_LEVELS];
        for (int k = 0; k < levels; k++)
            kbps[k] = 200.0 * (k + 1);
        for (double chunk_s = 1.0; chunk_s <= 10.0; chunk_s += 4.5) {
            struct video *v = flat_video(levels, 30, chunk_s, kbps);
            struct trace *t = made_trace(3, (const double[][2]){{0, 1}, {3, .3}, {5, 3}});
            struct emu_world w = {v, t, emu_cfg_default()};
            w.cfg.buffer_max_s = chunk_s; /* the smallest legal one */
            ck_assert_int_eq(emu_check(&w.cfg, v, NULL), 0);
            struct emu m;
            emu_start(&m, &w, 2);
            for (int i = 0; i < 90; i++) {
                struct emu_result r;
                emu_step(&m, i % levels, 1.0, &r);
                ck_assert(isfinite(r.delay_ms) && r.delay_ms > 0.0);
                ck_assert(r.buffer_s >= 0.0 && r.buffer_s <= chunk_s);
            }
            trace_free(t);
            video_free(v);
        }
    }
}

TEST(settings_are_checked)
{
    struct video *v = flat_video(2, 4, 4.0, two_rungs);
    struct {
        const char *field;
        struct emu_cfg cfg;
    } bad[] = {{"rtt_s", emu_cfg_default()},        {"payload", emu_cfg_default()},
               {"buffer_max_s", emu_cfg_default()}, {"drain_s", emu_cfg_default()},
               {"bandwidth_x", emu_cfg_default()},  {"rtt_s", emu_cfg_default()}};
    bad[0].cfg.rtt_s = -1.0;
    bad[1].cfg.payload = 0.0;
    bad[2].cfg.buffer_max_s = 3.9; /* shorter than a chunk */
    bad[3].cfg.drain_s = 4.5;
    bad[4].cfg.bandwidth_x = 0.0;
    bad[5].cfg.rtt_s = NAN;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_int_eq(emu_check(&bad[i].cfg, v, &e), ERR_RANGE);
        ck_assert_str_eq(e.field, bad[i].field);
    }
    struct emu_cfg good = emu_cfg_default();
    ck_assert_int_eq(emu_check(&good, v, NULL), 0);
    video_free(v);
}

SUITE_WITHIN(abr_emulator_emu, 60, golden_portable, golden_hsdpa, golden_train,
             golden_train_noise, golden_pamoe, golden_summary, step_allocates_nothing,
             by_hand, an_abandoned_copy_costs_its_time, settings_count,
             no_wrap_holds_the_last_positive_row, wraps_differ, any_ladder_any_chunk,
             settings_are_checked);
