/* The lab `merge`: loads policies and links, plays the grids, runs every method and hands what it
 * found to merge_report.c. */
#include "lab/merge/merge.h"

#include "abr/manifests/video.h"
#include "base/pool.h"
#include "lab/merge/merge_static.h"
#include "merge_priv.h"
#include "learn/ckpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = MERGE_TASKS, STATES = 600, PROBES = 40 };

/* The links that the prior is made on. The defaults were chosen on other links (seeds 9100 and 9200)
 * with a prior from these. Neither are the bundled ones (seed 1), which the lab reports on. */
static const uint64_t TUNING_SEED = 9001;
static const double TUNING_S = 320;
static const char MISLEADING[] = "high-4g";

const double merge_rho[MERGE_RHOS] = {.3, .5, .7, .9};
const double merge_eta[MERGE_ETAS] = {1e-4, 1e-3, 1e-2, 1e-1};
const int merge_experts[MERGE_SIZES] = {4, 8, 16, 32, 64, 128, 192};
const int merge_bound_rounds[MERGE_BOUND_ROUNDS] = {50, 500, 3000};
const enum merge_method merge_start[MERGE_STARTS] = {MERGE_TANBR, MERGE_TANBR_MISLED,
                                                     MERGE_TANBR_BARE};

/* What is loaded until the grids are known. */
struct loaded {
    struct corpus *corpus;
    struct video *video;
    struct policy *joined, *hinted;
};

/* ---- loading ---- */

/* The option's path, or that of the file which comes with the program. */
static int path_of(char path[LAB_PATH], const struct lab_task *t, const char *option,
                   const char *rel, struct err *e)
{
    const char *given = lab_text(t, option);
    if (!*given) return lab_find(t, path, rel, e);
    snprintf(path, LAB_PATH, "%s", given);
    return 0;
}

static int load_policy(struct policy **out, const struct lab_task *t, const char *option,
                       const char *rel, struct ckpt_meta *m, struct err *e)
{
    char path[LAB_PATH];
    int rc = path_of(path, t, option, rel, e);
    if (rc) return rc;
    *out = ckpt_load(path, m, NULL, NULL, e);
    return *out ? 0 : e->code;
}

/* One expert per profile, in the profiles' order. Older files have the names without "paper-". */
static bool names_papers(const char *names)
{
    char now[128] = "", before[128] = "";
    for (int v = 0; v < V; v++) {
        const char *name = qoe_papers[v].name, *comma = v ? "," : "";
        const char *bare = strncmp(name, "paper-", 6) ? name : name + 6;
        size_t used = strlen(now), used_before = strlen(before);
        snprintf(now + used, sizeof now - used, "%s%s", comma, name);
        snprintf(before + used_before, sizeof before - used_before, "%s%s", comma, bare);
    }
    return !strcmp(names, now) || !strcmp(names, before);
}

/* The experts must be those of the papers' profiles and see no viewer. */
static int check_joined(const struct policy *p, const struct ckpt_meta *m, struct err *e)
{
    const char *for_whom = ckpt_meta_get(m, "experts_for");
    const char *layout = ckpt_meta_get(m, "layout");
    if (!for_whom || !names_papers(for_whom))
        return err_field(
            e, ERR_INVALID, "--policy",
            "has experts for %s, not for the papers' profiles in their order",
            for_whom ? for_whom : "nobody");
    if (!layout || strcmp(layout, "blind") != 0 || p->cfg.obs_dim != FEAT_FULL_DIM)
        return err_field(e, ERR_INVALID, "--policy", "observes layout %s, not blind",
                         layout ? layout : "unknown");
    return 0;
}

static int load_traces(struct loaded *l, const struct lab_task *t, struct err *e)
{
    char path[LAB_PATH];
    int rc = path_of(path, t, "traces", "traces", e);
    if (rc) return rc;
    l->corpus = corpus_load(path, CORPUS_ALL, e);
    l->video = l->corpus ? video_default(e) : NULL;
    return l->video ? 0 : e->code;
}

static int merge_load(struct loaded *l, const struct lab_task *t, struct err *e)
{
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, ERR_MEMORY, "no memory for metadata");
    int rc =
        load_policy(&l->joined, t, "policy", "deploy/policy/merge.safetensors", m, e);
    if (!rc) rc = check_joined(l->joined, m, e);
    if (!rc)
        rc = load_policy(&l->hinted, t, "hinted", "deploy/policy/papers.safetensors", m,
                         e);
    if (!rc && l->hinted->cfg.obs_dim != FEAT_FULL_DIM)
        rc = err_field(e, ERR_INVALID, "--hinted", "does not observe layout full");
    free(m);
    return rc ? rc : load_traces(l, t, e);
}

static void unload(struct loaded *l)
{
    policy_free(l->joined);
    policy_free(l->hinted);
    video_free(l->video);
    corpus_free(l->corpus);
}

/* The first n traces, spread over the folder. */
static void thin(struct corpus *c, int n)
{
    if (n >= c->n) return;
    for (int i = 0; i < c->n; i++) {
        int to = (int)((int64_t)i * n / c->n);
        bool first = i == 0 || to != (int)((int64_t)(i - 1) * n / c->n);
        struct trace *t = c->traces[i];
        if (!first)
            trace_free(t);
        else
            c->traces[to] = t;
    }
    c->n = n;
}

/* ---- the grids ---- */

/* A policy of the merged shape, and its packed form. */
struct merged {
    struct policy *policy;
    struct packed *packed;
};

static int merged_open(struct merged *m, const struct policy *joined, struct err *e)
{
    struct policy_cfg c = join_merged_cfg(&joined->cfg);
    m->policy = policy_new(&c, e);
    m->packed = m->policy ? packed_new(&c, e) : NULL;
    return m->packed ? 0 : ERR_MEMORY;
}

/* Becomes the experts merged with weights x. */
static int merged_at(struct merged *m, const struct policy *joined, const float *x)
{
    int rc = join_merge(m->policy, joined, x);
    if (!rc) packed_load(m->packed, m->policy);
    return rc;
}

static void merged_close(struct merged *m)
{
    packed_free(m->packed);
    policy_free(m->policy);
}

struct filling {
    struct merge_grid *grid;
    const struct merge_world *world;
    const struct policy *policy;
    enum { MERGED, HINTED, PLAIN } kind;
};

/* The mean of the profiles' weights, of the sum that pensieve's have. */
static struct qoe mean_hint(const float *psi, const double *by)
{
    struct qoe h = {.utility = QOE_LINEAR};
    const struct qoe *usual = &qoe_find("pensieve")->qoe;
    for (int v = 0; v < V; v++) {
        const struct qoe *q = &qoe_papers[v].qoe;
        double w = (double)psi[v] * by[v];
        h.mu_quality += w * q->mu_quality;
        h.mu_switch += w * q->mu_switch;
        h.mu_stall += w * q->mu_stall;
    }
    double scale = (usual->mu_quality + usual->mu_switch + usual->mu_stall) /
                   (h.mu_quality + h.mu_switch + h.mu_stall);
    h.mu_quality *= scale;
    h.mu_switch *= scale;
    h.mu_stall *= scale;
    return h;
}

static int play_merged(float *scores, const struct merge_world *w,
                       const struct policy *joined, const float *x)
{
    struct merged m = {0};
    int rc = merged_open(&m, joined, NULL);
    if (!rc) rc = merged_at(&m, joined, x);
    if (!rc) merge_world_play(scores, w, m.packed, FEAT_BLIND, NULL);
    merged_close(&m);
    return rc;
}

static int play_hinted(float *scores, const struct merge_world *w,
                       const struct policy *hinted, const float *x, bool plain)
{
    struct packed *s = packed_new(&hinted->cfg, NULL);
    if (!s) return ERR_MEMORY;
    double by[V];
    for (int v = 0; v < V; v++)
        by[v] = plain ? 1 : 1 / (w->best[v] - w->low[v]);
    struct qoe hint = mean_hint(x, by);
    packed_load(s, hinted);
    merge_world_play(scores, w, s, FEAT_FULL, &hint);
    packed_free(s);
    return 0;
}

static int fill_point(void *ctx, int i, struct err *e)
{
    struct filling *f = ctx;
    struct merge_grid *g = f->grid;
    float x[V], *scores = g->scores + (size_t)i * (size_t)g->sessions * V;
    lattice_at(x, g->dim, g->steps, i);
    int rc = f->kind == MERGED
                 ? play_merged(scores, f->world, f->policy, x)
                 : play_hinted(scores, f->world, f->policy, x, f->kind == PLAIN);
    if (rc) return err_set(e, rc, "a policy of the grid could not be made");
    merge_world_mean(g->mean + (size_t)i * V, f->world, scores);
    return 0;
}

static int merge_fill(struct merge_grid **out, struct filling *f, int steps, int threads,
                      struct err *e)
{
    f->grid = *out = merge_grid_new(V, steps, f->world, e);
    if (!*out) return ERR_MEMORY;
    return pool_try(f->grid->points, threads, fill_point, f, e);
}

/* How far the grid is off between its points. */
static int probe(struct merge_found *f, const struct policy *joined, struct err *e)
{
    float *scores = calloc((size_t)f->world->sessions * V, sizeof *scores);
    if (!scores) return err_set(e, ERR_MEMORY, "no memory for scores");
    struct rng r;
    rng_init(&r, f->task->seed, 0x70726f6265);
    int rc = 0, n = 0;
    for (int i = 0; i < PROBES && !rc; i++) {
        float x[V];
        double sum = 0, e1[V], real[V], grid[V];
        for (int k = 0; k < V; k++)
            sum += e1[k] = rng_exponential(&r, 1);
        for (int k = 0; k < V; k++)
            x[k] = (float)(e1[k] / sum);
        rc = play_merged(scores, f->world, joined, x);
        merge_world_mean(real, f->world, scores);
        struct lattice_mix m = lattice_mix(x, f->merged->dim, f->merged->steps);
        merge_grid_mean(grid, f->merged, &m);
        for (int v = 0; v < V; v++) {
            if (real[v] < 0) continue; /* no method goes there */
            f->off += fabs(real[v] - grid[v]);
            n++;
        }
    }
    f->off /= n ? n : 1;
    free(scores);
    return rc ? err_set(e, rc, "a merged policy could not be made") : 0;
}

/* ---- Fisher, RegMean, lines ---- */

static int play_static(struct merge_found *f, const struct policy *joined,
                       const struct merge_states *states, struct err *e)
{
    struct merged m = {0};
    int rc = merged_open(&m, joined, e);
    if (!rc) rc = merge_static_fisher(m.policy, joined, states, f->task->seed, e);
    if (!rc) {
        packed_load(m.packed, m.policy);
        merge_world_play(f->fisher, f->world, m.packed, FEAT_BLIND, NULL);
        rc = merge_static_regmean(m.policy, joined, states, e);
    }
    if (!rc) {
        packed_load(m.packed, m.policy);
        merge_world_play(f->regmean, f->world, m.packed, FEAT_BLIND, NULL);
    }
    merged_close(&m);
    return rc;
}

/* The uniform merge looks at every session. */
static int merge_look(struct merge_found *f, const struct policy *joined, struct err *e)
{
    struct merged m = {0};
    float x[V];
    for (int k = 0; k < V; k++)
        x[k] = 1.0f / V;
    f->obs = calloc((size_t)f->world->sessions * FEAT_FULL_DIM, sizeof *f->obs);
    int rc = f->obs ? merged_open(&m, joined, e)
                    : err_set(e, ERR_MEMORY, "no memory for observations");
    if (!rc) rc = merged_at(&m, joined, x);
    if (!rc) merge_world_look(f->obs, f->world, m.packed);
    merged_close(&m);
    return rc;
}

/* What an emulation on other links says of each merge; kind NULL: of every kind. */
static int make_prior(struct tanbr_prior *out, const struct merge_found *f,
                      const struct loaded *l, const char *kind, struct err *e)
{
    const struct lab_task *t = f->task;
    int steps = (int)lab_int(t, "prior-grid"), rc = ERR_MEMORY;
    struct merge_grid *g = NULL;
    struct merge_world *w = NULL;
    struct corpus *links =
        corpus_generate(kind, (int)lab_int(t, "prior-links"), TUNING_S, TUNING_SEED, e);
    if (links) w = merge_world_new(links, l->video, 1, t->seed, e);
    if (w) rc = merge_world_scale(w, t->threads, e);
    struct filling merged = {.world = w, .policy = l->joined, .kind = MERGED};
    if (!rc) rc = merge_fill(&g, &merged, steps, t->threads, e);
    float *value = rc ? NULL : calloc((size_t)g->points * V, sizeof *value);
    if (!rc && !value) rc = err_set(e, ERR_MEMORY, "no memory for a prior");
    for (int i = 0; !rc && i < g->points * V; i++)
        value[i] = (float)fmax(-1, g->mean[i]); /* as rewards are */
    *out = (struct tanbr_prior){rc ? 0 : steps, V, value};
    merge_grid_free(g);
    merge_world_free(w);
    corpus_free(links);
    return rc;
}

/* States that each expert sees when it plays. */
static int merge_gather(struct merge_states *states, float *obs, uint32_t *mask,
                        const struct merge_found *f, const struct policy *joined,
                        struct err *e)
{
    struct merged m = {0};
    int rc = merged_open(&m, joined, e);
    for (int k = 0; k < V && !rc; k++) {
        float x[V] = {0}, *o = obs + (size_t)k * STATES * FEAT_FULL_DIM;
        uint32_t *levels = mask + (size_t)k * STATES;
        x[k] = 1;
        rc = merged_at(&m, joined, x);
        if (rc) break;
        merge_world_states(o, levels, STATES, f->world, m.packed, FEAT_BLIND,
                           f->task->seed + (uint64_t)k);
        states[k] = (struct merge_states){STATES, o, levels};
    }
    merged_close(&m);
    return rc;
}

static int merge_once(struct merge_found *f, const struct policy *joined, struct err *e)
{
    size_t n = (size_t)f->world->sessions * V;
    f->fisher = calloc(n, sizeof *f->fisher);
    f->regmean = calloc(n, sizeof *f->regmean);
    float *obs = calloc((size_t)V * STATES * FEAT_FULL_DIM, sizeof *obs);
    uint32_t *mask = calloc((size_t)V * STATES, sizeof *mask);
    struct merge_states states[V];
    int rc = f->fisher && f->regmean && obs && mask
                 ? merge_gather(states, obs, mask, f, joined, e)
                 : err_set(e, ERR_MEMORY, "no memory for states");
    if (!rc) rc = play_static(f, joined, states, e);
    free(obs);
    free(mask);
    return rc;
}

static void lines(struct merge_found *f)
{
    int pair = 0;
    for (int a = 0; a < V; a++)
        for (int b = a + 1; b < V; b++, pair++)
            for (int i = 0; i < MERGE_LINE; i++) {
                float x[V] = {0};
                x[b] = (float)i / (MERGE_LINE - 1);
                x[a] = 1 - x[b];
                struct lattice_mix m = lattice_mix(x, f->merged->dim, f->merged->steps);
                merge_grid_mean(f->line[pair][i], f->merged, &m);
            }
}

/* ---- the world ---- */

static int build(struct merge_found *f, struct loaded *l, struct err *e)
{
    const struct lab_task *t = f->task;
    thin(l->corpus, (int)lab_int(t, "links"));
    f->world =
        merge_world_new(l->corpus, l->video, (int)lab_int(t, "starts"), t->seed, e);
    if (!f->world) return ERR_MEMORY;
    if (lab_progress(t, .02, "the oracle")) return LAB_STOPPED;
    int rc = merge_world_scale(f->world, t->threads, e);
    struct filling merged = {.world = f->world, .policy = l->joined, .kind = MERGED};
    struct filling hinted = {.world = f->world, .policy = l->hinted, .kind = HINTED};
    struct filling plain = {.world = f->world, .policy = l->hinted, .kind = PLAIN};
    struct merge_field *g = &f->field;
    if (!rc && lab_progress(t, 0.2, "the grid of merged policies")) return LAB_STOPPED;
    int steps = (int)lab_int(t, "grid");
    if (!rc) rc = merge_fill(&f->merged, &merged, steps, t->threads, e);
    if (!rc && lab_progress(t, 0.3, "the grid of hints")) return LAB_STOPPED;
    if (!rc) rc = merge_fill(&f->hinted, &hinted, (steps + 1) / 2, t->threads, e);
    if (!rc) rc = merge_fill(&f->plain, &plain, (steps + 1) / 2, t->threads, e);
    if (!rc) rc = probe(f, l->joined, e);
    if (!rc) rc = merge_once(f, l->joined, e);
    if (!rc) rc = merge_look(f, l->joined, e);
    if (!rc && lab_progress(t, 0.35, "the prior")) return LAB_STOPPED;
    if (!rc) rc = make_prior(&g->prior, f, l, NULL, e);
    if (!rc) rc = make_prior(&g->misled, f, l, MISLEADING, e);
    if (rc) return rc;
    lines(f);
    g->world = f->world;
    g->merged = f->merged, g->hinted = f->hinted, g->plain = f->plain;
    g->fisher = f->fisher, g->regmean = f->regmean, g->obs = f->obs;
    return 0;
}

/* ---- runs ---- */

struct crew {
    const struct merge_found *f;
    struct merge_sim_cfg cfg;
    struct reps *reps;
};

/* Least squares of ln y over ln t, t = from + 1 .. n. */
static double slope(const double *y, int from, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int t = from; t < n; t++) {
        double a = log(t + 1.0), b = log(fmax(y[t], 1e-9));
        sx += a, sy += b, sxx += a * a, sxy += a * b;
    }
    double m = n - from;
    return (m * sxy - sx * sy) / (m * sxx - sx * sx);
}

/* curve: (slots) scratch */
static void summarise(double *row, double *curve, const struct merge_found *f,
                      const struct merge_sim_run *run)
{
    int n = f->slots, late = n - n / 5, point = 0;
    double best[V], cumulated = 0, own = 0, own_late = 0, late_regret = 0;
    merge_sim_best(&point, f->merged, run->mix);
    memcpy(best, f->merged->mean + (size_t)point * V, sizeof best);
    double fixed = 0;
    for (int v = 0; v < V; v++)
        fixed += run->mix[v] * best[v];
    for (int t = 0; t < n; t++) {
        double lost = run->ideal[t] - run->expected[t];
        curve[t] = cumulated += lost;
        own += run->expected[t] / n;
        if (t < late) continue;
        late_regret += lost / (n - late);
        own_late += run->expected[t] / (n - late);
    }
    for (int p = 0; p < f->points; p++)
        row[MERGE_CURVE + p] = curve[f->at[p] - 1];
    row[MERGE_REGRET] = cumulated;
    row[MERGE_REGRET_LATE] = late_regret;
    row[MERGE_FIXED] = n * (fixed - own);
    row[MERGE_SHARE] = own_late / run->fixed_late;
    row[MERGE_SLOPE] = slope(curve, n / 2, n);
    row[MERGE_LEAVES] = run->leaves;
    row[MERGE_DEPTH] = run->depth;
    row[MERGE_ACCURACY] = run->accuracy;
    row[MERGE_EQUAL] = run->equal;
    row[MERGE_APART] = run->apart;
    row[MERGE_LOST] = run->lost;
}

static int one_seed(void *ctx, int i, struct err *e)
{
    const struct crew *c = ctx;
    const struct merge_found *f = c->f;
    struct merge_sim_cfg cfg = c->cfg;
    cfg.seed = f->task->seed * 1000 + (uint64_t)i;
    size_t n = (size_t)cfg.slots;
    double *block = calloc(3 * n, sizeof *block);
    if (!block) return err_set(e, ERR_MEMORY, "no memory for %d slots", cfg.slots);
    struct merge_sim_run run = {.expected = block, .ideal = block + n};
    int rc = merge_sim_run(&run, &f->field, &cfg, e);
    if (!rc) summarise(reps_row(c->reps, i), block + 2 * n, f, &run);
    free(block);
    return rc;
}

static struct merge_sim_cfg configure(const struct merge_found *f, bool drift,
                                      enum merge_method m)
{
    struct merge_sim_cfg c = merge_sim_cfg_default();
    c.slots = f->slots;
    c.sessions = (int)lab_int(f->task, "viewers");
    c.loyalty = lab_real(f->task, "loyalty");
    c.drift = drift;
    c.method = m;
    return c;
}

static int run_arm(struct merge_found *f, int arm, struct err *e)
{
    int k = arm - MERGE_SWEEP, seeds = f->seeds;
    enum merge_method m = k < 0 ? (enum merge_method)(arm % MERGE_METHODS) : MERGE_TANBR;
    struct crew c = {f, configure(f, k >= 0 || arm >= MERGE_METHODS, m), NULL};
    if (m == MERGE_TANBR_FULL) seeds = f->full;
    if (k >= 0) {
        seeds = (int)lab_int(f->task, "sweep");
        c.cfg.bandit.rho = merge_rho[k / MERGE_ETAS];
        c.cfg.bandit.eta = merge_eta[k % MERGE_ETAS];
    }
    double share = k < 0 ? 0.4 + 0.4 * arm / MERGE_SWEEP
                         : 0.8 + 0.15 * k / (MERGE_RHOS * MERGE_ETAS);
    if (lab_progress(f->task, share, k < 0 ? merge_method_word(m) : "rho and eta"))
        return LAB_STOPPED;
    if (!seeds) return 0;
    c.reps = f->arm[arm] = reps_new(seeds, MERGE_CURVE + f->points, e);
    return c.reps ? pool_try(seeds, f->task->threads, one_seed, &c, e) : ERR_MEMORY;
}

/* ---- several nodes that see a share of the viewers each ---- */

static int one_group(void *ctx, int i, struct err *e)
{
    const struct crew *c = ctx;
    struct merge_sim_cfg cfg = c->cfg;
    int seed = i / MERGE_NODES_HOWS, how = i % MERGE_NODES_HOWS;
    cfg.seed = c->f->task->seed * 1000 + (uint64_t)seed;
    return merge_nodes_run(reps_row(c->reps, seed) + how, &c->f->field, &cfg, c->f->nodes,
                           (enum merge_nodes_how)how, e);
}

static int run_nodes(struct merge_found *f, int mix, int start, struct err *e)
{
    if (lab_progress(f->task, 0.95, "several nodes")) return LAB_STOPPED;
    struct crew c = {f, configure(f, mix, merge_start[start]),
                     reps_new(f->seeds, MERGE_NODES_HOWS, e)};
    f->shared[mix][start] = c.reps;
    if (!c.reps) return ERR_MEMORY;
    return pool_try(f->seeds * MERGE_NODES_HOWS, f->task->threads, one_group, &c, e);
}

/* ---- how soon a tree over many experts has candidates ---- */

enum { LEAVES = 20, STEPS_MAX = 3000 };

/* Slots until the tree has 20 leaves when all rewards are equal. */
static int steps_to_leaves(int experts, bool paper, uint64_t seed, int *out,
                           struct err *e)
{
    struct tanbr_cfg c = tanbr_cfg_default(experts, V);
    c.steps = 0; /* there is nothing to learn */
    if (c.keep > 8) c.keep = 8;
    if (paper) {
        c.split = TREE_RANDOM;
        c.border = 0;
        c.c = c.nu1 = c.lambda = 1;
        c.rho = 0.9;
    }
    struct tanbr *t = tanbr_new(&c, seed, e);
    if (!t) return e->code;
    const float psi[V] = {0.25f, 0.25f, 0.25f, 0.25f};
    const float reward[V] = {0.5f, 0.5f, 0.5f, 0.5f};
    float x[TREE_DIM_MAX];
    int n = 0, rc = 0;
    for (; n < STEPS_MAX && tanbr_stats(t).tree.leaves < LEAVES && !rc; n++)
        rc = tanbr_learn(t, tanbr_choose(t, x, NULL, psi), psi, reward, NULL);
    *out = tanbr_stats(t).tree.leaves < LEAVES ? -1 : n;
    tanbr_free(t);
    return rc;
}

static int run_sizes(struct merge_found *f, int size, struct err *e)
{
    if (lab_progress(f->task, 0.95 + 0.005 * size, "many experts")) return LAB_STOPPED;
    int rc = 0;
    for (int paper = 0; paper < 2 && !rc; paper++)
        rc = steps_to_leaves(merge_experts[size], paper, f->task->seed,
                             &f->steps[paper][size], e);
    return rc;
}

/* ---- Lemmas 1 and 2 ---- */

static int run_bounds(struct merge_found *f, struct err *e)
{
    int rc = 0;
    for (int r = 0; r < MERGE_BOUND_RHOS; r++)
        for (int t = 0; t < MERGE_BOUND_ROUNDS; t++)
            for (int order = 0; order < 2 && !rc; order++)
                rc = merge_bounds_grow(&f->bounds[r][t][order], V, merge_rho[r], 1,
                                       merge_bound_rounds[t],
                                       (enum merge_bounds_order)order, e);
    return rc;
}

/* ---- the lab ---- */

static void merge_release(struct merge_found *f)
{
    for (int i = 0; i < MERGE_ARMS; i++)
        reps_free(f->arm[i]);
    for (int i = 0; i < MERGE_MIXES * MERGE_STARTS; i++)
        reps_free(f->shared[i / MERGE_STARTS][i % MERGE_STARTS]);
    merge_grid_free(f->merged);
    merge_grid_free(f->hinted);
    merge_grid_free(f->plain);
    merge_world_free(f->world);
    free(f->fisher);
    free(f->regmean);
    free(f->obs);
    free((void *)f->field.prior.value);
    free((void *)f->field.misled.value);
    free(f);
}

static int merge_run(struct lab_task *t, struct err *e)
{
    struct merge_found *f = calloc(1, sizeof *f);
    struct loaded l = {0};
    if (!f) return err_set(e, ERR_MEMORY, "no memory for the lab");
    f->task = t;
    f->slots = (int)lab_int(t, "slots");
    f->seeds = (int)lab_int(t, "seeds");
    f->nodes = (int)lab_int(t, "nodes");
    f->full = (int)lab_int(t, "full");
    if (f->full > f->seeds) f->full = f->seeds;
    f->points = reps_grid(f->at, 1, f->slots);
    int rc = merge_load(&l, t, e);
    if (!rc) rc = build(f, &l, e);
    for (int i = 0; i < MERGE_ARMS && !rc; i++)
        rc = run_arm(f, i, e);
    for (int i = 0; i < MERGE_MIXES * MERGE_STARTS && !rc; i++)
        rc = run_nodes(f, i / MERGE_STARTS, i % MERGE_STARTS, e);
    for (int i = 0; i < MERGE_SIZES && !rc; i++)
        rc = run_sizes(f, i, e);
    if (!rc) rc = run_bounds(f, e);
    if (!rc) f->actor = l.joined->actor->cfg;
    if (!rc) merge_report(f);
    merge_release(f);
    unload(&l);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    LAB_NUMBER(LAB_INT, "seeds", "N", 20, 3, 3, 1000,
               "runs of each method, each with its own mix and viewers"),
    LAB_NUMBER(LAB_INT, "sweep", "N", 10, 1, 1, 1000,
               "seeds of the sweep for each pair of rho and eta"),
    LAB_NUMBER(LAB_INT, "slots", "T", 500, 200, 50, 100000, "slots of each run"),
    LAB_NUMBER(LAB_INT, "viewers", "N", 60, 60, 1, 100000, "sessions of each slot"),
    LAB_NUMBER(LAB_INT, "nodes", "N", 3, 3, 1, MERGE_NODES_MAX,
               "nodes that serve a share of the viewers each, with and without sharing "
               "their slots"),
    LAB_NUMBER(
        LAB_INT, "full", "N", 4, 0, 0, 1000,
        "seeds that also run with the full matrix Z instead of its diagonal; 0: none"),
    LAB_NUMBER(LAB_INT, "grid", "N", 20, 8, 2, 40, "points between two experts"),
    LAB_NUMBER(LAB_INT, "links", "N", 1000, 60, 2, 100000,
               "traces to use, spread evenly over the folder"),
    LAB_NUMBER(LAB_INT, "starts", "N", 2, 1, 1, 100, "sessions per trace"),
    LAB_NUMBER(LAB_REAL, "loyalty", "L", 0.8, 0.8, 0, 1,
               "share of viewers that watch the contents of their own profile"),
    LAB_NUMBER(LAB_INT, "prior-links", "N", 20, 10, 1, 1000,
               "generated links of each kind for the prior"),
    LAB_NUMBER(LAB_INT, "prior-grid", "N", 10, 6, 1, 40,
               "points between two experts for the prior"),
    {"traces", "DIR", "folder of traces (default: the bundled ones)", LAB_TEXT,
     .text = ""},
    {"policy", "FILE", "policy whose experts are merged (default: the shipped one)",
     LAB_TEXT, .text = ""},
    {"hinted", "FILE", "policy for viewers with a hint (default: the shipped one)",
     LAB_TEXT, .text = ""},
    {0},
};

const struct lab merge_lab = {
    .name = "merge",
    .about = "merged experts for viewers without a hint",
    .title = "Expert merging by a tree-structured neural bandit",
    .source = "Han et al., Faster, Smaller, and Smarter: Task-Aware Expert Merging for "
              "Online MoE Inference (Tanbr)",
    .options = OPTIONS,
    .run = merge_run,
};
