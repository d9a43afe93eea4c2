#include "lab/merge/merge_sim.h"

#include "base/rng.h"
#include "policy/identity.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    V = MERGE_TASKS,
    CANDIDATES = 20,
    STREAM_MIX = 1,
    STREAM_VIEWERS = 2,
    STREAM_OWN = 3,
    STREAM_NODES = 0x6e6f646573
};
static const double PI = 3.14159265358979323846;

/* ---- methods ---- */

static const struct method {
    const char *says;
    enum { BY_TREE, BY_NUCB, BY_GUESS, BY_HINDSIGHT, BY_HINT, BY_SCORES, BY_ALL } serves;
    enum { NO_PRIOR, OWN_PRIOR, OTHER_PRIOR } prior; /* of a bandit */
    enum { ON_MERGED, ON_HINTED, ON_PLAIN } grid;
} METHOD[MERGE_METHODS] = {
    [MERGE_TANBR] = {"Tanbr", BY_TREE, OWN_PRIOR, ON_MERGED},
    [MERGE_TANBR_FULL] = {"Tanbr, full Z", BY_TREE, OWN_PRIOR, ON_MERGED},
    [MERGE_TANBR_MISLED] = {"Tanbr, misleading prior", BY_TREE, OTHER_PRIOR, ON_MERGED},
    [MERGE_TANBR_BARE] = {"Tanbr, no prior", BY_TREE, NO_PRIOR, ON_MERGED},
    [MERGE_TANBR_RANDOM] = {"Tanbr, no prior, random sides", BY_TREE, NO_PRIOR,
                            ON_MERGED},
    [MERGE_PRIOR] = {"prior alone", BY_TREE, OWN_PRIOR, ON_MERGED},
    [MERGE_NUCB] = {"NUCB", BY_NUCB, NO_PRIOR, ON_MERGED},
    [MERGE_NUCB_PRIOR] = {"NUCB, Tanbr's prior", BY_NUCB, OWN_PRIOR, ON_MERGED},
    [MERGE_UNIFORM] = {"uniform average", BY_ALL, NO_PRIOR, ON_MERGED},
    [MERGE_FISHER] = {"Fisher", BY_SCORES, NO_PRIOR, ON_MERGED},
    [MERGE_REGMEAN] = {"RegMean", BY_SCORES, NO_PRIOR, ON_MERGED},
    [MERGE_ROUTER] = {"router, guessed tags", BY_GUESS, NO_PRIOR, ON_MERGED},
    [MERGE_HINT_GUESSED] = {"hint, guessed tags", BY_GUESS, NO_PRIOR, ON_HINTED},
    [MERGE_HINT_LIKELY] = {"hint, posterior mean", BY_GUESS, NO_PRIOR, ON_HINTED},
    [MERGE_HINT_MEAN] = {"mean hint", BY_HINT, NO_PRIOR, ON_HINTED},
    [MERGE_HINT_PLAIN] = {"mean hint, plain", BY_HINT, NO_PRIOR, ON_PLAIN},
    [MERGE_BEST_SINGLE] = {"best single expert", BY_HINDSIGHT, NO_PRIOR, ON_MERGED},
    [MERGE_BEST_FIXED] = {"best fixed weights", BY_HINDSIGHT, NO_PRIOR, ON_MERGED},
};

const char *merge_method_word(enum merge_method m)
{
    return METHOD[m].says;
}

struct merge_sim_cfg merge_sim_cfg_default(void)
{
    struct merge_sim_cfg c = {.slots = 500,
                              .sessions = 60,
                              .day = 288,
                              .forget = 0.2,
                              .loyalty = 0.8,
                              .bandit = tanbr_cfg_informed(V, V),
                              .seed = 1};
    return c;
}

/* ---- the true mix ---- */

void merge_mixer_init(struct merge_mixer *m, const struct merge_sim_cfg *cfg)
{
    *m = (struct merge_mixer){.cfg = cfg};
    rng_init(&m->rng, cfg->seed, STREAM_MIX);
    double sum = 0;
    for (int v = 0; v < V; v++) {
        m->base[v] =
            cfg->drift ? rng_range(&m->rng, 1, 2.5) : rng_exponential(&m->rng, 1);
        m->phase[v] = rng_range(&m->rng, 0, 2 * PI);
        sum += m->base[v];
    }
    for (int v = 0; v < V && !cfg->drift; v++)
        m->base[v] /= sum;
}

void merge_mixer_next(double *psi, struct merge_mixer *m)
{
    memcpy(psi, m->base, sizeof m->base);
    int t = m->slot++;
    if (!m->cfg->drift) return;
    static const double KEEP = 0.98, DEVIATION = 0.3;
    double sum = 0;
    for (int v = 0; v < V; v++) {
        double fresh = DEVIATION * rng_normal(&m->rng);
        m->noise[v] = t ? KEEP * m->noise[v] + sqrt(1 - KEEP * KEEP) * fresh : fresh;
        double angle = 2 * PI * t / m->cfg->day + m->phase[v];
        sum += psi[v] = exp(m->base[v] * cos(angle) + m->noise[v]);
    }
    for (int v = 0; v < V; v++)
        psi[v] /= sum;
}

static double merge_sim_dot(const double *a, const double *b)
{
    double s = 0;
    for (int v = 0; v < V; v++)
        s += a[v] * b[v];
    return s;
}

double merge_sim_best(int *point, const struct merge_grid *g, const double *mix)
{
    double best = -INFINITY;
    for (int i = 0; i < g->points; i++) {
        double worth = merge_sim_dot(mix, g->mean + (size_t)i * V);
        if (!(worth > best)) continue;
        best = worth;
        if (point) *point = i;
    }
    return best;
}

/* ---- one slot's viewers ---- */

/* The profile of a viewer of the mix. */
static int task_drawn(struct rng *r, const double *psi)
{
    double u = rng_uniform(r);
    for (int v = 0; v < V - 1; u -= psi[v++])
        if (u < psi[v]) return v;
    return V - 1;
}

/* What a slot's viewers scored: sums and viewers per profile. */
struct slot {
    double sum[V];
    int n[V];
};

static void slot_rewards(float *reward, float *trust, const struct slot *s, int sessions)
{
    for (int v = 0; v < V; v++) {
        reward[v] = s->n[v] ? (float)fmin(2, fmax(-1, s->sum[v] / s->n[v])) : 0;
        trust[v] = (float)V * (float)s->n[v] / (float)sessions;
    }
}

/* The moving average of the mix takes in a slot's viewers. */
static void mix_update(float *known, const int *n, const struct merge_sim_cfg *c)
{
    for (int v = 0; v < V; v++) {
        double share = (double)n[v] / c->sessions;
        known[v] += (float)(c->forget * (share - (double)known[v]));
    }
}

/* ---- guesses of a viewer's profile ---- */

enum { C = MERGE_CONTENTS };
static const double PRIOR = 2, LEAST = 1e-6;
_Static_assert(C % V == 0, "as many own contents for every profile");

struct merge_guess {
    const float *obs;
    int sessions;
    double loyalty;
    struct identity *head;
    double seen[C][V];
    double of[C][V];    /* p(v | c) in this slot */
    double (*tells)[V]; /* (sessions): factors by x */
    bool sees;
};

struct merge_guess *merge_guess_new(const float *obs, int sessions, double loyalty,
                                    uint64_t seed, struct err *e)
{
    struct identity_cfg c = identity_cfg_default(FEAT_FULL_DIM, V);
    c.seed = seed;
    struct merge_guess *g = calloc(1, sizeof *g);
    if (g) {
        g->obs = obs;
        g->sessions = sessions;
        g->loyalty = loyalty;
        g->head = identity_new(&c, e);
        g->tells = calloc((size_t)sessions, sizeof *g->tells);
    }
    if (g && g->head && g->tells) return g;
    merge_guess_free(g);
    err_set(e, ERR_MEMORY, "no memory for guesses of %d sessions", sessions);
    return NULL;
}

void merge_guess_free(struct merge_guess *g)
{
    if (!g) return;
    identity_free(g->head);
    free(g->tells);
    free(g);
}

int merge_guess_draw(const struct merge_guess *g, int task, struct rng *r)
{
    bool own = rng_uniform(r) < g->loyalty;
    return own ? task + V * (int)rng_below(r, C / V) : (int)rng_below(r, C);
}

double merge_guess_share(const struct merge_guess *g, int task, int content)
{
    double own = content % V == task ? g->loyalty / (C / V) : 0;
    return own + (1 - g->loyalty) / C;
}

void merge_guess_begin(struct merge_guess *g, const float *psi)
{
    double even[V], mix[V], sum = 0;
    for (int v = 0; v < V; v++) {
        even[v] = 1.0 / V;
        sum += mix[v] = fmax((double)psi[v], LEAST);
    }
    for (int c = 0; c < C; c++) {
        double seen = 0;
        for (int v = 0; v < V; v++)
            seen += g->seen[c][v];
        for (int v = 0; v < V; v++)
            g->of[c][v] = (g->seen[c][v] + PRIOR * mix[v] / sum) / (seen + PRIOR);
    }
    g->sees = identity_skill(g->head) > 0;
    for (int s = 0; s < g->sessions && g->sees; s++)
        identity_posterior(g->tells[s], g->head, g->obs + (size_t)s * FEAT_FULL_DIM,
                           even);
}

bool merge_guess_sees(const struct merge_guess *g)
{
    return g->sees;
}

int merge_guess_who(double *q, const struct merge_guess *g, int session, int content)
{
    int best = 0;
    double sum = 0;
    for (int v = 0; v < V; v++) {
        sum += q[v] = g->of[content][v] * (g->sees ? g->tells[session][v] : 1);
        if (q[v] > q[best]) best = v;
    }
    for (int v = 0; v < V; v++)
        q[v] /= sum;
    return best;
}

void merge_guess_learn(struct merge_guess *g, int session, int content, int task)
{
    g->seen[content][task]++;
    (void)!identity_learn(g->head, g->obs + (size_t)session * FEAT_FULL_DIM, task,
                          NULL); /* observations are finite */
}

/* ---- how a method serves ---- */

struct serving {
    const struct merge_field *field;
    const struct merge_sim_cfg *cfg;
    struct tanbr *tanbr, *twin;
    struct nucb *nucb;
    struct tanbr_prior prior; /* of nucb */
    struct merge_guess *guess;
    struct rng rng;        /* of the method's own draws */
    int node;              /* of Tanbr's choice */
    float x[V];            /* weights of the slot's merged expert */
    struct lattice_mix at; /* where the slot is served from, on its grid */
    const struct merge_grid *grid;
    const float *scores; /* a static policy's, else NULL */
};

/* The point of the grid of a profile alone. */
static struct lattice_mix vertex(const struct merge_grid *g, int v)
{
    float x[V] = {0};
    x[v] = 1;
    return lattice_mix(x, g->dim, g->steps);
}

/* The best choice for all slots together. */
static void merge_sim_look_ahead(struct serving *s)
{
    const struct merge_grid *g = s->field->merged;
    double mix[V] = {0}, psi[V], mean[V], best = -INFINITY;
    struct merge_mixer m;
    merge_mixer_init(&m, s->cfg);
    for (int t = 0; t < s->cfg->slots; t++) {
        merge_mixer_next(psi, &m);
        for (int v = 0; v < V; v++)
            mix[v] += psi[v] / s->cfg->slots;
    }
    int point = 0;
    merge_sim_best(&point, g, mix);
    lattice_at(s->x, g->dim, g->steps, point);
    for (int k = 0; k < V && s->cfg->method == MERGE_BEST_SINGLE; k++) {
        struct lattice_mix alone = vertex(g, k);
        merge_grid_mean(mean, g, &alone);
        if (!(merge_sim_dot(mix, mean) > best)) continue;
        best = merge_sim_dot(mix, mean);
        memset(s->x, 0, sizeof s->x);
        s->x[k] = 1;
    }
}

static const struct merge_grid *grid_of(const struct merge_field *f, enum merge_method m)
{
    return METHOD[m].grid == ON_PLAIN    ? f->plain
           : METHOD[m].grid == ON_HINTED ? f->hinted
                                         : f->merged;
}

/* The bandit's settings for the method. */
static struct tanbr_cfg bandit_of(const struct merge_sim_cfg *c,
                                  const struct merge_field *f)
{
    bool bare = METHOD[c->method].prior == NO_PRIOR;
    struct tanbr_cfg b = bare ? tanbr_cfg_default(V, V) : c->bandit;
    if (!bare) b.prior = METHOD[c->method].prior == OTHER_PRIOR ? f->misled : f->prior;
    if (c->method == MERGE_TANBR_FULL) b.cov = NUCB_FULL;
    if (c->method == MERGE_TANBR_RANDOM) b.split = TREE_RANDOM;
    if (c->method == MERGE_PRIOR) {
        b.gamma = 0;
        b.steps = 0; /* the network stays 0, but for its base */
    }
    return b;
}

static int open_tree(struct serving *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s->cfg, s->field);
    s->tanbr = tanbr_new(&b, s->cfg->seed, e);
    if (s->tanbr && s->cfg->method == MERGE_TANBR_FULL) {
        b.cov = NUCB_DIAGONAL;
        s->twin = tanbr_new(&b, s->cfg->seed, e);
    }
    return s->tanbr && (s->twin || s->cfg->method != MERGE_TANBR_FULL) ? 0 : e->code;
}

static int open_nucb(struct serving *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s->cfg, s->field);
    struct nucb_cfg n = {.dim = V,
                         .tasks = V,
                         .width = b.width,
                         .depth = b.depth,
                         .history = b.history,
                         .steps = b.steps,
                         .batch = b.batch,
                         .lambda = b.lambda,
                         .gamma = b.gamma,
                         .eta = b.eta,
                         .cov = b.cov};
    s->prior = b.prior;
    s->nucb = nucb_new(&n, s->cfg->seed, e);
    return s->nucb ? 0 : e->code;
}

static int open_method(struct serving *s, struct err *e)
{
    enum merge_method m = s->cfg->method;
    rng_init(&s->rng, s->cfg->seed, STREAM_OWN);
    s->grid = grid_of(s->field, m);
    if (METHOD[m].serves == BY_HINDSIGHT) merge_sim_look_ahead(s);
    s->scores = m == MERGE_FISHER    ? s->field->fisher
                : m == MERGE_REGMEAN ? s->field->regmean
                                     : NULL;
    switch (METHOD[m].serves) {
    case BY_TREE:
        return open_tree(s, e);
    case BY_NUCB:
        return open_nucb(s, e);
    case BY_GUESS:
        s->guess = merge_guess_new(s->field->obs, s->field->world->sessions,
                                   s->cfg->loyalty, s->cfg->seed, e);
        return s->guess ? 0 : ERR_MEMORY;
    default:
        return 0;
    }
}

static void close_method(struct serving *s)
{
    tanbr_free(s->tanbr);
    tanbr_free(s->twin);
    nucb_free(s->nucb);
    merge_guess_free(s->guess);
}

/* ---- NUCB: random candidates ---- */

/* m(x) of a prior, 0 without one: out (V). */
static void prior_at(float *out, const struct tanbr_prior *p, const float *x)
{
    memset(out, 0, V * sizeof *out);
    if (!p->steps) return;
    struct lattice_mix m = lattice_mix(x, V, p->steps);
    for (int i = 0; i < m.n; i++)
        for (int v = 0; v < V; v++)
            out[v] += (float)m.share[i] * p->value[m.point[i] * V + v];
}

static void draw_weights(float *x, struct rng *r)
{
    double sum = 0, e[V];
    for (int k = 0; k < V; k++)
        sum += e[k] = rng_exponential(r, 1);
    for (int k = 0; k < V; k++)
        x[k] = (float)(e[k] / sum);
}

static void choose_random(struct serving *s, const float *psi)
{
    float x[CANDIDATES][V], m[V];
    const float *at[CANDIDATES];
    struct nucb_score score[CANDIDATES];
    for (int i = 0; i < CANDIDATES; i++) {
        draw_weights(x[i], &s->rng);
        at[i] = x[i];
    }
    nucb_score(score, s->nucb, at, CANDIDATES, psi);
    double highest = -INFINITY;
    for (int i = 0; i < CANDIDATES; i++) {
        double upper = score[i].mean + score[i].width;
        prior_at(m, &s->prior, x[i]);
        for (int v = 0; v < V; v++)
            upper += (double)psi[v] * (double)m[v];
        if (!(upper > highest)) continue;
        highest = upper;
        memcpy(s->x, x[i], sizeof s->x);
    }
}

/* ---- serving by guesses ---- */

/* The point of the grid that serves a viewer, and the likeliest profile. */
static struct lattice_mix served(int *likely, const struct serving *s, int session,
                                 int content)
{
    double q[V];
    float to[V] = {0};
    int best = merge_guess_who(q, s->guess, session, content);
    if (s->cfg->method == MERGE_HINT_LIKELY)
        for (int v = 0; v < V; v++)
            to[v] = (float)q[v];
    else
        to[best] = 1;
    if (likely) *likely = best;
    return lattice_mix(to, V, s->grid->steps);
}

/* Mean scores when every session and content is served by its guess. */
static void expect_guesses(double *out, const struct serving *s)
{
    int sessions = s->field->world->sessions;
    bool sees = merge_guess_sees(s->guess);
    double mean[V];
    memset(out, 0, V * sizeof *out);
    for (int c = 0; c < MERGE_CONTENTS; c++)
        for (int i = 0; i < (sees ? sessions : 1); i++) {
            struct lattice_mix m = served(NULL, s, i, c);
            if (!sees) merge_grid_mean(mean, s->grid, &m);
            for (int v = 0; v < V; v++) {
                double one =
                    sees ? merge_grid_score(s->grid, &m, i, v) / sessions : mean[v];
                out[v] += merge_guess_share(s->guess, v, c) * one;
            }
        }
}

/* ---- a choice and what it is worth ---- */

/* The slot's weights, or the hinted policy's hint. psi: the known mix. */
static void merge_sim_choose(struct serving *s, const float *psi)
{
    if (s->tanbr)
        s->node = tanbr_choose(s->tanbr, s->x, NULL, psi);
    else if (s->nucb)
        choose_random(s, psi);
    else if (s->guess)
        merge_guess_begin(s->guess, psi);
    else if (METHOD[s->cfg->method].serves == BY_HINT)
        memcpy(s->x, psi, sizeof s->x);
    else if (METHOD[s->cfg->method].serves != BY_HINDSIGHT)
        for (int k = 0; k < V; k++)
            s->x[k] = 1.0f / V;
    if (!s->guess) s->at = lattice_mix(s->x, V, s->grid->steps);
}

/* right: the guess of a viewer was right. */
static double score_of(const struct serving *s, int session, int task, int content,
                       bool *right)
{
    if (s->scores) return (double)s->scores[session * V + task];
    struct lattice_mix m = s->at;
    int likely;
    if (s->guess) {
        m = served(&likely, s, session, content);
        *right = likely == task;
    }
    return merge_grid_score(s->grid, &m, session, task);
}

/* Mean scores of each profile's viewers under the slot's choice, without noise. */
static void expect(double *out, const struct serving *s)
{
    if (s->scores)
        merge_world_mean(out, s->field->world, s->scores);
    else if (s->guess)
        expect_guesses(out, s);
    else
        merge_grid_mean(out, s->grid, &s->at);
}

/* The choice of the twin with the diagonal of Z. */
static void compare_twin(struct merge_sim_run *out, const struct serving *s,
                         const float *known, const double *psi)
{
    float x[V];
    double mean[V], worth[V], apart = 0;
    int slots = s->cfg->slots, node = tanbr_choose(s->twin, x, NULL, known);
    struct lattice_mix m = lattice_mix(x, V, s->grid->steps);
    merge_grid_mean(mean, s->grid, &m);
    merge_grid_mean(worth, s->grid, &s->at);
    for (int k = 0; k < V; k++)
        apart += fabs((double)(x[k] - s->x[k])) / 2;
    out->equal += (double)(node == s->node) / slots;
    out->apart += apart / slots;
    out->lost += (merge_sim_dot(psi, worth) - merge_sim_dot(psi, mean)) / slots;
}

static int merge_sim_learn(struct serving *s, const float *psi, const struct slot *slot)
{
    float reward[V], trust[V];
    slot_rewards(reward, trust, slot, s->cfg->sessions);
    int rc = s->twin ? tanbr_learn(s->twin, s->node, psi, reward, trust) : 0;
    if (s->tanbr && !rc) rc = tanbr_learn(s->tanbr, s->node, psi, reward, trust);
    if (!s->nucb) return rc;
    float m[V];
    prior_at(m, &s->prior, s->x);
    for (int v = 0; v < V; v++)
        reward[v] -= m[v];
    return nucb_learn(s->nucb, s->x, psi, reward, trust);
}

/* ---- a run on one node ---- */

static bool late(const struct merge_sim_cfg *c, int t)
{
    return t >= c->slots - c->slots / 5;
}

static int one_slot(struct merge_sim_run *out, struct serving *s, float *known,
                    const double *psi, int t)
{
    const struct merge_sim_cfg *c = s->cfg;
    double mean[V];
    struct slot slot = {0};
    merge_sim_choose(s, known);
    expect(mean, s);
    out->expected[t] = merge_sim_dot(psi, mean);
    out->ideal[t] = merge_sim_best(NULL, s->field->merged, psi);
    if (s->twin) compare_twin(out, s, known, psi);

    struct rng r;
    rng_init(&r, c->seed, STREAM_VIEWERS + ((uint64_t)t + 1) * 16);
    for (int i = 0; i < c->sessions; i++) {
        int session = (int)rng_below(&r, (uint32_t)s->field->world->sessions);
        int task = task_drawn(&r, psi), content = 0;
        bool right = false;
        slot.n[task]++;
        if (s->guess) content = merge_guess_draw(s->guess, task, &s->rng);
        slot.sum[task] += score_of(s, session, task, content, &right);
        if (s->guess) merge_guess_learn(s->guess, session, content, task);
        out->accuracy += right && late(c, t);
    }
    int rc = merge_sim_learn(s, known, &slot), fifth = c->slots / 5;
    mix_update(known, slot.n, c);
    for (int v = 0; v < V; v++) {
        out->mix[v] += psi[v] / c->slots;
        if (!late(c, t)) continue;
        out->x[v] += (double)s->x[v] / fifth;
        out->mix_late[v] += psi[v] / fifth;
    }
    return rc;
}

int merge_sim_run(struct merge_sim_run *out, const struct merge_field *f,
                  const struct merge_sim_cfg *cfg, struct err *e)
{
    struct serving s = {.field = f, .cfg = cfg};
    memset(out->mix, 0, sizeof out->mix);
    memset(out->x, 0, sizeof out->x);
    memset(out->mix_late, 0, sizeof out->mix_late);
    out->equal = out->apart = out->lost = out->accuracy = 0;
    int rc = open_method(&s, e);
    struct merge_mixer mixer;
    merge_mixer_init(&mixer, cfg);
    float known[V] = {1.0f / V, 1.0f / V, 1.0f / V, 1.0f / V};
    for (int t = 0; t < cfg->slots && !rc; t++) {
        double psi[V];
        merge_mixer_next(psi, &mixer);
        rc = one_slot(out, &s, known, psi, t);
        if (rc) err_set(e, rc, "slot %d: a reward or an update is not finite", t);
    }
    int point = 0;
    merge_sim_best(&point, f->merged, out->mix);
    out->fixed_late = merge_sim_dot(out->mix_late, f->merged->mean + (size_t)point * V);
    if (s.tanbr && !rc) {
        struct tanbr_stats stats = tanbr_stats(s.tanbr);
        out->leaves = stats.tree.leaves;
        out->depth = stats.tree.depth;
    }
    out->accuracy /= s.guess ? (double)cfg->sessions * (cfg->slots / 5) : 0;
    if (!s.twin) out->equal = out->apart = out->lost = (double)NAN;
    close_method(&s);
    return rc;
}

/* ---- a run on several nodes ---- */

const char *const merge_nodes_says[MERGE_NODES_HOWS] = {
    "one node, all viewers", "nodes that share", "nodes apart"};

/* What a bandit learns of a slot. */
struct lesson {
    float x[V], psi[V], reward[V], trust[V];
};

struct node {
    struct tanbr *bandit;
    int at; /* the bandit's choice */
    struct lesson now, before;
    struct slot slot;
};

struct nodes {
    const struct merge_field *field;
    const struct merge_sim_cfg *cfg;
    int n;
    float known[V]; /* of the mix */
    struct node node[MERGE_NODES_MAX];
};

static int open_nodes(struct nodes *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s->cfg, s->field);
    for (int i = 0; i < s->n; i++) {
        s->node[i].bandit = tanbr_new(&b, s->cfg->seed, e);
        if (!s->node[i].bandit) return e->code;
    }
    for (int v = 0; v < V; v++)
        s->known[v] = 1.0f / V;
    return 0;
}

/* What the weights are worth for the true mix. */
static double nodes_choose(struct lattice_mix *at, struct node *n, const struct nodes *s,
                           const double *psi)
{
    const struct merge_grid *g = s->field->merged;
    double mean[V];
    memcpy(n->now.psi, s->known, sizeof s->known);
    n->at = tanbr_choose(n->bandit, n->now.x, NULL, s->known);
    *at = lattice_mix(n->now.x, V, g->steps);
    merge_grid_mean(mean, g, at);
    return merge_sim_dot(psi, mean);
}

static void nodes_serve(struct nodes *s, const struct lattice_mix *at, const double *psi,
                        int t)
{
    struct rng r;
    rng_init(&r, s->cfg->seed, STREAM_NODES + (uint64_t)t);
    for (int i = 0; i < s->cfg->sessions; i++) {
        struct slot *slot = &s->node[i % s->n].slot;
        int session = (int)rng_below(&r, (uint32_t)s->field->world->sessions);
        int task = task_drawn(&r, psi);
        slot->n[task]++;
        slot->sum[task] +=
            merge_grid_score(s->field->merged, &at[i % s->n], session, task);
    }
}

static int nodes_learn(struct nodes *s, bool shares)
{
    int rc = 0, all[V] = {0};
    for (int i = 0; i < s->n && !rc; i++) {
        struct node *n = &s->node[i];
        for (int v = 0; v < V; v++)
            all[v] += n->slot.n[v];
        slot_rewards(n->now.reward, n->now.trust, &n->slot, s->cfg->sessions);
        memset(&n->slot, 0, sizeof n->slot);
        rc = tanbr_learn(n->bandit, n->at, n->now.psi, n->now.reward, n->now.trust);
    }
    /* what the other nodes learned one slot earlier */
    for (int i = 0; i < s->n && shares; i++)
        for (int j = 0; j < s->n && !rc; j++) {
            const struct lesson *o = &s->node[j].before;
            if (j != i)
                rc = tanbr_learn_at(s->node[i].bandit, o->x, o->psi, o->reward, o->trust);
        }
    for (int i = 0; i < s->n; i++)
        s->node[i].before = s->node[i].now;
    mix_update(s->known, all, s->cfg);
    return rc;
}

int merge_nodes_run(double *regret, const struct merge_field *f,
                    const struct merge_sim_cfg *cfg, int nodes, enum merge_nodes_how how,
                    struct err *e)
{
    assert(nodes >= 1 && nodes <= MERGE_NODES_MAX);
    struct err mine = {0};
    if (!e) e = &mine;
    struct nodes s = {.field = f, .cfg = cfg, .n = how == MERGE_NODES_ONE ? 1 : nodes};
    struct merge_mixer mixer;
    merge_mixer_init(&mixer, cfg);
    int rc = open_nodes(&s, e);
    *regret = 0;
    for (int t = 0; t < cfg->slots && !rc; t++) {
        struct lattice_mix at[MERGE_NODES_MAX];
        double psi[V];
        merge_mixer_next(psi, &mixer);
        *regret += merge_sim_best(NULL, f->merged, psi);
        for (int i = 0; i < s.n; i++)
            *regret -= nodes_choose(&at[i], &s.node[i], &s, psi) / s.n;
        nodes_serve(&s, at, psi, t);
        rc = nodes_learn(&s, how == MERGE_NODES_SHARED && t > 0);
        if (rc) err_set(e, rc, "slot %d: a reward or an update is not finite", t);
    }
    for (int i = 0; i < s.n; i++)
        tanbr_free(s.node[i].bandit);
    return rc;
}
