/* nucb.h - neural upper confidence bounds: the expected reward of merging weights, and its uncertainty.
 *
 *   f(x) = b + sqrt(w) theta_L relu(... relu(theta_1 u)),  u = x / |x|        (Eq. 3)
 *   g(x) = gradient of psi' f(x) by theta
 *   mean = psi' f(x),   width = gamma sqrt(g' Z^-1 g / w)                     (Eq. 4)
 *   Z_0 = lambda 1,     Z_t = Z_{t-1} + g(x_t) g(x_t)' / w                    (Alg. 1, l. 16)
 *   loss = 1/n sum_s sum_v c_{s,v} / 2 (f_v(x_s) - r_{s,v})^2
 *          + lambda w / (2 n) |theta - theta_0|^2                             (Alg. 1, l. 18)
 *   theta <- theta - eta / w * gradient, J times
 *
 * x the K weights, f one reward per task (V), psi the mix of tasks, w the width, n the number of
 * rewards in the history.
 *
 * Sources: Han et al. (Tanbr), Sec. IV-C; Zhou, Li, Gu, Neural contextual bandits with UCB-based
 * exploration, ICML 2020 (Alg. 1), for the first weights and for lambda w in the loss.
 * Open choices and differences:
 * - u: Assumption 2 requires |x| = 1. On the simplex no two x have the same direction.
 * - First weights: block-diagonal and mirrored, so f(x) = b everywhere: N(0, 4 / w) in the layers,
 *   N(0, 2 / w) in the head.
 * - b is the mean reward of each task in the history, so the network learns differences.
 * - The loss is a mean, so eta does not depend on t; eta / w makes it independent of the width. Each
 *   step draws `batch` rewards from the history. New rewards replace the oldest.
 * - c_{s,v}: the trust in a task's reward, 0 without a sample, 1 for a usual number.
 * - gamma is constant: the paper's gamma_t has unknown constants.
 * - NUCB_DIAGONAL keeps only the diagonal of Z. NUCB_FULL is the reference for small networks
 *   (Sherman-Morrison on Z^-1, in double).
 * - Eq. 3 has L matrices, w K + w^2 (L - 2) + w V numbers; the paper's count has w^2 (L - 1).
 *
 * Shapes: x (K), psi, reward, trust (V). Rewards of about unit size.
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_NUMERIC for a reward that is not finite (nothing is learned) or
 * such an update (theta is unchanged); ERR_CORRUPT for a state of something else.
 * Nothing allocates after _new. Determinism: seed and rewards decide, to the bit on one type of CPU.
 * Threads: not shared, one per thread. */
#ifndef POLICY_NUCB_H
#define POLICY_NUCB_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define NUCB_DIM_MAX 256
#define NUCB_TASKS_MAX 16
#define NUCB_WIDTH_MAX 512
#define NUCB_DEPTH_MAX 4
#define NUCB_FULL_MAX 2048 /* parameters that NUCB_FULL takes */

enum nucb_cov { NUCB_DIAGONAL, NUCB_FULL };

struct nucb_cfg {
    int dim, tasks;   /* K, V */
    int width, depth; /* w (even), L = 2 .. 4 */
    int history;      /* rewards kept */
    int steps, batch; /* J, and rewards per step */
    double lambda, gamma, eta;
    enum nucb_cov cov;
};

struct nucb;

struct nucb_score {
    double mean, width;
};

/* Width 64, depth 2, history 512, 20 steps of 32, lambda .1, gamma .02, eta .1, diagonal:
 * values that `abrd lab merge` found good for rewards of about 0 .. 1. */
struct nucb_cfg nucb_cfg_default(int dim, int tasks);
int nucb_cfg_check(const struct nucb_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
size_t nucb_params(const struct nucb_cfg *cfg);

struct nucb *nucb_new(const struct nucb_cfg *cfg, uint64_t seed, struct err *e);
void nucb_free(struct nucb *b);

/* Scores of n >= 1 candidates. x: n pointers to (K). */
void nucb_score(struct nucb_score *out, struct nucb *b, const float *const *x, int n,
                const float *psi);
/* f(x): out (V). */
void nucb_predict(float *out, struct nucb *b, const float *x);

/* Learns from one choice: Z by g(x), the history, J steps. trust 0: the task had no sample; if no task
 * had one, only Z changes. trust NULL: all 1. */
int nucb_learn(struct nucb *b, const float *x, const float *psi, const float *reward,
               const float *trust) __attribute__((warn_unused_result));

/* Forgets the rewards, the head and the Z of a task. Layers below the head do not change. */
void nucb_forget(struct nucb *b, int task);

/* Choices learned from so far. */
int64_t nucb_count(const struct nucb *b);
/* Parameters, head last; for tests. Borrowed. */
float *nucb_theta(struct nucb *b);

/* Flat bytes; their number depends only on the configuration. ERR_CORRUPT changes nothing. */
size_t nucb_state_size(const struct nucb_cfg *cfg);
void nucb_state_get(const struct nucb *b, void *out);
int nucb_state_put(struct nucb *b, const void *in, struct err *e)
    __attribute__((warn_unused_result));

#endif
