/* The invariants that need a look at the service, its answers or what is stored. */
#include "sim/world.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/hintless/merge_exam.h"

/* ---- answers ---- */

/* A merge's answer names its slot. */
static void check_slot(struct world *w, uint64_t slot)
{
    if (slot < w->slot)
        world_finding(w, SIM_SLOT, "slot %llu answers after slot %llu",
                      (unsigned long long)slot, (unsigned long long)w->slot);
    w->slot = slot;
}

static bool serves(struct world *w, uint64_t version)
{
    if (version != w->published) check_version(w); /* the learner is at it */
    return version == w->published;
}

void check_answer(struct world *w, const struct model_session *s, const struct answer *a)
{
    double sum = 0, best = 0;
    for (int k = 0; k < s->in.levels; k++) {
        sum += a->prob[k];
        best = fmax(best, a->prob[k]);
    }
    if (a->level < 0 || a->level >= s->in.levels || a->levels != s->in.levels ||
        a->kbps != s->in.ladder_kbps[a->level] || (a->expert < 0) != (a->by == BY_MERGE))
        world_finding(w, SIM_SESSION, "level %d of %d at %g kbit/s by expert %d",
                      a->level, s->in.levels, a->kbps, a->expert);
    else if (fabs(sum - 1) > 1e-3 || !(a->prob[a->level] > 0) ||
             (!a->sampled && a->prob[a->level] < best))
        world_finding(w, SIM_SESSION, "level %d has probability %g of %g", a->level,
                      a->prob[a->level], sum);
    else if (a->sampled && (!s->out.explores || !s->out.hinted))
        world_finding(w, SIM_SESSION, "a session that does not explore was drawn for");
    else if ((a->by == BY_ROUTER) != s->out.hinted)
        world_finding(w, SIM_SESSION, "decided by way %d, with a hint: %d", (int)a->by,
                      s->out.hinted);
    if (a->by == BY_MERGE)
        check_slot(w, a->policy);
    else if (!s->added && !serves(w, a->policy))
        world_finding(w, SIM_PUBLISHED, "version %llu decided, %llu is published",
                      (unsigned long long)a->policy, (unsigned long long)w->published);
}

void check_same(struct world *w, const struct answer *was, const struct answer *a)
{
    if (was->chunk == a->chunk && was->level == a->level && was->kbps == a->kbps &&
        was->policy == a->policy && was->expert == a->expert && was->value == a->value &&
        was->entropy == a->entropy && was->sampled == a->sampled && was->by == a->by &&
        !memcmp(was->prob, a->prob, sizeof a->prob))
        return;
    world_finding(w, SIM_REPEAT,
                  "chunk %d was answered level %d by version %llu, now %d by %llu",
                  a->chunk, was->level, (unsigned long long)was->policy, a->level,
                  (unsigned long long)a->policy);
}

/* ---- versions ---- */

static struct policy *published(struct world *w)
{
    void *bytes;
    size_t n;
    struct err e = {0};
    int rc = service_policy_weights(&bytes, &n, w->service, &e);
    struct policy *p = rc ? NULL : ckpt_decode(bytes, n, NULL, NULL, NULL, &e);
    assert(p);
    free(bytes);
    return p;
}

static struct world_version *version_of(struct world *w, uint64_t number)
{
    for (int i = w->versions; i-- > 0;)
        if (w->version[i].number == number) return &w->version[i];
    return NULL;
}

static void remember(struct world *w, const struct policy *p, uint32_t crc)
{
    assert(w->versions < WORLD_VERSIONS);
    struct world_version *v = &w->version[w->versions++];
    *v = (struct world_version){.number = p->version, .crc = crc, .put = world_put(w)};
    v->packed = packed_new(&p->cfg, NULL);
    assert(v->packed);
    packed_load(v->packed, p);
    w->out->counts.versions++;
}

void check_version(struct world *w)
{
    struct service_stats s;
    world_stats(&s, w);
    if (s.policy_version == w->published) return;
    if (s.policy_version < w->published)
        world_finding(w, SIM_VERSION, "version %llu after %llu",
                      (unsigned long long)s.policy_version,
                      (unsigned long long)w->published);
    struct policy *p = published(w);
    p->actor->busy = s.actor_busy;
    p->critic->busy = s.critic_busy;
    uint32_t crc = policy_crc32(p) ^ (uint32_t)(s.actor_busy << 8 ^ s.critic_busy);
    const struct world_version *v = version_of(w, s.policy_version);
    if (v && v->crc != crc && v->number <= w->newest)
        world_finding(w, SIM_VERSION, "version %llu is two policies",
                      (unsigned long long)v->number);
    if (!v || v->crc != crc) remember(w, p, crc);
    policy_free(p);
    w->published = s.policy_version;
    world_note(w, "version %llu", (unsigned long long)w->published);
    world_mix(w, w->published, crc);
}

/* ---- figures ---- */

static void same_count(struct world *w, const char *what, uint64_t is, uint64_t want)
{
    if (is != want)
        world_finding(w, SIM_COUNTS, "%llu %s are counted, there were %llu",
                      (unsigned long long)is, what, (unsigned long long)want);
}

void check_counts(struct world *w)
{
    struct service_stats s;
    world_stats(&s, w);
    same_count(w, "sessions opened", s.sessions_opened, w->count.opened);
    same_count(w, "sessions closed", s.sessions_closed, w->count.closed);
    same_count(w, "sessions expired", s.sessions_expired, w->count.expired);
    same_count(w, "decisions", s.decisions, w->count.decisions);
    same_count(w, "repeats", s.repeats, w->count.repeats);
    same_count(w, "rewards", s.rewards, w->count.rewards);
    same_count(w, "rewards of other levels", s.not_followed, w->count.not_followed);
    same_count(w, "conflicts", s.conflicts, w->count.conflicts);
    struct parts_stats parts;
    parts_stats(&parts, w->service);
    same_count(w, "labels of sessions that were not watched",
               parts.hintless.labels_unwatched, w->count.unwatched);
    int live = 0;
    for (int i = 0; i < w->sessions; i++)
        live += !w->session[i]->closed && !w->session[i]->forgotten;
    same_count(w, "live sessions", (uint64_t)s.sessions_live, (uint64_t)live);
    if (s.sessions_live > w->sc.max_sessions || (int)s.store_queue > w->sc.store_queue ||
        (int)s.bus_queue > w->ring_cap)
        world_finding(w, SIM_BOUNDED,
                      "%d sessions, %llu records and %llu trajectories wait",
                      s.sessions_live, (unsigned long long)s.store_queue,
                      (unsigned long long)s.bus_queue);
}

/* ---- labels ---- */

void check_end(struct world *w, const struct model_session *s)
{
    bool labelled = s->out.hinted ? !s->in.has_mu : s->labelled;
    if (model_followed(s) < HINTLESS_WATCHED_CHUNKS)
        w->count.unwatched += labelled;
    else if (w->cfg->broken != BREAK_LABEL)
        w->told_a_label = true;
}

/* One address counts for the prior's weight at most (profile mix.h), whoever a start finds for another
 * one, and each start lets both count once more in the slot under way. */
static double most_of_all(const struct world *w, int tasks)
{
    double keep = exp2(-1 / w->optional.hintless.half_life);
    double n = PROFILE_MIX_WEIGHT * (2 + 2 * w->starts * (1 - keep) / keep);
    return (n + PROFILE_MIX_WEIGHT / tasks) / (n + PROFILE_MIX_WEIGHT);
}

void check_mix(struct world *w)
{
    struct parts_stats s;
    parts_stats(&s, w->service);
    const struct hintless_stats *u = &s.hintless;
    double sum = 0, most = 0, least = 1;
    for (int v = 0; v < u->tasks; v++) {
        sum += u->mix[v];
        most = fmax(most, u->mix[v]);
        least = fmin(least, u->mix[v]);
    }
    if (fabs(sum - 1) > 1e-9 || !(least > 0))
        world_finding(w, SIM_LABELS, "the mix has the sum %g, a profile %g", sum, least);
    if (!w->told_a_label && most - least > 1e-12)
        world_finding(w, SIM_LABELS,
                      "a profile has %g of the mix, and nobody has watched", most);
    if (w->one_address && most > most_of_all(w, u->tasks) + 1e-9)
        world_finding(w, SIM_LABELS, "a profile has %g of the mix by one address, not %g",
                      most, most_of_all(w, u->tasks));
    if (u->experts && !(u->exam_loss <= MERGE_EXAM_LOSS))
        world_finding(w, SIM_LABELS, "the merge of slot %llu costs a profile %g",
                      (unsigned long long)u->slots + 1, u->exam_loss);
}

/* ---- what is stored ---- */

static bool same_outcome(const struct history_step *h, const struct outcome *o,
                         double reward)
{
    return h->level == o->level && h->bytes == o->bytes &&
           h->download_s == o->download_s && h->rebuffer_s == o->rebuffer_s &&
           h->reward == reward;
}

/* One step: what was acknowledged is as it was, what was not may be missing. */
static void check_step(struct world *w, const struct model_session *s, int i,
                       const struct history_step *h, uint64_t durable)
{
    struct model_step *m = &s->step[i];
    const char *id = s->out.session;
    if (h->chunk != m->chunk || h->decided_level != m->a.level ||
        (m->decided && (h->policy != m->a.policy || h->by != m->a.by ||
                        h->sampled != m->a.sampled || h->buffer_s != m->q.buffer_s)))
        world_finding(w, SIM_ONCE, "%.6s step %d: chunk %d level %d is stored as %d, %d",
                      id, i, m->chunk, m->a.level, h->chunk, h->decided_level);
    else if (h->sampled && fabs(exp(h->logp) - m->a.prob[m->a.level]) > 1e-4)
        world_finding(w, SIM_LOGP, "%.6s step %d: ln p = %.9g is stored for p = %.9g", id,
                      i, h->logp, m->a.prob[m->a.level]);
    else if (h->reported && !m->reported)
        world_finding(w, SIM_ONCE, "%.6s step %d: an outcome that nobody told", id, i);
    else if (h->reported && !same_outcome(h, &m->o, m->reward))
        world_finding(w, SIM_ONCE, "%.6s step %d: another outcome is stored", id, i);
    else if (!h->reported && m->reported && m->put_outcome <= durable)
        world_finding(w, SIM_ONCE, "%.6s step %d: the reward of chunk %d is lost", id, i,
                      m->chunk);
    else if (h->has_external && (!m->has_external || h->external != m->external))
        world_finding(w, SIM_ONCE, "%.6s step %d: another external reward", id, i);
    else if (!h->has_external && m->has_external && m->put_external <= durable)
        world_finding(w, SIM_ONCE, "%.6s step %d: the external reward is lost", id, i);
    m->reported = h->reported;
    m->has_external = h->has_external;
}

static void check_session(struct world *w, const struct model_session *s,
                          const struct history *h, uint64_t durable)
{
    const char *id = s->out.session;
    if (h->opened.key != s->out.key || h->opened.hinted != s->out.hinted ||
        h->opened.explores != s->out.explores || h->open.levels != s->in.levels ||
        h->open.chunks != s->in.chunks ||
        strcmp(h->open.content_id, s->in.content_id) != 0)
        world_finding(w, SIM_ONCE, "%.6s is stored as another session", id);
    if (h->n > s->n)
        world_finding(w, SIM_ONCE, "%.6s: %d steps are stored, there were %d", id, h->n,
                      s->n);
    if (h->n < s->n && s->step[h->n].put <= durable)
        world_finding(w, SIM_ONCE, "%.6s: step %d, chunk %d, is lost", id, h->n,
                      s->step[h->n].chunk);
    for (int i = 0; i < h->n && !world_found(w); i++)
        check_step(w, s, i, &h->steps[i], durable);
    if (h->closed && !s->closed)
        world_finding(w, SIM_ONCE, "%.6s is stored as closed, which it is not", id);
    if (!h->closed && s->closed && s->put_closed <= durable)
        world_finding(w, SIM_ONCE, "%.6s: its end is lost", id);
    if (h->closed &&
        (h->terminal != s->terminal || strcmp(h->opened.profile, s->profile) != 0))
        world_finding(w, SIM_ONCE, "%.6s ended as %s", id, h->opened.profile);
}

static bool prunable(const struct world *w, const struct model_session *s)
{
    return s->closed && s->closed_at < w->disk.pruned;
}

void check_history(struct world *w, const struct model_session *s)
{
    struct history h;
    struct err e = {0};
    int rc = service_history(&h, w->service, s->out.session, &e);
    world_note(w, "history %.6s: %d", s->out.session, rc);
    if (w->doomed) {
        if (!rc) service_history_free(&h);
        return;
    }
    if (rc == ERR_IO) return; /* what waits could not be written */
    if (rc == ERR_ABSENT && prunable(w, s)) return;
    if (rc) {
        world_finding(w, SIM_ONCE, "the history of %.6s: code %d %s", s->out.session, rc,
                      e.detail);
        return;
    }
    check_session(w, s, &h, UINT64_MAX);
    service_history_free(&h);
}

/* ---- after a crash ---- */

static int told(const struct model_session *s)
{
    int n = s->n + s->closed;
    for (int i = 0; i < s->n; i++)
        n += s->step[i].reported + s->step[i].has_external;
    return n;
}

/* What a start reads of a session's steps: store.h. */
static int start_reads_from(const struct model_session *s)
{
    int newest = 4 * VIEW_HISTORY + (s->out.explores ? TRAJ_STEPS : 0);
    return s->n > newest ? s->n - newest : 0;
}

/* The model becomes what was stored, which is at least what was durable. */
static void restart_session(struct world *w, struct model_session *s, uint64_t durable)
{
    struct history h;
    struct err e = {0};
    int rc = service_history(&h, w->service, s->out.session, &e);
    if (rc == ERR_ABSENT) {
        if (s->put <= durable && !prunable(w, s))
            world_finding(w, SIM_ONCE, "session %.6s is lost", s->out.session);
        s->gone = s->forgotten = true;
        model_cut(s, 0);
        return;
    }
    if (rc) {
        world_finding(w, SIM_ONCE, "the history of %.6s: code %d %s", s->out.session, rc,
                      e.detail);
        return;
    }
    int before = told(s);
    check_session(w, s, &h, durable);
    s->word = fmin(s->word, s->stored);
    s->idle_s = 0;
    s->fresh = false;
    if (h.n < s->n) model_cut(s, h.n);
    s->seen_from = start_reads_from(s);
    if (s->closed && !h.closed) {
        s->closed = s->labelled = s->terminal = false;
        memcpy(s->profile, s->out.profile, sizeof s->profile);
    }
    if (told(s) < before) s->word = -INFINITY; /* what it said last is lost */
    /* whoever the start finds is given half the time at least */
    s->word = fmin(fmax(s->word, w->now - w->sc.session_ttl_s / 2), w->now);
    if (!s->n) s->gone = true;
    s->forgotten = s->closed || !s->n;
    service_history_free(&h);
}

static void restart_version(struct world *w, uint64_t durable)
{
    for (int i = 0; i < w->sessions; i++) {
        const struct model_session *s = w->session[i];
        for (int k = 0; k < s->n && !s->added; k++) {
            const struct model_step *m = &s->step[k];
            if (m->decided && m->a.by != BY_MERGE && m->put <= durable &&
                m->a.policy > w->newest)
                w->newest = m->a.policy;
        }
    }
}

static bool same_weights(const struct qoe *a, const struct qoe *b)
{
    return a->mu_quality == b->mu_quality && a->mu_switch == b->mu_switch &&
           a->mu_stall == b->mu_stall && a->utility == b->utility;
}

static void restart_profiles(struct world *w)
{
    for (int i = 0; i < WORLD_PROFILES; i++) {
        struct world_profile *p = &w->profile[i];
        struct profile is;
        bool there = !service_profile_get(&is, w->service, p->name, NULL);
        if (p->state != PROFILE_UNSURE && there != (p->state == PROFILE_THERE))
            world_finding(w, SIM_PROFILE, "profile %s is %s", p->name,
                          there ? "back although it was deleted" : "lost");
        else if (p->state == PROFILE_THERE && !same_weights(&is.qoe, &p->qoe))
            world_finding(w, SIM_PROFILE, "profile %s has other weights", p->name);
        else if (p->state == PROFILE_THERE && p->added && !is.grow && !w->damaged)
            world_finding(w, SIM_PROFILE, "profile %s has lost its experts", p->name);
        p->state = there ? PROFILE_THERE : PROFILE_ABSENT;
        p->added = there && is.grow;
        if (there) p->qoe = is.qoe;
    }
}

void check_restart(struct world *w, uint64_t durable)
{
    restart_version(w, durable);
    struct service_stats st;
    world_stats(&st, w);
    if (st.policy_version < w->newest)
        world_finding(w, SIM_VERSION, "a restart serves version %llu, %llu was durable",
                      (unsigned long long)st.policy_version,
                      (unsigned long long)w->newest);
    if (w->drained && st.policy_version < w->published)
        world_finding(w, SIM_VERSION, "a drain at version %llu, then version %llu",
                      (unsigned long long)w->published,
                      (unsigned long long)st.policy_version);
    for (int i = 0; i < w->sessions && !world_found(w); i++)
        if (!w->session[i]->gone) restart_session(w, w->session[i], durable);
    restart_profiles(w);
    w->published = 0;
    check_version(w);
}
