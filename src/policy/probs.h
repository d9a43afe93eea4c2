/* probs.h - a mixture of distributions instead of a mixture of logits.
 *
 *   q_k = softmax(e_k),   y_j = ln sum_k p_k q_kj
 *
 * y is the log-probability of the mixture: softmax(y) = sum_k p_k q_k, so what reads y as
 * logits needs no change. It is Eq. 7 of PA-MoE with the experts' outputs read as
 * distributions over actions; the dense route of mix.h reads them as logits.
 *
 * Backward, with the responsibility r_kj = p_k q_kj / exp(y_j):
 *
 *   dL/de_ki = r_ki dy_i - q_ki sum_j r_kj dy_j,   dL/dp_k = sum_j r_kj dy_j / p_k
 *
 * Shapes: y, dy (n, out); gate (n, experts), rows that sum to 1; e, ln_q (experts, n,
 * out). In logs throughout, so neither p_k = 0 nor logits far apart lose a digit; what is
 * not finite shows in y. Threads: pure functions. */
#ifndef POLICY_PROBS_H
#define POLICY_PROBS_H

/* e becomes ln_q, in place. */
void probs_forward(float *y, float *e, const float *gate, int n, int experts, int out);

/* Of expert k: de (n, out) is overwritten, as is column k of dgate (n, experts). y, ln_q,
 * gate as in the forward pass. */
void probs_backward(float *de, float *dgate, const float *dy, const float *y,
                    const float *ln_q, const float *gate, int n, int experts, int out,
                    int k);

#endif
