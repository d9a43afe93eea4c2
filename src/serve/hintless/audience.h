/* audience.h - who watches what: how likely each task is, for a content and at large.
 *
 *   psi_v   = (n_v + K q_v) / (sum n + K)              the mix of tasks among untagged viewers
 *   n_v    <- keep (n_v + sum_a min(1, cap / s_a) s_av)                    at the end of a slot
 *   cap     = max(S sum_a min(s_a, cap), K (1 - keep) / keep)
 *   p(v|c)  = (c_v + a psi_v) / (sum_v c_v + a)        of a content, a = AUDIENCE_PRIOR
 *
 * A task is a profile of viewers. q is the prior, an equal share of each task, and K =
 * AUDIENCE_WEIGHT the sessions that it weighs. keep = 2^(-1 / half_life), so what is forgotten
 * gives way to the prior. s_av is what sessions from address a have shown of task v in the slot,
 * and s_a its sum: a session counts once its viewer has ended, and only if it gave no hint. A
 * label (what the viewer really watched) counts 1 for its task. A session without a label, but of
 * a content that is known, counts p(v|c) for every task.
 *
 * One address counts for at most the share S = AUDIENCE_SHARE of what counts in the slot. Where
 * that is less than K (1 - keep) / keep, it counts for that: then n of one address alone never
 * exceeds K. So the labels of a single address, however many, move psi halfway at most, from q_v
 * to (1 + q_v) / 2. What goes beyond the cap is dropped from all tasks of the address alike.
 *
 * c_v counts the labels of a content, hinted sessions included, in Count-Min counters
 * (base/sketch.h): memory does not grow with the catalogue. One address may give a content
 * AUDIENCE_CONTENT labels, or the share S of all its labels. What collisions add is taken off
 * again, as counters of the same content for tasks that cannot be tell how much it is; a content
 * whose labels drown in it counts as unknown. c loses half in `content_half_life` slots.
 *
 * An address is a number that the caller drew from it (0: unknown). It is kept as one of
 * AUDIENCE_BUCKETS, in memory alone: addresses that share a bucket share its cap. The state has
 * what counts so far and no address.
 *
 * Source: psi_t and its estimate from counters, Tanbr (Han et al., Sec. I and III). Differs: the
 * prior, the caps, and an exponential moving average over what was learned in a slot.
 *
 * Assumes that who is labelled does not depend on the task beyond the content. The mix counts as
 * known from AUDIENCE_ENOUGH sessions on.
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
#define AUDIENCE_WEIGHT 20.0  /* K, sessions */
#define AUDIENCE_SHARE .1     /* S, of what counts, from one address */
#define AUDIENCE_PRIOR 4.0    /* a, sessions */
#define AUDIENCE_CONTENT 2.0  /* labels of one content from one address, in any case */
#define AUDIENCE_ENOUGH 5.0   /* sessions */
#define AUDIENCE_BUCKETS 8192 /* of addresses */

struct audience_cfg {
    int width, depth;                    /* of the counters */
    double half_life, content_half_life; /* slots */
    uint64_t seed;
    bool counts; /* false: it only tells what it was given as a state */
};

/* 8192 x 4 counters (256 KB); 3 slots, 2000 slots; counts. */
struct audience_cfg audience_cfg_default(void);

struct audience;

struct audience *audience_new(const struct audience_cfg *cfg, int tasks, struct err *e);
void audience_free(struct audience *a);

/* Room for another task; no more than AUDIENCE_TASKS. */
void audience_grow(struct audience *a);
int audience_tasks(const struct audience *a);

/* Tasks that are not there have no share of the mix and of any content. born: how often a task was
 * forgotten, so that what contents counted for it before counts no more. Not in the state. */
struct audience_seats {
    bool gone[AUDIENCE_TASKS];
    uint64_t born[AUDIENCE_TASKS];
};
struct audience_seats audience_seats(const struct audience *a);
void audience_seats_put(struct audience *a, const struct audience_seats *s);
/* A task begins anew: nothing that was counted for it counts. */
void audience_forget(struct audience *a, int task);

/* Name of a content as the counters know it; 0 = none. */
uint64_t audience_content(const struct audience *a, const char *content_id);

/* A session from this address and of this content has shown that it is of this task. */
void audience_label(struct audience *a, uint64_t content, int task, bool untagged,
                    uint64_t from);
/* An untagged one has ended without a word. */
void audience_unlabelled(struct audience *a, uint64_t content, uint64_t from);

/* What one address may add to `all` that counts, where `free` always may. */
bool audience_may_add(double own, double all, double free);

/* psi (tasks), of sum 1, as the last slot left it; false: too little is known. */
bool audience_mix(double *psi, const struct audience *a);
/* p (tasks), of sum 1; false: nothing is known of the content, and p is psi. */
bool audience_of(double *p, const struct audience *a, uint64_t content);

/* A slot is over. */
void audience_turn(struct audience *a);

/* Sessions that did not count since _new, as their address had counted enough: for the mix (once
 * their slot was over), and labels for a content. */
struct audience_refused {
    double mix, content;
};
struct audience_refused audience_refused(const struct audience *a);

size_t audience_state_size(const struct audience *a);
void audience_state_get(const struct audience *a, void *out);
/* Takes over the number of tasks, too. On failure nothing has changed. */
int audience_state_put(struct audience *a, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
