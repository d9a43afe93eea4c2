/* image_experts.h - the experts of a mixture as small networks, and how wrong each of them is.
 *
 * `n` networks of digits.h that begin alike, what each has learned (recall.h), and
 *
 *   error(n, m)   E of expert m on task n, measured on demand, and again only after m has moved
 *
 * F and G follow from these as in recall.h. The caller may read the fields.
 *
 * Ownership: the set is borrowed. Threads: not shared. */
#ifndef LAB_IMAGE_EXPERTS_H
#define LAB_IMAGE_EXPERTS_H

#include "lab/forgetting/digits.h"
#include "lab/forgetting/recall.h"

struct image_experts {
    struct digits *digits;
    struct recall_tally tally;
    float *weights; /* (experts, digits_expert) */

    double error[RECALL_TASKS * RECALL_EXPERTS]; /* (tasks, experts) */
    bool stale[RECALL_TASKS * RECALL_EXPERTS];   /* to be measured again */
};

/* Draws the tasks from r (digits_new). */
struct image_experts *image_experts_new(const struct digits_set *set,
                                        const struct digits_cfg *cfg, int n,
                                        struct rng *r, struct err *e);
void image_experts_free(struct image_experts *x);

/* Expert m learns the round; returns how far it moved. at_once: measures its error on that task right
 * afterwards, which F needs and G does not. */
double image_experts_learn(struct image_experts *x, int m,
                           const struct digits_round *round, bool at_once);

/* G from the first round on, F from the second; NaN before. F only when every round was measured at
 * once. */
double image_experts_error(struct image_experts *x);
double image_experts_forgot(struct image_experts *x);

/* The task that expert m has learned most often, the first of several. */
int image_experts_habit(const struct image_experts *x, int m);

#endif
