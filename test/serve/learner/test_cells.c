#include "serve/learner/cells.h"
#include "serve/learner/exam.h"
#include "learn/online.h"

#include "abr/emulator/feat.h"
#include "abr/traces/gen.h"
#include "nn/mlp.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>

static const struct cells_cfg SMALL = {
    .links = 12, .recorded = 12, .margin = .02, .seed = 1};

/* Decides by the plan alone, as an untrained policy with a prior does. */
static struct policy *planner(void)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.prior = (struct mix_prior){FEAT_WORTH, FEAT_WORTH_STRIDE, 60};
    cfg.hidden = cfg.critic_hidden = 8;
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 1);
    return p;
}

/* Adds `push` to the logit of a level, for all viewers. */
static void lean(struct policy *p, int level, float push)
{
    for (int k = 0; k < p->cfg.experts; k++) {
        struct mix_range e = mix_expert(&p->actor->cfg, k);
        p->actor->theta[e.at + e.n - (size_t)p->cfg.actions + (size_t)level] += push;
    }
}

START_TEST(weights_that_are_the_same_are_even)
{
    struct policy *p = planner();
    struct cells *c = cells_new(&SMALL, p, NULL);
    ck_assert_int_eq(cells_judge(c, p), CELLS_EVEN);
    const struct cells_report *r = cells_report(c);
    ck_assert_int_eq(r->n, QOE_PROFILES * (CELLS_KINDS - 1));
    ck_assert_int_eq(r->worse, 0);
    for (int i = 0; i < r->n; i++) {
        ck_assert_float_eq(r->row[i].challenger, r->row[i].shipped);
        ck_assert_float_eq(r->row[i].loss_bound, 0);
    }
    cells_free(c);
    policy_free(p);
}
END_TEST

/* On every kind but fast links, and for viewers who mind stalls most of all. */
START_TEST(a_reckless_challenger_is_worse)
{
    struct policy *p = planner(), *q = policy_clone(p, NULL);
    struct cells *c = cells_new(&SMALL, p, NULL);
    lean(q, 5, 200);
    ck_assert_int_eq(cells_judge(c, q), CELLS_WORSE);
    const struct cells_report *r = cells_report(c);
    ck_assert_int_gt(r->worse, r->n / 4);
    ck_assert_int_ge(r->worst, 0);
    ck_assert_int_ne(r->row[r->worst].why, CELLS_FINE);
    cells_free(c);
    policy_free(q);
    policy_free(p);
}
END_TEST

/* One that takes the top level a little too often, which one mean over all cells forgives. */
START_TEST(a_small_loss_everywhere_does_not_pass)
{
    struct policy *p = planner(), *q = policy_clone(p, NULL);
    struct cells *c = cells_new(&SMALL, p, NULL);
    lean(q, 5, 30);
    struct exam *x = exam_new(&p->cfg, NULL);
    double best = exam_score(x, p);
    struct online_cfg mean = online_cfg_default();
    ck_assert_double_ge(exam_score(x, q), online_lowest(&mean, best));
    exam_free(x);
    ck_assert_int_eq(cells_judge(c, q), CELLS_WORSE);
    cells_free(c);
    policy_free(q);
    policy_free(p);
}
END_TEST

/* Shipped weights that never stall, a challenger that earns more. */
START_TEST(what_stalls_more_is_named)
{
    struct policy *good = planner(), *bad = policy_clone(good, NULL);
    lean(bad, 0, 200);
    struct cells *c = cells_new(&SMALL, bad, NULL);
    /* more stalls than a policy that never leaves the lowest level */
    enum cells_verdict v = cells_judge(c, good);
    struct cells_report first = *cells_report(c);
    for (int i = 0; i < first.n; i++)
        ck_assert_msg(first.row[i].why != CELLS_BELOW_SHIPPED || first.row[i].loss > 0,
                      "cell %d", i);
    ck_assert_int_ne(v, CELLS_FALLEN);
    cells_free(c);
    policy_free(bad);
    policy_free(good);
}
END_TEST

/* The champion is examined again with every challenger. */
START_TEST(a_champion_below_the_shipped_weights_has_fallen)
{
    struct policy *p = planner(), *q = policy_clone(p, NULL);
    struct cells *c = cells_new(&SMALL, p, NULL);
    lean(q, 0, 200);
    cells_champion(c, q);
    ck_assert_int_eq(cells_judge(c, q), CELLS_FALLEN);
    /* one that repairs it passes instead */
    ck_assert_int_eq(cells_judge(c, p), CELLS_BETTER);
    cells_promote(c);
    ck_assert_int_eq(cells_judge(c, p), CELLS_EVEN);
    cells_free(c);
    policy_free(q);
    policy_free(p);
}
END_TEST

START_TEST(recorded_links_are_cells_of_their_own)
{
    struct policy *p = planner();
    struct cells *c = cells_new(&SMALL, p, NULL);
    for (int i = 0; i < CELLS_RECORDED_LEAST - 1; i++)
        cells_record(c, gen_trace("volatile-low", 200, 1, (uint64_t)i, NULL), 0);
    cells_judge(c, p);
    ck_assert_int_eq(cells_report(c)->n, QOE_PROFILES * (CELLS_KINDS - 1));
    for (int i = 0; i < 20; i++)
        cells_record(c, gen_trace("volatile-low", 200, 2, (uint64_t)i, NULL), 0);
    ck_assert_int_eq(cells_judge(c, p), CELLS_EVEN);
    ck_assert_int_eq(cells_report(c)->n, QOE_PROFILES * CELLS_KINDS);
    ck_assert_int_eq(cells_report(c)->recorded, SMALL.links);
    cells_free(c);
    policy_free(p);
}
END_TEST

/* The top level for the product's viewers, until their stalls weigh more than in any of their profiles. */
static struct policy *careful(bool warned)
{
    enum {
        START_SHARE = FEAT_FULL_DIM + 2
    }; /* of start and stall weights: 1/9 or more */
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.hidden = cfg.critic_hidden = 8;
    struct policy *p = policy_new(&cfg, NULL);
    struct mlp_cfg m = {cfg.obs_dim, cfg.hidden, p->actor->cfg.layers, cfg.actions};
    for (int k = 0; k < cfg.experts; k++) {
        float *theta = p->actor->theta + mix_expert(&p->actor->cfg, k).at;
        struct mlp_layer first = mlp_layer(&m, 0), head = mlp_layer(&m, m.layers);
        theta[first.w + START_SHARE] = -9.5f;
        theta[first.b] = 1;
        for (int l = 1; l < m.layers; l++)
            theta[mlp_layer(&m, l).w] = 1;
        theta[head.w] = warned ? 1000 : 0;
        theta[head.b + 5] = 1;
    }
    return p;
}

/* A session that has stalled above its ceiling is served with stalls that weigh more. */
START_TEST(a_ceiling_makes_challengers_cautious)
{
    struct policy *p = careful(false), *q = careful(true);
    struct cells *c = cells_new(&SMALL, p, NULL);
    cells_judge(c, q);
    const struct cells_report *r = cells_report(c);
    int other = 0;
    for (int i = 0; i < r->n; i++)
        other +=
            r->row[i].profile < QOE_PRODUCT && r->row[i].challenger != r->row[i].shipped;
    ck_assert_int_gt(other, QOE_PRODUCT);
    cells_free(c);
    policy_free(q);
    policy_free(p);
}
END_TEST

START_TEST(weights_that_are_not_finite_fail)
{
    struct policy *p = planner(), *q = policy_clone(p, NULL);
    struct cells *c = cells_new(&SMALL, p, NULL);
    lean(q, 0, NAN);
    ck_assert_int_eq(cells_judge(c, q), CELLS_WORSE);
    ck_assert_int_eq(cells_report(c)->row[0].why, CELLS_NOT_FINITE);
    cells_free(c);
    policy_free(q);
    policy_free(p);
}
END_TEST

/* A quarter of 12 links is three. Others still come in, and take the place of the oldest. */
START_TEST(one_source_has_its_share_of_the_links)
{
    struct cells_cfg cfg = SMALL;
    cfg.source_share = .25;
    struct policy *p = planner();
    struct cells *c = cells_new(&cfg, p, NULL);
    for (int i = 0; i < 20; i++) {
        cells_record(c, gen_trace("volatile-low", 200, 1, (uint64_t)i, NULL), 7);
        ck_assert_int_eq(cells_report(c)->recorded, i < 3 ? i + 1 : 3);
    }
    for (int i = 0; i < 20; i++) {
        cells_record(c, gen_trace("volatile-low", 200, 2, (uint64_t)i, NULL), 0);
        ck_assert_int_eq(cells_report(c)->recorded, i < 9 ? i + 4 : 12);
    }
    cells_free(c);
    policy_free(p);
}
END_TEST

/* Twice as many recorded links as of another kind: gains for the daemon's own viewers show. A profile has as
 * many of each. */
START_TEST(recorded_links_may_be_more_than_others)
{
    struct cells_cfg cfg = SMALL;
    cfg.source_share = 1;
    cfg.recorded = 2 * cfg.links;
    struct policy *p = planner();
    struct cells *c = cells_new(&cfg, p, NULL);
    for (int i = 0; i < 40; i++)
        cells_record(c, gen_trace("volatile-low", 200, 1, (uint64_t)i, NULL), 0);
    ck_assert_int_eq(cells_judge(c, p), CELLS_EVEN);
    const struct cells_report *r = cells_report(c);
    ck_assert_int_eq(r->recorded, cfg.recorded);
    for (int g = 0; g < CELLS_GROUPS; g++) {
        int links = g < CELLS_KINDS - 1    ? cfg.links
                    : g == CELLS_KINDS - 1 ? cfg.recorded
                                           : CELLS_KINDS * cfg.links;
        ck_assert_int_eq(r->group[g].links, links);
    }
    uint64_t all =
        (uint64_t)(QOE_PROFILES * ((CELLS_KINDS - 1) * cfg.links + cfg.recorded));
    ck_assert_uint_eq(r->sessions, 3 * all);
    cells_promote(c);
    cells_judge(c, p); /* the champion has played all links but new ones */
    uint64_t renewed =
        (uint64_t)(QOE_PROFILES * (CELLS_KINDS - 1) * ((cfg.links + 7) / 8));
    ck_assert_uint_eq(cells_report(c)->sessions, 4 * all + 2 * renewed);
    cells_free(c);
    policy_free(p);
}
END_TEST

SUITE_WITHIN(serve_learner_cells, 30, weights_that_are_the_same_are_even,
             one_source_has_its_share_of_the_links, a_ceiling_makes_challengers_cautious,
             a_reckless_challenger_is_worse, a_small_loss_everywhere_does_not_pass,
             what_stalls_more_is_named, a_champion_below_the_shipped_weights_has_fallen,
             recorded_links_are_cells_of_their_own,
             recorded_links_may_be_more_than_others, weights_that_are_not_finite_fail);
