#include "lead_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "learn/ckpt.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/cluster/pieces.h"

enum { KEY = 64, STATE_FORM = 2, TERMS_MAX = 16 };
/* What was read and refused is let go so often: else a stream could be full of it for ever. */
static const double LET_GO_S = 2;

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

/* ---- room ---- */

size_t lead_needs(const struct policy *p)
{
    void *ckpt = NULL;
    size_t n;
    if (ckpt_encode(&ckpt, &n, p, NULL, NULL, 0, NULL)) return 0;
    free(ckpt);
    size_t weights = n + LEAD_BESIDE;
    /* the state has two moments of every weight, and is cut */
    size_t piece = ENVELOPE_HEAD + (2 * n < PIECES_SIZE ? 2 * n : PIECES_SIZE);
    return weights > piece ? weights : piece;
}

/* Said when it is known, and not first when something was learned. */
static void look_for_room(struct lead *l, const struct policy *p)
{
    struct bucket *b = &l->cfg.bucket;
    size_t most = b->most ? b->most(b->self) : 0;
    if (!most || most == l->most) return;
    l->most = most;
    size_t needs = lead_needs(p);
    if (needs > most)
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "nothing can be published: a message takes %zu bytes, and the NATS "
                  "servers take no more than %zu at once: raise max_payload in their "
                  "configuration",
                  needs, most);
}

/* ---- state, in pieces ---- */

static void state_key(char out[KEY], uint64_t term, int slot)
{
    snprintf(out, KEY, "state.%llu.%d", (unsigned long long)term, slot);
}

/* The learner's state with its length before it; up to form 1 the dedup's followed. */
static int collect(unsigned char **out, size_t *n, const struct learner *learner,
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

/* The state as it is now, and in *note where it lies and the dedup, owned by *dedup. */
static int put_state(struct bus_wire_weights *note, void **dedup, struct lead *l,
                     const struct learner *learner, struct err *e)
{
    unsigned char *state = NULL;
    size_t n;
    int rc = collect(&state, &n, learner, e);
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
    char key[KEY];
    struct pieces made;
    state_key(key, l->beat.term, note->state_slot);
    rc = pieces_put(&made, &l->cfg.bucket, key, ENVELOPE_STATE, STATE_FORM, state, n, e);
    free(state);
    note->state_bytes = made.bytes;
    note->state_crc = made.crc;
    note->state_parts = made.parts;
    return rc;
}

static int get_state(unsigned char **out, struct lead *l,
                     const struct bus_wire_weights *w, struct err *e)
{
    char key[KEY];
    void *bytes;
    struct pieces p = {w->state_bytes, w->state_crc, w->state_parts};
    state_key(key, w->term, w->state_slot);
    int rc = pieces_get(&bytes, &p, &l->cfg.bucket, key, ENVELOPE_STATE, STATE_FORM, e);
    *out = bytes;
    return rc;
}

/* All of one term; false: the board does not answer, so they stay. */
static bool drop_term(struct lead *l, uint64_t term, int parts)
{
    for (int slot = 0; slot < 2; slot++) {
        char key[KEY];
        state_key(key, term, slot);
        if (!pieces_drop(&l->cfg.bucket, key, parts)) return false;
    }
    return true;
}

/* Those of learners before this one, also of terms since `was` whose take-over failed. */
static void drop_parts(struct lead *l, const struct bus_wire_weights *was)
{
    uint64_t mine = l->beat.term, term = was->term;
    int parts = l->note.state_parts;
    if (was->state_parts > parts) parts = was->state_parts;
    if (mine - term > TERMS_MAX) term = mine - TERMS_MAX;
    while (term < mine && drop_term(l, term, parts))
        term++;
}

/* ---- publishing ---- */

/* The weights' revision when they are ours; else another one leads. */
static int still_ours(struct lead *l, uint64_t *rev, struct err *e)
{
    struct bucket *b = &l->cfg.bucket;
    struct bus_wire_weights is = {0};
    void *bytes;
    size_t n;
    int rc = b->get(b->self, FOLLOW_WEIGHTS, &bytes, &n, rev, e);
    if (!rc && bytes) rc = bus_wire_get_weights(&is, NULL, NULL, bytes, n, e);
    bool ours = !rc && bytes && is.term == l->beat.term;
    free(bytes);
    if (rc) return rc;
    if (ours) {
        l->live = is.state_slot;
        l->unsure = false;
        return 0;
    }
    lead_stand_by(l, "another learner has published");
    (void)drop_term(l, l->beat.term, l->note.state_parts); /* nobody names it */
    return err_set(e, ERR_CONFLICT, "another learner has published: standing by");
}

static int put_weights(struct lead *l, const struct bus_wire_weights *note,
                       const struct policy *p, struct err *e)
{
    void *ckpt = NULL, *bytes = NULL;
    size_t ckpt_n, n;
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "made_by", "abrd serve --role learn");
    ckpt_meta_set(&meta, "check_score", "%.9g", note->check_score);
    int rc = ckpt_encode(&ckpt, &ckpt_n, p, &meta, NULL, 0, e);
    if (!rc) rc = bus_wire_put_weights(&bytes, &n, note, ckpt, ckpt_n, e);
    struct bucket *b = &l->cfg.bucket;
    uint64_t *rev = &l->beat.weights_rev;
    if (!rc) {
        struct err why = {0};
        rc = b->put(b->self, FOLLOW_WEIGHTS, bytes, n, *rev, rev, &why);
        if (rc == ERR_CONFLICT) { /* an answer that was lost makes our own look strange */
            rc = still_ours(l, rev, e);
            if (!rc) rc = b->put(b->self, FOLLOW_WEIGHTS, bytes, n, *rev, rev, e);
        } else if (rc) {
            err_field(e, rc, why.field, "%s", why.detail);
        }
    }
    free(bytes);
    free(ckpt);
    return rc;
}

int lead_commit(struct lead *l, const struct learner *learner, const struct policy *p,
                double now, double score, struct err *e)
{
    if (lead_deposed(l) || !lead_leading(l))
        return err_set(e, ERR_CONFLICT, "this learner stands by");
    /* what waits for an update is in the dedup, but not in the state: then the last state, with
     * its dedup, is the one to go on from */
    struct bus_wire_weights note = l->note;
    void *dedup = NULL;
    int rc = 0;
    if (l->unsure) rc = still_ours(l, &l->beat.weights_rev, e);
    if (!rc && (learner_settled(learner) || note.term != l->beat.term))
        rc = put_state(&note, &dedup, l, learner, e);
    note.term = l->beat.term;
    note.version = p->version;
    note.published_at = now;
    note.check_score = score;
    if (!rc) {
        rc = put_weights(l, &note, p, e);
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
    l->beat.version = p->version;
    struct err why = {0};
    pthread_mutex_lock(&l->lock);
    double at = l->said.at;
    pthread_mutex_unlock(&l->lock);
    lead_beat_note(l);
    (void)lead_beat_write(l, at, &why); /* else the next one names them */
    struct bucket *b = &l->cfg.bucket;
    b->call(b->self);
    if (note.position != l->trimmed) {
        l->cfg.trim(l->cfg.ctx, note.position);
        l->trimmed = note.position;
    }
    return 0;
}

/* ---- taking over ---- */

/* The dedup that belongs to what is gone on from: with the weights, or, before form 2, behind the
 * learner's state. */
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
        err_set(&why, rc, "there is no ledger");
    if (rc == ERR_MEMORY) return err_set(e, rc, "%s", why.detail);
    if (rc) { /* trying again would not mend it */
        dedup_clear(l->cfg.dedup);
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "%s: going on without it; what comes twice may count twice",
                  why.detail);
    }
    if (dedup_position(l->cfg.dedup) != note->position)
        dedup_advance(l->cfg.dedup, note->position);
    return 0;
}

/* Of weights that were read. */
static int resume_from(struct lead *l, struct learner *learner, const struct policy *p,
                       const struct bus_wire_weights *note, struct err *e)
{
    unsigned char *state = NULL;
    struct err why = {0};
    int rc = note->state_bytes ? get_state(&state, l, note, &why) : 0;
    if (rc == ERR_CORRUPT || rc == ERR_INVALID)
        log_event(l->cfg.log, LOG_ERROR, "lead", "%s: going on from the weights alone",
                  why.detail);
    else if (rc)
        return err_field(e, rc, why.field, "%s", why.detail);
    uint64_t online_n = state && note->state_bytes >= 8 ? bytes_get_u64(state) : 0;
    if (state && (note->state_bytes < 8 || online_n > note->state_bytes - 8)) {
        log_event(l->cfg.log, LOG_ERROR, "lead",
                  "the learner's state was damaged: going on from the weights alone");
        free(state);
        state = NULL;
        online_n = 0;
    }
    rc = resume_dedup(l, note, state ? state + 8 + online_n : NULL,
                      state ? note->state_bytes - 8 - online_n : 0, e);
    bool fresh = false;
    if (!rc)
        rc = learner_resume(learner, p, state ? state + 8 : NULL, online_n, &fresh,
                            note->published_at, e);
    if (!rc && fresh)
        log_event(l->cfg.log, LOG_WARN, "lead",
                  "the optimiser's state is of another configuration: starting anew");
    free(state);
    return rc;
}

/* From what was published last; *found false: nothing was. */
static int resume(struct lead *l, struct learner *learner, bool *found, struct err *e)
{
    struct bucket *b = &l->cfg.bucket;
    void *bytes;
    size_t n;
    int rc = b->get(b->self, FOLLOW_WEIGHTS, &bytes, &n, &l->beat.weights_rev, e);
    *found = bytes != NULL;
    if (!rc && !bytes)
        l->note = (struct bus_wire_weights){0}; /* nothing of it is there */
    if (rc || !bytes) return rc;
    struct bus_wire_weights note = {0};
    struct policy *p = follow_decode(&note, bytes, n, &l->cfg.shape, e);
    rc = p ? resume_from(l, learner, p, &note, e) : e->code;
    policy_free(p);
    free(bytes);
    note.dedup = NULL; /* it was borrowed from there */
    note.dedup_n = 0;
    if (!rc) l->note = note;
    return rc;
}

static int settle_common(struct lead *l, struct err *e)
{
    struct bucket *b = &l->cfg.bucket;
    struct bus_wire_common *c = calloc(1, sizeof *c);
    void *bytes = NULL;
    size_t n;
    uint64_t rev = 0;
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the common settings");
    int rc = b->get(b->self, FOLLOW_COMMON, &bytes, &n, &rev, e);
    if (!rc && bytes) rc = bus_wire_get_common(c, bytes, n, e);
    bool first = !bytes;
    free(bytes);
    bytes = NULL;
    if (!rc) rc = l->cfg.common(l->cfg.ctx, c, first, e);
    if (!rc) rc = bus_wire_put_common(&bytes, &n, c, e);
    struct err why = {0};
    if (!rc) {
        rc = b->put(b->self, FOLLOW_COMMON, bytes, n, rev, &l->beat.common_rev, &why);
        if (rc == ERR_CONFLICT) { /* an operator was faster: once more, from his */
            lead_settle(l);
            rc = 0;
        }
        if (rc) err_field(e, rc, why.field, "%s", why.detail);
    }
    free(bytes);
    free(c);
    return rc;
}

void lead_settle(struct lead *l)
{
    atomic_store(&l->unsettled, true);
}

static int settle_again(struct lead *l, struct err *e)
{
    if (!atomic_exchange(&l->unsettled, false)) return 0;
    int rc = settle_common(l, e);
    if (rc) lead_settle(l);
    lead_beat_note(l);
    l->cfg.bucket.call(l->cfg.bucket.self);
    return rc;
}

static int take_over(struct lead *l, struct learner *learner,
                     const struct bus_wire_heartbeat *before, uint64_t rev, double mono,
                     double now, struct err *e)
{
    l->beat = (struct bus_wire_heartbeat){.term = before->term + 1,
                                          .version = before->version,
                                          .weights_rev = before->weights_rev,
                                          .common_rev = before->common_rev};
    snprintf(l->beat.name, sizeof l->beat.name, "%s", l->cfg.who);
    atomic_store(&l->term, l->beat.term);
    struct err why = {0};
    int rc = lead_beat_term(l, rev, mono, &why);
    if (rc == ERR_CONFLICT) return 0; /* another one was faster */
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    atomic_store(&l->deposed, false);

    bool found = false;
    l->unsure = false;
    rc = resume(l, learner, &found, &why);
    struct bus_wire_weights old = l->note;
    if (!rc && l->cfg.resume) rc = l->cfg.resume(l->cfg.ctx, l->beat.term, &why);
    if (!rc) {
        atomic_store(&l->leading, true);
        l->cfg.rewind(l->cfg.ctx);
        const struct weights *w = published_get(l->cfg.published);
        rc = lead_commit(l, learner, learner_policy(learner), now, w->check_score, &why);
        published_put(l->cfg.published, w);
    }
    if (!rc && (found || l->beat.term > 1)) drop_parts(l, &old);
    atomic_store(&l->unsettled, false);
    if (!rc) rc = settle_common(l, &why);
    lead_beat_note(l);
    if (rc) { /* let another one try, or this one again */
        atomic_store(&l->leading, false);
        l->retry_at = mono + CLUSTER_TAKE_S;
        lead_beat_over(l);
        return err_field(e, rc, why.field, "%s", why.detail);
    }
    log_event(l->cfg.log, LOG_INFO, "lead",
              "learning in term %llu from version %llu, %s%s%s",
              (unsigned long long)l->beat.term, (unsigned long long)l->beat.version,
              before->term ? "after " : "as the first", before->term ? before->name : "",
              before->over ? ", who stopped" : "");
    return 0;
}

static int lead_let_go(struct lead *l, struct learner *learner, double now, struct err *e)
{
    if (now < l->committed_at + LET_GO_S && now >= l->committed_at) return 0;
    /* the published has weights of before the batch, the state is of after it */
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
    look_for_room(l, learner_policy(learner));
    lead_beat_progress(l, mono);
    if (lead_deposed(l)) return 0;
    if (lead_leading(l)) {
        int rc = lead_beat_due(l, mono) ? lead_beat_write(l, mono, e) : 0;
        if (!rc && lead_leading(l)) rc = settle_again(l, e);
        return rc || !lead_leading(l) ? rc : lead_let_go(l, learner, now, e);
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
    lead_beat_over(l); /* else it takes CLUSTER_TAKE_S */
    struct bucket *b = &l->cfg.bucket;
    b->call(b->self);
}
