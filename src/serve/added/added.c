#include "serve/added/added.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "learn/ckpt.h"
#include "serve/learner/training.h"

enum { TAGS = 256, BATCH = 1024, OBSERVED = 1024 };
static const double AGAIN_S = 1; /* pause before another try to publish */

#define ADDED_PATH 600

struct entry {
    char name[SERVICE_NAME];
    uint64_t id; /* of its experts, among nodes; 0: standalone */
    struct qoe qoe;
    int tag;
    double since;
    struct training training; /* exam and online may be NULL: no learner here */
    struct policy base;       /* view of the frozen mixture, for added_look */
    struct added *table;
    double base_score, score; /* score: of the newest weights, if nothing learns */
    uint64_t read;            /* place in the stream of its last trajectory */
    uint64_t position;        /* place up to which its weights have learned */
    double tried_at;          /* when unpublished weights were tried last */

    /* guarded by the table's lock */
    int users;
    bool gone;
    double share_sum;
    struct service_added stats;
    struct entry *next; /* of those that are gone */
};

struct added {
    struct added_cfg cfg;
    pthread_mutex_t lock; /* of all below, and what is said above */
    struct entry *at[SERVICE_ADDED];
    struct entry *removed; /* waiting for their users */
    struct entry *saving;  /* whose file is being written */
    int n, next_tag;
    bool making;    /* one at a time */
    bool frozen;    /* a and tau are settled, as there is a second profile */
    uint64_t place; /* in the stream, of what was taught last; the learner's */
    struct policy_added *shape; /* source of a and tau for the next; NULL: none yet */
};

/* The arguments of added_entry_new. */
struct added_making {
    const char *name;
    uint64_t id;
    const struct qoe *qoe;
    struct policy *policy; /* taken; with added experts */
    struct exam *exam;     /* taken; NULL: nothing learns, and the scores are those */
    double score, base_score;
    double now;
    uint64_t position;
    const void *state; /* of what learns (online.h); NULL: it begins anew */
    size_t state_n;
};

struct online_cfg added_online(const struct online_cfg *common)
{
    struct online_cfg c = *common;
    if (c.batch > BATCH) c.batch = BATCH;
    c.capacity = c.batch + 2 * TRAJ_STEPS;
    c.rehearse = c.exam_links =
        0; /* the mixture below them is frozen and cannot forget */
    return c;
}

struct added *added_new(const struct added_cfg *cfg, struct err *e)
{
    assert(cfg->max >= 0 && cfg->max <= SERVICE_ADDED);
    struct added *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for profiles with added experts");
        return NULL;
    }
    g->cfg = *cfg;
    g->next_tag = ADDED_TAG;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

static void added_entry_free(struct entry *e)
{
    if (!e) return;
    training_release(&e->training);
    published_free(e->training.published);
    free(e);
}

int added_max(const struct added *g)
{
    return g->cfg.max;
}

void added_free(struct added *g)
{
    if (!g) return;
    for (int i = 0; i < g->n; i++)
        added_entry_free(g->at[i]);
    while (g->removed) {
        struct entry *e = g->removed;
        g->removed = e->next;
        added_entry_free(e);
    }
    policy_added_free(g->shape);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* ---- under the lock */

static struct entry *added_by_name(const struct added *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (!strcmp(g->at[i]->name, name)) return g->at[i];
    return NULL;
}

static struct entry *added_by_id(const struct added *g, uint64_t id)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i]->id == id) return g->at[i];
    return NULL;
}

static struct entry *added_by_tag(const struct added *g, int tag)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i]->tag == tag) return g->at[i];
    return NULL;
}

static int added_take_tag(struct added *g)
{
    int tag = g->next_tag;
    while (added_by_tag(g, tag))
        tag = tag + 1 < TAGS ? tag + 1 : ADDED_TAG;
    g->next_tag = tag + 1 < TAGS ? tag + 1 : ADDED_TAG;
    return tag;
}

/* The newest weights. For the thread that learns, or follows. */
static const struct policy *added_policy(const struct entry *e)
{
    if (e->training.online) return online_policy(e->training.online);
    /* the caller's thread alone publishes, so that these stay */
    const struct weights *w = published_get(e->training.published);
    published_put(e->training.published, w);
    return w->policy;
}

/* All of now; for the thread that frees them (added_sweep). */
static int added_list(struct entry *out[SERVICE_ADDED], struct added *g)
{
    pthread_mutex_lock(&g->lock);
    int n = g->n;
    memcpy(out, g->at, sizeof *out * (size_t)n);
    pthread_mutex_unlock(&g->lock);
    return n;
}

/* ---- files */

/* Of its file; false: nothing is kept. */
static bool added_path(char out[ADDED_PATH], const struct added *g, const char *name)
{
    return g->cfg.dir && snprintf(out, ADDED_PATH, "%s/grown-%s.safetensors", g->cfg.dir,
                                  name) < ADDED_PATH;
}

int added_rename(const struct added *g, const char *from, const char *to, struct err *e)
{
    char a[ADDED_PATH], b[ADDED_PATH];
    if (!added_path(a, g, from) || !added_path(b, g, to) || access(a, F_OK)) return 0;
    if (!rename(a, b) && !text_sync_folder(g->cfg.dir)) return 0;
    return err_field(e, ERR_IO, a, "cannot be renamed to %.200s: %s", b, strerror(errno));
}

static int added_write(struct added *g, const struct entry *e, struct err *err)
{
    char path[ADDED_PATH];
    if (!added_path(path, g, e->name)) return 0;
    size_t n = 0;
    void *state = NULL;
    if (e->training.online && training_state(&state, &n, &e->training, err))
        return ERR_MEMORY;

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
    if (e->id) {
        ckpt_meta_set(meta, "growth", "%016llx", (unsigned long long)e->id);
        ckpt_meta_set(meta, "growth_position", "%llu", (unsigned long long)e->position);
        ckpt_meta_set(meta, "check_score", "%.9g", e->score);
        ckpt_meta_set(meta, "base_score", "%.9g", e->base_score);
    }
    enum feat_layout layout;
    if (!decide_layout(&layout, &added_policy(e)->cfg, NULL))
        ckpt_meta_set(meta, "layout", "%s", feat_layout_name(layout));
    int rc = ckpt_save(path, added_policy(e), meta, state, n, err);
    free(meta);
    free(state);
    return rc;
}

/* Writes the file, and deletes it if the profile is removed meanwhile. */
static int added_keep(struct added *g, struct entry *e, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool gone = e->gone;
    g->saving = gone ? NULL : e;
    pthread_mutex_unlock(&g->lock);
    if (gone) return 0;

    int rc = added_write(g, e, err);
    e->training.unsaved = rc != 0;
    pthread_mutex_lock(&g->lock);
    gone = e->gone;
    if (!gone) g->saving = NULL; /* from here on added_remove deletes the file */
    pthread_mutex_unlock(&g->lock);
    if (!gone) return rc;
    char path[ADDED_PATH];
    if (added_path(path, g, e->name)) unlink(path);
    pthread_mutex_lock(&g->lock);
    g->saving = NULL;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

/* ---- making */

/* Updates the figures, except those that decisions count. */
static void added_describe(struct added *g, struct entry *e)
{
    const struct policy *now = added_policy(e);
    struct online_stats s = {.check_score = e->score};
    if (e->training.online) online_stats(e->training.online, &s);
    pthread_mutex_lock(&g->lock);
    struct service_added *out = &e->stats;
    memcpy(out->name, e->name, sizeof out->name);
    out->frozen_experts = now->cfg.experts;
    out->experts = now->cfg.added.experts;
    out->version = now->added->version;
    out->base_version = now->added->base_version;
    out->alpha = (double)now->added->actor->theta[0];
    out->tau = (double)now->added->actor->theta[1];
    out->learner = s;
    out->base_score = e->base_score;
    pthread_mutex_unlock(&g->lock);
}

/* Its file comes first. */
static int added_announce(void *ctx, const struct policy *p, double now, double score,
                          struct err *err)
{
    (void)p, (void)now, (void)score;
    struct entry *e = ctx;
    return e->training.unsaved ? added_keep(e->table, e, err) : 0;
}

/* NULL: what was taken is freed. */
static struct entry *added_entry_new(struct added *g, const struct added_making *m,
                                     struct err *e)
{
    struct entry *made = calloc(1, sizeof *made);
    if (!made) {
        policy_free(m->policy);
        exam_free(m->exam);
        err_set(e, ERR_MEMORY, "no memory for a profile with added experts");
        return NULL;
    }
    snprintf(made->name, sizeof made->name, "%s", m->name);
    made->table = g;
    made->id = m->id;
    made->qoe = *m->qoe;
    made->since = m->now;
    struct policy base = policy_frozen(m->policy);
    struct training *t = &made->training;
    *t = (struct training){.exam = m->exam, .announce = added_announce, .ctx = made};
    made->base_score = m->exam ? exam_score(m->exam, &base) : m->base_score;
    made->score = m->exam ? exam_score(m->exam, m->policy) : m->score;
    t->published = published_new(m->policy, m->now, made->score, e);
    if (!t->published) goto fail;
    if (!g->cfg.learn) return made;

    struct online_cfg online = added_online(&g->cfg.online);
    if (!training_start(t, &online, added_policy(made), e)) return made;
fail:
    added_entry_free(made);
    return NULL;
}

/* Adds experts to base, for the observations of the profile. */
static int added_new_experts(struct added *g, struct policy *base, struct exam *exam,
                             struct err *e)
{
    struct policy_added_cfg cfg = {g->cfg.experts, g->cfg.gate};
    float *obs = malloc(OBSERVED * (size_t)base->cfg.obs_dim * sizeof *obs);
    if (!obs) return err_set(e, ERR_MEMORY, "no memory for a profile with added experts");
    (void)exam_score(exam, base);
    int n = exam_observe(exam, obs, OBSERVED);
    int rc = policy_add(base, &cfg, obs, n, g->cfg.online.seed, e);
    free(obs);
    if (rc) return rc;
    pthread_mutex_lock(&g->lock);
    if (g->shape) policy_take_shape(base, g->shape);
    pthread_mutex_unlock(&g->lock);
    return 0;
}

/* The place for one more, which added_enter takes, or gives back (made NULL). 1: it is there already. */
static int added_reserve(struct added *g, const char *name, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&g->lock);
    if (added_by_name(g, name))
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

static void added_enter(struct added *g, struct entry *made)
{
    if (made) added_describe(g, made);
    pthread_mutex_lock(&g->lock);
    if (made) {
        made->tag = added_take_tag(g);
        g->at[g->n++] = made;
        if (g->n > 1) g->frozen = true;
    }
    g->making = false;
    pthread_mutex_unlock(&g->lock);
}

/* Keeps the first profile's a and tau for the next ones. */
static int added_keep_shape(struct added *g, const struct policy *p, struct err *e)
{
    struct policy_added *copy = policy_added_clone(p->added, e);
    if (!copy) return ERR_MEMORY;
    pthread_mutex_lock(&g->lock);
    struct policy_added *old = g->shape;
    g->shape = copy;
    pthread_mutex_unlock(&g->lock);
    policy_added_free(old);
    return 0;
}

/* An entry of existing weights, from a file or another node. m->policy is taken. An older program may have
 * left it the common policy's correction. */
static int added_entry_restore(struct entry **made, struct added *g,
                               struct added_making *m, bool examine, struct err *e)
{
    policy_copy_input(m->policy, NULL, 0);
    if (examine) m->exam = exam_new_profile(&m->policy->cfg, m->qoe, e);
    if (examine && !m->exam) {
        policy_free(m->policy);
        return ERR_MEMORY;
    }
    *made = added_entry_new(g, m, e);
    if (!*made) return ERR_MEMORY;
    struct online *online = (*made)->training.online;
    (*made)->position = m->position;
    if (online && m->state && online_state_put(online, m->state, m->state_n, NULL))
        log_event(
            g->cfg.log, LOG_WARN, "grown",
            "%s: the optimiser is of another configuration: starting with a new one",
            m->name);
    return added_keep_shape(g, added_policy(*made), e);
}

int added_add(struct added *g, uint64_t id, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
{
    int rc = added_reserve(g, name, e);
    if (rc) {
        policy_free(base);
        return rc == 1 ? 0 : rc;
    }
    base->actor->busy = base->critic->busy = 0; /* no update would enable them */
    policy_copy_input(base, NULL, 0);           /* nor fit a correction again */
    struct policy_cfg whole = base->cfg;
    whole.added = (struct policy_added_cfg){g->cfg.experts, g->cfg.gate};
    struct entry *made = NULL;
    struct exam *exam = exam_new_profile(&whole, qoe, e);
    if (!exam || added_new_experts(g, base, exam, e)) {
        exam_free(exam);
        policy_free(base);
        rc = ERR_MEMORY;
        goto out;
    }
    struct added_making how = {
        .name = name, .id = id, .qoe = qoe, .policy = base, .exam = exam, .now = now};
    made = added_entry_new(g, &how, e);
    rc = made ? added_write(g, made, e) : ERR_MEMORY;
    if (!rc && added_policy(made)->added->shape_learns)
        rc = added_keep_shape(g, added_policy(made), e);
    if (rc) {
        added_entry_free(made);
        made = NULL;
    }
out:
    added_enter(g, made);
    return rc ? rc : 1;
}

/* ---- ends */

void added_remove(struct added *g, const char *name)
{
    char path[ADDED_PATH];
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_name(g, name);
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
    bool busy = e && g->saving == e; /* then the writer deletes the file */
    pthread_mutex_unlock(&g->lock);
    if (!busy && added_path(path, g, name)) unlink(path);
}

void added_sweep(struct added *g)
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
        added_entry_free(e);
    }
}

/* ---- decisions */

int added_tag(struct added *g, const char *name, double *since)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *e = added_by_name(g, name);
    int tag = e ? e->tag : -1;
    if (e && since) *since = e->since;
    pthread_mutex_unlock(&g->lock);
    return tag;
}

uint64_t added_id(struct added *g, int tag)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *e = added_by_tag(g, tag);
    uint64_t id = e ? e->id : 0;
    pthread_mutex_unlock(&g->lock);
    return id;
}

int added_tag_of(struct added *g, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *e = added_by_id(g, id);
    int tag = e ? e->tag : -1;
    pthread_mutex_unlock(&g->lock);
    return tag;
}

int added_decide(struct verdict *out, struct added *g, int tag, struct decider *d,
                 const struct view *v, double u)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_tag(g, tag);
    if (e) e->users++;
    pthread_mutex_unlock(&g->lock);
    if (!e) return -1;

    const struct weights *w = published_get(e->training.published);
    bool ok = decide(out, w->packed, d, v, u);
    published_put(e->training.published, w);

    pthread_mutex_lock(&g->lock);
    e->users--;
    e->stats.decisions++;
    e->share_sum += (double)out->added;
    pthread_mutex_unlock(&g->lock);
    return ok;
}

/* ---- learning: entries are freed by this thread alone, so it may hold on to them */

void added_teach(struct added *g, const struct online_trajectory *t, uint64_t place)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_tag(g, t->tag);
    pthread_mutex_unlock(&g->lock);
    if (place < g->place) added_forget(g); /* the stream was made anew */
    g->place = place;
    if (!e || !e->training.online || (place && place <= e->position)) return;
    (void)online_add(e->training.online, t); /* refused ones are counted */
    e->read = place;
}

bool added_ready(struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->training.online && online_ready(at[i]->training.online)) return true;
    return false;
}

/* After its new weights have been published, or could not be. */
static int added_published(struct added *g, struct entry *e, int failed, double now,
                           struct err *err)
{
    e->tried_at = now;
    if (failed) return failed;
    const struct policy *p = added_policy(e);
    struct online_stats s;
    online_stats(e->training.online, &s);
    log_event(g->cfg.log, LOG_INFO, "grown", "%s: version %llu, check %.4f", e->name,
              (unsigned long long)p->added->version, s.check_score);
    return p->added->shape_learns ? added_keep_shape(g, p, err) : 0;
}

static int added_learn(struct added *g, struct entry *e, double now, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool frozen = g->frozen;
    pthread_mutex_unlock(&g->lock);
    if (frozen) online_freeze_shape(e->training.online);

    /* what its announcement writes is what it has learned from up to here */
    uint64_t was = e->position;
    e->position = e->read;
    int failed = 0, rc = training_update(&e->training, now, &failed, err);
    if (rc == 1) {
        failed = added_published(g, e, failed, now, err);
        if (failed) rc = failed;
    } else if (rc < 0) {
        e->position = was;
        err_set(err, rc,
                "new experts of %s were not finite or clearly worse: rolled back",
                e->name);
    }
    added_describe(g, e);
    return rc;
}

int added_turn(struct added *g, double now, struct err *e)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g), published = 0, rc = 0;
    for (int i = 0; i < n; i++) {
        struct training *t = &at[i]->training;
        if (!t->online) continue;
        if (t->unpublished &&
            fabs(now - at[i]->tried_at) >= AGAIN_S) /* reported before */
            published +=
                !added_published(g, at[i], training_publish(t, now, NULL), now, NULL);
        if (!online_ready(t->online)) continue;
        int one = added_learn(g, at[i], now, e);
        published += one == 1;
        if (one < 0) rc = one;
    }
    added_sweep(g);
    return rc ? rc : published;
}

int added_save(struct added *g, struct err *e)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g), rc = 0;
    for (int i = 0; i < n; i++) {
        int failed = at[i]->training.unsaved ? added_keep(g, at[i], e) : 0;
        if (failed) rc = failed;
    }
    return rc;
}

int added_encode(void **out, size_t *n, struct added *g, const char *name, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *found = added_by_name(g, name);
    pthread_mutex_unlock(&g->lock);
    if (!found) return err_field(e, ERR_ABSENT, "profile", "'%.63s' has not grown", name);
    return ckpt_encode(out, n, added_policy(found), NULL, NULL, 0, e);
}

/* ---- restart */

static void added_rename_to_bad(const char *path)
{
    char bad[ADDED_PATH + 8];
    snprintf(bad, sizeof bad, "%s.bad", path);
    rename(path, bad);
}

static double real_of(const struct ckpt_meta *meta, const char *key)
{
    const char *at = ckpt_meta_get(meta, key);
    return at ? strtod(at, NULL) : 0;
}

static uint64_t u64_of(const struct ckpt_meta *meta, const char *key, int base)
{
    const char *at = ckpt_meta_get(meta, key);
    return at ? strtoull(at, NULL, base) : 0;
}

/* *since: when the experts were added. */
static int added_load_file(struct added_making *m, void **state, double *since,
                           const char *path, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta);
    if (!meta)
        return err_set(e, ERR_MEMORY, "no memory for a profile with added experts");
    struct err why = {0};
    m->policy = ckpt_load_any(path, meta, state, &m->state_n, &why);
    if (m->policy && !m->policy->added) {
        err_field(&why, ERR_INVALID, path, "is of a policy without added experts");
        policy_free(m->policy);
        m->policy = NULL;
    }
    if (m->policy) {
        m->state = *state;
        *since = real_of(meta, "grown_at");
        m->score = real_of(meta, "check_score");
        m->base_score = real_of(meta, "base_score");
        m->id = u64_of(meta, "growth", 16);
        m->position = u64_of(meta, "growth_position", 10);
    }
    free(meta);
    return m->policy ? 0 : err_field(e, why.code, why.field, "%s", why.detail);
}

int added_restore(struct added *g, const char *name, const struct qoe *qoe,
                  const struct policy_cfg *serving, double now, struct err *e)
{
    char path[ADDED_PATH];
    if (!added_path(path, g, name) || access(path, F_OK)) return 0;
    int rc = added_reserve(g, name, e);
    if (rc) return rc;

    struct added_making m = {.name = name, .qoe = qoe, .now = now};
    struct entry *made = NULL;
    void *state = NULL;
    double since = 0;
    rc = added_load_file(&m, &state, &since, path, e);
    if (!rc && (m.policy->cfg.obs_dim != serving->obs_dim ||
                m.policy->cfg.actions != serving->actions)) {
        rc = err_field(e, ERR_INVALID, path,
                       "was grown on a policy of %d inputs and %d levels; the one served "
                       "has %d and %d",
                       m.policy->cfg.obs_dim, m.policy->cfg.actions, serving->obs_dim,
                       serving->actions);
        policy_free(m.policy);
    } else if (!rc) {
        /* what is of other nodes was examined by the one that learned it */
        rc = added_entry_restore(&made, g, &m, g->cfg.learn || !m.id, e);
    }
    if (made) made->since = since;
    if (rc && rc != ERR_MEMORY) added_rename_to_bad(path);
    added_enter(g, rc ? NULL : made);
    if (rc) added_entry_free(made);
    free(state);
    return rc ? rc : 1;
}

/* ---- among nodes: taken as they were published, and shown to the one that publishes them */

static struct entry *added_nodes_find(struct added *g, uint64_t id)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->id == id) return at[i];
    return NULL;
}

/* Newer weights of one that is here. */
static int added_replace_weights(struct added *g, struct entry *e,
                                 const struct added_taken *t, struct err *err)
{
    struct policy base = policy_frozen(added_policy(e));
    struct policy *p = policy_clone(&base, err);
    if (!p) return ERR_MEMORY;
    int rc = policy_add_copy(p, t->experts, err);
    if (rc) {
        policy_free(p);
        return rc;
    }
    rc = published_swap(e->training.published, p, t->published_at, t->score, err);
    if (rc) return rc;
    e->score = t->score;
    e->position = t->position;
    e->training.unsaved = true;
    added_describe(g, e);
    return 0;
}

static int added_nodes_make(struct added *g, const struct added_taken *t, double now,
                            struct err *e)
{
    added_remove(g, t->name);
    int rc = added_reserve(g, t->name, e);
    if (rc) {
        policy_free(t->base);
        return rc < 0 ? rc : err_set(e, ERR_CONFLICT, "%s is being grown", t->name);
    }
    struct added_making m = {.name = t->name,
                             .id = t->id,
                             .qoe = t->qoe,
                             .policy = t->base,
                             .score = t->score,
                             .base_score = t->base_score,
                             .now = now,
                             .position = t->position,
                             .state = t->state,
                             .state_n = t->state_n};
    struct entry *made = NULL;
    rc = added_entry_restore(&made, g, &m, g->cfg.learn, e);
    if (!rc) {
        made->read = t->position;
        /* a file that cannot be written now is tried again with the next ones */
        made->training.unsaved = added_write(g, made, NULL) != 0;
    }
    added_enter(g, rc ? NULL : made);
    if (rc) added_entry_free(made);
    return rc;
}

int added_take(struct added *g, const struct added_taken *t, double now, struct err *e)
{
    struct entry *is = g->cfg.learn ? NULL : added_nodes_find(g, t->id);
    if (is) {
        policy_free(t->base);
        return added_replace_weights(g, is, t, e);
    }
    if (!t->base) return err_set(e, ERR_ABSENT, "are of weights that are not here");
    int rc = policy_add_copy(t->base, t->experts, e);
    if (!rc) return added_nodes_make(g, t, now, e);
    policy_free(t->base);
    return rc;
}

void added_rewind(struct added *g, uint64_t place)
{
    g->place = place;
}

void added_forget(struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        at[i]->position = at[i]->read = 0;
}

int added_look(struct added_one out[SERVICE_ADDED], struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++) {
        struct entry *e = at[i];
        const struct policy *now = added_policy(e);
        struct online_stats s = {.check_score = e->score};
        if (e->training.online) online_stats(e->training.online, &s);
        e->base = policy_frozen(now);
        out[i] = (struct added_one){.id = e->id,
                                    .version = now->added->version,
                                    .position = e->position,
                                    .score = s.check_score,
                                    .base_score = e->base_score,
                                    .base = &e->base,
                                    .experts = now->added};
        memcpy(out[i].name, e->name, sizeof out[i].name);
    }
    return n;
}

int added_state(void **out, size_t *n, struct added *g, uint64_t id, struct err *e)
{
    const struct entry *of = added_nodes_find(g, id);
    if (!of || !of->training.online) return err_set(e, ERR_ABSENT, "nothing learns");
    return training_state(out, n, &of->training, e);
}

void added_set_id(struct added *g, const char *name, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_name(g, name);
    if (e && !e->id) {
        e->id = id;
        e->training.unsaved = true;
    }
    pthread_mutex_unlock(&g->lock);
}

/* ---- seen from outside */

int added_stats(struct service_added out[SERVICE_ADDED], struct added *g)
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
