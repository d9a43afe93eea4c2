#include "lab/gates/arrivals.h"

#include "abr/deciders/window.h"
#include "abr/train/abr_env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct arrivals_kind arrivals_kinds[ARRIVALS] = {
    {"documentary", "broadband", {.mu_quality = 1, .mu_switch = 6, .mu_stall = 1}},
    {"live", "wifi", {.mu_quality = 1, .mu_switch = 1, .mu_stall = 6}},
    {"news", "lte", {.mu_quality = 6, .mu_switch = 1, .mu_stall = 1}},
    {"sports", "3g-commute", {.mu_quality = 3, .mu_switch = 1, .mu_stall = 3}},
    {"lecture", "outage", {.mu_quality = 1, .mu_switch = 3, .mu_stall = 1}},
};

static const struct qoe BEFORE = {.mu_quality = 1, .mu_switch = 1, .mu_stall = 4.3};
static const double SECONDS = 320; /* of a link */

enum { EXAM_LINKS = 0x6578616d };

struct arrivals {
    struct video *video;
    struct corpus *train[ARRIVALS], *exam[ARRIVALS];
    struct worlds *world[ARRIVALS + 1], *exam_world[ARRIVALS]; /* the last: all kinds */
    struct abr_env_cfg cfg[ARRIVALS + 1], exam_cfg[ARRIVALS];
};

static struct abr_env_cfg env_cfg(const struct qoe *qoe)
{
    struct abr_env_cfg c = abr_env_cfg_default();
    c.n_profiles = 1;
    c.profiles[0] = *qoe;
    c.generated = c.custom = c.ladders = c.players = c.stretch = c.live = 0;
    c.choose_first = 0;
    c.privileged = false;
    return c;
}

static struct worlds *worlds_of(const struct arrivals *a, struct corpus *const *corpus,
                                int n, struct err *e)
{
    struct worlds_cfg c = {.n_corpora = n, .video = a->video};
    for (int i = 0; i < n; i++)
        c.corpora[i] = corpus[i];
    return worlds_new(&c, e);
}

static bool make_kind(struct arrivals *a, int k, int links, uint64_t seed, struct err *e)
{
    const char *kind = arrivals_kinds[k].links;
    a->train[k] = corpus_generate(kind, links, SECONDS, seed, e);
    a->exam[k] = corpus_generate(kind, (links + 1) / 2, SECONDS, seed ^ EXAM_LINKS, e);
    if (!a->train[k] || !a->exam[k]) return false;
    a->world[k] = worlds_of(a, &a->train[k], 1, e);
    a->exam_world[k] = worlds_of(a, &a->exam[k], 1, e);
    a->cfg[k] = a->exam_cfg[k] = env_cfg(&arrivals_kinds[k].qoe);
    a->exam_cfg[k].noise = 0;
    a->exam_cfg[k].reward_floor = 0;
    return a->world[k] && a->exam_world[k];
}

struct arrivals *arrivals_new(int links, uint64_t seed, struct err *e)
{
    struct arrivals *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for kinds of viewer");
        return NULL;
    }
    a->video = video_default(e);
    bool ok = a->video != NULL;
    for (int k = 0; k < ARRIVALS && ok; k++)
        ok = make_kind(a, k, links, seed, e);
    if (ok) a->world[ARRIVALS] = worlds_of(a, a->train, ARRIVALS, e);
    a->cfg[ARRIVALS] = env_cfg(&BEFORE);
    if (ok && a->world[ARRIVALS]) return a;
    arrivals_free(a);
    return NULL;
}

void arrivals_free(struct arrivals *a)
{
    if (!a) return;
    for (int k = 0; k < ARRIVALS; k++) {
        worlds_free(a->world[k]);
        worlds_free(a->exam_world[k]);
        corpus_free(a->train[k]);
        corpus_free(a->exam[k]);
    }
    worlds_free(a->world[ARRIVALS]);
    video_free(a->video);
    free(a);
}

struct env arrivals_env(void *ctx, uint64_t id, struct err *e)
{
    const struct arrivals_world *w = ctx;
    assert(w->kind >= 0 && w->kind <= ARRIVALS);
    return abr_env_new(&w->arrivals->cfg[w->kind], w->arrivals->world[w->kind], w->seed,
                       id, e);
}

/* ---- exam ---- */

/* The observation for a head. */
static void blind(float *x, const struct env *env)
{
    window_observe(x, FEAT_BLIND, &abr_env_player(env)->view);
}

/* The class with the highest mean score over the session so far. */
struct guess {
    double sum[IDENTITY_CLASSES_MAX];
    int kind;
};

static int guess(struct guess *g, const struct identity *head, const struct env *env,
                 struct err *e)
{
    float x[FEAT_FULL_DIM];
    double z[IDENTITY_CLASSES_MAX];
    blind(x, env);
    int rc = identity_scores(z, head, x);
    if (rc) return err_set(e, rc, "an observation is not finite");
    for (int c = 0; c < identity_classes(head); c++) {
        g->sum[c] += z[c];
        if (g->sum[c] > g->sum[g->kind]) g->kind = c;
    }
    return 0;
}

/* The observation as if the viewer were of that kind. */
static void take_for(float *obs, int kind, const struct env *env)
{
    struct view v = abr_env_player(env)->view;
    v.qoe = arrivals_kinds[kind].qoe;
    window_observe(obs, FEAT_FULL, &v);
}

struct tally {
    double reward;
    int chunks, right;
};

static int arrivals_play(struct tally *t, struct env *env, int kind,
                         const struct identity *head, const struct arrivals_decider *d,
                         struct err *e)
{
    float obs[FEAT_FULL_DIM];
    struct env_out out = {.obs = obs};
    struct guess g = {{0}, 0};
    env->reset(env->self, &out);
    while (!out.done && !out.truncated) {
        int taken = kind;
        if (head) {
            int rc = guess(&g, head, env, e);
            if (rc) return rc;
            taken = g.kind;
            take_for(obs, taken, env);
        }
        env->step(env->self, d->decide(d->self, taken, obs, out.mask), &out);
        t->reward += (double)out.reward;
        t->right += taken == kind;
        t->chunks++;
    }
    return 0;
}

int arrivals_exam(struct arrivals_score *out, const struct arrivals *a, int kind,
                  int episodes, const struct identity *head,
                  const struct arrivals_decider *d, struct err *e)
{
    struct tally t = {0};
    int rc = 0;
    for (int i = 0; i < episodes && !rc; i++) {
        struct env env = abr_env_new(&a->exam_cfg[kind], a->exam_world[kind], EXAM_LINKS,
                                     (uint64_t)i, e);
        if (!env.self) return ERR_MEMORY;
        rc = arrivals_play(&t, &env, kind, head, d, e);
        env.free(env.self);
    }
    if (!rc)
        *out = (struct arrivals_score){t.reward / t.chunks, (double)t.right / t.chunks};
    return rc;
}

/* ---- the head's lessons ---- */

static int lesson(struct identity *head, struct env *env, int kind,
                  const struct arrivals_decider *d, struct err *e)
{
    float obs[FEAT_FULL_DIM], x[FEAT_FULL_DIM];
    struct env_out out = {.obs = obs};
    int rc = 0;
    env->reset(env->self, &out);
    while (!out.done && !out.truncated && !rc) {
        blind(x, env);
        rc = identity_learn(head, x, kind, e);
        env->step(env->self, d->decide(d->self, kind, obs, out.mask), &out);
    }
    return rc;
}

int arrivals_teach(struct identity *head, const struct arrivals *a, int kind,
                   int episodes, uint64_t seed, const struct arrivals_decider *d,
                   struct err *e)
{
    struct arrivals_world w = {a, kind, seed};
    int rc = 0;
    while (identity_classes(head) <= kind && rc >= 0)
        rc = identity_grow(head, e);
    rc = rc < 0 ? rc : 0;
    for (int i = 0; i < episodes && !rc; i++) {
        struct env env = arrivals_env(&w, (uint64_t)i, e);
        if (!env.self) return ERR_MEMORY;
        rc = lesson(head, &env, kind, d, e);
        env.free(env.self);
    }
    return rc;
}
