/* tracking.h - the lab that holds PA-MoE's regret bound against the error it bounds.
 *
 * Errors of noisy gradient descent after a moving optimum (tracking_sim.h) over step size,
 * noise and time, for three kinds of drift of the same speed, beside Theorem 4.3's two
 * terms. Threads: see lab.h. */
#ifndef LAB_TRACKING_H
#define LAB_TRACKING_H

#include "lab/lab.h"

extern const struct lab tracking_lab;

#endif
