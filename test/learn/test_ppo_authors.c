/* What the learner does as the authors of PA-MoE coded it: ppo.h's redraw_noise, tied_heads,
 * noise_critic, and the routers' gradient. */
#include "learn/ppo.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60, OBS = 4, ACTIONS = 3, EXPERTS = 3 };

struct fixture {
    float obs[N * OBS], logp[N], z[N * EXPERTS], advantage[N], target[N];
    uint32_t mask[N];
    int action[N];
    struct policy *policy;
    struct ppo_cfg cfg;
    struct ppo_batch batch;
    struct ppo_stats stats;
};

static void fill(struct fixture *f, enum mix_route route)
{
    struct policy_cfg pc = policy_cfg_default(OBS);
    pc.actions = ACTIONS;
    pc.hidden = pc.critic_hidden = 6;
    pc.route = pc.critic_route = route;
    *f = (struct fixture){.policy = policy_new(&pc, NULL)};
    policy_init(f->policy, 5);
    /* apart from the biases, and experts that differ */
    for (size_t i = 0; i < f->policy->actor->n; i++)
        f->policy->actor->theta[i] *= 3.f;

    struct rng r;
    rng_init(&r, 3, 3);
    for (int i = 0; i < N * OBS; i++)
        f->obs[i] = (float)rng_normal(&r);
    for (int i = 0; i < N * EXPERTS; i++)
        f->z[i] = (float)rng_normal(&r);
    for (int i = 0; i < N; i++) {
        f->mask[i] = 7;
        f->action[i] = (int)rng_below(&r, ACTIONS);
        f->advantage[i] = (float)rng_normal(&r);
        f->target[i] = (float)rng_range(&r, -2, 3);
    }

    /* the log-probabilities of the policy that acted */
    struct mix_ws *ws = mix_ws_new(&f->policy->actor->cfg, N, NULL);
    float y[N * ACTIONS], prob[ACTIONS];
    mix_forward(y, NULL, NULL, f->policy->actor, ws, f->obs, f->z, N);
    for (int i = 0; i < N; i++) {
        policy_softmax(prob, y + i * ACTIONS, 7, ACTIONS);
        f->logp[i] = logf(prob[f->action[i]]);
    }
    mix_ws_free(ws);

    f->cfg = ppo_cfg_default();
    f->cfg.minibatch = 20;
    f->cfg.epochs = 3;
    f->cfg.balance = 0;
    f->batch = (struct ppo_batch){.n = N,
                                  .obs = f->obs,
                                  .mask = f->mask,
                                  .action = f->action,
                                  .logp = f->logp,
                                  .z = f->z,
                                  .advantage = f->advantage,
                                  .target = f->target};
}

static void update(struct fixture *f)
{
    struct ppo *p = ppo_new(&f->cfg, f->policy, NULL, N, 1, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(ppo_update(p, &f->batch, &f->stats), 0);
    ppo_free(p);
}

static const float *head_of(const struct mix *m, int k, size_t *n)
{
    struct mix_range whole = mix_expert(&m->cfg, k), trunk = mix_trunk(&m->cfg, k);
    *n = whole.n - trunk.n;
    return m->theta + whole.at + trunk.n;
}

START_TEST(noise_drawn_anew_moves_the_ratio)
{
    struct fixture f;
    fill(&f, MIX_TOP1_UNSCALED);
    f.cfg.router_noise = 1.0;
    update(&f);
    ck_assert_double_lt(f.stats.first_ratio_error, 1e-5);
    policy_free(f.policy);

    fill(&f, MIX_TOP1_UNSCALED);
    f.cfg.router_noise = 1.0;
    f.cfg.redraw_noise = true;
    update(&f);
    ck_assert_double_gt(f.stats.first_ratio_error, 1e-2);
    ck_assert_double_gt(f.stats.first_clip_share, 0);
    policy_free(f.policy);
}
END_TEST

/* Without noise its critic sends every row to the largest gate; with it to all three. */
START_TEST(the_critics_router_is_noisy_too)
{
    double largest[2];
    for (int noisy = 0; noisy < 2; noisy++) {
        struct fixture f;
        fill(&f, MIX_TOP1_UNSCALED);
        memset(f.policy->critic->theta, 0,
               mix_router(&f.policy->critic->cfg).n * sizeof(float));
        f.cfg.router_noise = noisy;
        update(&f);
        largest[noisy] = 0;
        for (int k = 0; k < EXPERTS; k++)
            largest[noisy] = fmax(largest[noisy], f.stats.critic_share[k]);
        policy_free(f.policy);
    }
    ck_assert_double_eq(largest[0], 1.0);
    ck_assert_double_lt(largest[1], 0.5); /* of 180 samples; .33 expected */
}
END_TEST

START_TEST(tied_heads_stay_one)
{
    struct fixture f;
    fill(&f, MIX_TOP1_UNSCALED);
    f.cfg.tied_heads = true;
    size_t n, trunk = mix_trunk(&f.policy->actor->cfg, 0).n;
    float first[64], trunk0[64];
    const float *head = head_of(f.policy->actor, 0, &n);
    memcpy(first, head, n * sizeof *first);
    memcpy(trunk0, f.policy->actor->theta + mix_trunk(&f.policy->actor->cfg, 2).at,
           trunk < 64 ? trunk * sizeof *trunk0 : sizeof trunk0);
    update(&f);

    const struct mix *nets[] = {f.policy->actor, f.policy->critic};
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < EXPERTS; k++)
            ck_assert_mem_eq(head_of(nets[i], 0, &n), head_of(nets[i], k, &n),
                             n * sizeof(float));
    head_of(nets[0], 0, &n);
    ck_assert_mem_ne(first, head_of(nets[0], 0, &n), n * sizeof(float)); /* it learned */
    ck_assert_mem_ne(trunk0, nets[0]->theta + mix_trunk(&nets[0]->cfg, 2).at,
                     sizeof(float)); /* so did a trunk */
    policy_free(f.policy);
}
END_TEST

/* One plain step: the tied head moves by the sum of what the three would have moved by. */
START_TEST(the_tied_gradient_is_the_sum)
{
    struct fixture tied, loose;
    fill(&tied, MIX_DENSE);
    fill(&loose, MIX_DENSE);
    struct ppo_cfg plain = tied.cfg;
    plain.lr = plain.critic_lr = plain.eps = 1e6; /* Adam's step is then the gradient */
    plain.beta1 = plain.beta2 = 0;
    plain.epochs = 1;
    plain.minibatch = N;
    plain.max_grad_norm = 0;
    plain.normalise_returns = 0;
    tied.cfg = loose.cfg = plain;
    tied.cfg.tied_heads = true;

    /* start the loose one from the tied one's weights */
    size_t n;
    struct mix *m = loose.policy->actor;
    for (int k = 1; k < EXPERTS; k++)
        memcpy((float *)head_of(m, k, &n), head_of(m, 0, &n),
               (mix_expert(&m->cfg, 0).n - mix_trunk(&m->cfg, 0).n) * sizeof(float));
    float start[64];
    memcpy(start, head_of(m, 0, &n), sizeof(float) * (size_t)(6 * ACTIONS + ACTIONS));
    update(&tied);
    update(&loose);
    for (size_t i = 0; i < 6 * ACTIONS + ACTIONS; i++) {
        double sum = 0;
        for (int k = 0; k < EXPERTS; k++)
            sum += (double)(head_of(m, k, &n)[i] - start[i]);
        ck_assert_double_eq_tol(
            (double)(head_of(tied.policy->actor, 1, &n)[i] - start[i]), sum, 1e-5);
    }
    policy_free(loose.policy);
    policy_free(tied.policy);
}
END_TEST

/* Softmax over one selected logit is 1: nothing reaches the router. Switch's scale by the
 * gate's probability is what trains it. */
START_TEST(the_authors_router_has_no_gradient)
{
    struct fixture f;
    fill(&f, MIX_TOP1_UNSCALED);
    update(&f);
    ck_assert_double_eq(f.stats.router_norm, 0);
    ck_assert_double_eq(f.stats.critic_router_norm, 0);
    ck_assert_double_gt(f.stats.grad_norm, 0);
    policy_free(f.policy);

    fill(&f, MIX_TOP1);
    update(&f);
    ck_assert_double_gt(f.stats.router_norm, 0);
    ck_assert_double_gt(f.stats.critic_router_norm, 0);
    ck_assert_double_lt(f.stats.router_norm, f.stats.grad_norm);
    policy_free(f.policy);
}
END_TEST

START_TEST(noise_on_the_critic_is_asked_for)
{
    float after[3][16];
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        fill(&f, MIX_TOP1);
        f.cfg.noise_gamma = i == 0 ? 0.0 : 5.0;
        f.cfg.noise_critic = i == 2;
        update(&f);
        const struct mix *m = f.policy->critic;
        memcpy(after[i], m->theta + mix_expert(&m->cfg, 1).at, sizeof after[i]);
        policy_free(f.policy);
    }
    ck_assert_mem_eq(after[0], after[1], sizeof after[0]);
    ck_assert_mem_ne(after[0], after[2], sizeof after[0]);
}
END_TEST

SUITE(learn_ppo_authors, noise_drawn_anew_moves_the_ratio,
      the_critics_router_is_noisy_too, tied_heads_stay_one, the_tied_gradient_is_the_sum,
      the_authors_router_has_no_gradient, noise_on_the_critic_is_asked_for);
