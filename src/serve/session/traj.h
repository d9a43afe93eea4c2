/* traj.h - one closed trajectory on its way from a session to the learner.
 *
 * It carries what was known and done, not observations: the learner replays it through
 * abr/feat, so a request thread copies ~100 bytes per step and a session needs no room
 * for observations. The replay gives the very view each decision saw.
 *
 * A terminal trajectory has n steps, all with their outcome. A truncated one has a
 * further step[n]: a state that was decided in, whose outcome is not part of the
 * trajectory; its observation is what the critic bootstraps from.
 *
 * Threads: plain data. */
#ifndef SERVE_TRAJ_H
#define SERVE_TRAJ_H

#include "abr/emulator/feat.h"
#include "abr/emulator/view.h"

#include <stdbool.h>
#include <stdint.h>

#define TRAJ_STEPS 128 /* longer play is cut here and goes on in the next trajectory */
/* Tags of reward functions are below (profiles_tag); one from here on says whose own experts. */
#define TRAJ_TAG_OWN (QOE_PROFILES + 1)
#define TRAJ_REWARD 100.0 /* bound of |scaled reward| that the learner is shown */

/* The last measurements, oldest first. */
struct traj_measured {
    int n; /* <= VIEW_HISTORY */
    uint32_t bytes[VIEW_HISTORY];
    double download_s[VIEW_HISTORY];
};

/* An empty chunk says nothing about the link and is passed over. */
void traj_measure(struct traj_measured *m, uint32_t bytes, double download_s);

struct traj_step {
    int32_t chunk;
    int8_t action, last_level;
    float logp;
    uint32_t next_bytes[VIEW_LEVELS]; /* 0 = unknown */
    uint64_t policy;
    double buffer_s, download_s, bytes, reward; /* reward as computed, not scaled */
};

struct traj {
    uint64_t key;
    int tag; /* which reward function: see profiles.h; from TRAJ_TAG_OWN on, whose experts */
    uint64_t added_id; /* of those experts, for nodes: tags differ; 0: none */
    uint64_t place;    /* where it lay in the stream, 0: it was in none */
    uint64_t client;   /* the session: whose data this is */
    bool truncated;
    int n;
    struct view view;            /* constants of the session; the rest is overwritten */
    struct traj_measured before; /* known when step 0 was decided */
    struct traj_step step[TRAJ_STEPS + 1];
};

/* Number of states: n, one more when truncated. */
int traj_states(const struct traj *t);

/* The observations of all states: obs (traj_states, feat_dim), mask (traj_states). */
void traj_observe(float *obs, uint32_t *mask, const struct traj *t,
                  enum feat_layout layout);

/* Reward of step i as the learner sees it: divided by feat_reward_scale, bounded. */
float traj_reward(const struct traj *t, int i);

#endif
