/* feat.h - from a view to the flat observation of a policy, for emulator, training and daemon.
 *
 * FEAT_FULL (FEAT_FULL_DIM floats, about unit scale; feat_name names each entry):
 *   at  n
 *    0 28  session: last level, buffer and its limit, what remains, the viewer's weights,
 *          throughput statistics
 *   28 12  last level, one-hot
 *   40  8  throughput history, newest last: log2(throughput / top rate) / 4
 *   48  8  download-time history, newest last: d / (d + chunk_s)
 *   56 72  per level k, 6 each: rate share of the top; predicted download time; predicted
 *          stall and one-step reward, at the mean and at the cautious estimate
 * Entries of levels that do not exist are zero. Everything is relative to the ladder's top rate and to
 * the chunk's length, so one policy can serve ladders that it was not trained on. A view has at most
 * FEAT_LEVELS levels here; abr/deciders/window.h chooses them from a longer ladder.
 *
 * Throughput estimates: the harmonic mean of the last 5 chunks, and the cautious one, which divides it
 * by 1 + the worst relative error that the same rule made in the history (RobustMPC, Yin et al.,
 * SIGCOMM 2015).
 *
 * FEAT_BLIND: FEAT_FULL with zeros for everything that shows the viewer's weights: the weights, the
 * utility and the predicted rewards. For experiments; the daemon refuses it.
 *
 * FEAT_PAPER (48 floats): the 6 x 8 state of the PA-MoE authors' code, row-major, without the profile:
 * last rate, buffer [s], throughput [MB/s], download time [10 s], next sizes [MB], remaining share. A
 * view holds no history of rates, buffers and remains, so feat_observe fills only their newest column.
 * feat_paper_push keeps the whole state from step to step, with the stale entries that rolling leaves
 * behind the sizes.
 *
 * FEAT_PAPER_HINT (51): the same and the viewer's three weights, each over their sum.
 *
 * FEAT_PLAN (208): FEAT_FULL, then 8 entries of the session and 6 of each level. It says what FEAT_FULL
 * leaves to be inferred, and shows the buffer's limit in another way:
 *   at  n
 *    4  2  buffer and its limit, with a limit above FEAT_LIMIT_S as FEAT_LIMIT_S: few players of the training
 *          have more, and a policy that saw their limits was too careful with them
 *  128  8  points (the unit), share of the weights of rises and of the start, first chunk, spread of the
 *          forecast, forecasts of later chunks (middle and low), number of levels
 *  136 72  per level k: quality, then how much less than the best level it is worth in plan.h, under
 *          quantiles 1, 4, 6 and 8 of the forecast and on average: 1 the best, -1 much worse. The unit is
 *          what the link carries (feat_link_scale). 0 when nothing was measured. On a link of m kbit/s, with
 *          chunks of d seconds, a level's worth on average counts
 *            min(FEAT_PLAN_MOST, max(1, m / FEAT_FAST_KBPS, d / FEAT_LONG_S))
 *          times, and so it does in the policy's prior: on fast training links and with long chunks the plan
 *          alone was better
 *
 * Threads: pure functions. */
#ifndef ABR_FEAT_H
#define ABR_FEAT_H

#include "abr/deciders/plan.h"
#include "abr/emulator/view.h"

#include <stdbool.h>
#include <stddef.h>

enum feat_layout { FEAT_FULL, FEAT_PAPER, FEAT_BLIND, FEAT_PAPER_HINT, FEAT_PLAN };

#define FEAT_LEVELS 12 /* most levels of an observation, and actions of a policy */
#define FEAT_FULL_DIM 128
#define FEAT_LIMIT_S 60.0
#define FEAT_PLAN_DIM 208
#define FEAT_FAST_KBPS 3000.0
#define FEAT_LONG_S 4.0
#define FEAT_PLAN_MOST 4.0
#define FEAT_DIM_MAX FEAT_PLAN_DIM
/* entry of FEAT_PLAN: worth of level 0 on average, and entries from level to level */
#define FEAT_WORTH (FEAT_FULL_DIM + 8 + 5)
#define FEAT_WORTH_STRIDE 6
#define FEAT_PAPER_DIM 48
#define FEAT_PAPER_HINT_DIM 51

int feat_dim(enum feat_layout layout);
/* Whether feat_paper_push keeps this layout's state from chunk to chunk. */
bool feat_rolled(enum feat_layout layout);

/* "full", "paper", "blind", "paper-hint", "plan" and back (ERR_INVALID). */
const char *feat_layout_name(enum feat_layout layout);
int feat_layout_parse(enum feat_layout *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* The name of entry `index`, e.g. "level3.stall_cautious". */
void feat_name(char *out, size_t size, enum feat_layout layout, int index);

/* obs: (feat_dim). Every entry is finite for any view within the limits of view.h, of at most
 * FEAT_LEVELS levels. */
void feat_observe(float *obs, enum feat_layout layout, const struct view *v);

/* FEAT_PAPER: advances `state` (48, zeros before the first call) to the view v. */
void feat_paper_push(float *state, const struct view *v);

/* FEAT_PAPER_HINT: the three entries behind that state. */
void feat_paper_hint(float out[FEAT_PAPER_HINT_DIM - FEAT_PAPER_DIM],
                     const struct view *v);

/* Bit k set: level k of the view exists. Up to VIEW_LEVELS. */
uint32_t feat_mask(const struct view *v);

/* Rewards are divided by this before training:
 *   (mu_quality dq + mu_switch dchange + mu_stall chunk_s) / 4
 * with dq, dchange the ladder's span from bottom to top. For Pensieve's ladder with the linear utility
 * and 4 s chunks it is the sum of the weights. It brings viewers of other ladders and weights to the
 * same scale. Always > 0. */
double feat_reward_scale(const struct view *v);

/* The same for FEAT_PLAN: the range of a chunk's reward on a link that carries kbps, and a tenth of the
 * cost of a stall of one chunk. Unlike the span of the ladder, it does not grow with levels that the
 * link cannot carry, so a tall ladder on a slow link teaches as much as another. Always > 0. */
double feat_link_scale(const struct view *v, double kbps);

#endif
