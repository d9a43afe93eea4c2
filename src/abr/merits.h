/* merits.h - what merged experts are worth to every profile, in a small fixed emulation.
 *
 *   merit_v(x) = sum_i (r_iv - low_iv) / sum_i (high_iv - low_iv)        bounded to -1 .. 1
 *
 * over the chunks i, but for the first of each session, of one greedy play of sum_k x_k W_k
 * (policy/bank.h) on `links` generated links of every kind in gen_kinds and the default video. r_iv is
 * the chunk's QoE by the weights of v; low and high are what the lowest and the best level earn
 * where the link always carries what this chunk measured (abr/emulator/qoe.h: qoe_chunk_range). x goes over
 * the points of a lattice (policy/lattice.h). So a bandit over merges can begin with what an emulation
 * knows (policy/tanbr.h: prior).
 *
 * The experts must not see what the viewer values (FEAT_BLIND), or they are told the default view's
 * weights: one play gives the merits of all profiles. The links are not those of the bundled
 * folder (seed 1), nor of serve/exam (seed 20).
 *
 * Measured: 56 points, 30 links, 4 profiles: .08 s on one core. Errors: ERR_MEMORY; ERR_NUMERIC
 * for a merge that is not finite; ERR_INVALID when the experts know fewer levels than the video
 * has, and those of bank.h. Determinism: no result depends on threads.
 * Threads: pure function. */
#ifndef ABR_MERITS_H
#define ABR_MERITS_H

#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "base/err.h"
#include "policy/policy.h"

#include <stdint.h>

struct merits_cfg {
    int steps;               /* of the lattice over the experts */
    int links;               /* of every kind */
    uint64_t seed;           /* of the links */
    int tasks;               /* profiles */
    const struct qoe *qoe;   /* (tasks) */
    enum feat_layout layout; /* of the experts; not a rolled one */
    int threads;
};

/* The same sums, for other emulations that are to be on this scale. */
#define MERITS_TASKS 16
struct merits_sums {
    double gain[MERITS_TASKS], room[MERITS_TASKS];
};
/* A chunk that p has just fetched at `level`, after one at `previous`; tasks at most MERITS_TASKS. */
void merits_add(struct merits_sums *s, const struct qoe *qoe, int tasks,
                const struct player *p, int level, int previous);
/* merit_v of the sums, 0 without any room. */
double merits_of(const struct merits_sums *s, int task);

/* out (lattice_points(experts, steps), tasks). */
int merits_of_merges(float *out, const struct policy *experts,
                     const struct merits_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

#endif
