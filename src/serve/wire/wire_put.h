/* wire_put.h - from the structs of service.h to the JSON of an answer.
 *
 * The counterpart of wire.h; web/openapi.json describes the same objects. Doubles read back as the
 * same doubles (emit.h). Unsigned 64-bit keys are strings of digits, because JavaScript would round
 * them.
 *
 * Threads: pure functions. */
#ifndef SERVE_WIRE_PUT_H
#define SERVE_WIRE_PUT_H

#include "serve/learner/curve.h"
#include "serve/wire/emit.h"
#include "serve/parts.h"
#include "serve/session/service.h"
#include "serve/store/forget.h"

/* Each writes one whole object. */
void wire_put_opened(struct emit *o, const struct session_opened *s);
void wire_put_answer(struct emit *o, const struct answer *a);
/* The stateless answer: the decision, and the preferences that it used. */
void wire_put_decided(struct emit *o, const struct answer *a, const char *profile,
                      bool hinted, const struct qoe *q);
void wire_put_reward(struct emit *o, const struct reward_out *r);
void wire_put_underway(struct emit *o, const struct underway_out *u);
/* A history in three pieces; the middle one is repeated for each slice. */
void wire_put_history_head(struct emit *o, const struct history *h);
void wire_put_history_steps(struct emit *o, const struct history *h);
/* next: history.next of the last slice. */
void wire_put_history_tail(struct emit *o, uint32_t next);
void wire_put_profile(struct emit *o, const struct profile *p);
void wire_put_policy(struct emit *o, const struct policy_info *p);
/* Routers and experts: the answer to an admin's request, and part of the stats. */
void wire_put_gates(struct emit *o, const struct service_stats *s);
void wire_put_stats(struct emit *o, const struct service_stats *s,
                    struct parts_stats *parts);
/* The member "learner" of an open object. */
void wire_put_learner(struct emit *o, const struct online_stats *l);
/* For dashboards (wire_put_watch.c): the learner's curve; the plasticity of each expert. */
/* exam NULL: there was none */
void wire_put_curve(struct emit *o, const struct curve_point *p, int n,
                    const struct cells_report *exam);
void wire_put_plasticity(struct emit *o, const struct vitals_stats *v);
/* Data of events: an answer or a reward with its session. */
void wire_put_decision_event(struct emit *o, const char *session, const struct answer *a);
void wire_put_reward_event(struct emit *o, const char *session,
                           const struct reward_out *r);

/* One line of names and one per step (RFC 4180; all values are numbers). */
void wire_put_history_csv_head(struct emit *o);
void wire_put_history_csv(struct emit *o, const struct history *h);

/* What was deleted, or would be. */
void wire_put_forgotten(struct emit *o, const struct forget_stats *s, bool dry);

#endif
