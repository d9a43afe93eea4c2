#include "serve/hintless/merge_exam.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/caution.h"
#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "abr/traces/corpus.h"
#include "learn/ckpt.h"
#include "support/alloc.h"

static struct policy *p;
static struct packed *w;
/* No ceiling: what a policy risks shows in its marks. */
static struct qoe qoe[QOE_PAPERS];

static void setup(void)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    p = policy_new(&cfg, NULL);
    w = packed_new(&cfg, NULL);
    for (int v = 0; v < QOE_PAPERS; v++)
        qoe[v] = qoe_papers[v].qoe;
}

static void teardown(void)
{
    packed_free(w);
    policy_free(p);
}

static struct merge_exam_marks marks_of(struct merge_exam *x, int level)
{
    struct merge_exam_marks m;
    memset(p->actor->theta, 0, sizeof *p->actor->theta * p->actor->n);
    for (int k = 0; k < p->cfg.experts; k++) {
        struct mix_range e = mix_expert(&p->actor->cfg, k);
        p->actor->theta[e.at + e.n - (size_t)p->cfg.actions + (size_t)level] = 50;
    }
    packed_load(w, p);
    ck_assert(merge_exam_play(&m, x, w, FEAT_FULL, &qoe[0], qoe, QOE_PAPERS));
    return m;
}

static struct merge_exam *make(int links, const char *recorded)
{
    struct err e = {0};
    struct merge_exam *x = merge_exam_new(links, recorded, p->cfg.actions, &e);
    ck_assert_msg(x != NULL, "%s", e.detail);
    return x;
}

START_TEST(who_loses_most_is_named)
{
    struct merge_exam *x = make(1, "traces");
    struct merge_exam_marks low = marks_of(x, 0), high = marks_of(x, 5),
                            again = marks_of(x, 5);
    ck_assert_mem_eq(&high, &again, sizeof high);
    int task = -1;
    ck_assert_double_eq(merge_exam_loss(&high, &high, QOE_PAPERS, NULL), 0);
    ck_assert_double_gt(merge_exam_loss(&high, &low, QOE_PAPERS, &task), 1);
    ck_assert_str_eq(qoe_papers[task].name, "paper-live"); /* whom stalls hurt most */
    /* the worse of both sets counts, and a set that is empty does not */
    struct merge_exam_marks a = low, b = low;
    b.merit[MERGE_EXAM_TRACES][1] += .5;
    b.merit[MERGE_EXAM_GENERATED][2] += .25;
    ck_assert_double_eq_tol(merge_exam_loss(&a, &b, QOE_PAPERS, &task), .5, 1e-12);
    ck_assert_int_eq(task, 1);
    merge_exam_free(x);

    x = make(1, NULL);
    struct merge_exam_marks alone = marks_of(x, 5);
    for (int v = 0; v < QOE_PAPERS; v++) {
        ck_assert_double_eq(alone.merit[MERGE_EXAM_GENERATED][v],
                            high.merit[MERGE_EXAM_GENERATED][v]);
        ck_assert_double_eq(alone.merit[MERGE_EXAM_TRACES][v], 0);
    }
    merge_exam_free(x);
}
END_TEST

/* By hand, on one set: the chunks of each session but its first. */
START_TEST(marks_are_those_of_an_independent_twin)
{
    struct merge_exam *x = make(1, NULL);
    struct merge_exam_marks is = marks_of(x, 0);
    struct corpus *c = corpus_generate(NULL, 1, 320, 22, NULL);
    struct video *video = video_default(NULL);
    struct decider decider = {.layout = FEAT_FULL};
    double gain = 0, room = 0;
    for (int i = 0; i < c->n; i++) {
        struct emu_world world = {video, c->traces[i], emu_cfg_default()};
        struct player q;
        player_start(&q, &world, 1, &qoe[0], -1);
        for (bool end = false; !end;) {
            bool first = q.view.last_level < 0;
            struct verdict d;
            int before = q.view.last_level;
            ck_assert(decide(&d, w, &decider, &q.view, -1));
            end = player_step(&q, d.level, 1);
            const struct view *v = &q.view;
            const struct qoe_ladder ladder = {v->ladder_kbps, video->level_points,
                                              v->levels, v->chunk_s};
            struct qoe_range r =
                qoe_chunk_range(&qoe[1], &ladder, v->throughput_kbps[v->n_history - 1]);
            if (first) continue;
            const struct qoe_level now = {v->ladder_kbps[d.level],
                                          video->level_points[d.level]},
                                   then = {v->ladder_kbps[before],
                                           video->level_points[before]};
            gain += qoe_chunk(&qoe[1], now, then, v->chunk_s, q.last.stall_s,
                              v->ladder_kbps[0])
                        .reward -
                    r.low;
            room += r.high - r.low;
        }
    }
    ck_assert_double_eq_tol(is.merit[MERGE_EXAM_GENERATED][1], gain / room, 1e-12);
    video_free(video);
    corpus_free(c);
    merge_exam_free(x);
}
END_TEST

/* The merit for qoe[1] in sessions of `hint`, on the links of make(1, NULL). */
static double merit_of(const struct packed *weights, struct decider *d,
                       const struct qoe *hint, bool wary)
{
    struct corpus *c = corpus_generate(NULL, 1, 320, 22, NULL);
    struct video *video = video_default(NULL);
    struct merge_score_sums sums = {{0}, {0}};
    for (int i = 0; i < c->n; i++) {
        struct emu_world world = {video, c->traces[i], emu_cfg_default()};
        struct player q;
        player_start(&q, &world, 1, hint, -1);
        for (bool end = false; !end;) {
            bool first = q.view.last_level < 0;
            struct view v = q.view;
            if (wary) caution_apply(&v, NULL, NULL);
            struct verdict got;
            ck_assert(decide(&got, weights, d, &v, -1));
            end = player_step(&q, got.level, 1);
            if (!first) merge_score_add(&sums, qoe, QOE_PAPERS, &q);
        }
    }
    video_free(video);
    corpus_free(c);
    return sums.gain[1] / sums.room[1];
}

/* A service lowers the forecast of sessions with a ceiling, so the exam does as well. */
START_TEST(decisions_are_as_cautious_as_those_served)
{
    struct err e = {0};
    struct policy *shipped =
        ckpt_load("deploy/policy/moe.safetensors", NULL, NULL, NULL, &e);
    ck_assert_msg(shipped != NULL, "%s", e.detail);
    struct packed *weights = packed_new(&shipped->cfg, NULL);
    packed_load(weights, shipped);
    struct decider d;
    ck_assert_int_eq(decide_init(&d, &shipped->cfg, NULL), 0);
    struct merge_exam *x = make(1, NULL);
    struct merge_exam_marks is;
    struct qoe hint = *qoe_standard();
    ck_assert_double_gt(hint.stall_ratio_max, 0);
    ck_assert(merge_exam_play(&is, x, weights, d.layout, &hint, qoe, QOE_PAPERS));
    double got = is.merit[MERGE_EXAM_GENERATED][1];
    ck_assert_double_eq_tol(got, merit_of(weights, &d, &hint, true), 1e-12);
    ck_assert(fabs(got - merit_of(weights, &d, &hint, false)) > 1e-4);
    merge_exam_free(x);
    packed_free(weights);
    policy_free(shipped);
}
END_TEST

START_TEST(weights_that_are_not_finite_fail)
{
    struct merge_exam *x = make(1, NULL);
    struct merge_exam_marks m = marks_of(x, 1);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] = NAN;
    packed_load(w, p);
    ck_assert(!merge_exam_play(&m, x, w, FEAT_FULL, &qoe[0], qoe, QOE_PAPERS));
    merge_exam_free(x);
}
END_TEST

static void *make_any(void *ctx, struct err *e)
{
    return merge_exam_new(1, ctx, 6, e);
}

static void destroy(void *x)
{
    merge_exam_free(x);
}

START_TEST(what_is_missing_is_told)
{
    struct err e = {0};
    ck_assert_ptr_null(merge_exam_new(1, NULL, 3, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    e = (struct err){0};
    ck_assert_ptr_null(merge_exam_new(1, "no/such/folder", 6, &e));
    ck_assert_int_lt(e.code, 0);
    ck_assert_int_gt(alloc_each_fails(make_any, destroy, NULL), 10);

    struct merge_exam *x = make(1, NULL);
    (void)marks_of(x, 1);
    struct merge_exam_marks m;
    alloc_watch();
    bool ok = merge_exam_play(&m, x, w, FEAT_FULL, &qoe[0], qoe, QOE_PAPERS);
    long calls = alloc_calls();
    ck_assert(ok);
    ck_assert_int_eq(calls, 0);
    merge_exam_free(x);
}
END_TEST

Suite *suite_serve_hintless_merge_exam(void);
Suite *suite_serve_hintless_merge_exam(void)
{
    Suite *s = suite_create("serve/merge_exam");
    TCase *t = tcase_create("serve/merge_exam");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, who_loses_most_is_named);
    tcase_add_test(t, marks_are_those_of_an_independent_twin);
    tcase_add_test(t, decisions_are_as_cautious_as_those_served);
    tcase_add_test(t, weights_that_are_not_finite_fail);
    tcase_add_test(t, what_is_missing_is_told);
    suite_add_tcase(s, t);
    return s;
}
