/* merge_score.h - the score of merged experts for every profile, in a small fixed emulation.
 *
 *   score_v(x) = sum_i (r_iv - low_iv) / sum_i (high_iv - low_iv)        bounded to -1 .. 1
 *
 * over the chunks i, except the first of each session, of one greedy play of sum_k x_k W_k
 * (policy/bank.h) on `links` generated links of every kind in gen_kinds and the default video. r_iv is
 * the chunk's QoE by the weights of v. low and high are the rewards of the lowest and the best level on
 * a link with the constant throughput that this chunk measured (abr/emulator/qoe.h: qoe_chunk_range).
 * x runs over the points of a lattice (policy/lattice.h). A bandit over merges starts from these scores
 * as its prior (policy/tanbr.h).
 *
 * The experts must not see the viewer's weights (FEAT_BLIND); otherwise they see those of the default
 * view. One play gives the scores of all profiles. The links are not those of the bundled folder (seed
 * 1), nor of serve/learner/exam.h (seed 20).
 *
 * Measured: 56 points, 30 links, 4 profiles take 0.08 s on one core. No result depends on threads.
 *
 * Errors: ERR_MEMORY; ERR_NUMERIC for a merge that is not finite; ERR_INVALID when the experts know
 * fewer levels than the video has, and those of bank.h.
 * Threads: pure function. */
#ifndef ABR_MERGE_SCORE_H
#define ABR_MERGE_SCORE_H

#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "base/err.h"
#include "policy/policy.h"

#include <stdint.h>

struct merge_score_cfg {
    int steps;               /* of the lattice over the experts */
    int links;               /* of every kind */
    uint64_t seed;           /* of the links */
    int tasks;               /* profiles */
    const struct qoe *qoe;   /* (tasks) */
    enum feat_layout layout; /* of the experts; not a rolled one */
    int threads;
};

/* The sums above, for other emulations on this scale. */
#define MERGE_SCORE_TASKS 16
struct merge_score_sums {
    double gain[MERGE_SCORE_TASKS], room[MERGE_SCORE_TASKS];
};
/* Adds the chunk that p fetched last. tasks is at most MERGE_SCORE_TASKS. */
void merge_score_add(struct merge_score_sums *s, const struct qoe *qoe, int tasks,
                     const struct player *p);
/* score_v of the sums; 0 when the denominator is 0. */
double merge_score_of(const struct merge_score_sums *s, int task);

/* out (lattice_points(experts, steps), tasks). */
int merge_score_all(float *out, const struct policy *experts,
                    const struct merge_score_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

#endif
