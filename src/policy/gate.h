/* gate.h - a router that settles: locality loss, convergence flags, early termination.
 *
 *   loss    L_gate = L_task + L_loc + L_aux
 *   L_loc = lambda sum_m pi_m d_m,   d_m = ||theta_t^(m) - theta_{t-1}^(m)||_2
 *   L_aux = alpha M sum_m f_m P_m
 *   flags   in a round t > T1, for every m with |h_m - h_{m_t}| < Gamma:  I^(m) = 1, for good
 *   latch   once I^(m) = 1 for all m, the gate is not updated any more; experts are
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning" (ICLR 2025): key
 * design I (locality loss, auxiliary loss, task loss) and key design II (its algorithm, lines
 * 6 to 13). The slides number neither.
 *
 * How a round, a task and a gate output are read here:
 * - A round t is one batch of the learner (many minibatches), not one task: d_m is how far expert
 *   m moved over the whole of the round before, and a constant to the gate. So
 *   dL_loc/dg_m = lambda pi_m (d_m - sum_k pi_k d_k), a mean over the minibatch's rows; it is
 *   the toll lambda d of mix_backward_gate.
 * - A task is a tag (a reward function); a batch holds several. The paper's h_m(X_t) is linear in
 *   the sum of X_t's samples; here h_m(v) = mean over the rows of tag v of g_m(x), and
 *   m_v = argmax_m h_m(v) among the idle. The rule of line 7 is applied to every tag of the batch.
 *   Row by row it would say nothing: the expert that has a row is the one chosen for it. The mean
 *   instead of the sum makes Gamma a difference of scores, whatever the size of the batch.
 * - h is taken before the round's update, as in the paper. The round that raises the last flag
 *   does not move the gate any more.
 * - L_aux is Switch's, over the rows of a minibatch (policy/mix.h); there f and P run since t = 1.
 * - Here the training loss gives the gate a gradient, by Switch's scaling; in the paper it is 0.
 *
 * A latched gate gets no gradient, no optimiser step, no decay and no noise: the expert chosen for
 * a given observation cannot change. gate_reset lets it learn again, for at least another T1
 * rounds. A mixture of one expert has no gate and raises no flag.
 *
 * struct gate is plain data without padding: its bytes are its state.
 * Threads: not shared, one per thread. No allocation. */
#ifndef POLICY_GATE_H
#define POLICY_GATE_H

#include "policy/mix.h"

#define GATE_TASKS 64
#define GATE_TEXT 128 /* room for gate_text */

struct gate_cfg {
    double locality; /* lambda; 0: no locality loss */
    int latch;       /* T1 in rounds; 0: the gate never stops */
    double gap;      /* Gamma, in scores */
};

struct gate {
    int64_t rounds;               /* t, since the start or the last reset */
    uint64_t flags;               /* bit m: I^(m) */
    float moved[MIX_EXPERTS_MAX]; /* d_m of the last round */
};

/* No locality loss, no latch, Gamma .5. */
struct gate_cfg gate_cfg_default(void);

/* A round begins on x (n, in), tag (n) of 0 .. GATE_TASKS-1 or NULL: all of one task. */
void gate_round(struct gate *g, const struct gate_cfg *cfg, const struct mix *m,
                const float *x, const int *tag, int n);
/* What is owed in this round; toll (experts) is room for it. */
struct mix_dues gate_dues(float *toll, const struct gate *g, const struct gate_cfg *cfg,
                          double balance, int experts);
/* The round is over: `before` (m->n) are the parameters at its start. */
void gate_moved(struct gate *g, const struct mix *m, const float *before);

int gate_converged(const struct gate *g, int experts); /* flags that are up */
/* All flags are up, and the configuration has a latch. */
bool gate_latched(const struct gate *g, const struct gate_cfg *cfg, int experts);
/* Flags down, rounds 0. */
void gate_reset(struct gate *g);

/* "flags=101 rounds=40", for the metadata of a checkpoint, and back. ERR_INVALID for other text
 * or another number of experts; *g is then as it was. */
void gate_text(char out[GATE_TEXT], const struct gate *g, int experts);
int gate_parse(struct gate *g, const char *text, int experts, struct err *e)
    __attribute__((warn_unused_result));

/* Who is chosen, without noise: argmax over idle m of g_m. chosen (n); x (n, in). */
void gate_choose(int *chosen, const struct mix *m, const float *x, int n);

#endif
