#include "serve/cluster/lead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/forecast_own.h"
#include "base/bytes.h"
#include "learn/ckpt.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/cluster/pieces.h"

enum { STATE_KEY = 64, STATE_FORM = 2, TERMS_MAX = 16 };
/* The position is published this often even without an update: else a stream could fill up with
 * trajectories that were all refused. */
static const double POSITION_S = 2;

struct lead {
    struct lead_cfg cfg;
    atomic_bool leading, unsettled; /* unsettled: put the common settings */
    atomic_uint_fast64_t term;      /* = heartbeat.term, for other threads */
    atomic_bool deposed; /* by lead_heartbeat; the learner's thread has not seen it */
    struct bus_wire_heartbeat heartbeat; /* as the learner's thread wants it written */
    double retry_at, committed_at;
    size_t most; /* bytes that the bucket takes, as it said last */
    uint64_t trimmed;
    int live;    /* the slot that the bucket names */
    bool unsure; /* whether the last commit happened: then it may be the other slot */
    struct bus_wire_weights note; /* of the last commit ... */
    void *dedup;                  /* ... and the dedup in it */

    pthread_mutex_t lock; /* of what follows */
    struct {
        struct bus_wire_heartbeat heartbeat; /* as it was written last, or is to be */
        uint64_t rev;
        double at, progress_at; /* progress_at: the last lead_turn */
        bool writing,
            again; /* one thread writes at a time; again: there is news to write */
        uint64_t count;
    } said;
};

struct lead *lead_new(const struct lead_cfg *cfg, struct err *e)
{
    struct lead *l = calloc(1, sizeof *l);
    if (!l) {
        err_set(e, ERR_MEMORY, "no memory to lead");
        return NULL;
    }
    l->cfg = *cfg;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void lead_free(struct lead *l)
{
    if (!l) return;
    pthread_mutex_destroy(&l->lock);
    free(l->dedup);
    free(l);
}

bool lead_leading(const struct lead *l)
{
    return atomic_load(&l->leading) && !atomic_load(&l->deposed);
}

uint64_t lead_term(const struct lead *l)
{
    return atomic_load(&l->term);
}

static void lead_stand_by(struct lead *l, const char *why)
{
    if (!atomic_exchange(&l->leading, false)) return;
    log_event(l->cfg.log, LOG_WARN, "lead", "standing by: %s", why);
    follow_afresh(l->cfg.follow);
}

static void lead_call(struct lead *l)
{
    l->cfg.bucket.call(l->cfg.bucket.self);
}

/* ---- heartbeat: written by the learner's thread and by lead_heartbeat's, one at a time ---- */

/* The next heartbeats say what the learner's thread has now. */
static void heartbeat_note(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    l->said.heartbeat = l->heartbeat;
    l->said.again = true;
    pthread_mutex_unlock(&l->lock);
}

static void heartbeat_progress(struct lead *l, double mono)
{
    pthread_mutex_lock(&l->lock);
    l->said.progress_at = mono;
    pthread_mutex_unlock(&l->lock);
}

static int heartbeat_put(uint64_t *rev, struct lead *l,
                         const struct bus_wire_heartbeat *h, struct err *e)
{
    return shared_value_put(rev, h, &bus_wire_heartbeat_kind, &l->cfg.bucket, NULL, e);
}

/* The bucket has another heartbeat than the one written last: our own, whose answer was lost, or one
 * of another leader (*lost). */
static int heartbeat_look(uint64_t *rev, bool *lost, struct lead *l,
                          const struct bus_wire_heartbeat *mine)
{
    struct bus_wire_heartbeat is;
    uint64_t found;
    int rc = shared_value_get(&is, NULL, &found, &bus_wire_heartbeat_kind, &l->cfg.bucket,
                              NULL, NULL);
    if (!rc && is.term == mine->term && !strcmp(is.name, mine->name))
        *rev = found;
    else if (!rc)
        *lost = true;
    else if (rc == ERR_INVALID || rc == ERR_CORRUPT)
        *rev = found; /* damaged: ours replaces it */
    return rc;
}

/* No lock is held while the bucket works. Sets deposed when another one leads. */
static int heartbeat_write_once(struct lead *l, double mono, struct err *e)
{
    bool lost = false;
    pthread_mutex_lock(&l->lock);
    struct bus_wire_heartbeat h = l->said.heartbeat;
    uint64_t rev = l->said.rev;
    h.count = ++l->said.count;
    l->said.again = false;
    pthread_mutex_unlock(&l->lock);

    int rc = heartbeat_put(&rev, l, &h, e);
    bool taken = !rc;
    if (rc == ERR_CONFLICT) rc = heartbeat_look(&rev, &lost, l, &h);

    pthread_mutex_lock(&l->lock);
    if (l->said.heartbeat.term == h.term) {
        l->said.rev = rev;
        /* one that failed may have taken long: so not in every turn */
        if (taken || rc) l->said.at = rc ? mono - CLUSTER_HEARTBEAT_S / 2 : mono;
        if (lost) atomic_store(&l->deposed, true);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static bool heartbeat_begin(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    bool free = !l->said.writing;
    l->said.writing = true;
    pthread_mutex_unlock(&l->lock);
    return free;
}

/* False: there is news meanwhile, so it is written once more. */
static bool heartbeat_end(struct lead *l, bool failed)
{
    pthread_mutex_lock(&l->lock);
    bool over = failed || !l->said.again || atomic_load(&l->deposed);
    if (over) l->said.writing = false;
    pthread_mutex_unlock(&l->lock);
    return over;
}

/* Writes a heartbeat now, or leaves it to the other thread if that one is writing. */
static int heartbeat_now(struct lead *l, double mono, struct err *e)
{
    if (!heartbeat_begin(l)) return 0;
    int rc;
    do
        rc = heartbeat_write_once(l, mono, e);
    while (!heartbeat_end(l, rc != 0));
    return rc;
}

static bool heartbeat_due(struct lead *l, double mono)
{
    pthread_mutex_lock(&l->lock);
    bool due = mono >= l->said.at + CLUSTER_HEARTBEAT_S;
    pthread_mutex_unlock(&l->lock);
    return due;
}

/* What a heartbeat found, for the learner's thread. */
static bool heartbeat_deposed(struct lead *l)
{
    if (!atomic_exchange(&l->deposed, false)) return false;
    lead_stand_by(l, "another learner leads");
    return true;
}

/* By the learner's thread. */
static int heartbeat_write(struct lead *l, double mono, struct err *e)
{
    int rc = heartbeat_now(l, mono, e);
    (void)heartbeat_deposed(l);
    return rc;
}

/* Again at the time of the last one, because it says something new. */
static void heartbeat_repeat(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    double at = l->said.at;
    pthread_mutex_unlock(&l->lock);
    heartbeat_note(l);
    (void)!heartbeat_now(l, at, NULL); /* after a failure the next heartbeat says it */
}

int lead_heartbeat(struct lead *l, double mono, struct err *e)
{
    if (!lead_leading(l) || !heartbeat_due(l, mono)) return 0;
    pthread_mutex_lock(&l->lock);
    bool stuck = mono >= l->said.progress_at + CLUSTER_STUCK_S;
    pthread_mutex_unlock(&l->lock);
    return stuck ? 0 : heartbeat_now(l, mono, e);
}

/* The first one of a term. ERR_CONFLICT: another learner was faster. */
static int heartbeat_begin_term(struct lead *l, uint64_t rev, double mono, struct err *e)
{
    if (!heartbeat_begin(l))
        return ERR_CONFLICT; /* one of an earlier term is under way */
    pthread_mutex_lock(&l->lock);
    l->said.heartbeat = l->heartbeat;
    l->said.rev = rev;
    l->said.again = false;
    struct bus_wire_heartbeat first = l->heartbeat;
    first.count = ++l->said.count;
    pthread_mutex_unlock(&l->lock);
    int rc = heartbeat_put(&rev, l, &first, e);
    pthread_mutex_lock(&l->lock);
    l->said.writing = false;
    if (!rc) {
        l->said.rev = rev;
        l->said.at = l->said.progress_at = mono;
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static void heartbeat_over(struct lead *l)
{
    l->heartbeat.over = true;
    heartbeat_repeat(l);
}

/* ---- size of a message ---- */

size_t lead_needs(const struct policy *p)
{
    void *ckpt = NULL;
    size_t n;
    if (ckpt_encode(&ckpt, &n, p, NULL, NULL, 0, NULL)) return 0;
    free(ckpt);
    size_t weights = n + LEAD_BESIDE;
    /* the state has two moments of every weight, and is cut into pieces */
    size_t piece = ENVELOPE_HEAD + (2 * n < PIECES_SIZE ? 2 * n : PIECES_SIZE);
    return weights > piece ? weights : piece;
}

/* Logged when the limit is known, not first when something was learned. */
static void check_message_size(struct lead *l, const struct policy *p)
{
    struct bucket *b = &l->cfg.bucket;
    size_t most = b->most ? b->most(b->self) : 0;
    if (!most || most == l->most) return;
    l->most = most;
    size_t needs = lead_needs(p);
    if (needs > most)
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "nothing can be published: a message takes %zu bytes, and the NATS "
                  "servers take at most %zu: raise max_payload in their configuration",
                  needs, most);
}

/* ---- the learner's state, in pieces ---- */

static void state_key(char out[STATE_KEY], uint64_t term, int slot)
{
    snprintf(out, STATE_KEY, "state.%llu.%d", (unsigned long long)term, slot);
}

/* The learner's state after its length; in form 1 the state of the dedup followed. */
static int state_encode(unsigned char **out, size_t *n, const struct learner *learner,
                        struct err *e)
{
    void *online;
    size_t online_n;
    int rc = learner_state(&online, &online_n, learner, e);
    if (rc) return rc;
    *n = 8 + online_n;
    *out = malloc(*n);
    if (*out) {
        bytes_put_u64(*out, online_n);
        memcpy(*out + 8, online, online_n);
    }
    free(online);
    return *out ? 0 : err_set(e, ERR_MEMORY, "no memory to publish");
}

/* The state as it is now; *note gets its place, and the dedup, which *dedup owns. */
static int state_put(struct bus_wire_weights *note, void **dedup, struct lead *l,
                     const struct learner *learner, struct err *e)
{
    unsigned char *state = NULL;
    size_t n;
    int rc = state_encode(&state, &n, learner, e);
    if (rc) return rc;
    note->dedup_n = dedup_state_size(l->cfg.dedup);
    note->dedup = *dedup = malloc(note->dedup_n);
    if (!*dedup) {
        free(state);
        return err_set(e, ERR_MEMORY, "no memory to publish");
    }
    dedup_state_get(l->cfg.dedup, *dedup);
    note->position = dedup_position(l->cfg.dedup);
    note->state_slot = !l->live;
    char key[STATE_KEY];
    struct pieces made;
    state_key(key, l->heartbeat.term, note->state_slot);
    rc = pieces_put(&made, &l->cfg.bucket, key, ENVELOPE_STATE, STATE_FORM, state, n, e);
    free(state);
    note->state_bytes = made.bytes;
    note->state_crc = made.crc;
    note->state_parts = made.parts;
    return rc;
}

static int state_get(unsigned char **out, struct lead *l,
                     const struct bus_wire_weights *w, struct err *e)
{
    char key[STATE_KEY];
    void *bytes;
    struct pieces p = {w->state_bytes, w->state_crc, w->state_parts};
    state_key(key, w->term, w->state_slot);
    int rc = pieces_get(&bytes, &p, &l->cfg.bucket, key, ENVELOPE_STATE, STATE_FORM, e);
    *out = bytes;
    return rc;
}

/* Removes the pieces of one term; false: the bucket does not answer, so they stay. */
static bool state_drop(struct lead *l, uint64_t term, int parts)
{
    for (int slot = 0; slot < 2; slot++) {
        char key[STATE_KEY];
        state_key(key, term, slot);
        if (!pieces_drop(&l->cfg.bucket, key, parts)) return false;
    }
    return true;
}

/* Removes the states of all leaders since `was`, also of terms whose takeover failed. */
static void state_drop_former(struct lead *l, const struct bus_wire_weights *was)
{
    uint64_t mine = l->heartbeat.term, term = was->term;
    int parts = l->note.state_parts;
    if (was->state_parts > parts) parts = was->state_parts;
    if (mine - term > TERMS_MAX) term = mine - TERMS_MAX;
    while (term < mine && state_drop(l, term, parts))
        term++;
}

/* ---- publishing ---- */

/* The weights' revision when they are ours; else another one leads. */
static int weights_still_ours(struct lead *l, struct err *e)
{
    struct bus_wire_weights is;
    int rc = shared_value_get(&is, NULL, &l->heartbeat.weights_rev,
                              &bus_wire_weights_kind, &l->cfg.bucket, NULL, e);
    if (rc) return rc;
    if (is.term == l->heartbeat.term) {
        l->live = is.state_slot;
        l->unsure = false;
        return 0;
    }
    lead_stand_by(l, "another learner has published");
    (void)state_drop(l, l->heartbeat.term, l->note.state_parts); /* nothing names it */
    return err_set(e, ERR_CONFLICT, "another learner has published: standing by");
}

static int weights_put(struct lead *l, const struct bus_wire_weights *note,
                       const struct policy *p, struct err *e)
{
    void *ckpt = NULL;
    struct bus_wire_weights w = *note;
    w.has_input = p->input_n > 0;
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "made_by", "abrd serve --role learn");
    ckpt_meta_set(&meta, "check_score", "%.9g", note->check_score);
    int rc = ckpt_encode(&ckpt, &w.checkpoint_n, p, &meta, NULL, 0, e);
    if (rc) return rc;
    w.checkpoint = ckpt;
    struct err why = {0};
    uint64_t *rev = &l->heartbeat.weights_rev;
    rc = shared_value_put(rev, &w, &bus_wire_weights_kind, &l->cfg.bucket, NULL, &why);
    if (rc == ERR_CONFLICT) { /* perhaps our own, whose answer was lost */
        rc = weights_still_ours(l, e);
        if (!rc)
            rc = shared_value_put(rev, &w, &bus_wire_weights_kind, &l->cfg.bucket, NULL,
                                  e);
    } else if (rc) {
        err_field(e, rc, why.field, "%s", why.detail);
    }
    free(ckpt);
    return rc;
}

int lead_commit(struct lead *l, const struct learner *learner, const struct policy *p,
                double now, double score, struct err *e)
{
    if (heartbeat_deposed(l) || !lead_leading(l))
        return err_set(e, ERR_CONFLICT, "this learner stands by");
    /* Trajectories that wait for an update are in the dedup and not in the state. Then the last state
     * is published again, with its dedup. */
    struct bus_wire_weights note = l->note;
    void *dedup = NULL;
    int rc = 0;
    if (l->unsure) rc = weights_still_ours(l, e);
    if (!rc && (learner_settled(learner) || note.term != l->heartbeat.term))
        rc = state_put(&note, &dedup, l, learner, e);
    note.term = l->heartbeat.term;
    note.version = p->version;
    note.published_at = now;
    note.check_score = score;
    if (!rc) {
        rc = weights_put(l, &note, p, e);
        l->unsure = rc != 0 && rc != ERR_CONFLICT;
    }
    if (rc) {
        free(dedup);
        return rc;
    }
    if (dedup) {
        free(l->dedup);
        l->dedup = dedup;
    }
    l->note = note;
    l->live = note.state_slot;
    l->committed_at = now;
    l->heartbeat.version = p->version;
    heartbeat_repeat(l);
    (void)heartbeat_deposed(l);
    lead_call(l);
    if (note.position != l->trimmed) {
        l->cfg.trim(l->cfg.ctx, note.position);
        l->trimmed = note.position;
    }
    return 0;
}

/* ---- taking over ---- */

/* The dedup that belongs to the weights: with them, or, in form 1, after the learner's state. */
static int resume_dedup(struct lead *l, const struct bus_wire_weights *note,
                        const unsigned char *old, size_t old_n, struct err *e)
{
    struct err why = {0};
    int rc = ERR_CORRUPT;
    dedup_clear(l->cfg.dedup);
    if (note->dedup)
        rc = dedup_state_put(l->cfg.dedup, DEDUP_FORM, note->dedup, note->dedup_n, &why);
    else if (old_n)
        rc = dedup_state_put(l->cfg.dedup, 1, old, old_n, &why);
    else
        err_set(&why, rc, "there is no state of the de-duplication");
    if (rc == ERR_MEMORY) return err_set(e, rc, "%s", why.detail);
    if (rc) { /* and would be so at the next try */
        dedup_clear(l->cfg.dedup);
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "%s: a trajectory that arrives twice may count twice", why.detail);
    }
    if (dedup_position(l->cfg.dedup) != note->position)
        dedup_advance(l->cfg.dedup, note->position);
    return 0;
}

static int resume_from(struct lead *l, struct learner *learner, const struct policy *p,
                       const struct bus_wire_weights *note, struct err *e)
{
    unsigned char *state = NULL;
    struct err why = {0};
    int rc = note->state_bytes ? state_get(&state, l, note, &why) : 0;
    uint64_t online_n = state && note->state_bytes >= 8 ? bytes_get_u64(state) : 0;
    if (state && (note->state_bytes < 8 || online_n > note->state_bytes - 8)) {
        rc = err_set(&why, ERR_CORRUPT, "the learner's state was damaged");
        free(state);
        state = NULL;
        online_n = 0;
    }
    if (rc == ERR_CORRUPT || rc == ERR_INVALID)
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "%s: this learner continues from the weights alone", why.detail);
    else if (rc)
        return err_field(e, rc, why.field, "%s", why.detail);
    rc = resume_dedup(l, note, state ? state + 8 + online_n : NULL,
                      state ? note->state_bytes - 8 - online_n : 0, e);
    bool fresh = false;
    if (!rc)
        rc = learner_resume(learner, p, state ? state + 8 : NULL, online_n, &fresh,
                            note->published_at, e);
    if (!rc && fresh)
        log_event(l->cfg.log, LOG_WARN, "lead",
                  "the optimiser's state is of another configuration: it begins anew");
    if (!rc && p->input_n && !learner_policy(learner)->input_n)
        log_event(l->cfg.log, LOG_INFO, "lead",
                  "the learned correction of the forecast is not used "
                  "(--forecast-steps 0)");
    free(state);
    return rc;
}

/* From what was published last; *found false: nothing was. */
static int resume(struct lead *l, struct learner *learner, bool *found, struct err *e)
{
    struct bus_wire_weights note;
    void *bytes;
    int rc = shared_value_get(&note, &bytes, &l->heartbeat.weights_rev,
                              &bus_wire_weights_kind, &l->cfg.bucket, NULL, e);
    *found = !rc && bytes;
    if (!rc && !bytes) l->note = (struct bus_wire_weights){0};
    if (rc || !bytes) return rc;
    struct policy *p = follow_policy(&note, &l->cfg.shape, e);
    if (p && forecast_own_drop_foreign(p))
        log_event(l->cfg.log, LOG_WARN, "lead",
                  "the correction of the published weights is dropped: it was fitted to "
                  "the forecast of another program");
    rc = p ? resume_from(l, learner, p, &note, e) : e->code;
    policy_free(p);
    free(bytes);
    note.dedup = note.checkpoint = NULL; /* borrowed from there */
    note.dedup_n = note.checkpoint_n = 0;
    if (!rc) l->note = note;
    return rc;
}

static int common_change(void *ctx, void *value, bool there, struct err *e)
{
    struct lead *l = ctx;
    int rc = l->cfg.common(l->cfg.ctx, value, !there, e);
    return rc ? rc : 1;
}

static int common_put(struct lead *l, struct err *e)
{
    struct bus_wire_common *c = calloc(1, sizeof *c);
    uint64_t rev;
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the common settings");
    struct err why = {0};
    int rc = shared_value_change(c, &rev, &bus_wire_common_kind, &l->cfg.bucket,
                                 common_change, l, &why);
    free(c);
    if (!rc) l->heartbeat.common_rev = rev;
    if (rc == ERR_CONFLICT) { /* operators were always faster: in the next turn */
        lead_settle(l);
        return 0;
    }
    return rc ? err_field(e, rc, why.field, "%s", why.detail) : 0;
}

void lead_settle(struct lead *l)
{
    atomic_store(&l->unsettled, true);
}

static int settle_again(struct lead *l, struct err *e)
{
    if (!atomic_exchange(&l->unsettled, false)) return 0;
    int rc = common_put(l, e);
    if (rc) lead_settle(l);
    heartbeat_note(l);
    lead_call(l);
    return rc;
}

static int take_over(struct lead *l, struct learner *learner,
                     const struct bus_wire_heartbeat *before, uint64_t rev, double mono,
                     double now, struct err *e)
{
    l->heartbeat = (struct bus_wire_heartbeat){.term = before->term + 1,
                                               .version = before->version,
                                               .weights_rev = before->weights_rev,
                                               .common_rev = before->common_rev};
    snprintf(l->heartbeat.name, sizeof l->heartbeat.name, "%s", l->cfg.who);
    atomic_store(&l->term, l->heartbeat.term);
    struct err why = {0};
    int rc = heartbeat_begin_term(l, rev, mono, &why);
    if (rc == ERR_CONFLICT) return 0; /* another learner was faster */
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    atomic_store(&l->deposed, false);

    bool found = false;
    l->unsure = false;
    rc = resume(l, learner, &found, &why);
    struct bus_wire_weights old = l->note;
    if (!rc && l->cfg.resume) rc = l->cfg.resume(l->cfg.ctx, l->heartbeat.term, &why);
    if (!rc) {
        atomic_store(&l->leading, true);
        l->cfg.rewind(l->cfg.ctx);
        const struct weights *w = published_get(l->cfg.published);
        rc = lead_commit(l, learner, learner_policy(learner), now, w->check_score, &why);
        published_put(l->cfg.published, w);
    }
    if (!rc && (found || l->heartbeat.term > 1)) state_drop_former(l, &old);
    atomic_store(&l->unsettled, false);
    if (!rc) rc = common_put(l, &why);
    heartbeat_note(l);
    if (rc) { /* another one may try now, or this one later */
        atomic_store(&l->leading, false);
        l->retry_at = mono + CLUSTER_TAKE_S;
        heartbeat_over(l);
        return err_field(e, rc, why.field, "%s", why.detail);
    }
    log_event(
        l->cfg.log, LOG_INFO, "lead", "leading in term %llu from version %llu, %s%s%s",
        (unsigned long long)l->heartbeat.term, (unsigned long long)l->heartbeat.version,
        before->term ? "after " : "as the first", before->term ? before->name : "",
        before->over ? ", which stopped" : "");
    return 0;
}

/* Publishes the position again when trajectories were read and nothing was learned from them. */
static int publish_position(struct lead *l, struct learner *learner, double now,
                            struct err *e)
{
    if (now < l->committed_at + POSITION_S && now >= l->committed_at) return 0;
    /* else the published weights are those before the batch, and the state is the one after it */
    if (!learner_published(learner)) return 0;
    if (dedup_position(l->cfg.dedup) == l->note.position || !learner_settled(learner))
        return 0;
    const struct weights *w = published_get(l->cfg.published);
    int rc = lead_commit(l, learner, w->policy, w->published_at, w->check_score, e);
    published_put(l->cfg.published, w);
    l->committed_at = now;
    return rc;
}

int lead_turn(struct lead *l, struct learner *learner, double mono, double now,
              struct err *e)
{
    struct bus_wire_heartbeat is;
    uint64_t rev;
    double silent_s;
    check_message_size(l, learner_policy(learner));
    heartbeat_progress(l, mono);
    if (heartbeat_deposed(l)) return 0;
    if (lead_leading(l)) {
        int rc = heartbeat_due(l, mono) ? heartbeat_write(l, mono, e) : 0;
        if (!rc && lead_leading(l)) rc = settle_again(l, e);
        return rc || !lead_leading(l) ? rc : publish_position(l, learner, now, e);
    }
    if (!follow_heartbeat(&is, &rev, &silent_s, l->cfg.follow, mono)) return 0;
    if (rev && !is.over && silent_s < CLUSTER_TAKE_S) return 0;
    if (mono < l->retry_at) return 0;
    return take_over(l, learner, &is, rev, mono, now, e);
}

void lead_resign(struct lead *l)
{
    bool led = !atomic_load(&l->deposed);
    if (!atomic_exchange(&l->leading, false) || !led) return;
    heartbeat_over(l); /* else it takes CLUSTER_TAKE_S */
    lead_call(l);
}
