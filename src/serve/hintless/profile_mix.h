/* profile_mix.h - the estimated shares of profiles among viewers, of each content and in total.
 *
 *   psi_v   = (n_v + K q_v) / (sum n + K)              the mix of tasks among viewers without a hint
 *   n_v    <- keep (n_v + sum_a min(1, cap / s_a) s_av)                    at the end of a slot
 *   cap     = max(S sum_a min(s_a, cap), K (1 - keep) / keep)
 *   p(v|c)  = (c_v + a psi_v) / (sum_v c_v + a)        of a content, a = PROFILE_MIX_PRIOR
 *
 * A task is a profile of viewers. q is the prior, an equal share of each task. K = PROFILE_MIX_WEIGHT
 * is its weight in sessions. keep = 2^(-1 / half_life), so old counts give way to the prior. s_av is
 * the count of task v from address a in the slot, s_a the sum over v. A session counts when it ends,
 * and only if it gave no hint. A session with a label (the profile that the viewer had) counts 1 for
 * its task. A session without a label, of a known content, counts p(v|c) for every task.
 *
 * One address counts for at most the share S = PROFILE_MIX_SHARE of the slot, but for at least
 * K (1 - keep) / keep. So n of a single address never exceeds K, and its labels move psi halfway at
 * most, from q_v to (1 + q_v) / 2. Counts above the cap are dropped from all tasks of the address in
 * proportion.
 *
 * c_v counts the labels of a content, hinted sessions included, in Count-Min counters (base/sketch.h):
 * memory does not grow with the catalogue. One address may give a content PROFILE_MIX_CONTENT labels,
 * or the share S of all its labels. Collisions add to the counters; the counters of tasks that cannot
 * exist estimate this error, and it is subtracted. If less than half a label is left, the content is
 * unknown. c halves in `content_half_life` slots.
 *
 * An address is a number that the caller derives from it (0: unknown). It is stored as one of
 * PROFILE_MIX_BUCKETS, in memory only. Addresses of one bucket share its cap. The state has the counts
 * and no address.
 *
 * Source: psi_t and its estimate from counters, Tanbr (Han et al., Sec. I and III). Differs: the
 * prior, the caps, and an exponential moving average over slots.
 *
 * Assumption: given the content, whether a session is labelled does not depend on its task. The mix
 * counts as known from PROFILE_MIX_ENOUGH sessions on.
 *
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_CORRUPT for a state of another shape.
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
    bool counts; /* false: read only, its data come from a state */
};

/* 8192 x 4 counters (256 KB); 3 slots, 2000 slots; counts. */
struct profile_mix_cfg profile_mix_cfg_default(void);

struct profile_mix;

struct profile_mix *profile_mix_new(const struct profile_mix_cfg *cfg, int tasks,
                                    struct err *e);
void profile_mix_free(struct profile_mix *a);

/* Adds a task, up to PROFILE_MIX_TASKS. */
void profile_mix_grow(struct profile_mix *a);
int profile_mix_tasks(const struct profile_mix *a);

/* gone: removed tasks, with no share of the mix or of a content. born: how often a task was forgotten;
 * it selects the counters of contents, so old counts are not read. Not in the state. */
struct profile_mix_seats {
    bool gone[PROFILE_MIX_TASKS];
    uint64_t born[PROFILE_MIX_TASKS];
};
struct profile_mix_seats profile_mix_seats(const struct profile_mix *a);
void profile_mix_seats_put(struct profile_mix *a, const struct profile_mix_seats *s);
/* Forgets everything counted for a task. */
void profile_mix_forget(struct profile_mix *a, int task);

/* The key of a content in the counters; 0: none. */
uint64_t profile_mix_content(const struct profile_mix *a, const char *content_id);

/* A session from this address and of this content had a label. */
void profile_mix_label(struct profile_mix *a, uint64_t content, int task, bool hintless,
                       uint64_t from);
/* A session without a hint has ended without a label. */
void profile_mix_unlabelled(struct profile_mix *a, uint64_t content, uint64_t from);

/* May an address with the count `own` of `all` add another? Up to `free` it always may. */
bool profile_mix_may_add(double own, double all, double free);

/* psi (tasks), of sum 1, of the last slot's end; false: too few sessions. */
bool profile_mix_weights(double *psi, const struct profile_mix *a);
/* p (tasks), of sum 1; false: the content is unknown, and p is psi. */
bool profile_mix_of(double *p, const struct profile_mix *a, uint64_t content);

/* Ends a slot. */
void profile_mix_turn(struct profile_mix *a);

/* Since _new, beyond the share of an address: sessions for the mix (counted at the end of the slot),
 * and labels for a content. */
struct profile_mix_refused {
    double mix, content;
};
struct profile_mix_refused profile_mix_refused(const struct profile_mix *a);

size_t profile_mix_state_size(const struct profile_mix *a);
void profile_mix_state_get(const struct profile_mix *a, void *out);
/* Also sets the number of tasks. On failure nothing has changed. */
int profile_mix_state_put(struct profile_mix *a, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
