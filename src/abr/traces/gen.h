/* gen.h - generated links: Markov-modulated throughput of named kinds.
 *
 *   y_i = L(s_i) * exp(sigma z_i - sigma^2 / 2)      [Mbit/s] in slot i, at least 0.05
 *   z_i = rho z_{i-1} + sqrt(1 - rho^2) eps_i,       eps ~ N(0, 1)
 *
 * The hidden state s walks over the link's levels L. After an exponential dwell time it moves to the
 * next level up or down. The stationary mean of the levels is the link's mean. It is drawn
 * log-uniformly from the kind's range, so traces of one kind differ. A kind may have outages (slots
 * of 0): an outage begins at an exponential distance from the end of the last one and lasts an
 * exponential time, at most five times its mean. Slots are 1 s unless the kind says otherwise.
 * Numbers are rounded to 0.0001 Mbit/s, so that the last bit of libm does not show in the corpus.
 *
 * Kinds: 3g-commute, broadband, lte, wifi, outage, high-4g, and volatile-low. "All kinds" leaves
 * volatile-low out: it shows online learning on a kind that the shipped policy never saw. The
 * parameters are in gen.c and in traces/README.md.
 *
 * Threads: pure functions. */
#ifndef ABR_GEN_H
#define ABR_GEN_H

#include "abr/traces/trace.h"

/* NULL-terminated, in a fixed order, without volatile-low. */
extern const char *const gen_kinds[];

/* The trace "kind-03" (index 3) and so on; every one passes trace_check. ERR_ABSENT for an
 * unknown kind (the message lists the known ones); seconds 10 .. 1e5. */
struct trace *gen_trace(const char *kind, double seconds, uint64_t seed, uint64_t index,
                        struct err *e);
/* One trace whose mean, volatility, persistence, slot length and outage rate are drawn. The mean is
 * log-uniform in 0.2 .. 40 Mbit/s, two thirds of them in 0.4 .. 6. Training uses this wide
 * distribution, so that a policy does not learn one corpus. */
struct trace *gen_random_link(double seconds, uint64_t seed, uint64_t index,
                              struct err *e);

#endif
