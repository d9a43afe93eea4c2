/* gate.h - a router that stops learning: locality loss, convergence flags, early termination.
 *
 *   loss    L_gate = L_task + L_loc + L_aux
 *   L_loc = lambda sum_m pi_m d_m,   d_m = ||theta_t^(m) - theta_{t-1}^(m)||_2
 *   L_aux = alpha M sum_m f_m P_m
 *   flags   in a round t > T1, for every m with |h_m - h_{m_t}| < Gamma:  I^(m) = 1, permanently
 *   latch   once I^(m) = 1 for all m, the gate is not updated any more; experts are
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning" (ICLR 2025): key design I
 * (locality loss, auxiliary loss, task loss) and key design II (its algorithm, lines 6 to 13). The
 * slides number neither.
 *
 * Differs:
 * - A round t is one batch of the learner (many minibatches), not one task. d_m is how far expert m
 *   moved over the whole previous round, a constant for the gate. So
 *   dL_loc/dg_m = lambda pi_m (d_m - sum_k pi_k d_k), averaged over the minibatch's rows; it is the
 *   cost lambda d of mix_backward_gate.
 * - A task is a tag (a reward function), and a batch has several. The paper's h_m(X_t) is linear in
 *   the sum of X_t's samples. Here h_m(v) is the mean of g_m(x) over the rows of tag v, and
 *   m_v = argmax_m h_m(v) among the idle experts. Line 7 is applied to every tag of the batch. Row by
 *   row it would have no effect, as each row's expert is the one chosen for it. With the mean, Gamma
 *   is a difference of scores for any batch size.
 * - h is computed before the round's update, as in the paper. The round that sets the last flag does
 *   not move the gate.
 * - L_aux is Switch's, over the rows of a minibatch (policy/mix.h); in the paper f and P run since
 *   t = 1.
 * - The training loss gives the gate a gradient, by Switch's scaling; in the paper it is 0.
 *
 * A latched gate gets no gradient, no optimiser step, no decay and no noise: the expert chosen for an
 * observation cannot change. After gate_reset it learns for at least T1 rounds. A mixture of one
 * expert has no gate and sets no flag.
 *
 * struct gate is plain data without padding: its bytes are its state.
 * Errors: ERR_INVALID (gate_parse). Threads: not shared, one per thread. No allocation. */
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

/* No locality loss, no latch, Gamma 0.5. */
struct gate_cfg gate_cfg_default(void);

/* Begins a round with x (n, in), tag (n) of 0 .. GATE_TASKS-1; tag NULL: all of one task. */
void gate_round(struct gate *g, const struct gate_cfg *cfg, const struct mix *m,
                const float *x, const int *tag, int n);
/* The gate's losses in this round. cost (experts): memory for them. */
struct mix_gate_losses gate_losses(float *cost, const struct gate *g,
                                   const struct gate_cfg *cfg, double balance,
                                   int experts);
/* Ends a round. before (m->n): the parameters at its beginning. */
void gate_moved(struct gate *g, const struct mix *m, const float *before);

int gate_converged(const struct gate *g, int experts); /* number of flags */
/* All flags are set, and the configuration has a latch. */
bool gate_latched(const struct gate *g, const struct gate_cfg *cfg, int experts);
/* No flags, rounds 0. */
void gate_reset(struct gate *g);

/* "flags=101 rounds=40", for the metadata of a checkpoint, and back. ERR_INVALID for other text or
 * another number of experts; *g is then unchanged. */
void gate_text(char out[GATE_TEXT], const struct gate *g, int experts);
int gate_parse(struct gate *g, const char *text, int experts, struct err *e)
    __attribute__((warn_unused_result));

/* The chosen experts without noise: argmax over idle m of g_m. chosen (n); x (n, in). */
void gate_choose(int *chosen, const struct mix *m, const float *x, int n);

#endif
