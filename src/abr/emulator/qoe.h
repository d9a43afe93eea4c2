/* qoe.h - linear quality of experience of one chunk.
 *
 *   r = mu_quality * q(R) - mu_switch * |dq| - mu_stall * T
 *
 * R bitrate [kbit/s in the interface, Mbit/s inside q], T stall while the chunk arrived [s]. Utilities:
 *   QOE_LINEAR  q(R) = R [Mbit/s],               dq = q(R) - q(R_prev)
 *   QOE_LOG     q(R) = ln(R / R_min),            dq = q(R) - q(R_prev)
 *   QOE_PAMOE   q(R) = ln(R + 0.7) - 0.01 / R,   dq = R - R_prev [Mbit/s]
 * The term - 0.01 / R of QOE_PAMOE is not multiplied by mu_quality, as in its authors' code. Use
 * qoe_parts.reward, not the sum of the parts.
 *
 * Sources: QoE_lin and QoE_log of Mao et al. (Pensieve), SIGCOMM 2017, Sec. 5.1, Tab. 1; QOE_PAMOE is
 * what the PA-MoE authors' code computes. The weights of the profiles are those of PA-MoE Sec. 2.3
 * (documentary, live, news) and of Pensieve (mu = 4.3).
 * Differs: the first chunk of a session pays no switch penalty (prev_kbps <= 0).
 * Threads: pure functions. */
#ifndef ABR_QOE_H
#define ABR_QOE_H

#include "base/err.h"

#include <stdbool.h>

#define QOE_PROFILES 4    /* built in */
#define QOE_MU_MAX 1000.0 /* largest weight from outside */

enum qoe_utility { QOE_LINEAR, QOE_LOG, QOE_PAMOE };

struct qoe {
    double mu_quality, mu_switch, mu_stall;
    enum qoe_utility utility;
};

struct qoe_profile {
    const char *name;
    struct qoe qoe;
};

/* The parts of a chunk's QoE. reward = mu_quality*quality - mu_switch*change - mu_stall*stall_s,
 * except for QOE_PAMOE (above). */
struct qoe_parts {
    double quality, change, stall_s, reward;
};

/* documentary {1,6,1}, live {1,1,6}, news {6,1,1}, pensieve {1,1,4.3}; all linear. */
extern const struct qoe_profile qoe_profiles[QOE_PROFILES];

/* NULL when no built-in profile has that name. */
const struct qoe_profile *qoe_find(const char *name);

/* True if the weights are equal. qoe_same also compares the utility. */
bool qoe_same_weights(const struct qoe *a, const struct qoe *b);
bool qoe_same(const struct qoe *a, const struct qoe *b);

/* "linear", "log", "pamoe" and back; qoe_utility_parse returns 0 or ERR_INVALID. */
const char *qoe_utility_name(enum qoe_utility u);
int qoe_utility_parse(enum qoe_utility *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* q(R). lowest_kbps is the ladder's lowest rung. Only QOE_LOG uses it. */
double qoe_quality(enum qoe_utility u, double kbps, double lowest_kbps);

/* prev_kbps <= 0: no chunk before this one. */
struct qoe_parts qoe_chunk(const struct qoe *k, double kbps, double prev_kbps,
                           double stall_s, double lowest_kbps);

/* The range of the reward of a chunk, for sessions that stay at one level. The link has the
 * constant throughput carried_kbps > 0. The stall is chunk_s * max(0, R / carried - 1), and there
 * is no switch. low is the reward of the lowest level, high that of the best level. high - low may
 * be 0. The normalised score of a session is sum(reward - low) / sum(high - low) over its chunks.
 * It is 0 for the lowest level and near 1 for the best. So it compares viewers with different
 * weights. */
struct qoe_range {
    double low, high;
};
struct qoe_range qoe_chunk_range(const struct qoe *k, const double *ladder_kbps,
                                 int levels, double chunk_s, double carried_kbps);

/* Fills reward (levels) with qoe_chunk(...).reward of every level of a ladder, without a stall.
 * Computes each quality once. prev_level < 0: no chunk before this one. */
void qoe_ladder(double *reward, const struct qoe *k, const double *ladder_kbps,
                int levels, int prev_level);

#endif
