/* mpc_tail.h - model predictive control with a held tail: plan a few chunks, hold the last level.
 *
 *   maximise over (a_1 .. a_H):  sum_j reward(a_j | a_{j-1}, stall_j) + tail(a_H, b_{H+1})
 *   tail = T reward(a_H | a_H) - mu_stall stall_T
 *
 * stall_T is the stall of T more chunks at level a_H on a link that carries C:
 *   d <= chunk_s:  max(0, d - b)          d = chunk_s R(a_H) / C, b the buffer after the plan
 *   d >  chunk_s:  max(0, T d - b - (T - 1) chunk_s)
 * C = factor times the harmonic mean of the last 5 throughputs. T is smaller
 * near the end of the video.
 *
 * RobustMPC (mpc.h) ignores all chunks after the fifth. If the weight of switches is high, the
 * quality gained in five chunks is less than the penalty of a switch. Then RobustMPC never
 * switches to gain quality. The tail counts the gain in later chunks, too.
 *
 * Settings (settings.h), one set per kind of viewer: factor, horizon (1 .. 4), tail [chunks].
 *
 * Source: Yin et al., SIGCOMM 2015, for the planning. The tail and the factor are ours.
 * Threads: not shared, one per thread. */
#ifndef ABR_MPC_TAIL_H
#define ABR_MPC_TAIL_H

#include "abr/deciders/algo.h"

#define MPC_TAIL_HORIZON 4

struct mpc_tail_cfg {
    double factor;
    int horizon;
    double tail;
};

/* The best first level. video may be NULL. */
int mpc_tail_level(const struct mpc_tail_cfg *cfg, const struct view *v,
                   const struct video *video);

int mpc_tail_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                 struct err *e) __attribute__((warn_unused_result));

#endif
