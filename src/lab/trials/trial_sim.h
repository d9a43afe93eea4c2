/* trial_sim.h - trials with emulated viewers whose truth is known, looked at after every session.
 *
 * A pool is one algorithm's sessions on generated links of all kinds. A viewer leaves after a log-normal
 * time, so watch time, stall ratio and start-up have heavy tails. A trial draws each session's arm by its
 * share, and its outcome from the arm's pool, with replacement. So the truth is the difference of the two
 * pools' means of clipped values (abr/compare.h), exactly.
 *
 * A treatment that stalls `twice` gets the stalls of another of its sessions in addition, for the same
 * time of media. So stalls are twice as frequent, and their ratio is twice as large before it is clipped.
 *
 * Errors: ERR_MEMORY, those of algo_new. Threads: a pool is read-only after trial_sim_pool. */
#ifndef LAB_TRIAL_SIM_H
#define LAB_TRIAL_SIM_H

#include "abr/compare.h"
#include "base/err.h"

struct trial_sim_pool {
    int n;
    struct trial_sim_session {
        struct compare_ended ended;
        int network;
    } * session; /* (n) owned */
};

/* n sessions of the algorithm (abr/deciders/algo.h) on links of the seed: equal seeds give equal links
 * and equal viewers. */
int trial_sim_pool(struct trial_sim_pool *out, const char *algo, int n, uint64_t seed,
                   struct err *e) __attribute__((warn_unused_result));
void trial_sim_pool_free(struct trial_sim_pool *p);

struct trial_sim_cfg {
    const struct trial_sim_pool *pool[2]; /* control, treatment */
    bool twice;                           /* false */
    double share;                         /* of the treatment: 0.5 */
    int sessions;                         /* of a trial, both arms */
    double planned; /* sessions at which intervals are tightest (compare_cfg) */
    double stall_margin, startup_margin_s;
    bool stops; /* end the trial when a guard rail stops the treatment */
    uint64_t seed;
};

struct trial_sim_cfg trial_sim_cfg_default(void);

struct trial_sim_truth {
    double difference[COMPARE_FIGURES];   /* treatment minus control */
    double deviation[COMPARE_FIGURES][2]; /* of the values of control and treatment */
};
void trial_sim_truth(struct trial_sim_truth *out, const struct trial_sim_cfg *c);
/* Sessions of both arms that a single look needs, to exclude 0 at the level 0.05 with probability 0.8
 * when it knows the difference and both deviations; INFINITY: the difference is 0. */
double trial_sim_fixed(const struct trial_sim_truth *t, double share, int figure);

struct trial_sim {
    bool missed[COMPARE_FIGURES]; /* the interval left out the truth at some look */
    int decided[COMPARE_FIGURES]; /* sessions when it first left out 0; 0: never */
    int stopped;     /* sessions of the treatment when it was stopped; 0: never */
    int stopped_all; /* sessions of both arms */
    bool mismatch;   /* the check of the shares fired */
};
void trial_sim_run(struct trial_sim *out, const struct trial_sim_cfg *c,
                   const struct trial_sim_truth *truth, uint64_t trial);

#endif
