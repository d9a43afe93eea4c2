#include "policy/policy.h"

#include "base/bytes.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_ws {
    struct mix_ws *actor, *critic;
    struct norga_ws *added_actor, *added_critic; /* NULL without added experts */
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
    return (struct mix_cfg){cfg->obs_dim, cfg->hidden, cfg->layers, cfg->actions,
                            cfg->experts, cfg->route,  cfg->prior};
}

struct mix_cfg policy_critic_cfg(const struct policy_cfg *cfg)
{
    return (struct mix_cfg){cfg->obs_dim,        cfg->critic_hidden, cfg->layers, 1,
                            cfg->critic_experts, cfg->critic_route,  {0, 0, 0}};
}

struct norga_cfg policy_added_actor_cfg(const struct policy_cfg *cfg)
{
    return (struct norga_cfg){cfg->obs_dim, cfg->hidden,        cfg->layers,
                              cfg->actions, cfg->added.experts, cfg->added.sigma};
}

struct norga_cfg policy_added_critic_cfg(const struct policy_cfg *cfg)
{
    return (struct norga_cfg){cfg->obs_dim,       cfg->critic_hidden, cfg->layers, 1,
                              cfg->added.experts, cfg->added.sigma};
}

bool policy_cfg_same_mixture(const struct policy_cfg *a, const struct policy_cfg *b)
{
    return memcmp(a, b, offsetof(struct policy_cfg, added)) == 0;
}

static int check_added(const struct policy_cfg *cfg, struct err *e)
{
    struct norga_cfg actor = policy_added_actor_cfg(cfg);
    struct norga_cfg critic = policy_added_critic_cfg(cfg);
    int rc = norga_cfg_check(&actor, e);
    if (!rc) rc = norga_cfg_check(&critic, e);
    if (!rc && cfg->experts + cfg->added.experts > POLICY_GATES)
        rc = err_field(e, ERR_RANGE, "experts",
                       "%d of the mixture and %d added ones are more than %d",
                       cfg->experts, cfg->added.experts, POLICY_GATES);
    return rc;
}

int policy_cfg_check(const struct policy_cfg *cfg, struct err *e)
{
    if (cfg->obs_dim < 1 || cfg->obs_dim > MIX_IN_MAX)
        return err_field(e, ERR_RANGE, "obs_dim", "%d is not within 1 .. %d",
                         cfg->obs_dim, MIX_IN_MAX);
    if (cfg->actions < 1 || cfg->actions > POLICY_ACTIONS)
        return err_field(e, ERR_RANGE, "actions", "%d is not within 1 .. %d",
                         cfg->actions, POLICY_ACTIONS);

    const struct mix_prior *prior = &cfg->prior;
    if (prior->gain && (prior->at < 0 || prior->at >= cfg->obs_dim || prior->stride < 0 ||
                        prior->at + prior->stride * (cfg->actions - 1) >= cfg->obs_dim))
        return err_field(e, ERR_RANGE, "prior_at",
                         "%d by %d is not within the observation", prior->at,
                         prior->stride);
    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    int rc = mix_cfg_check(&actor, e);
    if (rc) return rc;

    struct err why = {0};
    rc = mix_cfg_check(&critic, &why);
    if (!rc) return cfg->added.experts ? check_added(cfg, e) : 0;
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
    if (p->critic && cfg->added.experts) p->added = policy_added_new(cfg, e);
    if (p->critic && (p->added || !cfg->added.experts)) return p;

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
    policy_copy_input(p, from->input, from->input_n);
    p->input_of = from->input_of;
    if (p->added) policy_added_copy(p->added, from->added);
}

void policy_copy_input(struct policy *p, const float *input, int n)
{
    assert(n >= 0 && n <= POLICY_INPUT);
    p->input_n = n;
    if (n) memmove(p->input, input, sizeof *input * (size_t)n);
}

void policy_free(struct policy *p)
{
    if (!p) return;
    policy_added_free(p->added);
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

uint64_t policy_version(const struct policy *p)
{
    return p->added ? p->added->version : p->version;
}

void policy_raise_version(struct policy *p)
{
    if (p->added)
        p->added->version++;
    else
        p->version++;
}

/* ---- added experts */

struct policy_added *policy_added_new(const struct policy_cfg *cfg, struct err *e)
{
    assert(cfg->added.experts > 0);
    if (policy_cfg_check(cfg, e)) return NULL;
    struct norga_cfg actor = policy_added_actor_cfg(cfg);
    struct norga_cfg critic = policy_added_critic_cfg(cfg);
    struct policy_added *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for added experts");
        return NULL;
    }
    a->cfg = *cfg;
    a->version = 1;
    a->shape_learns = true;
    a->actor = norga_new(&actor, e);
    a->critic = a->actor ? norga_new(&critic, e) : NULL;
    if (a->critic) return a;

    policy_added_free(a);
    return NULL;
}

struct policy_added *policy_added_clone(const struct policy_added *a, struct err *e)
{
    struct policy_added *copy = policy_added_new(&a->cfg, e);
    if (copy) policy_added_copy(copy, a);
    return copy;
}

void policy_added_free(struct policy_added *a)
{
    if (!a) return;
    norga_free(a->critic);
    norga_free(a->actor);
    free(a);
}

void policy_added_copy(struct policy_added *a, const struct policy_added *from)
{
    assert(memcmp(&a->cfg, &from->cfg, sizeof a->cfg) == 0);
    memcpy(a->actor->theta, from->actor->theta, sizeof(float) * a->actor->n);
    memcpy(a->critic->theta, from->critic->theta, sizeof(float) * a->critic->n);
    a->shape_learns = from->shape_learns;
    a->version = from->version;
    a->base_version = from->base_version;
    a->base_crc = from->base_crc;
}

size_t policy_added_floats(const struct policy_added *a)
{
    return a->actor->n + a->critic->n;
}

bool policy_added_fits(const struct policy_added *a, const struct policy *p)
{
    return policy_cfg_same_mixture(&a->cfg, &p->cfg) && a->base_crc == policy_crc32(p);
}

enum { ROWS = 64 }; /* observations routed at once */

/* The number of observations that each expert of a frozen mixture is chosen for. */
static int count_use(int *used, const struct mix *m, const float *obs, int n,
                     struct err *e)
{
    memset(used, 0, sizeof *used * (size_t)m->cfg.experts);
    if (!n) return 0;
    struct mix_ws *ws = mix_ws_new(&m->cfg, ROWS, e);
    float *y = calloc((size_t)ROWS * (size_t)m->cfg.out, sizeof *y);
    int rc = ws && y ? 0 : err_set(e, ERR_MEMORY, "no memory for added experts");
    for (int at = 0; at < n && !rc; at += ROWS) {
        int chosen[ROWS], rows = n - at < ROWS ? n - at : ROWS;
        mix_forward(y, chosen, NULL, m, ws, obs + (size_t)at * (size_t)m->cfg.in, NULL,
                    rows);
        for (int i = 0; i < rows; i++)
            used[chosen[i]]++;
    }
    free(y);
    mix_ws_free(ws);
    return rc;
}

/* from[j]: the j-th most used expert, cyclically. */
static int init_added(struct norga *g, const struct mix *frozen, const float *obs, int n,
                      struct rng *r, struct err *e)
{
    int used[MIX_EXPERTS_MAX], from[NORGA_EXPERTS_MAX], experts = frozen->cfg.experts;
    int rc = count_use(used, frozen, obs, n, e);
    if (rc) return rc;
    for (int j = 0; j < g->cfg.experts; j++) {
        if (j >= experts) {
            from[j] = from[j - experts];
            continue;
        }
        int best = 0;
        for (int k = 1; k < experts; k++)
            if (used[k] > used[best]) best = k;
        from[j] = best;
        used[best] = -1; /* taken */
    }
    norga_init(g, frozen, from, r);
    return 0;
}

static void enter_added(struct policy *p, struct policy_added *a)
{
    p->added = a;
    p->cfg = a->cfg;
}

int policy_add(struct policy *p, const struct policy_added_cfg *cfg, const float *obs,
               int n, uint64_t seed, struct err *e)
{
    assert(!p->added && cfg->experts > 0);
    struct policy_cfg whole = p->cfg;
    whole.added = *cfg;
    int rc = policy_cfg_check(&whole, e);
    if (rc) return rc;
    struct policy_added *a = policy_added_new(&whole, e);
    if (!a) return ERR_MEMORY;
    struct rng r;
    rng_init(&r, seed, 0x67726166);
    rc = init_added(a->actor, p->actor, obs, n, &r, e);
    if (!rc) rc = init_added(a->critic, p->critic, obs, n, &r, e);
    if (rc) {
        policy_added_free(a);
        return rc;
    }
    a->base_version = p->version;
    a->base_crc = policy_crc32(p);
    enter_added(p, a);
    return 0;
}

int policy_add_copy(struct policy *p, const struct policy_added *added, struct err *e)
{
    assert(!p->added);
    if (!policy_added_fits(added, p))
        return err_set(e, ERR_CORRUPT, "the added experts are of other weights");
    struct policy_added *a = policy_added_clone(added, e);
    if (!a) return ERR_MEMORY;
    enter_added(p, a);
    return 0;
}

void policy_take_shape(struct policy *p, const struct policy_added *from)
{
    struct policy_added *a = p->added;
    struct mix_range shape = norga_shape(&a->actor->cfg);
    size_t bytes = sizeof(float) * shape.n;
    memcpy(a->actor->theta + shape.at, from->actor->theta + shape.at, bytes);
    memcpy(a->critic->theta + shape.at, from->critic->theta + shape.at, bytes);
    a->shape_learns = false;
}

struct policy policy_frozen(const struct policy *p)
{
    struct policy view = *p;
    view.added = NULL;
    view.cfg.added = (struct policy_added_cfg){0};
    return view;
}

/* ---- deciding */

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
    if (ws->critic && cfg->added.experts) {
        struct norga_cfg a = policy_added_actor_cfg(cfg),
                         c = policy_added_critic_cfg(cfg);
        ws->added_actor = norga_ws_new(&a, 1, e);
        ws->added_critic = ws->added_actor ? norga_ws_new(&c, 1, e) : NULL;
    }
    if (ws->critic && (ws->added_critic || !cfg->added.experts)) return ws;

    policy_ws_free(ws);
    return NULL;
}

void policy_ws_free(struct policy_ws *ws)
{
    if (!ws) return;
    norga_ws_free(ws->added_critic);
    norga_ws_free(ws->added_actor);
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

/* the result of weights that are not finite: the lowest level, all equally likely */
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

/* without a branch, as it would be unpredictable */
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

int policy_finish(struct policy_choice *c, const float *logits, float lse, uint32_t mask,
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

float policy_floored_ln(float prob)
{
    float ln = prob > 0.0f ? logf(prob) : POLICY_FLOOR;
    return ln < POLICY_FLOOR ? POLICY_FLOOR : ln;
}

/* The gates of all experts, and the one with the largest. */
static void settle_gates(struct policy_choice *c, const struct policy_cfg *cfg,
                         const struct policy_added_out *out)
{
    c->added = out->share;
    for (int k = 0; k < cfg->experts; k++)
        c->gate[k] *= 1.0f - out->share;
    for (int j = 0; j < cfg->added.experts; j++) {
        c->gate[cfg->experts + j] = out->gate[j];
        if (out->gate[j] > c->gate[c->expert]) c->expert = cfg->experts + j;
    }
}

int policy_finish_added(struct policy_choice *c, const struct policy_cfg *cfg,
                        const struct policy_added_out *out, uint32_t mask, double u)
{
    float logits[POLICY_ACTIONS];
    int actions = cfg->actions;
    for (int a = 0; a < actions; a++)
        logits[a] = policy_floored_ln(c->prob[a]) + out->y[a];
    float lse = policy_softmax(c->prob, logits, mask, actions);
    c->entropy = 0.0f;
    c->value += out->v;
    settle_gates(c, cfg, out);
    return policy_finish(c, logits, lse, mask, actions, u);
}

static int decide_by_mixture(struct policy_choice *out, const struct policy *p,
                             struct policy_ws *ws, const float *obs, uint32_t mask,
                             double u)
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
    return policy_finish(out, logits, lse, mask, actions, u);
}

int policy_decide(struct policy_choice *out, const struct policy *p, struct policy_ws *ws,
                  const float *obs, uint32_t mask, double u)
{
    int rc = decide_by_mixture(out, p, ws, obs, mask, u);
    const struct policy_added *a = p->added;
    if (rc || !a) return rc;

    float y[POLICY_ACTIONS], gate[NORGA_EXPERTS_MAX], v, share = 0.0f;
    norga_forward(y, gate, a->actor, ws->added_actor, obs, 1);
    norga_forward(&v, NULL, a->critic, ws->added_critic, obs, 1);
    for (int j = 0; j < p->cfg.added.experts; j++)
        share += gate[j];
    struct policy_added_out added = {y, gate, share, v * p->ret_std};
    return policy_finish_added(out, &p->cfg, &added, mask, u);
}
