/* abr_env.h - streaming sessions as the learner's environment (learn/env.h).
 *
 * An episode is one viewer: a trace from a random row, a video, a viewer's weights and a
 * player, all drawn. An action is the next chunk's level; the reward is that chunk's QoE,
 * divided by feat_reward_scale when scale_reward is set. The episode is over with the
 * video's last chunk, or cut there when it stands for a live stream, which has no end.
 *
 * Domain randomisation: shares in 0 .. 1 say how many episodes leave the standard case
 * (the given video, Pensieve's player, one of the named profiles).
 *
 * Privileged observation (ABR_ENV_PRIV floats, when asked for): the true throughput of
 * the current slot and the means over the next 2, 5, 10, 20, 40, 80 and 140 s, scaled as
 * FEAT_FULL scales throughput. For a critic that is used in training alone.
 *
 * Tag: what kind of episode it is, abr_env_tags of them, whose rewards differ in size:
 *   0 .. n-1       a profile's weights, the standard player
 *   n              drawn weights
 *   n+1            a drawn ladder
 *   n+2 .. 2n+1    a profile's weights, another player: drawn buffer and round trip, or no
 *                  known end; only when there are such episodes
 *   then n + 1     of profiles 0 .. n-1 and of drawn weights, but a shorter video (`lengths`)
 *
 * cycle_steps > 0: the profile is not drawn per episode but stays for so many steps and
 * then is the next, in order and round again: the shifts of PA-MoE.
 *
 * Ownership: worlds are borrowed for the environment's life. */
#ifndef ABR_ABR_ENV_H
#define ABR_ABR_ENV_H

#include "abr/emulator/emu.h"
#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "abr/train/worlds.h"
#include "learn/env.h"

#define ABR_ENV_PRIV 8
#define ABR_ENV_PROFILES 8

struct abr_env_cfg {
    enum feat_layout layout;
    struct emu_cfg emu;
    double noise; /* delays are multiplied by U(1 - noise, 1 + noise) */
    int n_profiles;
    struct qoe profiles[ABR_ENV_PROFILES];
    int64_t cycle_steps;
    double generated; /* share of episodes on generated links, if there are real traces */
    double custom;    /* drawn weights */
    double simplex;   /* of those: uniform on the simplex; the others lie about the
                       * profiles', a third of them with another utility */
    double ladders;   /* drawn video, with the link scaled to fit it */
    double players;   /* drawn buffer limit and RTT */
    double stretch;   /* a link faster or slower than its trace, by .6 .. 1.6 */
    double live;      /* no end known */
    double lengths;   /* of those with the given video: the last 10 of its chunks or more,
                       * the fewer the likelier */
    double abandon;   /* the player may abandon a chunk on its way (abandon.h) */
    double choose_first; /* the policy chooses chunk 0, else it comes at first_level */
    int first_level;     /* -1: drawn */
    double start; /* of the others: chunk 0 comes as sessions begin (first_level.h) */
    double
        caution; /* behind buffers of up to 12 s a stall costs 1 + caution times what the
                     * viewer's weights say: the one error there that cannot be mended */
    bool scale_reward;
    double reward_floor; /* smallest reward of a chunk after scaling, 0 = none */
    bool privileged;
};

/* Everything mixed: what the shipped policy is trained on. */
struct abr_env_cfg abr_env_cfg_default(void);
/* PA-MoE: documentary, live, news in turn, the paper's state, no hint. `authors` takes
 * their code's utility, bandwidth factor and wrap. */
struct abr_env_cfg abr_env_cfg_paper(bool authors, int64_t cycle_steps);

int abr_env_tags(const struct abr_env_cfg *cfg);
/* Of profile i's weights with another player. */
int abr_env_tag_drawn(const struct abr_env_cfg *cfg, int i);
/* The same with a shorter video; n_profiles: of drawn weights. */
int abr_env_tag_short(const struct abr_env_cfg *cfg, int i);

struct env abr_env_new(const struct abr_env_cfg *cfg, const struct worlds *worlds,
                       uint64_t seed, uint64_t id, struct err *e);

/* The viewer of an environment that abr_env_new made: what its last chunk did, and what the
 * next decision sees. Borrowed; follows every step. */
const struct player *abr_env_player(const struct env *env);

#endif
