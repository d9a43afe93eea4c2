#include "lab/shift/shift_probe.h"

#include "learn/plasticity.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_ROUTER = 0x70726f62, STREAM_EXAM = 0x6578616d };

struct shift_prober {
    const struct recipe_world *world;
    int max_rows;
    struct plasticity_ws *ws, *ws_all;
    struct policy *all; /* the same weights, every expert used */
    struct plasticity *found;
    struct policy_ws *decide;
    float *obs, *z[SHIFT_NETS]; /* (max_rows, obs_dim | experts) */
};

struct shift_prober *shift_prober_new(const struct recipe_world *world, int max_rows,
                                      struct err *e)
{
    const struct policy_cfg *c = &world->recipe->policy;
    struct shift_prober *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for the diagnostics");
        return NULL;
    }
    size_t rows = (size_t)max_rows;
    p->world = world;
    p->max_rows = max_rows;
    p->obs = calloc(rows * (size_t)c->obs_dim, sizeof *p->obs);
    p->z[SHIFT_ACTOR] = calloc(rows * (size_t)c->experts, sizeof(float));
    p->z[SHIFT_CRITIC] = calloc(rows * (size_t)c->critic_experts, sizeof(float));
    p->found = calloc(1, sizeof *p->found);
    p->ws = plasticity_ws_new(c, max_rows, e);
    struct policy_cfg all = *c;
    if (all.experts > 1) all.route = MIX_DENSE;
    if (all.critic_experts > 1) all.critic_route = MIX_DENSE;
    p->all = policy_new(&all, e);
    p->ws_all = plasticity_ws_new(&all, max_rows, e);
    p->decide = policy_ws_new(c, e);
    if (p->obs && p->z[0] && p->z[1] && p->found && p->ws && p->ws_all && p->all &&
        p->decide)
        return p;
    err_set(e, ERR_MEMORY, "no memory for the diagnostics of %d states", max_rows);
    shift_prober_free(p);
    return NULL;
}

void shift_prober_free(struct shift_prober *p)
{
    if (!p) return;
    policy_ws_free(p->decide);
    plasticity_ws_free(p->ws_all);
    policy_free(p->all);
    plasticity_ws_free(p->ws);
    free(p->found);
    free(p->z[SHIFT_CRITIC]);
    free(p->z[SHIFT_ACTOR]);
    free(p->obs);
    free(p);
}

float *shift_prober_obs(struct shift_prober *p)
{
    return p->obs;
}

static void measures(float out[SHIFT_MEASURES], const struct plasticity_layer *l)
{
    for (int i = 0; i < PLASTICITY_TAUS; i++)
        out[SHIFT_DORMANT + i] = (float)l->dormant[i];
    out[SHIFT_RANK] = (float)l->rank;
    out[SHIFT_EFFECTIVE] = (float)l->effective;
    out[SHIFT_APPROX] = (float)l->approx;
    out[SHIFT_ABS_APPROX] = (float)l->abs_approx;
}

/* experts and layers beyond those that the network has: NaN */
static void fill_nan(struct shift_probe_net *out)
{
    float *at = (float *)out;
    for (size_t i = 0; i < sizeof *out / sizeof *at; i++)
        at[i] = NAN;
}

static void take_net(struct shift_probe_net *out, const struct plasticity_net *n)
{
    fill_nan(out);
    int experts = n->experts < SHIFT_EXPERTS ? n->experts : SHIFT_EXPERTS;
    int layers = n->layers < SHIFT_LAYERS ? n->layers : SHIFT_LAYERS;
    for (int k = 0; k < experts; k++) {
        const struct plasticity_expert *x = &n->expert[k];
        out->share[k] = (float)x->share;
        out->gate[k] = (float)x->gate;
        for (int l = 0; l < layers; l++) {
            measures(out->layer[k][l], &x->layer[l]);
            out->weight[k][l] = (float)x->weight[l].abs;
        }
        out->weight[k][SHIFT_LAYERS] = (float)x->weight[n->layers].abs;
    }
    measures(out->mean, &n->mean);
    double sum = 0.0;
    for (int l = 0; l < n->layers; l++)
        sum += n->mean_weight[l].abs;
    out->mean_weight = (float)(sum / n->layers);
    out->router_weight = (float)n->router.abs;
}

/* The same weights with another route; both have the same layout. */
static void ask_all(struct shift_prober *p, const struct policy *policy)
{
    assert(p->all->actor->n == policy->actor->n &&
           p->all->critic->n == policy->critic->n);
    memcpy(p->all->actor->theta, policy->actor->theta, sizeof(float) * policy->actor->n);
    memcpy(p->all->critic->theta, policy->critic->theta,
           sizeof(float) * policy->critic->n);
}

/* Whether training itself shows every state to every expert. */
static bool asked_all(const struct shift_prober *p)
{
    const struct policy_cfg *c = &p->world->recipe->policy;
    return c->route == p->all->cfg.route && c->critic_route == p->all->cfg.critic_route;
}

static int look_inside(struct shift_probe *out, struct shift_prober *p,
                       const struct policy *policy, int rows, uint64_t when,
                       struct err *e)
{
    const struct recipe *r = p->world->recipe;
    double std = r->train.rollout.router_noise;
    const int experts[SHIFT_NETS] = {r->policy.experts, r->policy.critic_experts};
    struct rng rng;
    rng_init(&rng, rng_u64_at(r->train.seed, STREAM_ROUTER, 0), when);
    for (int n = 0; n < SHIFT_NETS; n++)
        for (int i = 0; std > 0.0 && i < rows * experts[n]; i++)
            p->z[n][i] = (float)(std * rng_normal(&rng));

    struct plasticity_batch b = {.obs = p->obs, .n = rows};
    if (std > 0.0) {
        b.z_actor = p->z[SHIFT_ACTOR];
        b.z_critic = p->z[SHIFT_CRITIC];
    }
    int rc = plasticity_measure(p->found, p->ws, policy, &b, e);
    if (rc) return rc;
    take_net(&out->net[SHIFT_ACTOR], &p->found->actor);
    take_net(&out->net[SHIFT_CRITIC], &p->found->critic);

    if (!asked_all(p)) {
        b.z_actor = b.z_critic = NULL;
        ask_all(p, policy);
        rc = plasticity_measure(p->found, p->ws_all, p->all, &b, e);
        if (rc) return rc;
    }
    measures(out->net[SHIFT_ACTOR].mean_all, &p->found->actor.mean);
    measures(out->net[SHIFT_CRITIC].mean_all, &p->found->critic.mean);
    return 0;
}

/* Greedy QoE per chunk of one profile. */
static int sit_exam(float *out, struct shift_prober *p, const struct policy *policy,
                    int profile, struct err *e)
{
    const struct recipe *r = p->world->recipe;
    struct abr_env_cfg cfg = r->env;
    cfg.n_profiles = 1;
    cfg.profiles[0] = r->env.profiles[profile];
    cfg.cycle_steps = 0;
    struct env env = abr_env_new(&cfg, p->world->worlds,
                                 rng_u64_at(r->train.seed, STREAM_EXAM, 0), 0, e);
    if (!env.self) return e ? e->code : ERR_MEMORY;

    float obs[FEAT_FULL_DIM];
    struct env_out o = {.obs = obs};
    double sum = 0.0;
    int steps = 0, episodes = 0, rc = 0;
    env.reset(env.self, &o);
    while (!rc && episodes < SHIFT_EXAM) {
        struct policy_choice c;
        rc = policy_decide(&c, policy, p->decide, obs, o.mask, -1.0);
        env.step(env.self, c.action, &o);
        sum += (double)o.reward;
        steps++;
        if (!o.done && !o.truncated) continue;
        episodes++;
        env.reset(env.self, &o);
    }
    env.free(env.self);
    if (rc) return err_set(e, rc, "the policy's answer is not finite");
    *out = (float)(sum / steps);
    return 0;
}

int shift_prober_take(struct shift_probe *out, struct shift_prober *p,
                      const struct policy *policy, int rows, uint64_t when, struct err *e)
{
    assert(rows > 0 && rows <= p->max_rows);
    *out = (struct shift_probe){0};
    int rc = look_inside(out, p, policy, rows, when, e);
    for (int i = 0; !rc && i < SHIFT_PROFILES; i++)
        rc = sit_exam(&out->exam[i], p, policy, i, e);
    return rc;
}
