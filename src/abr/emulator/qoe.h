/* qoe.h - quality of experience of one chunk, linear in its parts.
 *
 * What the product serves is in points, QOE_POINTS. A chunk of d seconds whose quality is q points
 * (0 .. 100, VMAF's scale), after one of q' points, that the player waited T seconds for:
 *
 *   r = mu_quality q d/4 - mu_stall T - mu_switch max(0, q' - q) - mu_rise max(0, q - q')
 *
 * Before the first picture, when no chunk came before, the wait costs mu_start instead of mu_stall,
 * and there is no switch. d/4: the weights were fitted on chunks of 4 s.
 *
 * What the papers maximise is in Mbit/s, with R the bitrate [kbit/s in the interface]:
 *
 *   r = mu_quality q(R) - mu_switch |dq| - mu_stall T
 *
 *   QOE_LINEAR  q(R) = R [Mbit/s],               dq = q(R) - q(R_prev)
 *   QOE_LOG     q(R) = ln(R / R_min),            dq = q(R) - q(R_prev)
 *   QOE_PAMOE   q(R) = ln(R + 0.7) - 0.01 / R,   dq = R - R_prev [Mbit/s]
 * The term - 0.01 / R of QOE_PAMOE is not multiplied by mu_quality, as in its authors' code. Use
 * qoe_parts.reward, not the sum of the parts. mu_rise and mu_start are not used.
 *
 * Sources: QOE_POINTS and `standard`, without mu_rise and mu_start, are the model of Comyco (Huang et
 * al., ACM MM 2019), fitted to people's scores of SQoE-III. QoE_lin and QoE_log of Mao et al.
 * (Pensieve), SIGCOMM 2017, Sec. 5.1, Tab. 1; QOE_PAMOE is what the PA-MoE authors' code computes. The
 * weights of the paper-* profiles are those of PA-MoE Sec. 2.3, those of `pensieve` are Pensieve's.
 * Differs: Comyco's model rewards a rise with 0.2979 a point. A policy would then fall on purpose, to
 * rise again, so mu_rise is 0. The model knows no start; qoe.c says where mu_start comes from.
 *
 * Ceilings are no part of r. They bound what a decision may risk (deciders/caution.h).
 *
 * Threads: pure functions. */
#ifndef ABR_QOE_H
#define ABR_QOE_H

#include "base/err.h"

#include <stdbool.h>

#define QOE_PROFILES 10   /* built in: those of the product, then those of the papers */
#define QOE_PRODUCT 6     /* standard, documentary, live, news, sports, lecture */
#define QOE_PAPERS 4      /* paper-documentary, paper-live, paper-news, pensieve */
#define QOE_MU_MAX 1000.0 /* largest weight from outside */
#define QOE_POINTS_MAX 100.0
#define QOE_WEIGHT_MAX 100.0       /* largest relative weight from outside */
#define QOE_STALL_RATIO_MIN 0.0001 /* limits of ceilings that are not 0 */
#define QOE_STALL_RATIO_MAX 0.5
#define QOE_STARTUP_S_MIN 0.1
#define QOE_STARTUP_S_MAX 60.0
#define QOE_WEIGHTS 4 /* names of weights on the wire */

enum qoe_utility { QOE_LINEAR, QOE_LOG, QOE_PAMOE, QOE_POINTS };

/* Weights: points per point of quality, per point of a fall, per second of stall (QOE_POINTS). */
struct qoe {
    double mu_quality, mu_switch, mu_stall;
    enum qoe_utility utility;
    double mu_rise,
        mu_start; /* QOE_POINTS: per point of a rise, per second before a picture */
    double stall_ratio_max; /* ceiling of stalled / (stalled + played); 0: none */
    double startup_max_s;   /* ceiling of the wait for the first picture; 0: none */
};

struct qoe_profile {
    const char *name, *help; /* help: what such a viewer wants, one line */
    struct qoe qoe;
};

/* A level as a viewer sees it. points counts with QOE_POINTS only, kbps with the others. */
struct qoe_level {
    double kbps, points;
};

/* The parts of a chunk's QoE. quality: points times d/4, or q(R). change: points or dq, never negative.
 */
struct qoe_parts {
    double quality, change, stall_s, reward;
};

extern const struct qoe_profile qoe_profiles[QOE_PROFILES];
/* The last QOE_PAPERS of them, those of the papers: documentary {1,6,1}, live {1,1,6}, news {6,1,1},
 * pensieve {1,1,4.3}; all linear. */
extern const struct qoe_profile *const qoe_papers;

/* NULL when no built-in profile has that name. */
const struct qoe_profile *qoe_find(const char *name);
/* The weights of a viewer who said nothing: `standard`. */
const struct qoe *qoe_standard(void);

/* The papers' form: mu_quality, mu_switch, mu_stall. No ceilings. */
struct qoe qoe_of_mu(double quality, double switches, double stall,
                     enum qoe_utility utility);
/* Weights relative to `standard`, in the order of the names: quality, switches (falls and rises),
 * stalls, startup. Ceilings are those of `standard`. */
extern const char *const qoe_weight_names[QOE_WEIGHTS];
struct qoe qoe_of_weights(const double weight[QOE_WEIGHTS]);
/* The reverse, for QOE_POINTS. */
void qoe_weights(double weight[QOE_WEIGHTS], const struct qoe *k);

/* True if the weights are equal. qoe_same also compares the utility and the ceilings. */
bool qoe_same_weights(const struct qoe *a, const struct qoe *b);
bool qoe_same(const struct qoe *a, const struct qoe *b);

/* "linear", "log", "pamoe", "points" and back; qoe_utility_parse returns 0 or ERR_INVALID. */
const char *qoe_utility_name(enum qoe_utility u);
int qoe_utility_parse(enum qoe_utility *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* q(R) of the papers' utilities. lowest_kbps is the ladder's lowest rung. Only QOE_LOG uses it. */
double qoe_quality(enum qoe_utility u, double kbps, double lowest_kbps);

/* prev.kbps <= 0: no chunk before this one, wait_s is the wait for the first picture. */
struct qoe_parts qoe_chunk(const struct qoe *k, struct qoe_level now,
                           struct qoe_level prev, double chunk_s, double wait_s,
                           double lowest_kbps);

/* A ladder: levels ascending strictly in kbps, and their points (NULL: none are known, for the papers'
 * utilities). Borrowed. */
struct qoe_ladder {
    const double *kbps, *points;
    int levels;
    double chunk_s;
};

/* The range of the reward of a chunk, for sessions that stay at one level. The link has the
 * constant throughput carried_kbps > 0. The stall is chunk_s * max(0, R / carried - 1), and there
 * is no switch. low is the reward of the lowest level, high that of the best level. high - low may
 * be 0. The normalised score of a session is sum(reward - low) / sum(high - low) over its chunks.
 * It is 0 for the lowest level and near 1 for the best. So it compares viewers with different
 * weights. */
struct qoe_range {
    double low, high;
};
struct qoe_range qoe_chunk_range(const struct qoe *k, const struct qoe_ladder *ladder,
                                 double carried_kbps);

/* Fills reward (levels) with qoe_chunk(...).reward of every level of a ladder, without a wait.
 * Computes each quality once. prev.kbps <= 0: no chunk before this one. */
void qoe_rewards(double *reward, const struct qoe *k, const struct qoe_ladder *ladder,
                 struct qoe_level prev);

#endif
