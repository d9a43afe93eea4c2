#include "abr/recorded/recorded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "abr/deciders/algo.h"
#include "abr/emulator/replay.h"
#include "abr/traces/gen.h"
#include "support/suites.h"

static struct recorded_terms terms_of_two(void)
{
    struct recorded_terms t = {.name = "by-hand",
                               .levels = 2,
                               .chunks = 10,
                               .ladder_kbps = {1000, 2000},
                               .points = {40, 80},
                               .chunk_s = 4,
                               .buffer_max_s = 20,
                               .qoe = *qoe_standard(),
                               .least = 2};
    return t;
}

/* 1000 kbit/s for 4 s are 500,000 bytes. */
static struct recorded_chunk chunk_of(int i, double buffer_s, double download_s)
{
    return (struct recorded_chunk){.chunk = i,
                                   .level = i % 2,
                                   .bytes = 500000,
                                   .download_s = download_s,
                                   .buffer_s = buffer_s,
                                   .points = {40, 80},
                                   .reported = true};
}

/* Chunk 0 takes 2 s and plays at once. Chunk 1 takes 1 s, and 3 s later the buffer has fallen from 7 to 4:
 * b + L - b' = 4 + 4 - 4 = 4 s between the requests of chunks 1 and 2, so 3 s are idle. */
TEST(a_link_by_hand)
{
    struct recorded_terms t = terms_of_two();
    struct recorded_chunk c[4] = {chunk_of(0, 0, 2), chunk_of(1, 4, 1), chunk_of(2, 4, 2),
                                  chunk_of(3, 6, 1)};
    c[0].stall_s = 2;
    c[3].reported = false; /* the viewer left */
    c[1].next_bytes[0] = 300000;
    struct recorded r;
    ck_assert_int_eq(recorded_make(&r, &t, c, 4, NULL), RECORDED_OK);
    ck_assert_int_eq(r.n, 3);
    static const double at[] = {0, 2, 3, 4.5, 6, 8}, mbps[] = {2, 2, 4, 4, 2, 2};
    ck_assert_int_eq(r.link->n, 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_double_eq_tol(r.link->time_s[i], at[i], 1e-12);
        ck_assert_double_eq_tol(r.link->mbps[i], mbps[i] / .95, 1e-12);
    }
    /* chunk 0 was as its bitrate says; chunk 1 at level 1 had half, its level 0 was reported; chunk 2 as
     * chunk 0; behind it the bitrates, up to the end */
    static const int64_t bytes[][2] = {
        {500000, 1000000}, {300000, 500000}, {500000, 1000000}, {500000, 1000000}};
    ck_assert_int_eq(r.video->chunks, 10);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(video_chunk(r.video, i)[k], bytes[i][k]);
    ck_assert_double_eq_tol(r.seen.value[COMPARE_STARTUP], 2, 1e-12);
    ck_assert_double_eq_tol(r.seen.value[COMPARE_QUALITY], (40 + 80 + 40) / 3., 1e-12);
    ck_assert_double_eq_tol(r.seen.value[COMPARE_SWITCHES], 2 * 60 / 12., 1e-12);
    recorded_free(&r);

    t.rtt_s = .5; /* chunk 1: 4 Mbit in 0.5 s */
    ck_assert_int_eq(recorded_make(&r, &t, c, 4, NULL), RECORDED_OK);
    ck_assert_double_eq_tol(r.link->mbps[2], 8 / .95, 1e-12);
    ck_assert_double_eq_tol(r.link->time_s[1], 1.5, 1e-12);
    recorded_free(&r);
}

TEST(each_reason_to_refuse)
{
    struct recorded_terms t = terms_of_two();
    struct recorded r;
    struct recorded_chunk good[3] = {chunk_of(0, 0, 2), chunk_of(1, 4, 1),
                                     chunk_of(2, 4, 2)},
                          c[3];
#define REFUSED(change, why)                                    \
    memcpy(c, good, sizeof c);                                  \
    change;                                                     \
    ck_assert_int_eq(recorded_make(&r, &t, c, 3, NULL), (why)); \
    ck_assert_ptr_null(r.link);
    REFUSED(c[1].reported = c[2].reported = false, RECORDED_SHORT)
    REFUSED(c[1].reported = false, RECORDED_HOLE)
    REFUSED(c[2].chunk = 4, RECORDED_HOLE)
    REFUSED(c[2].chunk = 1, RECORDED_HOLE)
    REFUSED(c[0].buffer_s = 3, RECORDED_LATE)
    REFUSED(c[0].buffer_s = (double)NAN; c[0].chunk = 7; c[1].chunk = 8;
            c[2].chunk = 9, RECORDED_LATE)
    REFUSED(c[1].bytes = 0, RECORDED_EMPTY)
    REFUSED(c[1].download_s = 0, RECORDED_EMPTY)
    REFUSED(t.chunk_s = 20, RECORDED_LIMITS)
#undef REFUSED
    t.chunk_s = 4;
    good[0].buffer_s = (double)NAN; /* a player that chose chunk 0 alone */
    ck_assert_int_eq(recorded_make(&r, &t, good, 3, NULL), RECORDED_OK);
    recorded_free(&r);
    for (int i = 0; i < RECORDED_WHYS; i++)
        ck_assert_ptr_nonnull(recorded_whys[i]);
}

/* ---- a recording of an emulated session, played again as it was ---- */

struct record {
    struct recorded_chunk chunk[64];
    int n;
};

static int record_chunk(void *ctx, const struct replay_step *s, struct err *e)
{
    (void)e;
    struct record *r = ctx;
    struct recorded_chunk *c = &r->chunk[r->n++];
    *c = (struct recorded_chunk){.chunk = s->chunk,
                                 .level = s->level,
                                 .bytes = (double)s->bytes,
                                 .download_s = s->download_s,
                                 .stall_s = s->stall_s,
                                 .buffer_s = s->view->buffer_s,
                                 .reward = s->reward,
                                 .reported = true};
    memcpy(c->next_bytes, s->view->next_bytes, sizeof c->next_bytes);
    memcpy(c->points, s->view->points, sizeof c->points);
    return 0;
}

struct again {
    const struct record *was;
    int n;
    double worst_s;
};

static int compare_chunk(void *ctx, const struct replay_step *s, struct err *e)
{
    (void)e;
    struct again *a = ctx;
    const struct recorded_chunk *c = &a->was->chunk[a->n++];
    ck_assert_int_eq(s->bytes, (int64_t)c->bytes);
    a->worst_s = fmax(a->worst_s, fabs(s->download_s - c->download_s));
    a->worst_s = fmax(a->worst_s, fabs(s->stall_s - c->stall_s));
    ck_assert_double_eq_tol(s->reward, c->reward, 1e-4);
    return 0;
}

TEST(the_levels_that_were_played_give_the_session_again)
{
    struct algo hyb;
    struct video *video = video_default(NULL);
    ck_assert_int_eq(algo_new(&hyb, "hyb", &(struct algo_ctx){.seed = 1}, NULL), 0);
    int idle = 0;
    for (uint64_t i = 0; i < 12; i++) {
        struct trace *link = gen_trace(gen_kinds[i % 6], 400, 7, i, NULL);
        ck_assert_ptr_nonnull(link);
        struct emu_world world = {video, link, emu_cfg_default()};
        world.cfg.rtt_s = 0;
        world.cfg.buffer_max_s = 30;
        struct replay play = {
            .world = &world, .qoe = qoe_standard(), .first_level = -1, .algo = &hyb};
        struct record was = {.n = 0};
        ck_assert_int_eq(replay_run(&play, record_chunk, &was, NULL), 0);
        trace_free(link);

        struct recorded_terms t = {.name = "again",
                                   .levels = video->levels,
                                   .chunks = video->chunks,
                                   .chunk_s = video->chunk_s,
                                   .buffer_max_s = 30,
                                   .qoe = *qoe_standard()};
        memcpy(t.ladder_kbps, video->ladder_kbps, sizeof t.ladder_kbps);
        memcpy(t.points, video->level_points, sizeof t.points);
        struct recorded r;
        ck_assert_int_eq(recorded_make(&r, &t, was.chunk, was.n, NULL), RECORDED_OK);
        ck_assert_int_eq(r.n, video->chunks);
        idle += r.link->n > r.n + 1;
        struct emu_world own = {r.video, r.link, recorded_emu(&r)};
        struct replay again = {
            .world = &own, .qoe = &r.terms.qoe, .first_level = -1, .levels = r.level};
        struct again a = {.was = &was};
        ck_assert_int_eq(replay_run(&again, compare_chunk, &a, NULL), 0);
        ck_assert_int_eq(a.n, was.n);
        ck_assert_double_lt(a.worst_s, 1e-6);
        recorded_free(&r);
    }
    ck_assert_int_gt(idle, 3); /* links that fill the buffer are among them */
    algo_free(&hyb);
    video_free(video);
}

SUITE(abr_recorded_recorded, a_link_by_hand, each_reason_to_refuse,
      the_levels_that_were_played_give_the_session_again);
