#include "lab/merge/merge_sim.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    V = MERGE_TASKS,
    CANDIDATES = 20,
    STREAM_MIX = 1,
    STREAM_VIEWERS = 2,
    STREAM_OWN = 3
};
static const double PI = 3.14159265358979323846;

const char *const merge_method_says[MERGE_METHODS] = {"Tanbr",
                                                      "Tanbr, full Z",
                                                      "Tanbr, misleading prior",
                                                      "Tanbr, no prior",
                                                      "Tanbr, no prior, random sides",
                                                      "prior alone",
                                                      "NUCB",
                                                      "NUCB, Tanbr's prior",
                                                      "uniform average",
                                                      "Fisher",
                                                      "RegMean",
                                                      "router, guessed tags",
                                                      "hint, guessed tags",
                                                      "hint, posterior mean",
                                                      "mean hint",
                                                      "mean hint, plain",
                                                      "best single expert",
                                                      "best fixed weights"};

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

struct viewer {
    int session, task, content;
};

static struct viewer drawn(struct rng *r, const double *psi, int sessions)
{
    struct viewer who = {.session = (int)rng_below(r, (uint32_t)sessions), .task = V - 1};
    double u = rng_uniform(r);
    for (int v = 0; v < V - 1; u -= psi[v++])
        if (u < psi[v]) {
            who.task = v;
            break;
        }
    return who;
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

static bool is_tree(enum merge_method m)
{
    return m <= MERGE_PRIOR;
}

static bool is_bare(enum merge_method m)
{
    return m == MERGE_TANBR_BARE || m == MERGE_TANBR_RANDOM || m == MERGE_NUCB;
}

static bool hindsight(enum merge_method m)
{
    return m == MERGE_BEST_SINGLE || m == MERGE_BEST_FIXED;
}

static bool guesses(enum merge_method m)
{
    return m == MERGE_ROUTER || m == MERGE_HINT_GUESSED || m == MERGE_HINT_LIKELY;
}

/* The point of the grid of a profile alone. */
static struct lattice_mix vertex(const struct merge_grid *g, int v)
{
    float x[V] = {0};
    x[v] = 1;
    return lattice_mix(x, g->dim, g->steps);
}

/* What would have been best for all slots together. */
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
    if (m == MERGE_HINT_PLAIN) return f->plain;
    bool hinted =
        m == MERGE_HINT_MEAN || m == MERGE_HINT_GUESSED || m == MERGE_HINT_LIKELY;
    return hinted ? f->hinted : f->merged;
}

/* The bandit's settings as the method has them. */
static struct tanbr_cfg bandit_of(const struct serving *s)
{
    enum merge_method m = s->cfg->method;
    struct tanbr_cfg b = is_bare(m) ? tanbr_cfg_default(V, V) : s->cfg->bandit;
    if (!is_bare(m))
        b.prior = m == MERGE_TANBR_MISLED ? s->field->misled : s->field->prior;
    if (m == MERGE_TANBR_FULL) b.cov = NUCB_FULL;
    if (m == MERGE_TANBR_RANDOM) b.split = TREE_RANDOM;
    if (m == MERGE_PRIOR) {
        b.gamma = 0;
        b.steps = 0; /* the network stays 0, but for its base */
    }
    return b;
}

static int open_tree(struct serving *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s);
    s->tanbr = tanbr_new(&b, s->cfg->seed, e);
    if (s->tanbr && s->cfg->method == MERGE_TANBR_FULL) {
        b.cov = NUCB_DIAGONAL;
        s->twin = tanbr_new(&b, s->cfg->seed, e);
    }
    return s->tanbr && (s->twin || s->cfg->method != MERGE_TANBR_FULL) ? 0 : e->code;
}

static int open_nucb(struct serving *s, struct err *e)
{
    struct tanbr_cfg b = bandit_of(s);
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

static int open_guesses(struct serving *s, struct err *e)
{
    s->guess = merge_guess_new(s->field->obs, s->field->world->sessions, s->cfg->loyalty,
                               s->cfg->seed, e);
    return s->guess ? 0 : ERR_MEMORY;
}

static int open_method(struct serving *s, struct err *e)
{
    enum merge_method m = s->cfg->method;
    rng_init(&s->rng, s->cfg->seed, STREAM_OWN);
    s->grid = grid_of(s->field, m);
    if (hindsight(m)) merge_sim_look_ahead(s);
    s->scores = m == MERGE_FISHER    ? s->field->fisher
                : m == MERGE_REGMEAN ? s->field->regmean
                                     : NULL;
    if (is_tree(m)) return open_tree(s, e);
    if (guesses(m)) return open_guesses(s, e);
    return m == MERGE_NUCB || m == MERGE_NUCB_PRIOR ? open_nucb(s, e) : 0;
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

/* ---- guesses ---- */

/* Where a viewer is served from, and the likeliest profile. */
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

/* The slot's weights, or what the hinted policy is told. psi: the mix as it is known. */
static void merge_sim_choose(struct serving *s, const float *psi)
{
    if (s->tanbr)
        s->node = tanbr_choose(s->tanbr, s->x, NULL, psi);
    else if (s->nucb)
        choose_random(s, psi);
    else if (s->guess)
        merge_guess_begin(s->guess, psi);
    else if (s->grid != s->field->merged)
        memcpy(s->x, psi, sizeof s->x);
    else if (!hindsight(s->cfg->method))
        for (int k = 0; k < V; k++)
            s->x[k] = 1.0f / V;
    if (!s->guess) s->at = lattice_mix(s->x, V, s->grid->steps);
}

/* right: the guess of a viewer was right. */
static double score_of(const struct serving *s, const struct viewer *w, bool *right)
{
    if (s->scores) return (double)s->scores[w->session * V + w->task];
    struct lattice_mix m = s->at;
    int likely;
    if (s->guess) {
        m = served(&likely, s, w->session, w->content);
        *right = likely == w->task;
    }
    return merge_grid_score(s->grid, &m, w->session, w->task);
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

/* What the twin with the diagonal of Z would have done instead. */
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

static int merge_sim_learn(struct serving *s, const float *psi, const double *sum,
                           const int *n)
{
    float reward[V] = {0}, trust[V] = {0};
    for (int v = 0; v < V; v++) {
        if (!n[v]) continue;
        reward[v] = (float)fmin(2, fmax(-1, sum[v] / n[v]));
        trust[v] = (float)V * (float)n[v] / (float)s->cfg->sessions;
    }
    int rc = s->twin ? tanbr_learn(s->twin, s->node, psi, reward, trust) : 0;
    if (s->tanbr && !rc) rc = tanbr_learn(s->tanbr, s->node, psi, reward, trust);
    if (!s->nucb) return rc;
    float m[V];
    prior_at(m, &s->prior, s->x);
    for (int v = 0; v < V; v++)
        reward[v] -= m[v];
    return nucb_learn(s->nucb, s->x, psi, reward, trust);
}

/* ---- a run ---- */

static bool late(const struct merge_sim_cfg *c, int t)
{
    return t >= c->slots - c->slots / 5;
}

static int one_slot(struct merge_sim_run *out, struct serving *s, float *known,
                    const double *psi, int t)
{
    const struct merge_sim_cfg *c = s->cfg;
    double mean[V], sum[V] = {0};
    int n[V] = {0};
    merge_sim_choose(s, known);
    expect(mean, s);
    out->expected[t] = merge_sim_dot(psi, mean);
    out->ideal[t] = merge_sim_best(NULL, s->field->merged, psi);
    if (s->twin) compare_twin(out, s, known, psi);

    struct rng r;
    rng_init(&r, c->seed, STREAM_VIEWERS + ((uint64_t)t + 1) * 16);
    for (int i = 0; i < c->sessions; i++) {
        struct viewer w = drawn(&r, psi, s->field->world->sessions);
        bool right = false;
        n[w.task]++;
        if (s->guess) w.content = merge_guess_draw(s->guess, w.task, &s->rng);
        sum[w.task] += score_of(s, &w, &right);
        if (s->guess) merge_guess_learn(s->guess, w.session, w.content, w.task);
        out->accuracy += right && late(c, t);
    }
    int rc = merge_sim_learn(s, known, sum, n), fifth = c->slots / 5;
    for (int v = 0; v < V; v++) {
        double share = (double)n[v] / c->sessions;
        known[v] += (float)(c->forget * (share - (double)known[v]));
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
        out->left = stats.left;
    }
    out->accuracy /= s.guess ? (double)cfg->sessions * (cfg->slots / 5) : 0;
    if (!s.twin) out->equal = out->apart = out->lost = (double)NAN;
    close_method(&s);
    return rc;
}
