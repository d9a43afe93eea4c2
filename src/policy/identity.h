/* identity.h - which task is this? A small softmax classifier that learns online.
 *
 *   u_j = clip((x_j - m_j) / s_j, -5, 5)          m, s: running mean and deviation of the inputs
 *   z_v = b_v + sum_j W_vj u_j,    p = softmax(z / T)
 *
 * The task-identity inference of NoRGa's framework (Le et al. 2024, appendix D, after HiDe) and
 * the guessed tags that Tanbr argues against (Han et al., Sec. I). If a session has no hint, this
 * head guesses from the observation what the viewer values. Differs: one linear layer on the
 * observation, trained by its own labels alone; no features of a backbone.
 *
 * Posterior: the head's probabilities contain the class frequencies of its examples. The sessions
 * to classify have other frequencies, pi, known from other evidence. With these:
 *
 *   q_v ~ pi_v (p_v / s_v)^k,   s_v = (n_v + 1) / (n + V)     n_v examples of class v so far
 *   k = max(0, 1 - L / H)       L the head's log loss, H = -sum_v s_v ln s_v that of the s_v
 *
 * k is a skill score: the share of the uncertainty that the head has been seen to remove. Inputs
 * without information change nothing. With k = 1 a head of 128 inputs without any information cost
 * viewers without a hint 0.02 of their score.
 *
 * Learning, one example (x, y) at a time: AdaGrad (Duchi et al. 2011) on cross-entropy plus
 * l2/2 |W|^2, step rate / sqrt(1 + sum of squared gradients). The examples of a stream come in
 * the order in which tasks are popular. So that no class is forgotten meanwhile, a fixed number of
 * its examples is kept (reservoir, Vitter 1985). With each new example `rehearse` of them are
 * learned again, classes in proportion to all their examples ever seen.
 *
 * Calibration: T is learned from each new example before its label is used for W, on the same
 * cross-entropy (temperature scaling, Guo et al. 2017, online). Accuracy, log loss and calibration
 * error are prequential, too: predict first, then learn. They cover about the last
 * IDENTITY_WINDOW examples.
 *
 * Few examples that are rehearsed often are overfitted. With 128 inputs, most of them noise, 64 of
 * each class and two rehearsals cost 4 points of accuracy; 256 and one rehearsal cost 1.
 *
 * A new class: identity_grow adds one with weights 0. The scores of the older classes stay as they
 * are to the bit, and so do the ratios of their probabilities. The new class begins IDENTITY_NEW
 * below the highest older bias, so that its share is small until it has been seen.
 *
 * Shapes: x (dim), p (classes). Deterministic: the same examples in the same order give the same
 * head. State: everything, for a head of the same configuration (`classes` apart).
 *
 * Errors: ERR_RANGE a configuration outside the limits or no room for another class, ERR_MEMORY,
 * ERR_NUMERIC an input that is not finite (nothing is learned), ERR_CORRUPT a state that is
 * not one of this configuration. Threads: const struct identity is shared read-only; learning is
 * not. No allocation after _new. */
#ifndef POLICY_IDENTITY_H
#define POLICY_IDENTITY_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define IDENTITY_DIM_MAX 4096
#define IDENTITY_CLASSES_MAX 64
#define IDENTITY_MEMORY_MAX 4096
#define IDENTITY_WINDOW 1000
#define IDENTITY_NEW 3.0 /* nats */

struct identity_cfg {
    int dim, classes; /* to begin with */
    int classes_max;  /* room for growing */
    double rate, l2;
    int memory;   /* examples kept of each class; 0 = none */
    int rehearse; /* learned again with each new example; 0 = none */
    uint64_t seed;
};

/* rate .05, l2 1e-3, memory 256, rehearse 1; room for 16 classes or for `classes`. */
struct identity_cfg identity_cfg_default(int dim, int classes);

struct identity;

struct identity *identity_new(const struct identity_cfg *cfg, struct err *e);
void identity_free(struct identity *h);

int identity_classes(const struct identity *h);

/* p may be NULL. Returns the most probable class, the lowest index on ties; an input that is not
 * finite gives equal probabilities and class 0. */
int identity_guess(double *p, const struct identity *h, const float *x);
/* The scores z / T, to combine them with other evidence. ERR_NUMERIC: all 0. */
int identity_scores(double *z, const struct identity *h, const float *x);
/* k, 0 .. 1; 0 before the first example. */
double identity_skill(const struct identity *h);
/* q (classes), of sum 1; prior: pi (classes), >= 0, of a sum above 0. An input that is not finite
 * tells nothing: q is the prior. q may be prior. Returns the most probable class. */
int identity_posterior(double *q, const struct identity *h, const float *x,
                       const double *prior);

/* 0 <= y < classes. */
int identity_learn(struct identity *h, const float *x, int y, struct err *e)
    __attribute__((warn_unused_result));

/* The new class's index, or ERR_RANGE. */
int identity_grow(struct identity *h, struct err *e) __attribute__((warn_unused_result));

/* Forgets one class: its examples and its weights. It begins as a class that identity_grow adds;
 * the scores of the others stay as they are but for rounding. */
void identity_forget(struct identity *h, int y);

/* What decides (weights, standardisation, T), not what learns: to publish a head while another
 * goes on learning. Both are of one configuration. */
void identity_copy(struct identity *to, const struct identity *from);

struct identity_stats {
    uint64_t examples;
    double accuracy, log_loss; /* prequential; NaN before the first example */
    double calibration;        /* expected calibration error, 10 bins; NaN likewise */
    double temperature;
    uint64_t seen[IDENTITY_CLASSES_MAX]; /* examples of each class */
};
void identity_stats(struct identity_stats *out, const struct identity *h);

size_t identity_state_size(const struct identity *h);
void identity_state_get(const struct identity *h, void *out);
/* The state may have more classes than the head has now, up to its room. On failure the head is as it was. */
int identity_state_put(struct identity *h, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
