#include "abr/eval_sampled.h"

#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Uniform on the simplex: each weight has mean 1/3 and variance 1/18, and is below x with
 * probability 1 - (1 - x)^2. */
TEST(weights_are_uniform_on_the_simplex)
{
    enum { N = 20000 };
    double sum[3] = {0}, square[3] = {0};
    int small = 0;
    for (int i = 0; i < N; i++) {
        struct qoe q = eval_sampled_weights(7, i, QOE_LOG);
        const double mu[3] = {q.mu_quality, q.mu_switch, q.mu_stall};
        ck_assert_double_eq_tol(mu[0] + mu[1] + mu[2], 1, 1e-12);
        ck_assert_int_eq(q.utility, QOE_LOG);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_ge(mu[k], 0);
            sum[k] += mu[k] / N;
            square[k] += mu[k] * mu[k] / N;
        }
        small += mu[2] < .2;
    }
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(sum[k], 1. / 3, .01);
        ck_assert_double_eq_tol(square[k] - sum[k] * sum[k], 1. / 18, .003);
    }
    ck_assert_double_eq_tol((double)small / N, 1 - .8 * .8, .015);
    struct qoe a = eval_sampled_weights(7, 3, QOE_LINEAR),
               b = eval_sampled_weights(8, 3, QOE_LINEAR);
    ck_assert_double_ne(a.mu_quality, b.mu_quality);
}

/* ln w / ln 4 is uniform in -1 .. 1: mean 0, variance 1/3; independent of the other weights. */
TEST(points_are_log_uniform_around_the_standard)
{
    enum { N = 20000 };
    double sum[QOE_WEIGHTS] = {0}, square[QOE_WEIGHTS] = {0}, product = 0;
    for (int i = 0; i < N; i++) {
        struct qoe q = eval_sampled_weights(7, i, QOE_POINTS);
        ck_assert_int_eq(q.utility, QOE_POINTS);
        double w[QOE_WEIGHTS];
        qoe_weights(w, &q);
        for (int k = 0; k < QOE_WEIGHTS; k++) {
            double x = log(w[k]) / log(4);
            ck_assert(x >= -1 - 1e-9 && x <= 1 + 1e-9);
            sum[k] += x / N;
            square[k] += x * x / N;
        }
        product += log(w[0]) * log(w[2]) / N;
    }
    for (int k = 0; k < QOE_WEIGHTS; k++) {
        ck_assert_double_eq_tol(sum[k], 0, .02);
        ck_assert_double_eq_tol(square[k], 1. / 3, .01);
    }
    ck_assert_double_eq_tol(product, 0, .03);
}

/* Three draws on four traces, two bars: ahead of both by 1 everywhere, level with the
 * better, behind one of them by 2. */
TEST(figures_by_hand)
{
    const double own[3][4] = {{3, 4, 5, 6}, {1, 1, 1, 1}, {0, 1, 2, 3}};
    const double bars[2][3][4] = {{{2, 3, 4, 5}, {1, 1, 1, 1}, {0, 0, 0, 0}},
                                  {{1, 1, 1, 1}, {0, 0, 0, 0}, {2, 3, 4, 5}}};
    struct eval_sampled d = {.n = 3, .n_traces = 4, .draw = calloc(3, sizeof *d.draw)};
    for (int i = 0; i < 3; i++)
        d.draw[i].qoe.mu_quality = i;
    struct err e = {0};
    ck_assert_int_eq(eval_sampled_judge(&d, &own[0][0], &bars[0][0][0], 2, 1, &e), 0);

    ck_assert_double_eq_tol(d.share.mean, 2. / 3, 1e-12);
    ck_assert_double_eq_tol(d.diff.mean, (1 + 0 - 2) / 3., 1e-12);
    ck_assert_int_eq(d.below, 1);
    /* three draws resampled: none or all of them may be the bad one, (1/3)^3 each way of
     * 1,000, so the ends are 0 or 1/3 and 1 */
    ck_assert(d.share.lo <= 1. / 3 + 1e-12 && d.share.hi > 1 - 1e-12);

    static const double diff[3] = {-2, 0, 1}, quality[3] = {2, 1, 0};
    static const int bar[3] = {1, 0, 0};
    for (int i = 0; i < 3; i++) { /* the worst first */
        const struct eval_sampled_draw *w = &d.draw[i];
        ck_assert_double_eq_tol(w->diff.mean, diff[i], 1e-12);
        ck_assert_double_eq_tol(w->diff.lo, diff[i], 1e-12); /* the same on all traces */
        ck_assert_double_eq_tol(w->diff.hi, diff[i], 1e-12);
        ck_assert_double_eq(w->qoe.mu_quality, quality[i]);
        ck_assert_int_eq(w->bar, bar[i]);
        ck_assert_double_eq_tol(w->mean - w->bar_mean, diff[i], 1e-12);
    }
    free(d.draw);
}

/* Through the emulator: the same as asking eval for each draw. */
TEST(plays_every_draw)
{
    struct err e = {0};
    struct video *video = video_default(&e);
    struct corpus *corpus = corpus_generate("3g-commute", 5, 320, 3, &e);
    ck_assert_msg(video && corpus, "%s", e.detail);
    const char *policies[] = {"rate", "bola"}, *bars[] = {"buffer", "bola"};
    struct eval_cfg eval = eval_cfg_default();
    eval.threads = 2;
    struct eval_sampled_cfg cfg = {.n = 6,
                                   .seed = 4,
                                   .policies = policies,
                                   .n_policies = 2,
                                   .bars = bars,
                                   .n_bars = 2};
    struct eval_sampled d[2];
    ck_assert_int_eq(eval_sampled_run(d, &cfg, NULL, corpus, video, &eval, &e), 0);
    for (int i = 0; i < 6; i++) {
        struct qoe qoe = eval_sampled_weights(4, i, QOE_LINEAR);
        const char *const names[] = {"rate", "buffer", "bola"};
        double mean[3];
        for (int k = 0; k < 3; k++) {
            struct eval_row row;
            ck_assert_int_eq(
                eval_run(&row, names[k], NULL, "p", &qoe, corpus, video, &eval, &e), 0);
            mean[k] = row.mean_qoe;
            eval_row_free(&row);
        }
        int at = 0;
        while (memcmp(&d[0].draw[at].qoe, &qoe, 3 * sizeof(double)) != 0)
            ck_assert_int_lt(++at, 6);
        ck_assert_double_eq_tol(d[0].draw[at].mean, mean[0], 1e-12);
        ck_assert_double_eq_tol(d[0].draw[at].bar_mean, fmax(mean[1], mean[2]), 1e-12);
        ck_assert_int_eq(d[0].draw[at].bar, mean[2] > mean[1]);
    }
    ck_assert_int_eq(d[0].n_traces, 5);
    /* bola against the better of buffer and itself is never above */
    ck_assert_double_le(d[1].diff.mean, 0);
    ck_assert_double_eq_tol(d[1].draw[5].diff.mean, 0, 1e-12);
    eval_sampled_free(d, 2);

    bars[1] = "nope";
    ck_assert_int_eq(eval_sampled_run(d, &cfg, NULL, corpus, video, &eval, &e),
                     ERR_ABSENT);
    video_free(video);
    corpus_free(corpus);
}

static bool stop_late(void *ctx, double share)
{
    double *last = ctx;
    ck_assert_double_gt(share, *last);
    *last = share;
    return share > .6;
}

TEST(can_be_stopped)
{
    struct err e = {0};
    struct video *video = video_default(&e);
    struct corpus *corpus = corpus_generate("3g-commute", 3, 320, 3, &e);
    const char *policies[] = {"rate"}, *bars[] = {"buffer"};
    double last = 0;
    struct eval_cfg eval = eval_cfg_default();
    eval.progress = stop_late;
    eval.progress_ctx = &last;
    struct eval_sampled_cfg cfg = {
        .n = 5, .policies = policies, .n_policies = 1, .bars = bars, .n_bars = 1};
    struct eval_sampled d;
    ck_assert_int_eq(eval_sampled_run(&d, &cfg, NULL, corpus, video, &eval, &e),
                     EVAL_STOPPED);
    ck_assert_ptr_null(d.draw);
    ck_assert_int_eq(e.code, 0);
    video_free(video);
    corpus_free(corpus);
}

SUITE(abr_eval_sampled, weights_are_uniform_on_the_simplex,
      points_are_log_uniform_around_the_standard, figures_by_hand, plays_every_draw,
      can_be_stopped);
