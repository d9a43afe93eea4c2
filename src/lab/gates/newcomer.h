/* newcomer.h - ways to learn a new kind of viewer from what was learned before.
 *
 *   fine-tuning  one policy, all of it trained on each kind in turn
 *   fresh head   the frozen policy with an output layer of its own for each kind. The layer begins at
 *                0, and every update restores what PPO changes elsewhere
 *   linear gate  new experts next to the frozen policy (policy/policy.h), scores s + b: plain prefix
 *                tuning, NoRGa's Eq. 11 alone
 *   NoRGa        the same with s + a tanh(tau s) + b, Eq. 12; a and tau learn with the first kind
 *   specialist   for each kind a copy of the first policy, all of it trained: the reference
 *
 * All learn by PPO, without privileged critic and without trying other actions, from the same number
 * of steps of each kind: policies by learn/train.h, added experts by learn/online.h as in the daemon.
 *
 * Errors: newcomer_new ERR_MEMORY, newcomer_learn also ERR_NUMERIC. Ownership: base and arrivals are
 * borrowed. Threads: not shared. */
#ifndef LAB_NEWCOMER_H
#define LAB_NEWCOMER_H

#include "lab/gates/arrivals.h"
#include "lab/lab.h"
#include "policy/policy.h"

enum newcomer_way {
    NEWCOMER_TUNE,
    NEWCOMER_HEAD,
    NEWCOMER_LINEAR,
    NEWCOMER_NORGA,
    NEWCOMER_SPECIALIST,
    NEWCOMER_WAYS
};

const char *newcomer_word(enum newcomer_way way); /* "fine-tuning", "fresh head", ... */

struct newcomer_cfg {
    enum newcomer_way way;
    int64_t steps; /* of each kind */
    uint64_t seed;
};

#define NEWCOMER_STOPPED 1

/* The first policy, trained on kind ARRIVALS. 0, NEWCOMER_STOPPED or ERR_*. */
struct policy_cfg newcomer_policy(void);
int newcomer_before(struct policy *out, const struct arrivals *a, int64_t steps,
                    uint64_t seed, const struct lab_tick *tick, struct err *e)
    __attribute__((warn_unused_result));

struct newcomer;

struct newcomer *newcomer_new(const struct newcomer_cfg *c, const struct arrivals *a,
                              const struct policy *base, struct err *e);
void newcomer_free(struct newcomer *n);

/* 0, NEWCOMER_STOPPED or ERR_*. The share of tick, which may be NULL, is of this kind's steps. */
int newcomer_learn(struct newcomer *n, int kind, const struct lab_tick *tick,
                   struct err *e) __attribute__((warn_unused_result));

/* Decides greedily with what it learned for the kind; before that, as the base does. */
struct arrivals_decider newcomer_decider(struct newcomer *n);

/* The kind's added experts; NULL before they are learned, and of the other ways. */
const struct policy_added *newcomer_added_experts(const struct newcomer *n, int kind);

#endif
