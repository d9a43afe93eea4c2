/* tally.h - forgetting and generalisation error of experts whose errors are measured.
 *
 *   G_t = 1/t sum_{tau<=t} E_tau(w_t^(m_tau))
 *   F_t = 1/(t-1) sum_{tau<t} (E_tau(w_t^(m_tau)) - E_tau(w_tau^(m_tau)))
 *
 * Source: as recall.h, which has the closed form for linear experts. Here E_tau(w) is what expert w
 * scores on the task of round tau. There are few tasks, so a count of rounds per task and expert and
 * one measured error for each give both at any t. The term tau = t of F is zero, so the sum may
 * include it.
 *
 * Shapes: error (tasks, experts) by rows; read only where that expert learned that task.
 * Threads: not shared. */
#ifndef LAB_TALLY_H
#define LAB_TALLY_H

#include "lab/forgetting/recall.h"

#define TALLY_TASKS 8 /* at most */

struct tally {
    int tasks, experts, rounds;
    int learned[TALLY_TASKS][RECALL_EXPERTS]; /* rounds in which m learned n */
    double at_once;                           /* sum of E_tau(w_tau) */
};

void tally_init(struct tally *l, int tasks, int experts);

/* Expert m has just learned task n and now has that error on it. */
void tally_add(struct tally *l, int n, int m, double error);

double tally_error(const struct tally *l, const double *error);  /* G, rounds >= 1 */
double tally_forgot(const struct tally *l, const double *error); /* F, rounds >= 2 */

#endif
