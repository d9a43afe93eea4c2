#include "nn/adam.h"
#include "ppo_priv.h"
#include "learn/inject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ppo_net_init(struct ppo_net *l, struct mix *net, const struct ppo_cfg *cfg,
                 int max_batch, uint64_t seed, uint64_t id, struct err *e)
{
    const struct mix_cfg *c = &net->cfg;
    size_t before = cfg->gate.locality > 0.0 || cfg->gate.latch ? net->n : 0;
    size_t rows = (size_t)cfg->minibatch, in = (size_t)c->in, out = (size_t)c->out;
    size_t experts = (size_t)c->experts;

    *l = (struct ppo_net){.net = net};
    rng_init(&l->rng, seed, id);
    l->ws = mix_ws_new(c, cfg->minibatch, e);
    if (!l->ws) return e ? e->code : ERR_MEMORY;
    l->block =
        calloc(3 * net->n + rows * (in + experts + 2 * out) + before, sizeof *l->block);
    l->steps = calloc(1 + experts, sizeof *l->steps);
    l->order = calloc((size_t)max_batch, sizeof *l->order);
    l->used = calloc(experts, sizeof *l->used);
    if (!l->block || !l->steps || !l->order || !l->used)
        return err_set(e, ERR_MEMORY, "no memory for the optimiser");

    l->grad = l->block;
    l->m = l->grad + net->n;
    l->v = l->m + net->n;
    l->x = l->v + net->n;
    l->z = l->x + rows * in;
    l->y = l->z + rows * experts;
    l->dy = l->y + rows * out;
    l->before = before ? l->dy + rows * out : NULL;
    return 0;
}

void ppo_net_release(struct ppo_net *l)
{
    free(l->used);
    free(l->order);
    free(l->steps);
    free(l->block);
    mix_ws_free(l->ws);
}

bool ppo_net_latched(const struct ppo_net *l, const struct ppo_cfg *cfg)
{
    return gate_latched(&l->gate, &cfg->gate, l->net->cfg.experts);
}

void ppo_net_begin(struct ppo_net *l, const struct ppo_cfg *cfg, const float *x,
                   const int *tag, int n)
{
    l->sick = 0;
    gate_round(&l->gate, &cfg->gate, l->net, x, tag, n);
    if (l->before) memcpy(l->before, l->net->theta, l->net->n * sizeof *l->before);
}

void ppo_net_end(struct ppo_net *l)
{
    if (l->before) gate_moved(&l->gate, l->net, l->before);
}

void ppo_net_blame(struct ppo_net *l)
{
    l->sick |= mix_unsound(l->net, l->ws);
}

void ppo_net_shuffle(struct ppo_net *l, int n)
{
    for (int i = 0; i < n; i++)
        l->order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&l->rng, (uint32_t)i + 1), t = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = t;
    }
}

static void adam_range(struct ppo_net *l, struct mix_range r, int64_t *steps,
                       const struct adam_cfg *cfg, float scale)
{
    if (!r.n) return;
    ++*steps;
    adam_step(l->net->theta + r.at, l->m + r.at, l->v + r.at, l->grad + r.at, r.n, cfg,
              *steps, scale);
}

void ppo_net_draw_z(struct ppo_net *l, int n, double std)
{
    size_t all = (size_t)n * (size_t)l->net->cfg.experts;
    memset(l->z, 0, all * sizeof *l->z);
    inject_noise(l->z, all, std, &l->rng);
}

static struct mix_range ppo_net_head_of(const struct mix_cfg *cfg, int k)
{
    struct mix_range whole = mix_expert(cfg, k), trunk = mix_trunk(cfg, k);
    return (struct mix_range){whole.at + trunk.n, whole.n - trunk.n};
}

void ppo_net_tie_heads(struct ppo_net *l)
{
    struct mix *net = l->net;
    struct mix_range first = ppo_net_head_of(&net->cfg, 0);
    for (int k = 1; k < net->cfg.experts; k++)
        memcpy(net->theta + ppo_net_head_of(&net->cfg, k).at, net->theta + first.at,
               first.n * sizeof *net->theta);
}

/* The sum of the heads' gradients into that of expert 0. */
static void add_heads(struct ppo_net *l)
{
    struct mix_range first = ppo_net_head_of(&l->net->cfg, 0);
    for (int k = 1; k < l->net->cfg.experts; k++) {
        const float *other = l->grad + ppo_net_head_of(&l->net->cfg, k).at;
        for (size_t i = 0; i < first.n; i++)
            l->grad[first.at + i] += other[i];
    }
}

static bool is_tied(const struct ppo_net *l, const struct ppo_cfg *cfg)
{
    return cfg->tied_heads && l->net->cfg.experts > 1;
}

/* Every step moves them, as it does the router, so they share its count. */
static void step_tied_heads(struct ppo_net *l, const struct adam_cfg *cfg, float scale)
{
    struct mix_range r = ppo_net_head_of(&l->net->cfg, 0);
    add_heads(l);
    adam_step(l->net->theta + r.at, l->m + r.at, l->v + r.at, l->grad + r.at, r.n, cfg,
              l->steps[0], scale);
    ppo_net_tie_heads(l);
}

/* Adam, when there were samples, and noise: both in one pass where their ranges agree. */
static void step_expert(struct ppo_net *l, const struct ppo_cfg *cfg, int k,
                        const struct adam_cfg *adam, float scale, double gamma_noise)
{
    struct mix *net = l->net;
    struct mix_range whole = mix_expert(&net->cfg, k), trunk = mix_trunk(&net->cfg, k);
    bool tied = is_tied(l, cfg), used = l->used[k];
    double gamma = adam->lr * gamma_noise;
    if (used) {
        struct adam_cfg a = *adam;
        a.noise = tied ? cfg->noise_std : gamma;
        if (a.noise > 0.0) a.key = rng_u64(&l->rng);
        adam_range(l, tied ? trunk : whole, &l->steps[1 + k], &a, scale);
        if (tied && gamma > 0.0)
            inject_noise(net->theta + whole.at, whole.n, gamma, &l->rng);
    }
    if (cfg->noise_std > 0.0 && !(used && tied))
        inject_noise(net->theta + trunk.at, trunk.n, cfg->noise_std, &l->rng);
}

static void blame_gradients(struct ppo_net *l)
{
    for (int k = 0; k < l->net->cfg.experts; k++) {
        struct mix_range r = mix_expert(&l->net->cfg, k);
        if (!isfinite(adam_sumsq(l->grad + r.at, r.n))) l->sick |= (uint64_t)1 << k;
    }
}

/* A router that rests is not stepped; tied heads go on counting with it. */
static void step_router(struct ppo_net *l, const struct ppo_cfg *cfg, bool still,
                        const struct adam_cfg *adam, float scale)
{
    if (!still)
        adam_range(l, mix_router(&l->net->cfg), &l->steps[0], adam, scale);
    else if (is_tied(l, cfg))
        ++l->steps[0];
}

double ppo_net_step(struct ppo_net *l, const struct ppo_cfg *cfg, double lr,
                    double gamma_noise, float *balance)
{
    struct mix *net = l->net;
    float toll[MIX_EXPERTS_MAX];
    struct mix_dues dues =
        gate_dues(toll, &l->gate, &cfg->gate, cfg->balance, net->cfg.experts);
    *balance = mix_backward_gate(l->grad, l->used, net, l->ws, l->dy, &dues);
    double norm = sqrt(adam_sumsq(l->grad, net->n));
    if (!isfinite(norm)) {
        blame_gradients(l);
        return norm;
    }
    struct mix_range router = mix_router(&net->cfg);
    l->router_norm += sqrt(adam_sumsq(l->grad + router.at, router.n));

    double scale = 1.0;
    if (cfg->max_grad_norm > 0.0 && norm > cfg->max_grad_norm)
        scale = cfg->max_grad_norm / norm;
    struct adam_cfg adam = {lr, cfg->beta1, cfg->beta2, cfg->eps, cfg->weight_decay,
                            0,  0};
    step_router(l, cfg, dues.still, &adam, (float)scale);
    for (int k = 0; k < net->cfg.experts; k++)
        step_expert(l, cfg, k, &adam, (float)scale, gamma_noise);
    if (is_tied(l, cfg)) step_tied_heads(l, &adam, (float)scale);
    return norm;
}

size_t ppo_net_state_size(const struct ppo_net *l)
{
    return 2 * l->net->n * sizeof *l->m +
           (1 + (size_t)l->net->cfg.experts) * sizeof *l->steps + sizeof l->rng +
           sizeof l->gate;
}

char *ppo_net_state_get(const struct ppo_net *l, char *out)
{
    size_t moments = 2 * l->net->n * sizeof *l->m;
    size_t steps = (1 + (size_t)l->net->cfg.experts) * sizeof *l->steps;
    memcpy(out, l->m, moments); /* m and v lie side by side */
    memcpy(out + moments, l->steps, steps);
    memcpy(out + moments + steps, &l->rng, sizeof l->rng);
    memcpy(out + moments + steps + sizeof l->rng, &l->gate, sizeof l->gate);
    return out + ppo_net_state_size(l);
}

const char *ppo_net_state_put(struct ppo_net *l, const char *in)
{
    size_t moments = 2 * l->net->n * sizeof *l->m;
    size_t steps = (1 + (size_t)l->net->cfg.experts) * sizeof *l->steps;
    memcpy(l->m, in, moments);
    memcpy(l->steps, in + moments, steps);
    memcpy(&l->rng, in + moments + steps, sizeof l->rng);
    memcpy(&l->gate, in + moments + steps + sizeof l->rng, sizeof l->gate);
    return in + ppo_net_state_size(l);
}
