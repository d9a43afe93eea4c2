/* continual.h - accuracies of a sequence of tasks, and what is forgotten.
 *
 *   S_(i,t) accuracy on task i after learning task t >= i,  A_t = 1/t sum_(i<=t) S_(i,t)
 *   FA = A_T,   CA = 1/T sum_t A_t,   FM = 1/(T-1) sum_(i<T) max_(t<T) (S_(i,t) - S_(i,T))
 *
 * Source: NoRGa (lab/gates/residual.h), Appendix E. S_(i,t) is not defined for t < i, so the maximum runs
 * over i <= t < T. FM of one task is 0.
 *
 * Tasks count from 0 here. Threads: pure functions. */
#ifndef LAB_CONTINUAL_H
#define LAB_CONTINUAL_H

#define CONTINUAL_TASKS 8 /* at most */

struct continual {
    int tasks;
    double s[CONTINUAL_TASKS][CONTINUAL_TASKS]; /* s[i][t] */
};

double continual_fa(const struct continual *c);
double continual_ca(const struct continual *c);
double continual_fm(const struct continual *c);

#endif
