/* teach.h - teachers: trained policies whose decisions a student imitates.
 *
 *   p(a|s) = prod_k pi_k(a|s)^(1/K) / Z
 *
 * p is the normalised geometric mean of K teachers, the distribution with the smallest mean of
 * KL(p || pi_k). The student visits the states and learns from p with a weight that decreases to 0
 * (ppo.h: imitate), as in kickstarting (Schmitt et al. 2018).
 *
 * A teacher of TEACH_ALL is used in every state. A teacher of a tag (env.h) is used only in states of
 * that tag; in these, only the teachers of the tag are.
 *
 * Teachers decide without router noise. Their experts, units and layers may differ from the student's;
 * observations and actions are the student's.
 *
 * Errors: ERR_MEMORY. Ownership: the policies are borrowed. Threads: struct teachers is shared
 * read-only, struct teach_ws belongs to one thread. */
#ifndef LEARN_TEACH_H
#define LEARN_TEACH_H

#include "policy/policy.h"

#define TEACHERS_MAX 48
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
