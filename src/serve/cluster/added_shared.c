#include "serve/cluster/added_shared.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/cluster/bus_wire.h"

enum { RESUME_TRIES = 4 };
static const double LIST_S =
    1; /* between two reads of the list, unless there is a call */
/* Versions without the list delete a profile and leave its experts: they go after this time. */
static const double ASTRAY_S = 10;

struct added_shared {
    struct added_shared_cfg cfg;
    /* of the thread of the turns */
    struct shared_value value; /* the list: its revision is value.rev */
    struct added_wire list;
    uint64_t term;  /* in which this process leads, or led */
    int n_given_up; /* published experts with which this leader cannot continue */
    uint64_t given_up[ADDED_WIRE_MAX];
    uint64_t astray;         /* one whose profile does not exist ... */
    double astray_at;        /* ... since then */
    bool newer;              /* a newer abrd wrote the list: the leader leaves it alone */
    double led_at, retry_at; /* retry_at: after an error */
    char trouble[128];       /* the leader's last one, which is logged once */
    pthread_mutex_t lock;    /* of what follows */
    int n_wanted;
    char wanted[ADDED_WIRE_MAX][SERVICE_NAME];
    uint64_t taken;
};

/* ---- the list ---- */

static int list_read(struct added_shared *g, struct err *e)
{
    return shared_value_get(&g->list, NULL, &g->value.rev, &added_wire_list_kind,
                            &g->cfg.bucket, NULL, e);
}

static void list_note(struct added_shared *g, const struct added_wire *list)
{
    pthread_mutex_lock(&g->lock);
    g->n_wanted = 0;
    for (int i = 0; i < list->n; i++)
        if (!list->at[i].gone)
            memcpy(g->wanted[g->n_wanted++], list->at[i].name, SERVICE_NAME);
    pthread_mutex_unlock(&g->lock);
}

static int list_put(struct added_shared *g, struct err *e)
{
    int rc = shared_value_put(&g->value.rev, &g->list, &added_wire_list_kind,
                              &g->cfg.bucket, NULL, e);
    if (!rc) list_note(g, &g->list);
    return rc;
}

bool added_shared_wanted(struct added_shared *g, const char *name)
{
    bool found = false;
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->n_wanted; i++)
        found = found || !strcmp(g->wanted[i], name);
    pthread_mutex_unlock(&g->lock);
    return found;
}

void added_shared_stats(struct cluster_stats *out, struct added_shared *g)
{
    pthread_mutex_lock(&g->lock);
    out->added_wanted = g->n_wanted;
    out->added_taken = g->taken;
    pthread_mutex_unlock(&g->lock);
    out->added_refused = atomic_load(&g->value.refused);
}

void added_shared_renew(struct added_shared *g)
{
    shared_value_renew(&g->value);
}

struct list_change {
    struct added_shared *g;
    const char *name;
};

static int list_add(void *ctx, void *value, bool there, struct err *e)
{
    const struct list_change *c = ctx;
    struct added_wire *list = value;
    int n = added_wire_count(list);
    (void)there;
    if (added_wire_find(list, c->name)) return 0;
    if (n >= c->g->cfg.max)
        return err_field(e, ERR_FULL, "grow",
                         "there are already %d added profiles: delete one, or allow more "
                         "(--grow-max)",
                         n);
    if (list->n == ADDED_WIRE_MAX)
        return err_field(e, ERR_FULL, "grow",
                         "no learner has removed the deleted profiles yet: try later");
    struct added_wire_one *one = &list->at[list->n];
    *one = (struct added_wire_one){0};
    int rc = entropy_draw(&c->g->cfg.entropy, &one->id, sizeof one->id, e);
    if (rc) return rc;
    if (!one->id) one->id = 1;
    snprintf(one->name, sizeof one->name, "%s", c->name);
    list->n++;
    return 1;
}

static int list_mark_gone(void *ctx, void *value, bool there, struct err *e)
{
    const struct list_change *c = ctx;
    struct added_wire_one *one = added_wire_find(value, c->name);
    (void)there;
    (void)e;
    if (one) one->gone = true;
    return one != NULL;
}

static int list_change(struct added_shared *g, const char *name,
                       int (*change)(void *, void *, bool, struct err *), struct err *e)
{
    struct list_change c = {g, name};
    uint64_t rev;
    struct added_wire *list = malloc(sizeof *list);
    if (!list) return err_set(e, ERR_MEMORY, "no memory for the list of added profiles");
    int rc = shared_value_change(list, &rev, &added_wire_list_kind, &g->cfg.bucket,
                                 change, &c, e);
    if (!rc) list_note(g, list);
    free(list);
    if (!rc) g->cfg.bucket.call(g->cfg.bucket.self);
    return rc;
}

int added_shared_want(struct added_shared *g, const char *name, struct err *e)
{
    return list_change(g, name, list_add, e);
}

int added_shared_unwant(struct added_shared *g, const char *name, struct err *e)
{
    return list_change(g, name, list_mark_gone, e);
}

/* ---- what is published ---- */

static int part_get(void **out, struct added_shared *g, const struct added_wire_one *one,
                    enum added_wire_part part, struct err *e)
{
    char key[PIECES_KEY];
    const struct pieces *p = part == ADDED_WIRE_BASE      ? &one->base
                             : part == ADDED_WIRE_EXPERTS ? &one->experts
                                                          : &one->state;
    added_wire_key(key, one, part);
    return pieces_get(out, p, &g->cfg.bucket, key, ENVELOPE_GROWTH, ADDED_WIRE_FORM, e);
}

static struct policy *base_get(struct added_shared *g, const struct added_wire_one *one,
                               struct err *e)
{
    void *bytes;
    if (part_get(&bytes, g, one, ADDED_WIRE_BASE, e)) return NULL;
    struct policy *p = ckpt_decode(bytes, one->base.bytes, NULL, NULL, NULL, e);
    free(bytes);
    const struct policy_cfg *is = &g->cfg.shape;
    if (!p || (p->cfg.obs_dim == is->obs_dim && p->cfg.actions == is->actions)) return p;
    err_set(e, ERR_INVALID,
            "they need a policy of %d inputs and %d levels; this one has %d and %d",
            p->cfg.obs_dim, p->cfg.actions, is->obs_dim, is->actions);
    policy_free(p);
    return NULL;
}

static bool added_here(struct added_one *out, struct added_shared *g, uint64_t id)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++)
        if (at[i].id == id) {
            *out = at[i];
            return true;
        }
    return false;
}

/* Gets the experts of one and installs them; a base policy that is here is not fetched again.
 * learner: with the state of what learns, and all of it. */
static int experts_get(struct added_shared *g, const struct added_wire_one *one,
                       bool learner, double now, struct err *e)
{
    struct added_one here;
    struct err why = {0};
    struct qoe qoe;
    void *bytes = NULL, *state = NULL;
    bool there = added_here(&here, g, one->id) && !learner;
    if (!g->cfg.profile(g->cfg.ctx, &qoe, one->name))
        return err_set(e, ERR_ABSENT, "their profile does not exist here");

    struct policy *base = there ? NULL : base_get(g, one, &why);
    struct policy_added *experts = NULL;
    if (there || base) {
        const struct policy_cfg *shape = there ? &here.base->cfg : &base->cfg;
        if (!part_get(&bytes, g, one, ADDED_WIRE_EXPERTS, &why))
            experts = added_wire_get_experts(shape, bytes, one->experts.bytes, &why);
    }
    if (experts && learner && one->state.bytes &&
        part_get(&state, g, one, ADDED_WIRE_STATE, &why) && why.code != ERR_IO) {
        log_event(g->cfg.log, LOG_ERROR, "grown",
                  "%s: the learner's state cannot be used, only the weights: %s",
                  one->name, why.detail);
        why = (struct err){0};
    }
    struct added_taken t = {.name = one->name,
                            .id = one->id,
                            .qoe = &qoe,
                            .base = base,
                            .experts = experts,
                            .published_at = one->published_at,
                            .score = one->score,
                            .base_score = one->base_score,
                            .position = one->position,
                            .state = state,
                            .state_n = one->state.bytes};
    if (!why.code)
        (void)!added_take(g->cfg.added, &t, now, &why);
    else
        policy_free(base);
    policy_added_free(experts);
    free(bytes);
    free(state);
    return why.code ? err_field(e, why.code, why.field, "%s", why.detail) : 0;
}

/* ---- nodes that decide ---- */

/* Removes what the list does not have. */
static void remove_unlisted(struct added_shared *g)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++)
        if (!added_wire_of(&g->list, at[i].id)) added_remove(g->cfg.added, at[i].name);
}

/* Is the list still the one that was read? Then what cannot be used is damaged, and not replaced. */
static bool list_is_same(struct added_shared *g)
{
    struct added_wire *is = malloc(sizeof *is);
    uint64_t rev;
    int rc = is ? shared_value_get(is, NULL, &rev, &added_wire_list_kind, &g->cfg.bucket,
                                   NULL, NULL)
                : ERR_MEMORY;
    free(is);
    return !rc && rev == g->value.rev;
}

/* 0: used, nothing to do, or refused; 1: try again later. */
static int experts_take(struct added_shared *g, const struct added_wire_one *one,
                        uint64_t refused_rev, double now, struct err *e)
{
    struct added_one here;
    struct err why = {0};
    if (one->gone || !one->version) return 0;
    if (added_here(&here, g, one->id) && here.version == one->version) return 0;
    int rc = experts_get(g, one, false, now, &why);
    if (rc == ERR_IO) return err_set(e, rc, "%s", why.detail);
    if (rc == ERR_ABSENT || (rc && !list_is_same(g))) return 1;
    if (rc) {
        char what[SERVICE_NAME + 80];
        snprintf(what, sizeof what,
                 "the experts of %s are refused, the node keeps what it has", one->name);
        g->value.refused_rev = refused_rev; /* each profile of a revision once */
        shared_value_refuse(&g->value, g->cfg.log, "grown", what, &why);
        return 0;
    }
    log_event(g->cfg.log, LOG_INFO, "grown", "%s: version %llu, published %.3f s ago",
              one->name, (unsigned long long)one->version,
              fmax(now - one->published_at, 0));
    pthread_mutex_lock(&g->lock);
    g->taken++;
    pthread_mutex_unlock(&g->lock);
    return 0;
}

static int list_take(void *ctx, struct shared_value *v, const struct err *wrong,
                     struct err *e)
{
    struct added_shared *g = ctx;
    uint64_t refused_rev = v->refused_rev;
    int later = 0;
    if (wrong) {
        shared_value_refuse(v, g->cfg.log, "grown",
                            "the list of added profiles is refused, the node keeps what "
                            "it has",
                            wrong);
        return 0;
    }
    list_note(g, &g->list);
    if (!g->cfg.decides || !v->rev) return 0; /* an empty bucket removes nothing */
    remove_unlisted(g);
    for (int i = 0; i < g->list.n; i++) {
        int rc = experts_take(g, &g->list.at[i], refused_rev, v->now, e);
        if (rc < 0) return rc;
        later = later || rc;
    }
    return later;
}

struct shared_value *added_shared_value(struct added_shared *g)
{
    return &g->value;
}

void added_shared_called(struct added_shared *g)
{
    shared_value_called(&g->value);
    g->led_at = -INFINITY;
}

/* ---- beginning to lead ---- */

/* A trouble that stays is logged once. */
static void log_trouble(struct added_shared *g, const char *name, const struct err *why)
{
    char now[sizeof g->trouble];
    snprintf(now, sizeof now, "%.40s: %.80s", name, why->detail);
    log_event(g->cfg.log, strcmp(now, g->trouble) ? LOG_ERROR : LOG_DEBUG, "grown",
              "%s: %s", name, why->detail);
    memcpy(g->trouble, now, sizeof now);
}

/* Lists what this process has, in a bucket that has nothing. */
static int list_own(struct added_shared *g, struct err *e)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++) {
        if (!at[i].id) {
            int rc = entropy_draw(&g->cfg.entropy, &at[i].id, sizeof at[i].id, e);
            if (rc) return rc;
            added_set_id(g->cfg.added, at[i].name, at[i].id);
        }
        struct added_wire_one *one = &g->list.at[g->list.n++];
        *one = (struct added_wire_one){.id = at[i].id};
        memcpy(one->name, at[i].name, sizeof one->name);
    }
    added_forget(g->cfg.added); /* positions of another stream */
    return 0;
}

static bool is_given_up(const struct added_shared *g, uint64_t id)
{
    for (int i = 0; i < g->n_given_up; i++)
        if (g->given_up[i] == id) return true;
    return false;
}

/* Continues from what was published of one. Experts that cannot be read stay published, but learn no
 * more. A profile that does not exist yet may be put in a moment. */
static int experts_resume(struct added_shared *g, const struct added_wire_one *one,
                          double now, struct err *e)
{
    struct err why = {0};
    int rc = experts_get(g, one, true, now, &why);
    if (rc == ERR_IO || rc == ERR_MEMORY) return err_set(e, rc, "%s", why.detail);
    if (!rc) return 0;
    added_remove(g->cfg.added, one->name);
    if (rc == ERR_ABSENT) return 0;
    log_event(g->cfg.log, LOG_ERROR, "grown",
              "the published experts of %s learn no more: %s", one->name, why.detail);
    if (g->n_given_up < ADDED_WIRE_MAX) g->given_up[g->n_given_up++] = one->id;
    return 0;
}

static int resume_all(struct added_shared *g, double now, struct err *e)
{
    remove_unlisted(g);
    for (int i = 0; i < g->list.n; i++) {
        const struct added_wire_one *one = &g->list.at[i];
        int rc = one->gone || !one->version ? 0 : experts_resume(g, one, now, e);
        if (rc) return rc;
    }
    return 0;
}

static int resume_once(struct added_shared *g, uint64_t term, double now, struct err *e)
{
    struct err why = {0};
    g->n_given_up = 0;
    int rc = list_read(g, &why);
    g->newer = rc == ERR_RANGE;
    if (g->newer) {
        log_trouble(g, "the list of added profiles stays as it is", &why);
        return 0;
    }
    if (rc == ERR_IO || rc == ERR_MEMORY) return err_set(e, rc, "%s", why.detail);
    if (rc) log_trouble(g, "the list of added profiles begins anew", &why);
    rc = rc || !g->value.rev ? list_own(g, e) : resume_all(g, now, e);
    if (rc || (!g->value.rev && !g->list.n)) return rc;
    g->list.term = term; /* from now on the leader before puts nothing */
    return list_put(g, e);
}

int added_shared_resume(struct added_shared *g, uint64_t term, uint64_t position,
                        double now, struct err *e)
{
    struct err why = {0};
    int rc = ERR_CONFLICT;
    for (int i = 0; i < RESUME_TRIES && rc == ERR_CONFLICT; i++) {
        why = (struct err){0};
        rc = resume_once(g, term, now, &why);
    }
    if (rc) return err_set(e, rc, "%s", why.detail);
    added_rewind(g->cfg.added, position);
    g->term = term;
    shared_value_renew(&g->value);
    added_shared_called(g);
    return 0;
}

/* ---- leading ---- */

static bool part_drop(struct added_shared *g, const struct added_wire_one *one,
                      enum added_wire_part part, int parts)
{
    char key[PIECES_KEY];
    added_wire_key(key, one, part);
    return pieces_drop(&g->cfg.bucket, key, parts);
}

/* The pieces of both slots. */
static bool slots_drop(struct added_shared *g, struct added_wire_one one)
{
    bool done = true;
    for (one.slot = 0; one.slot < 2; one.slot++)
        done = done && part_drop(g, &one, ADDED_WIRE_EXPERTS, one.experts.parts) &&
               part_drop(g, &one, ADDED_WIRE_STATE, one.state.parts);
    return done;
}

/* Removes the deleted ones: true when the list has changed. */
static bool remove_gone(struct added_shared *g)
{
    int kept = 0, n = g->list.n;
    for (int i = 0; i < n; i++) {
        const struct added_wire_one one = g->list.at[i];
        bool done = one.gone && slots_drop(g, one) &&
                    part_drop(g, &one, ADDED_WIRE_BASE, one.base.parts);
        if (!done) g->list.at[kept++] = one;
    }
    g->list.n = kept;
    return kept < n;
}

static void experts_make(struct added_shared *g, const struct added_wire_one *one,
                         const struct qoe *qoe, double now)
{
    struct err why = {0};
    added_remove(g->cfg.added, one->name); /* of a deleted profile of that name */
    const struct weights *w = published_get(g->cfg.published);
    struct policy *base = policy_clone(w->policy, &why);
    published_put(g->cfg.published, w);
    int rc = base ? added_add(g->cfg.added, one->id, one->name, qoe, base, now, &why)
                  : ERR_MEMORY;
    if (rc < 0)
        log_trouble(g, one->name, &why);
    else
        log_event(g->cfg.log, LOG_INFO, "grown", "%s has new experts", one->name);
}

/* Experts for profiles that have none here: new ones, or those that were published. */
static int experts_make_all(struct added_shared *g, double now, struct err *e)
{
    for (int i = 0; i < g->list.n; i++) {
        const struct added_wire_one *one = &g->list.at[i];
        struct qoe qoe;
        int rc = 0;
        if (one->gone || added_tag_of(g->cfg.added, one->id) >= 0 ||
            is_given_up(g, one->id) || !g->cfg.profile(g->cfg.ctx, &qoe, one->name))
            continue;
        if (one->version)
            rc = experts_resume(g, one, now, e);
        else
            experts_make(g, one, &qoe, now);
        if (rc) return rc;
    }
    return 0;
}

/* Do the common settings have a profile of that name, even if this process could not use it? True
 * also when they cannot be read. */
static bool profile_is_common(struct added_shared *g, const char *name)
{
    uint64_t rev;
    struct bus_wire_common *c = calloc(1, sizeof *c);
    bool known = !c || shared_value_get(c, NULL, &rev, &bus_wire_common_kind,
                                        &g->cfg.bucket, NULL, NULL);
    for (int i = 0; !known && i < c->n; i++)
        known = !strcmp(c->profile[i].name, name);
    free(c);
    return known;
}

/* Marks the first one without a profile as deleted, when it has none for a while: true. */
static bool mark_astray(struct added_shared *g, double mono)
{
    struct added_wire_one *found = NULL;
    struct qoe unused;
    for (int i = 0; i < g->list.n && !found; i++)
        if (!g->list.at[i].gone &&
            !g->cfg.profile(g->cfg.ctx, &unused, g->list.at[i].name))
            found = &g->list.at[i];
    uint64_t id = found ? found->id : 0;
    if (id != g->astray) g->astray_at = mono;
    g->astray = id;
    if (!found || mono < g->astray_at + ASTRAY_S || profile_is_common(g, found->name))
        return false;
    found->gone = true;
    return true;
}

static int part_put(struct pieces *out, struct added_shared *g,
                    const struct added_wire_one *one, enum added_wire_part part,
                    const void *bytes, size_t n, struct err *e)
{
    char key[PIECES_KEY];
    added_wire_key(key, one, part);
    return pieces_put(out, &g->cfg.bucket, key, ENVELOPE_GROWTH, ADDED_WIRE_FORM, bytes,
                      n, e);
}

static int base_put(struct added_wire_one *one, struct added_shared *g,
                    const struct policy *base, struct err *e)
{
    void *bytes;
    size_t n;
    one->base_term = g->term;
    int rc = ckpt_encode(&bytes, &n, base, NULL, NULL, 0, e);
    if (rc) return rc;
    rc = part_put(&one->base, g, one, ADDED_WIRE_BASE, bytes, n, e);
    free(bytes);
    return rc;
}

static int experts_and_state_put(struct added_wire_one *one, struct added_shared *g,
                                 const struct policy_added *experts, struct err *e)
{
    void *new = NULL, *state = NULL;
    size_t n, state_n;
    int rc = added_wire_put_experts(&new, &n, experts, e);
    if (!rc) rc = added_state(&state, &state_n, g->cfg.added, one->id, e);
    if (!rc) rc = part_put(&one->experts, g, one, ADDED_WIRE_EXPERTS, new, n, e);
    if (!rc) rc = part_put(&one->state, g, one, ADDED_WIRE_STATE, state, state_n, e);
    free(state);
    free(new);
    return rc;
}

/* *one says then where the pieces are. */
static int experts_publish(struct added_wire_one *one, struct added_shared *g,
                           const struct added_one *is, double now, struct err *e)
{
    one->slot = one->version && one->term == g->term ? !one->slot : 0;
    one->term = g->term;
    one->position = is->position;
    one->published_at = now;
    one->score = is->score;
    one->base_score = is->base_score;
    int rc = one->version ? 0 : base_put(one, g, is->base, e);
    if (!rc) rc = experts_and_state_put(one, g, is->experts, e);
    one->version = is->version;
    return rc;
}

/* 1: the list has newer ones. was[i]: its entry before, when another leader put its pieces. */
static int publish_all(struct added_shared *g, struct added_wire_one was[SERVICE_ADDED],
                       double now, struct err *e)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added), changed = 0;
    for (int i = 0; i < n; i++) {
        struct added_wire_one *one = added_wire_of(&g->list, at[i].id);
        was[i] = (struct added_wire_one){0};
        if (!one) {
            added_remove(g->cfg.added, at[i].name);
        } else if (one->version != at[i].version) {
            struct added_wire_one next = *one;
            int rc = experts_publish(&next, g, &at[i], now, e);
            if (rc) return rc;
            if (one->version && one->term != g->term) was[i] = *one;
            *one = next;
            changed = 1;
        }
    }
    return changed;
}

/* Are there experts here that the list, as it was read last, does not have? */
static bool has_unpublished(struct added_shared *g)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++) {
        const struct added_wire_one *one = added_wire_of(&g->list, at[i].id);
        if (!one || one->version != at[i].version) return true;
    }
    return false;
}

static int lead_once(struct added_shared *g, double mono, double now, struct err *e)
{
    struct added_wire_one was[SERVICE_ADDED] = {0};
    int rc = list_read(g, e);
    if (rc) return rc;
    if (g->list.term > g->term)
        return err_set(e, ERR_CONFLICT, "another learner publishes the added profiles");
    if (!g->value.rev) { /* the bucket is a new one */
        rc = list_own(g, e);
        if (rc) return rc;
    }
    list_note(g, &g->list);
    rc = experts_make_all(g, now, e);
    int changed = rc ? rc : publish_all(g, was, now, e);
    if (changed < 0) return changed;
    if (mark_astray(g, mono)) changed = 1;
    if (remove_gone(g)) changed = 1;
    if (!changed) return 0;
    g->list.term = g->term;
    rc = list_put(g, e);
    if (rc) return rc;
    g->cfg.bucket.call(g->cfg.bucket.self);
    for (int i = 0; i < SERVICE_ADDED; i++)
        if (was[i].version) (void)slots_drop(g, was[i]); /* of the leader before */
    return 0;
}

int added_shared_lead(struct added_shared *g, double mono, double now, struct err *e)
{
    if (g->newer || mono < g->retry_at) return 0;
    if (mono < g->led_at + LIST_S && !has_unpublished(g)) return 0;
    struct err why = {0};
    int rc = lead_once(g, mono, now, &why);
    g->led_at = mono;
    g->retry_at = rc && rc != ERR_CONFLICT ? mono + LIST_S : mono;
    if (!rc) return 0;
    g->list = (struct added_wire){0}; /* it may not be what the bucket has */
    if (rc != ERR_IO) log_trouble(g, "not published", &why);
    return err_set(e, rc, "%s", why.detail);
}

struct added_shared *added_shared_new(const struct added_shared_cfg *cfg, struct err *e)
{
    struct added_shared *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for the added profiles");
        return NULL;
    }
    g->cfg = *cfg;
    g->led_at = -INFINITY;
    g->value = (struct shared_value){.kind = &added_wire_list_kind,
                                     .bucket = cfg->bucket,
                                     .value = &g->list,
                                     .every_s = LIST_S,
                                     .followers_only = true,
                                     .take = list_take,
                                     .ctx = g};
    shared_value_init(&g->value);
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void added_shared_free(struct added_shared *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    free(g);
}
