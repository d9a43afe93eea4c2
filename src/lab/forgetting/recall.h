/* recall.h - forgetting and generalisation error: of linear experts, and of measured ones.
 *
 *   E_tau(w) = ||w - w_tau||^2                                  the model error of a task
 *   G_t = 1/t sum_{tau<=t} E_tau(w_t^(m_tau))                   generalisation error
 *   F_t = 1/(t-1) sum_{tau<t} (E_tau(w_t^(m_tau)) - E_tau(w_tau^(m_tau)))   forgetting
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", definition of
 * forgetting and generalisation; G also in the mobile-edge part.
 * Kept per expert: the number L of its tasks, the sum of their truths and of the truths' squared
 * norms, since sum ||w - w_tau||^2 = L ||w||^2 - 2 w . sum w_tau + sum ||w_tau||^2: any t costs
 * O(M d) instead of O(t d). The term tau = t of F is zero, so the sum may include it.
 *
 * Also the printed bounds in L = L^(m), A = E||w||^2, B = E||w - w'||^2 of two draws:
 *   recall_bound_f   1/(t-1) sum_tau (r^L_t - r^L_tau)(A - B)           Theorem 1, t <= T1
 *   recall_bound_g   1/t sum_tau { r^L A + (1 - r^L) B }                Theorem 1, Prop. 9
 * For one expert these are Proposition 4 as printed. Theorem 1 freezes L at T1 while tau goes on
 * to t: `held` gives those L per expert, NULL for its own.
 *
 * Experts whose errors are measured (struct recall_tally): E_tau(w) is what expert w scores on the task of
 * round tau. There are few tasks, so a count of rounds per task and expert and one measured error for
 * each give F and G at any t. error (tasks, experts) by rows is read only where that expert learned that
 * task. *
 * Shapes: models (experts, TASK_DIM). Threads: not shared. */
#ifndef LAB_RECALL_H
#define LAB_RECALL_H

#include "lab/forgetting/task.h"

#define RECALL_EXPERTS 64 /* at most */

struct recall {
    int experts, d;
    int rounds;                             /* tasks in all */
    int learned[RECALL_EXPERTS];            /* L */
    double truth[RECALL_EXPERTS][TASK_DIM]; /* sum of w_tau */
    double norm2[RECALL_EXPERTS];           /* sum of ||w_tau||^2 */
    double at_once;                         /* sum of E_tau(w_tau) */
};

void recall_init(struct recall *l, int experts, int d);

/* Expert m has just learned `truth` and is now `model`. */
void recall_add(struct recall *l, int m, const double *truth, const double *model);

double recall_error(const struct recall *l,
                    const double (*model)[TASK_DIM]); /* G, rounds >= 1 */
double recall_forgot(const struct recall *l,
                     const double (*model)[TASK_DIM]); /* F, rounds >= 2 */

double recall_bound_f(const struct recall *l, double r, double a, double b);
double recall_bound_g(const struct recall *l, const int *held, double r, double a,
                      double b);

/* G's expectation when routing does not depend on the tasks and X is isotropic:
 *   1/t sum_tau { r^L A + (1 - r^L)(1 - 1/L) B }
 * Proposition 9 with its second term times (1 - 1/L): of the L tasks that an expert holds, one
 * is the task itself, at distance 0 and not B. See exact.h for the derivation. */
double recall_exact_g(const struct recall *l, double r, double a, double b);

/* ---- experts whose errors are measured ---- */

#define RECALL_TASKS 8 /* at most */

struct recall_tally {
    int tasks, experts, rounds;
    int learned[RECALL_TASKS][RECALL_EXPERTS]; /* rounds in which m learned n */
    double at_once;                            /* sum of E_tau(w_tau) */
};

void recall_tally_init(struct recall_tally *l, int tasks, int experts);

/* Expert m has just learned task n and now has that error on it. */
void recall_tally_add(struct recall_tally *l, int n, int m, double error);

double recall_tally_error(const struct recall_tally *l,
                          const double *error); /* G, rounds >= 1 */
double recall_tally_forgot(const struct recall_tally *l,
                           const double *error); /* F, rounds >= 2 */

#endif
