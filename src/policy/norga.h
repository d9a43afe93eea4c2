/* norga.h - experts added to a frozen network, mixed in by non-linear residual gates.
 *
 *   output(x) = y0(x) + y(x),  y(x) = sum_j q_j(x) D_j(x),   j = 1 .. L
 *   q_j = e^(t_j) / (1 + sum_l e^(t_l)),   m = sum_j q_j: the added experts' share
 *   t_j = s_j + a sigma(tau s_j) + b_j,    s_j = w_j . x
 *
 * y0 is the output of a network that never changes; this module computes y.
 *
 * Source: NoRGa (Le et al., NeurIPS 2024): one softmax over the scores of frozen and new experts,
 * Eq. 11; the scores of new ones as in Eq. 12, biases outside sigma as in Eq. 17.
 *   the paper                       here
 *   pre-trained experts             the experts E_k of a frozen mixture (mix.h)
 *   their scores s_i,j              ln p_k(x), p = softmax(g) of the frozen gate
 *   prefix expert f_N+j, Eq. 9      f_j = y0 + D_j; D_j: in -> hidden (ReLU) x layers -> out
 *   its score, Eq. 9                s_j = w_j . x: w_j is what W_Q W_K' p_K is there
 *   prefix length L                 experts
 *   one head of one layer           one network: an actor, or a critic
 *   task                            a profile: one set of added experts for each
 * With these, Eq. 11 is, as sum_k e^(ln p_k) = 1,
 *   sum_k (1 - m) p_k E_k + sum_j q_j f_j = (1 - m) y0 + sum_j q_j (y0 + D_j) = y0 + y.
 * The first sum is (1 - m) y0 for a dense mixture. For top-1, y0 = p_c E_c is the chosen term of
 * sum_k p_k E_k, and the first sum is reduced to the same term.
 * Differs:
 * - Frozen scores are ln p_k, not g_k. Training does not determine a shift common to all g_k, and here
 *   it would change m; ln p_k is g_k without that shift.
 * - Added experts are functions of x, not constants, and give what is added to the frozen output:
 *   with D = 0 the network is the frozen one for all scores.
 * - Scores are linear in x (as in Eq. 17), as there are no keys and queries here.
 *
 * NORGA_LINEAR leaves sigma out: t_j = s_j + b_j, the linear gate of plain prefix tuning (Eq. 11
 * alone), for comparison. a and tau are then unused and their gradient is 0.
 *
 * Shapes: x (n, in), y (n, out), gate (n, experts) is q. One flat block of floats holds all
 * parameters: [a, tau | w (experts, in), b (experts) | expert 0 | ...], an expert as in mix.h.
 *
 * Errors: ERR_RANGE for a configuration outside the limits, ERR_MEMORY. Values that are not finite
 * show in y. Ownership: struct norga owns its theta; nothing allocates after _new.
 * Threads: const struct norga is shared read-only; a norga_ws belongs to one thread. */
#ifndef POLICY_NORGA_H
#define POLICY_NORGA_H

#include "policy/mix.h"

#define NORGA_EXPERTS_MAX 8

enum norga_sigma { NORGA_LINEAR, NORGA_TANH, NORGA_SIGMOID, NORGA_GELU };

struct norga_cfg {
    int in, hidden, layers, out, experts;
    enum norga_sigma sigma;
};

struct norga {
    struct norga_cfg cfg;
    size_t n;     /* floats in theta */
    float *theta; /* owned */
};

struct norga_ws;

/* "linear", "tanh", "sigmoid", "gelu", NULL: in the order of the enum. */
extern const char *const norga_sigma_words[];
/* NULL for another number. */
const char *norga_sigma_word(enum norga_sigma sigma);
/* ERR_INVALID for another word; *out is then unchanged. */
int norga_sigma_parse(enum norga_sigma *out, const char *word, struct err *e)
    __attribute__((warn_unused_result));

/* t without the bias, and its derivatives by s, a and tau. */
struct norga_score {
    float t, by_s, by_a, by_tau;
};
struct norga_score norga_score(float s, float a, float tau, enum norga_sigma sigma);

/* p (L) = q from t (L), which may be p. Returns m. */
float norga_softmax(float *p, const float *t, int experts);

/* 0, or ERR_RANGE naming the member. */
int norga_cfg_check(const struct norga_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
size_t norga_size(const struct norga_cfg *cfg); /* floats in theta */

/* theta starts as 0. */
struct norga *norga_new(const struct norga_cfg *cfg, struct err *e);
void norga_free(struct norga *g);

struct mix_range norga_shape(const struct norga_cfg *cfg);  /* a, tau */
struct mix_range norga_scores(const struct norga_cfg *cfg); /* w, b */
struct mix_range norga_expert(const struct norga_cfg *cfg, int j);

/* a = tau = 1 (the paper's fixed values), w N(0, .01^2), b = -ln L: m is about 1/2, divided evenly. D_j
 * gets a copy of the hidden layers of expert from[j] of the frozen mixture, which has the same shape
 * except for the number of experts, and a head of 0. So D = 0, and learning begins with features of
 * the frozen experts. */
void norga_init(struct norga *g, const struct mix *frozen, const int *from,
                struct rng *r);

struct norga_ws *norga_ws_new(const struct norga_cfg *cfg, int max_batch, struct err *e);
void norga_ws_free(struct norga_ws *ws);

/* 1 <= n <= max_batch. gate may be NULL. What backward needs stays in ws until the next
 * forward (x is copied); g must not change in between. */
void norga_forward(float *y, float *gate, const struct norga *g, struct norga_ws *ws,
                   const float *x, int n);

/* grad (g->n floats) becomes dL/dtheta for the batch of the last forward, dy (n, out) being
 * dL/dy. */
void norga_backward(float *grad, const struct norga *g, struct norga_ws *ws,
                    const float *dy);

#endif
