/* Profiles with experts of their own as a part of the daemon: what the core calls (serve/part.h). */
#include "serve/added/added.h"
#include "serve/session/core.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/added/added_figures.h"
#include "serve/wire/wire_put.h"

extern const struct part added_part;

struct added_state {
    struct service *service;
    struct added_settings cfg;
    struct added *added;
};

struct added *added_of(struct service *s)
{
    const struct added_state *a = service_part(s, added_part.name);
    return a ? a->added : NULL;
}

static int added_part_check(const void *cfg, const struct service_cfg *common,
                            struct err *e)
{
    (void)common;
    return field_check(added_fields, cfg, e);
}

/* ---- the learner's turns ---- */

static uint64_t added_part_id(void *self, int tag)
{
    return added_id(self, tag);
}

static int added_part_tag_of(void *self, uint64_t id)
{
    return added_tag_of(self, id);
}

static void added_part_teach(void *self, const struct online_trajectory *t,
                             uint64_t place)
{
    added_teach(self, t, place);
}

static bool added_part_ready(void *self)
{
    return added_ready(self);
}

static int added_part_turn(void *self, double now, struct err *e)
{
    return added_turn(self, now, e);
}

static int added_part_learned(void *self, struct err *e)
{
    return added_save(self, e);
}

/* ---- life ---- */

static int added_part_open(void **self, struct service *s, const void *cfg, struct err *e)
{
    struct added_state *a = *self = calloc(1, sizeof *a);
    if (!a) return err_set(e, ERR_MEMORY, "no memory for added experts");
    *a = (struct added_state){.service = s, .cfg = *(const struct added_settings *)cfg};
    struct added_cfg how = {.max = a->cfg.max,
                            .experts = a->cfg.experts,
                            .gate = a->cfg.gate,
                            .learn = s->cfg.learn == LEARN_ON,
                            .online = s->cfg.online,
                            .dir = s->folder.lock >= 0 ? s->cfg.data_dir : NULL,
                            .log = s->cfg.log};
    a->added = added_new(&how, e);
    if (!a->added) return ERR_MEMORY;
    s->others = (struct learner_others){.self = a->added,
                                        .id = added_part_id,
                                        .tag_of = added_part_tag_of,
                                        .teach = added_part_teach,
                                        .ready = added_part_ready,
                                        .turn = added_part_turn,
                                        .save = added_part_learned};
    return 0;
}

/* With a learner or peers, their turns do it. */
static void added_part_tick(void *self, double now)
{
    const struct added_state *a = self;
    (void)now;
    if (!a->service->learner && !a->service->peers) added_sweep(a->added);
}

static void added_part_free(void *self)
{
    struct added_state *a = self;
    if (!a) return;
    added_free(a->added);
    free(a);
}

static void added_part_stats(void *self, void *out)
{
    const struct added_state *a = self;
    struct added_stats *stats = out;
    /* a standby learner has old figures */
    if (!a->service->learner || service_learning(a->service))
        stats->n = added_stats(stats->at, a->added);
}

static void added_part_json(struct emit *o, const void *figures)
{
    const struct added_stats *s = figures;
    emit_key(o, "grown");
    emit_open(o, '[');
    for (int i = 0; i < s->n; i++) {
        emit_open(o, '{');
        figure_json(o, added_figures, &s->at[i]);
        wire_put_learner(o, &s->at[i].learner);
        emit_close(o, '}');
    }
    emit_close(o, ']');
}

/* ---- decisions ---- */

static int added_part_tag(void *self, const struct track_row *row)
{
    const struct added_state *a = self;
    if (row->has_mu || !row->hinted) return -1;
    double since;
    int tag = added_tag(a->added, row->profile, &since);
    return tag >= 0 && row->opened_at >= since ? tag : -1;
}

static enum part_decide added_part_decide(struct verdict *out, void *self, void *desk,
                                          const struct decision *d)
{
    const struct added_state *a = self;
    (void)desk;
    if (!d->hinted || d->tag < ADDED_TAG) return PART_PASSES;
    int rc = added_decide(out, a->added, d->tag, d->decider, d->view, d->u);
    if (rc < 0) return PART_PASSES;
    return rc ? PART_DECIDED : PART_NOT_FINITE;
}

/* ---- profiles ---- */

static bool added_part_grows(void *self, const char *name)
{
    const struct added_state *a = self;
    return added_tag(a->added, name, NULL) >= 0;
}

/* A profile with added experts cannot change the QoE weights that these learned. */
static int added_part_profile_check(void *self, const struct profile *p, struct err *e)
{
    const struct added_state *a = self;
    struct profile was;
    if (added_tag(a->added, p->name, NULL) < 0 ||
        profiles_get(&was, NULL, a->service->profiles, p->name, NULL) ||
        (qoe_same_weights(&was.qoe, &p->qoe) && was.qoe.utility == p->qoe.utility))
        return 0;
    return err_field(e, ERR_CONFLICT, p->qoe.utility == QOE_POINTS ? "weights" : "mu",
                     "'%.63s' has experts that learned other weights: delete it first",
                     p->name);
}

/* New experts on the policy that is published now. */
static int grow(struct added_state *a, const struct profile *p, struct err *e)
{
    struct service *s = a->service;
    const struct weights *w = published_get(s->published);
    struct policy *base = policy_clone(w->policy, e);
    published_put(s->published, w);
    if (!base) return ERR_MEMORY;
    int rc = added_add(a->added, 0, p->name, &p->qoe, base, service_now(s), e);
    if (rc == 1 && profiles_get(&(struct profile){0}, NULL, s->profiles, p->name, e)) {
        added_remove(a->added, p->name); /* deleted meanwhile */
        rc = ERR_ABSENT;
    }
    if (rc == 1)
        log_event(s->cfg.log, LOG_INFO, "grown", "profile %s: %d new experts", p->name,
                  a->cfg.experts);
    return rc;
}

/* Stores that the profile has added experts, so a start expects the file. Among peers the learner has
 * them and publishes them again. */
static void mark(struct service *s, const struct profile *p)
{
    struct err why = {0};
    if (!s->peers && service_profile_mark(s, p, &why))
        log_err(s->cfg.log, LOG_WARN, "grown", &why);
}

static int added_part_profile_put(void *self, const struct profile *p, bool created,
                                  struct err *e)
{
    struct added_state *a = self;
    if (created) added_remove(a->added, p->name); /* a file that outlived its profile */
    int rc = p->grow ? grow(a, p, e) : 0;
    if (rc == 1) mark(a->service, p);
    return rc < 0 ? rc : 0;
}

static void added_part_gone(void *self, const char *name)
{
    const struct added_state *a = self;
    added_remove(a->added, name);
}

/* A profile that cannot be restored is answered by the common policy. */
static void added_part_restored(void *self, const struct profile *p)
{
    struct added_state *a = self;
    struct service *s = a->service;
    struct err why = {0};
    int rc =
        added_restore(a->added, p->name, &p->qoe, &s->policy_cfg, service_now(s), &why);
    if (rc < 0) {
        s->folder.refused++;
        log_err(s->cfg.log, LOG_ERROR, "grown", &why);
        log_event(
            s->cfg.log, LOG_WARN, "grown",
            "profile %s is answered by the common policy; put it again with grow for "
            "new experts",
            p->name);
    } else if (rc) {
        log_event(s->cfg.log, LOG_INFO, "grown", "profile %s has its experts again",
                  p->name);
        if (!p->grow) mark(s, p); /* the store is of an older program */
    } else if (p->grow && !s->peers) {
        char path[FOLDER_PATH + SERVICE_NAME + 32];
        snprintf(path, sizeof path, "%s/grown-%s.safetensors", s->cfg.data_dir, p->name);
        folder_misses(
            &s->folder, s->cfg.log, "grown", path,
            "the profile is answered by the common policy until it is put again "
            "with grow");
    }
}

static int added_part_renamed(void *self, const char *from, const char *to, struct err *e)
{
    const struct added_state *a = self;
    return added_rename(a->added, from, to, e);
}

static int added_part_weights(void **out, size_t *n, void *self, const char *name,
                              struct err *e)
{
    const struct added_state *a = self;
    return added_encode(out, n, a->added, name, e);
}

const struct part added_part = {.name = "added",
                                .check = added_part_check,
                                .open = added_part_open,
                                .tick = added_part_tick,
                                .free = added_part_free,
                                .stats = added_part_stats,
                                .json = added_part_json,
                                .decide = added_part_decide,
                                .tag = added_part_tag,
                                .grows = added_part_grows,
                                .profile_check = added_part_profile_check,
                                .profile_put = added_part_profile_put,
                                .profile_gone = added_part_gone,
                                .profile_renamed = added_part_renamed,
                                .profile_restored = added_part_restored,
                                .profile_weights = added_part_weights};
