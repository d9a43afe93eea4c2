#include "serve/learner/vitals.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/feat.h"
#include "learn/plasticity.h"
#include "support/alloc.h"

static struct policy *start;
static struct exam *exam;

static void setup(void)
{
    struct err e = {0};
    struct policy_cfg cfg = policy_cfg_default(feat_dim(FEAT_FULL));
    start = policy_new(&cfg, &e);
    policy_init(start, 3);
    exam = exam_new(&cfg, &e);
    ck_assert_ptr_nonnull(exam);
    ck_assert(isfinite(exam_score(exam, start)));
}

static void teardown(void)
{
    exam_free(exam);
    policy_free(start);
}

START_TEST(they_are_the_plasticity_of_what_the_exam_meets)
{
    struct err e = {0};
    struct vitals *v = vitals_new(exam, start, &e);
    ck_assert_ptr_nonnull(v);
    struct vitals_stats s;
    vitals_measure(&s, v, start);
    ck_assert(s.known);

    /* the same by hand */
    float *obs = malloc(256 * (size_t)start->cfg.obs_dim * sizeof *obs);
    int n = exam_observe(exam, obs, 256);
    ck_assert_int_gt(n, 200);
    ck_assert_int_le(n, 256);
    struct plasticity_ws *ws = plasticity_ws_new(&start->cfg, 256, &e);
    struct plasticity *p = malloc(sizeof *p);
    struct plasticity_batch b = {.obs = obs, .n = n};
    ck_assert_int_eq(plasticity_measure(p, ws, start, &b, &e), 0);
    ck_assert_double_eq(s.actor.dormant, p->actor.mean.dormant[1]);
    ck_assert_double_eq(s.actor.rank, p->actor.mean.rank);
    ck_assert_double_eq(s.critic.effective, p->critic.mean.effective);
    ck_assert_double_eq(s.critic.weight_rms, p->critic.mean_weight[0].rms);
    ck_assert_int_eq(s.actor.reached, p->actor.reached);
    ck_assert_double_gt(s.actor.rank, 1);

    /* and expert by expert */
    ck_assert_int_eq(s.actor.experts, 3);
    ck_assert_int_eq(s.actor.layers, 2);
    double share = 0, units = 0, dormant = 0;
    for (int k = 0; k < 3; k++) {
        const struct plasticity_expert *x = &p->critic.expert[k];
        const struct vitals_expert *got = &s.critic.expert[k];
        ck_assert_int_eq(got->reached, x->rows > 0);
        ck_assert_double_eq(got->head_rms, x->weight[2].rms);
        ck_assert_double_eq(got->layer[1].weight_rms, x->weight[1].rms);
        share += got->share;
        if (!got->reached) continue;
        ck_assert_double_eq(got->layer[1].rank, x->layer[1].rank);
        units += 2;
        dormant += got->layer[0].dormant + got->layer[1].dormant;
    }
    ck_assert_double_eq_tol(share, 1, 1e-9);
    ck_assert_double_eq_tol(dormant / units, s.critic.dormant, 1e-12);
    free(p);
    plasticity_ws_free(ws);
    free(obs);
    vitals_free(v);
}
END_TEST

START_TEST(dead_weights_show)
{
    struct err e = {0};
    struct vitals *v = vitals_new(exam, start, &e);
    struct vitals_stats s;
    memset(start->actor->theta, 0, start->actor->n * sizeof(float));
    vitals_measure(&s, v, start);
    ck_assert(s.known);
    ck_assert_double_eq(s.actor.dormant, 1);
    ck_assert_double_eq(s.actor.rank, 0);
    ck_assert_double_eq(s.actor.weight_rms, 0);

    start->actor->theta[0] = NAN;
    vitals_measure(&s, v, start);
    ck_assert(!s.known);
    vitals_free(v);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return vitals_new(exam, start, e);
}

static void destroy(void *made)
{
    vitals_free(made);
}

START_TEST(memory_may_run_out)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 2);
}
END_TEST

Suite *suite_serve_learner_vitals(void);
Suite *suite_serve_learner_vitals(void)
{
    Suite *s = suite_create("serve/vitals");
    TCase *t = tcase_create("vitals");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, they_are_the_plasticity_of_what_the_exam_meets);
    tcase_add_test(t, dead_weights_show);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    return s;
}
