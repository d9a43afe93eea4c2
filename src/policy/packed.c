#include "policy/packed.h"

#include "policy/probs.h"
#include "nn/act.h"
#include "nn/mlp.h"
#include "nn/simd/vecmat.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of a packed layer's weights (in, pad), steps (pad) if it is quantized, and bias
 * (pad), in floats. */
struct layer {
    size_t w, step, b, end;
    int in, out, pad;
    bool quantized;
};

/* An actor or a critic: its experts one after another. */
struct net {
    struct mix_cfg cfg;
    struct layer layer[MIX_LAYERS_MAX + 1]; /* within an expert */
    size_t expert_n;                        /* floats of one */
    float *theta;                           /* (experts, expert_n) within the block */
    int gates;     /* place of its router's outputs among those of both */
    uint64_t idle; /* bit k: expert k is there to be chosen */
};

/* The experts added to an actor or a critic, likewise. */
struct added_net {
    struct norga_cfg cfg;
    struct layer layer[MIX_LAYERS_MAX + 1]; /* none is quantized */
    size_t expert_n;
    float a, tau, bias[NORGA_EXPERTS_MAX];
    float *theta;
    int column; /* of its first score */
};

struct packed {
    struct policy_cfg cfg;
    const struct vecmat_kernel *kernel;
    struct layer routers; /* of actor and critic, one product; pad = 0: neither has any */
    struct net actor, critic;
    struct layer scores; /* of the experts added to both, one product; its bias is 0 */
    struct added_net added_actor, added_critic;
    bool adds; /* the policy that is loaded has added experts */
    float ret_mean, ret_std;
    uint64_t version;
    bool usable;
    size_t bytes;
    int input_n;
    float input[POLICY_INPUT];
    float *block; /* owned: routers, actor, critic; scores, added actor, added critic */
};

enum { ALIGN = 64, WIDEST = MIX_HIDDEN_MAX + VECMAT_LANES, GATES = 2 * MIX_EXPERTS_MAX };
_Static_assert(MIX_HIDDEN_MAX % VECMAT_BLOCK == 0, "hidden layers fill whole blocks");
_Static_assert(MIX_EXPERTS_MAX % VECMAT_LANES == 0, "gates fill whole vectors");
_Static_assert(2 * NORGA_EXPERTS_MAX <= VECMAT_LANES, "all scores are one vector");
_Static_assert(POLICY_ACTIONS <= VECMAT_LANES, "a head is one vector");

/* Routers and heads keep every bit: they compare a few numbers. */
static struct layer exact(size_t at, int in, int out)
{
    struct layer l = {.w = at, .in = in, .out = out, .pad = vecmat_pad(out)};
    l.b = at + (size_t)in * (size_t)l.pad;
    l.end = l.b + (size_t)l.pad;
    return l;
}

static struct layer quantized(size_t at, int in, int out)
{
    struct layer l = {
        .w = at, .in = in, .out = out, .pad = vecmat_quant_pad(out), .quantized = true};
    size_t pad = (size_t)l.pad;
    l.step = at + (size_t)in * pad / 2; /* two words take a float's place */
    l.b = l.step + pad;
    l.end = l.b + pad;
    return l;
}

static uint64_t all_of(const struct mix_cfg *c)
{
    return UINT64_MAX >> (MIX_EXPERTS_MAX - c->experts);
}

static struct net packed_net_of(struct mix_cfg cfg)
{
    struct net n = {.cfg = cfg, .idle = all_of(&cfg)};
    for (int l = 0; l < cfg.layers; l++) {
        n.layer[l] = quantized(n.expert_n, l ? cfg.hidden : cfg.in, cfg.hidden);
        n.expert_n = n.layer[l].end;
    }
    n.layer[cfg.layers] = exact(n.expert_n, cfg.hidden, cfg.out);
    n.expert_n = n.layer[cfg.layers].end;
    return n;
}

static size_t net_floats(const struct net *n)
{
    return n->expert_n * (size_t)n->cfg.experts;
}

static struct added_net added_net_of(struct norga_cfg cfg, int column)
{
    struct added_net n = {.cfg = cfg, .column = column};
    for (int l = 0; l <= cfg.layers; l++) {
        n.layer[l] = exact(n.expert_n, l ? cfg.hidden : cfg.in,
                           l < cfg.layers ? cfg.hidden : cfg.out);
        n.expert_n = n.layer[l].end;
    }
    return n;
}

static size_t added_net_floats(const struct added_net *n)
{
    return n->expert_n * (size_t)n->cfg.experts;
}

static size_t place_routers(struct packed *s)
{
    const struct mix_cfg *a = &s->actor.cfg, *c = &s->critic.cfg;
    s->critic.gates = a->route == MIX_SINGLE ? 0 : a->experts;
    int gates = s->critic.gates + (c->route == MIX_SINGLE ? 0 : c->experts);
    if (gates) s->routers = exact(0, a->in, gates);
    return s->routers.end;
}

static bool packed_all_finite(const float *x, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite = finite && isfinite(x[i]);
    return finite;
}

/* Are all weights finite? Those that are not are not packed. */
static bool pack_layer(const struct layer *l, float *to, const float *w, const float *b)
{
    size_t in = (size_t)l->in, out = (size_t)l->out;
    if (!packed_all_finite(w, in * out) || !packed_all_finite(b, out)) return false;
    if (l->quantized)
        vecmat_quant_pack((int16_t *)(to + l->w), to + l->step, w, l->in, l->out);
    else
        vecmat_pack(to + l->w, w, l->in, l->out);
    memset(to + l->b, 0, sizeof *to * (size_t)l->pad);
    memcpy(to + l->b, b, sizeof *to * out);
    return true;
}

/* Returns the experts with finite weights, as bits. */
static uint64_t pack_experts(struct net *n, const struct mix *m)
{
    const struct mix_cfg *c = &n->cfg;
    const struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    uint64_t sound = 0;
    for (int k = 0; k < c->experts; k++) {
        bool finite = true;
        const float *from = m->theta + mix_expert(c, k).at;
        float *to = n->theta + n->expert_n * (size_t)k;
        for (int l = 0; l <= c->layers; l++) {
            struct mlp_layer v = mlp_layer(&ec, l);
            finite = pack_layer(&n->layer[l], to, from + v.w, from + v.b) && finite;
        }
        sound |= (uint64_t)finite << k;
    }
    return sound;
}

/* One net's columns among the routers'. Returns which of them are finite: those that are not
 * spoil no other. */
static uint64_t pack_router(const struct packed *s, const struct net *n,
                            const struct mix *m)
{
    if (n->cfg.route == MIX_SINGLE) return 1;
    size_t in = (size_t)n->cfg.in, pad = (size_t)s->routers.pad;
    uint64_t sound = 0;
    for (size_t k = 0; k < (size_t)n->cfg.experts; k++) {
        bool finite = true;
        float *to = s->block + (size_t)n->gates + k;
        for (size_t j = 0; j < in; j++)
            to[j * pad] = m->theta[k * in + j];
        to[in * pad] = m->theta[(size_t)n->cfg.experts * in + k];
        for (size_t j = 0; j <= in; j++)
            finite = finite && isfinite(to[j * pad]);
        sound |= (uint64_t)finite << k;
    }
    return sound;
}

static void pack(const struct packed *s, struct net *n, const struct mix *m)
{
    n->idle = pack_router(s, n, m) & pack_experts(n, m) & ~m->busy;
}

/* Returns whether all weights are finite. */
static bool pack_added(struct packed *s, struct added_net *n, const struct norga *g)
{
    const struct norga_cfg *c = &n->cfg;
    size_t in = (size_t)c->in, pad = (size_t)s->scores.pad, experts = (size_t)c->experts;
    if (!packed_all_finite(g->theta, g->n)) return false;
    const float *w = g->theta + norga_scores(c).at;
    float *scores = s->block + s->scores.w + n->column;
    n->a = g->theta[0];
    n->tau = g->theta[1];
    for (size_t k = 0; k < experts; k++)
        for (size_t i = 0; i < in; i++)
            scores[i * pad + k] = w[k * in + i];
    memcpy(n->bias, w + experts * in, sizeof *w * experts);

    const struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    for (int k = 0; k < c->experts; k++)
        for (int l = 0; l <= c->layers; l++) {
            struct mlp_layer v = mlp_layer(&ec, l);
            const float *from = g->theta + norga_expert(c, k).at;
            (void)pack_layer(&n->layer[l], n->theta + n->expert_n * (size_t)k, from + v.w,
                             from + v.b);
        }
    return true;
}

void packed_load(struct packed *s, const struct policy *p)
{
    assert(policy_cfg_same_mixture(&s->cfg, &p->cfg));
    assert(!p->added || memcmp(&s->cfg, &p->cfg, sizeof s->cfg) == 0);
    pack(s, &s->actor, p->actor);
    pack(s, &s->critic, p->critic);
    s->usable =
        s->actor.idle && s->critic.idle && isfinite(p->ret_mean) && isfinite(p->ret_std);
    s->adds = p->added != NULL;
    if (s->adds && !(pack_added(s, &s->added_actor, p->added->actor) &&
                     pack_added(s, &s->added_critic, p->added->critic)))
        s->usable = false;
    s->ret_mean = p->ret_mean;
    s->ret_std = p->ret_std;
    s->version = policy_version(p);
    s->input_n = p->input_n;
    memcpy(s->input, p->input, sizeof *s->input * (size_t)p->input_n);
}

const float *packed_input(const struct packed *s, int n)
{
    return s->input_n == n ? s->input : NULL;
}

struct packed *packed_new(const struct policy_cfg *cfg, struct err *e)
{
    if (policy_cfg_check(cfg, e)) return NULL;
    struct packed *s = calloc(1, sizeof *s);
    if (!s) goto fail;
    s->cfg = *cfg;
    s->usable = true;
    s->ret_std = 1.0f;
    s->kernel = vecmat_kernel(0);
    s->actor = packed_net_of(policy_actor_cfg(cfg));
    s->critic = packed_net_of(policy_critic_cfg(cfg));
    size_t at = place_routers(s), actor = at;
    size_t critic = at += net_floats(&s->actor);
    at += net_floats(&s->critic);
    size_t added_actor = at, added_critic = at;
    if (cfg->added.experts) {
        s->scores = exact(at, cfg->obs_dim, 2 * cfg->added.experts);
        s->added_actor = added_net_of(policy_added_actor_cfg(cfg), 0);
        s->added_critic = added_net_of(policy_added_critic_cfg(cfg), cfg->added.experts);
        added_actor = s->scores.end;
        added_critic = added_actor + added_net_floats(&s->added_actor);
        at = added_critic + added_net_floats(&s->added_critic);
    }
    s->bytes = (sizeof(float) * at + ALIGN - 1) / ALIGN * ALIGN;
    s->block = aligned_alloc(ALIGN, s->bytes);
    if (!s->block) goto fail;
    memset(s->block, 0, s->bytes);
    s->actor.theta = s->block + actor;
    s->critic.theta = s->block + critic;
    s->added_actor.theta = s->block + added_actor;
    s->added_critic.theta = s->block + added_critic;
    return s;
fail:
    packed_free(s);
    err_set(e, ERR_MEMORY, "no memory for packed weights");
    return NULL;
}

void packed_free(struct packed *s)
{
    if (!s) return;
    free(s->block);
    free(s);
}

uint64_t packed_version(const struct packed *s)
{
    return s->version;
}

size_t packed_bytes(const struct packed *s)
{
    return sizeof *s + s->bytes;
}

const struct policy_cfg *packed_cfg(const struct packed *s)
{
    return &s->cfg;
}

uint64_t packed_actor_busy(const struct packed *s)
{
    return all_of(&s->actor.cfg) & ~s->actor.idle;
}

uint64_t packed_critic_busy(const struct packed *s)
{
    return all_of(&s->critic.cfg) & ~s->critic.idle;
}

const char *packed_isa(const struct packed *s)
{
    return s->kernel->isa;
}

/* The first idle expert with the largest output of its router, g. Without a branch, as it would be
 * unpredictable. */
static int packed_choose(const struct net *n, const float *g)
{
    if (n->cfg.route == MIX_SINGLE) return 0;
    g += n->gates;
    int chosen = __builtin_ctzll(n->idle);
    float top = g[chosen];
    for (int e = chosen + 1; e < n->cfg.experts; e++) {
        bool more = n->idle >> e & 1 && g[e] > top;
        chosen = more ? e : chosen;
        top = more ? g[e] : top;
    }
    return chosen;
}

/* gate (vecmat_pad of experts), 0 for busy ones. Without a router: 1 for expert 0. */
static void gates(float *gate, const struct vecmat_kernel *k, const struct net *n,
                  const float *g)
{
    gate[0] = 1.0f;
    if (n->cfg.route == MIX_SINGLE) return;
    float sum;
    k->softmax(gate, &sum, g + n->gates, vecmat_pad(n->cfg.experts), n->idle);
}

/* The computation of one expert. */
struct pass {
    const struct net *net;
    const float *theta;       /* of the expert */
    struct vecmat_entries in; /* of the next hidden layer; the observation at first */
    alignas(ALIGN) float hidden[WIDEST];
    alignas(ALIGN) float y[VECMAT_LANES]; /* of the head */
    int at[WIDEST];
    int16_t q[WIDEST];
};

static void packed_enter(struct pass *p, const struct net *n, int expert,
                         const struct vecmat_entries *obs)
{
    p->net = n;
    p->theta = n->theta + n->expert_n * (size_t)expert;
    p->in = *obs;
}

static void hidden_layer(struct pass *p, const struct vecmat_kernel *k, int l)
{
    const struct layer *v = &p->net->layer[l];
    struct vecmat_quant m = {(const int16_t *)(p->theta + v->w), p->theta + v->step,
                             p->theta + v->b, v->pad};
    k->quant_affine(p->hidden, &m, &p->in, true);
}

static void hand_on(struct pass *p, const struct vecmat_kernel *k)
{
    p->in.at = p->at;
    p->in.q = p->q;
    p->in.step = k->quantize(p->q, p->hidden, p->net->cfg.hidden);
    p->in.n = k->nonzero(p->at, p->hidden, p->net->cfg.hidden);
}

static void head(struct pass *p, const struct vecmat_kernel *k)
{
    const struct layer *v = &p->net->layer[p->net->cfg.layers];
    int n = k->nonzero(p->at, p->hidden, v->in);
    k->affine(p->y, p->theta + v->w, p->theta + v->b, p->hidden, p->at, n, v->pad, false);
}

/* n experts layer by layer: the processor computes one while it waits for data of another. */
static void packed_run(struct pass *p, int n, const struct vecmat_kernel *k)
{
    for (int l = 0; n && l < p->net->cfg.layers; l++) {
        for (int i = 0; l && i < n; i++)
            hand_on(&p[i], k);
        for (int i = 0; i < n; i++)
            hidden_layer(&p[i], k, l);
    }
    for (int i = 0; i < n; i++)
        head(&p[i], k);
}

static bool is_dense(const struct net *n)
{
    return n->cfg.route == MIX_DENSE || n->cfg.route == MIX_DENSE_PROBS;
}

/* y (VECMAT_LANES) of the dense routes */
static void run_dense(float *y, const float *gate, const struct vecmat_kernel *k,
                      const struct net *n, const struct vecmat_entries *obs)
{
    float e[MIX_EXPERTS_MAX * VECMAT_LANES] = {0};
    int out = n->cfg.out, experts = n->cfg.experts;
    struct pass p;
    for (int i = 0; i < experts; i++) {
        if (!(n->idle >> i & 1)) continue;
        packed_enter(&p, n, i, obs);
        packed_run(&p, 1, k);
        memcpy(e + i * out, p.y, sizeof *e * (size_t)out);
    }
    memset(y, 0, sizeof *y * VECMAT_LANES);
    if (n->cfg.route == MIX_DENSE_PROBS) {
        probs_forward(y, e, gate, 1, experts, out);
        return;
    }
    for (int i = 0; i < experts; i++)
        for (int j = 0; j < out; j++)
            y[j] += gate[i] * e[i * out + j];
}

/* y (VECMAT_LANES each) and gates of actor and critic, from the routers' outputs g */
static void run_both(float y[2][VECMAT_LANES], float gate[2][MIX_EXPERTS_MAX],
                     const struct packed *s, const float *g, const int chosen[2],
                     const struct vecmat_entries *obs)
{
    const struct net *const nets[] = {&s->actor, &s->critic};
    struct pass p[2];
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (!is_dense(nets[i])) packed_enter(&p[n++], nets[i], chosen[i], obs);
    packed_run(p, n, s->kernel);
    for (int i = n = 0; i < 2; i++) {
        gates(gate[i], s->kernel, nets[i], g);
        if (is_dense(nets[i])) {
            run_dense(y[i], gate[i], s->kernel, nets[i], obs);
            continue;
        }
        float scale = nets[i]->cfg.route == MIX_TOP1 ? gate[i][chosen[i]] : 1.0f;
        for (int j = 0; j < VECMAT_LANES; j++)
            y[i][j] = p[n].y[j] * scale;
        n++;
    }
}

/* An input and its non-zero entries. */
struct sparse {
    const float *x;
    const int *at;
    int n;
};

/* y (VECMAT_LANES) of one added expert */
static void run_added_expert(float *y, const struct vecmat_kernel *k,
                             const struct added_net *n, int which, struct sparse in)
{
    alignas(ALIGN) float hidden[2][WIDEST];
    int at[WIDEST];
    const float *theta = n->theta + n->expert_n * (size_t)which;
    for (int l = 0; l <= n->cfg.layers; l++) {
        const struct layer *v = &n->layer[l];
        bool last = l == n->cfg.layers;
        float *to = last ? y : hidden[l & 1];
        k->affine(to, theta + v->w, theta + v->b, in.x, in.at, in.n, v->pad, !last);
        if (!last) in = (struct sparse){to, at, k->nonzero(at, to, v->out)};
    }
}

/* y (VECMAT_LANES) and gates of one network's added experts, from the scores of both. Returns
 * their share. */
static float run_added(float *y, float *gate, const struct vecmat_kernel *k,
                       const struct added_net *n, const float *scores, struct sparse in)
{
    int experts = n->cfg.experts;
    for (int j = 0; j < experts; j++)
        gate[j] =
            n->bias[j] + norga_score(scores[n->column + j], n->a, n->tau, n->cfg.sigma).t;
    float share = norga_softmax(gate, gate, experts);

    memset(y, 0, sizeof *y * VECMAT_LANES);
    for (int j = 0; j < experts; j++) {
        alignas(ALIGN) float d[VECMAT_LANES];
        run_added_expert(d, k, n, j, in);
        for (int i = 0; i < VECMAT_LANES; i++)
            y[i] += gate[j] * d[i];
    }
    return share;
}

/* Turns the mixture's choice *c into the policy's. */
static int decide_added(struct policy_choice *c, const struct packed *s,
                        struct sparse obs, uint32_t mask, double u)
{
    alignas(ALIGN) float y[VECMAT_LANES], v[VECMAT_LANES], scores[VECMAT_LANES];
    float gate[NORGA_EXPERTS_MAX], critics[NORGA_EXPERTS_MAX];
    const struct vecmat_kernel *k = s->kernel;
    const struct layer *l = &s->scores;
    k->affine(scores, s->block + l->w, s->block + l->b, obs.x, obs.at, obs.n, l->pad,
              false);
    float share = run_added(y, gate, k, &s->added_actor, scores, obs);
    run_added(v, critics, k, &s->added_critic, scores, obs);
    struct policy_added_out added = {y, gate, share, v[0] * s->ret_std};
    return policy_finish_added(c, &s->cfg, &added, mask, u);
}

int packed_decide(struct policy_choice *out, const struct packed *s, const float *obs,
                  uint32_t mask, double u)
{
    alignas(ALIGN) float y[2][VECMAT_LANES], prob[VECMAT_LANES];
    alignas(ALIGN) float g[GATES + VECMAT_LANES], gate[2][MIX_EXPERTS_MAX];
    int at[MIX_IN_MAX + VECMAT_LANES], actions = s->cfg.actions;
    int16_t q[MIX_IN_MAX + VECMAT_LANES];
    const struct vecmat_kernel *k = s->kernel;
    const struct layer *r = &s->routers;
    *out = (struct policy_choice){0};
    if (!s->usable) return policy_finish(out, NULL, NAN, mask, actions, u);

    struct vecmat_entries in = {.at = at, .q = q};
    in.n = k->nonzero(at, obs, s->cfg.obs_dim);
    if (r->pad)
        k->affine(g, s->block + r->w, s->block + r->b, obs, at, in.n, r->pad, false);
    in.step = k->quantize(q, obs, s->cfg.obs_dim);
    int chosen[] = {packed_choose(&s->actor, g), packed_choose(&s->critic, g)};
    run_both(y, gate, s, g, chosen, &in);

    const struct mix_prior *prior = &s->cfg.prior;
    if (prior->gain)
        for (int a = 0; a < actions; a++)
            y[0][a] += (float)prior->gain * obs[prior->at + a * prior->stride];

    out->expert = chosen[0];
    out->value = y[1][0] * s->ret_std + s->ret_mean;
    mask &= UINT32_MAX >> (32 - actions);
    float sum, top = k->softmax(prob, &sum, y[0], VECMAT_LANES, mask);
    memcpy(out->prob, prob, sizeof out->prob);
    for (int e = 0; e < s->cfg.experts && e < POLICY_GATES; e++)
        out->gate[e] = gate[0][e];
    int rc = policy_finish(out, y[0], top + logf(sum), mask, actions, u);
    if (rc || !s->adds) return rc;
    return decide_added(out, s, (struct sparse){obs, at, in.n}, mask, u);
}
