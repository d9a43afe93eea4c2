/* oracle.h - the best that any player could have done on a trace, and how sure that is.
 *
 * oracle_solve knows the whole trace. It gives a plan (levels of all chunks), the plan's value
 * in the real emulator - so a true lower bound of the optimum - and an upper bound that no
 * plan passes. Where the two meet, the plan is proven optimal.
 *
 * The relaxed world that the bound is computed in. A plan's state before chunk n is the
 * link's clock t (transfers and sleeps), the stalls so far S and the value so far V;
 * buffer = n chunk_s - t - n rtt + S. With f the time at which chunk n is there,
 *   S' = max(S, f - n chunk_s),   V' = V + quality - change - mu_stall (S' - S).
 * Let G = V + mu_stall S. Whatever follows, the plan's final value is
 *   g + min(V, G - mu_stall M(t)),
 * g what the remaining levels earn without stalls, M the latest of their f - n chunk_s. As
 * an earlier start never ends later (link.h), M does not decrease in t. So:
 *   (A) a state with t no larger, V no smaller and G no smaller than another's is worth at
 *       least as much, for every continuation.
 *   (B) states may be merged into one of the smallest t, largest V and largest G: its best
 *       value is at least that of each.
 * Full buffers: above buffer_max_s the player sleeps to it, in quanta. Here it sleeps
 * exactly to it (dropping the quanta only starts downloads earlier), and by the smallest S of
 * what was merged, which only shortens sleeps. Proven, up to rounding (1e-9 is added): the
 * bound. Not proven: that the plan is optimal when value < bound; with buffer limits near
 * the chunk's length, where quanta matter most, the stated gap is widest.
 *
 * The search. Stage 1 merges all states of (chunk, level) that fall into one coarse square
 * of (t, S), as (B) allows, and merges what (A) dominates into its dominator. A backward
 * pass gives every node T, the most that can still be earned. Stage i + 1 halves the squares
 * but follows only what stage i left above the best plan known: a finer state remembers the
 * coarser node that dominates it, and that node's T bounds it. After each stage real states
 * (quanta and all) run through its nodes, one per node, and the best plan found is improved
 * by changes of single runs of chunks. Stages go on until bound and value meet or
 * the node budget is used up.
 *
 * Source: label-setting with dominance and state-space relaxation (Christofides, Mingozzi,
 * Toth, Networks 1981; decremental refinement after Righini and Salani, Networks 2008).
 *
 * Ownership: an oracle owns its memory and reuses it from solve to solve.
 * Errors: ERR_MEMORY. Threads: not shared, one per thread. */
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

#endif
