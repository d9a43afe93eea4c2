#include "serve/learner/exam.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>

#include "abr/emulator/feat.h"

static struct policy *make_policy(uint64_t seed)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, seed);
    return p;
}

/* Makes level `level` the only one the policy ever takes. */
static void always(struct policy *p, int level)
{
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] = 0;
    for (int k = 0; k < p->cfg.experts; k++) {
        struct mix_range e = mix_expert(&p->actor->cfg, k);
        p->actor->theta[e.at + e.n - (size_t)p->cfg.actions + (size_t)level] = 50;
    }
}

START_TEST(the_same_weights_score_the_same)
{
    struct policy *p = make_policy(1);
    struct exam *x = exam_new(&p->cfg, NULL);
    struct exam *y = exam_new(&p->cfg, NULL);
    double first = exam_score(x, p);
    ck_assert(isfinite(first));
    ck_assert_double_eq(exam_score(x, p), first);
    ck_assert_double_eq(exam_score(y, p), first);
    exam_free(x);
    exam_free(y);
    policy_free(p);
}
END_TEST

static double score_of(const struct qoe *qoe, int level)
{
    struct policy *p = make_policy(1);
    struct exam *x = exam_new_profile(&p->cfg, qoe, NULL);
    always(p, level);
    double score = exam_score(x, p);
    exam_free(x);
    policy_free(p);
    return score;
}

/* Always the top level, or the lowest. */
START_TEST(a_reckless_policy_scores_below_a_careful_one)
{
    const struct qoe *live = &qoe_find("paper-live")->qoe;
    ck_assert_double_lt(score_of(live, 5), score_of(live, 0) - .2);
    live = &qoe_find("live")->qoe;
    ck_assert_double_lt(score_of(live, 5), score_of(live, 0) - .2);
}
END_TEST

/* The ceiling of stalls is no part of the reward: it changes decisions, as when they are served. */
START_TEST(a_ceiling_makes_it_cautious)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.prior = (struct mix_prior){FEAT_WORTH, FEAT_WORTH_STRIDE, 60};
    struct policy *p = policy_new(&cfg, NULL); /* decides by the plan alone */
    double score[2];
    for (int ceiling = 0; ceiling < 2; ceiling++) {
        struct qoe qoe = *qoe_standard();
        if (!ceiling) qoe.stall_ratio_max = 0;
        struct exam *x = exam_new_profile(&cfg, &qoe, NULL);
        score[ceiling] = exam_score(x, p);
        ck_assert(isfinite(score[ceiling]));
        exam_free(x);
    }
    ck_assert_double_ne(score[0], score[1]);
    policy_free(p);
}
END_TEST

START_TEST(weights_that_are_not_finite_do_not_score)
{
    struct policy *p = make_policy(1);
    struct exam *x = exam_new(&p->cfg, NULL);
    always(p, 0);
    double careful = exam_score(x, p);
    always(p, 5);
    double reckless = exam_score(x, p);
    ck_assert_double_gt(careful, 0);
    ck_assert_double_ne(reckless, careful);
    p->critic->theta[0] =
        NAN; /* one expert: it is busy, and the actor's levels are the same */
    ck_assert_double_eq(exam_score(x, p), reckless);
    p->ret_mean = NAN;
    ck_assert(isnan(exam_score(x, p)));
    exam_free(x);
    policy_free(p);
}
END_TEST

SUITE_WITHIN(serve_learner_exam, 30, the_same_weights_score_the_same,
             a_ceiling_makes_it_cautious, a_reckless_policy_scores_below_a_careful_one,
             weights_that_are_not_finite_do_not_score);
