#include "abr/train/worlds.h"

#include "abr/traces/gen.h"

#include "base/rng.h"

#include "support/alloc.h"
#include "support/made.h"
#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

static const double SLOTS[] = {0, 1, 3, 2}; /* Mbit/s of slots that end at 5, 6, 8, 9 s */

static struct trace *small_trace(void)
{
    return made_trace(4, (const double[][2]){
                             {5, SLOTS[0]}, {6, SLOTS[1]}, {8, SLOTS[2]}, {9, SLOTS[3]}});
}

static struct worlds *make(struct corpus *c, struct trace **t, int links, int ladders,
                           struct video **v)
{
    *t = small_trace();
    *v = video_default(NULL);
    *c = (struct corpus){.name = "test", .n = 1, .traces = t};
    struct worlds_cfg cfg = {.n_corpora = 1,
                             .corpora = {c},
                             .links = links,
                             .link_s = 60,
                             .video = *v,
                             .ladders = ladders,
                             .seed = 3};
    struct worlds *w = worlds_new(&cfg, NULL);
    ck_assert_ptr_nonnull(w);
    return w;
}

static void drop(struct worlds *w, struct trace *t, struct video *v)
{
    worlds_free(w);
    video_free(v);
    trace_free(t);
}

/* The authors of PA-MoE double the bandwidth and keep what is then above 3 Mbit/s. */
TEST(the_authors_keep_51_traces)
{
    const char *dir = shared_path("traces/pensieve-train-127");
    if (!dir) return;
    struct corpus *c = corpus_load(dir, CORPUS_ALL, NULL);
    struct video *v = video_default(NULL);
    struct worlds_cfg cfg = {.n_corpora = 1, .corpora = {c}, .min_mbps = 1.5, .video = v};
    struct worlds *w = worlds_new(&cfg, NULL);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->n_traces, 51);
    worlds_free(w);
    video_free(v);
    corpus_free(c);
}

TEST(other_links_or_videos_are_told_apart)
{
    struct corpus c;
    struct trace *t;
    struct video *v;
    uint32_t crc[3];
    for (int i = 0; i < 3; i++) {
        struct worlds *w = make(&c, &t, i == 2 ? 2 : 1, 0, &v);
        crc[i] = worlds_crc(w);
        if (i == 0) {
            t->mbps[2] += .5;
            ck_assert_uint_ne(worlds_crc(w), crc[0]);
        }
        drop(w, t, v);
    }
    ck_assert_uint_eq(crc[0], crc[1]);
    ck_assert_uint_ne(crc[0], crc[2]);
}

static double ahead(const struct worlds *w, int i, int row, double clock_s,
                    double seconds)
{
    /* among others, which must not matter */
    double mbps[3], all[3] = {200.0, seconds, 0.25};
    worlds_ahead(mbps, w, i, row, clock_s, all, 3);
    return mbps[1];
}

/* One round of the trace: 1 Mbit in [5,6], 6 in [6,8], 2 in [8,9]: 9 in 4 s. */
TEST(ahead_by_hand)
{
    struct corpus c;
    struct trace *t;
    struct video *v;
    struct worlds *w = make(&c, &t, 0, 0, &v);
    ck_assert_double_eq_tol(ahead(w, 0, 1, 5.0, 1.0), 1.0, 1e-12);
    ck_assert_double_eq_tol(ahead(w, 0, 1, 5.5, 1.0), 0.5 + 1.5, 1e-12);
    ck_assert_double_eq_tol(ahead(w, 0, 2, 7.0, 2.0), (3.0 + 2.0) / 2, 1e-12);
    /* round the corner, once and ten times */
    ck_assert_double_eq_tol(ahead(w, 0, 3, 8.5, 1.5), (1.0 + 1.0) / 1.5, 1e-12);
    ck_assert_double_eq_tol(ahead(w, 0, 2, 6.0, 40.0), 9.0 / 4.0, 1e-12);
    /* a clock that the wrap left before the first row is taken as there */
    ck_assert_double_eq_tol(ahead(w, 0, 1, 0.0, 1.0), 1.0, 1e-12);
    drop(w, t, v);
}

/* The same question put to the slots one by one. */
TEST(ahead_equals_walking)
{
    struct corpus c;
    struct trace *t;
    struct video *v;
    struct worlds *w = make(&c, &t, 3, 0, &v);
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < 300; i++) {
        int k = (int)rng_below(&r, (uint32_t)w->n_traces);
        const struct trace *x = w->traces[k];
        int row = 1 + (int)rng_below(&r, (uint32_t)x->n - 1);
        double clock = rng_range(&r, x->time_s[row - 1], x->time_s[row]);
        double seconds = rng_range(&r, .01, 150), left = seconds, got = 0, at = clock;
        for (int j = row; left > 0; j = j + 1 < x->n ? j + 1 : 1) {
            if (j == 1 && at > x->time_s[1]) at = x->time_s[0];
            double d = fmin(left, x->time_s[j] - at);
            got += d * x->mbps[j];
            left -= d;
            at += d;
        }
        ck_assert_double_eq_tol(ahead(w, k, row, clock, seconds), got / seconds,
                                1e-6 * (1 + got / seconds));
    }
    drop(w, t, v);
}

TEST(pools_have_what_was_asked_for)
{
    struct corpus c;
    struct trace *t;
    struct video *v;
    struct worlds *w = make(&c, &t, 5, 40, &v);
    ck_assert_int_eq(w->n_real, 1);
    ck_assert_int_eq(w->n_traces, 6);
    ck_assert_int_eq(w->n_videos, 41);
    ck_assert_ptr_eq(w->videos[0], v);
    int seen[VIEW_LEVELS + 1] = {0};
    for (int i = 1; i < w->n_videos; i++)
        seen[w->videos[i]->levels]++;
    ck_assert_int_gt(seen[2] + seen[3] + seen[4], 0);
    ck_assert_int_gt(seen[10] + seen[11] + seen[12], 0);
    drop(w, t, v);
}

/* Splices stand behind the recordings and count as such; without recordings there are none. */
TEST(splices_of_recordings)
{
    struct trace *t = small_trace();
    struct video *v = video_default(NULL);
    struct corpus c = {.name = "test", .n = 1, .traces = &t};
    struct worlds_cfg cfg = {.n_corpora = 1,
                             .corpora = {&c},
                             .splices = 5,
                             .links = 2,
                             .link_s = 60,
                             .video = v,
                             .seed = 3};
    struct worlds *w = worlds_new(&cfg, NULL);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->n_real, 6);
    ck_assert_int_eq(w->n_traces, 8);
    ck_assert_ptr_eq(w->traces[0], t);
    for (int i = 1; i < 6; i++) {
        ck_assert_int_eq(strncmp(w->traces[i]->name, "splice-", 7), 0);
        ck_assert_double_ge(w->traces[i]->time_s[w->traces[i]->n - 1], 60.0);
    }
    worlds_free(w);

    cfg.n_corpora = 0;
    w = worlds_new(&cfg, NULL);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->n_real, 0);
    ck_assert_int_eq(w->n_traces, 2);
    drop(w, t, v);
}

TEST(slow_traces_can_be_left_out)
{
    struct video *v = video_default(NULL);
    struct trace *t = small_trace(); /* mean 2.25 */
    struct corpus c = {.name = "test", .n = 1, .traces = &t};
    struct worlds_cfg cfg = {.n_corpora = 1, .corpora = {&c}, .video = v, .min_mbps = 2};
    struct worlds *w = worlds_new(&cfg, NULL);
    ck_assert_ptr_nonnull(w);
    worlds_free(w);
    cfg.min_mbps = 2.5;
    struct err e = {0};
    ck_assert_ptr_null(worlds_new(&cfg, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    video_free(v);
    trace_free(t);
}

static void *make_worlds(void *ctx, struct err *e)
{
    struct worlds_cfg cfg = {.links = 2, .link_s = 30, .video = ctx, .ladders = 2};
    return worlds_new(&cfg, e);
}

static void free_worlds(void *w)
{
    worlds_free(w);
}

TEST(memory)
{
    struct video *v = video_default(NULL);
    alloc_each_fails(make_worlds, free_worlds, v);
    video_free(v);
}

SUITE(abr_train_worlds, other_links_or_videos_are_told_apart, the_authors_keep_51_traces,
      ahead_by_hand, ahead_equals_walking, pools_have_what_was_asked_for,
      splices_of_recordings, slow_traces_can_be_left_out, memory);
