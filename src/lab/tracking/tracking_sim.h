/* tracking_sim.h - noisy gradient descent that follows a moving optimum: the model behind the regret
 * bound of PA-MoE.
 *
 *   L_t(w) = 1/2 sum_i lambda_i (w_i - w*_t,i)^2,   mu = lambda_1 <= ... <= lambda_d = L
 *   w_{t+1} = w_t - eta grad L_t(w_t) + eta gamma eps_t,   eps_t ~ N(0, 1_d)     (Eq. 11, 14)
 *   e_t = w_t - w*_t,  e_0 = 0,  Delta_t = w*_{t+1} - w*_t
 *   error = 1/T sum_{t=1..T} E |e_t|^2
 *
 * Theorem 4.3 says error <= C (eta gamma^2 d + P^2 / (T eta)) for eta <= 1/L, with the path
 * length P = sum |Delta_t| and a C of L and mu alone. The paper's proof gives Eq. 39,
 *
 *   error <= 4 P^2 / (mu^2 eta^2 T) + 2 eta gamma^2 d / mu,
 *
 * and reaches Eq. 15 by a C >= 4 / (mu^2 eta), which does not depend on L and mu alone. The
 * theorem holds nevertheless, here with C = 1 / mu: as e is linear in Delta and eps,
 * e_{t+1} = (1 - eta A) e_t - Delta_t + eta gamma eps_t, noise and drift add up. Noise gives
 * sum_i eta gamma^2 / (lambda_i (2 - eta lambda_i)) at most. Drift is a convolution of
 * |Delta| with (1 - eta mu)^t; by Young's inequality its energy is at most
 *
 *   P^2 / (1 - (1 - eta mu)^2)  <=  P^2 / (eta mu)         (l1 * l2: the path term)
 *   S / (eta mu)^2,  S = sum |Delta_t|^2                   (l2 * l1: the energy term)
 *
 * The first is tight for a single jump. The second is tight for steady drift, where the first is too
 * large by T eta mu. All of them grow with gamma: the best noise is none.
 *
 * Differs: P and S run over the T steps Delta_0 .. Delta_{T-1} that enter e_1 .. e_T; the
 * paper's sum begins one later. lambda is spaced evenly in its logarithm.
 *
 * Runs come in pairs of opposite noise. As e is linear in the noise, chance correlations of drift and
 * noise cancel, and few runs suffice.
 *
 * Deterministic: the path is a function of seed, the noise of (seed, pair); eta and gamma
 * change neither, so neighbours in a plot share their random numbers.
 * Errors: ERR_RANGE naming the member, ERR_MEMORY. Threads: pure function. */
#ifndef LAB_TRACKING_SIM_H
#define LAB_TRACKING_SIM_H

#include "base/err.h"

#include <stdint.h>

#define TRACKING_SIM_DIM_MAX 1024
#define TRACKING_SIM_PAIRS_MAX 4096

enum tracking_sim_drift {
    TRACKING_SIM_JUMPS,  /* between three places in turn, as objectives D, L, N */
    TRACKING_SIM_STEADY, /* along one direction */
    TRACKING_SIM_WALK,   /* N(0, 1_d) steps */
};

struct tracking_sim_cfg {
    int dim;      /* d >= 3 */
    double mu, l; /* 0 < mu <= l */
    double eta;   /* 0 < eta <= 1 / l */
    double gamma; /* >= 0 */
    int steps;    /* T */
    int pairs;    /* of runs on the same path */
    enum tracking_sim_drift drift;
    double speed; /* root mean square |Delta| per step, the same for each kind of drift */
    int every;    /* jumps: steps between two, so each is speed sqrt(every) long */
    uint64_t seed;
};

struct tracking_sim {
    double measured, se; /* mean over the runs, and its standard error (NaN: one pair) */
    double expected;     /* the same, from the recursions of mean and variance */
    double drift, noise; /* expected's two parts */
    double path, energy; /* P, S */
    double term_noise;   /* eta gamma^2 d */
    double term_path;    /* P^2 / (T eta) */
    double eq39;         /* the paper's last line with explicit constants */
    double bound_path;   /* (term_noise + term_path) / mu */
    double bound_energy; /* term_noise / mu + S / (T eta^2 mu^2) */
};

/* dim 8, mu 0.5, l 1, eta 0.1, gamma 1, 20000 steps, 16 pairs, jumps every 400 steps of length
 * 1 (speed 0.05), seed 1. */
struct tracking_sim_cfg tracking_sim_cfg_default(void);

int tracking_sim_run(struct tracking_sim *out, const struct tracking_sim_cfg *cfg,
                     struct err *e) __attribute__((warn_unused_result));

/* "jumps", "steady", "walk"; NULL for a number that is none of them. */
const char *tracking_sim_word(enum tracking_sim_drift drift);

#endif
