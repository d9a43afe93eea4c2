/* oracle.h - offline near-optimum of a session on a known trace, with a proven upper bound.
 *
 * oracle_solve knows the whole trace. It returns a plan (the levels of all chunks), the plan's value
 * in the real emulator, and an upper bound that no plan exceeds. The value is a true lower bound of
 * the optimum. Where value and bound meet, the plan is proven optimal.
 *
 * Relaxed world, in which the bound is computed. A plan's state before chunk n is the link's clock t
 * (transfers and sleeps), the stalls so far S and the value so far V;
 * buffer = n chunk_s - t - n rtt + S. With f the time at which chunk n has arrived,
 *   S' = max(S, f - n chunk_s),   V' = V + quality - change - mu_stall (S' - S).
 * Let G = V + mu_stall S. Whatever follows, the plan's final value is
 *   g + min(V, G - mu_stall M(t)),
 * g what the remaining levels earn without stalls, M the latest of their f - n chunk_s. An earlier
 * start never ends later (link.h), so M does not decrease in t. Hence:
 *   (A) A state with no larger t, no smaller V and no smaller G than another state is worth at least
 *       as much, for every continuation.
 *   (B) States may be merged into one state with their smallest t, largest V and largest G. Its best
 *       value is at least that of each of them.
 * Full buffers: above buffer_max_s the player sleeps to that limit, in quanta. The relaxed player
 * sleeps exactly to the limit; without the quanta downloads only start earlier. It also uses the
 * smallest S of the merged states, which only shortens sleeps.
 *
 * The bound is proven up to rounding (1e-9 is added). The plan is not proven optimal when
 * value < bound. The gap is widest for buffer limits near the chunk's length, where quanta matter
 * most.
 *
 * Search. Stage 1 merges all states of (chunk, level) in one coarse square of (t, S), by (B), and
 * merges dominated states into their dominators, by (A). A backward pass gives every node T, the most
 * that can still be earned. Stage i + 1 divides the side of the squares by 4 and follows only what
 * stage i left above the best known plan. A finer state remembers the coarser node that dominates it,
 * and that node's T bounds it. After each stage real states (with quanta) run through its nodes, one
 * per node; changing single runs of chunks then improves the best plan found. The stages end when
 * bound and value meet or the node budget is used up.
 *
 * Source: label-setting with dominance and state-space relaxation (Christofides, Mingozzi,
 * Toth, Networks 1981; decremental refinement after Righini and Salani, Networks 2008).
 * Errors: ERR_MEMORY.
 * Ownership: an oracle owns its memory and reuses it from solve to solve.
 * Threads: not shared, one per thread. */
#ifndef ABR_ORACLE_H
#define ABR_ORACLE_H

#include "abr/emulator/emu.h"

struct oracle;

struct oracle_result {
    const int *levels; /* (chunks), borrowed until the next solve */
    double value;      /* sum of the counted chunks' rewards, by the emulator */
    double bound;      /* >= value: no plan's sum is larger */
    int stages;
    long nodes; /* over all stages: the work */
};

/* For videos of this shape (levels, chunks). node_budget: nodes per stage; 0 = default. */
struct oracle *oracle_new(const struct video *video, long node_budget, struct err *e);
void oracle_free(struct oracle *o);

/* first_level >= 0: chunk 0 is fetched at that level and not counted. Weights >= 0. */
int oracle_solve(struct oracle_result *out, struct oracle *o,
                 const struct emu_world *world, int start_row, const struct qoe *qoe,
                 int first_level, struct err *e) __attribute__((warn_unused_result));

/* A session under way, before its next chunk. */
struct oracle_from {
    struct emu emu;
    double clock_s; /* of the link (link.h): time since the start, without round trips */
    int level;      /* of the chunk before; -1: none */
};
/* Before chunk 0. */
void oracle_begin(struct oracle_from *f, const struct emu_world *world, int start_row);
/* The emulator fetched a chunk, with so many requests (2: one copy was abandoned). The buffer is that
 * before the chunk. The caller steps f->emu. */
void oracle_pass(struct oracle_from *f, int requests, double buffer_before_s,
                 const struct emu_result *r);

/* The best continuation: value and bound are of the chunks that are left, at least one. Levels of
 * earlier chunks are not set. start_row: of the session. */
int oracle_solve_from(struct oracle_result *out, struct oracle *o,
                      const struct oracle_from *from, int start_row,
                      const struct qoe *qoe, struct err *e)
    __attribute__((warn_unused_result));

#endif
