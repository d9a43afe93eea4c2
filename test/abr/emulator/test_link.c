#include "abr/emulator/link.h"

#include "abr/traces/corpus.h"
#include "base/rng.h"
#include "support/suites.h"

#include <math.h>

static struct video *video;
static struct corpus *corpus;

static void load(void)
{
    struct err e = {0};
    video = video_load("test/golden/video", NULL, &e);
    corpus = corpus_load("test/golden/traces", CORPUS_ALL, &e);
    ck_assert_msg(video && corpus, "%s %s", e.field, e.detail);
}

static void unload(void)
{
    video_free(video);
    corpus_free(corpus);
}

static struct link *link_of(const struct emu_world *w, int row)
{
    struct err e = {0};
    struct link *l = link_new(w, row, &e);
    ck_assert_ptr_nonnull(l);
    return l;
}

/* Rows of 2, 0 and 4 Mbit/s, 10 s each, then round the corner to the first. Half the bytes are
 * payload: 125,000 and 250,000 bytes/s. */
TEST(by_hand)
{
    double time_s[] = {0, 10, 20, 30}, mbps[] = {9, 2, 0, 4};
    struct trace t = {.name = "t", .n = 4, .time_s = time_s, .mbps = mbps};
    struct emu_world w = {.video = video, .trace = &t, .cfg = emu_cfg_default()};
    w.cfg.payload = .5;
    const int64_t bytes[] = {125000, 1250000, 1500000, 3750000 + 125000};
    double out[4];

    struct link *l = link_of(&w, 1);
    link_finish(out, l, 0, bytes, 4);
    ck_assert_double_eq_tol(out[0], 1, 1e-9);
    ck_assert_double_eq_tol(out[1], 10, 1e-9); /* ends with its slot, outage or not */
    ck_assert_double_eq_tol(out[2], 21, 1e-9); /* through the outage */
    ck_assert_double_eq_tol(out[3], 31, 1e-9); /* into the second lap */
    link_finish(out, l, 61, bytes, 1);         /* third lap, second second */
    ck_assert_double_eq_tol(out[0], 62, 1e-9);
    link_finish(out, l, 15, bytes, 1); /* begun in the outage */
    ck_assert_double_eq_tol(out[0], 20.5, 1e-9);
    link_free(l);

    l = link_of(&w, 3); /* the last row, then lap after lap */
    link_finish(out, l, 0, bytes + 3, 1);
    ck_assert_double_eq_tol(out[0], 30 + 125000 / 250000., 1e-9);
    link_free(l);

    w.cfg.wrap = EMU_WRAP_NONE; /* the last throughput stays */
    l = link_of(&w, 3);
    link_finish(out, l, 0, bytes + 3, 1);
    ck_assert_double_eq_tol(out[0], 15.5, 1e-9);
    link_free(l);
    link_free(NULL);
}

/* Sessions of random levels; the link follows the emulator's clock. */
static void follow(const struct emu_world *w, int row, struct rng *r)
{
    struct link *l = link_of(w, row);
    struct emu m;
    emu_start(&m, w, row);
    double clock_s = 0, buffer_s = 0;
    for (int chunk = 0; chunk < video->chunks; chunk++) {
        double done_s[VIEW_LEVELS];
        link_finish(done_s, l, clock_s, video_chunk(video, chunk), video->levels);
        int level = (int)rng_below(r, (uint32_t)video->levels);
        struct emu_result got;
        emu_step(&m, level, 1, &got);
        double delay_s = done_s[level] - clock_s + w->cfg.rtt_s;
        ck_assert_msg(fabs(delay_s - got.delay_ms / 1000) < 1e-7,
                      "%s, chunk %d: %.12g, emulator %.12g", w->trace->name, chunk,
                      delay_s, got.delay_ms / 1000);
        double full_s = fmax(buffer_s - delay_s, 0) + video->chunk_s;
        clock_s = done_s[level] + full_s - got.buffer_s; /* what was slept */
        buffer_s = got.buffer_s;
    }
    link_free(l);
}

TEST(follows_the_emulator)
{
    struct rng r;
    rng_init(&r, 1, 0);
    for (int i = 0; i < corpus->n; i++) {
        struct emu_world w = {video, corpus->traces[i], emu_cfg_default()};
        for (int round = 0; round < 12; round++) {
            w.cfg.wrap = (enum emu_wrap)(round % 3);
            w.cfg.bandwidth_x = round < 6 ? 1 : .7;
            w.cfg.buffer_max_s = round < 8 ? 60 : 7;
            follow(&w, 1 + (int)rng_below(&r, (uint32_t)w.trace->n - 1), &r);
        }
    }
}

TEST(earlier_is_never_later)
{
    const int64_t bytes[] = {1, 150000, 700000, 690000, 2200000};
    for (int i = 0; i < corpus->n; i++) {
        struct emu_world w = {video, corpus->traces[i], emu_cfg_default()};
        struct link *l = link_of(&w, 1);
        double last[5] = {0}, out[5];
        for (double from_s = 0; from_s < 900; from_s += .13) {
            link_finish(out, l, from_s, bytes, 5);
            for (int k = 0; k < 5; k++) {
                ck_assert(out[k] >= from_s && out[k] >= last[k] - 1e-9);
                last[k] = out[k];
            }
            ck_assert(out[2] >= out[3]); /* sizes need not ascend */
        }
        link_free(l);
    }
}

SUITE_SET_UP(abr_emulator_link, 0, load, unload, by_hand, follows_the_emulator,
             earlier_is_never_later);
