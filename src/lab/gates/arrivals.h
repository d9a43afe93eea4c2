/* arrivals.h - five kinds of viewer that arrive one after another, each on links of its own kind.
 *
 *   documentary {1,6,1} on broadband, live {1,1,6} on wifi, news {6,1,1} on lte,
 *   sports {3,1,3} on 3g-commute, lecture {1,3,1} on outage
 *                                             (abr/emulator/qoe.h, abr/traces/gen.h)
 *
 * A kind is a task of continual learning as in NoRGa (lab/gates/residual.h). The policy before the first
 * kind is trained on viewers with Pensieve's weights on links of all five kinds: kind ARRIVALS here.
 * The video is the default one of abr/manifests/video.h.
 *
 * Exam: every way meets the same viewers, on links that none of them trained on, and chooses levels
 * greedily. The score is the mean reward per chunk, scaled as in training (abr/emulator/feat.h:
 * feat_reward_scale). With the hint, the decision uses the viewer's weights. Without it, a head
 * (policy/identity.h) guesses the kind from an observation without these weights (FEAT_BLIND), by the
 * mean of its scores over the session so far. The decision then uses the guessed kind's weights.
 *
 * Errors: _new ERR_MEMORY. Threads: shared read-only once made. */
#ifndef LAB_ARRIVALS_H
#define LAB_ARRIVALS_H

#include "abr/emulator/qoe.h"
#include "policy/identity.h"
#include "learn/env.h"

#include <stdbool.h>

#define ARRIVALS 5

struct arrivals_kind {
    const char *name, *links;
    struct qoe qoe;
};
extern const struct arrivals_kind arrivals_kinds[ARRIVALS];

struct arrivals;

/* `links` traces of each kind to train on, half as many for the exam. */
struct arrivals *arrivals_new(int links, uint64_t seed, struct err *e);
void arrivals_free(struct arrivals *a);

/* The environment of a kind's viewers, for train_new and the like; FEAT_FULL. */
struct arrivals_world {
    const struct arrivals *arrivals;
    int kind;
    uint64_t seed;
};
struct env arrivals_env(void *ctx, uint64_t id, struct err *e);

/* What takes the exam: a level for an observation of a viewer of that kind, known or guessed. */
struct arrivals_decider {
    void *self;
    int (*decide)(void *self, int kind, const float *obs, uint32_t mask);
};

struct arrivals_score {
    double reward; /* mean per chunk */
    double told;   /* share of chunks whose kind was right; 1 with the hint */
};
/* head NULL: with the hint. */
int arrivals_exam(struct arrivals_score *out, const struct arrivals *a, int kind,
                  int episodes, const struct identity *head,
                  const struct arrivals_decider *d, struct err *e)
    __attribute__((warn_unused_result));

/* The head learns from `episodes` labelled viewers of the kind while `d` decides for them. Afterwards
 * it has classes up to and including the kind. */
int arrivals_teach(struct identity *head, const struct arrivals *a, int kind,
                   int episodes, uint64_t seed, const struct arrivals_decider *d,
                   struct err *e) __attribute__((warn_unused_result));

#endif
