#include "policy/tanbr.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "policy/lattice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tanbr {
    struct tanbr_cfg cfg;
    struct tree *tree;
    struct nucb *nucb;
    int64_t rounds, left, failed;
    const float **x;          /* (leaves at most) candidates */
    struct nucb_score *score; /* likewise */
    float *prior;             /* (points, tasks of the prior), or NULL */
    float *known; /* (max_nodes, tasks of the prior): m of the first nodes ... */
    int known_n;  /* ... so many */
};

enum { PRIOR_STEPS_MAX = 1000, PRIOR_POINTS_MAX = 100000, WARM_MAX = 1000000 };

static struct tree_cfg tree_part(const struct tanbr_cfg *c)
{
    return (struct tree_cfg){.dim = c->experts,
                             .keep = c->keep,
                             .max_nodes = c->max_nodes,
                             .split = c->split,
                             .border = c->border,
                             .c = c->c,
                             .delta = c->delta,
                             .nu1 = c->nu1,
                             .rho = c->rho};
}

static struct nucb_cfg nucb_part(const struct tanbr_cfg *c)
{
    return (struct nucb_cfg){.dim = c->experts,
                             .tasks = c->tasks,
                             .width = c->width,
                             .depth = c->depth,
                             .history = c->history,
                             .steps = c->steps,
                             .batch = c->batch,
                             .lambda = c->lambda,
                             .gamma = c->gamma,
                             .eta = c->eta,
                             .cov = c->cov};
}

struct tanbr_cfg tanbr_cfg_default(int experts, int tasks)
{
    struct tree_cfg t = tree_cfg_default(experts);
    struct nucb_cfg n = nucb_cfg_default(experts, tasks);
    return (struct tanbr_cfg){.experts = experts,
                              .tasks = tasks,
                              .keep = t.keep,
                              .max_nodes = t.max_nodes,
                              .split = t.split,
                              .border = t.border,
                              .c = t.c,
                              .delta = t.delta,
                              .nu1 = t.nu1,
                              .rho = t.rho,
                              .width = n.width,
                              .depth = n.depth,
                              .history = n.history,
                              .steps = n.steps,
                              .batch = n.batch,
                              .lambda = n.lambda,
                              .gamma = n.gamma,
                              .eta = n.eta,
                              .cov = n.cov};
}

struct tanbr_cfg tanbr_cfg_informed(int experts, int tasks)
{
    struct tanbr_cfg c = tanbr_cfg_default(experts, tasks);
    c.warm = 2000;
    c.gamma = .01;
    c.eta = .003;
    return c;
}

static int check_prior(const struct tanbr_cfg *c, struct err *e)
{
    const struct tanbr_prior *p = &c->prior;
    if (c->warm < 0 || c->warm > WARM_MAX)
        return err_field(e, ERR_RANGE, "warm", "must be 0 .. %d", WARM_MAX);
    if (!p->steps) return 0;
    if (c->experts > LATTICE_DIM_MAX)
        return err_field(e, ERR_RANGE, "prior", "is for %d experts at most",
                         LATTICE_DIM_MAX);
    if (p->tasks < 1 || p->tasks > c->tasks)
        return err_field(e, ERR_RANGE, "prior", "must have 1 .. %d tasks", c->tasks);
    if (p->steps < 0 || p->steps > PRIOR_STEPS_MAX ||
        lattice_points(c->experts, p->steps) > PRIOR_POINTS_MAX)
        return err_field(e, ERR_RANGE, "prior", "has more than %d points",
                         PRIOR_POINTS_MAX);
    return 0;
}

int tanbr_cfg_check(const struct tanbr_cfg *cfg, struct err *e)
{
    struct tree_cfg t = tree_part(cfg);
    struct nucb_cfg n = nucb_part(cfg);
    int rc = tree_cfg_check(&t, e);
    if (!rc) rc = nucb_cfg_check(&n, e);
    return rc ? rc : check_prior(cfg, e);
}

/* ---- the prior ---- */

/* m(x): out (tasks of the prior). */
static void expect(float *out, const struct tanbr *t, const float *x)
{
    int v = t->cfg.prior.tasks;
    struct lattice_mix m = lattice_mix(x, t->cfg.experts, t->cfg.prior.steps);
    for (int j = 0; j < v; j++) {
        double sum = 0;
        for (int i = 0; i < m.n; i++)
            sum += m.share[i] * (double)t->prior[m.point[i] * v + j];
        out[j] = (float)sum;
    }
}

/* m of every node that may be chosen. */
static void expect_nodes(struct tanbr *t)
{
    int v = t->cfg.prior.tasks, nodes = tree_nodes(t->tree);
    for (; t->prior && t->known_n < nodes; t->known_n++) {
        struct tree_leaf n = tree_node(t->tree, t->known_n);
        if (n.active) expect(t->known + (size_t)t->known_n * (size_t)v, t, n.x);
    }
}

/* psi' m of a node; 0 without a prior. */
static double prior_mean(const struct tanbr *t, int node, const float *psi)
{
    int v = t->cfg.prior.tasks;
    double sum = 0;
    for (int j = 0; j < v && t->prior; j++)
        sum += (double)psi[j] * (double)t->known[node * v + j];
    return sum;
}

static double grain(const struct tanbr *t, int depth)
{
    return t->cfg.nu1 * pow(t->cfg.rho, depth);
}

static void dirichlet(float *psi, struct rng *r, int n)
{
    double e[NUCB_TASKS_MAX], sum = 0;
    for (int j = 0; j < n; j++)
        sum += e[j] = rng_exponential(r, 1);
    for (int j = 0; j < n; j++)
        psi[j] = (float)(e[j] / sum);
}

static void warm_up(struct tanbr *t, uint64_t seed)
{
    struct rng r;
    float psi[NUCB_TASKS_MAX];
    rng_init(&r, seed, 0x7761726d);
    for (int i = 0; t->prior && i < t->cfg.warm; i++) {
        expect_nodes(t);
        dirichlet(psi, &r, t->cfg.prior.tasks);
        int n = tree_leaves(t->tree), best = 0;
        double highest = -INFINITY;
        for (int l = 0; l < n; l++) {
            struct tree_leaf leaf = tree_leaf_at(t->tree, l);
            double upper = prior_mean(t, leaf.node, psi) + grain(t, leaf.depth);
            if (!(upper > highest)) continue;
            highest = upper;
            best = leaf.node;
        }
        tree_visit(t->tree, best, i + 1);
    }
}

/* ---- life ---- */

static size_t prior_floats(const struct tanbr_cfg *c)
{
    return (size_t)lattice_points(c->experts, c->prior.steps) * (size_t)c->prior.tasks;
}

/* A copy of the prior, and room for what it says of the nodes. */
static bool take_prior(struct tanbr *t)
{
    const struct tanbr_prior *p = &t->cfg.prior;
    if (!p->steps) return true;
    size_t n = prior_floats(&t->cfg);
    t->prior = calloc(n, sizeof *t->prior);
    t->known = calloc((size_t)t->cfg.max_nodes * (size_t)p->tasks, sizeof *t->known);
    if (t->prior) memcpy(t->prior, p->value, n * sizeof *t->prior);
    t->cfg.prior.value = t->prior;
    return t->prior && t->known;
}

struct tanbr *tanbr_new(const struct tanbr_cfg *cfg, uint64_t seed, struct err *e)
{
    if (tanbr_cfg_check(cfg, e)) return NULL;
    struct tree_cfg tree = tree_part(cfg);
    struct nucb_cfg nucb = nucb_part(cfg);
    size_t leaves = (size_t)(cfg->max_nodes + 1) / 2;
    struct tanbr *t = calloc(1, sizeof *t);
    if (!t) goto failed;
    t->cfg = *cfg;
    t->tree = tree_new(&tree, seed, e);
    t->nucb = nucb_new(&nucb, seed, e);
    t->x = calloc(leaves, sizeof(const float *));
    t->score = calloc(leaves, sizeof *t->score);
    if (!t->tree || !t->nucb || !t->x || !t->score || !take_prior(t)) goto failed;
    warm_up(t, seed);
    return t;

failed:
    tanbr_free(t);
    err_set(e, ERR_MEMORY, "no memory for a bandit over %d experts", cfg->experts);
    return NULL;
}

void tanbr_free(struct tanbr *t)
{
    if (!t) return;
    tree_free(t->tree);
    nucb_free(t->nucb);
    free((void *)t->x);
    free(t->score);
    free(t->prior);
    free(t->known);
    free(t);
}

const struct tanbr_cfg *tanbr_cfg(const struct tanbr *t)
{
    return &t->cfg;
}

/* ---- a slot ---- */

int tanbr_choose(struct tanbr *t, float *x, struct tanbr_choice *why, const float *psi)
{
    int n = tree_leaves(t->tree), best = 0;
    for (int i = 0; i < n; i++)
        t->x[i] = tree_leaf_at(t->tree, i).x;
    nucb_score(t->score, t->nucb, t->x, n, psi);
    expect_nodes(t);

    double highest = -INFINITY;
    for (int i = 0; i < n; i++) {
        struct tree_leaf leaf = tree_leaf_at(t->tree, i);
        t->score[i].mean += prior_mean(t, leaf.node, psi);
        double upper = t->score[i].mean + t->score[i].width + grain(t, leaf.depth);
        if (!(upper > highest)) continue;
        highest = upper;
        best = i;
    }

    struct tree_leaf leaf = tree_leaf_at(t->tree, best);
    tanbr_weights(x, t, leaf.node);
    if (why)
        *why = (struct tanbr_choice){.node = leaf.node,
                                     .depth = leaf.depth,
                                     .leaves = n,
                                     .mean = t->score[best].mean,
                                     .width = t->score[best].width,
                                     .grain = grain(t, leaf.depth),
                                     .left = leaf.left};
    return leaf.node;
}

void tanbr_weights(float *x, const struct tanbr *t, int node)
{
    memcpy(x, tree_node(t->tree, node).x, sizeof *x * (size_t)t->cfg.experts);
}

/* m: the prior's share at x, of its tasks. */
static int tanbr_learn_slot(struct tanbr *t, const float *x, int node, const float *m,
                            const float *psi, const float *reward, const float *trust)
{
    float rest[NUCB_TASKS_MAX];
    for (int j = 0; j < t->cfg.tasks; j++)
        rest[j] = reward[j] - (t->prior && j < t->cfg.prior.tasks ? m[j] : 0);
    int rc = nucb_learn(t->nucb, x, psi, rest, trust);
    if (rc) {
        t->failed++;
        return rc;
    }
    t->rounds++;
    tree_visit(t->tree, node, (t->prior ? t->cfg.warm : 0) + t->rounds);
    return 0;
}

int tanbr_learn(struct tanbr *t, int node, const float *psi, const float *reward,
                const float *trust)
{
    struct tree_leaf leaf = tree_node(t->tree, node);
    expect_nodes(t);
    const float *m =
        t->prior ? t->known + (size_t)node * (size_t)t->cfg.prior.tasks : NULL;
    int rc = tanbr_learn_slot(t, leaf.x, node, m, psi, reward, trust);
    if (!rc) t->left += leaf.left;
    return rc;
}

int tanbr_learn_at(struct tanbr *t, const float *x, const float *psi, const float *reward,
                   const float *trust)
{
    float m[NUCB_TASKS_MAX];
    if (t->prior) expect(m, t, x);
    return tanbr_learn_slot(t, x, tree_find(t->tree, x), m, psi, reward, trust);
}

void tanbr_forget(struct tanbr *t, int task)
{
    assert(!t->prior || task >= t->cfg.prior.tasks);
    nucb_forget(t->nucb, task);
}

void tanbr_predict(float *out, struct tanbr *t, const float *x)
{
    float m[NUCB_TASKS_MAX];
    nucb_predict(out, t->nucb, x);
    if (!t->prior) return;
    expect(m, t, x);
    for (int j = 0; j < t->cfg.prior.tasks; j++)
        out[j] += m[j];
}

const struct tree *tanbr_tree(const struct tanbr *t)
{
    return t->tree;
}

struct tanbr_stats tanbr_stats(const struct tanbr *t)
{
    return (struct tanbr_stats){.tree = tree_stats(t->tree),
                                .rounds = t->rounds,
                                .left = t->left,
                                .failed = t->failed};
}

/* ---- state ----
 *
 * u32 CRC of all that follows, u32 CRC of the configuration, u64 rounds, left, failed; the
 * tree's state, the network's. */

enum { HEAD = 2 * 4 + 3 * 8 };

/* What a state depends on: shapes, bounds and the prior. The constants of Eq. 2 and 4 and the
 * learning rate may change from one start to the next. */
static uint32_t shape_crc(const struct tanbr_cfg *c)
{
    const struct tanbr_prior *p = &c->prior;
    const int shape[] = {c->experts, c->tasks, c->keep,    c->max_nodes, (int)c->split,
                         c->width,   c->depth, c->history, (int)c->cov};
    unsigned char bytes[sizeof shape];
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        bytes_put_u32(bytes + 4 * i, (uint32_t)shape[i]);
    uint32_t crc = bytes_crc32(0, bytes, sizeof bytes);
    return p->steps ? bytes_crc32(crc, p->value, prior_floats(c) * sizeof *p->value)
                    : crc;
}

size_t tanbr_state_size(const struct tanbr *t)
{
    struct tree_cfg tree = tree_part(&t->cfg);
    struct nucb_cfg nucb = nucb_part(&t->cfg);
    return HEAD + tree_state_size(&tree) + nucb_state_size(&nucb);
}

void tanbr_state_get(const struct tanbr *t, void *out)
{
    unsigned char *p = out;
    struct tree_cfg tree = tree_part(&t->cfg);
    bytes_put_u32(p + 4, shape_crc(&t->cfg));
    bytes_put_u64(p + 8, (uint64_t)t->rounds);
    bytes_put_u64(p + 16, (uint64_t)t->left);
    bytes_put_u64(p + 24, (uint64_t)t->failed);
    tree_state_get(t->tree, p + HEAD);
    nucb_state_get(t->nucb, p + HEAD + tree_state_size(&tree));
    bytes_put_u32(p, bytes_crc32(0, p + 4, tanbr_state_size(t) - 4));
}

int tanbr_state_put(struct tanbr *t, const void *in, size_t n, struct err *e)
{
    const unsigned char *p = in;
    struct tree_cfg tree = tree_part(&t->cfg);
    if (n >= HEAD && bytes_get_u32(p) == bytes_crc32(0, p + 4, n - 4) &&
        bytes_get_u32(p + 4) != shape_crc(&t->cfg))
        return err_set(e, ERR_CONFLICT,
                       "the bandit's state is of another configuration "
                       "(experts, tasks, tree, network or history)");
    if (n != tanbr_state_size(t) || bytes_get_u32(p) != bytes_crc32(0, p + 4, n - 4))
        return err_set(e, ERR_CORRUPT, "the bandit's state is damaged");

    t->known_n = 0;
    int rc = tree_state_put(t->tree, p + HEAD, e);
    if (!rc) rc = nucb_state_put(t->nucb, p + HEAD + tree_state_size(&tree), e);
    if (rc) return rc;
    t->rounds = (int64_t)bytes_get_u64(p + 8);
    t->left = (int64_t)bytes_get_u64(p + 16);
    t->failed = (int64_t)bytes_get_u64(p + 24);
    return 0;
}
