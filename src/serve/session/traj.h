/* traj.h - one closed trajectory, from a session to the learner.
 *
 * It holds measurements and decisions, not observations: the learner replays it through
 * abr/emulator/feat. So a request copies about 100 bytes per step, and a session needs no memory for
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

/* The last measurements, oldest first. */
struct traj_measured {
    int n; /* <= VIEW_HISTORY */
    uint32_t bytes[VIEW_HISTORY];
    double download_s[VIEW_HISTORY];
};

/* Ignores an empty chunk, which says nothing about the link. */
void traj_measure(struct traj_measured *m, uint32_t bytes, double download_s);

struct traj_step {
    int32_t chunk;
    int8_t action, last_level;
    float logp;
    uint32_t next_bytes[VIEW_LEVELS]; /* 0: unknown */
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
    bool truncated;
    int n;
    struct view view; /* constants of the session; the replay overwrites the rest */
    struct traj_measured before; /* measurements before step 0 */
    struct traj_step step[TRAJ_STEPS + 1];
};

/* Number of states: n, or n + 1 if truncated. */
int traj_states(const struct traj *t);

/* The observations of all states: obs (traj_states, feat_dim), mask (traj_states). */
void traj_observe(float *obs, uint32_t *mask, const struct traj *t,
                  enum feat_layout layout);

/* Reward of step i for the learner: divided by feat_reward_scale, bounded. */
float traj_reward(const struct traj *t, int i);

#endif
