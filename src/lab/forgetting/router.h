/* router.h - the linear gate of continual learning: noisy top-1, locality loss, auxiliary loss.
 *
 *   h_m = theta_m . sum_i x_i              pi = softmax(h) over all experts
 *   m_t = argmax over idle m of h_m + r_m,   r_m ~ Unif[0, noise]
 *   theta_m <- theta_m - eta d/d theta_m (L_loc + L_aux)
 *   L_loc = sum_m pi_m ||w_t^(m) - w_(t-1)^(m)||_2
 *   L_aux = alpha M sum_m f_m P_m,  f_m = (1/t) #{tau <= t: m_tau = m},
 *                                   P_m = (1/t) sum_{tau <= t, m_tau = m} pi_m(X_tau)
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", gating network and
 * key design I; the mobile-edge part has L_loc alone (Definition 2: alpha = 0) and picks among
 * idle experts. Both losses act from t = 1 on, as in the source.
 * Only the chosen expert moved, and of P_m only its summand tau = t depends on theta_t, so with
 * c = ||w_t - w_(t-1)|| + alpha M f_(m_t) / t
 *   d (L_loc + L_aux) / d theta_m = c pi_(m_t) (1{m = m_t} - pi_m) sum_i x_i.
 * The training loss is that of the expert after its update: 0 by construction, and no function of
 * theta; it gives no gradient.
 *
 * Early termination (Algorithm 1): router_converge raises the flag of every expert whose score lies
 * within gamma of the chosen one's; flags stay; router_settled is true when all are raised.
 *
 * Shapes: h, pi (experts); sum (d); theta (experts, d).
 * Ownership: theta is the caller's memory and lives as long as the router.
 * Threads: not shared, one per thread. */
#ifndef LAB_ROUTER_H
#define LAB_ROUTER_H

#include "base/rng.h"
#include "lab/forgetting/recall.h"

struct router_cfg {
    int experts, d;
    double eta, alpha, noise, gamma;
};

struct router {
    struct router_cfg cfg;
    double *theta;              /* row m: expert m's */
    int chosen[RECALL_EXPERTS]; /* rounds that went to m */
    int rounds;
    bool flag[RECALL_EXPERTS]; /* converged */
};

/* theta: experts * d numbers, set to 0. */
void router_init(struct router *g, const struct router_cfg *cfg, double *theta);

void router_scores(double *h, const struct router *g, const double *sum);

/* The best idle expert (idle = NULL: all are), -1 when none is. Draws one number per expert,
 * idle or not, so that the stream does not depend on who is busy. */
int router_pick(const struct router *g, const double *h, const bool *idle, struct rng *r);

void router_softmax(double *pi, const double *h, int experts);

/* Counts a round for m; every round must be counted, with or without a step after it. */
void router_count(struct router *g, int m);

/* The gradient step for the round that chose m with scores h and moved its model by `moved`. */
void router_step(struct router *g, const double *h, const double *sum, int m,
                 double moved);

void router_converge(struct router *g, const double *h, int m);
bool router_settled(const struct router *g);

/* Specialty of expert m: the task j whose signal scores highest, argmax_j theta_m . v_j; v_j at
 * signal + j * stride. The experts of a task, or of its cluster, are its expert set. */
int router_specialty(const struct router *g, int m, const double *signal, int tasks,
                     int stride);

/* Mean |h_m - h_m'| over pairs of one set and over pairs of two sets; NaN without such a pair. */
void router_gaps(double *inside, double *across, const double *h, const int *set,
                 int experts);

#endif
