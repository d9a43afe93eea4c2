#include "serve/grown.h"

#include "rl/growth_ckpt.h"
#include "serve/exam.h"
#include "serve/snap.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAGS = 256, BATCH = 1024, OBSERVED = 1024, PATH = 600 };

struct entry {
    char name[SERVICE_NAME];
    struct qoe qoe;
    int tag;
    double since;
    struct snap *snap;
    const struct policy *base; /* frozen; the snap's own */
    struct exam *exam;         /* this one and the next three: the learner's */
    struct growth *growth;     /* NULL: nothing learns */
    double base_score;
    bool unsaved;

    /* under the table's lock */
    int users;
    bool gone;
    double share_sum;
    struct service_grown stats;
    struct entry *next; /* of those that are gone */
};

struct grown {
    struct grown_cfg cfg;
    pthread_mutex_t lock; /* of all below, and what is said above */
    struct entry *at[SERVICE_GROWN];
    struct entry *removed; /* waiting for their users */
    struct entry *saving;  /* whose file is being written */
    int n, next_tag;
    bool making;         /* one at a time */
    bool frozen;         /* a and tau are settled, as there is a second profile */
    struct graft *shape; /* whose a and tau the next one gets; NULL: none grown yet */
};

struct online_cfg grown_online(const struct online_cfg *common)
{
    struct online_cfg c = *common;
    if (c.batch > BATCH) c.batch = BATCH;
    c.capacity = c.batch + 2 * TRAJ_STEPS;
    return c;
}

struct grown *grown_new(const struct grown_cfg *cfg, struct err *e)
{
    assert(cfg->max >= 0 && cfg->max <= SERVICE_GROWN);
    struct grown *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for grown profiles");
        return NULL;
    }
    g->cfg = *cfg;
    g->next_tag = GROWN_TAG;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

static void entry_free(struct entry *e)
{
    if (!e) return;
    growth_free(e->growth);
    exam_free(e->exam);
    if (e->snap) snap_free(e->snap);
    free(e);
}

void grown_free(struct grown *g)
{
    if (!g) return;
    for (int i = 0; i < g->n; i++)
        entry_free(g->at[i]);
    while (g->removed) {
        struct entry *e = g->removed;
        g->removed = e->next;
        entry_free(e);
    }
    graft_free(g->shape);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static bool path_of(char out[PATH], const struct grown *g, const char *name)
{
    return g->cfg.dir &&
           snprintf(out, PATH, "%s/grown-%s.safetensors", g->cfg.dir, name) < PATH;
}

/* ---- under the lock */

static struct entry *by_name(const struct grown *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (!strcmp(g->at[i]->name, name)) return g->at[i];
    return NULL;
}

static struct entry *by_tag(const struct grown *g, int tag)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i]->tag == tag) return g->at[i];
    return NULL;
}

static int take_tag(struct grown *g)
{
    int tag = g->next_tag;
    while (by_tag(g, tag))
        tag = tag + 1 < TAGS ? tag + 1 : GROWN_TAG;
    g->next_tag = tag + 1 < TAGS ? tag + 1 : GROWN_TAG;
    return tag;
}

/* ---- making */

static double check(void *ctx, const struct graft *g)
{
    return exam_score_grown(ctx, g);
}

/* What can be told of the newest weights, but for what decisions add up. */
static void describe(struct grown *g, struct entry *e, const struct graft *now)
{
    struct growth_stats s = {0};
    if (e->growth) growth_stats(e->growth, &s);
    pthread_mutex_lock(&g->lock);
    struct service_grown *out = &e->stats;
    memcpy(out->name, e->name, sizeof out->name);
    out->frozen_experts = now->cfg.base.experts;
    out->experts = now->cfg.experts;
    out->version = now->version;
    out->base_version = now->base_version;
    out->alpha = (double)now->actor->theta[0];
    out->tau = (double)now->actor->theta[1];
    out->learner = s.online;
    out->base_score = e->base_score;
    pthread_mutex_unlock(&g->lock);
}

/* base and exam are taken. */
static struct entry *entry_new(struct grown *g, const char *name, const struct qoe *qoe,
                               struct policy *base, const struct graft *graft,
                               struct exam *exam, double now, struct err *e)
{
    struct entry *made = calloc(1, sizeof *made);
    if (!made) {
        policy_free(base);
        exam_free(exam);
        err_set(e, ERR_MEMORY, "no memory for a grown profile");
        return NULL;
    }
    snprintf(made->name, sizeof made->name, "%s", name);
    made->qoe = *qoe;
    made->since = now;
    made->exam = exam;
    made->base_score = exam_score_grown(exam, NULL);
    double score = exam_score_grown(exam, graft);
    made->snap = snap_new_grown(base, graft, now, score, e);
    if (!made->snap) goto fail;

    const struct weights *w = snap_get(made->snap);
    made->base = w->policy;
    snap_put(made->snap, w);
    struct online_cfg online = grown_online(&g->cfg.online);
    if (g->cfg.learn) {
        made->growth = growth_new(&online, made->base, graft, check, exam, e);
        if (!made->growth) goto fail;
    }
    return made;

fail:
    entry_free(made);
    return NULL;
}

/* New experts on base for what viewers of this profile see. */
static struct graft *sprout(struct grown *g, const struct policy *base,
                            const struct graft_cfg *cfg, struct exam *exam, struct err *e)
{
    size_t dim = (size_t)base->cfg.obs_dim;
    float *obs = malloc(OBSERVED * dim * sizeof *obs);
    struct graft *made = obs ? graft_new(cfg, e) : NULL;
    if (!made) {
        free(obs);
        err_set(e, ERR_MEMORY, "no memory for a grown profile");
        return NULL;
    }
    int n = exam_observe(exam, obs, OBSERVED);
    int rc = graft_init(made, base, obs, n, g->cfg.online.seed, e);
    free(obs);
    if (rc) {
        graft_free(made);
        return NULL;
    }
    pthread_mutex_lock(&g->lock);
    if (g->shape) graft_take_shape(made, g->shape);
    pthread_mutex_unlock(&g->lock);
    return made;
}

static int save(struct grown *g, const struct entry *e, const struct graft *graft,
                struct err *err)
{
    char path[PATH];
    if (!path_of(path, g, e->name)) return 0;
    size_t n = e->growth ? growth_state_size(e->growth) : 0;
    void *state = malloc(n + 1);
    if (!state) return err_set(err, ERR_MEMORY, "no memory for a checkpoint");
    if (e->growth) growth_state_get(e->growth, state);

    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) {
        free(state);
        return err_set(err, ERR_MEMORY, "no memory for a checkpoint");
    }
    ckpt_meta_set(meta, "made_by", "abrd serve");
    ckpt_meta_set(meta, "profile", "%s", e->name);
    ckpt_meta_set(meta, "mu", "%.9g,%.9g,%.9g", e->qoe.mu_quality, e->qoe.mu_switch,
                  e->qoe.mu_stall);
    ckpt_meta_set(meta, "grown_at", "%.3f", e->since);
    int rc = growth_ckpt_save(path, e->base, graft, meta, state, n, err);
    free(meta);
    free(state);
    return rc;
}

/* The place for one more; unmake gives it back. */
static int reserve(struct grown *g, const char *name, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&g->lock);
    if (by_name(g, name))
        rc = 1;
    else if (g->n >= g->cfg.max)
        rc = err_field(e, ERR_FULL, "grow",
                       "there are already %d grown profiles: delete one, or allow more "
                       "(--grow-max)",
                       g->n);
    else if (g->making || (g->saving && !strcmp(g->saving->name, name)))
        rc = err_field(e, ERR_FULL, "grow", "a profile is being grown: try again");
    else
        g->making = true;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

static void enter(struct grown *g, struct entry *made, const struct graft *graft)
{
    if (made) describe(g, made, graft);
    pthread_mutex_lock(&g->lock);
    if (made) {
        made->tag = take_tag(g);
        g->at[g->n++] = made;
        if (g->n > 1) g->frozen = true;
    }
    g->making = false;
    pthread_mutex_unlock(&g->lock);
}

/* The first profile's a and tau are everybody's: kept for the next one. */
static int keep_shape(struct grown *g, const struct graft *graft, struct err *e)
{
    struct graft *copy = graft_clone(graft, e);
    if (!copy) return ERR_MEMORY;
    pthread_mutex_lock(&g->lock);
    struct graft *old = g->shape;
    g->shape = copy;
    pthread_mutex_unlock(&g->lock);
    graft_free(old);
    return 0;
}

int grown_add(struct grown *g, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
{
    int rc = reserve(g, name, e);
    if (rc) {
        policy_free(base);
        return rc == 1 ? 0 : rc;
    }
    struct graft_cfg cfg = {base->cfg, g->cfg.experts, g->cfg.gate};
    struct entry *made = NULL;
    struct graft *graft = NULL;
    struct exam *exam = exam_new_grown(base, &cfg, qoe, e);
    if (exam) graft = sprout(g, base, &cfg, exam, e);
    if (!graft) {
        exam_free(exam);
        policy_free(base);
        rc = ERR_MEMORY;
        goto out;
    }
    made = entry_new(g, name, qoe, base, graft, exam, now, e);
    rc = made ? save(g, made, graft, e) : ERR_MEMORY;
    if (!rc && graft->shape_learns) rc = keep_shape(g, graft, e);
    if (rc) {
        entry_free(made);
        made = NULL;
    }
out:
    enter(g, made, graft);
    graft_free(graft);
    return rc ? rc : 1;
}

/* ---- restart */

static void put_aside(const char *path)
{
    char bad[PATH + 8];
    snprintf(bad, sizeof bad, "%s.bad", path);
    rename(path, bad);
}

static int load_file(struct policy **base, struct graft **graft, void **state,
                     size_t *state_n, double *since, const char *path, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta);
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for a grown profile");
    int rc = growth_ckpt_load(base, graft, path, meta, state, state_n, e);
    const char *at = rc ? NULL : ckpt_meta_get(meta, "grown_at");
    *since = at ? strtod(at, NULL) : 0;
    free(meta);
    return rc;
}

int grown_restore(struct grown *g, const char *name, const struct qoe *qoe,
                  const struct policy_cfg *serving, double now, struct err *e)
{
    char path[PATH];
    if (!path_of(path, g, name) || access(path, F_OK)) return 0;
    int rc = reserve(g, name, e);
    if (rc) return rc;

    struct policy *base = NULL;
    struct graft *graft = NULL;
    struct entry *made = NULL;
    void *state = NULL;
    size_t state_n = 0;
    double since = 0;
    rc = load_file(&base, &graft, &state, &state_n, &since, path, e);
    if (!rc && (base->cfg.obs_dim != serving->obs_dim ||
                base->cfg.actions != serving->actions)) {
        rc = err_field(e, ERR_INVALID, path,
                       "was grown on a policy of %d inputs and %d levels; the one served "
                       "has %d and %d",
                       base->cfg.obs_dim, base->cfg.actions, serving->obs_dim,
                       serving->actions);
        policy_free(base);
    } else if (!rc) {
        struct exam *exam = exam_new_grown(base, &graft->cfg, qoe, e);
        if (!exam) policy_free(base);
        if (exam) made = entry_new(g, name, qoe, base, graft, exam, now, e);
        rc = made ? 0 : ERR_MEMORY;
        if (!rc) rc = keep_shape(g, graft, e);
    }
    if (made && made->growth && state &&
        growth_state_put(made->growth, state, state_n, NULL))
        log_event(g->cfg.log, LOG_WARN, "grown",
                  "%s: the optimiser is of another configuration: starting anew", name);
    if (made) made->since = since;
    if (rc && rc != ERR_MEMORY) put_aside(path);
    enter(g, rc ? NULL : made, graft);
    if (rc) entry_free(made);
    graft_free(graft);
    free(state);
    return rc ? rc : 1;
}

/* ---- ends */

void grown_remove(struct grown *g, const char *name)
{
    char path[PATH];
    pthread_mutex_lock(&g->lock);
    struct entry *e = by_name(g, name);
    for (int i = 0, moved = 0; e && i < g->n; i++) {
        moved += g->at[i] == e;
        if (moved && i + 1 < g->n) g->at[i] = g->at[i + 1];
    }
    if (e) {
        g->n--;
        e->gone = true;
        e->next = g->removed;
        g->removed = e;
    }
    bool busy = e && g->saving == e; /* then the writer removes what it wrote */
    pthread_mutex_unlock(&g->lock);
    if (!busy && path_of(path, g, name)) unlink(path);
}

void grown_sweep(struct grown *g)
{
    struct entry *unused = NULL;
    pthread_mutex_lock(&g->lock);
    for (struct entry **at = &g->removed; *at;) {
        struct entry *e = *at;
        if (e->users) {
            at = &e->next;
        } else {
            *at = e->next;
            e->next = unused;
            unused = e;
        }
    }
    pthread_mutex_unlock(&g->lock);
    while (unused) {
        struct entry *e = unused;
        unused = e->next;
        entry_free(e);
    }
}

/* ---- decisions */

int grown_tag(struct grown *g, const char *name, double *since)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *e = by_name(g, name);
    int tag = e ? e->tag : -1;
    if (e && since) *since = e->since;
    pthread_mutex_unlock(&g->lock);
    return tag;
}

int grown_decide(struct verdict *out, struct grown *g, int tag, struct decider *d,
                 const struct view *v, double u)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = by_tag(g, tag);
    if (e) e->users++;
    pthread_mutex_unlock(&g->lock);
    if (!e) return -1;

    float share;
    const struct weights *w = snap_get(e->snap);
    bool ok = decide_grown(out, &share, w->pack, w->swift, d, v, u);
    snap_put(e->snap, w);

    pthread_mutex_lock(&g->lock);
    e->users--;
    e->stats.decisions++;
    e->share_sum += (double)share;
    pthread_mutex_unlock(&g->lock);
    return ok;
}

/* ---- learning: entries are freed by this thread alone, so it may hold on to them */

static int list(struct entry *out[SERVICE_GROWN], struct grown *g)
{
    pthread_mutex_lock(&g->lock);
    int n = g->n;
    memcpy(out, g->at, sizeof *out * (size_t)n);
    pthread_mutex_unlock(&g->lock);
    return n;
}

void grown_teach(struct grown *g, const struct online_trajectory *t)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = by_tag(g, t->tag);
    pthread_mutex_unlock(&g->lock);
    if (e && e->growth) (void)growth_add(e->growth, t); /* what it refuses it counts */
}

bool grown_ready(struct grown *g)
{
    struct entry *at[SERVICE_GROWN];
    int n = list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->growth && growth_ready(at[i]->growth)) return true;
    return false;
}

/* Saved, unless it is removed meanwhile: then its file goes again. */
static int keep(struct grown *g, struct entry *e, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool gone = e->gone;
    g->saving = gone ? NULL : e;
    pthread_mutex_unlock(&g->lock);
    if (gone) return 0;

    int rc = save(g, e, growth_graft(e->growth), err);
    e->unsaved = rc != 0;
    pthread_mutex_lock(&g->lock);
    gone = e->gone;
    pthread_mutex_unlock(&g->lock);
    char path[PATH];
    if (gone && path_of(path, g, e->name)) unlink(path);
    pthread_mutex_lock(&g->lock);
    g->saving = NULL;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

/* The file comes first: after a crash no other weights get the number of a version that somebody
 * was answered by. */
static int publish(struct grown *g, struct entry *e, double now, struct err *err)
{
    const struct graft *graft = growth_graft(e->growth);
    struct growth_stats s;
    growth_stats(e->growth, &s);
    e->unsaved = true;
    int rc = keep(g, e, err);
    if (!rc) rc = snap_publish_grown(e->snap, graft, now, s.online.check_score, err);
    if (!rc && graft->shape_learns) rc = keep_shape(g, graft, err);
    log_event(g->cfg.log, LOG_INFO, "grown", "%s: version %llu, check %.4f", e->name,
              (unsigned long long)graft->version, s.online.check_score);
    return rc;
}

static int learn(struct grown *g, struct entry *e, double now, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool frozen = g->frozen;
    pthread_mutex_unlock(&g->lock);
    if (frozen) growth_freeze_shape(e->growth);

    int rc = growth_update(e->growth);
    if (rc == 1) {
        int failed = publish(g, e, now, err);
        if (failed) rc = failed;
    } else if (rc < 0) {
        err_set(err, rc,
                "new experts of %s were not finite or clearly worse: rolled back",
                e->name);
    }
    describe(g, e, growth_graft(e->growth));
    return rc;
}

int grown_turn(struct grown *g, double now, struct err *e)
{
    struct entry *at[SERVICE_GROWN];
    int n = list(at, g), published = 0, rc = 0;
    for (int i = 0; i < n; i++) {
        if (!at[i]->growth || !growth_ready(at[i]->growth)) continue;
        int one = learn(g, at[i], now, e);
        published += one == 1;
        if (one < 0) rc = one;
    }
    grown_sweep(g);
    return rc ? rc : published;
}

int grown_save(struct grown *g, struct err *e)
{
    struct entry *at[SERVICE_GROWN];
    int n = list(at, g), rc = 0;
    for (int i = 0; i < n; i++) {
        int failed = at[i]->unsaved ? keep(g, at[i], e) : 0;
        if (failed) rc = failed;
    }
    return rc;
}

int grown_encode(void **out, size_t *n, struct grown *g, const char *name, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *found = by_name(g, name);
    pthread_mutex_unlock(&g->lock);
    if (!found || !found->growth)
        return err_field(e, ERR_ABSENT, "profile",
                         "'%.63s' has not grown, or learning is off", name);
    return growth_ckpt_encode(out, n, found->base, growth_graft(found->growth), NULL,
                              NULL, 0, e);
}

/* ---- seen from outside */

int grown_stats(struct service_grown out[SERVICE_GROWN], struct grown *g)
{
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->n; i++) {
        const struct entry *e = g->at[i];
        out[i] = e->stats;
        out[i].share = e->stats.decisions ? e->share_sum / (double)e->stats.decisions : 0;
    }
    int n = g->n;
    pthread_mutex_unlock(&g->lock);
    return n;
}
