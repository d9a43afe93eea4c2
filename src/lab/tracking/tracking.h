/* tracking.h - the lab `tracking`: PA-MoE's regret bound against the error that it bounds.
 *
 * Errors of noisy gradient descent that follows a moving optimum (tracking_sim.h), over step size,
 * noise and time, for three kinds of drift of the same speed, next to the two terms of Theorem 4.3.
 * Threads: see lab.h. */
#ifndef LAB_TRACKING_H
#define LAB_TRACKING_H

#include "lab/lab.h"

extern const struct lab tracking_lab;

#endif
