#include "growths_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"

enum { TRIES = 8 };

struct growths *growths_new(const struct growths_cfg *cfg, struct err *e)
{
    struct growths *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, ERR_MEMORY, "no memory for grown profiles");
        return NULL;
    }
    g->cfg = *cfg;
    g->looked = -INFINITY;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void growths_free(struct growths *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* ---- the list ---- */

int growths_read(struct added_wire *list, uint64_t *rev, struct growths *g, struct err *e)
{
    void *bytes;
    size_t n;
    struct board *b = &g->cfg.board;
    *list = (struct added_wire){0};
    *rev = 0;
    int rc = b->get(b->self, GROWTHS_KEY, &bytes, &n, rev, e);
    if (!rc && bytes) rc = added_wire_get(list, bytes, n, e);
    free(bytes);
    return rc;
}

int growths_put(const struct added_wire *list, uint64_t *rev, struct growths *g,
                struct err *e)
{
    void *bytes;
    size_t n;
    struct board *b = &g->cfg.board;
    int rc = added_wire_put(&bytes, &n, list, e);
    if (!rc) rc = b->put(b->self, GROWTHS_KEY, bytes, n, *rev, rev, e);
    free(bytes);
    if (!rc) growths_note(g, list);
    return rc;
}

void growths_note(struct growths *g, const struct added_wire *list)
{
    pthread_mutex_lock(&g->lock);
    g->n_wanted = 0;
    for (int i = 0; i < list->n; i++)
        if (!list->at[i].gone)
            memcpy(g->wanted[g->n_wanted++], list->at[i].name, SERVICE_NAME);
    g->stats.wanted = g->n_wanted;
    pthread_mutex_unlock(&g->lock);
}

bool growths_wanted(struct growths *g, const char *name)
{
    bool found = false;
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->n_wanted; i++)
        found = found || !strcmp(g->wanted[i], name);
    pthread_mutex_unlock(&g->lock);
    return found;
}

void growths_renew(struct growths *g)
{
    atomic_store(&g->renew, true);
}

void growths_stats(struct growths_stats *out, struct growths *g)
{
    pthread_mutex_lock(&g->lock);
    *out = g->stats;
    pthread_mutex_unlock(&g->lock);
}

static int add(struct growths *g, struct added_wire *list, const char *name,
               struct err *e)
{
    int n = added_wire_count(list);
    if (added_wire_find(list, name)) return 0;
    if (n >= g->cfg.max)
        return err_field(e, ERR_FULL, "grow",
                         "there are already %d grown profiles: delete one, or allow more "
                         "(--grow-max)",
                         n);
    if (list->n == ADDED_WIRE_MAX)
        return err_field(e, ERR_FULL, "grow",
                         "no learner has taken out those that were deleted: try later");
    struct added_wire_one *one = &list->at[list->n];
    *one = (struct added_wire_one){0};
    int rc = entropy_draw(&g->cfg.entropy, &one->id, sizeof one->id, e);
    if (rc) return rc;
    if (!one->id) one->id = 1;
    snprintf(one->name, sizeof one->name, "%s", name);
    list->n++;
    return 1;
}

static int mark(struct added_wire *list, const char *name)
{
    struct added_wire_one *one = added_wire_find(list, name);
    if (one) one->gone = true;
    return one != NULL;
}

/* Read, change, put - and again when another node was faster. */
static int change(struct growths *g, const char *name, bool want, struct err *e)
{
    struct added_wire *list = malloc(sizeof *list);
    if (!list) return err_set(e, ERR_MEMORY, "no memory for the grown profiles");
    int rc = ERR_CONFLICT;
    struct err why = {0};
    for (int i = 0; i < TRIES && rc == ERR_CONFLICT; i++) {
        uint64_t rev;
        why = (struct err){0};
        rc = growths_read(list, &rev, g, &why);
        if (!rc) rc = want ? add(g, list, name, &why) : mark(list, name);
        if (rc == 1) rc = growths_put(list, &rev, g, &why);
    }
    free(list);
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    g->cfg.board.call(g->cfg.board.self);
    return 0;
}

int growths_want(struct growths *g, const char *name, struct err *e)
{
    return change(g, name, true, e);
}

int growths_unwant(struct growths *g, const char *name, struct err *e)
{
    return change(g, name, false, e);
}

/* ---- what is published ---- */

static int fetch_part(void **out, struct growths *g, const struct added_wire_one *one,
                      enum added_wire_part part, struct err *e)
{
    char key[PIECES_KEY];
    const struct pieces *p = part == ADDED_WIRE_BASE      ? &one->base
                             : part == ADDED_WIRE_EXPERTS ? &one->experts
                                                          : &one->state;
    added_wire_key(key, one, part);
    return pieces_get(out, p, &g->cfg.board, key, ENVELOPE_GROWTH, ADDED_WIRE_FORM, e);
}

static struct policy *fetch_base(struct growths *g, const struct added_wire_one *one,
                                 struct err *e)
{
    void *bytes;
    if (fetch_part(&bytes, g, one, ADDED_WIRE_BASE, e)) return NULL;
    struct policy *p = ckpt_decode(bytes, one->base.bytes, NULL, NULL, NULL, e);
    free(bytes);
    const struct policy_cfg *is = &g->cfg.shape;
    if (!p || (p->cfg.obs_dim == is->obs_dim && p->cfg.actions == is->actions)) return p;
    err_set(e, ERR_INVALID,
            "were grown on a policy of %d inputs and %d levels; the one served has %d "
            "and %d",
            p->cfg.obs_dim, p->cfg.actions, is->obs_dim, is->actions);
    policy_free(p);
    return NULL;
}

static bool look_for(struct added_one *out, struct growths *g, uint64_t id)
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

int growths_fetch(struct growths *g, const struct added_wire_one *one, bool learner,
                  double now, struct err *e)
{
    struct added_one here;
    struct err why = {0};
    struct qoe qoe;
    void *bytes = NULL, *state = NULL;
    bool there = look_for(&here, g, one->id) && !learner;
    if (!g->cfg.profile(g->cfg.ctx, &qoe, one->name))
        return err_set(e, ERR_ABSENT, "are of a profile that is not known here");

    struct policy *base = there ? NULL : fetch_base(g, one, &why);
    struct policy_added *experts = NULL;
    if (there || base) {
        const struct policy_cfg *shape = there ? &here.base->cfg : &base->cfg;
        if (!fetch_part(&bytes, g, one, ADDED_WIRE_EXPERTS, &why))
            experts = added_wire_get_experts(shape, bytes, one->experts.bytes, &why);
    }
    if (experts && learner && one->state.bytes &&
        fetch_part(&state, g, one, ADDED_WIRE_STATE, &why) && why.code != ERR_IO) {
        log_event(g->cfg.log, LOG_ERROR, "grown",
                  "%s: %s: going on from the weights alone", one->name, why.detail);
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

void growths_called(struct growths *g)
{
    g->looked = -INFINITY;
}

static void growths_refuse(struct growths *g, const char *name, const struct err *why)
{
    log_event(
        g->cfg.log, LOG_ERROR, "grown",
        "the published experts of %s are refused, going on with what is at hand: %s",
        name, why->detail);
    pthread_mutex_lock(&g->lock);
    g->stats.refused++;
    pthread_mutex_unlock(&g->lock);
}

static void remove_others(struct growths *g)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++)
        if (!added_wire_of(&g->list, at[i].id)) added_remove(g->cfg.added, at[i].name);
}

/* 1: taken; 0: nothing to do, or refused; ERR_ABSENT, ERR_IO, ERR_CONFLICT: later. */
static int growths_take(struct growths *g, const struct added_wire_one *one, double now,
                        struct err *e)
{
    struct added_one here;
    struct err why = {0};
    if (one->gone || !one->version) return 0;
    if (look_for(&here, g, one->id) && here.version == one->version) return 0;
    int rc = growths_fetch(g, one, false, now, &why);
    if (rc == ERR_IO) return err_set(e, rc, "%s", why.detail);
    if (rc == ERR_ABSENT) return rc;
    if (rc) { /* or they were published anew while they were fetched */
        struct added_wire *is = malloc(sizeof *is);
        uint64_t rev = g->rev;
        int again = is ? growths_read(is, &rev, g, NULL) : ERR_MEMORY;
        free(is);
        if (again || rev != g->rev) return ERR_CONFLICT;
        if (g->rev != g->told) growths_refuse(g, one->name, &why);
        return 0;
    }
    log_event(g->cfg.log, LOG_INFO, "grown", "%s: version %llu, published %.3f s ago",
              one->name, (unsigned long long)one->version,
              fmax(now - one->published_at, 0));
    pthread_mutex_lock(&g->lock);
    g->stats.taken++;
    pthread_mutex_unlock(&g->lock);
    return 1;
}

int growths_follow(struct growths *g, bool wanted, double mono, double now, struct err *e)
{
    if (mono < g->looked + GROWTHS_LOOK_S) return 0;
    struct err why = {0};
    int rc = growths_read(&g->list, &g->rev, g, &why);
    if (rc && !g->rev) return err_set(e, rc, "%s", why.detail);
    g->looked = mono;
    if (atomic_exchange(&g->renew, false)) g->done = 0;
    if (g->rev == g->done) return 0;
    if (rc) {
        if (g->rev != g->told) growths_refuse(g, "all profiles", &why);
        g->told = g->done = g->rev;
        return 0;
    }
    growths_note(g, &g->list);
    if (!wanted || !g->rev) return 0; /* an empty board takes nothing away */
    remove_others(g);
    bool all = true;
    for (int i = 0; i < g->list.n; i++) {
        rc = growths_take(g, &g->list.at[i], now, e);
        if (rc < 0) all = false;
        if (rc == ERR_IO) return rc;
    }
    g->told = g->rev;
    if (all) g->done = g->rev;
    return 0;
}
