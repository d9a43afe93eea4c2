/* feat.h - from a view to the flat observation a policy sees. One layout for emulator,
 * training and daemon.
 *
 * Layout FEAT_FULL (FEAT_FULL_DIM floats, about unit scale; the exact table is in feat.c and
 * named by feat_name): session block (last level and its bitrate, buffer, its limit, remaining
 * share, live flag, chunk length, throughput statistics, weights mu / sum(mu), utility),
 * histories of 8, and one block per level (exists, bitrate, size over the throughput
 * estimate, predicted stall at the mean and at the worst estimate, ...). Levels that do not
 * exist are zero and masked.
 *
 * Layout FEAT_PAPER (48 floats): the 6 x 8 state of the PA-MoE authors' code, row-major,
 * profile not included. The stale entries of row 4 of that code are not reproduced here but
 * in abr_env, which keeps the previous state.
 *
 * Threads: pure functions. */
#ifndef ABR_FEAT_H
#define ABR_FEAT_H

#include "abr/view.h"

enum feat_layout { FEAT_FULL, FEAT_PAPER };

#define FEAT_FULL_DIM 128 /* upper bound of the layout; unused entries stay 0 */
#define FEAT_PAPER_DIM 48

int feat_dim(enum feat_layout layout);

/* obs: (feat_dim). Every entry is finite for any view within wire's limits. */
void feat_observe(float *obs, enum feat_layout layout, const struct view *v);

/* Bit k set: level k exists. */
uint32_t feat_mask(const struct view *v);

#endif
