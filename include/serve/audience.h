/* audience.h - who watches what: how likely each task is, for a content and at large.
 *
 *   psi_v   = (n_v + 1/V) / (sum n + 1)                the mix of tasks among untagged viewers
 *   p(v|c)  = (c_v + a psi_v) / (sum_v c_v + a)        of a content, a = AUDIENCE_PRIOR
 *
 * A task is a profile of viewers. n_v counts sessions that gave no hint, once they have ended and
 * something is known of them: a label (what the viewer really watched) counts 1 for its task; a
 * session without one, but of a content that others labelled, counts p(v|c) for every task. c_v
 * counts the labels of a content, hinted sessions included, in Count-Min counters
 * (base/sketch.h): memory does not grow with the catalogue. What collisions add is taken off
 * again, as counters of the same content for tasks that cannot be tell how much it is; a content
 * whose labels drown in it counts as unknown.
 *
 * Source: psi_t and its estimate from counters, Tanbr (Han et al., Sec. I and III). Differs: an
 * exponential moving average over what was learned in a slot; audience_turn halves n every
 * `half_life` slots and c every `content_half_life`, so a slot with little evidence moves psi
 * little.
 *
 * What it rests on: who is labelled must not depend on the task beyond the content. Until
 * AUDIENCE_ENOUGH sessions are known psi is not told.
 *
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_CORRUPT a state that is not one of this shape.
 * Threads: not shared. No allocation after _new. */
#ifndef SERVE_AUDIENCE_H
#define SERVE_AUDIENCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIENCE_TASKS 8
#define AUDIENCE_PRIOR 2.0
#define AUDIENCE_ENOUGH 5.0

struct audience_cfg {
    int width, depth;                    /* of the counters */
    double half_life, content_half_life; /* slots */
    uint64_t seed;
};

/* 8192 x 4 counters (256 KB); 3 slots, 2000 slots. */
struct audience_cfg audience_cfg_default(void);

struct audience;

struct audience *audience_new(const struct audience_cfg *cfg, int tasks, struct err *e);
void audience_free(struct audience *a);

/* Room for another task; no more than AUDIENCE_TASKS. */
void audience_grow(struct audience *a);
int audience_tasks(const struct audience *a);

/* Name of a content as the counters know it; 0 = none. */
uint64_t audience_content(const struct audience *a, const char *content_id);

/* A session of this content has shown that it is of this task. */
void audience_label(struct audience *a, uint64_t content, int task, bool untagged);
/* An untagged one has ended without a word. */
void audience_unlabelled(struct audience *a, uint64_t content);

/* psi (tasks), of sum 1; false: too little is known, and all are equal. */
bool audience_mix(double *psi, const struct audience *a);
/* p (tasks), of sum 1; false: nothing is known of the content, and p is psi. */
bool audience_of(double *p, const struct audience *a, uint64_t content);

/* A slot is over. */
void audience_turn(struct audience *a);

size_t audience_state_size(const struct audience *a);
void audience_state_get(const struct audience *a, void *out);
/* Takes over the number of tasks, too. On failure nothing has changed. */
int audience_state_put(struct audience *a, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
