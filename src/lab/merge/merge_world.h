/* merge_world.h - viewers of all profiles on a fixed set of sessions, and policies' scores for them.
 *
 *   session s   one trace from one row, the same video, chunk 0 fetched at level 1, not counted
 *   score       (QoE_v(s) - low_v) / (best_v - low_v) for viewers of profile v,
 *               low_v, best_v the means over all sessions of the lowest level and of the oracle
 *
 * QoE per chunk, the oracle with 1000 nodes per chunk. One play of a policy that does not see the
 * viewer's weights gives the scores of all profiles. The oracle is a lower bound of the optimum
 * (abr/deciders/oracle.h), so a score can exceed 1.
 *
 * A grid holds the scores of policies at every point of a lattice (policy/lattice.h) and
 * interpolates between them.
 *
 * Shapes: scores (sessions, V), row-major. Errors: of loading, ERR_RANGE, ERR_MEMORY, and
 * LAB_STOPPED where progress stopped it. Determinism: no result depends on threads.
 * Threads: read-only after construction, except merge_world_play's player. */
#ifndef LAB_MERGE_WORLD_H
#define LAB_MERGE_WORLD_H

#include "abr/traces/corpus.h"
#include "abr/emulator/feat.h"
#include "lab/lab.h"
#include "policy/lattice.h"
#include "policy/packed.h"

#define MERGE_TASKS QOE_PAPERS
#define MERGE_LOOK 8

struct merge_world {
    const struct corpus *corpus; /* borrowed */
    const struct video *video;   /* borrowed */
    int sessions;
    const struct trace **trace; /* (sessions) */
    int *row;                   /* (sessions) */
    double low[MERGE_TASKS], best[MERGE_TASKS];
};

/* `starts` sessions per trace: the first from its row 1, others from drawn rows. */
struct merge_world *merge_world_new(const struct corpus *corpus,
                                    const struct video *video, int starts, uint64_t seed,
                                    struct err *e);
void merge_world_free(struct merge_world *w);

/* Fills low and best; the oracle is slow. */
int merge_world_scale(struct merge_world *w, int threads, struct err *e)
    __attribute__((warn_unused_result));

/* One greedy policy on all sessions. hint: the weights in its observation, NULL for a layout without
 * weights. The scores are those of viewers of each profile. */
void merge_world_play(float *scores, const struct merge_world *w,
                      const struct packed *policy, enum feat_layout layout,
                      const struct qoe *hint);

/* n observations of the policy on these sessions, drawn at random: obs (n, feat_dim), mask (n). */
void merge_world_states(float *obs, uint32_t *mask, int n, const struct merge_world *w,
                        const struct packed *policy, enum feat_layout layout,
                        uint64_t seed);

/* The policy's observation, layout FEAT_BLIND, in every session after MERGE_LOOK chunks: obs
 * (sessions, FEAT_FULL_DIM). */
void merge_world_look(float *obs, const struct merge_world *w,
                      const struct packed *policy);

/* Means over sessions: out (V). */
void merge_world_mean(double *out, const struct merge_world *w, const float *scores);

struct merge_grid {
    int dim, steps, points;
    int sessions;
    float *scores; /* (points, sessions, V) */
    double *mean;  /* (points, V) */
};

struct merge_grid *merge_grid_new(int dim, int steps, const struct merge_world *w,
                                  struct err *e);
void merge_grid_free(struct merge_grid *g);
/* Interpolated: mean scores (V), and the score of one session for one profile. */
void merge_grid_mean(double *out, const struct merge_grid *g,
                     const struct lattice_mix *m);
double merge_grid_score(const struct merge_grid *g, const struct lattice_mix *m,
                        int session, int task);

#endif
