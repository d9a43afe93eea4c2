/* shift_meter.h - an environment with a meter on it: what happens while a policy learns.
 *
 * shift_meter_env has the form that train_new takes. It makes abr_env's environment and records what
 * every step did; the learner sees no difference. shift_meter_take gives the means since the last take.
 *
 * The curve of PA-MoE's Figs. 4 and 6 is a mean over the last 50 episodes, whatever profile
 * they belonged to: recent_qoe, per chunk (an episode counts by its own mean).
 *
 * Units: kbit/s and s as in struct view; parts of the QoE without their weights.
 * Ownership: the meter is the caller's and outlives its environments; it sees one living
 * environment at a time. Threads: not shared. */
#ifndef LAB_SHIFT_METER_H
#define LAB_SHIFT_METER_H

#include "abr/train/recipe.h"

#define SHIFT_EPISODES 50
#define SHIFT_LEVELS 6 /* of the paper's ladder; higher levels count as the highest */

struct shift_reading {
    double steps;
    double qoe, quality, change, stall_s;                  /* means per chunk */
    double buffer_s, throughput_kbps, download_s, sleep_s; /* likewise */
    double level[SHIFT_LEVELS];                            /* shares of the chunks */
    double mean_level;
    double recent_qoe; /* over the last 50 episodes; NaN before the first ended */
};

struct shift_meter {
    const struct recipe_world *world;
    struct shift_reading sum; /* since the last take */
    double episode_sum, episode[SHIFT_EPISODES];
    int episode_steps;
    int64_t episodes;
    float *
        obs; /* (obs_rows, obs_dim): what the policy saw since the last take; may be NULL */
    int obs_dim, obs_rows, obs_n;
};

void shift_meter_init(struct shift_meter *m, const struct recipe_world *world);

/* ctx: struct shift_meter. */
struct env shift_meter_env(void *ctx, uint64_t id, struct err *e);

/* Keeps the observations of up to `rows` steps per take in obs (rows, obs_dim), borrowed. */
void shift_meter_keep(struct shift_meter *m, float *obs, int rows, int obs_dim);

/* Means since the last take; all NaN but steps when there was no step. */
struct shift_reading shift_meter_take(struct shift_meter *m);

#endif
