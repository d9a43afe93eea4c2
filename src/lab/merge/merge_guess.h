/* merge_guess.h - who a viewer is taken for, from what can be seen of the viewer.
 *
 *   contents   viewers of profile v watch content c with P(c | v) = L [c is v's own] / (C / V)
 *              + (1 - L) / C, C = MERGE_CONTENTS of which every V-th is v's own, L the loyalty
 *   p(v | c) = (n_vc + a psi_v) / (sum_v n_vc + a)      n_vc viewers of v seen at c, a = 2
 *   p(v | x, c)  the posterior of moe/identity on the observation x, with p(v | c) for its prior
 *
 * as the daemon has it (serve/hintless/profile mix.h, there with counters and labels of some); here every viewer
 * of a slot that is over has told what it was. x is of the session (merge_world_look). The head
 * may find nothing in x, as sessions do not depend on profiles; then contents are all there is.
 *
 * Shapes: obs (sessions, FEAT_FULL_DIM), borrowed; psi, q (V). Errors: ERR_MEMORY.
 * Determinism: seed and examples decide. Threads: not shared. */
#ifndef LAB_MERGE_GUESS_H
#define LAB_MERGE_GUESS_H

#include "base/rng.h"
#include "lab/merge/merge_world.h"

#define MERGE_CONTENTS 40

struct merge_guess;

struct merge_guess *merge_guess_new(const float *obs, int sessions, double loyalty,
                                    uint64_t seed, struct err *e);
void merge_guess_free(struct merge_guess *g);

int merge_guess_draw(const struct merge_guess *g, int task, struct rng *r);
double merge_guess_share(const struct merge_guess *g, int task, int content);

/* A slot begins: what is known of the mix, which need not be of sum 1. */
void merge_guess_begin(struct merge_guess *g, const float *psi);
/* Returns the likeliest profile. */
int merge_guess_who(double *q, const struct merge_guess *g, int session, int content);
/* Does the session tell anything? Else merge_guess_who depends on the content alone. */
bool merge_guess_sees(const struct merge_guess *g);
/* Counts with the next slot. */
void merge_guess_learn(struct merge_guess *g, int session, int content, int task);

#endif
