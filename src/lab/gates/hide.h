/* hide.h - HiDe-Prompt in small: a frozen encoder, a prompt per task, and the task inferred.
 *
 * Learning task t (Algorithm 1 of NoRGa's Appendix D; lab/gates/residual.h names the paper):
 *   uninstructed  a Gaussian per class of features without prompt
 *   WTP           prompt e_t, begun at e_(t-1), used as p_t = a sum_(i<t) e_i + (1 - a) e_t (its
 *                 ensemble; p_1 = e_1), and the output layer psi, by cross entropy over the task's
 *                 own classes plus lambda times the contrastive term (Eq. 59, 60; below)
 *   TII           omega, a linear layer of uninstructed features, on draws from the Gaussians of all
 *                 classes so far (Eq. 62)
 *   instructed    a Gaussian per class of features with p_t
 *   TAP           psi once more, on draws from the instructed Gaussians of all classes (Eq. 61)
 * An image's class: omega names a class and by it the task k, psi classifies the feature with p_k.
 *
 * Prefixes in every block; the gates' alpha and tau are one pair per block, begin at 1 and are
 * learned with the first task only (Appendix E). Adam, batch 128, constant rate (Appendix E). The paper
 * does not say what omega's outputs are. Eq. 62 has classes for the indices of its softmax, so omega
 * has one output per class.
 *
 * The first 10 * head_each images of a class make its Gaussians.
 *
 * A Gaussian stands for the data of an old class, which may not be kept:
 *
 *   mean, covariance of n features (n - 1) + 1e-3 I;   draw: mean + L z,  L L^T = covariance
 *
 * The ridge is ours: features of a layer norm sum to 0, so their covariance is singular. The
 * contrastive term keeps a new task's features away from old classes:
 *
 *   L = 1 / (n k) sum_(h in H) sum_c ln [ exp(h mu_c / T) /
 *                        (sum_(h' in H) exp(h h' / T) + sum_c' exp(h mu_c' / T)) ]
 *
 * Differs: H is a batch of n features, not the whole task, and the sums are means, so that the
 * weight of the term does not depend on n and k.
 *
 * With length 0 there is no prompt: omega alone answers, with the classes of its Gaussians.
 *
 * Errors: hide_new ERR_MEMORY. Ownership: theta and splits are borrowed as long as it lives.
 * Threads: not shared. */
#ifndef LAB_HIDE_H
#define LAB_HIDE_H

#include "lab/gates/encoder.h"
#include "lab/gates/continual.h"

#define HIDE_EPOCHS 64 /* at most */
#define HIDE_CLASSES 10

struct hide_cfg {
    struct encoder_cfg encoder;
    int length; /* prefix experts per block; 0: none */
    enum residual_kind gate;
    bool learn_alpha, learn_tau;
    double contrast;    /* lambda */
    double temperature; /* of the contrastive term */
    double ensemble;    /* a */
    int epochs;         /* of WTP, <= HIDE_EPOCHS */
    double lr;
    int head_epochs, head_each; /* of TII and TAP; draws per class and epoch */
    double head_lr;
};

/* Length 4, lambda 0.1, T 0.8, a 0.1, rate 0.005; linear gate. */
struct hide_cfg hide_default(const struct encoder_cfg *encoder);

#define HIDE_DIM 64 /* of a feature, at most */

struct hide_gauss {
    int dim;
    float mean[HIDE_DIM];
    float root[HIDE_DIM * HIDE_DIM]; /* L, lower triangle, rows of dim */
};

/* x, out (n, dim); n >= 2 to fit. */
void hide_gauss_fit(struct hide_gauss *g, const float *x, int n, int dim);
void hide_gauss_draw(float *out, const struct hide_gauss *g, int n, struct rng *r);

#define HIDE_CONTRAST_ROWS 256 /* n + k at most */

/* Returns L and adds weight * dL/dh to dh. h, dh (n, dim); mu (k, dim): means of the old classes. */
double hide_contrast(float *dh, const float *h, int n, const float *mu, int k, int dim,
                     double temperature, double weight);

struct hide;

/* tick borrowed; its share is of all tasks; may be NULL. */
struct hide *hide_new(const struct hide_cfg *c, const float *theta,
                      const struct continual_tasks *s, struct rng r,
                      const struct lab_tick *tick, struct err *e);
void hide_free(struct hide *h);

struct continual_learner hide_learner(struct hide *h);

/* Cross entropy over the first task's classes on its test images before the first epoch and after
 * each: (epochs + 1). */
const double *hide_first_task(const struct hide *h);
/* The gates at this moment. */
struct residual hide_gate(const struct hide *h, int block);
/* The prompt p_t of a learned task: encoder_prompt_floats. */
const float *hide_prompt(const struct hide *h, int t);
/* Share of test images, of all tasks so far, whose task is inferred correctly. */
double hide_inferred(struct hide *h);

#endif
