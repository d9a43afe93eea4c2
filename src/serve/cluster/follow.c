#include "serve/cluster/follow.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ckpt.h"

/* unless somebody calls, what is common is looked at so often */
static const double LOOK_S = 2;

struct follow {
    struct follow_cfg cfg;
    struct bus_wire_common *common; /* scratch */
    uint64_t weights_rev, common_rev;
    uint64_t common_told;   /* the revision whose trouble was logged */
    uint64_t term, version; /* taken last */
    bool afresh;
    double looked;
    uint64_t beat_told;   /* the revision that could not be read and was logged */
    pthread_mutex_t lock; /* of what follows */
    bool answers;
    uint64_t beat_rev;
    double heard; /* when the beat changed, or the board answered again */
    struct follow_stats stats;
};

struct follow *follow_new(const struct follow_cfg *cfg, struct err *e)
{
    struct follow *f = calloc(1, sizeof *f);
    if (f) f->common = calloc(1, sizeof *f->common);
    if (!f || !f->common) {
        free(f);
        err_set(e, ERR_MEMORY, "no memory to follow a learner");
        return NULL;
    }
    f->cfg = *cfg;
    f->afresh = true;
    f->looked = -INFINITY;
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

void follow_free(struct follow *f)
{
    if (!f) return;
    pthread_mutex_destroy(&f->lock);
    free(f->common);
    free(f);
}

void follow_afresh(struct follow *f)
{
    f->term = f->weights_rev = f->common_rev = 0;
    f->afresh = true;
}

void follow_called(struct follow *f)
{
    f->looked = -INFINITY;
}

static bool same_shape(const struct policy_cfg *a, const struct policy_cfg *b)
{
    return a->obs_dim == b->obs_dim && a->actions == b->actions &&
           a->hidden == b->hidden && a->layers == b->layers && a->experts == b->experts &&
           a->critic_hidden == b->critic_hidden &&
           a->critic_experts == b->critic_experts && a->route == b->route &&
           a->critic_route == b->critic_route;
}

struct policy *follow_decode(struct bus_wire_weights *note, const void *bytes, size_t n,
                             const struct policy_cfg *shape, struct err *e)
{
    const void *ckpt;
    size_t ckpt_n;
    if (bus_wire_get_weights(note, &ckpt, &ckpt_n, bytes, n, e)) return NULL;
    struct policy *p = ckpt_decode(ckpt, ckpt_n, NULL, NULL, NULL, e);
    if (!p) return NULL;
    const struct policy_cfg *c = &p->cfg;
    int rc = 0;
    if (!same_shape(c, shape))
        rc = err_set(e, ERR_CONFLICT,
                     "have another shape (%d observations, %d actions, %d experts of "
                     "%d x %d) than this node's policy (%d, %d, %d of %d x %d): start it "
                     "with the learner's --policy",
                     c->obs_dim, c->actions, c->experts, c->layers, c->hidden,
                     shape->obs_dim, shape->actions, shape->experts, shape->layers,
                     shape->hidden);
    else if (p->version != note->version)
        rc = err_set(e, ERR_CORRUPT, "are version %llu, not %llu as they are announced",
                     (unsigned long long)p->version, (unsigned long long)note->version);
    if (!rc) return p;
    policy_free(p);
    return NULL;
}

static void follow_refuse(struct follow *f, const struct err *why)
{
    log_event(f->cfg.log, LOG_ERROR, "follow",
              "the published weights are refused, going on with those at hand: %s",
              why->detail);
    pthread_mutex_lock(&f->lock);
    f->stats.refused++;
    pthread_mutex_unlock(&f->lock);
}

static int take_weights(struct follow *f, double now, struct err *e)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bucket *b = &f->cfg.bucket;
    int rc = b->get(b->self, FOLLOW_WEIGHTS, &bytes, &n, &rev, e);
    if (rc || !bytes || rev == f->weights_rev) {
        free(bytes);
        return rc;
    }
    f->weights_rev = rev;
    struct err why = {0};
    struct bus_wire_weights note;
    bool noted = !bus_wire_get_weights(&note, NULL, NULL, bytes, n, NULL);
    if (noted && f->cfg.learned) f->cfg.learned(f->cfg.ctx, &note);
    if (noted && note.term == f->term && note.version == f->version) {
        free(bytes); /* only the place in the stream has moved */
        return 0;
    }
    struct policy *p = follow_decode(&note, bytes, n, &f->cfg.shape, &why);
    bool taken = p && !f->cfg.weights(f->cfg.ctx, p, &note, &why);
    free(bytes);
    if (!taken) {
        follow_refuse(f, &why);
        return 0;
    }
    f->term = note.term;
    f->version = note.version;
    double delay = fmax(now - note.published_at, 0);
    log_event(f->cfg.log, LOG_INFO, "follow",
              "version %llu of term %llu, published %.3f s ago",
              (unsigned long long)note.version, (unsigned long long)note.term, delay);
    pthread_mutex_lock(&f->lock);
    f->stats.taken++;
    f->stats.delay_s = delay;
    /* what was published before this node listened says nothing about the way */
    if (f->stats.taken > 1) f->stats.delay_max_s = fmax(f->stats.delay_max_s, delay);
    pthread_mutex_unlock(&f->lock);
    return 1;
}

static int take_common(struct follow *f, struct err *e)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bucket *b = &f->cfg.bucket;
    int rc = b->get(b->self, FOLLOW_COMMON, &bytes, &n, &rev, e);
    if (!rc && bytes && rev != f->common_rev) {
        struct err why = {0};
        int bad = bus_wire_get_common(f->common, bytes, n, &why);
        bool readable = !bad;
        if (!bad) bad = f->cfg.common(f->cfg.ctx, f->common, rev, &why);
        if (!bad || !readable) f->common_rev = rev; /* else it is tried again */
        if (bad && bad != ERR_CONFLICT && rev != f->common_told) {
            log_err(f->cfg.log, LOG_ERROR, "follow", &why);
            f->common_told = rev;
        }
    }
    free(bytes);
    return rc;
}

static void tell_beat(struct follow *f, uint64_t rev, const struct err *why)
{
    if (rev == f->beat_told) return;
    f->beat_told = rev;
    log_event(f->cfg.log, LOG_ERROR, "follow", "what the learner tells: %s", why->detail);
}

/* One that is damaged, or no beat at all, is silence. */
static int read_beat(struct bus_wire_heartbeat *out, struct follow *f, double mono,
                     struct err *e)
{
    void *bytes;
    size_t n;
    uint64_t rev = 0;
    struct bucket *b = &f->cfg.bucket;
    struct bus_wire_heartbeat beat = {0};
    int rc = b->get(b->self, FOLLOW_HEARTBEAT, &bytes, &n, &rev, e);
    bool damaged = false;
    if (!rc && bytes) {
        struct err why = {0};
        rc = bus_wire_get_heartbeat(&beat, bytes, n, &why);
        if (rc) tell_beat(f, rev, &why);
        damaged = rc == ERR_INVALID || rc == ERR_CORRUPT;
        if (rc && !damaged) err_field(e, rc, why.field, "%s", why.detail);
    }
    free(bytes);
    pthread_mutex_lock(&f->lock);
    if (damaged) {
        beat = f->stats.beat;
        rc = 0;
    }
    if (!rc && ((rev > f->beat_rev && !damaged) || !f->answers)) f->heard = mono;
    f->answers = !rc;
    if (!rc) {
        f->beat_rev = rev;
        f->stats.beat = beat;
    }
    pthread_mutex_unlock(&f->lock);
    *out = beat;
    return rc;
}

int follow_turn(struct follow *f, bool leads, double mono, double now, struct err *e)
{
    struct bus_wire_heartbeat beat;
    int rc = read_beat(&beat, f, mono, e), taken = 0;
    if (rc) return rc;
    if (!leads &&
        (f->afresh || (beat.weights_rev && beat.weights_rev != f->weights_rev))) {
        taken = take_weights(f, now, e);
        if (taken < 0) return taken;
    }
    if (f->afresh || mono >= f->looked + LOOK_S ||
        (beat.common_rev && beat.common_rev != f->common_rev)) {
        rc = take_common(f, e);
        if (rc) return rc;
        f->looked = mono;
    }
    f->afresh = false;
    return taken;
}

bool follow_heartbeat(struct bus_wire_heartbeat *out, uint64_t *rev, double *silent_s,
                      struct follow *f, double mono)
{
    pthread_mutex_lock(&f->lock);
    *out = f->stats.beat;
    *rev = f->beat_rev;
    *silent_s = mono - f->heard;
    bool answers = f->answers;
    pthread_mutex_unlock(&f->lock);
    return answers;
}

void follow_stats(struct follow_stats *out, struct follow *f, double mono)
{
    pthread_mutex_lock(&f->lock);
    *out = f->stats;
    out->silent_s = f->heard > 0 ? mono - f->heard : 0;
    pthread_mutex_unlock(&f->lock);
}
