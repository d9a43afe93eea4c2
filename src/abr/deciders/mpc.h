/* mpc.h - RobustMPC: plan the next five chunks on a cautious forecast, play the first.
 *
 *   maximise over (a_1 .. a_H):  sum_j  reward(a_j | a_{j-1}, stall_j)
 *   d_j = 8 S_j(a_j) / C,  stall_j = max(0, d_j - b_j),  b_{j+1} = max(b_j - d_j, 0) + chunk_s
 *   C = harmonic mean of the last 5 throughputs / (1 + worst relative error of the last 5 such
 *       forecasts)
 *
 * H = 5, less at the video's end. S_j are the chunks' real sizes. Without a video the next chunk's
 * sizes are those of the view, and later sizes are bitrate times chunk_s. If nothing was measured,
 * the answer is the lowest level.
 *
 * Source: Yin et al., SIGCOMM 2015, Sec. 5 (RobustMPC). struct mpc_memory keeps a session's forecast
 * errors. A question may be out of order: a new session, a seek or a single question. Then the
 * errors are recomputed from the view's history. There the oldest forecasts use fewer than 5
 * throughputs. A repeated question for the same chunk gets the same answer.
 *
 * Rewards are those of abr/emulator/qoe.h, divided by the sum of the weights. Each part of a reward
 * is rounded to a multiple of 2^-20: quality, change, stall, and the rest. The rest is the pamoe
 * utility's penalty of low rates, which no weight scales, and in points the difference between a rise
 * and a fall. Downloads are limited to 1e6 s. So every sum is exact in any order, and plans with the same
 * steps at other times have equal sums. Among the plans with the highest sum, the search takes the
 * lexicographically first one (lowest first level, then lowest second level, ...). The next chunk's points
 * count for all chunks of the plan.
 *
 * The search is depth-first with branch and bound. It finds exactly what a search of all levels^H
 * plans finds. The bound limits the reward (rest) that j more chunks can get from buffer b. Since
 * stall >= sum d - b - (j-1) chunk_s and stall >= 0, for any 0 <= w <= mu_stall
 *   rest <= max over plans of sum(quality - change - w d) + w (b + (j-1) chunk_s).
 * The maximum is a table over (j, last level), for each of a few w. w = 0 ignores stalls.
 *
 * Hard tasks of long ladders are pruned by dominance, too: of two partial plans of one length and last
 * level, the later one in the search is dropped if it has neither more value nor more buffer. The search
 * ends after MPC_NODES partial plans, with the best plan so far. That is more than there are for 12 levels
 * (271,452), so shorter ladders are always searched to the end. Of 20,000 random tasks with 32 levels none
 * reached the limit; the hardest took 2.5 ms (Zen 3).
 *
 * Ownership: no allocation after mpc_new.
 * Threads: pure functions; a memory is not shared. */
#ifndef ABR_MPC_H
#define ABR_MPC_H

#include "abr/deciders/algo.h"

#define MPC_HORIZON 5
#define MPC_NODES (1L << 20)

struct mpc_task {
    int levels, horizon; /* 2 .. VIEW_LEVELS, 1 .. MPC_HORIZON */
    double ladder_kbps[VIEW_LEVELS];
    double download_s[MPC_HORIZON][VIEW_LEVELS]; /* by the forecast */
    double chunk_s, buffer_s;
    double points[VIEW_LEVELS]; /* quality; of the next chunk for the whole plan */
    struct qoe_level last; /* kbps 0 = none: the first chunk of the plan pays no change */
    struct qoe qoe;        /* weights >= 0 */
};

struct mpc_answer {
    int level;
    double value; /* of the plan, in the rounded units above */
    long nodes;   /* partial plans visited */
};

#define MPC_ERRORS 5

struct mpc_memory {
    int chunk;                /* of the last question; -1 = none yet */
    double harmonic_kbps;     /* forecast for that chunk, before the caution */
    int n;                    /* number of errors */
    double error[MPC_ERRORS]; /* relative, oldest first */
};

/* The forecast C [kbit/s] for view->chunk. The memory keeps it. Returns 0 if nothing was measured.
 * A new session begins with memory->chunk = -1. */
double mpc_forecast_kbps(struct mpc_memory *memory, const struct view *v);

/* The planning task for view->chunk. video may be NULL. It is ignored if it does not fit the view.
 * forecast_kbps > 0. */
struct mpc_task mpc_task(const struct view *v, const struct video *video,
                         const struct qoe *qoe, double forecast_kbps);

struct mpc_answer mpc_plan(const struct mpc_task *task);

int mpc_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));
/* Plans with the pensieve weights and the linear utility for every viewer. */
int mpc_default_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                    struct err *e) __attribute__((warn_unused_result));

#endif
