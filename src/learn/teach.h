/* teach.h - trained policies that show a student what to do.
 *
 * What is shown for a state s is the normalised geometric mean of the K teachers,
 *   p(a|s) = prod_k pi_k(a|s)^(1/K) / Z
 * the one distribution that is nearest to all of them in the mean of KL(p || pi_k). The
 * student visits the states and learns from p with a weight that falls to 0 (ppo.h:
 * imitate), as in kickstarting (Schmitt et al. 2018).
 *
 * A teacher of TEACH_ALL shows in every state. A teacher of a tag (env.h: the kind of episode)
 * shows in the states of that tag alone; in these only the teachers of the tag show.
 *
 * Teachers decide without router noise; their number of experts, units and layers is their
 * own, observations and actions are the student's.
 *
 * Ownership: the policies are borrowed. Errors: ERR_MEMORY. Threads: struct teachers is
 * shared read-only, struct teach_ws belongs to one thread. */
#ifndef LEARN_TEACH_H
#define LEARN_TEACH_H

#include "policy/policy.h"

#define TEACHERS_MAX 16
#define TEACH_ALL (-1)

struct teachers {
    int n; /* 0 = none */
    const struct policy *policy[TEACHERS_MAX];
    int tag[TEACHERS_MAX]; /* or TEACH_ALL */
};

struct teach_ws;

struct teach_ws *teach_ws_new(const struct teachers *t, int max_rows, struct err *e);
void teach_ws_free(struct teach_ws *ws);

/* shown: (n, actions), 0 where the mask has no bit; NaN in rows whose tag has no teacher.
 * obs: (n, obs_dim), mask, tag: (n). 1 <= n <= max_rows. */
void teach_show(float *shown, const struct teachers *t, struct teach_ws *ws,
                const float *obs, const uint32_t *mask, const int *tag, int n);

#endif
