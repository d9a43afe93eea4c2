#include "policy/graft_pack.h"

#include "nn/mlp.h"
#include "nn/simd/vecmat.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, WIDEST = MIX_HIDDEN_MAX + VECMAT_LANES };
_Static_assert(2 * NORGA_EXPERTS_MAX <= VECMAT_LANES, "all scores are one vector");
_Static_assert(POLICY_ACTIONS <= VECMAT_LANES, "a head is one vector");

/* Offsets of a packed layer's weights (in, pad) and bias (pad). */
struct layer {
    size_t w, b;
    int in, out, pad;
};

struct net {
    struct norga_cfg cfg;
    struct layer layer[MIX_LAYERS_MAX + 1]; /* within an expert */
    size_t expert_n;                        /* floats of one */
    float a, tau, bias[NORGA_EXPERTS_MAX];
    float *theta; /* (experts, expert_n) within the block */
};

struct graft_pack {
    struct graft_cfg cfg;
    const struct vecmat_kernel *kernel;
    struct net actor, critic;
    struct layer scores; /* w of the actor, then of the critic; its bias is 0 */
    float ret_std;
    uint64_t version;
    bool finite;
    size_t bytes;
    float *block; /* owned: scores, actor, critic */
};

static size_t graft_pack_place(struct layer *l, size_t at, int in, int out)
{
    *l = (struct layer){.w = at, .in = in, .out = out, .pad = vecmat_pad(out)};
    l->b = at + (size_t)in * (size_t)l->pad;
    return l->b + (size_t)l->pad;
}

static struct net graft_pack_net_of(struct norga_cfg cfg)
{
    struct net n = {.cfg = cfg};
    for (int l = 0; l <= cfg.layers; l++)
        n.expert_n = graft_pack_place(&n.layer[l], n.expert_n, l ? cfg.hidden : cfg.in,
                                      l < cfg.layers ? cfg.hidden : cfg.out);
    return n;
}

static size_t net_floats(const struct net *n)
{
    return n->expert_n * (size_t)n->cfg.experts;
}

struct graft_pack *graft_pack_new(const struct graft_cfg *cfg, struct err *e)
{
    if (graft_cfg_check(cfg, e)) return NULL;
    struct graft_pack *p = calloc(1, sizeof *p);
    if (!p) goto fail;
    p->cfg = *cfg;
    p->kernel = vecmat_kernel(0);
    p->actor = graft_pack_net_of(graft_actor_cfg(cfg));
    p->critic = graft_pack_net_of(graft_critic_cfg(cfg));
    size_t scores = graft_pack_place(&p->scores, 0, cfg->base.obs_dim, 2 * cfg->experts);
    size_t floats = scores + net_floats(&p->actor) + net_floats(&p->critic);
    p->bytes = (sizeof(float) * floats + ALIGN - 1) / ALIGN * ALIGN;
    p->block = aligned_alloc(ALIGN, p->bytes);
    if (!p->block) goto fail;
    memset(p->block, 0, p->bytes);
    p->actor.theta = p->block + scores;
    p->critic.theta = p->actor.theta + net_floats(&p->actor);
    p->finite = true;
    return p;
fail:
    graft_pack_free(p);
    err_set(e, ERR_MEMORY, "no memory for packed experts");
    return NULL;
}

void graft_pack_free(struct graft_pack *p)
{
    if (!p) return;
    free(p->block);
    free(p);
}

uint64_t graft_pack_version(const struct graft_pack *p)
{
    return p->version;
}

size_t graft_pack_bytes(const struct graft_pack *p)
{
    return sizeof *p + p->bytes;
}

static bool graft_pack_all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Are all of its weights finite? `column`: of its first score. */
static bool load_net(struct graft_pack *p, struct net *n, const struct norga *g,
                     int column)
{
    const struct norga_cfg *c = &n->cfg;
    size_t in = (size_t)c->in, pad = (size_t)p->scores.pad;
    const float *w = g->theta + norga_scores(c).at;
    n->a = g->theta[0];
    n->tau = g->theta[1];
    for (size_t k = 0; k < (size_t)c->experts; k++) {
        for (size_t i = 0; i < in; i++)
            p->block[p->scores.w + i * pad + (size_t)column + k] = w[k * in + i];
        n->bias[k] = w[(size_t)c->experts * in + k];
    }

    const struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    for (int k = 0; k < c->experts; k++) {
        const float *from = g->theta + norga_expert(c, k).at;
        float *to = n->theta + n->expert_n * (size_t)k;
        for (int l = 0; l <= c->layers; l++) {
            const struct layer *v = &n->layer[l];
            struct mlp_layer m = mlp_layer(&ec, l);
            vecmat_pack(to + v->w, from + m.w, v->in, v->out);
            memcpy(to + v->b, from + m.b, sizeof *to * (size_t)v->out);
        }
    }
    return graft_pack_all_finite(g->theta, g->n);
}

void graft_pack_load(struct graft_pack *p, const struct graft *g,
                     const struct policy *base)
{
    assert(memcmp(&p->cfg, &g->cfg, sizeof p->cfg) == 0);
    bool finite = load_net(p, &p->actor, g->actor, 0);
    finite = load_net(p, &p->critic, g->critic, p->cfg.experts) && finite;
    p->ret_std = base->ret_std;
    p->version = g->version;
    p->finite = finite;
}

/* An input and where it is not zero. */
struct sparse {
    const float *x;
    const int *at;
    int n;
};

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

/* y (VECMAT_LANES) and the gates of one network from its scores s. Returns m. */
static float graft_pack_run(float *y, float *gate, const struct vecmat_kernel *k,
                            const struct net *n, const float *s, struct sparse in)
{
    int experts = n->cfg.experts;
    for (int j = 0; j < experts; j++)
        gate[j] = n->bias[j] + norga_score(s[j], n->a, n->tau, n->cfg.sigma).t;
    float share = norga_softmax(gate, gate, experts);

    memset(y, 0, sizeof *y * VECMAT_LANES);
    for (int j = 0; j < experts; j++) {
        alignas(ALIGN) float d[VECMAT_LANES];
        expert(d, k, n, j, in);
        for (int i = 0; i < VECMAT_LANES; i++)
            y[i] += gate[j] * d[i];
    }
    return share;
}

int graft_pack_decide(struct policy_choice *out, float *share, const struct graft_pack *p,
                      const struct packed *frozen, const float *obs, uint32_t mask,
                      double u)
{
    if (share) *share = 0.0f;
    int rc = packed_decide(out, frozen, obs, mask, u);
    if (rc) return rc;
    if (!p->finite) return policy_settle(out, NULL, NAN, mask, p->cfg.base.actions, u);

    alignas(ALIGN) float y[VECMAT_LANES], v[VECMAT_LANES], s[VECMAT_LANES];
    float gate[NORGA_EXPERTS_MAX], critics[NORGA_EXPERTS_MAX];
    int at[MIX_IN_MAX + VECMAT_LANES];
    const struct vecmat_kernel *k = p->kernel;
    const struct layer *l = &p->scores;
    struct sparse in = {obs, at, k->nonzero(at, obs, p->cfg.base.obs_dim)};
    k->affine(s, p->block + l->w, p->block + l->b, obs, at, in.n, l->pad, false);
    float m = graft_pack_run(y, gate, k, &p->actor, s, in);
    graft_pack_run(v, critics, k, &p->critic, s + p->cfg.experts, in);

    struct graft_word w = {y, gate, m, v[0] * p->ret_std};
    rc = graft_settle(out, &p->cfg, &w, mask, u);
    if (share && !rc) *share = m;
    return rc;
}
