/* identity.h - a softmax classifier of tasks that learns online.
 *
 *   u_j = clip((x_j - m_j) / s_j, -5, 5)          m, s: running mean and deviation of the inputs
 *   z_v = b_v + sum_j W_vj u_j,    p = softmax(z / T)
 *
 * For a session without a hint it estimates from the observation which profile the viewer has.
 *
 * Posterior. The head's probabilities contain the class frequencies of its examples. The sessions to
 * classify have other frequencies pi, known from other evidence:
 *
 *   q_v ~ pi_v (p_v / s_v)^k,   s_v = (n_v + 1) / (n + V)     n_v examples of class v so far
 *   k = max(0, 1 - L / H)       L the head's log loss, H = -sum_v s_v ln s_v
 *
 * k is a skill score: the share of the uncertainty that the head removes. So inputs without
 * information change nothing. With k = 1, a head of 128 inputs without information reduced the score
 * of viewers without a hint by 0.02.
 *
 * Learning, one example (x, y) at a time: AdaGrad (Duchi et al. 2011) on cross-entropy plus
 * l2/2 |W|^2, step rate / sqrt(1 + sum of squared gradients). Examples arrive in the order in which
 * tasks are popular. To keep all classes, a fixed number of examples of each is stored (reservoir,
 * Vitter 1985). With each new example, `rehearse` stored ones are learned again, classes in
 * proportion to all their examples so far.
 *
 * Calibration. T is learned from each new example before W is, on the same cross-entropy (temperature
 * scaling, Guo et al. 2017, online). Accuracy, log loss and calibration error are prequential, too:
 * first predict, then learn. They cover about the last IDENTITY_WINDOW examples.
 *
 * Measured: few examples that are rehearsed often are overfitted. With 128 inputs, most of them noise,
 * 64 examples of each class and two rehearsals reduced accuracy by 4 points; 256 and one by 1 point.
 *
 * Source: the task-identity inference of NoRGa's framework (Le et al. 2024, appendix D, after HiDe),
 * and the guessed tags that Tanbr argues against (Han et al., Sec. I). Differs: one linear layer on
 * the observation, trained by its own labels; no features of a backbone.
 *
 * Shapes: x (dim), p (classes). Deterministic: the same examples in the same order give the same head.
 * Errors: ERR_RANGE a configuration outside the limits or no room for another class; ERR_MEMORY;
 * ERR_NUMERIC an input that is not finite (nothing is learned); ERR_CORRUPT a state of another
 * configuration (`classes` may differ). Threads: const struct identity is shared read-only; learning
 * is not. No allocation after _new. */
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
    int classes_max;  /* most classes */
    double rate, l2;
    int memory;   /* stored examples of each class; 0: none */
    int rehearse; /* stored examples learned with each new one; 0: none */
    uint64_t seed;
};

/* rate 0.05, l2 1e-3, memory 256, rehearse 1, classes_max 16 or `classes`. */
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
/* q (classes), of sum 1, may be prior; prior: pi (classes), >= 0, of a sum above 0. If an input is not
 * finite, q is the prior. Returns the most probable class. */
int identity_posterior(double *q, const struct identity *h, const float *x,
                       const double *prior);

/* 0 <= y < classes. */
int identity_learn(struct identity *h, const float *x, int y, struct err *e)
    __attribute__((warn_unused_result));

/* Adds a class with weights 0, IDENTITY_NEW below the highest bias, so that its share is small until it
 * has examples. Scores of other classes do not change. Returns its index, or ERR_RANGE. */
int identity_grow(struct identity *h, struct err *e) __attribute__((warn_unused_result));

/* Forgets the examples and weights of a class, which then is as identity_grow adds it. The scores of
 * other classes change only by rounding. */
void identity_forget(struct identity *h, int y);

/* Copies what classifies (weights, standardisation, T), not what learns, to publish a head. Both have
 * the same configuration. */
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
/* The state may have more classes than the head, up to classes_max. On failure nothing has changed. */
int identity_state_put(struct identity *h, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
