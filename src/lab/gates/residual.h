/* residual.h - scores of prefix experts: linear, or with a non-linear residual gate.
 *
 *   s^ = s + alpha sigma(tau s),   sigma one of tanh, sigmoid, GELU      (linear: s^ = s)
 *
 * Source: Le et al., "Mixture of Experts Meets Prompt-Based Continual Learning" (NoRGa), Eq. 12.
 * GELU is x Phi(x), exactly. The paper's fixed factors are alpha = tau = 1 (its Appendix J).
 *
 * Threads: pure functions. */
#ifndef LAB_RESIDUAL_H
#define LAB_RESIDUAL_H

enum residual_kind {
    RESIDUAL_LINEAR,
    RESIDUAL_TANH,
    RESIDUAL_SIGMOID,
    RESIDUAL_GELU,
    RESIDUAL_KINDS
};

struct residual {
    enum residual_kind kind;
    double alpha, tau;
};

struct residual_at {
    double score;                  /* s^ */
    double by_s, by_alpha, by_tau; /* its derivatives */
};

struct residual_at residual_score(const struct residual *g, double s);

/* x Phi(x); *slope (may be NULL) is its derivative Phi(x) + x phi(x). */
double residual_gelu(double x, double *slope);

/* "linear", "tanh", "sigmoid", "GELU" */
const char *residual_word(enum residual_kind kind);

#endif
