/* abr_env.h - streaming sessions as the learner's environment (learn/env.h).
 *
 * An episode is one viewer: a trace from a random row, a video, a viewer's weights and a player, all
 * drawn. An action is the next chunk's level. The reward is that chunk's QoE, divided by
 * feat_reward_scale when scale_reward is set. The episode ends with the video's last chunk. For a
 * live stream, which has no end, it is cut there.
 *
 * Domain randomisation: shares in 0 .. 1 say how many episodes leave the standard case (the given
 * video, Pensieve's player, one of the named profiles).
 *
 * Privileged observation (ABR_ENV_PRIV floats, when asked for): the true throughput of the current
 * slot and its means over the next 2, 5, 10, 20, 40, 80 and 140 s, scaled as FEAT_FULL scales
 * throughput. It is for a critic that only training uses.
 *
 * Tag: the kind of an episode, one of abr_env_tags, since their rewards differ in size:
 *   0 .. n-1       a profile's weights, the standard player
 *   n              drawn weights
 *   n+1            a drawn ladder
 *   n+2 .. 2n+1    a profile's weights, another player: drawn buffer and round trip, or no known end;
 *                  only when there are such episodes
 *   then n + 1     of profiles 0 .. n-1 and of drawn weights, with a shorter video (`lengths`)
 *
 * cycle_steps > 0: the profile is not drawn per episode. It stays for cycle_steps steps, then the next
 * one follows, in order and in a circle: the shifts of PA-MoE.
 *
 * Ownership: worlds are borrowed for the environment's life.
 * Threads: not shared. */
#ifndef ABR_ABR_ENV_H
#define ABR_ABR_ENV_H

#include "abr/emulator/emu.h"
#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "abr/train/worlds.h"
#include "learn/env.h"

#define ABR_ENV_PRIV 8
#define ABR_ENV_PROFILES QOE_PROFILES

struct abr_env_cfg {
    enum feat_layout layout;
    struct emu_cfg emu;
    double noise; /* delays are multiplied by U(1 - noise, 1 + noise) */
    int n_profiles;
    struct qoe profiles[ABR_ENV_PROFILES];
    int64_t cycle_steps;
    double
        generated; /* share of episodes on generated links; counts when there are real traces */
    double custom; /* drawn weights */
    double points; /* of those: in points, relative weights within 1/4 .. 4 */
    double
        simplex; /* of those in Mbit/s: uniform on the simplex; the rest is near a profile's
                       * weights, a third of that with another utility */
    double ladders; /* drawn video, with the link scaled to fit it */
    double players; /* drawn buffer limit and RTT */
    double stretch; /* a link faster or slower than its trace, by 0.6 .. 1.6 */
    double live;    /* without a known end */
    double lengths; /* of those with the given video: its last 10 or more chunks; fewer
                       * are likelier */
    double abandon; /* the player may abandon a chunk (abandon.h) */
    double
        choose_first; /* the policy chooses chunk 0; else it is fetched at first_level */
    int first_level;  /* -1: drawn */
    double start;     /* without choose_first: chunk 0 has the level of first_level.h */
    /* with buffers of up to 12 s a stall costs 1 + caution times the viewer's weight, since such a
     * player cannot make up for it */
    double caution;
    bool scale_reward;
    double reward_floor; /* smallest reward of a chunk after scaling, 0 = none */
    bool privileged;
};

/* Everything mixed: the environment of the shipped policy. */
struct abr_env_cfg abr_env_cfg_default(void);
/* PA-MoE: documentary, live, news in turn, the paper's state, no hint. `authors` selects the utility,
 * bandwidth factor and wrap of their code. */
struct abr_env_cfg abr_env_cfg_paper(bool authors, int64_t cycle_steps);

int abr_env_tags(const struct abr_env_cfg *cfg);
/* The tag of profile i's weights with another player. */
int abr_env_tag_drawn(const struct abr_env_cfg *cfg, int i);
/* The tag with a shorter video; i = n_profiles: drawn weights. */
int abr_env_tag_short(const struct abr_env_cfg *cfg, int i);

struct env abr_env_new(const struct abr_env_cfg *cfg, const struct worlds *worlds,
                       uint64_t seed, uint64_t id, struct err *e);

/* The viewer of an environment of abr_env_new: its last chunk and the view of the next decision.
 * Borrowed; follows every step. */
const struct player *abr_env_player(const struct env *env);

#endif
