/* image_experts.h - the experts of a mixture as small networks, and their errors on each task.
 *
 * All networks (digits.h) begin with the same weights. recall.h keeps what each has learned. The error
 * of expert m on task n is measured when it is asked for, and again only after its weights changed. F
 * and G follow from these errors as in recall.h. The caller may read the fields.
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

/* Expert m learns the round; returns how far its weights moved. at_once: also measures its error on
 * that task now. F needs this, G does not. */
double image_experts_learn(struct image_experts *x, int m,
                           const struct digits_round *round, bool at_once);

/* G exists from the first round on, F from the second; NaN before. F needs at_once in every round. */
double image_experts_error(struct image_experts *x);
double image_experts_forgot(struct image_experts *x);

/* The task that expert m has learned most often; of several, the lowest. */
int image_experts_habit(const struct image_experts *x, int m);

#endif
