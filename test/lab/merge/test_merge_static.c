#include "lab/merge/merge_static.h"

#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBS = 2, HIDDEN = 3, N = 4 };

/* Two experts of one hidden layer, joined. */
static struct policy *joined(bool same)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    c.hidden = c.critic_hidden = HIDDEN;
    c.layers = 1;
    c.actions = 3;
    struct policy *p[2];
    for (int k = 0; k < 2; k++) {
        p[k] = policy_new(&c, NULL);
        policy_init_uniform(p[k], same ? 1 : (uint64_t)k + 1);
    }
    struct policy *j = join_new((const struct policy *const *)p, 2, NULL);
    policy_free(p[0]);
    policy_free(p[1]);
    return j;
}

static struct policy *merged_of(const struct policy *j)
{
    struct policy_cfg c = join_merged_cfg(&j->cfg);
    return policy_new(&c, NULL);
}

static const float SEEN[2][N * OBS] = {{1, .5f, .2f, 1, .7f, .1f, .9f, .3f},
                                       {.1f, .9f, 1, .8f, .4f, .4f, .6f, 1}};
static const uint32_t ALL[N] = {7, 7, 7, 7}, ONE[N] = {1, 1, 1, 1};

static const float *expert(const struct policy *j, int k)
{
    return j->actor->theta + mix_expert(&j->actor->cfg, k).at;
}

TEST(equal_experts_stay_as_they_are)
{
    struct policy *j = joined(true), *p = merged_of(j);
    const struct merge_states s[2] = {{N, SEEN[0], ALL}, {N, SEEN[1], ALL}};
    ck_assert_int_eq(merge_static_fisher(p, j, s, 1, NULL), 0);
    for (size_t i = 0; i < p->actor->n; i++)
        ck_assert_double_eq_tol((double)p->actor->theta[i], (double)expert(j, 0)[i],
                                1e-5);
    ck_assert_int_eq(merge_static_regmean(p, j, s, NULL), 0);
    for (size_t i = 0; i < p->actor->n; i++)
        ck_assert_double_eq_tol((double)p->actor->theta[i], (double)expert(j, 0)[i],
                                1e-4);
    policy_free(p);
    policy_free(j);
}

TEST(an_expert_without_a_choice_has_no_information)
{
    /* one level: ln pi = 0 whatever the weights are, so the first expert decides alone */
    struct policy *j = joined(false), *p = merged_of(j);
    const struct merge_states s[2] = {{N, SEEN[0], ALL}, {N, SEEN[1], ONE}};
    ck_assert_int_eq(merge_static_fisher(p, j, s, 1, NULL), 0);
    int taken = 0;
    for (size_t i = 0; i < p->actor->n; i++) {
        double own = (double)expert(j, 0)[i], other = (double)expert(j, 1)[i];
        double got = (double)p->actor->theta[i];
        bool first = fabs(got - own) < 1e-6, mean = fabs(got - (own + other) / 2) < 1e-6;
        ck_assert(first || mean);
        taken += first;
    }
    ck_assert_int_gt(taken, (int)p->actor->n / 2);
    policy_free(p);
    policy_free(j);
}

/* The first layer by elimination: (sum G_k) W' = sum G_k W_k', G with .9 off its diagonal. */
TEST(regmean_against_the_plain_twin)
{
    enum { M = OBS + 1 };
    struct policy *j = joined(false), *p = merged_of(j);
    const struct merge_states s[2] = {{N, SEEN[0], ALL}, {N, SEEN[1], ALL}};
    ck_assert_int_eq(merge_static_regmean(p, j, s, NULL), 0);
    for (int o = 0; o < HIDDEN; o++) {
        double a[M][M + 1] = {{0}};
        for (int k = 0; k < 2; k++) {
            const float *theta = expert(j, k);
            double w[M] = {(double)theta[o * OBS], (double)theta[o * OBS + 1],
                           (double)theta[HIDDEN * OBS + o]};
            for (int r = 0; r < N; r++) {
                double x[M] = {(double)SEEN[k][r * OBS], (double)SEEN[k][r * OBS + 1], 1};
                for (int i = 0; i < M; i++)
                    for (int c = 0; c < M; c++) {
                        double g = x[i] * x[c] * (i == c ? 1 : .9);
                        a[i][c] += g;
                        a[i][M] += g * w[c];
                    }
            }
        }
        for (int i = 0; i < M; i++)
            for (int r = 0; r < M; r++) {
                if (r == i) continue;
                double by = a[r][i] / a[i][i];
                for (int c = 0; c <= M; c++)
                    a[r][c] -= by * a[i][c];
            }
        const float *got = p->actor->theta;
        for (int i = 0; i < OBS; i++)
            ck_assert_double_eq_tol((double)got[o * OBS + i], a[i][M] / a[i][i], 1e-4);
        ck_assert_double_eq_tol((double)got[HIDDEN * OBS + o], a[OBS][M] / a[OBS][OBS],
                                1e-4);
    }
    policy_free(p);
    policy_free(j);
}

TEST(inputs_that_are_never_seen_are_averaged)
{
    struct policy *j = joined(false), *p = merged_of(j);
    static const float half[N * OBS] = {1, 0, .5f, 0, .2f, 0, .7f, 0};
    const struct merge_states s[2] = {{N, half, ALL}, {N, half, ALL}};
    ck_assert_int_eq(merge_static_regmean(p, j, s, NULL), 0);
    for (int o = 0; o < HIDDEN; o++) {
        size_t at = (size_t)(o * OBS + 1);
        double want = ((double)expert(j, 0)[at] + (double)expert(j, 1)[at]) / 2;
        ck_assert_double_eq_tol((double)p->actor->theta[at], want, 1e-6);
    }
    policy_free(p);
    policy_free(j);
}

SUITE(lab_merge_merge_static, equal_experts_stay_as_they_are,
      an_expert_without_a_choice_has_no_information, regmean_against_the_plain_twin,
      inputs_that_are_never_seen_are_averaged);
