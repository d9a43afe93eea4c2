#include "policy/graft.h"

#include "base/bytes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct graft_ws {
    struct policy_ws *base;
    struct norga_ws *actor, *critic;
};

struct norga_cfg graft_actor_cfg(const struct graft_cfg *cfg)
{
    const struct policy_cfg *b = &cfg->base;
    return (struct norga_cfg){b->obs_dim, b->hidden,    b->layers,
                              b->actions, cfg->experts, cfg->sigma};
}

struct norga_cfg graft_critic_cfg(const struct graft_cfg *cfg)
{
    const struct policy_cfg *b = &cfg->base;
    return (struct norga_cfg){b->obs_dim, b->critic_hidden, b->layers,
                              1,          cfg->experts,     cfg->sigma};
}

int graft_cfg_check(const struct graft_cfg *cfg, struct err *e)
{
    struct norga_cfg actor = graft_actor_cfg(cfg), critic = graft_critic_cfg(cfg);
    int rc = policy_cfg_check(&cfg->base, e);
    if (!rc) rc = norga_cfg_check(&actor, e);
    if (!rc) rc = norga_cfg_check(&critic, e);
    if (!rc && cfg->base.experts + cfg->experts > POLICY_GATES)
        rc = err_field(e, ERR_RANGE, "experts",
                       "%d new experts beside %d are more than %d in all", cfg->experts,
                       cfg->base.experts, POLICY_GATES);
    return rc;
}

struct graft *graft_new(const struct graft_cfg *cfg, struct err *e)
{
    if (graft_cfg_check(cfg, e)) return NULL;
    struct norga_cfg actor = graft_actor_cfg(cfg), critic = graft_critic_cfg(cfg);
    struct graft *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for new experts");
        return NULL;
    }
    g->cfg = *cfg;
    g->version = 1;
    g->shape_learns = true;
    g->actor = norga_new(&actor, e);
    g->critic = g->actor ? norga_new(&critic, e) : NULL;
    if (g->critic) return g;

    graft_free(g);
    return NULL;
}

struct graft *graft_clone(const struct graft *g, struct err *e)
{
    struct graft *copy = graft_new(&g->cfg, e);
    if (copy) graft_copy(copy, g);
    return copy;
}

void graft_free(struct graft *g)
{
    if (!g) return;
    norga_free(g->critic);
    norga_free(g->actor);
    free(g);
}

void graft_copy(struct graft *g, const struct graft *from)
{
    assert(memcmp(&g->cfg, &from->cfg, sizeof g->cfg) == 0);
    memcpy(g->actor->theta, from->actor->theta, sizeof(float) * g->actor->n);
    memcpy(g->critic->theta, from->critic->theta, sizeof(float) * g->critic->n);
    g->shape_learns = from->shape_learns;
    g->version = from->version;
    g->base_version = from->base_version;
    g->base_crc = from->base_crc;
}

size_t graft_floats(const struct graft *g)
{
    return g->actor->n + g->critic->n;
}

uint32_t graft_crc(const struct policy *p)
{
    uint32_t crc = bytes_crc32(0, p->actor->theta, sizeof(float) * p->actor->n);
    return bytes_crc32(crc, p->critic->theta, sizeof(float) * p->critic->n);
}

bool graft_fits(const struct graft *g, const struct policy *base)
{
    return memcmp(&g->cfg.base, &base->cfg, sizeof base->cfg) == 0 &&
           g->base_crc == graft_crc(base);
}

/* ---- the start */

enum { ROWS = 64 }; /* observations routed at once */

/* How many of the observations each expert of a frozen mixture gets. */
static int count_use(int *used, const struct mix *m, const float *obs, int n,
                     struct err *e)
{
    memset(used, 0, sizeof *used * (size_t)m->cfg.experts);
    if (!n) return 0;
    struct mix_ws *ws = mix_ws_new(&m->cfg, ROWS, e);
    float *y = calloc((size_t)ROWS * (size_t)m->cfg.out, sizeof *y);
    int rc = ws && y ? 0 : err_set(e, ERR_MEMORY, "no memory for new experts");
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

/* from[j]: the j-th most used expert, from the first again when there are fewer. */
static int init_net(struct norga *g, const struct mix *frozen, const float *obs, int n,
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

int graft_init(struct graft *g, const struct policy *base, const float *obs, int n,
               uint64_t seed, struct err *e)
{
    assert(memcmp(&g->cfg.base, &base->cfg, sizeof base->cfg) == 0);
    struct rng r;
    rng_init(&r, seed, 0x67726166);
    int rc = init_net(g->actor, base->actor, obs, n, &r, e);
    if (!rc) rc = init_net(g->critic, base->critic, obs, n, &r, e);
    g->version = 1;
    g->base_version = base->version;
    g->base_crc = graft_crc(base);
    return rc;
}

void graft_take_shape(struct graft *g, const struct graft *from)
{
    struct mix_range a = norga_shape(&g->actor->cfg);
    memcpy(g->actor->theta + a.at, from->actor->theta + a.at, sizeof(float) * a.n);
    memcpy(g->critic->theta + a.at, from->critic->theta + a.at, sizeof(float) * a.n);
    g->shape_learns = false;
}

/* ---- one decision */

struct graft_ws *graft_ws_new(const struct graft_cfg *cfg, struct err *e)
{
    if (graft_cfg_check(cfg, e)) return NULL;
    struct norga_cfg actor = graft_actor_cfg(cfg), critic = graft_critic_cfg(cfg);
    struct graft_ws *ws = calloc(1, sizeof *ws);
    if (!ws) {
        err_set(e, ERR_MEMORY, "no memory for a decision's scratch");
        return NULL;
    }
    ws->base = policy_ws_new(&cfg->base, e);
    ws->actor = ws->base ? norga_ws_new(&actor, 1, e) : NULL;
    ws->critic = ws->actor ? norga_ws_new(&critic, 1, e) : NULL;
    if (ws->critic) return ws;

    graft_ws_free(ws);
    return NULL;
}

void graft_ws_free(struct graft_ws *ws)
{
    if (!ws) return;
    norga_ws_free(ws->critic);
    norga_ws_free(ws->actor);
    policy_ws_free(ws->base);
    free(ws);
}

float graft_ln(float prob)
{
    float ln = prob > 0.0f ? logf(prob) : GRAFT_FLOOR;
    return ln < GRAFT_FLOOR ? GRAFT_FLOOR : ln;
}

/* gates of all experts, and the one in charge */
static void mix_gates(struct policy_choice *c, const struct graft_cfg *cfg,
                      const struct graft_word *w)
{
    int frozen = cfg->base.experts;
    for (int k = 0; k < frozen; k++)
        c->gate[k] *= 1.0f - w->share;
    for (int j = 0; j < cfg->experts; j++) {
        c->gate[frozen + j] = w->gate[j];
        if (w->gate[j] > c->gate[c->expert]) c->expert = frozen + j;
    }
}

int graft_settle(struct policy_choice *c, const struct graft_cfg *cfg,
                 const struct graft_word *w, uint32_t mask, double u)
{
    float logits[POLICY_ACTIONS];
    int actions = cfg->base.actions;
    for (int a = 0; a < actions; a++)
        logits[a] = graft_ln(c->prob[a]) + w->y[a];
    float lse = policy_softmax(c->prob, logits, mask, actions);
    c->entropy = 0.0f;
    c->value += w->v;
    mix_gates(c, cfg, w);
    return policy_settle(c, logits, lse, mask, actions, u);
}

int graft_decide(struct policy_choice *out, const struct graft *g,
                 const struct policy *base, struct graft_ws *ws, const float *obs,
                 uint32_t mask, double u)
{
    int rc = policy_decide(out, base, ws->base, obs, mask, u);
    if (rc) return rc;
    float y[POLICY_ACTIONS], gate[NORGA_EXPERTS_MAX], v, share = 0.0f;
    norga_forward(y, gate, g->actor, ws->actor, obs, 1);
    norga_forward(&v, NULL, g->critic, ws->critic, obs, 1);
    for (int j = 0; j < g->cfg.experts; j++)
        share += gate[j];
    struct graft_word w = {y, gate, share, v * base->ret_std};
    return graft_settle(out, &g->cfg, &w, mask, u);
}
