/* Profiles, the policy, and what is seen of the service from outside. */
#include "service_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/cluster/cluster.h"

/* ---- profiles ---- */

/* Has it experts of its own, or is it to have some? */
static bool has_experts(struct service *s, const char *name)
{
    return added_tag(s->added, name, NULL) >= 0 ||
           (s->cluster && cluster_profile_added(s, name));
}

int service_profile_get(struct profile *out, struct service *s, const char *name,
                        struct err *e)
{
    int rc = profiles_get(out, NULL, s->profiles, name, e);
    if (!rc) out->grow = has_experts(s, name);
    return rc;
}

int service_profile_list(struct profile *out, int max, struct service *s)
{
    int n = profiles_list(out, max, s->profiles);
    for (int i = 0; i < n; i++)
        out[i].grow = has_experts(s, out[i].name);
    return n;
}

/* Room for one record of a change that must not be lost. */
static int admit_one(struct service *s, struct err *e)
{
    return s->writer ? writer_reserve(s->writer, 1, e) : 0;
}

/* Durable before it is answered: profiles are few and rarely put. p NULL: nothing changed. */
static int store_profile(struct service *s, enum store_kind kind, const struct profile *p,
                         struct err *e)
{
    if (!s->writer) return 0;
    struct store_rec r = {.kind = kind};
    if (p) r.profile = *p;
    writer_put(s->writer, &r, p != NULL, 1);
    return p ? writer_flush(s->writer, e) : 0;
}

/* A grown profile keeps its weights. */
static int check_added(struct service *s, const struct profile *p, struct err *e)
{
    struct profile was;
    if (added_tag(s->added, p->name, NULL) < 0 ||
        profiles_get(&was, NULL, s->profiles, p->name, NULL) ||
        qoe_same(&was.qoe, &p->qoe))
        return 0;
    return err_field(e, ERR_CONFLICT, "mu",
                     "'%.63s' has experts that learned other weights: delete it first",
                     p->name);
}

/* New experts on the policy that is published now. */
static int grow(struct service *s, const struct profile *p, struct err *e)
{
    const struct weights *w = published_get(s->published);
    struct policy *base = policy_clone(w->policy, e);
    published_put(s->published, w);
    if (!base) return ERR_MEMORY;
    int rc = added_add(s->added, 0, p->name, &p->qoe, base, service_now(s), e);
    if (rc == 1 && profiles_get(&(struct profile){0}, NULL, s->profiles, p->name, e)) {
        added_remove(s->added, p->name); /* deleted meanwhile */
        rc = ERR_ABSENT;
    }
    if (rc == 1)
        log_event(s->cfg.log, LOG_INFO, "grown", "profile %s: %d new experts", p->name,
                  s->cfg.grow_experts);
    return rc;
}

/* ---- profiles_lock is held: two changes of one profile at once must not leave one of them in
 * memory and the other in the store. drop and take come with a record reserved ---- */

static int drop(struct service *s, const char *name, struct err *e)
{
    struct profile gone = {0};
    snprintf(gone.name, sizeof gone.name, "%s", name);
    int slot = PROFILES_SLOT_CUSTOM;
    (void)!profiles_get(&(struct profile){0}, &slot, s->profiles, name, NULL);
    int failed = profiles_delete(s->profiles, name, e);
    if (!failed) added_remove(s->added, name);
    if (!failed) hintless_forget(s->hintless, name);
    if (!failed && slot != PROFILES_SLOT_CUSTOM) sessions_slot_gone(s->sessions, slot);
    int rc = store_profile(s, STORE_PROFILE_GONE, failed ? NULL : &gone, e);
    return failed ? failed : rc;
}

void service_added_mark(struct service *s, const struct profile *p)
{
    struct err why = {0};
    struct profile added = *p;
    added.grow = true;
    if (s->cluster) return; /* the learner has them, and gives them again */
    int rc = admit_one(s, &why);
    if (!rc) rc = store_profile(s, STORE_PROFILE, &added, &why);
    if (rc) log_err(s->cfg.log, LOG_WARN, "grown", &why);
}

static int service_info_take(struct service *s, const struct profile *p, struct err *e)
{
    int created = check_added(s, p, e);
    if (!created) created = profiles_put(s->profiles, p, e);
    struct profile plain = *p; /* that it has grown is true once its file is there */
    plain.grow = false;
    int rc = store_profile(s, STORE_PROFILE, created < 0 ? NULL : &plain, e);
    if (rc) return rc;
    if (created == 1)
        added_remove(s->added, p->name); /* a file that outlived its profile */
    if (created >= 0 && p->grow) rc = grow(s, p, e);
    if (rc == 1) service_added_mark(s, p);
    if (rc < 0 && created == 1 && !admit_one(s, NULL)) (void)!drop(s, p->name, NULL);
    return rc < 0 ? rc : created;
}

int service_profile_take(struct service *s, const struct profile *p, struct err *e)
{
    int rc = admit_one(s, e);
    return rc ? rc : service_info_take(s, p, e);
}

int service_profile_drop(struct service *s, const char *name, struct err *e)
{
    int rc = admit_one(s, e);
    return rc ? rc : drop(s, name, e);
}

/* ---- and here it is taken ---- */

int service_profile_put(struct service *s, const struct profile *p, struct err *e)
{
    if (s->cluster) return cluster_profile_put(s, p, e);
    pthread_mutex_lock(&s->profiles_lock);
    int rc = service_profile_take(s, p, e);
    pthread_mutex_unlock(&s->profiles_lock);
    return rc;
}

int service_profile_delete(struct service *s, const char *name, struct err *e)
{
    if (!strcmp(name, s->cfg.default_profile))
        return err_field(e, ERR_CONFLICT, "profile",
                         "'%.63s' is what sessions without a hint get", name);
    if (s->cluster) return cluster_profile_delete(s, name, e);
    pthread_mutex_lock(&s->profiles_lock);
    int rc = service_profile_drop(s, name, e);
    pthread_mutex_unlock(&s->profiles_lock);
    return rc;
}

int service_profile_weights(void **out, size_t *n, struct service *s, const char *name,
                            struct err *e)
{
    return added_encode(out, n, s->added, name, e);
}

/* ---- policy ---- */

void service_policy_info(struct policy_info *out, struct service *s)
{
    const struct weights *w = published_get(s->published);
    *out = (struct policy_info){.version = w->policy->version,
                                .published_at = w->published_at,
                                .cfg = w->policy->cfg,
                                .parameters = w->policy->actor->n + w->policy->critic->n,
                                .check_score = w->check_score};
    published_put(s->published, w);
}

int service_policy_weights(void **out, size_t *n, struct service *s, struct err *e)
{
    const struct weights *w = published_get(s->published);
    int rc = ckpt_encode(out, n, w->policy, NULL, NULL, 0, e);
    published_put(s->published, w);
    return rc;
}

/* ---- seen from outside ---- */

void service_stats(struct service_stats *out, struct service *s)
{
    *out = (struct service_stats){.at = service_now(s),
                                  .sessions_opened = atomic_load(&s->opened),
                                  .sessions_closed = atomic_load(&s->closed),
                                  .sessions_expired = atomic_load(&s->expired),
                                  .conflicts = atomic_load(&s->conflicts),
                                  .underway = atomic_load(&s->underway),
                                  .abandoned = atomic_load(&s->abandoned),
                                  .not_finite = atomic_load(&s->numeric),
                                  .draining = atomic_load(&s->draining),
                                  .store_ok = true};
    struct session_stats ss;
    sessions_stats(&ss, s->sessions);
    out->sessions_live = ss.live;
    out->decisions = ss.decisions;
    out->repeats = ss.repeats;
    out->rewards = ss.rewards;
    out->not_followed = ss.not_followed;
    out->bus_dropped = ss.starved;

    for (int i = 0; i < SERVICE_PROFILE_STATS; i++) {
        const struct session_slot *slot = &ss.slot[i];
        for (int k = 0; k < 16; k++)
            out->expert_decisions[k] += slot->expert[k];
        int at = out->n_profiles;
        if (!profiles_slot_name(out->profile[at].name, s->profiles, i)) continue;
        out->n_profiles++;
        out->profile[at].rewards = slot->rewards;
        out->profile[at].reward_sum = slot->reward_sum;
        out->profile[at].stall_sum_s = slot->stall_sum_s;
        out->profile[at].kbps_sum = slot->kbps_sum;
        memcpy(out->profile[at].expert, slot->expert, sizeof slot->expert);
    }

    if (s->writer) {
        struct writer_stats ws;
        writer_stats(s->writer, &ws);
        out->store_queue = ws.queued;
        out->store_errors = ws.errors;
        out->checkpoints_refused = s->folder.refused;
        out->files_missing = s->folder.missing;
        out->store_ok = ws.ok;
        out->store_lag_s = ws.lag_s;
    }
    if (s->bus.self) {
        struct bus_stats bs;
        s->bus.stats(s->bus.self, &bs);
        out->bus_queue = bs.queued;
        out->bus_dropped += bs.dropped;
    }
    if (s->learner) {
        learner_stats(s->learner, &out->learner);
        learner_vitals(s->learner, &out->vitals);
        out->misfits = learner_misfits(s->learner);
    }
    if (s->cluster) cluster_stats(&out->cluster, s);
    out->learning = s->learner && (!s->cluster || out->cluster.leading);
    /* a learner that stands by has those of when it led */
    if (!s->learner || out->learning) out->n_added = added_stats(out->added, s->added);
    hintless_stats(&out->hintless, s->hintless);

    const struct weights *w = published_get(s->published);
    out->policy_version = w->policy->version;
    out->actor_busy = packed_actor_busy(w->packed);
    out->critic_busy = packed_critic_busy(w->packed);
    published_put(s->published, w);
}
