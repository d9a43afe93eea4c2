/* digits.h - tasks made of real images, learned by small networks.
 *
 *   task n      name the images of `each` of the ten digits; a task has names of its own (a random
 *               permutation of the ten outputs), or all tasks use the same
 *   a round     s training images of the task's digits
 *   the gate    sees x = (mean of the s images - mean of the training part) scaled to ||x|| = 1
 *   an expert   pixels -> hidden (ReLU) -> 10; gradient descent on the mean cross-entropy of the
 *               round's images until it is `fit` or less, at most `steps` steps of `rate`
 *   its error   E = share of the task's test images that it names wrongly
 *   sigma0      standard deviation of an element of x over the tasks, root of the mean square
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", real-data validation:
 * "we obtain the feature matrix by averaging s = 100 training data samples", made a "normalized
 * vector to serve as input for the gating network", and "the variance sigma0 of each element across
 * all tasks from the input vector". The slides do not say what a task is, how the vector is
 * normalised, which network an expert is or how it learns; the above is our choice:
 *   - tasks share some digits and name them differently, as the linear tasks share their inputs
 *     and differ in w_n: no single network can serve all. With common names one network can, and
 *     the reason for a mixture is gone; that variant is for showing this.
 *   - the mean image is subtracted, since averages of any hundred digits are much alike.
 *   - descent until the round is fit stands for the least change of weights in the linear model: a
 *     round that an expert knows moves it little, which is what the locality loss looks at.
 *
 * All experts begin with the same random weights, as they all begin with 0 in the linear model.
 *
 * Ownership: a set and a struct digits own their memory; digits keeps the set borrowed.
 * Threads: a set is shared read-only; a struct digits has scratch in it, one per thread. */
#ifndef LAB_DIGITS_H
#define LAB_DIGITS_H

#include "base/rng.h"
#include "lab/images.h"

#define DIGITS_PIXELS 784  /* of an image, at most */
#define DIGITS_SAMPLES 100 /* s at most */
#define DIGITS_TASKS 5     /* at most */

struct digits_set;

/* Both parts of MNIST, where `make lab-data` puts them. Without them *out is NULL and the result is 0;
 * the report and t->say say what is missing and how to get it. */
int digits_set_find(struct digits_set **out, const struct lab_task *t, struct err *e)
    __attribute__((warn_unused_result));
/* The images are taken, also on failure. ERR_INVALID: the parts differ in size, or a digit has no
 * image in one. */
struct digits_set *digits_set_new(struct images *train, struct images *test,
                                  struct err *e);
void digits_set_free(struct digits_set *set);

struct digits_cfg {
    int tasks, each; /* at most DIGITS_TASKS, 10 */
    bool own_names;
    int s, hidden, steps;
    int tests; /* test images per task, at most; fewer when there are not as many */
    double rate, fit;
};

/* 3 tasks of 5 digits, own names, s 100, 32 hidden units, rate 0.2 until 0.1 or for 40 steps, 400 test
 * images. */
struct digits_cfg digits_cfg_default(void);

struct digits;

/* Draws the tasks' digits, their test images and the experts' first weights from r. */
struct digits *digits_new(const struct digits_set *set, const struct digits_cfg *cfg,
                          struct rng *r, struct err *e);
void digits_free(struct digits *d);

int digits_pixels(const struct digits *d);           /* length of x */
const int *digits_of(const struct digits *d, int n); /* the `each` digits of task n */
/* (tasks, pixels): x with all training images of the task averaged, its feature signal */
const double *digits_signal(const struct digits *d);
double digits_sigma0(const struct digits *d);

size_t digits_expert(const struct digits *d); /* parameters of an expert */
void digits_start(float *expert, const struct digits *d);

struct digits_round {
    int task;
    int image[DIGITS_SAMPLES]; /* of the training part */
    double x[DIGITS_PIXELS];   /* what the gate sees */
};
void digits_draw(struct digits_round *round, const struct digits *d, int task,
                 struct rng *r);

/* The expert learns the round; returns how far its parameters moved, ||w_t - w_(t-1)||_2. */
double digits_learn(float *expert, struct digits *d, const struct digits_round *round);

double digits_error(const float *expert, struct digits *d, int task);

#endif
