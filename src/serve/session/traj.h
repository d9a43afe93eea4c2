/* traj.h - one closed trajectory, from a session to the learner.
 *
 * It holds measurements and decisions, not observations: the learner replays it through
 * abr/emulator/feat. So a request copies 248 bytes per step, and a session needs no memory for
 * observations. The replay gives exactly the view that each decision saw.
 *
 * A terminal trajectory has n steps, all with their outcome. A truncated one has a further step[n]: a
 * state with a decision whose outcome is not part of the trajectory. The critic bootstraps from the
 * observation of that state.
 *
 * Threads: plain data. */
#ifndef SERVE_TRAJ_H
#define SERVE_TRAJ_H

#include "abr/emulator/feat.h"
#include "abr/emulator/view.h"

#include <stdbool.h>
#include <stdint.h>

#define TRAJ_STEPS 128 /* a longer trajectory is cut here and continues in the next one */
/* Smaller tags name reward functions (profiles_tag), tags from here on name added experts. */
#define TRAJ_TAG_OWN (QOE_PROFILES + 1)
#define TRAJ_REWARD 100.0 /* bound of |scaled reward| for the learner */

/* The last measurements, oldest first, and a summary of all. */
struct traj_measured {
    int n; /* <= VIEW_HISTORY */
    uint32_t bytes[VIEW_HISTORY];
    double download_s[VIEW_HISTORY];
    struct view_past past;
};

/* Ignores an empty chunk, which says nothing about the link. */
void traj_measure(struct traj_measured *m, uint32_t bytes, double download_s);
/* The view's measurements become these. */
void traj_measured_view(struct view *v, const struct traj_measured *m);

/* Quality that is known of a chunk itself: hundredths of a point plus 1; 0: as the session's level. */
struct traj_points {
    uint16_t next[VIEW_LEVELS]; /* of the chunk at each level */
    uint16_t last;              /* of the chunk before, as it was fetched */
};
/* NaN, unknown, gives 0. */
uint16_t traj_points_code(double points);
/* level: the points of the session's level. */
double traj_points_of(uint16_t code, double level);
/* Sets v->points and v->last_points. level (levels): points of the session's levels. v->levels and
 * v->last_level are set. */
void traj_points_view(struct view *v, const struct traj_points *p, const double *level);

struct traj_step {
    int32_t chunk;
    int8_t action, last_level;
    float logp;
    uint32_t next_bytes[VIEW_LEVELS]; /* 0: unknown */
    struct traj_points points;
    uint64_t policy;
    double buffer_s, download_s, bytes, reward; /* reward not scaled */
};

struct traj {
    uint64_t key;
    int tag; /* reward function (profiles_tag), or from TRAJ_TAG_OWN on added experts */
    uint64_t
        added_id; /* of those experts in a cluster, as tags differ among nodes; 0: none */
    uint64_t place;  /* position in the stream; 0: not from a stream */
    uint64_t client; /* id of the session */
    uint64_t
        source; /* keyed hash of the client's address, different on each node; 0: unknown */
    bool truncated;
    int n;
    struct view
        view; /* constants of the session, view.points those of its levels; the replay
                       * overwrites the rest */
    struct traj_measured before; /* measurements before step 0 */
    struct traj_step step[TRAJ_STEPS + 1];
};

/* Number of states: n, or n + 1 if truncated. */
int traj_states(const struct traj *t);

/* What the policy saw and did: obs (traj_states, feat_dim), mask and action (traj_states). Masks and
 * actions are places of the window (abr/deciders/window.h). false: an action is not in its window, so
 * the decision was made by other rules. */
bool traj_observe(float *obs, uint32_t *mask, int *action, const struct traj *t,
                  enum feat_layout layout) __attribute__((warn_unused_result));

/* Reward of step i for the learner, bounded: divided by feat_reward_scale, or with FEAT_PLAN by
 * feat_link_scale at the trajectory's mean throughput. */
float traj_reward(const struct traj *t, int i, enum feat_layout layout);

#endif
