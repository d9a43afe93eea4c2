#include "learn/teach.h"

#include "support/suites.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>

enum { OBS = 3, ACTIONS = 4, ROWS = 5 };

/* Logits that do not depend on what is seen: the head's bias alone. */
static struct policy *steady(const float logits[ACTIONS], int hidden)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.actions = ACTIONS;
    c.hidden = c.critic_hidden = hidden;
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    float *bias = p->actor->theta + p->actor->n - ACTIONS;
    for (int j = 0; j < ACTIONS; j++)
        bias[j] = logits[j];
    return p;
}

/* Odds of the geometric mean are geometric means of the odds: with 1 : 2 : 4 and 9 : 2 : 1
 * they are 3 : 2 : 2. */
START_TEST(geometric_mean)
{
    const float one[ACTIONS] = {0, logf(2), logf(4), 7},
                two[ACTIONS] = {logf(9), logf(2), 0};
    struct policy *a = steady(one, 4), *b = steady(two, 6);
    struct teachers t = {2, {a, b}, {TEACH_ALL, TEACH_ALL}};
    struct teach_ws *ws = teach_ws_new(&t, ROWS, NULL);
    ck_assert_ptr_nonnull(ws);
    const float obs[2 * OBS] = {1, -1, 2, 0, 3, 1};
    const uint32_t mask[2] = {7, 5}; /* the last level does not exist, then nor does 1 */
    const int tag[2] = {0, 3};
    float shown[2 * ACTIONS];
    teach_show(shown, &t, ws, obs, mask, tag, 2);
    const float want[2 * ACTIONS] = {3 / 7.f, 2 / 7.f, 2 / 7.f, 0, .6f, 0, .4f, 0};
    for (int i = 0; i < 2 * ACTIONS; i++)
        ck_assert_float_eq_tol(shown[i], want[i], 1e-6f);
    teach_ws_free(ws);
    policy_free(b);
    policy_free(a);
}
END_TEST

/* One teacher is shown as it decides. */
START_TEST(one_is_itself)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.actions = ACTIONS;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 5);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] *= 3;
    struct policy_ws *decide = policy_ws_new(&c, NULL);
    struct teachers t = {1, {p}, {TEACH_ALL}};
    struct teach_ws *ws = teach_ws_new(&t, ROWS, NULL);
    float obs[ROWS * OBS], shown[ROWS * ACTIONS];
    uint32_t mask[ROWS];
    int tag[ROWS] = {0};
    for (int i = 0; i < ROWS * OBS; i++)
        obs[i] = sinf((float)i);
    for (int i = 0; i < ROWS; i++)
        mask[i] = i % 2 ? 15 : 11;
    teach_show(shown, &t, ws, obs, mask, tag, ROWS);
    for (int i = 0; i < ROWS; i++) {
        struct policy_choice choice;
        ck_assert_int_eq(policy_decide(&choice, p, decide, obs + i * OBS, mask[i], -1),
                         0);
        for (int j = 0; j < ACTIONS; j++)
            ck_assert_float_eq_tol(shown[i * ACTIONS + j], choice.prob[j], 1e-5f);
    }
    teach_ws_free(ws);
    policy_ws_free(decide);
    policy_free(p);
}
END_TEST

/* Who teaches a tag is alone there; the others share the rest. */
START_TEST(specialists)
{
    const float logits[4][ACTIONS] = {
        {0, 0, 0, logf(9)}, {0, 0, 0, logf(4)}, {0, logf(2), 0, 0}, {logf(5), 0, 0, 0}};
    struct teachers t = {4, {0}, {TEACH_ALL, TEACH_ALL, 2, 5}};
    struct policy *all[4];
    for (int k = 0; k < 4; k++)
        t.policy[k] = all[k] = steady(logits[k], 4);
    struct teach_ws *ws = teach_ws_new(&t, ROWS, NULL);
    const float obs[4 * OBS] = {0};
    const uint32_t mask[4] = {15, 15, 15, 15};
    const int tag[4] = {5, 1, 2, 0};
    const float want[4 * ACTIONS] = {.625f,   .125f,   .125f,   .125f,  1 / 9.f, 1 / 9.f,
                                     1 / 9.f, 6 / 9.f, .2f,     .4f,    .2f,     .2f,
                                     1 / 9.f, 1 / 9.f, 1 / 9.f, 6 / 9.f};
    float shown[4 * ACTIONS];
    teach_show(shown, &t, ws, obs, mask, tag, 4);
    for (int i = 0; i < 4 * ACTIONS; i++)
        ck_assert_float_eq_tol(shown[i], want[i], 1e-6f);

    t.n = 1; /* nobody for this tag: no opinion */
    t.tag[0] = 3;
    struct teach_ws *one = teach_ws_new(&t, ROWS, NULL);
    teach_show(shown, &t, one, obs, mask, tag, 1);
    for (int j = 0; j < ACTIONS; j++)
        ck_assert(isnan(shown[j]));
    teach_ws_free(one);
    teach_ws_free(ws);
    for (int k = 0; k < 4; k++)
        policy_free(all[k]);
}
END_TEST

static void *make_ws(void *ctx, struct err *e)
{
    return teach_ws_new(ctx, ROWS, e);
}

static void free_ws(void *ws)
{
    teach_ws_free(ws);
}

START_TEST(memory)
{
    const float flat[ACTIONS] = {0};
    struct policy *p = steady(flat, 4);
    struct teachers t = {2, {p, p}, {TEACH_ALL, 1}};
    alloc_each_fails(make_ws, free_ws, &t);

    struct teach_ws *ws = teach_ws_new(&t, ROWS, NULL);
    const float obs[OBS] = {0};
    const uint32_t mask = 15;
    const int tag = 1;
    float shown[ACTIONS];
    alloc_watch();
    teach_show(shown, &t, ws, obs, &mask, &tag, 1);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    ck_assert_float_eq_tol(shown[2], .25f, 1e-6f);
    teach_ws_free(ws);
    policy_free(p);
}
END_TEST

SUITE(learn_teach, geometric_mean, one_is_itself, specialists, memory);
