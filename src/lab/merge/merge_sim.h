/* merge_sim.h - untagged traffic, slot by slot, and who serves it.
 *
 *   slot t      `sessions` viewers, profile v with probability psi_t,v, each on a session of the
 *               world drawn at random
 *   fixed mix   psi_t = psi ~ Dirichlet(1), one per seed
 *   drifting    psi_t = softmax(a_v cos(2 pi t / day + phi_v) + o_t,v), a ~ U(1, 2.5),
 *               o an Ornstein-Uhlenbeck process of deviation .3: a day of 288 slots of 5 min
 *   known       an exponential moving average of the shares of slots that are over
 *   reward      each task's mean score in the slot, cut to -1 .. 2 before anything learns from it
 *   expected    psi_t' R: R the method's mean scores over all sessions, without the slot's noise
 *
 *   guess       which profile a viewer is of (lab/merge/merge_guess.h), made from what can be observed
 *               after MERGE_LOOK chunks; it serves from the first one
 *
 * Methods: enum merge_method below. Every method of a seed sees the same viewers. Scores are
 * linear in the weights mu, so the hint that is right for a mix of viewers is the mean of their
 * mu; as scores divide each profile by its range, so does that mean. A hint is told as weights
 * of the same sum as pensieve's.
 *
 * Errors: ERR_MEMORY, those of tanbr_new. Determinism: seed and configuration decide.
 * Threads: merge_sim_run is pure but for its output; what it reads is shared read-only. */
#ifndef LAB_MERGE_SIM_H
#define LAB_MERGE_SIM_H

#include "lab/merge/merge_guess.h"
#include "lab/merge/merge_world.h"
#include "policy/tanbr.h"

enum merge_method {
    MERGE_TANBR,        /* diagonal Z, begins with a prior */
    MERGE_TANBR_FULL,   /* all of Z; a twin with the diagonal is taught the same */
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
    MERGE_HINT_GUESSED, /* the hinted policy told the guessed profile */
    MERGE_HINT_LIKELY, /* told sum_v p_v mu_v / (best_v - low_v), p the head's posterior */
    MERGE_HINT_MEAN,   /* likewise with psi for p */
    MERGE_HINT_PLAIN,  /* told sum_v psi_v mu_v */
    MERGE_BEST_SINGLE, /* the expert that is best for the mean mix, known in hindsight */
    MERGE_BEST_FIXED,  /* likewise the point of the grid */
    MERGE_METHODS
};

extern const char *const merge_method_says[MERGE_METHODS];

/* What all runs share. Borrowed. */
struct merge_field {
    const struct merge_world *world;
    const struct merge_grid
        *merged; /* over weights of experts; vertex v is profile v's */
    const struct merge_grid
        *hinted; /* over mixes: the hinted policy told their mean over ranges */
    const struct merge_grid *plain; /* over mixes: told their plain mean */
    const float *fisher, *regmean;  /* scores (sessions, V) */
    const float *obs;               /* (sessions, FEAT_FULL_DIM): merge_world_look */
    struct tanbr_prior prior, misled;
};

struct merge_sim_cfg {
    int slots, sessions;
    bool drift;
    int day;        /* slots */
    double forget;  /* weight of the newest slot in what is known of the mix */
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
    int64_t left;          /* choices outside their cell */
    double accuracy;       /* of the guesses over the last fifth of the slots, else NaN */
    double equal; /* MERGE_TANBR_FULL: share of slots in which its twin, taught the same,
                            * would have chosen the same leaf, else NaN */
    double apart,
        lost; /* likewise: mean of |x - x'|_1 / 2, and of what the twin's choice would
                            * have been worth less */
};

struct merge_sim_cfg merge_sim_cfg_default(void);
int merge_sim_run(struct merge_sim_run *out, const struct merge_field *f,
                  const struct merge_sim_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* The best point of a grid for a mix; its worth. */
double merge_sim_best(int *point, const struct merge_grid *g, const double *mix);

/* The true mix of slot 0, 1, ...: psi (V). */
struct merge_mixer {
    const struct merge_sim_cfg *cfg;
    struct rng rng;
    double base[MERGE_TASKS], phase[MERGE_TASKS], noise[MERGE_TASKS];
    int slot;
};
void merge_mixer_init(struct merge_mixer *m, const struct merge_sim_cfg *cfg);
void merge_mixer_next(double *psi, struct merge_mixer *m);

#endif
