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
    growth_free(e->growth);
    graft_free(e->graft);
    exam_free(e->exam);
    if (e->published) published_free(e->published);
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
    graft_free(g->shape);
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

static double added_check(void *ctx, const struct graft *g)
{
    return exam_score_added(ctx, g);
}

void added_describe(struct added *g, struct entry *e, const struct graft *now)
{
    struct growth_stats s = {0};
    if (e->growth)
        growth_stats(e->growth, &s);
    else
        s.online.check_score = e->score;
    pthread_mutex_lock(&g->lock);
    struct service_added *out = &e->stats;
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

struct entry *added_entry_new(struct added *g, const struct added_making *m,
                              struct err *e)
{
    struct entry *made = calloc(1, sizeof *made);
    if (!made) {
        policy_free(m->base);
        exam_free(m->exam);
        err_set(e, ERR_MEMORY, "no memory for a grown profile");
        return NULL;
    }
    snprintf(made->name, sizeof made->name, "%s", m->name);
    made->id = m->id;
    made->qoe = *m->qoe;
    made->since = m->now;
    made->exam = m->exam;
    made->base_score = m->exam ? exam_score_added(m->exam, NULL) : m->base_score;
    made->score = m->exam ? exam_score_added(m->exam, m->graft) : m->score;
    made->published = published_new_added(m->base, m->graft, m->now, made->score, e);
    if (!made->published) goto fail;

    const struct weights *w = published_get(made->published);
    made->base = w->policy;
    published_put(made->published, w);
    struct online_cfg online = added_online(&g->cfg.online);
    if (g->cfg.learn)
        made->growth = growth_new(&online, made->base, m->graft, added_check, m->exam, e);
    else
        made->graft = graft_clone(m->graft, e);
    if (made->growth || made->graft) return made;

fail:
    added_entry_free(made);
    return NULL;
}

const struct graft *added_graft(const struct entry *e)
{
    return e->growth ? growth_graft(e->growth) : e->graft;
}

/* New experts on base for what viewers of this profile see. */
static struct graft *sprout(struct added *g, const struct policy *base,
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

void added_enter(struct added *g, struct entry *made, const struct graft *graft)
{
    if (made) added_describe(g, made, graft);
    pthread_mutex_lock(&g->lock);
    if (made) {
        made->tag = take_tag(g);
        g->at[g->n++] = made;
        if (g->n > 1) g->frozen = true;
    }
    g->making = false;
    pthread_mutex_unlock(&g->lock);
}

int added_keep_shape(struct added *g, const struct graft *graft, struct err *e)
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

int added_add(struct added *g, uint64_t id, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
{
    int rc = added_reserve(g, name, e);
    if (rc) {
        policy_free(base);
        return rc == 1 ? 0 : rc;
    }
    base->actor->busy = base->critic->busy = 0; /* no update would let them in again */
    struct graft_cfg cfg = {base->cfg, g->cfg.experts, g->cfg.gate};
    struct entry *made = NULL;
    struct graft *graft = NULL;
    struct exam *exam = exam_new_added(base, &cfg, qoe, e);
    if (exam) graft = sprout(g, base, &cfg, exam, e);
    if (!graft) {
        exam_free(exam);
        policy_free(base);
        rc = ERR_MEMORY;
        goto out;
    }
    struct added_making how = {.name = name,
                               .id = id,
                               .qoe = qoe,
                               .base = base,
                               .graft = graft,
                               .exam = exam,
                               .now = now};
    made = added_entry_new(g, &how, e);
    rc = made ? added_write(g, made, graft, e) : ERR_MEMORY;
    if (!rc && graft->shape_learns) rc = added_keep_shape(g, graft, e);
    if (rc) {
        added_entry_free(made);
        made = NULL;
    }
out:
    added_enter(g, made, graft);
    graft_free(graft);
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

    float share;
    const struct weights *w = published_get(e->published);
    bool ok = decide_added(out, &share, w->pack, w->packed, d, v, u);
    published_put(e->published, w);

    pthread_mutex_lock(&g->lock);
    e->users--;
    e->stats.decisions++;
    e->share_sum += (double)share;
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
    if (!e || !e->growth || (place && place <= e->position)) return;
    (void)growth_add(e->growth, t); /* what it refuses it counts */
    e->read = place;
}

bool added_ready(struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->growth && growth_ready(at[i]->growth)) return true;
    return false;
}

/* The file comes first: after a crash no other weights get the number of a version that somebody
 * was answered by. What fails is tried again (added_turn). */
static int added_publish(struct added *g, struct entry *e, double now, struct err *err)
{
    const struct graft *graft = growth_graft(e->growth);
    struct growth_stats s;
    growth_stats(e->growth, &s);
    e->unpublished = true;
    e->tried_at = now;
    int rc = e->unsaved ? added_keep(g, e, err) : 0;
    if (!rc)
        rc = published_swap_added(e->published, graft, now, s.online.check_score, err);
    if (rc) return rc;
    e->unpublished = false;
    log_event(g->cfg.log, LOG_INFO, "grown", "%s: version %llu, check %.4f", e->name,
              (unsigned long long)graft->version, s.online.check_score);
    return graft->shape_learns ? added_keep_shape(g, graft, err) : 0;
}

static int learn(struct added *g, struct entry *e, double now, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool frozen = g->frozen;
    pthread_mutex_unlock(&g->lock);
    if (frozen) growth_freeze_shape(e->growth);

    int rc = growth_update(e->growth);
    if (rc == 1) {
        e->position = e->read;
        e->unsaved = true;
        int failed = added_publish(g, e, now, err);
        if (failed) rc = failed;
    } else if (rc < 0) {
        err_set(err, rc,
                "new experts of %s were not finite or clearly worse: rolled back",
                e->name);
    }
    added_describe(g, e, growth_graft(e->growth));
    return rc;
}

int added_turn(struct added *g, double now, struct err *e)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g), published = 0, rc = 0;
    for (int i = 0; i < n; i++) {
        if (!at[i]->growth) continue;
        if (at[i]->unpublished &&
            fabs(now - at[i]->tried_at) >= AGAIN_S) /* told before */
            published += !added_publish(g, at[i], now, NULL);
        if (!growth_ready(at[i]->growth)) continue;
        int one = learn(g, at[i], now, e);
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
