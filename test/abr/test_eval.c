#include "abr/eval.h"

#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 3 chunks of 1 s at 1 and 2 Mbit/s over a constant 8 Mbit/s, 100 ms round trip, no
 * overhead: level 0 arrives in .125 + .1 = .225 s, level 1 in .35 s. */
static struct video *small_video(void)
{
    struct err e = {0};
    const double ladder[] = {1000, 2000};
    struct video *v = video_new(2, 3, 1, ladder, &e);
    ck_assert_ptr_nonnull(v);
    for (int i = 0; i < 6; i++)
        v->bytes[i] = i % 2 ? 250000 : 125000;
    return v;
}

static struct corpus *constant_links(int n)
{
    struct err e = {0};
    struct corpus *c = calloc(1, sizeof *c);
    c->n = n;
    c->traces = calloc((size_t)n, sizeof *c->traces);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "link-%d", i);
        struct trace *t = c->traces[i] = trace_new(3, name, &e);
        ck_assert_ptr_nonnull(t);
        for (int j = 0; j < 3; j++) {
            t->time_s[j] = 10 * j;
            t->mbps[j] = 8 * (1 + i);
        }
    }
    return c;
}

static struct eval_cfg small_cfg(void)
{
    struct eval_cfg cfg = eval_cfg_default();
    cfg.emu.rtt_s = .1;
    cfg.emu.payload = 1;
    return cfg;
}

static struct eval_row score(const char *policy, const char *profile,
                             const struct corpus *corpus, const struct video *video,
                             const struct eval_cfg *cfg)
{
    struct eval_row row;
    struct err e = {0};
    const struct algo_ctx ctx = {.seed = 5};
    int rc = eval_run(&row, policy, &ctx, profile, &qoe_find(profile)->qoe, corpus, video,
                      cfg, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return row;
}

TEST(one_trace_by_hand)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(1);
    struct eval_cfg cfg = small_cfg();

    /* chunk 0 at level 1 does not count, its switch does: (1 - 1) + 1 over 2 chunks */
    struct eval_row r = score("fixed-0", "pensieve", corpus, video, &cfg);
    ck_assert_int_eq(r.n, 1);
    ck_assert_str_eq(r.policy, "fixed-0");
    ck_assert_str_eq(r.profile, "pensieve");
    ck_assert_double_eq_tol(r.mean_qoe, .5, 1e-12);
    ck_assert_double_eq_tol(r.bitrate_mbps, 1, 1e-12);
    ck_assert_double_eq_tol(r.switch_mbps, .5, 1e-12);
    ck_assert_double_eq_tol(r.stall_s, 0, 1e-12);
    ck_assert_double_eq_tol(r.ci_lo, .5, 1e-12);
    eval_row_free(&r);

    /* counted: the start's .225 s cost as a stall, but are none, and nothing switches */
    cfg.count_first = true;
    r = score("fixed-0", "pensieve", corpus, video, &cfg);
    ck_assert_double_eq_tol(r.mean_qoe, (3 - 4.3 * .225) / 3, 1e-12);
    ck_assert_double_eq_tol(r.stall_s, 0, 1e-12);
    ck_assert_double_eq_tol(r.startup_median_s, .225, 1e-12);
    ck_assert_double_eq_tol(r.switch_mbps, 0, 1e-12);
    eval_row_free(&r);
    video_free(video);
    corpus_free(corpus);
}

/* 8 Mbit/s links, then 1 Mbit/s: there level 1 takes 2 s + .1 and stalls, once the first
 * chunk's second is played, for 1.1 s each. */
TEST(stalls_are_counted)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(2);
    for (int j = 0; j < 3; j++)
        corpus->traces[1]->mbps[j] = 1;
    struct eval_cfg cfg = small_cfg();
    struct eval_row r = score("fixed-1", "pensieve", corpus, video, &cfg);
    ck_assert_double_eq_tol(r.stalled, .5,
                            1e-12); /* all of one trace's, none of the other's */
    ck_assert_double_eq_tol(r.trace_stall[0], 0, 1e-12);
    ck_assert_double_eq_tol(r.trace_stall[1], 1.1, 1e-9);
    ck_assert_double_eq_tol(r.stall_s, .55, 1e-9);
    ck_assert_double_eq_tol(r.session_stall_s, 1.1, 1e-9); /* 2 x 1.1 of one in two */

    struct eval_row low = score("fixed-0", "pensieve", corpus, video, &cfg);
    double mean, lo, hi;
    eval_paired_stall(&mean, &lo, &hi, &low, &r, 1);
    ck_assert_double_eq_tol(mean, low.stall_s - r.stall_s, 1e-12);
    ck_assert(lo <= mean && mean <= hi && hi <= 1e-12);
    eval_row_free(&low);

    cfg.resamples = 0;
    low = score("fixed-0", "pensieve", corpus, video, &cfg);
    ck_assert(low.ci_lo == low.mean_qoe && low.ci_hi == low.mean_qoe);
    eval_row_free(&low);
    eval_row_free(&r);
    video_free(video);
    corpus_free(corpus);
}

/* 8 Mbit/s, and 1 Mbit/s where even level 0 takes 1.1 s for each second. */
TEST(what_viewers_see_by_hand)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(2);
    for (int j = 0; j < 3; j++)
        corpus->traces[1]->mbps[j] = 1;
    struct eval_cfg cfg = small_cfg();
    double points[2];
    video_points(points, video, 1);

    /* chunk 0 at level 1 is not counted, but played, and the next one is a switch */
    struct eval_row r = score("fixed-0", "standard", corpus, video, &cfg);
    ck_assert_double_eq_tol(r.quality, points[0], 1e-9);
    ck_assert_double_eq_tol(r.switches_per_min, 60 / 3., 1e-9);
    ck_assert_double_eq_tol(r.stall_ratio, .2 / (.2 + 6), 1e-9);
    ck_assert_int_eq(r.link_bound, 1);
    ck_assert(r.seen[1].link_bound && !r.seen[0].link_bound);
    ck_assert_double_eq_tol(r.stall_ratio_carried, 0, 1e-12);
    ck_assert(isnan(r.startup_median_s) && isnan(r.startup_p90_s));
    eval_row_free(&r);

    cfg.count_first = true; /* start-ups of .35 and 2.1 s, stalls of 2 x 1.1 s */
    r = score("fixed-1", "standard", corpus, video, &cfg);
    ck_assert_double_eq_tol(r.quality, points[1], 1e-9);
    ck_assert_double_eq_tol(r.switches_per_min, 0, 1e-12);
    ck_assert_double_eq_tol(r.stall_ratio, 2.2 / (2.2 + 6), 1e-9);
    ck_assert_double_eq_tol(r.startup_median_s, (.35 + 2.1) / 2, 1e-9);
    ck_assert_double_eq_tol(r.startup_p90_s, .35 + .9 * 1.75, 1e-9);
    eval_row_free(&r);

    /* a profile without a ceiling is measured by that of `standard` */
    r = score("fixed-0", "pensieve", corpus, video, &cfg);
    ck_assert_int_eq(r.link_bound, 1);
    eval_row_free(&r);
    struct qoe patient = *qoe_standard();
    patient.stall_ratio_max = .2 / 3.2 + 1e-6;
    struct err e = {0};
    ck_assert_int_eq(
        eval_run(&r, "fixed-0", NULL, "p", &patient, corpus, video, &cfg, &e), 0);
    ck_assert_int_eq(r.link_bound, 0);
    ck_assert_double_eq_tol(r.stall_ratio_carried, r.stall_ratio, 1e-12);
    eval_row_free(&r);

    /* without a link that carries the lowest level there is nothing beside the whole */
    for (int j = 0; j < 3; j++)
        corpus->traces[0]->mbps[j] = .5;
    r = score("fixed-0", "standard", corpus, video, &cfg);
    ck_assert_int_eq(r.link_bound, 2);
    ck_assert(isnan(r.stall_ratio_carried) && r.stall_ratio > .1);
    eval_row_free(&r);
    video_free(video);
    corpus_free(corpus);
}

TEST(shares_of_the_oracle)
{
    double best[4] = {2, 4, 1, 3}, half[4] = {1, 2, .5, 1.5}, bound[4] = {2, 4, 1.1, 3};
    struct eval_row o = {.n = 4, .trace_qoe = best, .trace_bound = bound},
                    a = {.n = 4, .trace_qoe = half};
    double share, lo, hi;
    eval_share(&share, &lo, &hi, &a, &o, 1);
    ck_assert_double_eq_tol(share, .5, 1e-12);
    ck_assert_double_eq_tol(lo, .5, 1e-12);
    ck_assert_double_eq_tol(hi, .5, 1e-12);
    double base[4] = {1, 0, 0, 1};
    struct eval_row b = {.n = 4, .trace_qoe = base};
    eval_gap_closed(&share, &lo, &hi, &a, &b, &o, 1); /* (0 + 2 + .5 + .5) / (1+4+1+2) */
    ck_assert_double_eq_tol(share, 3. / 8, 1e-12);
    ck_assert(lo >= 0 && lo < share && hi > share && hi <= .5 + 1e-12);
    ck_assert_int_eq(eval_above_bound(&a, &o), 0);
    half[2] = 1.05; /* above the oracle's plan, below its bound */
    ck_assert_int_eq(eval_above_bound(&a, &o), 0);
    half[2] = 1.2;
    half[0] = 2 + 1e-12; /* rounding */
    ck_assert_int_eq(eval_above_bound(&a, &o), 1);
}

TEST(excluded_traces_are_passed_over)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(4);
    struct eval_cfg cfg = small_cfg();
    struct eval_row all = score("random", "pensieve", corpus, video, &cfg);

    const char *names[] = {"link-1", "not-there", "link-0", "link-3"};
    cfg.exclude = names;
    cfg.n_exclude = 2;
    struct eval_row some = score("random", "pensieve", corpus, video, &cfg);
    ck_assert_int_eq(some.n, 3);
    ck_assert(some.trace_qoe[0] == all.trace_qoe[0]);
    ck_assert(some.trace_qoe[1] == all.trace_qoe[2]); /* the same draws as before */
    ck_assert(some.trace_qoe[2] == all.trace_qoe[3]);
    eval_row_free(&all);
    eval_row_free(&some);

    corpus->n = 2;
    cfg.n_exclude = 3;
    struct err e = {0};
    ck_assert_int_eq(eval_run(&some, "rate", NULL, "p", &qoe_find("paper-live")->qoe,
                              corpus, video, &cfg, &e),
                     ERR_ABSENT);
    corpus->n = 4;
    video_free(video);
    corpus_free(corpus);
}

TEST(thread_count_changes_nothing)
{
    struct err e = {0};
    struct video *video = video_default(&e);
    struct corpus *corpus = corpus_generate("3g-commute", 13, 320, 3, &e);
    ck_assert_msg(video && corpus, "%s %s", e.field, e.detail);
    const char *const policies[] = {"random", "mpc"};
    for (int p = 0; p < 2; p++) {
        struct eval_cfg cfg = eval_cfg_default();
        struct eval_row one = score(policies[p], "paper-live", corpus, video, &cfg);
        for (cfg.threads = 2; cfg.threads < 40; cfg.threads *= 3) {
            struct eval_row many = score(policies[p], "paper-live", corpus, video, &cfg);
            ck_assert_int_eq(many.n, one.n);
            for (int i = 0; i < one.n; i++)
                ck_assert(many.trace_qoe[i] == one.trace_qoe[i]);
            ck_assert(many.mean_qoe == one.mean_qoe && many.ci_lo == one.ci_lo);
            ck_assert(many.bitrate_mbps == one.bitrate_mbps);
            eval_row_free(&many);
        }
        eval_row_free(&one);
    }
    video_free(video);
    corpus_free(corpus);
}

struct watch {
    int calls, stop_at;
    double last;
};

static bool look(void *ctx, double share)
{
    struct watch *w = ctx;
    ck_assert(share > w->last && share <= 1);
    w->last = share;
    return ++w->calls == w->stop_at;
}

TEST(progress_is_told_and_can_stop)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(9);
    struct eval_cfg cfg = small_cfg();
    struct watch w = {0};
    cfg.progress = look;
    cfg.progress_ctx = &w;
    struct eval_row r = score("rate", "paper-live", corpus, video, &cfg);
    ck_assert_int_gt(w.calls, 1);
    ck_assert(w.last == 1);
    eval_row_free(&r);

    w = (struct watch){.stop_at = 1};
    struct err e = {0};
    ck_assert_int_eq(eval_run(&r, "rate", NULL, "p", &qoe_find("paper-live")->qoe, corpus,
                              video, &cfg, &e),
                     EVAL_STOPPED);
    ck_assert_int_eq(e.code, 0);
    ck_assert_ptr_null(r.trace_qoe);
    video_free(video);
    corpus_free(corpus);
}

TEST(failures_are_told)
{
    struct video *video = small_video();
    struct corpus *corpus = constant_links(3);
    struct eval_cfg cfg = small_cfg();
    const struct qoe *qoe = &qoe_find("paper-live")->qoe;
    struct eval_row r;
    struct err e = {0};
    cfg.threads = 2;
    ck_assert_int_eq(eval_run(&r, "nope", NULL, "p", qoe, corpus, video, &cfg, &e),
                     ERR_ABSENT);
    e = (struct err){0};
    cfg.emu.buffer_max_s = .5; /* less than a chunk */
    ck_assert_int_eq(eval_run(&r, "rate", NULL, "p", qoe, corpus, video, &cfg, &e),
                     ERR_RANGE);
    e = (struct err){0};
    cfg = small_cfg();
    video->chunks = 1;
    ck_assert_int_eq(eval_run(&r, "rate", NULL, "p", qoe, corpus, video, &cfg, &e),
                     ERR_RANGE);
    cfg.count_first = true;
    r = score("rate", "paper-live", corpus, video, &cfg);
    eval_row_free(&r);
    video_free(video);
    corpus_free(corpus);
}

/* Traces differ by units, policies by tenths: only pairing shows it. */
TEST(paired_intervals_see_through_the_traces)
{
    double base[50], better[50], scaled[50], worse[50];
    for (int i = 0; i < 50; i++) {
        base[i] = i % 10 - 2;
        better[i] = base[i] + .1;
        scaled[i] = base[i] * 1.25;
        worse[i] = -base[i];
    }
    struct eval_row a = {.n = 50, .trace_qoe = better}, b = {.n = 50, .trace_qoe = base},
                    c = {.n = 50, .trace_qoe = scaled}, d = {.n = 50, .trace_qoe = worse};
    double mean, lo, hi;
    eval_paired(&mean, &lo, &hi, &a, &b, 1);
    ck_assert_double_eq_tol(mean, .1, 1e-12);
    ck_assert_double_eq_tol(lo, .1, 1e-12);
    ck_assert_double_eq_tol(hi, .1, 1e-12);

    eval_paired(&mean, &lo, &hi, &b, &d, 1); /* 2 * (mean 2.5, sd 2.9): 5 +- 1.6 */
    ck_assert_double_eq_tol(mean, 5, 1e-12);
    ck_assert(lo > 3 && lo < 4 && hi > 6 && hi < 7);

    eval_gain(&mean, &lo, &hi, &c, &b, 1);
    ck_assert_double_eq_tol(mean, .25, 1e-12);
    ck_assert_double_eq_tol(lo, .25, 1e-9);
    ck_assert_double_eq_tol(hi, .25, 1e-9);
    eval_gain(&mean, &lo, &hi, &b, &d, 1); /* (2.5 + 2.5) / |-2.5|: up is up */
    ck_assert_double_eq_tol(mean, 2, 1e-12);

    const struct eval_row *over[] = {&c, &b}, *under[] = {&b, &b};
    eval_gain_mean(&mean, &lo, &hi, over, under, 2, 1);
    ck_assert_double_eq_tol(mean, .125, 1e-12);
    eval_ratio(&mean, &lo, &hi, over, under, 2, 1); /* (1.25 + 1) / 2 */
    ck_assert_double_eq_tol(mean, 1.125, 1e-12);
    ck_assert_double_eq_tol(lo, 1.125, 1e-9);
    ck_assert_double_eq_tol(hi, 1.125, 1e-9);
}

/* Figures of the peers' comparison, see the README of the bundled corpus. */
TEST(baselines_on_the_hsdpa_test_traces)
{
    const char *dir = shared_path("traces/pensieve-test-hsdpa-142");
    const char *sizes = shared_path("video/envivio-dash3");
    if (!dir || !sizes) return;
    struct err e = {0};
    struct corpus *corpus = corpus_load(dir, CORPUS_ALL, &e);
    struct video *video = video_load(sizes, NULL, &e);
    ck_assert_msg(corpus && video, "%s %s", e.field, e.detail);
    ck_assert_int_eq(corpus->n, 142);
    struct eval_cfg cfg = eval_cfg_default();

    struct eval_row r = score("buffer", "pensieve", corpus, video, &cfg);
    ck_assert_double_eq_tol(r.mean_qoe, .639, .001);
    eval_row_free(&r);
    r = score("mpc", "pensieve", corpus, video, &cfg);
    ck_assert_double_ge(r.mean_qoe, .89);
    eval_row_free(&r);
    r = score("bola", "pensieve", corpus, video, &cfg);
    ck_assert_double_ge(r.mean_qoe, .8);
    eval_row_free(&r);
    video_free(video);
    corpus_free(corpus);
}

/* Two sessions of their own: 2 of 3 chunks on a link of 8 Mbit/s, at the levels 1 and 0. */
TEST(sessions_are_played_as_they_are)
{
    static const double ladder[] = {1000, 2000};
    static const int levels[2][2] = {{0, 1}, {1, 1}};
    struct err e = {0};
    struct corpus *c = constant_links(2);
    struct video *v = video_new(2, 3, 4, ladder, &e);
    for (int i = 0; i < 6; i++)
        v->bytes[i] = i % 2 ? 1000000 : 500000;
    struct eval_cfg cfg = small_cfg();
    cfg.emu.rtt_s = 0;
    struct eval_session s[2];
    for (int i = 0; i < 2; i++)
        s[i] = (struct eval_session){.trace = c->traces[0],
                                     .video = v,
                                     .emu = cfg.emu,
                                     .qoe = *qoe_standard(),
                                     .chunks = 2,
                                     .levels = levels[i]};
    struct eval_row row;
    struct algo_ctx ctx = {.seed = 5};
    ck_assert_int_eq(eval_run_sessions(&row, EVAL_RECORDED, &ctx, "own", s, 2, &cfg, &e),
                     0);
    ck_assert_int_eq(row.n, 2);
    /* 0.5 MB and 1 MB at 1 MB/s */
    ck_assert_double_eq_tol(row.seen[0].startup_s, .5, 1e-9);
    ck_assert_double_eq_tol(row.seen[1].startup_s, 1, 1e-9);
    ck_assert_double_eq(row.seen[0].media_s, 8);
    ck_assert_double_eq_tol(row.seen[0].switches_per_min, 60 / 8., 1e-9);
    ck_assert_double_eq(row.seen[1].switches_per_min, 0);
    ck_assert_double_eq_tol(row.bitrate_mbps, 1.75, 1e-9);
    ck_assert_int_eq(row.link_bound, 0);
    eval_row_free(&row);
    /* viewers have weights of their own: the second one values pictures twice as much */
    s[1].qoe.mu_quality *= 2;
    ck_assert_int_eq(eval_run_sessions(&row, "fixed-0", &ctx, "own", s, 2, &cfg, &e), 0);
    double start = s[0].qoe.mu_start * .5 / 2; /* per chunk */
    ck_assert_double_eq_tol(row.trace_qoe[1] + start, 2 * (row.trace_qoe[0] + start),
                            1e-9);
    eval_row_free(&row);
    /* a player that knows the sizes takes level 1, which is as small as level 0; one that does not know them
     * goes by the bitrates */
    static const uint8_t sized[2][2] = {{1, 1}, {0, 0}};
    for (int i = 0; i < 6; i++)
        v->bytes[i] = 500000;
    v->ladder_kbps[1] = 7.5e3;
    for (int i = 0; i < 2; i++)
        s[i].sized = sized[i];
    ck_assert_int_eq(eval_run_sessions(&row, "hyb", &ctx, "own", s, 2, &cfg, &e), 0);
    ck_assert_double_gt(row.seen[0].quality, row.seen[1].quality);
    eval_row_free(&row);
    video_free(v);
    corpus_free(c);
}

SUITE_WITHIN(abr_eval, 60, one_trace_by_hand, stalls_are_counted,
             what_viewers_see_by_hand, shares_of_the_oracle,
             excluded_traces_are_passed_over, thread_count_changes_nothing,
             progress_is_told_and_can_stop, failures_are_told,
             paired_intervals_see_through_the_traces, baselines_on_the_hsdpa_test_traces,
             sessions_are_played_as_they_are);
