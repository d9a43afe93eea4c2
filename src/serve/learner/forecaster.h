/* forecaster.h - fits the forecast's correction to the links of the daemon's own viewers.
 *
 * Every download with a history and nine more after it says how well the forecast did
 * (abr/train/forecast_fit.h). That is a label, and needs neither a critic nor luck in exploring. So hundreds of
 * sessions teach what PPO does not learn from thousands. The last nine downloads of a trajectory teach nothing:
 * labels of the next chunk alone did not close more of the gap to the oracle (5 seeds). Known ground, where the
 * forecast is held as shipped, is generated: all kinds of gen.h and random links, chunks of 1 to 8 s.
 *
 * A turn fits anew to the examples of now. One session in four is kept back from all fits, by its id. A
 * correction is offered if it forecasts these better than what is served does: with d the mean difference of
 * the loss in a session, m and s its mean and standard error over them,
 *   m - FORECASTER_Z s > 0   and   m >= FORECASTER_GAIN [loss of the shipped forecast]
 * That needs far fewer viewers than a difference of QoE. In runs with one seed, corrections for links of the
 * training's kinds gained at most 0.14 % of the loss, and those for other links that were offered 0.5 to 3.5 %.
 * Later turns and smaller offers ask the same sessions again, so the error rate is that of one question. The
 * learner's exam then tells whether it is worse anywhere, for any profile (online_offer). If so, half of it is
 * offered, and then a quarter. Losses on known ground fall with the square of its size, as the shipped forecast
 * is near the best one there. Gains on the own links fall with the size itself.
 *
 * Examples: the newest half of FORECASTER_OWN, and as many drawn from all older ones (reservoir sampling:
 * Vitter 1985). So links of long ago are not forgotten when viewers change. Examples are not saved: after a
 * restart the published correction stays until there are enough new ones, and those alone teach.
 *
 * Who may teach: one source (learn/online.h) has at most source_share of the examples, and of the weight of the
 * sessions that are kept back. Beyond it new examples replace old ones of the same source. A download that a
 * viewer makes up teaches, but only what passes the exam is served. In a cluster a source counts once per node.
 *
 * Determinism: configuration and trajectories decide all. Threads: not shared. */
#ifndef SERVE_FORECASTER_H
#define SERVE_FORECASTER_H

#include "abr/train/forecast_fit.h"
#include "serve/session/traj.h"

#define FORECASTER_OWN 16384
#define FORECASTER_LEAST 4096 /* examples met before it offers anything */
#define FORECASTER_NEW 2048   /* new ones before it offers again */
#define FORECASTER_KEPT 8192  /* most examples that are kept back */
#define FORECASTER_Z 2.66 /* one-sided 0.4 % of many sessions, 0.7 % of 24, the least */
#define FORECASTER_GAIN 0.0025 /* of the shipped forecast's loss */
#define FORECASTER_SCALES 3    /* 1, 1/2, 1/4 */

struct forecaster_cfg {
    int steps; /* of the fit, in a turn */
    double source_share;
    uint64_t seed;
};

struct forecaster;

struct forecaster *forecaster_new(const struct forecaster_cfg *cfg, struct err *e);
void forecaster_free(struct forecaster *f);

void forecaster_add(struct forecaster *f, const struct traj *t);
int forecaster_examples(const struct forecaster *f);
/* Fits. The first turn makes known ground: 0.2 s. false: too few examples yet, too few new ones, or no memory
 * for known ground, which the next turn tries again. */
bool forecaster_turn(struct forecaster *f);
/* weights (FORECAST_OWN) of 2^-half times the fitted correction. false: they do not forecast better than
 * `served` (FORECAST_OWN; NULL: no correction). */
bool forecaster_offer(float *weights, const struct forecaster *f, int half,
                      const float *served);

#endif
