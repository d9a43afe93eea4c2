/* forecaster.h - fits the forecast's correction to the links of the daemon's own viewers.
 *
 * Every chunk of a trajectory says how well the forecast did (abr/train/forecast_fit.h). That is a label, and
 * needs neither a critic nor luck in exploring. So hundreds of sessions teach what PPO does not learn from
 * thousands. Known ground, where the forecast is held as shipped, is generated: all kinds of gen.h and random
 * links, chunks of 1 to 8 s.
 *
 * A turn makes some steps of the fit. The learner's exam judges the correction that it offers, like any
 * update (online_offer). If it is worse somewhere, half of it is offered, and then a quarter. Losses on known
 * ground fall with the square of its size, as the shipped forecast is near the best one there. Gains on the
 * own links fall with the size itself.
 *
 * Who may teach: one source (learn/online.h) has at most source_share of the examples. The newest
 * FORECASTER_OWN are kept. A download that a viewer makes up teaches, but only what passes the exam is served.
 * Examples are not saved: after a restart the fit continues from the published weights, with new ones.
 *
 * Determinism: configuration and trajectories decide all. Threads: not shared. */
#ifndef SERVE_FORECASTER_H
#define SERVE_FORECASTER_H

#include "abr/train/forecast_fit.h"
#include "policy/policy.h"
#include "serve/session/traj.h"

#define FORECASTER_OWN 16384
#define FORECASTER_LEAST 4096 /* examples before it offers anything */
#define FORECASTER_SCALES 3   /* 1, 1/2, 1/4 */

struct forecaster_cfg {
    int steps; /* of the fit, in a turn */
    double source_share;
    uint64_t seed;
};

struct forecaster;

/* Known ground is made here: 0.1 s. */
struct forecaster *forecaster_new(const struct forecaster_cfg *cfg, struct err *e);
void forecaster_free(struct forecaster *f);

/* Continues from what this policy forecasts by. */
void forecaster_put(struct forecaster *f, const struct policy *p);
void forecaster_add(struct forecaster *f, const struct traj *t);
int forecaster_examples(const struct forecaster *f);
/* false: too few examples yet. */
bool forecaster_turn(struct forecaster *f);
/* weights (FORECAST_OWN) of 2^-half times the fitted correction. */
void forecaster_offer(float *weights, const struct forecaster *f, int half);

#endif
