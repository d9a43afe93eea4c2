/* merge_sim.h - viewers without a hint, slot by slot, and the methods that serve them.
 *
 *   slot t      `sessions` viewers, profile v with probability psi_t,v, each on a session of the
 *               world drawn at random
 *   fixed mix   psi_t = psi ~ Dirichlet(1), one per seed
 *   drifting    psi_t = softmax(a_v cos(2 pi t / day + phi_v) + o_t,v), a ~ U(1, 2.5),
 *               o an Ornstein-Uhlenbeck process of deviation 0.3: a day of 288 slots of 5 min
 *   known       an exponential moving average of the shares of slots that are over
 *   reward      each task's mean score in the slot, cut to -1 .. 2 before anything learns from it
 *   expected    psi_t' R: R the method's mean scores over all sessions, without the slot's noise
 *
 * Methods: enum merge_method below. Every method of a seed sees the same viewers. Scores are linear in
 * the weights mu, so the right hint for a mix of viewers is the mean of their mu. Scores divide each
 * profile by its range, so that mean does too. A hint is given as weights with the sum of pensieve's.
 *
 * Guesses of a viewer's profile use what can be observed after MERGE_LOOK chunks, and serve from the
 * first chunk:
 *
 *   contents   viewers of profile v watch content c with P(c | v) = L [c is v's own] / (C / V)
 *              + (1 - L) / C, C = MERGE_CONTENTS of which every V-th is v's own, L the loyalty
 *   p(v | c) = (n_vc + a psi_v) / (sum_v n_vc + a)      n_vc viewers of v seen at c, a = 2
 *   p(v | x, c)  the posterior of policy/identity on the observation x, with p(v | c) for its prior
 *
 * The daemon does the same (serve/hintless/profile_mix.h), with labels of some viewers; here every
 * viewer of a past slot is labelled. x belongs to the session (merge_world_look). If x tells nothing,
 * as sessions do not depend on profiles, the content alone decides.
 *
 * Several nodes that each see a share of the viewers (merge_nodes_run) compare bandits:
 *
 *   one      all viewers on one node: one bandit (policy/tanbr.h) learns from all
 *   shared   N nodes with a bandit each; viewer i of a slot is on node i mod N. A bandit learns from
 *            its own slot when it ends. It learns from the same slot of the other nodes one slot
 *            later, when the daemon's slot log has arrived (serve/cluster/slot_log.h)
 *   apart    the same nodes, each learns from its own slots alone
 *   regret   sum over slots of the grid's best for the true mix, less the mean over nodes of what
 *            their weights are worth for it
 *
 * The mix is estimated from all viewers in every arrangement; the daemon's nodes estimate their own.
 * All arrangements of a seed see the same viewers.
 *
 * Shapes: obs (sessions, FEAT_FULL_DIM), borrowed; psi, q (V). Errors: ERR_MEMORY, those of
 * tanbr_new and tanbr_learn. Determinism: seed and configuration decide.
 * Threads: the runs are pure but for their output, and what they read is shared read-only. A
 * merge_guess is not shared. */
#ifndef LAB_MERGE_SIM_H
#define LAB_MERGE_SIM_H

#include "base/rng.h"
#include "lab/merge/merge_world.h"
#include "policy/tanbr.h"

enum merge_method {
    MERGE_TANBR,        /* diagonal Z, begins with a prior */
    MERGE_TANBR_FULL,   /* all of Z; a twin with the diagonal learns the same */
    MERGE_TANBR_MISLED, /* its prior is of other links */
    MERGE_TANBR_BARE, /* no prior: Algorithm 1 from a root and a network that knows nothing */
    MERGE_TANBR_RANDOM, /* the same, sides drawn at random, as the paper does */
    MERGE_PRIOR,        /* the prior and its tree, nothing learned */
    MERGE_NUCB,         /* 20 random candidates per slot, the same network, no prior */
    MERGE_NUCB_PRIOR,   /* the same with Tanbr's prior */
    MERGE_UNIFORM,      /* x = 1 / K */
    MERGE_FISHER,
    MERGE_REGMEAN,
    MERGE_ROUTER,       /* the specialist of the guessed profile, session by session */
    MERGE_HINT_GUESSED, /* the hinted policy with the guessed profile's weights */
    MERGE_HINT_LIKELY, /* with sum_v p_v mu_v / (best_v - low_v), p the head's posterior */
    MERGE_HINT_MEAN,   /* likewise with psi for p */
    MERGE_HINT_PLAIN,  /* with sum_v psi_v mu_v */
    MERGE_BEST_SINGLE, /* the expert that is best for the mean mix, known in hindsight */
    MERGE_BEST_FIXED,  /* likewise the point of the grid */
    MERGE_METHODS
};

const char *merge_method_word(enum merge_method m);

/* What all runs share. Borrowed. */
struct merge_field {
    const struct merge_world *world;
    const struct merge_grid
        *merged; /* over weights of experts; vertex v is profile v's */
    const struct merge_grid
        *hinted; /* over mixes: the hinted policy with their mean over ranges */
    const struct merge_grid *plain; /* over mixes: with their plain mean */
    const float *fisher, *regmean;  /* scores (sessions, V) */
    const float *obs;               /* (sessions, FEAT_FULL_DIM): merge_world_look */
    struct tanbr_prior prior, misled;
};

struct merge_sim_cfg {
    int slots, sessions;
    bool drift;
    int day;        /* slots */
    double forget;  /* weight of the newest slot in the known mix */
    double loyalty; /* to a profile's own contents */
    enum merge_method method;
    struct tanbr_cfg bandit; /* of those with a prior, which is filled in */
    uint64_t seed;
};

/* (slots) each, the caller's. */
struct merge_sim_run {
    double *expected;        /* of the method */
    double *ideal;           /* of the best point of the grid for the slot's true mix */
    double mix[MERGE_TASKS]; /* mean of the true mix over the slots */
    double mix_late[MERGE_TASKS]; /* over the last fifth of them */
    double fixed_late;     /* the best fixed weights in hindsight, over the last fifth */
    double x[MERGE_TASKS]; /* mean weights over the last fifth (methods that merge) */
    int leaves, depth;     /* of the tree at the end */
    double accuracy;       /* of the guesses over the last fifth of the slots, else NaN */
    /* Of MERGE_TANBR_FULL, else NaN: the share of slots in which its twin would have chosen the same
     * leaf, and means of |x - x'|_1 / 2 and of what the twin's choice would have been worth less. */
    double equal, apart, lost;
};

struct merge_sim_cfg merge_sim_cfg_default(void);
int merge_sim_run(struct merge_sim_run *out, const struct merge_field *f,
                  const struct merge_sim_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* The best point of a grid for a mix; its worth. */
double merge_sim_best(int *point, const struct merge_grid *g, const double *mix);

/* ---- the true mix ---- */

/* Of slot 0, 1, ...: psi (V). */
struct merge_mixer {
    const struct merge_sim_cfg *cfg;
    struct rng rng;
    double base[MERGE_TASKS], phase[MERGE_TASKS], noise[MERGE_TASKS];
    int slot;
};
void merge_mixer_init(struct merge_mixer *m, const struct merge_sim_cfg *cfg);
void merge_mixer_next(double *psi, struct merge_mixer *m);

/* ---- guesses ---- */

#define MERGE_CONTENTS 40

struct merge_guess;

struct merge_guess *merge_guess_new(const float *obs, int sessions, double loyalty,
                                    uint64_t seed, struct err *e);
void merge_guess_free(struct merge_guess *g);

/* The content of a viewer of the task, and P(content | task). */
int merge_guess_draw(const struct merge_guess *g, int task, struct rng *r);
double merge_guess_share(const struct merge_guess *g, int task, int content);

/* A slot begins: psi is the known mix, whose sum need not be 1. */
void merge_guess_begin(struct merge_guess *g, const float *psi);
/* Returns the likeliest profile. */
int merge_guess_who(double *q, const struct merge_guess *g, int session, int content);
/* Whether the session tells anything. If not, merge_guess_who depends on the content alone. */
bool merge_guess_sees(const struct merge_guess *g);
/* Counts from the next slot on. */
void merge_guess_learn(struct merge_guess *g, int session, int content, int task);

/* ---- several nodes ---- */

#define MERGE_NODES_MAX 16

enum merge_nodes_how {
    MERGE_NODES_ONE,
    MERGE_NODES_SHARED,
    MERGE_NODES_APART,
    MERGE_NODES_HOWS
};

extern const char *const merge_nodes_says[MERGE_NODES_HOWS];

/* cfg->method: MERGE_TANBR, MERGE_TANBR_MISLED or MERGE_TANBR_BARE; nodes: 1 .. MERGE_NODES_MAX. */
int merge_nodes_run(double *regret, const struct merge_field *f,
                    const struct merge_sim_cfg *cfg, int nodes, enum merge_nodes_how how,
                    struct err *e) __attribute__((warn_unused_result));

#endif
