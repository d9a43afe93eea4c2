#include "learn/train.h"

#include "support/suites.h"

#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct policy *make_policy(void)
{
    struct policy_cfg c = policy_cfg_default(TOY_OBS);
    c.actions = TOY_ACTIONS;
    c.hidden = c.critic_hidden = 8;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 2);
    return p;
}

static struct train_cfg small(int64_t steps)
{
    struct train_cfg c = {
        .ppo = ppo_cfg_default(),
        .rollout = {.envs = 8, .steps = 16, .block = 4, .threads = 1, .router_noise = .1},
        .steps = steps,
        .schedule = TRAIN_LINEAR,
        .lr_end = 1e-4,
        .entropy_end = .001,
        .privileged = true,
        .priv_hidden = 8,
        .priv_layers = 1,
        .seed = 11,
    };
    c.ppo.lr = c.ppo.critic_lr = 1e-2;
    c.ppo.minibatch = 32;
    c.ppo.noise_gamma = .5;
    return c;
}

static struct train *start(const struct train_cfg *c, struct policy *p)
{
    struct train *t = train_new(c, p, toy_env_make, NULL, NULL);
    ck_assert_ptr_nonnull(t);
    return t;
}

static bool equal(const struct policy *a, const struct policy *b)
{
    return !memcmp(a->actor->theta, b->actor->theta, a->actor->n * sizeof(float)) &&
           !memcmp(a->critic->theta, b->critic->theta, a->critic->n * sizeof(float)) &&
           a->ret_mean == b->ret_mean && a->ret_std == b->ret_std;
}

/* The probability of `action` in the toy world's context. */
static double chance(const struct policy *p, int context, int action)
{
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    float obs[TOY_OBS] = {0, 0, 0, 1};
    struct policy_choice c;
    obs[context] = 1;
    ck_assert_int_eq(policy_decide(&c, p, ws, obs, 7, -1), 0);
    policy_ws_free(ws);
    return (double)c.prob[action];
}

/* A teacher that always takes action 1, right or wrong, is believed while imitation has all
 * the weight and overruled by the end of a training in which it has none. */
START_TEST(a_teacher_is_followed_then_left)
{
    struct policy *teacher = make_policy();
    memset(teacher->actor->theta, 0, teacher->actor->n * sizeof(float));
    for (int k = 0; k < teacher->cfg.experts; k++) {
        struct mix_range expert = mix_expert(&teacher->actor->cfg, k);
        teacher->actor->theta[expert.at + expert.n - TOY_ACTIONS + 1] = 9;
    }
    ck_assert_double_gt(chance(teacher, 0, 1), .9);

    for (int left = 0; left < 2; left++) {
        struct policy *p = make_policy();
        struct train_cfg c = small(12000);
        c.rollout.teachers = (struct teachers){1, {teacher}, {TEACH_ALL}};
        c.ppo.imitate = 1;
        c.imitate_end = left ? 0 : 1;
        struct train *t = start(&c, p);
        while (!train_done(t))
            ck_assert_int_eq(train_iterate(t, NULL), 0);
        if (left) {
            ck_assert_double_gt(chance(p, 0, 0), .8);
        } else {
            ck_assert_double_gt(chance(p, 0, 1), .8);
        }
        train_free(t);
        policy_free(p);
    }
    policy_free(teacher);
}
END_TEST

START_TEST(learns_the_toy_world)
{
    struct policy *p = make_policy();
    struct train_cfg c = small(12000);
    struct train *t = start(&c, p);
    struct train_row row = {0};
    double first = 0;
    while (!train_done(t)) {
        ck_assert_int_eq(train_iterate(t, &row), 0);
        if (row.iteration == 1) first = row.rollout.reward[0];
    }
    ck_assert_double_lt(first, .5); /* one of three at random */
    ck_assert_double_gt(row.rollout.reward[0], .95);
    ck_assert_double_gt(row.rollout.reward[1], .95);
    ck_assert_int_ge(row.steps, 12000);
    ck_assert_double_lt(row.lr, 2e-4); /* the schedule came down */
    ck_assert_double_lt(row.entropy, .002);
    train_free(t);
    policy_free(p);
}
END_TEST

/* 6 iterations in one go, against 3, saved and taken up by another process' worth of
 * objects, then 3: the same bits. */
START_TEST(resumes_bit_for_bit)
{
    struct train_cfg c = small(6 * 128);
    struct policy *whole = make_policy(), *half = make_policy();
    struct train *t = start(&c, whole);
    while (!train_done(t))
        ck_assert_int_eq(train_iterate(t, NULL), 0);
    train_free(t);

    t = start(&c, half);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(train_iterate(t, NULL), 0);
    ck_assert(!equal(whole, half));
    size_t size = train_state_size(t);
    void *state = malloc(size);
    train_state_get(t, state);
    struct policy *saved = policy_clone(half, NULL);
    train_free(t);

    t = start(&c, saved);
    ck_assert_int_eq(train_state_put(t, state, size, NULL), 0);
    ck_assert_int_eq(train_steps(t), 3 * 128);
    while (!train_done(t))
        ck_assert_int_eq(train_iterate(t, NULL), 0);
    ck_assert(equal(whole, saved));
    train_free(t);
    free(state);
    policy_free(saved);
    policy_free(half);
    policy_free(whole);
}
END_TEST

START_TEST(foreign_state_is_refused)
{
    struct train_cfg c = small(128);
    struct policy *p = make_policy();
    struct train *t = start(&c, p);
    size_t size = train_state_size(t);
    char *state = malloc(size);
    train_state_get(t, state);
    struct err e = {0};
    ck_assert_int_eq(train_state_put(t, state, size - 1, &e), ERR_CORRUPT);
    ck_assert_int_eq(train_state_put(t, state, 3, NULL), ERR_CORRUPT);
    state[0] ^= 1;
    ck_assert_int_eq(train_state_put(t, state, size, NULL), ERR_CORRUPT);
    train_free(t);

    c.seed++;
    state[0] ^= 1;
    t = start(&c, p);
    ck_assert_int_eq(train_state_put(t, state, size, NULL), ERR_CORRUPT);
    train_free(t);
    free(state);
    policy_free(p);
}
END_TEST

START_TEST(threads_do_not_change_the_weights)
{
    struct train_cfg c = small(4 * 128);
    struct policy *one = make_policy(), *many = make_policy();
    struct train *t = start(&c, one);
    while (!train_done(t))
        ck_assert_int_eq(train_iterate(t, NULL), 0);
    train_free(t);
    c.rollout.threads = c.ppo.threads = 3;
    t = start(&c, many);
    while (!train_done(t))
        ck_assert_int_eq(train_iterate(t, NULL), 0);
    train_free(t);
    ck_assert(equal(one, many));
    policy_free(many);
    policy_free(one);
}
END_TEST

static struct env refuse(void *ctx, uint64_t id, struct err *e)
{
    if (id < 3) return toy_env_make(ctx, id, e);
    err_set(e, ERR_MEMORY, "no more");
    return (struct env){0};
}

START_TEST(environments_that_fail_are_told)
{
    struct train_cfg c = small(128);
    struct policy *p = make_policy();
    struct err e = {0};
    ck_assert_ptr_null(train_new(&c, p, refuse, NULL, &e));
    ck_assert_int_eq(e.code, ERR_MEMORY);
    policy_free(p);
}
END_TEST

static void *make_train(void *ctx, struct err *e)
{
    struct train_cfg c = small(128);
    c.rollout.envs = 2;
    return train_new(&c, ctx, toy_env_make, NULL, e);
}

static void free_train(void *t)
{
    train_free(t);
}

START_TEST(memory)
{
    struct policy *p = make_policy();
    alloc_each_fails(make_train, free_train, p);
    policy_free(p);
}
END_TEST

SUITE_WITHIN(learn_train, 60, learns_the_toy_world, a_teacher_is_followed_then_left,
             resumes_bit_for_bit, foreign_state_is_refused,
             threads_do_not_change_the_weights, environments_that_fail_are_told, memory);
