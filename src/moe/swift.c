#include "moe/swift.h"

#include "moe/probs.h"
#include "nn/act.h"
#include "nn/mlp.h"
#include "nn/vecmat.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of a packed layer's weights (in, pad) and bias (pad). */
struct layer {
    size_t w, b;
    int in, out, pad;
};

/* An actor or a critic: its experts one behind the other. */
struct net {
    struct mix_cfg cfg;
    struct layer layer[MIX_LAYERS_MAX + 1]; /* within an expert */
    size_t expert_n;                        /* floats of one */
    float *theta;                           /* (experts, expert_n) within the block */
    int gates;     /* place of its router's outputs among those of both */
    uint64_t idle; /* bit k: expert k is there to be chosen */
};

struct swift {
    struct policy_cfg cfg;
    const struct vecmat_kernel *kernel;
    struct layer routers; /* of actor and critic, one product; pad = 0: neither has any */
    struct net actor, critic;
    float ret_mean, ret_std;
    uint64_t version;
    bool usable;
    float *block; /* owned: routers, actor, critic */
};

enum { ALIGN = 64, WIDEST = MIX_HIDDEN_MAX + VECMAT_LANES, GATES = 2 * MIX_EXPERTS_MAX };
_Static_assert(MIX_EXPERTS_MAX % VECMAT_LANES == 0, "gates fill whole vectors");
_Static_assert(POLICY_ACTIONS <= VECMAT_LANES, "a head is one vector");

static size_t place(struct layer *l, size_t at, int in, int out)
{
    *l = (struct layer){.w = at, .in = in, .out = out, .pad = vecmat_pad(out)};
    l->b = at + (size_t)in * (size_t)l->pad;
    return l->b + (size_t)l->pad;
}

static uint64_t all_of(const struct mix_cfg *c)
{
    return UINT64_MAX >> (MIX_EXPERTS_MAX - c->experts);
}

static struct net net_of(struct mix_cfg cfg)
{
    struct net n = {.cfg = cfg, .idle = all_of(&cfg)};
    for (int l = 0; l <= cfg.layers; l++)
        n.expert_n = place(&n.layer[l], n.expert_n, l ? cfg.hidden : cfg.in,
                           l < cfg.layers ? cfg.hidden : cfg.out);
    return n;
}

static size_t net_floats(const struct net *n)
{
    return n->expert_n * (size_t)n->cfg.experts;
}

static size_t place_routers(struct swift *s)
{
    const struct mix_cfg *a = &s->actor.cfg, *c = &s->critic.cfg;
    s->critic.gates = a->route == MIX_SINGLE ? 0 : a->experts;
    int gates = s->critic.gates + (c->route == MIX_SINGLE ? 0 : c->experts);
    return gates ? place(&s->routers, 0, a->in, gates) : 0;
}

static bool pack_layer(const struct layer *l, float *to, const float *w, const float *b)
{
    vecmat_pack(to + l->w, w, l->in, l->out);
    memset(to + l->b, 0, sizeof *to * (size_t)l->pad);
    memcpy(to + l->b, b, sizeof *to * (size_t)l->out);
    bool finite = true;
    for (size_t i = l->w; i < l->b + (size_t)l->pad; i++)
        finite = finite && isfinite(to[i]);
    return finite;
}

/* Returns which experts have finite weights. */
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
static uint64_t pack_router(const struct swift *s, const struct net *n,
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

static void pack(const struct swift *s, struct net *n, const struct mix *m)
{
    n->idle = pack_router(s, n, m) & pack_experts(n, m) & ~m->busy;
}

void swift_load(struct swift *s, const struct policy *p)
{
    assert(memcmp(&s->cfg, &p->cfg, sizeof s->cfg) == 0);
    pack(s, &s->actor, p->actor);
    pack(s, &s->critic, p->critic);
    s->usable =
        s->actor.idle && s->critic.idle && isfinite(p->ret_mean) && isfinite(p->ret_std);
    s->ret_mean = p->ret_mean;
    s->ret_std = p->ret_std;
    s->version = p->version;
}

struct swift *swift_new(const struct policy_cfg *cfg, struct err *e)
{
    if (policy_cfg_check(cfg, e)) return NULL;
    struct swift *s = calloc(1, sizeof *s);
    if (!s) goto fail;
    s->cfg = *cfg;
    s->usable = true;
    s->ret_std = 1.0f;
    s->kernel = vecmat_kernel(0);
    s->actor = net_of(policy_actor_cfg(cfg));
    s->critic = net_of(policy_critic_cfg(cfg));
    size_t routers = place_routers(s);
    size_t bytes =
        sizeof(float) * (routers + net_floats(&s->actor) + net_floats(&s->critic));
    s->block = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (!s->block) goto fail;
    memset(s->block, 0, bytes);
    s->actor.theta = s->block + routers;
    s->critic.theta = s->actor.theta + net_floats(&s->actor);
    return s;
fail:
    swift_free(s);
    err_set(e, ERR_MEMORY, "no memory for packed weights");
    return NULL;
}

void swift_free(struct swift *s)
{
    if (!s) return;
    free(s->block);
    free(s);
}

uint64_t swift_version(const struct swift *s)
{
    return s->version;
}

const struct policy_cfg *swift_cfg(const struct swift *s)
{
    return &s->cfg;
}

uint64_t swift_actor_busy(const struct swift *s)
{
    return all_of(&s->actor.cfg) & ~s->actor.idle;
}

uint64_t swift_critic_busy(const struct swift *s)
{
    return all_of(&s->critic.cfg) & ~s->critic.idle;
}

const char *swift_isa(const struct swift *s)
{
    return s->kernel->isa;
}

/* An input and where it is not zero. */
struct sparse {
    const float *x;
    const int *at;
    int n;
};

/* gate (pad of experts) from the routers' outputs g; the choice. Without a router: expert 0
 * with gate 1. */
static int route(float *gate, const struct vecmat_kernel *k, const struct net *n,
                 const float *g)
{
    gate[0] = 1.0f;
    if (n->cfg.route == MIX_SINGLE) return 0;
    int experts = n->cfg.experts, pad = vecmat_pad(experts);
    for (int e = 0; e < pad; e++)
        gate[e] = n->idle >> e & 1 ? g[n->gates + e] : -INFINITY;
    int chosen = act_argmax(gate, experts);
    float sum;
    k->softmax(gate, &sum, gate, pad);
    return chosen;
}

/* y (pad of the head) of one expert */
static void expert(float *y, const struct vecmat_kernel *k, const struct net *n,
                   int which, struct sparse in)
{
    alignas(ALIGN) float hidden[2][WIDEST];
    int at[WIDEST];
    const float *theta = n->theta + n->expert_n * (size_t)which;
    for (int l = 0; l <= n->cfg.layers; l++) {
        const struct layer *v = &n->layer[l];
        bool head = l == n->cfg.layers;
        float *to = head ? y : hidden[l & 1];
        k->affine(to, theta + v->w, theta + v->b, in.x, in.at, in.n, v->pad, !head);
        if (!head) in = (struct sparse){to, at, k->nonzero(at, to, v->out)};
    }
}

/* The dense routes. A head's whole vector is written, so each expert's outputs may lie
 * where the padding of the one before it was. */
static void run_all(float *y, const float *gate, const struct vecmat_kernel *k,
                    const struct net *n, struct sparse in)
{
    float e[(MIX_EXPERTS_MAX + 1) * VECMAT_LANES];
    int out = n->cfg.out, experts = n->cfg.experts;
    for (int i = 0; i < experts; i++) {
        if (n->idle >> i & 1)
            expert(e + i * out, k, n, i, in);
        else
            memset(e + i * out, 0, sizeof *e * VECMAT_LANES);
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

/* y (VECMAT_LANES) of the whole mixture */
static void run(float *y, const float *gate, int chosen, const struct vecmat_kernel *k,
                const struct net *n, struct sparse in)
{
    if (n->cfg.route == MIX_DENSE || n->cfg.route == MIX_DENSE_PROBS) {
        run_all(y, gate, k, n, in);
        return;
    }
    expert(y, k, n, chosen, in);
    float scale = n->cfg.route == MIX_TOP1 ? gate[chosen] : 1.0f;
    for (int j = 0; j < VECMAT_LANES; j++)
        y[j] *= scale;
}

int swift_decide(struct policy_choice *out, const struct swift *s, const float *obs,
                 uint32_t mask, double u)
{
    alignas(ALIGN) float logits[VECMAT_LANES], value[VECMAT_LANES], prob[VECMAT_LANES];
    alignas(ALIGN) float g[GATES], gate[MIX_EXPERTS_MAX], critics[MIX_EXPERTS_MAX];
    int at[MIX_IN_MAX], actions = s->cfg.actions;
    const struct vecmat_kernel *k = s->kernel;
    const struct layer *r = &s->routers;
    *out = (struct policy_choice){0};
    if (!s->usable) return policy_settle(out, NULL, NAN, mask, actions, u);

    struct sparse in = {obs, at, k->nonzero(at, obs, s->cfg.obs_dim)};
    if (r->pad)
        k->affine(g, s->block + r->w, s->block + r->b, obs, at, in.n, r->pad, false);
    /* both at once: the processor works on one while it waits for the other */
    out->expert = route(gate, k, &s->actor, g);
    int critic = route(critics, k, &s->critic, g);
    run(logits, gate, out->expert, k, &s->actor, in);
    run(value, critics, critic, k, &s->critic, in);
    out->value = value[0] * s->ret_std + s->ret_mean;

    for (int a = 0; a < VECMAT_LANES; a++)
        prob[a] = a < actions && mask >> a & 1 ? logits[a] : -INFINITY;
    float sum, top = k->softmax(prob, &sum, prob, VECMAT_LANES);
    memcpy(out->prob, prob, sizeof out->prob);
    for (int e = 0; e < s->cfg.experts && e < POLICY_GATES; e++)
        out->gate[e] = gate[e];
    return policy_settle(out, logits, top + logf(sum), mask, actions, u);
}
