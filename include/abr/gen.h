/* gen.h - generated links: Markov-modulated throughput of named kinds.
 *
 * A hidden state walks over the kind's mean levels [Mbit/s]; inside a state the slot's
 * throughput is log-normal around the level with AR(1) noise; a kind may have outages
 * (zero slots) with their own rate and mean length. Slots are 1 s unless the kind says
 * otherwise. Kinds: 3g-commute, broadband, lte, wifi, outage, high-4g; volatile-low is kept
 * apart for showing online learning on a kind that the shipped policy never saw, and is not
 * in the list that "all kinds" means.
 *
 * Threads: pure functions. */
#ifndef ABR_GEN_H
#define ABR_GEN_H

#include "abr/trace.h"

/* NULL-terminated, in a fixed order, without volatile-low. */
extern const char *const gen_kinds[];

/* ERR_ABSENT for an unknown kind (the message lists the known ones); seconds 10 .. 1e5. */
struct trace *gen_trace(const char *kind, double seconds, uint64_t seed, uint64_t index,
                        struct err *e);
/* One trace whose mean, volatility, persistence and outage rate are themselves drawn: the
 * wide distribution that training uses so that a policy does not learn one corpus. */
struct trace *gen_random_link(double seconds, uint64_t seed, uint64_t index,
                              struct err *e);

#endif
