/* What the learner that leads does about profiles that grow: makes, publishes, takes out. */
#include "growths_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/cluster/bus_wire.h"
#include "serve/cluster/follow.h"

enum { TRIES = 4 };
/* A node of before added_wire.h deletes a profile without a word about its experts. */
static const double ASTRAY_S = 10;

/* A trouble that stays is told once. */
static void say(struct growths *g, const char *name, const struct err *why)
{
    char now[sizeof g->said];
    snprintf(now, sizeof now, "%.40s: %.80s", name, why->detail);
    log_event(g->cfg.log, strcmp(now, g->said) ? LOG_ERROR : LOG_DEBUG, "grown", "%s: %s",
              name, why->detail);
    memcpy(g->said, now, sizeof now);
}

/* ---- beginning to lead ---- */

/* What this one has itself, on a board that has nothing. */
static int list_own(struct growths *g, struct err *e)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++) {
        if (!at[i].id) {
            int rc = entropy_draw(&g->cfg.entropy, &at[i].id, sizeof at[i].id, e);
            if (rc) return rc;
            added_christen(g->cfg.added, at[i].name, at[i].id);
        }
        struct added_wire_one *one = &g->list.at[g->list.n++];
        *one = (struct added_wire_one){.id = at[i].id};
        memcpy(one->name, at[i].name, sizeof one->name);
    }
    added_forget(g->cfg.added); /* places of another stream */
    return 0;
}

static bool given_up(const struct growths *g, uint64_t id)
{
    for (int i = 0; i < g->n_given_up; i++)
        if (g->given_up[i] == id) return true;
    return false;
}

/* Goes on from what was published of one. What cannot be read, now or later, is published still, but
 * learns no more; a profile that is not known yet may be so in a moment. */
static int take_one(struct growths *g, const struct added_wire_one *one, double now,
                    struct err *e)
{
    struct err why = {0};
    int rc = growths_fetch(g, one, true, now, &why);
    if (rc == ERR_IO || rc == ERR_MEMORY) return err_set(e, rc, "%s", why.detail);
    if (!rc) return 0;
    added_remove(g->cfg.added, one->name);
    if (rc == ERR_ABSENT) return 0;
    log_event(g->cfg.log, LOG_ERROR, "grown",
              "the published experts of %s do not learn on: %s", one->name, why.detail);
    if (g->n_given_up < ADDED_WIRE_MAX) g->given_up[g->n_given_up++] = one->id;
    return 0;
}

/* What was published, instead of what is here. */
static int take_all(struct growths *g, double now, struct err *e)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++)
        if (!added_wire_of(&g->list, at[i].id)) added_remove(g->cfg.added, at[i].name);
    for (int i = 0; i < g->list.n; i++) {
        const struct added_wire_one *one = &g->list.at[i];
        int rc = one->gone || !one->version ? 0 : take_one(g, one, now, e);
        if (rc) return rc;
    }
    return 0;
}

static int resume(struct growths *g, uint64_t term, double now, struct err *e)
{
    struct err why = {0};
    g->n_given_up = 0;
    int rc = growths_read(&g->list, &g->rev, g, &why);
    g->blind = rc == ERR_RANGE;
    if (g->blind || rc == ERR_IO || rc == ERR_MEMORY) {
        if (g->blind) say(g, "grown profiles stay as they are", &why);
        return g->blind ? 0 : err_set(e, rc, "%s", why.detail);
    }
    if (rc) { /* trying again would not mend it */
        say(g, "begins anew", &why);
        g->list = (struct added_wire){0};
    }
    if (rc || !g->rev)
        rc = list_own(g, e);
    else
        rc = take_all(g, now, e);
    if (rc || (!g->rev && !g->list.n)) return rc;
    g->list.term = term; /* who led before puts nothing from now on */
    return growths_put(&g->list, &g->rev, g, e);
}

int growths_resume(struct growths *g, uint64_t term, uint64_t position, double now,
                   struct err *e)
{
    struct err why = {0};
    int rc = ERR_CONFLICT;
    for (int i = 0; i < TRIES && rc == ERR_CONFLICT; i++) {
        why = (struct err){0};
        rc = resume(g, term, now, &why);
    }
    if (rc) return err_set(e, rc, "%s", why.detail);
    added_rewind(g->cfg.added, position);
    g->term = term;
    g->done = 0;
    growths_called(g);
    return 0;
}

/* ---- leading ---- */

static bool drop_part(struct growths *g, const struct added_wire_one *one,
                      enum added_wire_part part, int parts)
{
    char key[PIECES_KEY];
    added_wire_key(key, one, part);
    return pieces_drop(&g->cfg.board, key, parts);
}

/* The pieces of both slots. */
static bool drop_slots(struct growths *g, struct added_wire_one one)
{
    bool done = true;
    for (one.slot = 0; one.slot < 2; one.slot++)
        done = done && drop_part(g, &one, ADDED_WIRE_EXPERTS, one.experts.parts) &&
               drop_part(g, &one, ADDED_WIRE_STATE, one.state.parts);
    return done;
}

/* Those that were deleted: true when the list has changed. */
static bool take_out(struct growths *g)
{
    int kept = 0, n = g->list.n;
    for (int i = 0; i < n; i++) {
        const struct added_wire_one one = g->list.at[i];
        bool done = one.gone && drop_slots(g, one) &&
                    drop_part(g, &one, ADDED_WIRE_BASE, one.base.parts);
        if (!done) g->list.at[kept++] = one;
    }
    g->list.n = kept;
    return kept < n;
}

static void make_one(struct growths *g, const struct added_wire_one *one,
                     const struct qoe *qoe, double now)
{
    struct err why = {0};
    added_remove(g->cfg.added, one->name); /* another growth of that name */
    const struct weights *w = published_get(g->cfg.published);
    struct policy *base = policy_clone(w->policy, &why);
    published_put(g->cfg.published, w);
    int rc = base ? added_add(g->cfg.added, one->id, one->name, qoe, base, now, &why)
                  : ERR_MEMORY;
    if (rc < 0)
        say(g, one->name, &why);
    else
        log_event(g->cfg.log, LOG_INFO, "grown", "%s has new experts", one->name);
}

/* Experts for those who have none here: new ones, or those that were published. */
static int growths_lead_make(struct growths *g, double now, struct err *e)
{
    for (int i = 0; i < g->list.n; i++) {
        const struct added_wire_one *one = &g->list.at[i];
        struct qoe qoe;
        int rc = 0;
        if (one->gone || added_tag_of(g->cfg.added, one->id) >= 0 ||
            given_up(g, one->id) || !g->cfg.profile(g->cfg.ctx, &qoe, one->name))
            continue;
        if (one->version)
            rc = take_one(g, one, now, e);
        else
            make_one(g, one, &qoe, now);
        if (rc) return rc;
    }
    return 0;
}

/* Do all know a profile of that name, even if this process could not take it? True also when nobody
 * can say. */
static bool is_common(struct growths *g, const char *name)
{
    void *bytes = NULL;
    size_t n;
    uint64_t rev;
    struct board *b = &g->cfg.board;
    struct bus_wire_common *c = calloc(1, sizeof *c);
    bool known = !c || b->get(b->self, FOLLOW_COMMON, &bytes, &n, &rev, NULL);
    if (!known && bytes) known = bus_wire_get_common(c, bytes, n, NULL) != 0;
    for (int i = 0; !known && i < c->n; i++)
        known = !strcmp(c->profile[i].name, name);
    free(bytes);
    free(c);
    return known;
}

/* The first one without a profile, when it has been so for a while: 1, it is marked as deleted. */
static int mark_astray(struct growths *g, double mono)
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
    if (!found || mono < g->astray_at + ASTRAY_S || is_common(g, found->name)) return 0;
    found->gone = true;
    return 1;
}

static int put_part(struct pieces *out, struct growths *g,
                    const struct added_wire_one *one, enum added_wire_part part,
                    const void *bytes, size_t n, struct err *e)
{
    char key[PIECES_KEY];
    added_wire_key(key, one, part);
    return pieces_put(out, &g->cfg.board, key, ENVELOPE_GROWTH, ADDED_WIRE_FORM, bytes, n,
                      e);
}

static int put_base(struct added_wire_one *one, struct growths *g,
                    const struct policy *base, struct err *e)
{
    void *bytes;
    size_t n;
    one->base_term = g->term;
    int rc = ckpt_encode(&bytes, &n, base, NULL, NULL, 0, e);
    if (rc) return rc;
    rc = put_part(&one->base, g, one, ADDED_WIRE_BASE, bytes, n, e);
    free(bytes);
    return rc;
}

static int put_rest(struct added_wire_one *one, struct growths *g,
                    const struct policy_added *experts, struct err *e)
{
    void *new = NULL, *state = NULL;
    size_t n, state_n;
    int rc = added_wire_put_experts(&new, &n, experts, e);
    if (!rc) rc = added_state(&state, &state_n, g->cfg.added, one->id, e);
    if (!rc) rc = put_part(&one->experts, g, one, ADDED_WIRE_EXPERTS, new, n, e);
    if (!rc) rc = put_part(&one->state, g, one, ADDED_WIRE_STATE, state, state_n, e);
    free(state);
    free(new);
    return rc;
}

/* Into *one, which then says where it lies. */
static int growths_lead_publish(struct added_wire_one *one, struct growths *g,
                                const struct added_one *is, double now, struct err *e)
{
    one->slot = one->version && one->term == g->term ? !one->slot : 0;
    one->term = g->term;
    one->position = is->position;
    one->published_at = now;
    one->score = is->score;
    one->base_score = is->base_score;
    int rc = one->version ? 0 : put_base(one, g, is->base, e);
    if (!rc) rc = put_rest(one, g, is->experts, e);
    one->version = is->version;
    return rc;
}

/* 1: *list has newer ones; what they were before is in was[i], version 0: nothing to drop. */
static int publish_all(struct growths *g, struct added_wire_one was[SERVICE_ADDED],
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
            int rc = growths_lead_publish(&next, g, &at[i], now, e);
            if (rc) return rc;
            if (one->version && one->term != g->term) was[i] = *one;
            *one = next;
            changed = 1;
        }
    }
    return changed;
}

/* Is something here that the list, as it was read last, does not say? */
static bool news(struct growths *g)
{
    struct added_one at[SERVICE_ADDED];
    int n = added_look(at, g->cfg.added);
    for (int i = 0; i < n; i++) {
        const struct added_wire_one *one = added_wire_of(&g->list, at[i].id);
        if (!one || one->version != at[i].version) return true;
    }
    return false;
}

static int turn(struct growths *g, double mono, double now, struct err *e)
{
    struct added_wire_one was[SERVICE_ADDED] = {0};
    int rc = growths_read(&g->list, &g->rev, g, e);
    if (rc) return rc;
    if (g->list.term > g->term)
        return err_set(e, ERR_CONFLICT, "another learner makes the grown profiles");
    if (!g->rev) { /* the board was made anew */
        rc = list_own(g, e);
        if (rc) return rc;
    }
    growths_note(g, &g->list);
    rc = growths_lead_make(g, now, e);
    int changed = rc ? rc : publish_all(g, was, now, e);
    if (changed < 0) return changed;
    if (mark_astray(g, mono)) changed = 1;
    if (take_out(g)) changed = 1;
    if (!changed) return 0;
    g->list.term = g->term;
    rc = growths_put(&g->list, &g->rev, g, e);
    if (rc) return rc;
    g->cfg.board.call(g->cfg.board.self);
    for (int i = 0; i < SERVICE_ADDED; i++)
        if (was[i].version) (void)drop_slots(g, was[i]); /* of the learner before */
    return 0;
}

int growths_lead(struct growths *g, double mono, double now, struct err *e)
{
    if (g->blind || (mono < g->looked + GROWTHS_LOOK_S && !news(g))) return 0;
    if (mono < g->retry) return 0;
    struct err why = {0};
    int rc = turn(g, mono, now, &why);
    g->looked = mono;
    g->retry = rc && rc != ERR_CONFLICT ? mono + GROWTHS_LOOK_S : mono;
    if (!rc) return 0;
    g->list = (struct added_wire){0}; /* nothing of it is sure */
    if (rc != ERR_IO) say(g, "not published", &why);
    return err_set(e, rc, "%s", why.detail);
}
