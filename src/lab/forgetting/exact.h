/* exact.h - expected forgetting and generalisation error of one expert, in closed form.
 *
 * One expert, tasks n_t uniform in a fixed pool w_1 .. w_N, w_0 = 0, w_t = w_(t-1) +
 * P_t (w_(n_t) - w_(t-1)) (task.h). With r = 1 - s/d, A = (1/N) sum_n ||w_n||^2 and
 * B = (1/N^2) sum_(n,n') ||w_n - w_n'||^2:
 *
 *   E[F_t] = 1/(t-1) sum_{tau<t} { (r^t - r^tau)(A - B) + (1 - r)(1 - r^(t-tau)) B }
 *   E[G_T] = r^T A + (1 - r^T)(1 - 1/T) B
 *
 * Derivation, X isotropic Gaussian (no signal). P is a uniformly random projector of rank s,
 * independent of all before it, so E[P] = (s/d) I = (1 - r) I. For a target w,
 *   w_t - w = (I - P)(w_(t-1) - w) + P (w_(n_t) - w),
 * the parts are orthogonal, and with D_t = E||w_t - w||^2
 *   D_t = r D_(t-1) + (1 - r) E||w_(n_t) - w||^2.                                         (1)
 * Averaged over a target drawn apart from the tasks, D_(tau-1) = r^(tau-1) A +
 * (1 - r^(tau-1)) B. At round tau the target is the task itself, so the last term of (1) is 0
 * there, not B:
 *   e_tau = E[E_tau(w_tau)] = r D_(tau-1) = r^tau A + (r - r^tau) B.
 * From then on the tasks are drawn apart from it again:
 *   E[E_tau(w_t)] = r^(t-tau) e_tau + (1 - r^(t-tau)) B
 *                 = r^t A + (1 - r^t) B - (1 - r) r^(t-tau) B.
 * The difference of the two, averaged over tau < t, is E[F_t]; the mean of the last over
 * tau <= T is E[G_T], as sum_tau (1 - r) r^(T-tau) = 1 - r^T.
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", Proposition 4.
 * Differs: as printed (exact_printed_*) e_tau is D_tau, which forgets that w_tau has just
 * learned its own task; then (r^t - r^tau)(A - B) alone is left of F, and (1 - 1/T) of G.
 *
 * With a feature signal in X, u_n = v_n/||v_n||: E[P] = u u^T + (s-1)/(d-1) (I - u u^T), the
 * expected ||P z||^2 depends on u . z, and the moments no longer close in norms.
 * exact_moments therefore follows (c, E[w], E[w w^T]) of w: with R = I - P,
 *   w_t = w_n + R (w_(t-1) - w_n),  R = U Q U^T,
 * where U spans the D = d - 1 dimensions orthogonal to u_n (all D = d without signal) and Q is a
 * uniformly random projector of rank q = d - s there, for which, Z symmetric,
 *   E[Q] = (q/D) I,   E[Q Z Q] = (a + b) Z + b tr(Z) I,
 *   b = q (D - q) / (D (D - 1)(D + 2)),   a = q/D - (D + 1) b
 * (a, b from tr Q = q and Q^2 = Q). Exact for every d, s and pool; without signal it must give
 * the closed forms, which the test asserts.
 *
 * Threads: pure functions. */
#ifndef LAB_EXACT_H
#define LAB_EXACT_H

#include "lab/forgetting/task.h"

struct exact_norms {
    double a, b; /* A and B of the pool */
};
struct exact_norms exact_norms(const struct task_pool *p, int tasks, int d);

double exact_f(struct exact_norms n, double r, int t); /* t >= 2 */
double exact_g(struct exact_norms n, double r, int t); /* t >= 1 */
double exact_printed_f(struct exact_norms n, double r, int t);
double exact_printed_g(struct exact_norms n, double r, int t);

/* E[F_t] and E[G_t] for t = 1 .. rounds into f[t-1] and g[t-1] by the second-moment recursion,
 * c->signal deciding about X; f[0] = 0. d >= 3. */
void exact_moments(double *f, double *g, int rounds, const struct task_pool *p,
                   const struct task_cfg *c);

#endif
