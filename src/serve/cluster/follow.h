/* follow.h - keeps a process in step with the leader: heartbeat, published weights, common settings.
 *
 * These are three shared values (shared_value.h). The heartbeat names the newest revisions of the
 * other two, which are read when it names another one. Common settings are read every 2 s as well,
 * because any node changes them. Weights are used when envelope, checksum and shape are right; else
 * they are refused and the process goes on with those it has.
 *
 * A heartbeat that is damaged counts as none.
 *
 * Errors: ERR_IO the bucket does not answer. Threads: turns, follow_afresh and follow_called from one
 * thread; follow_heartbeat and follow_stats from any. */
#ifndef SERVE_FOLLOW_H
#define SERVE_FOLLOW_H

#include "policy/policy.h"
#include "serve/cluster/bus_wire.h"
#include "serve/cluster/cluster_cfg.h"

#define FOLLOW_VALUES 3

struct follow;

struct follow_cfg {
    struct bucket bucket;
    struct policy_cfg shape; /* the workers' */
    const struct log *log;
    /* p is taken. */
    int (*weights)(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                   struct err *e);
    /* After an error it is called again. ERR_CONFLICT: c is older than what is known; not logged. */
    int (*common)(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                  struct err *e);
    /* What is learned by now, also when the weights are the same or do not fit. NULL: not needed. */
    void (*learned)(void *ctx, const struct bus_wire_weights *note);
    void *ctx;
};

struct follow *follow_new(const struct follow_cfg *cfg, struct err *e);
void follow_free(struct follow *f);

/* What shared_value_turn serves; the heartbeat comes first. */
void follow_values(struct shared_value *out[FOLLOW_VALUES], struct follow *f);
/* The next turn reads and takes everything again. */
void follow_afresh(struct follow *f);
/* A call said that something has changed. */
void follow_called(struct follow *f);

/* The heartbeat that was read last, term 0: none; and its revision. silent_s: since its last change,
 * or since the bucket answered first or again. false: the bucket does not answer. */
bool follow_heartbeat(struct bus_wire_heartbeat *out, uint64_t *rev, double *silent_s,
                      struct follow *f, double mono);
/* Sets learner, its silence, term and the figures of the weights; the rest stays. */
void follow_stats(struct cluster_stats *out, struct follow *f, double mono);

/* The policy of published weights, owned; NULL when it does not fit this shape. Its correction may be of
 * another forecast (abr/deciders/forecast_own.h). */
struct policy *follow_policy(const struct bus_wire_weights *w,
                             const struct policy_cfg *shape, struct err *e);

#endif
