#include "policy/policy.h"

#include "base/bytes.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_ws {
    struct mix_ws *actor, *critic;
    float gate[MIX_EXPERTS_MAX];
};

struct policy_cfg policy_cfg_default(int obs_dim)
{
    return (struct policy_cfg){
        .obs_dim = obs_dim,
        .actions = POLICY_ACTIONS,
        .hidden = 64,
        .layers = 2,
        .experts = 3,
        .critic_hidden = 64,
        .critic_experts = 3,
        .route = MIX_TOP1,
        .critic_route = MIX_TOP1,
    };
}

struct mix_cfg policy_actor_cfg(const struct policy_cfg *cfg)
{
    return (struct mix_cfg){cfg->obs_dim, cfg->hidden,  cfg->layers,
                            cfg->actions, cfg->experts, cfg->route};
}

struct mix_cfg policy_critic_cfg(const struct policy_cfg *cfg)
{
    return (struct mix_cfg){cfg->obs_dim,        cfg->critic_hidden, cfg->layers, 1,
                            cfg->critic_experts, cfg->critic_route};
}

int policy_cfg_check(const struct policy_cfg *cfg, struct err *e)
{
    if (cfg->obs_dim < 1 || cfg->obs_dim > MIX_IN_MAX)
        return err_field(e, ERR_RANGE, "obs_dim", "%d is not within 1 .. %d",
                         cfg->obs_dim, MIX_IN_MAX);
    if (cfg->actions < 1 || cfg->actions > POLICY_ACTIONS)
        return err_field(e, ERR_RANGE, "actions", "%d is not within 1 .. %d",
                         cfg->actions, POLICY_ACTIONS);

    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    int rc = mix_cfg_check(&actor, e);
    if (rc) return rc;

    struct err why = {0};
    rc = mix_cfg_check(&critic, &why);
    if (!rc) return 0;
    char name[sizeof why.field];
    snprintf(name, sizeof name, "critic_%.50s", why.field);
    return err_field(e, rc, name, "%s", why.detail);
}

struct policy *policy_new(const struct policy_cfg *cfg, struct err *e)
{
    if (policy_cfg_check(cfg, e)) return NULL;

    struct policy *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for a policy");
        return NULL;
    }
    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    p->cfg = *cfg;
    p->ret_std = 1.0f;
    p->actor = mix_new(&actor, e);
    p->critic = p->actor ? mix_new(&critic, e) : NULL;
    if (p->critic) return p;

    policy_free(p);
    return NULL;
}

struct policy *policy_clone(const struct policy *p, struct err *e)
{
    struct policy *copy = policy_new(&p->cfg, e);
    if (copy) policy_copy(copy, p);
    return copy;
}

void policy_copy(struct policy *p, const struct policy *from)
{
    assert(memcmp(&p->cfg, &from->cfg, sizeof p->cfg) == 0);
    memcpy(p->actor->theta, from->actor->theta, sizeof(float) * p->actor->n);
    memcpy(p->critic->theta, from->critic->theta, sizeof(float) * p->critic->n);
    p->actor->busy = from->actor->busy;
    p->critic->busy = from->critic->busy;
    p->ret_mean = from->ret_mean;
    p->ret_std = from->ret_std;
    p->version = from->version;
}

void policy_free(struct policy *p)
{
    if (!p) return;
    mix_free(p->critic);
    mix_free(p->actor);
    free(p);
}

void policy_init(struct policy *p, uint64_t seed)
{
    /* a stream each: the actor's weights do not change with the critic's size */
    struct rng r;
    rng_init(&r, seed, 1);
    mix_init(p->actor, 0.01f, &r);
    rng_init(&r, seed, 2);
    mix_init(p->critic, 1.0f, &r);
}

void policy_init_uniform(struct policy *p, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 1);
    mix_init_uniform(p->actor, &r);
    rng_init(&r, seed, 2);
    mix_init_uniform(p->critic, &r);
}

uint32_t policy_crc32(const struct policy *p)
{
    uint32_t crc = bytes_crc32(0, p->actor->theta, p->actor->n * sizeof(float));
    return bytes_crc32(crc, p->critic->theta, p->critic->n * sizeof(float));
}

struct policy_ws *policy_ws_new(const struct policy_cfg *cfg, struct err *e)
{
    if (policy_cfg_check(cfg, e)) return NULL;

    struct policy_ws *ws = calloc(1, sizeof *ws);
    if (!ws) {
        err_set(e, ERR_MEMORY, "no memory for a decision's scratch");
        return NULL;
    }
    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    ws->actor = mix_ws_new(&actor, 1, e);
    ws->critic = ws->actor ? mix_ws_new(&critic, 1, e) : NULL;
    if (ws->critic) return ws;

    policy_ws_free(ws);
    return NULL;
}

void policy_ws_free(struct policy_ws *ws)
{
    if (!ws) return;
    mix_ws_free(ws->critic);
    mix_ws_free(ws->actor);
    free(ws);
}

static bool in_mask(uint32_t mask, int a)
{
    return mask >> a & 1;
}

float policy_softmax(float *prob, const float *logits, uint32_t mask, int actions)
{
    assert(actions > 0 && actions <= 32 && mask & (UINT32_MAX >> (32 - actions)));
    float top = -INFINITY, sum = 0.0f;
    for (int a = 0; a < actions; a++)
        if (in_mask(mask, a) && logits[a] > top) top = logits[a];
    for (int a = 0; a < actions; a++) {
        prob[a] = in_mask(mask, a) ? expf(logits[a] - top) : 0.0f;
        sum += prob[a];
    }
    for (int a = 0; a < actions; a++)
        prob[a] /= sum;
    return top + logf(sum);
}

/* nothing the weights said can be used: every level alike, the lowest is taken */
static int give_up(struct policy_choice *out, uint32_t mask, int actions)
{
    *out = (struct policy_choice){.action = -1};
    int levels = 0;
    for (int a = 0; a < actions; a++)
        levels += in_mask(mask, a);
    for (int a = 0; a < actions; a++) {
        if (!in_mask(mask, a)) continue;
        if (out->action < 0) out->action = a;
        out->prob[a] = 1.0f / (float)levels;
    }
    out->entropy = logf((float)levels);
    out->logp = -out->entropy;
    return ERR_NUMERIC;
}

/* without a branch, which nobody could predict */
static int most_likely(const float *prob, int actions)
{
    int best = 0;
    float most = prob[0];
    for (int a = 1; a < actions; a++) {
        bool more = prob[a] > most;
        best = more ? a : best;
        most = more ? prob[a] : most;
    }
    return best;
}

/* The first level whose cumulated probability passes u. Rounding may leave the sum just
 * below u: then the last level that is possible at all. */
static int policy_sample(const float *prob, int actions, double u)
{
    double sum = 0.0;
    int last = 0;
    for (int a = 0; a < actions; a++) {
        if (prob[a] == 0.0f) continue;
        sum += (double)prob[a];
        last = a;
        if (u < sum) break;
    }
    return last;
}

int policy_settle(struct policy_choice *c, const float *logits, float lse, uint32_t mask,
                  int actions, double u)
{
    /* 0, or NaN when one of them is not finite */
    float odd = 0.0f * c->value + 0.0f * lse, entropy = 0.0f;
    for (int k = 0; k < POLICY_GATES; k++)
        odd += 0.0f * c->gate[k];
    if (odd != 0.0f) return give_up(c, mask, actions);

    for (int a = 0; a < actions; a++) {
        float x = in_mask(mask, a) ? logits[a] : lse;
        odd += 0.0f * x;
        entropy += c->prob[a] > 0.0f ? c->prob[a] * (lse - x) : 0.0f;
    }
    if (odd != 0.0f) return give_up(c, mask, actions);

    c->entropy = entropy;
    c->action =
        u < 0.0 ? most_likely(c->prob, actions) : policy_sample(c->prob, actions, u);
    c->logp = logits[c->action] - lse;
    return 0;
}

int policy_decide(struct policy_choice *out, const struct policy *p, struct policy_ws *ws,
                  const float *obs, uint32_t mask, double u)
{
    int actions = p->cfg.actions, experts = p->cfg.experts;
    assert(mask & (UINT32_MAX >> (32 - actions)));
    float logits[POLICY_ACTIONS], value;
    *out = (struct policy_choice){0};
    mix_forward(logits, &out->expert, ws->gate, p->actor, ws->actor, obs, NULL, 1);
    mix_forward(&value, NULL, NULL, p->critic, ws->critic, obs, NULL, 1);
    float lse = policy_softmax(out->prob, logits, mask, actions);
    out->value = value * p->ret_std + p->ret_mean;
    for (int k = 0; k < experts && k < POLICY_GATES; k++)
        out->gate[k] = ws->gate[k];
    return policy_settle(out, logits, lse, mask, actions, u);
}
