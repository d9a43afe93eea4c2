#include "learn/ppo.h"

#include "base/pool.h"
#include "nn/adam.h"
#include "nn/simd/kern.h"
#include "learn/inject.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS_MAX = 64 };

/* A network in training: gradient, Adam moments, its own random stream, and room for one minibatch.
 * What learns is the mixture, with a count of steps for the router and one for each expert, or the
 * experts added to it, with a single count. */
struct ppo_net {
    struct mix *net; /* borrowed; frozen if there are added experts */
    struct mix_ws *ws;
    struct norga *added; /* borrowed; NULL: the mixture learns */
    struct norga_ws *added_ws;
    float *theta; /* of what learns, (n) */
    size_t n;
    float *block; /* all floats below, owned */
    float *grad, *m, *v;
    float *x, *z, *y,
        *dy; /* (minibatch, in / experts / out / out); z: added experts' gates */
    double router_norm; /* sum over the steps of this update */
    double share;       /* sum of the added experts' gates over the steps of this epoch */
    int counts;         /* number of steps */
    int64_t *steps;     /* (counts) */
    int *order, *used;
    struct rng rng;
    struct gate gate;
    float *before; /* theta as the update began; NULL when nobody asks */
    uint64_t
        sick; /* experts of the mixture with an output or a gradient that was not finite */
};

/* Of the actor's minibatch, per row: the distribution, its entropy, pi / pi_old. */
struct ppo_scratch {
    float *pi, *ln_pi; /* (minibatch, actions) */
    float *entropy, *log_ratio, *ratio;
    uint32_t *mask;
};

enum { ACTOR, CRITIC, PRIV, NETS };

struct ppo {
    struct ppo_cfg cfg;
    struct policy *policy;
    struct priv_critic *priv_critic;
    int max_batch, nets;
    struct ppo_net net[NETS];
    struct priv_critic_scale returns;
    struct drift drift;
    struct ppo_scratch scratch;
    float *advantage, *target, *priv_target; /* (max_batch), normalised */
    float *unit; /* (max_batch): what q is multiplied with to be normalised */
    float *ln_pi0,
        *v0;      /* (max_batch, actions), (max_batch): the frozen mixture's part of each
                         * step; NULL without added experts */
    double share; /* of the added experts in the last update */

    /* of the update that is running */
    const struct ppo_batch *batch;
    struct ppo_stats stats;
    int rc[NETS];
};

struct ppo_cfg ppo_cfg_default(void)
{
    return (struct ppo_cfg){
        .lr = 3e-4,
        .critic_lr = 3e-4,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-5,
        .clip = 0.2,
        .entropy = 0.01,
        .value_coef = 0.5,
        .gamma = 0.98,
        .lambda = 0.95,
        .max_grad_norm = 1.0,
        .balance = 0.01,
        .epochs = 4,
        .minibatch = 256,
        .threads = 1,
        .adv_norm = PPO_NORM_TAG,
        .normalise_returns = 1,
        .gate = gate_cfg_default(),
        .drift = drift_cfg_default(),
    };
}

/* ---- one network in training */

static int ppo_net_init(struct ppo_net *l, struct mix *net, struct norga *added,
                        const struct ppo_cfg *cfg, int max_batch, uint64_t seed,
                        uint64_t id, struct err *e)
{
    const struct mix_cfg *c = &net->cfg;
    bool watched = !added && (cfg->gate.locality > 0.0 || cfg->gate.latch);
    size_t rows = (size_t)cfg->minibatch, in = (size_t)c->in, out = (size_t)c->out;
    size_t experts = (size_t)(added ? added->cfg.experts : c->experts);

    *l = (struct ppo_net){.net = net, .added = added};
    l->theta = added ? added->theta : net->theta;
    l->n = added ? added->n : net->n;
    l->counts = added ? 1 : 1 + c->experts;
    rng_init(&l->rng, seed, id);
    l->ws = mix_ws_new(c, cfg->minibatch, e);
    if (added) l->added_ws = norga_ws_new(&added->cfg, cfg->minibatch, e);
    if (!l->ws || (added && !l->added_ws)) return e ? e->code : ERR_MEMORY;
    size_t before = watched ? l->n : 0;
    l->block =
        calloc(3 * l->n + rows * (in + experts + 2 * out) + before, sizeof *l->block);
    l->steps = calloc((size_t)l->counts, sizeof *l->steps);
    l->order = calloc((size_t)max_batch, sizeof *l->order);
    l->used = calloc((size_t)c->experts, sizeof *l->used);
    if (!l->block || !l->steps || !l->order || !l->used)
        return err_set(e, ERR_MEMORY, "no memory for the optimiser");

    l->grad = l->block;
    l->m = l->grad + l->n;
    l->v = l->m + l->n;
    l->x = l->v + l->n;
    l->z = l->x + rows * in;
    l->y = l->z + rows * experts;
    l->dy = l->y + rows * out;
    l->before = before ? l->dy + rows * out : NULL;
    return 0;
}

static void ppo_net_release(struct ppo_net *l)
{
    free(l->used);
    free(l->order);
    free(l->steps);
    free(l->block);
    norga_ws_free(l->added_ws);
    mix_ws_free(l->ws);
}

static bool ppo_net_latched(const struct ppo_net *l, const struct ppo_cfg *cfg)
{
    return gate_latched(&l->gate, &cfg->gate, l->net->cfg.experts);
}

static void ppo_net_begin(struct ppo_net *l, const struct ppo_cfg *cfg, const float *x,
                          const int *tag, int n)
{
    l->sick = 0;
    if (l->added) return;
    gate_round(&l->gate, &cfg->gate, l->net, x, tag, n);
    if (l->before) memcpy(l->before, l->net->theta, l->net->n * sizeof *l->before);
}

static void ppo_net_end(struct ppo_net *l)
{
    if (l->before) gate_moved(&l->gate, l->net, l->before);
}

static void ppo_net_blame(struct ppo_net *l)
{
    if (!l->added) l->sick |= mix_nonfinite(l->net, l->ws);
}

static void ppo_net_shuffle(struct ppo_net *l, int n)
{
    for (int i = 0; i < n; i++)
        l->order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&l->rng, (uint32_t)i + 1), t = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = t;
    }
}

/* y of the minibatch in l->x; z: router noise of the mixture, or NULL. */
static void ppo_net_forward(struct ppo_net *l, const float *z, int n)
{
    if (!l->added) {
        mix_forward(l->y, NULL, NULL, l->net, l->ws, l->x, z, n);
        return;
    }
    norga_forward(l->y, l->z, l->added, l->added_ws, l->x, n);
    for (int i = 0; i < n * l->added->cfg.experts; i++)
        l->share += (double)l->z[i];
}

static void adam_range(struct ppo_net *l, struct mix_range r, int64_t *steps,
                       const struct adam_cfg *cfg, float scale)
{
    if (!r.n) return;
    ++*steps;
    adam_step(l->theta + r.at, l->m + r.at, l->v + r.at, l->grad + r.at, r.n, cfg, *steps,
              scale);
}

static void ppo_net_draw_z(struct ppo_net *l, int n, double std)
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

static void ppo_net_tie_heads(struct ppo_net *l)
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

/* Every step moves the tied heads and the router, so they share one count of steps. */
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

/* A router that does not learn is not stepped. Its count, which tied heads share, goes on with them. */
static void step_router(struct ppo_net *l, const struct ppo_cfg *cfg, bool still,
                        const struct adam_cfg *adam, float scale)
{
    if (!still)
        adam_range(l, mix_router(&l->net->cfg), &l->steps[0], adam, scale);
    else if (is_tied(l, cfg))
        ++l->steps[0];
}

static double clip_scale(const struct ppo_cfg *cfg, double norm)
{
    return cfg->max_grad_norm > 0.0 && norm > cfg->max_grad_norm
               ? cfg->max_grad_norm / norm
               : 1.0;
}

/* The mixture: backward from l->dy, clip, Adam, noise. */
static double step_mixture(struct ppo_net *l, const struct ppo_cfg *cfg, double lr,
                           double gamma_noise, float *balance)
{
    struct mix *net = l->net;
    float cost[MIX_EXPERTS_MAX];
    struct mix_gate_losses losses =
        gate_losses(cost, &l->gate, &cfg->gate, cfg->balance, net->cfg.experts);
    *balance = mix_backward_gate(l->grad, l->used, net, l->ws, l->dy, &losses);
    double norm = sqrt(adam_sumsq(l->grad, net->n));
    if (!isfinite(norm)) {
        blame_gradients(l);
        return norm;
    }
    struct mix_range router = mix_router(&net->cfg);
    l->router_norm += sqrt(adam_sumsq(l->grad + router.at, router.n));

    double scale = clip_scale(cfg, norm);
    struct adam_cfg adam = {lr, cfg->beta1, cfg->beta2, cfg->eps, cfg->weight_decay,
                            0,  0};
    step_router(l, cfg, losses.still, &adam, (float)scale);
    for (int k = 0; k < net->cfg.experts; k++)
        step_expert(l, cfg, k, &adam, (float)scale, gamma_noise);
    if (is_tied(l, cfg)) step_tied_heads(l, &adam, (float)scale);
    return norm;
}

/* The added experts: neither decay nor noise, as they are young. The shape lies first; while it
 * does not learn, its moments stay as well. */
static double step_added(struct ppo_net *l, const struct ppo_cfg *cfg, double lr,
                         bool shape_learns)
{
    norga_backward(l->grad, l->added, l->added_ws, l->dy);
    struct mix_range shape = norga_shape(&l->added->cfg);
    if (!shape_learns) memset(l->grad + shape.at, 0, sizeof *l->grad * shape.n);
    double norm = sqrt(adam_sumsq(l->grad, l->n));
    if (!isfinite(norm)) return norm;
    size_t from = shape_learns ? 0 : shape.at + shape.n;
    struct adam_cfg adam = {lr, cfg->beta1, cfg->beta2, cfg->eps, 0, 0, 0};
    adam_range(l, (struct mix_range){from, l->n - from}, &l->steps[0], &adam,
               (float)clip_scale(cfg, norm));
    return norm;
}

/* Backward from l->dy and a step of what learns. Returns the gradient's norm before clipping, or
 * a number that is not finite: then nothing was stepped. *balance receives the balance loss. */
static double ppo_net_step(struct ppo_net *l, const struct ppo *p, double lr,
                           double gamma_noise, float *balance)
{
    *balance = 0.0f;
    if (l->added) return step_added(l, &p->cfg, lr, p->policy->added->shape_learns);
    return step_mixture(l, &p->cfg, lr, gamma_noise, balance);
}

/* Moments, steps, random stream; for a mixture its gate. */
static size_t ppo_net_state_size(const struct ppo_net *l)
{
    return 2 * l->n * sizeof *l->m + (size_t)l->counts * sizeof *l->steps +
           sizeof l->rng + (l->added ? 0 : sizeof l->gate);
}

static char *ppo_net_state_get(const struct ppo_net *l, char *out)
{
    size_t moments = 2 * l->n * sizeof *l->m;
    size_t steps = (size_t)l->counts * sizeof *l->steps;
    memcpy(out, l->m, moments); /* m and v lie next to each other */
    memcpy(out + moments, l->steps, steps);
    memcpy(out + moments + steps, &l->rng, sizeof l->rng);
    if (!l->added)
        memcpy(out + moments + steps + sizeof l->rng, &l->gate, sizeof l->gate);
    return out + ppo_net_state_size(l);
}

static const char *ppo_net_state_put(struct ppo_net *l, const char *in)
{
    size_t moments = 2 * l->n * sizeof *l->m;
    size_t steps = (size_t)l->counts * sizeof *l->steps;
    memcpy(l->m, in, moments);
    memcpy(l->steps, in + moments, steps);
    memcpy(&l->rng, in + moments + steps, sizeof l->rng);
    if (!l->added) memcpy(&l->gate, in + moments + steps + sizeof l->rng, sizeof l->gate);
    return in + ppo_net_state_size(l);
}

/* ---- gates, and experts that failed */

static const struct ppo_net *ppo_gate_net_of(const struct ppo *p, enum ppo_which which)
{
    return &p->net[which == PPO_ACTOR ? ACTOR : CRITIC];
}

static bool any_latched(const struct ppo *p)
{
    return ppo_net_latched(&p->net[ACTOR], &p->cfg) ||
           ppo_net_latched(&p->net[CRITIC], &p->cfg);
}

static void ppo_gate_watch(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    p->stats.shift_tag = -1;
    if (p->cfg.drift.limit <= 0.0) return;
    if (!any_latched(p)) {
        p->drift = (struct drift){0}; /* what was before the latch is another regime */
        return;
    }
    int tag = drift_batch(&p->drift, &p->cfg.drift, b->advantage, b->tag, b->n);
    p->stats.shift_level = drift_level(&p->drift);
    p->stats.shift_tag = tag;
    if (tag >= 0) ppo_gate_reset(p);
}

static void ppo_gate_report(struct ppo *p)
{
    for (int i = 0; i < 2 && !p->policy->added; i++) {
        const struct ppo_net *l = ppo_gate_net_of(p, (enum ppo_which)i);
        p->stats.gate[i].converged = gate_converged(&l->gate, l->net->cfg.experts);
        p->stats.gate[i].latched = ppo_net_latched(l, &p->cfg);
        for (int k = 0; k < l->net->cfg.experts; k++)
            p->stats.gate[i].moved += (double)l->gate.moved[k] / l->net->cfg.experts;
    }
}

const struct gate *ppo_gate(const struct ppo *p, enum ppo_which which)
{
    return &ppo_gate_net_of(p, which)->gate;
}

bool ppo_gate_latched(const struct ppo *p, enum ppo_which which)
{
    return ppo_net_latched(ppo_gate_net_of(p, which), &p->cfg);
}

void ppo_gate_put(struct ppo *p, enum ppo_which which, const struct gate *g)
{
    p->net[which == PPO_ACTOR ? ACTOR : CRITIC].gate = *g;
}

void ppo_gate_reset(struct ppo *p)
{
    gate_reset(&p->net[ACTOR].gate);
    gate_reset(&p->net[CRITIC].gate);
    p->drift = (struct drift){0};
}

void ppo_undo(struct ppo *p, const void *state)
{
    struct drift seen = p->drift;
    int rc = ppo_state_put(p, state, ppo_state_size(p), NULL);
    assert(rc == 0);
    p->drift = seen;
    if (p->stats.shift_tag >= 0) ppo_gate_reset(p);
}

uint64_t ppo_nonfinite(const struct ppo *p, enum ppo_which which)
{
    return ppo_gate_net_of(p, which)->sick;
}

/* Within the state of one net (ppo_net_state_get): both moments, then the counts. */
void ppo_expert_put(struct ppo *p, const void *state, enum ppo_which which, int expert)
{
    struct ppo_net *l = &p->net[which == PPO_ACTOR ? ACTOR : CRITIC];
    const char *at = (const char *)state + sizeof p->returns + sizeof p->drift;
    if (which == PPO_CRITIC) at += ppo_net_state_size(&p->net[ACTOR]);
    struct mix_range r = mix_expert(&l->net->cfg, expert);
    size_t n = l->net->n * sizeof *l->m, part = r.n * sizeof *l->m;
    memcpy(l->m + r.at, at + r.at * sizeof *l->m, part);
    memcpy(l->v + r.at, at + n + r.at * sizeof *l->m, part);
    memcpy(&l->steps[1 + expert], at + 2 * n + (1 + (size_t)expert) * sizeof *l->steps,
           sizeof *l->steps);
}

/* ---- making */

static bool scratch_init(struct ppo_scratch *t, int minibatch, int actions)
{
    size_t n = (size_t)minibatch, wide = n * (size_t)actions;
    float *at = malloc((2 * wide + 3 * n) * sizeof *at);
    t->mask = malloc(n * sizeof *t->mask);
    t->pi = at; /* the block is freed by this name */
    if (!at || !t->mask) return false;
    t->ln_pi = at + wide;
    t->entropy = at + 2 * wide;
    t->log_ratio = t->entropy + n;
    t->ratio = t->log_ratio + n;
    return true;
}

struct ppo *ppo_new(const struct ppo_cfg *cfg, struct policy *policy,
                    struct priv_critic *priv_critic, int max_batch, uint64_t seed,
                    struct err *e)
{
    assert(cfg->minibatch > 0 && cfg->epochs > 0 && max_batch > 0);
    struct ppo *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for the learner");
        return NULL;
    }
    p->cfg = *cfg;
    p->policy = policy;
    p->priv_critic = priv_critic;
    p->max_batch = max_batch;
    p->advantage = malloc((size_t)max_batch * sizeof *p->advantage);
    p->target = malloc((size_t)max_batch * sizeof *p->target);
    p->priv_target = malloc((size_t)max_batch * sizeof *p->priv_target);
    p->unit = malloc((size_t)max_batch * sizeof *p->unit);
    if (policy->added) {
        size_t actions = (size_t)policy->cfg.actions;
        p->ln_pi0 = malloc((size_t)max_batch * actions * sizeof *p->ln_pi0);
        p->v0 = malloc((size_t)max_batch * sizeof *p->v0);
    }
    if (!p->advantage || !p->target || !p->priv_target || !p->unit ||
        (policy->added && (!p->ln_pi0 || !p->v0)) ||
        !scratch_init(&p->scratch, cfg->minibatch, policy->cfg.actions)) {
        err_set(e, ERR_MEMORY, "no memory for a batch of %d steps", max_batch);
        ppo_free(p);
        return NULL;
    }

    struct mix *const mixes[NETS] = {policy->actor, policy->critic,
                                     priv_critic ? priv_critic->mix : NULL};
    struct norga *const added[NETS] = {policy->added ? policy->added->actor : NULL,
                                       policy->added ? policy->added->critic : NULL};
    for (p->nets = 0; p->nets < NETS && mixes[p->nets];) {
        int i = p->nets++;
        if (ppo_net_init(&p->net[i], mixes[i], added[i], cfg, max_batch, seed,
                         (uint64_t)i, e)) {
            ppo_free(p);
            return NULL;
        }
        if (cfg->tied_heads && !added[i]) ppo_net_tie_heads(&p->net[i]);
    }

    if (policy->ret_mean != 0.0f || policy->ret_std != 1.0f) {
        double mean = (double)policy->ret_mean, std = (double)policy->ret_std;
        p->returns = (struct priv_critic_scale){PRIV_CRITIC_HORIZON, mean,
                                                std * std + mean * mean};
    }
    return p;
}

void ppo_free(struct ppo *p)
{
    if (!p) return;
    for (int i = 0; i < p->nets; i++)
        ppo_net_release(&p->net[i]);
    free(p->v0);
    free(p->ln_pi0);
    free(p->unit);
    free(p->scratch.mask);
    free(p->scratch.pi);
    free(p->priv_target);
    free(p->target);
    free(p->advantage);
    free(p);
}

void ppo_set_lr(struct ppo *p, double lr, double critic_lr)
{
    p->cfg.lr = lr;
    p->cfg.critic_lr = critic_lr;
}

void ppo_set_entropy(struct ppo *p, double entropy)
{
    p->cfg.entropy = entropy;
}

void ppo_set_imitate(struct ppo *p, double imitate)
{
    p->cfg.imitate = imitate;
}

static void ppo_gather(float *out, const float *rows, const int *order, int n, int dim,
                       int stride)
{
    if (dim == stride) {
        kern_best()->gather(out, rows, order, n, dim);
        return;
    }
    for (int i = 0; i < n; i++)
        memcpy(out + (size_t)i * (size_t)stride, rows + (size_t)order[i] * (size_t)dim,
               (size_t)dim * sizeof *out);
}

static double weight_of(const struct ppo_batch *b, int row)
{
    return b->weight ? (double)b->weight[row] : 1.0;
}

static double total_weight(const struct ppo_batch *b, const int *order, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += weight_of(b, order[i]);
    return sum > 0.0 ? sum : 1.0;
}

/* What one minibatch adds to the actor's figures. */
struct actor_sums {
    double loss, entropy, kl, clipped, ratio_error;
};

/* fmax and fmin are function calls because of NaN; here a NaN shows in the loss in any case */
static double ppo_larger(double a, double b)
{
    return a > b ? a : b;
}

static double ppo_smaller(double a, double b)
{
    return b < a ? b : a;
}

/* The all-action term (ppo.h): push[j] = pi_j c_j with c the centred one-step advantage, 0 for
 * actions that were not tried or are clipped. Adds its loss. All times w. Returns
 * sum push. */
static float all_actions(float *push, double *loss, const struct ppo *p, const float *pi,
                         int row, double w)
{
    int actions = p->policy->cfg.actions;
    size_t at = (size_t)row * (size_t)actions;
    const float *q = p->batch->q + at, *old = p->batch->prob + at;
    double mean = 0.0, tried = 0.0, sum = 0.0;
    double low = 1.0 - p->cfg.clip, high = 1.0 + p->cfg.clip;
    for (int j = 0; j < actions; j++) {
        push[j] = 0.0f;
        if (isnan(q[j])) continue;
        mean += (double)old[j] * (double)q[j];
        tried += (double)old[j];
    }
    for (int j = 0; j < actions; j++) {
        if (isnan(q[j])) continue;
        double c = ((double)q[j] - mean / tried) * (double)p->unit[row];
        double was = ppo_larger((double)old[j], 1e-12), ratio = (double)pi[j] / was;
        double bounded = ppo_smaller(ppo_larger(ratio, low), high);
        *loss -= w * was * ppo_smaller(ratio * c, bounded * c);
        if (bounded * c < ratio * c) continue;
        push[j] = (float)(w * (double)pi[j] * c);
        sum += (double)push[j];
    }
    return (float)sum;
}

/* The cross-entropy of what is shown, times w: its gradient is added to dlogits, its loss
 * given back. Where there is no level, pi, ln pi and what is shown are 0. */
static double imitate(float *dlogits, const float *pi, const float *ln_pi,
                      const float *shown, int actions, double w)
{
    double sum = 0.0;
    for (int j = 0; j < actions; j++) {
        dlogits[j] += (float)w * (pi[j] - shown[j]);
        sum += (double)(shown[j] * ln_pi[j]);
    }
    return -w * sum;
}

/* Loss of sample i of the minibatch and its gradient with respect to the logits, times w.
 *   d ln pi(a) / d logit_j = [j = a] - pi_j,   dH / d logit_j = -pi_j (ln pi_j + H)
 * pi and ln pi are 0 for a level that does not exist, and so is its gradient. */
static void actor_sample(float *dlogits, struct actor_sums *s, const struct ppo *p, int i,
                         int row, double w)
{
    const struct ppo_scratch *t = &p->scratch;
    int actions = p->policy->cfg.actions, action = p->batch->action[row];
    const float *pi = t->pi + i * actions, *ln_pi = t->ln_pi + i * actions;
    double a = (double)p->advantage[row];
    /* added experts have learned by exp in double precision from the beginning; a faster one would
     * change the last bits of what a profile learns */
    double ratio = p->policy->added ? exp((double)t->log_ratio[i]) : (double)t->ratio[i];
    const float *shown = p->batch->shown;
    bool taught = shown && !isnan(shown[row * actions]);
    double copied = taught ? w * p->cfg.imitate : 0.0, own = w - copied;
    double low = 1.0 - p->cfg.clip, high = 1.0 + p->cfg.clip;
    double bounded = ratio < low ? low : ratio > high ? high : ratio;
    bool flat =
        bounded * a < ratio * a; /* the clipped branch is the smaller: no gradient */
    float push = flat ? 0.0f : (float)(own * a * ratio);
    float spread = (float)(w * p->cfg.entropy), entropy = t->entropy[i], sum = 0.0f;
    float every[POLICY_ACTIONS] = {0};
    if (p->batch->q) sum = all_actions(every, &s->loss, p, pi, row, own);

    for (int j = 0; j < actions; j++)
        dlogits[j] = pi[j] * (push + sum + spread * (ln_pi[j] + entropy)) - every[j];
    dlogits[action] -= push;
    s->loss -= own * ppo_smaller(ratio * a, bounded * a);
    if (taught)
        s->loss += imitate(dlogits, pi, ln_pi, shown + row * actions, actions, copied);
    s->entropy += w * (double)entropy;
    s->kl += w * (ratio - 1.0 - (double)t->log_ratio[i]);
    s->clipped += w * (fabs(ratio - 1.0) > p->cfg.clip);
    s->ratio_error = ppo_larger(s->ratio_error, fabs(ratio - 1.0));
}

/* pi, ln pi, entropy and ratio of the minibatch */
static void actor_scratch(struct ppo *p, const int *order, int n)
{
    const struct kern *k = kern_best();
    const struct ppo_batch *b = p->batch;
    struct ppo_scratch *t = &p->scratch;
    int actions = p->policy->cfg.actions;
    for (int i = 0; i < n; i++)
        t->mask[i] = b->mask[order[i]];
    k->softmax(t->pi, t->ln_pi, t->entropy, p->net[ACTOR].y, t->mask, n, actions);
    for (int i = 0; i < n; i++) {
        float d = t->ln_pi[i * actions + b->action[order[i]]] - b->logp[order[i]];
        t->log_ratio[i] = d > 20.0f ? 20.0f : d < -80.0f ? -80.0f : d;
    }
    k->exp(t->ratio, t->log_ratio, (size_t)n);
}

static int actor_minibatch(struct ppo *p, struct actor_sums *s, double *balance, int at,
                           int n)
{
    struct ppo_net *l = &p->net[ACTOR];
    const struct mix_cfg *c = &l->net->cfg;
    const int *order = l->order + at;
    const float *z = NULL;
    ppo_gather(l->x, p->batch->obs, order, n, c->in, c->in);
    bool redraw = p->cfg.redraw_noise && !ppo_net_latched(l, &p->cfg);
    if (l->added) {
        /* its mixture is frozen and acts without noise */
    } else if (redraw && p->cfg.router_noise > 0.0) {
        ppo_net_draw_z(l, n, p->cfg.router_noise);
        z = l->z;
    } else if (p->batch->z) {
        ppo_gather(l->z, p->batch->z, order, n, c->experts, c->experts);
        z = l->z;
    }
    ppo_net_forward(l, z, n);
    for (int i = 0; i < n && p->ln_pi0; i++) {
        const float *ln = p->ln_pi0 + (size_t)order[i] * (size_t)c->out;
        for (int j = 0; j < c->out; j++)
            l->y[i * c->out + j] += ln[j];
    }

    double whole = total_weight(p->batch, order, n);
    *s = (struct actor_sums){0};
    actor_scratch(p, order, n);
    for (int i = 0; i < n; i++)
        actor_sample(l->dy + i * c->out, s, p, i, order[i],
                     weight_of(p->batch, order[i]) / whole);
    if (!isfinite(s->loss)) {
        ppo_net_blame(l);
        return ERR_NUMERIC;
    }

    float aux;
    double norm = ppo_net_step(l, p, p->cfg.lr, p->cfg.noise_gamma, &aux);
    if (!isfinite(norm)) return ERR_NUMERIC;
    *balance = (double)aux;
    p->stats.grad_norm += norm;
    p->stats.steps++;
    for (int k = 0; k < c->experts && k < 16; k++)
        p->stats.expert_share[k] += l->used[k];
    return 0;
}

static void to_shares(double share[16])
{
    double sum = 0.0;
    for (int k = 0; k < 16; k++)
        sum += share[k];
    for (int k = 0; k < 16 && sum > 0.0; k++)
        share[k] /= sum;
}

/* KL, clip share, entropy and losses are those of the last epoch that ran. */
static int update_actor(struct ppo *p)
{
    struct ppo_net *l = &p->net[ACTOR];
    struct ppo_stats *st = &p->stats;
    int n = p->batch->n, size = p->cfg.minibatch;
    l->router_norm = 0.0;
    for (int epoch = 0; epoch < p->cfg.epochs; epoch++) {
        ppo_net_shuffle(l, n);
        l->share = 0.0;
        struct actor_sums sum = {0}, s;
        double aux = 0.0, balance = 0.0;
        for (int at = 0; at < n; at += size) {
            int rows = n - at < size ? n - at : size;
            int rc = actor_minibatch(p, &s, &aux, at, rows);
            if (rc) return rc;
            if (epoch == 0 && at == 0) st->first_ratio_error = s.ratio_error;
            double share = (double)rows / n;
            sum.loss += share * s.loss;
            sum.entropy += share * s.entropy;
            sum.kl += share * s.kl;
            sum.clipped += share * s.clipped;
            balance += share * aux;
        }
        st->policy_loss = sum.loss;
        st->entropy = sum.entropy;
        st->approx_kl = sum.kl;
        st->clip_share = sum.clipped;
        if (epoch == 0) st->first_clip_share = sum.clipped;
        st->balance = balance;
        if (p->cfg.target_kl > 0.0 && sum.kl > p->cfg.target_kl) break;
    }

    to_shares(st->expert_share);
    st->grad_norm /= st->steps;
    st->router_norm = l->router_norm / st->steps;
    p->share = l->share / n;
    return 0;
}

/* Squared error of one minibatch; *error, *unit get the sums of squares that the
 * explained variance is made of. */
static int critic_minibatch(struct ppo *p, int which, double *loss, double *error, int at,
                            int n)
{
    struct ppo_net *l = &p->net[which];
    const struct mix_cfg *c = &l->net->cfg;
    const int *order = l->order + at;
    const float *target = which == PRIV ? p->priv_target : p->target;
    int obs_dim = p->policy->cfg.obs_dim;
    ppo_gather(l->x, p->batch->obs, order, n, obs_dim, c->in);
    if (which == PRIV)
        ppo_gather(l->x + obs_dim, p->batch->priv, order, n, c->in - obs_dim, c->in);
    bool noisy = which == CRITIC && !l->added && p->cfg.router_noise > 0.0 &&
                 !ppo_net_latched(l, &p->cfg);
    if (noisy) ppo_net_draw_z(l, n, p->cfg.router_noise);
    ppo_net_forward(l, noisy ? l->z : NULL, n);

    double whole = total_weight(p->batch, order, n), sum = 0.0;
    memset(l->dy, 0, (size_t)n * (size_t)c->out * sizeof *l->dy);
    for (int i = 0; i < n; i++) {
        int row = order[i], at_y = i * c->out + (which == PRIV ? p->batch->tag[row] : 0);
        double d = (double)l->y[at_y] - (double)target[row];
        double w = weight_of(p->batch, row) / whole;
        l->dy[at_y] = (float)(2.0 * p->cfg.value_coef * w * d);
        sum += w * d * d;
        *error += d * d;
    }
    *loss = p->cfg.value_coef * sum;
    if (!isfinite(sum)) {
        ppo_net_blame(l);
        return ERR_NUMERIC;
    }

    float aux;
    double gamma = which == CRITIC && p->cfg.noise_critic ? p->cfg.noise_gamma : 0.0;
    double norm = ppo_net_step(l, p, p->cfg.critic_lr, gamma, &aux);
    if (which == CRITIC)
        for (int k = 0; k < c->experts && k < 16; k++)
            p->stats.critic_share[k] += l->used[k];
    return isfinite(norm) ? 0 : ERR_NUMERIC;
}

static double variance(const float *x, int n)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    double mean = sum / n;
    return fmax(square / n - mean * mean, 0.0);
}

/* Variance of the critic's targets. With added experts it is that of the returns, although they learn only
 * what the mixture leaves unexplained. */
static double target_variance(const struct ppo *p, int which)
{
    int n = p->batch->n;
    if (p->policy->added) {
        double std = (double)p->policy->ret_std;
        return variance(p->batch->target, n) / (std * std);
    }
    return variance(which == PRIV ? p->priv_target : p->target, n);
}

static int update_critic(struct ppo *p, int which)
{
    struct ppo_net *l = &p->net[which];
    int n = p->batch->n, size = p->cfg.minibatch, epochs = p->cfg.epochs;
    bool reported = which == p->nets - 1; /* the one that gives the advantages */
    if (!reported && p->cfg.critic_epochs > 0) epochs = p->cfg.critic_epochs;

    l->router_norm = 0.0;
    int steps = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        ppo_net_shuffle(l, n);
        double error = 0.0, mean = 0.0;
        for (int at = 0; at < n; at += size) {
            int rows = n - at < size ? n - at : size;
            double loss;
            int rc = critic_minibatch(p, which, &loss, &error, at, rows);
            if (rc) return rc;
            mean += loss * rows / n;
            steps++;
        }
        double unit = target_variance(p, which) * n;
        double explained = unit > 0.0 ? 1.0 - error / unit : 0.0;
        if (epoch == 0 && which == CRITIC) p->stats.critic_variance = explained;
        if (epoch == 0 && reported) p->stats.explained_variance = explained;
        if (reported) p->stats.value_loss = mean;
    }
    if (which == CRITIC) {
        to_shares(p->stats.critic_share);
        p->stats.critic_router_norm = l->router_norm / steps;
    }
    return 0;
}

static void update_net(void *ctx, int i)
{
    struct ppo *p = ctx;
    const struct ppo_batch *b = p->batch;
    bool own = i != PRIV; /* the priv_critic has no gate */
    if (own) ppo_net_begin(&p->net[i], &p->cfg, b->obs, b->tag, b->n);
    p->rc[i] = i == ACTOR ? update_actor(p) : update_critic(p, i);
    if (own) ppo_net_end(&p->net[i]);
}

/* What the one-step advantage of the action taken leaves of its advantage: all of it where
 * nothing was tried, in the batch or in this row. */
static double residual(const struct ppo *p, int row)
{
    const struct ppo_batch *b = p->batch;
    double a = (double)b->advantage[row];
    if (!b->q) return a;
    size_t at = (size_t)row * (size_t)p->policy->cfg.actions + (size_t)b->action[row];
    return isnan(b->q[at]) ? a : a - (double)b->q[at];
}

/* Advantage of the rows with this tag (all rows when tag < 0): mean 0, deviation 1. With all
 * actions tried it is the residual that is centred; both terms share the advantage's unit. */
static void normalise_advantage(struct ppo *p, int tag)
{
    const struct ppo_batch *b = p->batch;
    double sum = 0.0, square = 0.0, left = 0.0;
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (tag >= 0 && b->tag[i] != tag) continue;
        double a = (double)b->advantage[i];
        left += residual(p, i);
        sum += a;
        square += a * a;
        n++;
    }
    if (n == 0) return;

    double mean = sum / n, std = sqrt(fmax(square / n - mean * mean, 0.0));
    for (int i = 0; i < b->n; i++) {
        if (tag >= 0 && b->tag[i] != tag) continue;
        p->unit[i] = (float)(1.0 / (std + 1e-8));
        p->advantage[i] = (float)((residual(p, i) - left / n) / (std + 1e-8));
    }
}

static void prepare_advantage(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    for (int i = 0; i < b->n; i++) {
        p->advantage[i] = (float)residual(p, i);
        p->unit[i] = 1.0f;
    }
    bool one = p->policy->added || !b->tag; /* added experts have one profile */
    if (p->cfg.adv_norm == PPO_NORM_BATCH || (p->cfg.adv_norm == PPO_NORM_TAG && one)) {
        normalise_advantage(p, -1);
    } else if (p->cfg.adv_norm == PPO_NORM_TAG) {
        bool present[TAGS_MAX] = {false};
        for (int i = 0; i < b->n; i++) {
            assert(b->tag[i] >= 0 && b->tag[i] < TAGS_MAX);
            present[b->tag[i]] = true;
        }
        for (int tag = 0; tag < TAGS_MAX; tag++)
            if (present[tag]) normalise_advantage(p, tag);
    }
}

/* What the frozen mixture gives for every step: it is the same in all epochs. */
static void prepare_frozen(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    const struct policy *policy = p->policy;
    size_t dim = (size_t)policy->cfg.obs_dim;
    int actions = policy->cfg.actions, size = p->cfg.minibatch;
    for (int at = 0; at < b->n; at += size) {
        int n = b->n - at < size ? b->n - at : size;
        const float *obs = b->obs + (size_t)at * dim;
        float *ln = p->ln_pi0 + (size_t)at * (size_t)actions, *v = p->v0 + at;
        mix_forward(v, NULL, NULL, policy->critic, p->net[CRITIC].ws, obs, NULL, n);
        for (int i = 0; i < n; i++)
            v[i] = v[i] * policy->ret_std + policy->ret_mean;
        mix_forward(ln, NULL, NULL, policy->actor, p->net[ACTOR].ws, obs, NULL, n);
        for (int i = 0; i < n; i++) {
            float *row = ln + i * actions;
            policy_softmax(row, row, b->mask[at + i], actions);
            for (int a = 0; a < actions; a++)
                row[a] = policy_floored_ln(row[a]);
        }
    }
}

/* The added critic learns what V0 leaves of the returns; their scale is frozen with V0. */
static void prepare_added_target(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    for (int i = 0; i < b->n; i++)
        p->target[i] = (b->target[i] - p->v0[i]) / p->policy->ret_std;
}

static void prepare_target(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    struct policy *policy = p->policy;
    if (p->cfg.normalise_returns) {
        double sum = 0.0, square = 0.0;
        for (int i = 0; i < b->n; i++) {
            sum += (double)b->target[i];
            square += (double)b->target[i] * (double)b->target[i];
        }
        priv_critic_scale_add(&p->returns, sum, square, b->n);
        policy->ret_mean = (float)p->returns.mean;
        policy->ret_std = (float)priv_critic_scale_std(&p->returns);
    }
    for (int i = 0; i < b->n; i++)
        p->target[i] = (b->target[i] - policy->ret_mean) / policy->ret_std;
    if (!p->priv_critic) return;

    priv_critic_observe(p->priv_critic, b->target, b->tag, b->n);
    for (int i = 0; i < b->n; i++) {
        int tag = b->tag[i];
        p->priv_target[i] = (b->target[i] - priv_critic_mean(p->priv_critic, tag)) /
                            priv_critic_std(p->priv_critic, tag);
    }
}

int ppo_update(struct ppo *p, const struct ppo_batch *batch, struct ppo_stats *stats)
{
    assert(batch->n > 0 && batch->n <= p->max_batch);
    assert(!p->priv_critic || (batch->priv && batch->tag));
    p->batch = batch;
    p->stats = (struct ppo_stats){0};
    prepare_advantage(p);
    if (p->policy->added) {
        prepare_frozen(p);
        prepare_added_target(p);
    } else {
        prepare_target(p);
    }
    ppo_gate_watch(p);

    pool_run(p->nets, p->cfg.threads, update_net, p);

    ppo_gate_report(p);
    if (stats) *stats = p->stats;
    p->batch = NULL;
    for (int i = 0; i < p->nets; i++)
        if (p->rc[i]) return p->rc[i];
    return isfinite((double)p->policy->ret_mean) && isfinite((double)p->policy->ret_std)
               ? 0
               : ERR_NUMERIC;
}

double ppo_share(const struct ppo *p)
{
    return p->share;
}

/* ---- state */

/* Of what watches the mixture: nothing if it is frozen. */
static size_t ppo_head_size(const struct ppo *p)
{
    return p->policy->added ? 0 : sizeof p->returns + sizeof p->drift;
}

size_t ppo_state_size(const struct ppo *p)
{
    size_t n = ppo_head_size(p);
    for (int i = 0; i < p->nets; i++)
        n += ppo_net_state_size(&p->net[i]);
    return n;
}

void ppo_state_get(const struct ppo *p, void *out)
{
    char *at = out;
    if (ppo_head_size(p)) {
        memcpy(at, &p->returns, sizeof p->returns);
        memcpy(at + sizeof p->returns, &p->drift, sizeof p->drift);
    }
    at += ppo_head_size(p);
    for (int i = 0; i < p->nets; i++)
        at = ppo_net_state_get(&p->net[i], at);
}

int ppo_state_put(struct ppo *p, const void *in, size_t n, struct err *e)
{
    if (n != ppo_state_size(p))
        return err_set(e, ERR_CORRUPT,
                       "optimiser state has %zu bytes, this configuration needs %zu", n,
                       ppo_state_size(p));
    const char *at = in;
    if (ppo_head_size(p)) {
        memcpy(&p->returns, at, sizeof p->returns);
        memcpy(&p->drift, at + sizeof p->returns, sizeof p->drift);
    }
    at += ppo_head_size(p);
    for (int i = 0; i < p->nets; i++)
        at = ppo_net_state_put(&p->net[i], at);
    return 0;
}

void ppo_state_gates(const struct ppo *p, void *state)
{
    if (p->policy->added) return; /* its state has neither */
    char *at = state;
    memcpy(at + sizeof p->returns, &p->drift, sizeof p->drift);
    at += ppo_head_size(p);
    for (int i = 0; i < p->nets; i++) {
        const struct ppo_net *l = &p->net[i];
        at += ppo_net_state_size(l);
        memcpy(at - sizeof l->gate, &l->gate, sizeof l->gate); /* the last part */
    }
}
