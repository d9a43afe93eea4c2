#include "added_priv.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAGS = 256, BATCH = 1024, OBSERVED = 1024 };
static const double AGAIN_S = 1; /* what could not be published waits so long */

struct online_cfg added_online(const struct online_cfg *common)
{
    struct online_cfg c = *common;
    if (c.batch > BATCH) c.batch = BATCH;
    c.capacity = c.batch + 2 * TRAJ_STEPS;
    return c;
}

struct added *added_new(const struct added_cfg *cfg, struct err *e)
{
    assert(cfg->max >= 0 && cfg->max <= SERVICE_ADDED);
    struct added *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for grown profiles");
        return NULL;
    }
    g->cfg = *cfg;
    g->next_tag = ADDED_TAG;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void added_entry_free(struct entry *e)
{
    if (!e) return;
    training_release(&e->training);
    published_free(e->training.published);
    free(e);
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

struct entry *added_by_name(const struct added *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (!strcmp(g->at[i]->name, name)) return g->at[i];
    return NULL;
}

static struct entry *by_id(const struct added *g, uint64_t id)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i]->id == id) return g->at[i];
    return NULL;
}

static struct entry *by_tag(const struct added *g, int tag)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i]->tag == tag) return g->at[i];
    return NULL;
}

static int take_tag(struct added *g)
{
    int tag = g->next_tag;
    while (by_tag(g, tag))
        tag = tag + 1 < TAGS ? tag + 1 : ADDED_TAG;
    g->next_tag = tag + 1 < TAGS ? tag + 1 : ADDED_TAG;
    return tag;
}

/* ---- making */

const struct policy *added_policy(const struct entry *e)
{
    if (e->training.online) return online_policy(e->training.online);
    /* the caller's thread alone publishes, so that these stay */
    const struct weights *w = published_get(e->training.published);
    published_put(e->training.published, w);
    return w->policy;
}

void added_describe(struct added *g, struct entry *e)
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

struct entry *added_entry_new(struct added *g, const struct added_making *m,
                              struct err *e)
{
    struct entry *made = calloc(1, sizeof *made);
    if (!made) {
        policy_free(m->policy);
        exam_free(m->exam);
        err_set(e, ERR_MEMORY, "no memory for a grown profile");
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

/* Adds experts to base for what viewers of this profile see. */
static int added_sprout(struct added *g, struct policy *base, struct exam *exam,
                        struct err *e)
{
    struct policy_added_cfg cfg = {g->cfg.experts, g->cfg.gate};
    float *obs = malloc(OBSERVED * (size_t)base->cfg.obs_dim * sizeof *obs);
    if (!obs) return err_set(e, ERR_MEMORY, "no memory for a grown profile");
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

int added_reserve(struct added *g, const char *name, struct err *e)
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

void added_enter(struct added *g, struct entry *made)
{
    if (made) added_describe(g, made);
    pthread_mutex_lock(&g->lock);
    if (made) {
        made->tag = take_tag(g);
        g->at[g->n++] = made;
        if (g->n > 1) g->frozen = true;
    }
    g->making = false;
    pthread_mutex_unlock(&g->lock);
}

int added_keep_shape(struct added *g, const struct policy *p, struct err *e)
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

int added_add(struct added *g, uint64_t id, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
{
    int rc = added_reserve(g, name, e);
    if (rc) {
        policy_free(base);
        return rc == 1 ? 0 : rc;
    }
    base->actor->busy = base->critic->busy = 0; /* no update would let them in again */
    struct policy_cfg whole = base->cfg;
    whole.added = (struct policy_added_cfg){g->cfg.experts, g->cfg.gate};
    struct entry *made = NULL;
    struct exam *exam = exam_new_profile(&whole, qoe, e);
    if (!exam || added_sprout(g, base, exam, e)) {
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
    bool busy = e && g->saving == e; /* then the writer removes what it wrote */
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
    const struct entry *e = by_tag(g, tag);
    uint64_t id = e ? e->id : 0;
    pthread_mutex_unlock(&g->lock);
    return id;
}

int added_tag_of(struct added *g, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *e = by_id(g, id);
    int tag = e ? e->tag : -1;
    pthread_mutex_unlock(&g->lock);
    return tag;
}

int added_decide(struct verdict *out, struct added *g, int tag, struct decider *d,
                 const struct view *v, double u)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = by_tag(g, tag);
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

int added_list(struct entry *out[SERVICE_ADDED], struct added *g)
{
    pthread_mutex_lock(&g->lock);
    int n = g->n;
    memcpy(out, g->at, sizeof *out * (size_t)n);
    pthread_mutex_unlock(&g->lock);
    return n;
}

void added_teach(struct added *g, const struct online_trajectory *t, uint64_t place)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = by_tag(g, t->tag);
    pthread_mutex_unlock(&g->lock);
    if (place < g->place) added_forget(g); /* the stream was made anew */
    g->place = place;
    if (!e || !e->training.online || (place && place <= e->position)) return;
    (void)online_add(e->training.online, t); /* what it refuses it counts */
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
