#include "serve/cluster/follow.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/forecast_own.h"
#include "learn/ckpt.h"

static const double COMMON_S = 2; /* between two reads of the common settings */

struct follow {
    struct follow_cfg cfg;
    struct shared_value heartbeat, weights, common;
    struct bus_wire_heartbeat read; /* by heartbeat, and so on */
    struct bus_wire_weights note;
    struct bus_wire_common *settings;
    uint64_t term, version; /* of the weights taken last */
    bool foreign;           /* their correction was dropped */
    pthread_mutex_t lock;   /* of what follows */
    bool answers;
    uint64_t heartbeat_rev;
    double changed_at; /* the heartbeat, or the bucket answered again */
    struct bus_wire_heartbeat last;
    uint64_t taken;
    double delay_s, delay_max_s; /* from publication to here, by the clocks of both */
};

/* ---- heartbeat ---- */

static int follow_take_heartbeat(void *ctx, struct shared_value *v,
                                 const struct err *wrong, struct err *e)
{
    struct follow *f = ctx;
    bool damaged = wrong && (wrong->code == ERR_INVALID || wrong->code == ERR_CORRUPT);
    if (wrong)
        shared_value_refuse(v, f->cfg.log, "follow", "the learner's heartbeat is ignored",
                            wrong);
    pthread_mutex_lock(&f->lock);
    bool known = !wrong || damaged;
    if (known && ((v->rev > f->heartbeat_rev && !damaged) || !f->answers))
        f->changed_at = v->mono;
    f->answers = known;
    if (known) f->heartbeat_rev = v->rev;
    if (!wrong) f->last = f->read;
    f->read = f->last;
    pthread_mutex_unlock(&f->lock);
    return known ? 1 : err_field(e, wrong->code, wrong->field, "%s", wrong->detail);
}

static void follow_unanswered(void *ctx)
{
    struct follow *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->answers = false;
    pthread_mutex_unlock(&f->lock);
}

/* ---- weights ---- */

static bool same_shape(const struct policy_cfg *a, const struct policy_cfg *b)
{
    return a->obs_dim == b->obs_dim && a->actions == b->actions &&
           a->hidden == b->hidden && a->layers == b->layers && a->experts == b->experts &&
           a->critic_hidden == b->critic_hidden &&
           a->critic_experts == b->critic_experts && a->route == b->route &&
           a->critic_route == b->critic_route;
}

struct policy *follow_policy(const struct bus_wire_weights *w,
                             const struct policy_cfg *shape, struct err *e)
{
    struct policy *p = ckpt_decode(w->checkpoint, w->checkpoint_n, NULL, NULL, NULL, e);
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
    else if (p->version != w->version)
        rc = err_set(e, ERR_CORRUPT, "are version %llu, but their note says %llu",
                     (unsigned long long)p->version, (unsigned long long)w->version);
    if (!rc) return p;
    policy_free(p);
    return NULL;
}

static enum shared_value_due follow_weights_due(void *ctx, struct shared_value *v)
{
    const struct follow *f = ctx;
    bool newer = f->read.weights_rev && f->read.weights_rev != v->done;
    return newer || v->done == SHARED_VALUE_NONE ? SHARED_VALUE_DUE : SHARED_VALUE_IDLE;
}

static void follow_note_taken(struct follow *f, double now)
{
    const struct bus_wire_weights *w = &f->note;
    double delay = fmax(now - w->published_at, 0);
    f->term = w->term;
    f->version = w->version;
    log_event(f->cfg.log, LOG_INFO, "follow",
              "version %llu of term %llu, published %.3f s ago",
              (unsigned long long)w->version, (unsigned long long)w->term, delay);
    pthread_mutex_lock(&f->lock);
    f->taken++;
    f->delay_s = delay;
    /* the first ones were published before this process listened */
    if (f->taken > 1) f->delay_max_s = fmax(f->delay_max_s, delay);
    pthread_mutex_unlock(&f->lock);
}

/* Logged once, not for every version of a learner with another forecast. */
static void follow_drop_foreign(struct follow *f, struct policy *p)
{
    bool foreign = forecast_own_drop_foreign(p);
    if (foreign && !f->foreign)
        log_event(f->cfg.log, LOG_WARN, "follow",
                  "the correction of the published weights is not used: it was fitted to "
                  "the forecast of another program");
    f->foreign = foreign;
}

static int follow_take_weights(void *ctx, struct shared_value *v, const struct err *wrong,
                               struct err *e)
{
    struct follow *f = ctx;
    struct err why = {0};
    (void)e;
    if (!wrong && !v->rev) return 0;
    if (!wrong) {
        if (f->cfg.learned) f->cfg.learned(f->cfg.ctx, &f->note);
        if (f->note.term == f->term && f->note.version == f->version)
            return 0; /* only the position in the stream has changed */
        struct policy *p = follow_policy(&f->note, &f->cfg.shape, &why);
        if (p) follow_drop_foreign(f, p);
        if (p && !f->cfg.weights(f->cfg.ctx, p, &f->note, &why)) {
            follow_note_taken(f, v->now);
            return 0;
        }
    }
    shared_value_refuse(
        v, f->cfg.log, "follow",
        "the published weights are refused, the node keeps those that it has",
        wrong ? wrong : &why);
    return 0;
}

/* ---- common settings ---- */

static enum shared_value_due follow_common_due(void *ctx, struct shared_value *v)
{
    const struct follow *f = ctx;
    bool newer = f->read.common_rev && f->read.common_rev != v->done;
    return newer ? SHARED_VALUE_DUE : SHARED_VALUE_BY_TIME;
}

static int follow_take_common(void *ctx, struct shared_value *v, const struct err *wrong,
                              struct err *e)
{
    struct follow *f = ctx;
    struct err why = {0};
    (void)e;
    if (!wrong && !v->rev) return 0;
    int rc = wrong ? wrong->code : f->cfg.common(f->cfg.ctx, f->settings, v->rev, &why);
    if (rc && rc != ERR_CONFLICT)
        shared_value_refuse(v, f->cfg.log, "follow", "the common settings cannot be used",
                            wrong ? wrong : &why);
    return rc && !wrong;
}

/* ---- all of them ---- */

struct follow *follow_new(const struct follow_cfg *cfg, struct err *e)
{
    struct follow *f = calloc(1, sizeof *f);
    if (f) f->settings = calloc(1, sizeof *f->settings);
    if (!f || !f->settings) {
        free(f);
        err_set(e, ERR_MEMORY, "no memory to follow a learner");
        return NULL;
    }
    f->cfg = *cfg;
    f->heartbeat = (struct shared_value){.kind = &bus_wire_heartbeat_kind,
                                         .value = &f->read,
                                         .take = follow_take_heartbeat,
                                         .unanswered = follow_unanswered};
    f->weights = (struct shared_value){.kind = &bus_wire_weights_kind,
                                       .value = &f->note,
                                       .followers_only = true,
                                       .due = follow_weights_due,
                                       .take = follow_take_weights};
    f->common = (struct shared_value){.kind = &bus_wire_common_kind,
                                      .value = f->settings,
                                      .every_s = COMMON_S,
                                      .due = follow_common_due,
                                      .take = follow_take_common};
    struct shared_value *v[FOLLOW_VALUES];
    follow_values(v, f);
    for (int i = 0; i < FOLLOW_VALUES; i++) {
        v[i]->bucket = cfg->bucket;
        v[i]->ctx = f;
        shared_value_init(v[i]);
    }
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

void follow_free(struct follow *f)
{
    if (!f) return;
    pthread_mutex_destroy(&f->lock);
    free(f->settings);
    free(f);
}

void follow_values(struct shared_value *out[FOLLOW_VALUES], struct follow *f)
{
    out[0] = &f->heartbeat;
    out[1] = &f->weights;
    out[2] = &f->common;
}

void follow_afresh(struct follow *f)
{
    f->term = 0;
    shared_value_renew(&f->weights);
    shared_value_renew(&f->common);
}

void follow_called(struct follow *f)
{
    shared_value_called(&f->common);
}

bool follow_heartbeat(struct bus_wire_heartbeat *out, uint64_t *rev, double *silent_s,
                      struct follow *f, double mono)
{
    pthread_mutex_lock(&f->lock);
    *out = f->last;
    *rev = f->heartbeat_rev;
    *silent_s = mono - f->changed_at;
    bool answers = f->answers;
    pthread_mutex_unlock(&f->lock);
    return answers;
}

void follow_stats(struct cluster_stats *out, struct follow *f, double mono)
{
    pthread_mutex_lock(&f->lock);
    const struct bus_wire_heartbeat *h = &f->last;
    out->learner_silent_s = f->changed_at > 0 ? mono - f->changed_at : 0;
    out->term = h->term;
    if (!h->over) memcpy(out->learner, h->name, sizeof out->learner);
    out->weights_taken = f->taken;
    out->weights_delay_s = f->delay_s;
    out->weights_delay_max_s = f->delay_max_s;
    pthread_mutex_unlock(&f->lock);
    out->weights_refused = atomic_load(&f->weights.refused);
}
