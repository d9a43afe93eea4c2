#include "lab/merge_sim.h"

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
                                                      "Tanbr, random sides",
                                                      "NUCB",
                                                      "uniform average",
                                                      "Fisher",
                                                      "RegMean",
                                                      "router, guessed tags",
                                                      "hint, guessed tags",
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
                              .mistaken = 0.3,
                              .bandit = tanbr_cfg_default(V, V),
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

static double dot(const double *a, const double *b)
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
        double worth = dot(mix, g->mean + (size_t)i * V);
        if (!(worth > best)) continue;
        best = worth;
        if (point) *point = i;
    }
    return best;
}

/* ---- one slot's viewers ---- */

struct viewer {
    int session, task;
    double guess; /* uniform: which profile a classifier takes this viewer for */
};

static struct viewer drawn(struct rng *r, const double *psi, int sessions)
{
    struct viewer w = {.session = (int)rng_below(r, (uint32_t)sessions), .task = V - 1};
    double u = rng_uniform(r);
    for (int v = 0; v < V - 1; u -= psi[v++])
        if (u < psi[v]) {
            w.task = v;
            break;
        }
    w.guess = rng_uniform(r);
    return w;
}

/* ---- how a method serves ---- */

struct serving {
    const struct merge_field *field;
    const struct merge_sim_cfg *cfg;
    struct tanbr *tanbr;
    struct nucb *nucb;
    struct rng rng;      /* of the method's own draws */
    int node;            /* of Tanbr's choice */
    float x[V];          /* weights of the slot's merged expert */
    struct merge_mix at; /* where the slot is served from, on its grid */
    const struct merge_grid *grid;
    const float *scores; /* a static policy's, else NULL */
};

static bool is_tree(enum merge_method m)
{
    return m == MERGE_TANBR || m == MERGE_TANBR_FULL || m == MERGE_TANBR_RANDOM;
}

static bool hindsight(enum merge_method m)
{
    return m == MERGE_BEST_SINGLE || m == MERGE_BEST_FIXED;
}

static bool guesses(enum merge_method m)
{
    return m == MERGE_ROUTER || m == MERGE_HINT_GUESSED;
}

/* The point of the grid of a profile alone. */
static struct merge_mix vertex(const struct merge_grid *g, int v)
{
    float x[V] = {0};
    x[v] = 1;
    return merge_grid_mix(g, x);
}

/* What would have been best for all slots together. */
static void look_ahead(struct serving *s)
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
    merge_grid_at(s->x, g, point);
    for (int k = 0; k < V && s->cfg->method == MERGE_BEST_SINGLE; k++) {
        struct merge_mix alone = vertex(g, k);
        merge_grid_mean(mean, g, &alone);
        if (!(dot(mix, mean) > best)) continue;
        best = dot(mix, mean);
        memset(s->x, 0, sizeof s->x);
        s->x[k] = 1;
    }
}

static const struct merge_grid *grid_of(const struct merge_field *f, enum merge_method m)
{
    if (m == MERGE_HINT_PLAIN) return f->plain;
    return m == MERGE_HINT_MEAN || m == MERGE_HINT_GUESSED ? f->hinted : f->merged;
}

static int open_method(struct serving *s, struct err *e)
{
    struct tanbr_cfg b = s->cfg->bandit;
    enum merge_method m = s->cfg->method;
    rng_init(&s->rng, s->cfg->seed, STREAM_OWN);
    s->grid = grid_of(s->field, m);
    if (hindsight(m)) look_ahead(s);
    s->scores = m == MERGE_FISHER    ? s->field->fisher
                : m == MERGE_REGMEAN ? s->field->regmean
                                     : NULL;
    if (m == MERGE_TANBR_FULL) b.cov = NUCB_FULL;
    if (m == MERGE_TANBR_RANDOM) b.split = TREE_RANDOM;
    if (is_tree(m)) {
        s->tanbr = tanbr_new(&b, s->cfg->seed, e);
        return s->tanbr ? 0 : e->code;
    }
    if (m != MERGE_NUCB) return 0;
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
    s->nucb = nucb_new(&n, s->cfg->seed, e);
    return s->nucb ? 0 : e->code;
}

static void close_method(struct serving *s)
{
    tanbr_free(s->tanbr);
    nucb_free(s->nucb);
}

static void choose_random(struct serving *s, const float *psi)
{
    float x[CANDIDATES][V];
    const float *at[CANDIDATES];
    struct nucb_score score[CANDIDATES];
    for (int i = 0; i < CANDIDATES; i++) {
        double sum = 0, e[V];
        for (int k = 0; k < V; k++)
            sum += e[k] = rng_exponential(&s->rng, 1);
        for (int k = 0; k < V; k++)
            x[i][k] = (float)(e[k] / sum);
        at[i] = x[i];
    }
    nucb_score(score, s->nucb, at, CANDIDATES, psi);
    int best = 0;
    for (int i = 1; i < CANDIDATES; i++)
        if (score[i].mean + score[i].width > score[best].mean + score[best].width)
            best = i;
    memcpy(s->x, x[best], sizeof s->x);
}

/* The slot's weights, or what the hinted policy is told. psi: the mix as it is known. */
static void choose(struct serving *s, const float *psi)
{
    if (s->tanbr)
        s->node = tanbr_choose(s->tanbr, s->x, NULL, psi);
    else if (s->nucb)
        choose_random(s, psi);
    else if (s->grid != s->field->merged)
        memcpy(s->x, psi, sizeof s->x);
    else if (!hindsight(s->cfg->method))
        for (int k = 0; k < V; k++)
            s->x[k] = 1.0f / V;
    s->at = merge_grid_mix(s->grid, s->x);
}

static int guessed(const struct serving *s, const struct viewer *w)
{
    double wrong = s->cfg->mistaken;
    if (w->guess >= wrong) return w->task;
    int other = (int)(w->guess / wrong * (V - 1));
    return other < w->task ? other : other + 1;
}

static double score_of(const struct serving *s, const struct viewer *w)
{
    if (s->scores) return (double)s->scores[w->session * V + w->task];
    struct merge_mix m = guesses(s->cfg->method) ? vertex(s->grid, guessed(s, w)) : s->at;
    return merge_grid_score(s->grid, &m, w->session, w->task);
}

/* Mean scores of each profile's viewers under the slot's choice, without noise. */
static void expect(double *out, const struct serving *s)
{
    if (s->scores) {
        merge_world_mean(out, s->field->world, s->scores);
    } else if (!guesses(s->cfg->method)) {
        merge_grid_mean(out, s->grid, &s->at);
    } else {
        double wrong = s->cfg->mistaken, r[V];
        memset(out, 0, V * sizeof *out);
        for (int g = 0; g < V; g++) {
            struct merge_mix m = vertex(s->grid, g);
            merge_grid_mean(r, s->grid, &m);
            for (int v = 0; v < V; v++)
                out[v] += r[v] * (g == v ? 1 - wrong : wrong / (V - 1));
        }
    }
}

static int learn(struct serving *s, const float *psi, const double *sum, const int *n)
{
    float reward[V] = {0}, trust[V] = {0};
    for (int v = 0; v < V; v++) {
        if (!n[v]) continue;
        reward[v] = (float)fmin(2, fmax(-1, sum[v] / n[v]));
        trust[v] = (float)V * (float)n[v] / (float)s->cfg->sessions;
    }
    if (s->tanbr) return tanbr_learn(s->tanbr, s->node, psi, reward, trust);
    if (s->nucb) return nucb_learn(s->nucb, s->x, psi, reward, trust);
    return 0;
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
    choose(s, known);
    expect(mean, s);
    out->expected[t] = dot(psi, mean);
    out->ideal[t] = merge_sim_best(NULL, s->field->merged, psi);

    struct rng r;
    rng_init(&r, c->seed, STREAM_VIEWERS + ((uint64_t)t + 1) * 16);
    for (int i = 0; i < c->sessions; i++) {
        struct viewer w = drawn(&r, psi, s->field->world->sessions);
        n[w.task]++;
        sum[w.task] += score_of(s, &w);
    }
    int rc = learn(s, known, sum, n), fifth = c->slots / 5;
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
    out->fixed_late = dot(out->mix_late, f->merged->mean + (size_t)point * V);
    if (s.tanbr && !rc) {
        struct tanbr_stats stats = tanbr_stats(s.tanbr);
        out->leaves = stats.tree.leaves;
        out->depth = stats.tree.depth;
        out->left = stats.left;
    }
    close_method(&s);
    return rc;
}
