/* profile_mix.h - who watches what: how likely each task is, for a content and at large.
 *
 *   psi_v   = (n_v + K q_v) / (sum n + K)              the mix of tasks among untagged viewers
 *   n_v    <- keep (n_v + sum_a min(1, cap / s_a) s_av)                    at the end of a slot
 *   cap     = max(S sum_a min(s_a, cap), K (1 - keep) / keep)
 *   p(v|c)  = (c_v + a psi_v) / (sum_v c_v + a)        of a content, a = PROFILE_MIX_PRIOR
 *
 * A task is a profile of viewers. q is the prior, an equal share of each task, and K =
 * PROFILE_MIX_WEIGHT the sessions that it weighs. keep = 2^(-1 / half_life), so what is forgotten
 * gives way to the prior. s_av is what sessions from address a have shown of task v in the slot,
 * and s_a its sum: a session counts once its viewer has ended, and only if it gave no hint. A
 * label (what the viewer really watched) counts 1 for its task. A session without a label, but of
 * a content that is known, counts p(v|c) for every task.
 *
 * One address counts for at most the share S = PROFILE_MIX_SHARE of what counts in the slot. Where
 * that is less than K (1 - keep) / keep, it counts for that: then n of one address alone never
 * exceeds K. So the labels of a single address, however many, move psi halfway at most, from q_v
 * to (1 + q_v) / 2. What goes beyond the cap is dropped from all tasks of the address alike.
 *
 * c_v counts the labels of a content, hinted sessions included, in Count-Min counters
 * (base/sketch.h): memory does not grow with the catalogue. One address may give a content
 * PROFILE_MIX_CONTENT labels, or the share S of all its labels. What collisions add is taken off
 * again, as counters of the same content for tasks that cannot be tell how much it is; a content
 * whose labels drown in it counts as unknown. c loses half in `content_half_life` slots.
 *
 * An address is a number that the caller drew from it (0: unknown). It is kept as one of
 * PROFILE_MIX_BUCKETS, in memory alone: addresses that share a bucket share its cap. The state has
 * what counts so far and no address.
 *
 * Source: psi_t and its estimate from counters, Tanbr (Han et al., Sec. I and III). Differs: the
 * prior, the caps, and an exponential moving average over what was learned in a slot.
 *
 * Assumes that who is labelled does not depend on the task beyond the content. The mix counts as
 * known from PROFILE_MIX_ENOUGH sessions on.
 *
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_CORRUPT a state that is not one of this shape.
 * Threads: not shared. No allocation after _new. */
#ifndef SERVE_PROFILE_MIX_H
#define SERVE_PROFILE_MIX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_MIX_TASKS 8
#define PROFILE_MIX_WEIGHT 20.0  /* K, sessions */
#define PROFILE_MIX_SHARE .1     /* S, of what counts, from one address */
#define PROFILE_MIX_PRIOR 4.0    /* a, sessions */
#define PROFILE_MIX_CONTENT 2.0  /* labels of one content from one address, in any case */
#define PROFILE_MIX_ENOUGH 5.0   /* sessions */
#define PROFILE_MIX_BUCKETS 8192 /* of addresses */

struct profile_mix_cfg {
    int width, depth;                    /* of the counters */
    double half_life, content_half_life; /* slots */
    uint64_t seed;
    bool counts; /* false: it only tells what it was given as a state */
};

/* 8192 x 4 counters (256 KB); 3 slots, 2000 slots; counts. */
struct profile_mix_cfg profile_mix_cfg_default(void);

struct profile_mix;

struct profile_mix *profile_mix_new(const struct profile_mix_cfg *cfg, int tasks,
                                    struct err *e);
void profile_mix_free(struct profile_mix *a);

/* Room for another task; no more than PROFILE_MIX_TASKS. */
void profile_mix_grow(struct profile_mix *a);
int profile_mix_tasks(const struct profile_mix *a);

/* Tasks that are not there have no share of the mix and of any content. born: how often a task was
 * forgotten, so that what contents counted for it before counts no more. Not in the state. */
struct profile_mix_seats {
    bool gone[PROFILE_MIX_TASKS];
    uint64_t born[PROFILE_MIX_TASKS];
};
struct profile_mix_seats profile_mix_seats(const struct profile_mix *a);
void profile_mix_seats_put(struct profile_mix *a, const struct profile_mix_seats *s);
/* A task begins anew: nothing that was counted for it counts. */
void profile_mix_forget(struct profile_mix *a, int task);

/* Name of a content as the counters know it; 0 = none. */
uint64_t profile_mix_content(const struct profile_mix *a, const char *content_id);

/* A session from this address and of this content has shown that it is of this task. */
void profile_mix_label(struct profile_mix *a, uint64_t content, int task, bool hintless,
                       uint64_t from);
/* An untagged one has ended without a word. */
void profile_mix_unlabelled(struct profile_mix *a, uint64_t content, uint64_t from);

/* What one address may add to `all` that counts, where `free` always may. */
bool profile_mix_may_add(double own, double all, double free);

/* psi (tasks), of sum 1, as the last slot left it; false: too little is known. */
bool profile_mix_weights(double *psi, const struct profile_mix *a);
/* p (tasks), of sum 1; false: nothing is known of the content, and p is psi. */
bool profile_mix_of(double *p, const struct profile_mix *a, uint64_t content);

/* A slot is over. */
void profile_mix_turn(struct profile_mix *a);

/* Sessions that did not count since _new, as their address had counted enough: for the mix (once
 * their slot was over), and labels for a content. */
struct profile_mix_refused {
    double mix, content;
};
struct profile_mix_refused profile_mix_refused(const struct profile_mix *a);

size_t profile_mix_state_size(const struct profile_mix *a);
void profile_mix_state_get(const struct profile_mix *a, void *out);
/* Takes over the number of tasks, too. On failure nothing has changed. */
int profile_mix_state_put(struct profile_mix *a, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
