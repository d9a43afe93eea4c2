#include "learn/rollout.h"

#include "support/suites.h"

#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENVS = 10, STEPS = 24 };

static struct policy *make_policy(void)
{
    struct policy_cfg c = policy_cfg_default(TOY_OBS);
    c.actions = TOY_ACTIONS;
    c.hidden = c.critic_hidden = 8;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 2);
    p->ret_mean = 3.f;
    p->ret_std = 2.f;
    return p;
}

static struct rollout *make(const struct policy *p, const struct priv_critic *priv_critic,
                            int block, int threads)
{
    struct rollout_cfg c = {.envs = ENVS,
                            .steps = STEPS,
                            .block = block,
                            .threads = threads,
                            .router_noise = .5,
                            .seed = 4};
    struct rollout *r = rollout_new(&c, p, priv_critic, toy_env_make, NULL, NULL);
    ck_assert_ptr_nonnull(r);
    return r;
}

static void same(const struct ppo_batch *a, const struct ppo_batch *b)
{
    size_t n = (size_t)a->n;
    ck_assert_int_eq(a->n, b->n);
    ck_assert_mem_eq(a->obs, b->obs, n * TOY_OBS * sizeof(float));
    ck_assert_mem_eq(a->action, b->action, n * sizeof(int));
    ck_assert_mem_eq(a->logp, b->logp, n * sizeof(float));
    ck_assert_mem_eq(a->advantage, b->advantage, n * sizeof(float));
    ck_assert_mem_eq(a->target, b->target, n * sizeof(float));
}

START_TEST(threads_do_not_change_the_steps)
{
    struct policy *p = make_policy();
    struct rollout *a = make(p, NULL, 4, 1), *b = make(p, NULL, 4, 3);
    struct ppo_batch x, y;
    for (int i = 0; i < 3; i++) {
        rollout_collect(a, .9, .9, NULL);
        rollout_collect(b, .9, .9, NULL);
        rollout_batch(a, &x);
        rollout_batch(b, &y);
        same(&x, &y);
    }
    rollout_free(b);
    rollout_free(a);
    policy_free(p);
}
END_TEST

/* Rewards, tags and actions say what the toy world says they must. */
START_TEST(steps_are_what_happened)
{
    struct policy *p = make_policy();
    struct rollout *r = make(p, NULL, 3, 1);
    struct rollout_stats s;
    struct ppo_batch b;
    rollout_collect(r, .9, .9, &s);
    rollout_batch(r, &b);
    ck_assert_int_eq(b.n, ENVS * STEPS);
    ck_assert_int_eq(s.steps[0] + s.steps[1], ENVS * STEPS);
    ck_assert_int_eq(s.episodes, ENVS * (STEPS / 7));
    int tagged = 0;
    for (int i = 0; i < b.n; i++) {
        const float *o = b.obs + i * TOY_OBS;
        ck_assert_float_eq(o[0] + o[1] + o[2], 1.f);
        ck_assert_uint_eq(b.mask[i], 7);
        ck_assert_int_lt(b.action[i], 3); /* the masked one is never taken */
        ck_assert_int_eq(b.tag[i], o[2] == 1.f);
        ck_assert(b.logp[i] <= 0.f && isfinite(b.logp[i]));
        tagged += b.tag[i];
    }
    ck_assert_int_eq(tagged, s.steps[1]);
    rollout_free(r);
    policy_free(p);
}
END_TEST

/* lambda 0 makes targets one-step: r + gamma V(next). Followed by hand for environment 0,
 * whose episodes are over after 7 steps, and 1, whose are cut. */
START_TEST(ends_and_cuts)
{
    struct policy *p = make_policy();
    struct rollout *r = make(p, NULL, 4, 1);
    struct ppo_batch b;
    rollout_collect(r, .5, 0., NULL);
    rollout_batch(r, &b);
    for (int env = 0; env < 2; env++) {
        int row = env * STEPS + 6;
        const float *o = b.obs + row * TOY_OBS;
        float reward = o[b.action[row]] == 1.f ? 1.f : 0.f;
        if (env == 0) {
            ck_assert_float_eq_tol(b.target[row], reward, 1e-6f);
        } else {
            /* V is about ret_mean = 3 for a fresh critic */
            ck_assert_float_gt(b.target[row], reward + .5f);
        }
    }
    rollout_free(r);
    policy_free(p);
}
END_TEST

/* A priv_critic that says nothing but the steps left, on another scale for each tag: advantages
 * then follow what the policy's own critic cannot see. */
START_TEST(the_privileged_critic_gives_the_values)
{
    struct policy *p = make_policy();
    struct priv_critic_cfg c = {TOY_OBS, TOY_PRIV, 2, 4, 1};
    struct priv_critic *priv_critic = priv_critic_new(&c, 1, NULL);
    float *theta = priv_critic->mix->theta;
    memset(theta, 0, priv_critic->mix->n * sizeof *theta);
    float *head = theta + 4 * (TOY_OBS + TOY_PRIV) + 4;
    theta[TOY_OBS + 1] =
        1.f; /* hidden unit 0 = steps left; both heads take it as it is */
    head[0] = head[4] = 1.f;
    priv_critic->scale[0] = (struct priv_critic_scale){1, 3, 9 + 4};
    priv_critic->scale[1] = (struct priv_critic_scale){1, -7, 49 + 25};
    struct rollout *r = make(p, priv_critic, 4, 1);
    struct ppo_batch b;
    rollout_collect(r, 0., 0., NULL);
    rollout_batch(r, &b);
    for (int i = 0; i < b.n; i++) {
        float left = b.priv[i * TOY_PRIV + 1];
        float value = b.tag[i] ? left * 5.f - 7.f : left * 2.f + 3.f;
        ck_assert_float_eq_tol(b.target[i] - b.advantage[i], value, 1e-4f);
    }
    rollout_free(r);
    priv_critic_free(priv_critic);
    policy_free(p);
}
END_TEST

/* One-step advantages: what is tried gets its own reward and the same next state, since the toy
 * world's next context does not depend on the action. Trying changes no step. */
START_TEST(all_actions_are_tried)
{
    struct policy *p = make_policy();
    struct rollout_cfg c = {
        .envs = ENVS, .steps = STEPS, .block = 4, .threads = 1, .seed = 4};
    struct rollout *plain = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    c.peek = 1e-6;
    struct rollout *tried = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    struct ppo_batch x, y;
    rollout_collect(plain, .5, .9, NULL);
    rollout_collect(tried, .5, .9, NULL);
    rollout_batch(plain, &x);
    rollout_batch(tried, &y);
    same(&x, &y);
    ck_assert_ptr_null(x.q);

    for (int i = 0; i < y.n; i++) {
        const float *q = y.q + i * TOY_ACTIONS, *o = y.obs + i * TOY_OBS;
        ck_assert(isnan(q[3])); /* masked */
        ck_assert_float_eq_tol(y.prob[i * TOY_ACTIONS + y.action[i]], expf(y.logp[i]),
                               1e-6f);
        for (int a = 0; a < 3; a++)
            ck_assert_float_eq_tol(q[a] - q[0], o[a] - o[0], 1e-5f);
        /* V(s) = target - advantage; an even environment's episode is over after 7 steps */
        float v = y.target[i] - y.advantage[i], reward = o[y.action[i]];
        if (i % STEPS % 7 == 6 && i / STEPS % 2 == 0) {
            ck_assert_float_eq_tol(q[y.action[i]], reward - v, 1e-5f);
        } else if (i % STEPS % 7 != 6 && i % STEPS != STEPS - 1) {
            float next = y.target[i + 1] - y.advantage[i + 1];
            float want = reward + .5f * next - v;
            ck_assert_float_eq_tol(q[y.action[i]], want, 1e-4f);
        }
    }
    rollout_free(tried);
    rollout_free(plain);
    policy_free(p);
}
END_TEST

static float greedy_reward(const struct policy *p, struct policy_ws *ws, const float *obs)
{
    struct policy_choice choice;
    ck_assert_int_eq(policy_decide(&choice, p, ws, obs, 7, -1), 0);
    return obs[choice.action];
}

/* Followed to the episode's end: the contexts of the toy world's later steps are those of the rollout, and
 * the policy takes its best action in each. The value of a cut episode of the odd environments follows. */
START_TEST(tried_actions_are_followed)
{
    struct policy *p = make_policy();
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct rollout_cfg c = {
        .envs = ENVS, .steps = STEPS, .block = 4, .threads = 2, .seed = 4};
    struct rollout *plain = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    c.peek = 1e-6;
    c.branch = 9;
    struct rollout *tried = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    struct ppo_batch x, y;
    rollout_collect(plain, .5, .9, NULL);
    rollout_collect(tried, .5, .9, NULL);
    rollout_batch(plain, &x);
    rollout_batch(tried, &y);
    ck_assert_mem_eq(x.obs, y.obs, (size_t)x.n * TOY_OBS * sizeof(float));
    ck_assert_mem_eq(x.target, y.target, (size_t)x.n * sizeof(float));
    int followed = 0;
    for (int i = 0; i < y.n; i++) {
        const float *q = y.q + i * TOY_ACTIONS, *o = y.obs + i * TOY_OBS;
        ck_assert_float_eq(y.advantage[i], q[y.action[i]]);
        for (int a = 0; a < 3; a++)
            ck_assert_float_eq_tol(q[a] - q[0], o[a] - o[0], 1e-5f);
        int last = i - i % STEPS % 7 + 6;
        if (i % STEPS >= STEPS / 7 * 7 || i / STEPS % 2)
            continue; /* ends later, or cut */
        float want = o[1] - (x.target[i] - x.advantage[i]), weight = .5f;
        for (int h = i + 1; h <= last; h++, weight *= .5f)
            want += weight * greedy_reward(p, ws, y.obs + h * TOY_OBS);
        ck_assert_float_eq_tol(q[1], want, 1e-5f);
        followed += last > i;
    }
    ck_assert_int_gt(followed, 50);
    rollout_free(tried);
    rollout_free(plain);
    policy_ws_free(ws);
    policy_free(p);
}
END_TEST

/* Less likely than the bound: only the action taken is tried. */
START_TEST(unlikely_actions_are_not_tried)
{
    struct policy *p = make_policy();
    struct rollout_cfg c = {.envs = 2, .steps = 9, .block = 2, .threads = 1, .peek = .99};
    struct rollout *r = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    struct ppo_batch b;
    rollout_collect(r, .9, .9, NULL);
    rollout_batch(r, &b);
    for (int i = 0; i < b.n; i++)
        for (int a = 0; a < TOY_ACTIONS; a++)
            ck_assert_int_eq(!isnan(b.q[i * TOY_ACTIONS + a]), a == b.action[i]);
    rollout_free(r);
    policy_free(p);
}
END_TEST

/* What two teachers would do in the states visited, whatever the block; no step changes. */
START_TEST(teachers_show)
{
    struct policy *p = make_policy(), *a = make_policy(), *b = make_policy();
    policy_init(a, 7);
    policy_init(b, 8);
    for (size_t i = 0; i < a->actor->n; i++) {
        a->actor->theta[i] *= 4;
        b->actor->theta[i] *= 4;
    }
    struct rollout_cfg c = {.envs = ENVS, .steps = STEPS, .block = 4, .seed = 4};
    c.threads = 2;
    struct rollout *plain = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    c.teachers = (struct teachers){3, {a, b, p}, {TEACH_ALL, TEACH_ALL, 1}};
    struct rollout *taught = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    struct ppo_batch x, y;
    rollout_collect(plain, .5, .9, NULL);
    rollout_collect(taught, .5, .9, NULL);
    rollout_batch(plain, &x);
    rollout_batch(taught, &y);
    same(&x, &y);
    ck_assert_ptr_null(x.shown);

    struct teach_ws *ws = teach_ws_new(&c.teachers, 1, NULL);
    for (int i = 0; i < y.n; i++) {
        float want[TOY_ACTIONS];
        teach_show(want, &c.teachers, ws, y.obs + i * TOY_OBS, y.mask + i, y.tag + i, 1);
        for (int j = 0; j < TOY_ACTIONS; j++)
            ck_assert_float_eq_tol(y.shown[i * TOY_ACTIONS + j], want[j], 1e-5f);
    }
    teach_ws_free(ws);
    rollout_free(taught);
    rollout_free(plain);
    policy_free(b);
    policy_free(a);
    policy_free(p);
}
END_TEST

/* What the environment advises, as far as it is believed; no step changes. */
START_TEST(advice_is_shown)
{
    struct policy *p = make_policy();
    struct rollout_cfg c = {
        .envs = ENVS, .steps = STEPS, .block = 4, .threads = 2, .seed = 4};
    struct rollout *plain = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    c.advice = .9;
    struct rollout *advised = rollout_new(&c, p, NULL, toy_env_make, NULL, NULL);
    struct ppo_batch x, y;
    rollout_collect(plain, .5, .9, NULL);
    rollout_collect(advised, .5, .9, NULL);
    rollout_batch(plain, &x);
    rollout_batch(advised, &y);
    same(&x, &y);
    for (int i = 0; i < y.n; i++)
        for (int a = 0; a < TOY_ACTIONS; a++) {
            bool best = a < 3 && y.obs[i * TOY_OBS + a] > 0;
            float want = a == 3 ? 0.f : best ? .9f : .05f; /* 3 is masked */
            ck_assert_float_eq_tol(y.shown[i * TOY_ACTIONS + a], want, 1e-6f);
        }
    rollout_free(advised);
    rollout_free(plain);
    policy_free(p);
}
END_TEST

START_TEST(state_round_trip)
{
    struct policy *p = make_policy();
    struct rollout *a = make(p, NULL, 4, 1), *b = make(p, NULL, 4, 1);
    rollout_collect(a, .9, .9, NULL);
    void *state = malloc(rollout_state_size(a));
    rollout_state_get(a, state);
    rollout_collect(a, .9, .9, NULL);

    rollout_state_put(b, state);
    rollout_collect(b, .9, .9, NULL);
    struct ppo_batch x, y;
    rollout_batch(a, &x);
    rollout_batch(b, &y);
    same(&x, &y);
    free(state);
    rollout_free(b);
    rollout_free(a);
    policy_free(p);
}
END_TEST

static void *make_rollout(void *ctx, struct err *e)
{
    struct rollout_cfg c = {.envs = 3, .steps = 5, .block = 2, .threads = 1, .peek = .1};
    c.branch = 3;
    return rollout_new(&c, ctx, NULL, toy_env_make, NULL, e);
}

static void free_rollout(void *r)
{
    rollout_free(r);
}

START_TEST(memory)
{
    struct policy *p = make_policy();
    alloc_each_fails(make_rollout, free_rollout, p);
    struct rollout *r = make(p, NULL, 4, 1);
    alloc_watch();
    rollout_collect(r, .9, .9, NULL);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    rollout_free(r);
    policy_free(p);
}
END_TEST

SUITE_WITHIN(learn_rollout, 60, threads_do_not_change_the_steps, steps_are_what_happened,
             ends_and_cuts, the_privileged_critic_gives_the_values, all_actions_are_tried,
             tried_actions_are_followed, unlikely_actions_are_not_tried, teachers_show,
             advice_is_shown, state_round_trip, memory);
