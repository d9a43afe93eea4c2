#include "learn/ppo.h"

#include "support/suites.h"

#include "learn/rollout.h"
#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, OBS = 5, ACTIONS = 4, EXPERTS = 3 };

/* A batch with everything in it: masks, tags, weights, router noise, ratios on both sides
 * of the clip. */
struct fixture {
    float obs[N * OBS], logp[N], z[N * EXPERTS], advantage[N], target[N], weight[N];
    float q[N * ACTIONS], prob[N * ACTIONS]; /* used when all_actions is set */
    float shown[N * ACTIONS];                /* likewise, with imitation */
    bool all_actions, imitation;
    uint32_t mask[N];
    int action[N], tag[N];
    struct policy *policy;
};

static struct policy *make_policy(int obs_dim, int actions, uint64_t seed)
{
    struct policy_cfg c = policy_cfg_default(obs_dim);
    c.actions = actions;
    c.hidden = c.critic_hidden = 8;
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, seed);
    return p;
}

static void fill(struct fixture *f)
{
    struct rng r;
    rng_init(&r, 3, 3);
    for (int i = 0; i < N * OBS; i++)
        f->obs[i] = (float)rng_normal(&r);
    for (int i = 0; i < N * EXPERTS; i++)
        f->z[i] = (float)(.5 * rng_normal(&r));
    for (int i = 0; i < N; i++) {
        f->mask[i] = i % 3 ? 15 : 7;
        f->action[i] = (int)rng_below(&r, i % 3 ? 4 : 3);
        f->tag[i] = i % 2;
        f->logp[i] = (float)log(rng_range(&r, .15, .5));
        f->advantage[i] = (float)rng_normal(&r);
        f->target[i] = (float)rng_range(&r, -2, 3);
        f->weight[i] = (float)rng_range(&r, .5, 2);
    }
    struct rng other; /* what follows does not depend on these draws */
    rng_init(&other, 3, 4);
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int j = 0; j < ACTIONS; j++) {
            float *p = &f->prob[i * ACTIONS + j];
            *p = f->mask[i] >> j & 1 ? (float)rng_range(&other, .1, .5) : 0.f;
            sum += *p;
            /* one action in four was not tried, never the one taken */
            bool tried = *p > 0.f && (j == f->action[i] || (i + j) % 4);
            f->q[i * ACTIONS + j] = tried ? (float)rng_normal(&other) : NAN;
        }
        for (int j = 0; j < ACTIONS; j++)
            f->prob[i * ACTIONS + j] /= sum;
    }
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int j = 0; j < ACTIONS; j++) {
            float *p = &f->shown[i * ACTIONS + j];
            *p = f->mask[i] >> j & 1 ? (float)rng_range(&other, 0, 1) : 0.f;
            sum += *p;
        }
        for (int j = 0; j < ACTIONS; j++)
            f->shown[i * ACTIONS + j] /= sum;
    }
    f->all_actions = f->imitation = false;
    f->policy = make_policy(OBS, ACTIONS, 5);
    /* a distribution that is not uniform, and routers so decided that a small step of a
     * numeric derivative sends no sample to another expert */
    for (size_t i = 0; i < f->policy->actor->n; i++)
        f->policy->actor->theta[i] += (float)(.3 * rng_normal(&r));
    for (size_t i = 0; i < f->policy->critic->n; i++)
        f->policy->critic->theta[i] += (float)(.3 * rng_normal(&r));
}

static struct ppo_batch batch_of(const struct fixture *f)
{
    return (struct ppo_batch){.n = N,
                              .obs = f->obs,
                              .mask = f->mask,
                              .action = f->action,
                              .tag = f->tag,
                              .logp = f->logp,
                              .z = f->z,
                              .q = f->all_actions ? f->q : NULL,
                              .prob = f->all_actions ? f->prob : NULL,
                              .shown = f->imitation ? f->shown : NULL,
                              .advantage = f->advantage,
                              .target = f->target,
                              .weight = f->weight};
}

/* Adam whose step is the gradient itself: eps so large that it alone divides. */
static struct ppo_cfg plain_gradient(void)
{
    struct ppo_cfg c = ppo_cfg_default();
    c.lr = c.critic_lr = c.eps = 1e6;
    c.beta1 = c.beta2 = 0;
    c.epochs = 1;
    c.minibatch = N;
    c.max_grad_norm = 0;
    c.balance = 0;
    c.entropy = .1;
    c.adv_norm = PPO_NORM_NONE;
    c.normalise_returns = 0;
    return c;
}

/* sum_j pi_old(j) min(r_j c_j, clip(r_j) c_j) over the actions that were tried */
static double expected_gain(const struct fixture *f, const struct ppo_cfg *c, int i,
                            const float *y, double sum)
{
    const float *q = f->q + i * ACTIONS, *old = f->prob + i * ACTIONS;
    double mean = 0, tried = 0, gain = 0;
    for (int j = 0; j < ACTIONS; j++)
        if (!isnan(q[j])) mean += (double)(old[j] * q[j]), tried += (double)old[j];
    for (int j = 0; j < ACTIONS; j++) {
        if (isnan(q[j])) continue;
        double r = exp((double)y[j]) / sum / (double)old[j];
        double a = (double)q[j] - mean / tried;
        double clipped = fmax(1 - c->clip, fmin(1 + c->clip, r));
        gain += (double)old[j] * fmin(r * a, clipped * a);
    }
    return gain;
}

/* The loss of ppo.h once more, in doubles and the other way round. */
static double actor_loss(const struct fixture *f, const struct ppo_cfg *c)
{
    const struct mix *m = f->policy->actor;
    struct mix_ws *ws = mix_ws_new(&m->cfg, N, NULL);
    float y[N * ACTIONS];
    mix_forward(y, NULL, NULL, m, ws, f->obs, f->z, N);
    mix_ws_free(ws);

    double loss = 0, weight = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0, entropy = 0;
        for (int j = 0; j < ACTIONS; j++)
            if (f->mask[i] >> j & 1) sum += exp((double)y[i * ACTIONS + j]);
        for (int j = 0; j < ACTIONS; j++) {
            double p = exp((double)y[i * ACTIONS + j]) / sum;
            if (f->mask[i] >> j & 1) entropy -= p * log(p);
        }
        double lp = (double)y[i * ACTIONS + f->action[i]] - log(sum);
        double r = exp(lp - (double)f->logp[i]), a = (double)f->advantage[i];
        double gain = 0;
        if (f->all_actions) {
            a -= (double)f->q[i * ACTIONS + f->action[i]];
            gain = expected_gain(f, c, i, y + i * ACTIONS, sum);
        }
        double clipped = fmax(1 - c->clip, fmin(1 + c->clip, r));
        bool taught = f->imitation && !isnan(f->shown[i * ACTIONS]);
        double copy = taught ? c->imitate : 0, match = 0;
        for (int j = 0; j < ACTIONS; j++)
            if (taught && f->mask[i] >> j & 1)
                match += (double)f->shown[i * ACTIONS + j] *
                         ((double)y[i * ACTIONS + j] - log(sum));
        loss -= (double)f->weight[i] * ((1 - copy) * (fmin(r * a, clipped * a) + gain) +
                                        copy * match + c->entropy * entropy);
        weight += (double)f->weight[i];
    }
    return loss / weight;
}

static double critic_loss(const struct fixture *f, const struct ppo_cfg *c)
{
    const struct mix *m = f->policy->critic;
    struct mix_ws *ws = mix_ws_new(&m->cfg, N, NULL);
    float y[N];
    mix_forward(y, NULL, NULL, m, ws, f->obs, NULL, N);
    mix_ws_free(ws);
    double loss = 0, weight = 0;
    for (int i = 0; i < N; i++) {
        double d = (double)(y[i] - f->target[i]);
        loss += (double)f->weight[i] * d * d;
        weight += (double)f->weight[i];
    }
    return c->value_coef * loss / weight;
}

static void check_gradient(struct fixture *f, struct mix *m, const struct ppo_cfg *c,
                           double (*loss)(const struct fixture *, const struct ppo_cfg *))
{
    float *start = malloc(m->n * sizeof *start), *after = malloc(m->n * sizeof *after);
    memcpy(start, m->theta, m->n * sizeof *start);
    struct ppo *p = ppo_new(c, f->policy, NULL, N, 1, NULL);
    struct ppo_batch b = batch_of(f);
    ck_assert_int_eq(ppo_update(p, &b, NULL), 0);
    ppo_free(p);
    memcpy(after, m->theta, m->n * sizeof *after);
    memcpy(m->theta, start, m->n * sizeof *start);

    double difference = 0, size = 0;
    for (size_t i = 0; i < m->n; i++) {
        const float h = 1e-3f;
        m->theta[i] = start[i] + h;
        double up = loss(f, c);
        m->theta[i] = start[i] - h;
        double down = loss(f, c);
        m->theta[i] = start[i];
        double numeric = (up - down) / (2 * (double)h);
        double ours = (double)(start[i] - after[i]);
        difference += (ours - numeric) * (ours - numeric);
        size += numeric * numeric;
    }
    ck_assert_double_gt(sqrt(size), 1e-2);
    ck_assert_double_lt(sqrt(difference / size), 1e-2);
    free(after);
    free(start);
}

START_TEST(actor_gradient)
{
    struct fixture f;
    fill(&f);
    struct ppo_cfg c = plain_gradient();
    check_gradient(&f, f.policy->actor, &c, actor_loss);
    policy_free(f.policy);
}
END_TEST

START_TEST(all_action_gradient)
{
    struct fixture f;
    fill(&f);
    f.all_actions = true;
    struct ppo_cfg c = plain_gradient();
    check_gradient(&f, f.policy->actor, &c, actor_loss);
    policy_free(f.policy);
}
END_TEST

/* Some of all, and nothing but imitation. */
START_TEST(imitation_gradient)
{
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        fill(&f);
        f.imitation = true;
        f.all_actions = !i;
        struct ppo_cfg c = plain_gradient();
        c.imitate = i ? 1 : .3;
        for (int k = 0; k < 3 * ACTIONS; k++)
            f.shown[k] = NAN; /* nobody teaches the first three */
        check_gradient(&f, f.policy->actor, &c, actor_loss);
        policy_free(f.policy);
    }
}
END_TEST

START_TEST(critic_gradient)
{
    struct fixture f;
    fill(&f);
    struct ppo_cfg c = plain_gradient();
    check_gradient(&f, f.policy->critic, &c, critic_loss);
    policy_free(f.policy);
}
END_TEST

static struct rollout *toy_rollout(const struct policy *p,
                                   const struct priv_critic *priv_critic,
                                   double router_noise)
{
    struct rollout_cfg rc = {.envs = 6,
                             .steps = 20,
                             .block = 4,
                             .threads = 1,
                             .router_noise = router_noise,
                             .seed = 9};
    struct rollout *r = rollout_new(&rc, p, priv_critic, toy_env_make, NULL, NULL);
    ck_assert_ptr_nonnull(r);
    rollout_collect(r, .9, .95, NULL);
    return r;
}

/* The noise that routed a step is kept with it: the first update sees the policy that
 * acted. Without it the ratio is off, which shows that the check can fail. */
START_TEST(ratio_starts_at_one_under_router_noise)
{
    struct policy *p = make_policy(TOY_OBS, TOY_ACTIONS, 1);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] *= 3.f; /* experts that differ */
    struct rollout *r = toy_rollout(p, NULL, 1.0);
    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = 120;
    struct ppo_stats with, without;
    struct ppo_batch b;
    rollout_batch(r, &b);
    ck_assert_ptr_nonnull(b.z);

    struct policy *copy = policy_clone(p, NULL);
    struct ppo *a = ppo_new(&c, p, NULL, b.n, 1, NULL);
    ck_assert_int_eq(ppo_update(a, &b, &with), 0);
    ck_assert_double_lt(with.first_ratio_error, 1e-5);
    b.z = NULL;
    struct ppo *d = ppo_new(&c, copy, NULL, b.n, 1, NULL);
    ck_assert_int_eq(ppo_update(d, &b, &without), 0);
    ck_assert_double_gt(without.first_ratio_error, 1e-2);
    ppo_free(d);
    ppo_free(a);
    policy_free(copy);
    rollout_free(r);
    policy_free(p);
}
END_TEST

static bool equal(const struct mix *a, const struct mix *b)
{
    return a->n == b->n && !memcmp(a->theta, b->theta, a->n * sizeof *a->theta);
}

/* one update of a fresh policy on a batch; the policy is returned */
static struct policy *updated(const struct ppo_cfg *c, const struct ppo_batch *b)
{
    struct policy *p = make_policy(OBS, ACTIONS, 5);
    struct ppo *ppo = ppo_new(c, p, NULL, N, 1, NULL);
    ck_assert_int_eq(ppo_update(ppo, b, NULL), 0);
    ppo_free(ppo);
    return p;
}

START_TEST(advantages_are_normalised_per_tag)
{
    struct fixture f;
    fill(&f);
    struct ppo_batch b = batch_of(&f);
    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = 8;
    for (int per_tag = 0; per_tag < 2; per_tag++) {
        c.adv_norm = per_tag ? PPO_NORM_TAG : PPO_NORM_BATCH;
        struct policy *before = updated(&c, &b);
        float scaled[N];
        for (int i = 0; i < N; i++)
            scaled[i] = f.advantage[i] * (f.tag[i] ? 1024.f : 1.f);
        struct ppo_batch other = b;
        other.advantage = scaled;
        struct policy *after = updated(&c, &other);
        double difference = 0;
        for (size_t i = 0; i < before->actor->n; i++)
            difference +=
                fabs((double)(before->actor->theta[i] - after->actor->theta[i]));
        if (per_tag) {
            ck_assert_double_lt(difference, 1e-3);
        } else {
            ck_assert_double_gt(difference, 1e-2);
        }
        policy_free(after);
        policy_free(before);
    }
    policy_free(f.policy);
}
END_TEST

START_TEST(threads_do_not_change_the_weights)
{
    struct fixture f;
    fill(&f);
    struct ppo_batch b = batch_of(&f);
    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = 7; /* the last one is smaller */
    c.noise_gamma = 1;
    struct policy *one = updated(&c, &b);
    c.threads = 3;
    struct policy *three = updated(&c, &b);
    ck_assert(equal(one->actor, three->actor));
    ck_assert(equal(one->critic, three->critic));
    policy_free(three);
    policy_free(one);
    policy_free(f.policy);
}
END_TEST

START_TEST(state_round_trip)
{
    struct fixture f;
    fill(&f);
    struct ppo_batch b = batch_of(&f);
    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = 8;
    c.noise_gamma = 1;
    struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    ck_assert_int_eq(ppo_update(p, &b, NULL), 0);

    size_t size = ppo_state_size(p);
    void *state = malloc(size);
    ppo_state_get(p, state);
    struct policy *copy = policy_clone(f.policy, NULL);
    ck_assert_int_eq(ppo_update(p, &b, NULL), 0);

    struct err e = {0};
    struct ppo *q = ppo_new(&c, copy, NULL, N, 99, NULL);
    ck_assert_int_eq(ppo_state_put(q, state, size - 1, &e), ERR_CORRUPT);
    ck_assert_int_eq(ppo_state_put(q, state, size, NULL), 0);
    ck_assert_int_eq(ppo_update(q, &b, NULL), 0);
    ck_assert(equal(f.policy->actor, copy->actor));
    ck_assert(equal(f.policy->critic, copy->critic));
    ck_assert_float_eq(f.policy->ret_mean, copy->ret_mean);
    ck_assert_float_eq(f.policy->ret_std, copy->ret_std);
    ppo_free(q);
    policy_free(copy);
    free(state);
    ppo_free(p);
    policy_free(f.policy);
}
END_TEST

/* With the router's bias all samples go to expert 0: the others keep their bits, noise or
 * not. With nothing to learn expert 0 moves by the noise alone, lr * gamma per step. */
START_TEST(idle_experts_stand_still)
{
    struct fixture f;
    fill(&f);
    struct mix *m = f.policy->actor;
    struct mix_range router = mix_router(&m->cfg), own = mix_expert(&m->cfg, 0);
    m->theta[router.at + router.n - EXPERTS] = 50.f;
    for (int i = 0; i < N; i++)
        f.advantage[i] = 0;
    struct ppo_cfg c = ppo_cfg_default();
    c.lr = 1e-3;
    c.entropy = c.balance = 0;
    c.noise_gamma = 2;
    c.adv_norm = PPO_NORM_NONE;
    c.epochs = 1;
    c.minibatch = N;
    struct policy *start = policy_clone(f.policy, NULL);
    struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    struct ppo_batch b = batch_of(&f);
    struct ppo_stats s;
    ck_assert_int_eq(ppo_update(p, &b, &s), 0);

    double square = 0;
    for (size_t i = 0; i < own.n; i++) {
        double d = (double)(m->theta[own.at + i] - start->actor->theta[own.at + i]);
        square += d * d;
    }
    ck_assert_double_eq_tol(sqrt(square / (double)own.n), 2e-3, 4e-4);
    for (int k = 1; k < EXPERTS; k++) {
        struct mix_range r = mix_expert(&m->cfg, k);
        ck_assert_mem_eq(m->theta + r.at, start->actor->theta + r.at,
                         r.n * sizeof(float));
    }
    ck_assert_double_eq(s.expert_share[0], 1.0);
    ppo_free(p);
    policy_free(start);
    policy_free(f.policy);
}
END_TEST

START_TEST(returns_are_normalised)
{
    struct fixture f;
    fill(&f);
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)f.target[i];
        square += (double)f.target[i] * (double)f.target[i];
    }
    struct ppo_cfg c = ppo_cfg_default();
    struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    struct ppo_batch b = batch_of(&f);
    ck_assert_int_eq(ppo_update(p, &b, NULL), 0);
    double mean = sum / N;
    ck_assert_double_eq_tol((double)f.policy->ret_mean, mean, 1e-5);
    ck_assert_double_eq_tol((double)f.policy->ret_std, sqrt(square / N - mean * mean),
                            1e-5);
    ppo_free(p);

    /* a trained policy's scale moves slowly */
    float before = f.policy->ret_mean;
    for (int i = 0; i < N; i++)
        f.target[i] += 100.f;
    p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    ck_assert_int_eq(ppo_update(p, &b, NULL), 0);
    ck_assert_float_gt(f.policy->ret_mean, before);
    ck_assert_float_lt(f.policy->ret_mean, before + 2.f);
    ppo_free(p);
    policy_free(f.policy);
}
END_TEST

START_TEST(kl_stops_the_epochs)
{
    struct fixture f;
    fill(&f);
    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = N;
    c.epochs = 10;
    c.target_kl = 1e-9; /* the fixture's log-probs are far from the policy's */
    struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    struct ppo_batch b = batch_of(&f);
    struct ppo_stats s;
    ck_assert_int_eq(ppo_update(p, &b, &s), 0);
    ck_assert_int_eq(s.steps, 1);
    ck_assert_double_gt(s.approx_kl, 0);
    ck_assert_double_gt(s.clip_share, 0);
    ppo_free(p);
    policy_free(f.policy);
}
END_TEST

START_TEST(not_finite_is_told)
{
    for (int where = 0; where < 3; where++) {
        struct fixture f;
        fill(&f);
        if (where == 0) f.advantage[3] = NAN;
        if (where == 1) f.target[3] = INFINITY;
        if (where == 2) f.obs[7] = NAN;
        struct ppo_cfg c = ppo_cfg_default();
        struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
        struct ppo_batch b = batch_of(&f);
        ck_assert_int_eq(ppo_update(p, &b, NULL), ERR_NUMERIC);
        ppo_free(p);
        policy_free(f.policy);
    }
}
END_TEST

struct pupil {
    struct policy *policy;
    struct priv_critic *priv_critic;
};

static void *make_ppo(void *ctx, struct err *e)
{
    struct ppo_cfg c = ppo_cfg_default();
    const struct pupil *p = ctx;
    return ppo_new(&c, p->policy, p->priv_critic, N, 1, e);
}

static void free_ppo(void *p)
{
    ppo_free(p);
}

START_TEST(memory)
{
    struct fixture f;
    fill(&f);
    struct priv_critic_cfg tc = {OBS, 2, 2, 8, 1};
    struct pupil pupil = {f.policy, priv_critic_new(&tc, 1, NULL)};
    alloc_each_fails(make_ppo, free_ppo, &pupil);
    priv_critic_free(pupil.priv_critic);

    struct ppo_cfg c = ppo_cfg_default();
    c.minibatch = 8;
    c.noise_gamma = 1;
    struct ppo *p = ppo_new(&c, f.policy, NULL, N, 1, NULL);
    struct ppo_batch b = batch_of(&f);
    alloc_watch();
    int rc = ppo_update(p, &b, NULL);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    ppo_free(p);
    policy_free(f.policy);
}
END_TEST

SUITE_WITHIN(learn_ppo, 60, actor_gradient, all_action_gradient, imitation_gradient,
             critic_gradient, ratio_starts_at_one_under_router_noise,
             advantages_are_normalised_per_tag, threads_do_not_change_the_weights,
             state_round_trip, idle_experts_stand_still, returns_are_normalised,
             kl_stops_the_epochs, not_finite_is_told, memory);
