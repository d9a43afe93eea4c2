#include "lab/merge/merge_nodes.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { V = MERGE_TASKS, STREAM = 0x6e6f646573 };

const char *const merge_nodes_says[MERGE_NODES_HOWS] = {
    "one node, all viewers", "nodes that share", "nodes apart"};

/* What a bandit is told of a slot. */
struct told {
    float x[V], psi[V], reward[V], trust[V];
};

struct node {
    struct tanbr *bandit;
    int at; /* the bandit's choice */
    struct told now, before;
    double sum[V];
    int n[V];
};

struct nodes {
    const struct merge_field *field;
    const struct merge_nodes_cfg *cfg;
    int n;
    float known[V]; /* of the mix */
    struct node node[MERGE_NODES_MAX];
};

static struct tanbr_cfg bandit_of(const struct nodes *s)
{
    const struct merge_sim_cfg *c = &s->cfg->sim;
    if (c->method == MERGE_TANBR_BARE) return tanbr_cfg_default(V, V);
    struct tanbr_cfg b = c->bandit;
    b.prior = c->method == MERGE_TANBR_MISLED ? s->field->misled : s->field->prior;
    return b;
}

static int open_nodes(struct nodes *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s);
    for (int i = 0; i < s->n; i++) {
        s->node[i].bandit = tanbr_new(&b, s->cfg->sim.seed, e);
        if (!s->node[i].bandit) return e->code;
    }
    for (int v = 0; v < V; v++)
        s->known[v] = 1.0f / V;
    return 0;
}

/* ---- a slot ---- */

/* What the weights are worth for the true mix. */
static double merge_nodes_choose(struct lattice_mix *at, struct node *n,
                                 const struct nodes *s, const double *psi)
{
    const struct merge_grid *g = s->field->merged;
    double mean[V], worth = 0;
    memcpy(n->now.psi, s->known, sizeof s->known);
    n->at = tanbr_choose(n->bandit, n->now.x, NULL, s->known);
    *at = lattice_mix(n->now.x, V, g->steps);
    merge_grid_mean(mean, g, at);
    for (int v = 0; v < V; v++)
        worth += psi[v] * mean[v];
    return worth;
}

static int drawn(struct rng *r, const double *psi)
{
    double u = rng_uniform(r);
    for (int v = 0; v < V - 1; u -= psi[v++])
        if (u < psi[v]) return v;
    return V - 1;
}

static void serve(struct nodes *s, const struct lattice_mix *at, const double *psi, int t)
{
    struct rng r;
    rng_init(&r, s->cfg->sim.seed, STREAM + (uint64_t)t);
    for (int i = 0; i < s->cfg->sim.sessions; i++) {
        struct node *n = &s->node[i % s->n];
        int session = (int)rng_below(&r, (uint32_t)s->field->world->sessions);
        int task = drawn(&r, psi);
        n->n[task]++;
        n->sum[task] += merge_grid_score(s->field->merged, &at[i % s->n], session, task);
    }
}

/* The slot's end of one node. */
static int merge_nodes_learn(struct node *n, const struct merge_sim_cfg *c)
{
    for (int v = 0; v < V; v++) {
        int many = n->n[v];
        n->now.reward[v] = many ? (float)fmin(2, fmax(-1, n->sum[v] / many)) : 0.0f;
        n->now.trust[v] = (float)V * (float)many / (float)c->sessions;
    }
    memset(n->n, 0, sizeof n->n);
    memset(n->sum, 0, sizeof n->sum);
    return tanbr_learn(n->bandit, n->at, n->now.psi, n->now.reward, n->now.trust);
}

static void know(struct nodes *s)
{
    const struct merge_sim_cfg *c = &s->cfg->sim;
    for (int v = 0; v < V; v++) {
        int many = 0;
        for (int i = 0; i < s->n; i++)
            many += s->node[i].n[v];
        double share = (double)many / c->sessions;
        s->known[v] += (float)(c->forget * (share - (double)s->known[v]));
    }
}

/* What the others were told a slot ago. */
static int hear(struct nodes *s, struct node *n)
{
    int rc = 0;
    for (int i = 0; i < s->n && !rc; i++) {
        const struct told *o = &s->node[i].before;
        if (&s->node[i] == n) continue;
        rc = tanbr_learn_at(n->bandit, o->x, o->psi, o->reward, o->trust);
    }
    return rc;
}

static int end_slot(struct nodes *s, int t)
{
    int rc = 0;
    know(s);
    bool shares = s->cfg->how == MERGE_NODES_SHARED && t > 0;
    for (int i = 0; i < s->n && !rc; i++)
        rc = merge_nodes_learn(&s->node[i], &s->cfg->sim);
    for (int i = 0; i < s->n && !rc && shares; i++)
        rc = hear(s, &s->node[i]);
    for (int i = 0; i < s->n; i++)
        s->node[i].before = s->node[i].now;
    return rc;
}

int merge_nodes_run(double *regret, const struct merge_field *f,
                    const struct merge_nodes_cfg *cfg, struct err *e)
{
    assert(cfg->nodes >= 1 && cfg->nodes <= MERGE_NODES_MAX);
    struct err mine = {0};
    if (!e) e = &mine;
    struct nodes s = {
        .field = f, .cfg = cfg, .n = cfg->how == MERGE_NODES_ONE ? 1 : cfg->nodes};
    struct merge_mixer mixer;
    merge_mixer_init(&mixer, &cfg->sim);
    int rc = open_nodes(&s, e);
    *regret = 0;
    for (int t = 0; t < cfg->sim.slots && !rc; t++) {
        struct lattice_mix at[MERGE_NODES_MAX];
        double psi[V];
        merge_mixer_next(psi, &mixer);
        *regret += merge_sim_best(NULL, f->merged, psi);
        for (int i = 0; i < s.n; i++)
            *regret -= merge_nodes_choose(&at[i], &s.node[i], &s, psi) / s.n;
        serve(&s, at, psi, t);
        rc = end_slot(&s, t);
        if (rc) err_set(e, rc, "slot %d: a reward or an update is not finite", t);
    }
    for (int i = 0; i < s.n; i++)
        tanbr_free(s.node[i].bandit);
    return rc;
}
