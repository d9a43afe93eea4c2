/* gae.h - generalised advantage estimation over flattened trajectories.
 *
 *   delta_t = r_t + gamma V_{t+1} - V_t
 *   A_t     = delta_t + gamma lambda A_{t+1}      (A beyond a trajectory's end is 0)
 *   R_t     = A_t + V_t                           the critic's target
 *
 * Source: Schulman et al., ICLR 2016, Eq. 16.
 * V_{t+1} after the last step of a trajectory is boot[t]: 0 if the episode ended, the critic's value of
 * the final observation if it was cut. boot is read only there.
 *
 * Shapes: every array (n), trajectories one after another; last[n-1] must be set.
 * Threads: pure function. */
#ifndef LEARN_GAE_H
#define LEARN_GAE_H

#include <stdint.h>

void gae_compute(float *advantage, float *target, const float *reward, const float *value,
                 const float *boot, const uint8_t *last, int n, double gamma,
                 double lambda);

#endif
