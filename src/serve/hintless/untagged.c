#include "untagged_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

_Static_assert(UNTAGGED_NAME == SERVICE_NAME, "one length for names");
_Static_assert(BY_WAYS <= 8, "a step keeps three bits of it");

struct watched {
    bool hinted;
    float obs[FEAT_FULL_DIM];
};

/* ---- start and end ---- */

static bool examples_new(struct untagged_examples *x)
{
    x->x = malloc((size_t)UNTAGGED_EXAMPLES * FEAT_FULL_DIM * sizeof *x->x);
    x->task = malloc(UNTAGGED_EXAMPLES);
    return x->x && x->task;
}

static void examples_free(struct untagged_examples *x)
{
    free(x->x);
    free(x->task);
}

/* The head of a desk or of the slot keeps no examples: it only decides. */
static struct identity *make_head(const struct untagged *u, bool learns, struct err *e)
{
    struct identity_cfg cfg = identity_cfg_default(feat_dim(FEAT_BLIND), u->told.tasks);
    cfg.classes_max = AUDIENCE_TASKS;
    cfg.seed = u->seed;
    if (!learns) cfg.memory = 0;
    return identity_new(&cfg, e);
}

static int make_parts(struct untagged *u, struct err *e)
{
    struct audience_cfg ac = audience_cfg_default();
    ac.half_life = u->cfg.half_life;
    ac.seed = u->seed;
    u->audience = audience_new(&ac, u->told.tasks, e);
    ac.counts = false;
    u->told_audience = audience_new(&ac, u->told.tasks, e);
    u->head = make_head(u, true, e);
    u->told_head = make_head(u, false, e);
    return u->audience && u->told_audience && u->head && u->told_head ? 0 : ERR_MEMORY;
}

static void free_parts(struct untagged *u)
{
    identity_free(u->told_head);
    identity_free(u->head);
    audience_free(u->told_audience);
    audience_free(u->audience);
    u->told_head = u->head = NULL;
    u->told_audience = u->audience = NULL;
}

static int make_room(struct untagged *u, const struct untagged_new *how, struct err *e)
{
    u->watched =
        table_new(UNTAGGED_WATCHED, TRACK_ID, sizeof(struct watched), how->seed, e);
    if (!u->watched) return ERR_MEMORY;
    if (!examples_new(&u->training) || !examples_new(&u->fresh))
        return err_set(e, ERR_MEMORY, "no memory for labelled observations");
    u->taught_by = calloc(AUDIENCE_BUCKETS, sizeof *u->taught_by);
    if (!u->taught_by) return err_set(e, ERR_MEMORY, "no memory for labels by address");
    if (how->state_path && !(u->state_path = strdup(how->state_path)))
        return err_set(e, ERR_MEMORY, "no memory for a path");
    return 0;
}

/* In the slot that the state file tells of, or in a new one. */
static int go_on(struct untagged *u, double now, struct err *e)
{
    int rc = untagged_load(u, e);
    if (rc < 0 && rc != ERR_CORRUPT) return rc;
    if (rc < 0) {
        free_parts(u);
        rc = make_parts(u, e);
        if (rc) return rc;
        u->share = (struct untagged_share){0};
        u->stats.refused++;
        rc = 1;
    }
    if (!rc && !untagged_exam_holds(u)) {
        log_event(u->log, LOG_WARN, "slot",
                  "what slot %llu served does not pass the exam: a new slot begins",
                  (unsigned long long)u->told.slot);
        u->merge.good = false;
        rc = 1;
    }
    if (rc == 1) u->sums = (struct untagged_sums){0};
    if (rc) {
        rc = untagged_turn(u, now, e);
        return rc ? rc
                  : untagged_save(u, e); /* a folder that takes no file is told now */
    }
    untagged_exam_tell(&u->stats, &u->exam);
    if (!u->merge.experts) return 0;
    untagged_merge_tell(&u->stats, &u->merge);
    grove_take(u->merge.grove, u->merge.bandit, u->merge.node);
    return untagged_merge_publish(&u->merge, u->told.slot, now, e);
}

struct untagged *untagged_new(const struct untagged_new *how, struct err *e)
{
    if (untagged_cfg_check(&how->cfg, e)) return NULL;
    struct untagged *u = calloc(1, sizeof *u);
    if (!u) {
        err_set(e, ERR_MEMORY, "no memory for untagged viewers");
        return NULL;
    }
    pthread_mutex_init(&u->lock, NULL);
    u->cfg = how->cfg;
    u->cfg.merge_policy = u->cfg.exam_traces = NULL; /* borrowed */
    u->seed = how->seed;
    u->log = how->log;
    u->tasks = u->told.tasks = QOE_PROFILES;
    for (int v = 0; v < QOE_PROFILES; v++) {
        strcpy(u->task[v], qoe_profiles[v].name);
        u->qoe[v] = u->told.qoe[v] = qoe_profiles[v].qoe;
    }
    const char *name = how->default_profile ? how->default_profile : "pensieve";
    const struct qoe_profile *known = qoe_find(name);
    snprintf(u->default_profile, sizeof u->default_profile, "%s", name);
    u->fallback = (known ? known : qoe_find("pensieve"))->qoe;
    if (make_room(u, how, e) || make_parts(u, e)) goto fail;
    if (how->cfg.mode == UNTAGGED_MERGE && untagged_merge_open(&u->merge, how, e))
        goto fail;
    if (untagged_exam_open(u, how, e)) goto fail;
    if (go_on(u, how->now, e)) goto fail;
    return u;

fail:
    untagged_free(u);
    return NULL;
}

void untagged_free(struct untagged *u)
{
    if (!u) return;
    merge_exam_free(u->exam.exam);
    untagged_merge_close(&u->merge);
    untagged_share_close(&u->share);
    examples_free(&u->fresh);
    examples_free(&u->training);
    table_free(u->watched);
    free(u->taught_by);
    free_parts(u);
    pthread_mutex_destroy(&u->lock);
    free(u->state_path);
    free(u);
}

struct untagged_desk *untagged_desk_new(struct untagged *u, struct err *e)
{
    struct untagged_desk *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(e, ERR_MEMORY, "no memory for a worker");
        return NULL;
    }
    d->merge.layout = u->merge.layout;
    pthread_mutex_lock(&u->lock);
    d->head = make_head(u, false, e);
    pthread_mutex_unlock(&u->lock);
    if (d->head) return d;
    untagged_desk_free(d);
    return NULL;
}

void untagged_desk_free(struct untagged_desk *d)
{
    if (!d) return;
    identity_free(d->head);
    free(d);
}

void untagged_profiles(struct untagged *u, const struct profile *p, int n)
{
    pthread_mutex_lock(&u->lock);
    for (int i = 0; i < n; i++) {
        if (!strcmp(p[i].name, u->default_profile)) u->fallback = p[i].qoe;
        if (p[i].qoe.utility != QOE_LINEAR) continue;
        int v = 0;
        while (v < u->tasks && strcmp(u->task[v], p[i].name) != 0)
            v++;
        if (v == AUDIENCE_TASKS) continue;
        if (v == u->tasks) memcpy(u->task[u->tasks++], p[i].name, SERVICE_NAME);
        u->qoe[v] = p[i].qoe;
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- decisions ---- */

/* What holds in this slot, copied when the slot is another than last time. */
static void refresh(struct untagged_desk *d, struct untagged *u)
{
    if (d->told.slot == atomic_load(&u->slot)) return;
    pthread_mutex_lock(&u->lock);
    d->told = u->told;
    identity_copy(d->head, u->told_head);
    pthread_mutex_unlock(&u->lock);
}

bool untagged_hint(struct qoe *out, struct untagged *u, struct untagged_desk *d)
{
    refresh(d, u);
    if (d->told.hinted) *out = d->told.hint;
    return d->told.hinted;
}

void untagged_opened(struct untagged *u)
{
    pthread_mutex_lock(&u->lock);
    u->slot_sessions++;
    u->stats.sessions++;
    pthread_mutex_unlock(&u->lock);
}

/* What this viewer values on average: p(v | x, c) ~ p(v | x) p(v | c) over the shares that the
 * head has learned from. false: neither the head nor the content tells anything. */
static bool identify(struct qoe *out, struct untagged *u, struct untagged_desk *d,
                     const struct view *view, const char *content_id)
{
    const struct untagged_told *t = &d->told;
    double p[AUDIENCE_TASKS];
    uint64_t content = audience_content(u->audience, content_id);
    pthread_mutex_lock(&u->lock);
    bool known = audience_of(p, u->told_audience, content);
    pthread_mutex_unlock(&u->lock);
    if (!known && !t->taught) return false;

    if (t->taught) {
        feat_observe(d->obs, FEAT_BLIND, view);
        (void)identity_posterior(p, d->head, d->obs, p);
    }
    for (int v = 0; v < t->tasks; v++)
        p[v] *= t->sure[v];
    *out = untagged_hint_of(t, p);
    return true;
}

static bool decide_merged(struct verdict *out, struct untagged *u,
                          struct untagged_desk *d, const struct view *view)
{
    if (!u->merge.merged) return false;
    const struct weights *w = snap_get(u->merge.merged);
    bool ok = decide(out, w->swift, &d->merge, view, -1);
    snap_put(u->merge.merged, w);
    out->by = BY_MERGE;
    out->expert = -1; /* all of them */
    return ok;
}

bool untagged_decide(struct verdict *out, struct untagged *u, struct untagged_desk *d,
                     struct decider *decider, struct snap *router,
                     const struct view *view, const char *content_id)
{
    refresh(d, u);
    struct view asked = *view;
    enum untagged_by by = d->told.hinted ? BY_MEAN_HINT : BY_DEFAULT;
    if (d->told.hinted) asked.qoe = d->told.hint;
    if (u->cfg.mode == UNTAGGED_IDENTIFY && identify(&asked.qoe, u, d, view, content_id))
        by = BY_IDENTITY;
    /* a merge that is not finite is passed over */
    bool ok = u->cfg.mode == UNTAGGED_MERGE && decide_merged(out, u, d, &asked);
    if (!ok) {
        const struct weights *w = snap_get(router);
        ok = decide(out, w->swift, decider, &asked, -1);
        snap_put(router, w);
        out->by = by;
    }
    atomic_fetch_add_explicit(&u->decisions[out->by], 1, memory_order_relaxed);
    return ok;
}

/* ---- observations for the head ---- */

bool untagged_watches(const struct untagged *u, uint64_t key, int chunk)
{
    return rng_u64_at(~u->seed, key, (uint64_t)chunk) % UNTAGGED_SAMPLE == 0;
}

void untagged_watch(struct untagged *u, struct untagged_desk *d,
                    const uint8_t id[TRACK_ID], bool hinted, const struct view *view)
{
    feat_observe(d->obs, FEAT_BLIND, view);
    pthread_mutex_lock(&u->lock);
    struct watched *w = table_get(u->watched, id);
    if (!w && !(hinted && u->watched_hinted >= UNTAGGED_WATCHED / 2))
        w = table_put(u->watched, id, NULL);
    if (w) {
        u->watched_hinted += hinted - w->hinted;
        w->hinted = hinted;
        memcpy(w->obs, d->obs, sizeof w->obs);
    }
    pthread_mutex_unlock(&u->lock);
}

/* The caller holds the lock. */
static void unwatch(struct untagged *u, const uint8_t *id, const struct watched *w)
{
    u->watched_hinted -= w->hinted;
    table_delete(u->watched, id);
}

void untagged_unwatch(struct untagged *u, const uint8_t id[TRACK_ID])
{
    pthread_mutex_lock(&u->lock);
    const struct watched *w = table_get(u->watched, id);
    if (w) unwatch(u, id, w);
    pthread_mutex_unlock(&u->lock);
}

/* ---- what became of it; the caller holds the lock ---- */

static int task_of(const struct untagged *u, const char *name)
{
    for (int v = 0; v < u->told.tasks; v++)
        if (!strcmp(u->task[v], name)) return v;
    return -1;
}

/* What an address taught is remembered until the process ends. */
static void add_example(struct untagged *u, const float *obs, int task, uint64_t from)
{
    struct untagged_examples *x = &u->fresh;
    uint32_t *own =
        &u->taught_by[rng_u64_at(u->seed, from, UNTAGGED_SAMPLE) % AUDIENCE_BUCKETS];
    if (!audience_may_add(*own, u->taught_all, UNTAGGED_TEACHES)) {
        u->taught_refused++;
        return;
    }
    if (x->n == UNTAGGED_EXAMPLES) {
        u->stats.dropped++;
        return;
    }
    ++*own;
    u->taught_all++;
    memcpy(x->x + (size_t)x->n * FEAT_FULL_DIM, obs, FEAT_FULL_DIM * sizeof *obs);
    x->task[x->n++] = (int8_t)task;
}

static void add_chunk(struct untagged *u, const struct track_row *row,
                      const struct step *s)
{
    const double *ladder = row->ladder_kbps;
    double p[AUDIENCE_TASKS];
    (void)audience_of(p, u->told_audience,
                      audience_content(u->audience, row->content_id));

    double carried = (double)s->bytes * 8 / 1000 / s->download_s;
    for (int v = 0; v < u->told.tasks; v++) {
        const struct qoe *k = &u->told.qoe[v];
        struct qoe_range r =
            qoe_chunk_range(k, ladder, row->levels, row->chunk_s, carried);
        double got = qoe_chunk(k, ladder[s->level], ladder[s->last_level], s->rebuffer_s,
                               ladder[0])
                         .reward;
        u->sums.weight[v] += p[v];
        u->sums.gain[v] += p[v] * (got - r.low);
        u->sums.room[v] += p[v] * (r.high - r.low);
    }
}

void untagged_chunk(struct untagged *u, const struct track_row *row, const struct step *s)
{
    bool first = s->last_level < 0; /* its download is the start, not a stall */
    /* an empty chunk says nothing about the link, and the link's rate is divided by */
    if (track_by(s) != BY_MERGE || !(s->flags & STEP_FOLLOWED) || first || s->bytes <= 0)
        return;
    pthread_mutex_lock(&u->lock);
    if (s->policy == u->told.slot)
        add_chunk(u, row, s);
    else
        u->stats.late++;
    pthread_mutex_unlock(&u->lock);
}

void untagged_ended(struct untagged *u, const struct track_row *row)
{
    pthread_mutex_lock(&u->lock);
    uint64_t content = audience_content(u->audience, row->content_id);
    bool watched = row->followed >= UNTAGGED_WATCHED_CHUNKS;
    bool labelled = row->hinted ? !row->has_mu : row->labelled;
    int task = labelled ? task_of(u, row->profile) : -1;
    if (task >= 0 && watched)
        audience_label(u->audience, content, task, !row->hinted, row->from);
    else if (!row->hinted && watched)
        audience_unlabelled(u->audience, content, row->from);
    u->stats.labels += task >= 0 && !row->hinted;
    u->stats.labels_unwatched += labelled && !watched;

    struct watched *w = table_get(u->watched, row->id);
    if (w) {
        if (task >= 0 && watched) add_example(u, w->obs, task, row->from);
        unwatch(u, row->id, w);
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- time ---- */

int untagged_tick(struct untagged *u, double now)
{
    untagged_teach(u);
    pthread_mutex_lock(&u->lock);
    bool over = now >= u->told.since + u->cfg.slot_s || now < u->told.since;
    over |= u->cfg.slot_sessions && u->slot_sessions >= (uint64_t)u->cfg.slot_sessions;
    pthread_mutex_unlock(&u->lock);
    if (!over) return 0;

    struct err why = {0};
    int rc = untagged_save_ahead(u, &why);
    bool begun = !rc;
    if (begun) rc = untagged_turn(u, now, &why);
    if (!rc) rc = untagged_save(u, &why);
    if (rc) log_err(u->log, LOG_ERROR, "slot", &why);
    return begun;
}

void untagged_stats(struct untagged_stats *out, struct untagged *u)
{
    pthread_mutex_lock(&u->lock);
    *out = u->stats;
    for (int i = 0; i < BY_WAYS; i++)
        out->decisions[i] = atomic_load_explicit(&u->decisions[i], memory_order_relaxed);
    out->mode = u->cfg.mode;
    out->known = u->told.known;
    out->tasks = u->told.tasks;
    memcpy(out->task, u->task, sizeof out->task);
    memcpy(out->mix, u->told.mix, sizeof out->mix);
    out->labels_content =
        audience_refused(u->audience).content + (double)u->taught_refused;
    untagged_share_tell(out, &u->share);
    pthread_mutex_unlock(&u->lock);
}

struct grove_view *untagged_look(struct untagged *u, struct err *e)
{
    return u->merge.grove ? grove_look(u->merge.grove, e) : NULL;
}
