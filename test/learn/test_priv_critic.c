#include "learn/priv_critic.h"

#include "support/suites.h"

#include "learn/ppo.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>

START_TEST(moments_per_tag)
{
    struct priv_critic_cfg c = {3, 2, 3, 4, 1};
    struct priv_critic *t = priv_critic_new(&c, 1, NULL);
    ck_assert_float_eq(priv_critic_mean(t, 0), 0.f); /* nothing seen: as it comes */
    ck_assert_float_eq(priv_critic_std(t, 0), 1.f);

    const float returns[] = {1, 3, 100, 300, 2};
    const int tag[] = {0, 0, 1, 1, 0};
    priv_critic_observe(t, returns, tag, 5);
    ck_assert_float_eq_tol(priv_critic_mean(t, 0), 2.f, 1e-6f);
    ck_assert_float_eq_tol(priv_critic_std(t, 0), sqrtf(2.f / 3.f), 1e-6f);
    ck_assert_float_eq_tol(priv_critic_mean(t, 1), 200.f, 1e-6f);
    ck_assert_float_eq_tol(priv_critic_std(t, 1), 100.f, 1e-5f);
    ck_assert_float_eq(priv_critic_std(t, 2), 1.f); /* a tag that did not come */

    /* the first batches count alike; later ones are forgotten in time */
    const float again[] = {5};
    const int zero[] = {0};
    priv_critic_observe(t, again, zero, 1);
    ck_assert_float_eq_tol(priv_critic_mean(t, 0), 3.5f, 1e-6f);
    for (int i = 0; i < 3 * (int)PRIV_CRITIC_HORIZON; i++)
        priv_critic_observe(t, again, zero, 1);
    ck_assert_float_eq_tol(priv_critic_mean(t, 0), 5.f, .05f);
    priv_critic_free(t);
}
END_TEST

/* One update with two tags of very different size: both heads learn, and as fast. */
START_TEST(tags_learn_alike)
{
    enum { N = 256, OBS = 2, PRIV = 1 };
    float obs[N * OBS], priv[N], logp[N], advantage[N] = {0}, target[N];
    uint32_t mask[N];
    int action[N] = {0}, tag[N];
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < N; i++) {
        obs[i * OBS] = 1.f;
        obs[i * OBS + 1] = (float)rng_normal(&r);
        priv[i] = (float)rng_normal(&r);
        mask[i] = 3;
        logp[i] = -.7f;
        tag[i] = i % 2;
        target[i] = (tag[i] ? 1000.f : .1f) * priv[i]; /* only the critic can know */
    }
    struct policy_cfg pc = policy_cfg_default(OBS);
    pc.actions = 2;
    pc.hidden = pc.critic_hidden = 8;
    struct policy *p = policy_new(&pc, NULL);
    policy_init(p, 1);
    struct priv_critic_cfg tc = {OBS, PRIV, 2, 16, 1};
    struct priv_critic *t = priv_critic_new(&tc, 1, NULL);
    struct ppo_cfg c = ppo_cfg_default();
    c.critic_lr = 1e-2;
    c.minibatch = 32;
    c.epochs = 60;
    c.critic_epochs = 1;
    struct ppo *ppo = ppo_new(&c, p, t, N, 1, NULL);
    struct ppo_batch b = {.n = N,
                          .obs = obs,
                          .priv = priv,
                          .mask = mask,
                          .action = action,
                          .tag = tag,
                          .logp = logp,
                          .advantage = advantage,
                          .target = target};
    ck_assert_int_eq(ppo_update(ppo, &b, NULL), 0);

    struct mix_ws *ws = mix_ws_new(&t->mix->cfg, N, NULL);
    float x[N * (OBS + PRIV)], y[N * 2];
    for (int i = 0; i < N; i++) {
        x[i * 3] = obs[i * 2];
        x[i * 3 + 1] = obs[i * 2 + 1];
        x[i * 3 + 2] = priv[i];
    }
    mix_forward(y, NULL, NULL, t->mix, ws, x, NULL, N);
    double error[2] = {0}, size[2] = {0};
    for (int i = 0; i < N; i++) {
        float v =
            y[i * 2 + tag[i]] * priv_critic_std(t, tag[i]) + priv_critic_mean(t, tag[i]);
        error[tag[i]] += pow((double)(v - target[i]), 2);
        size[tag[i]] += pow((double)target[i], 2);
    }
    ck_assert_double_lt(error[0] / size[0], .02);
    ck_assert_double_lt(error[1] / size[1], .02);
    mix_ws_free(ws);
    ppo_free(ppo);
    priv_critic_free(t);
    policy_free(p);
}
END_TEST

static void *make_critic(void *ctx, struct err *e)
{
    return priv_critic_new(ctx, 1, e);
}

static void free_critic(void *t)
{
    priv_critic_free(t);
}

START_TEST(memory)
{
    struct priv_critic_cfg c = {3, 2, 3, 4, 1};
    alloc_each_fails(make_critic, free_critic, &c);
}
END_TEST

SUITE_WITHIN(learn_priv_critic, 60, moments_per_tag, tags_learn_alike, memory);
