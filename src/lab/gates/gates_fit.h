/* gates_fit.h - one repetition of NoRGa's regression: draw n samples, fit, measure the loss.
 *
 *   X uniform on side x side points of [-1, 1]^2,   Y = g_G*(X) + N(0, nu^2)          (Eq. 16, 23)
 *   G^ = argmin over measures of L' atoms in a box of sum_i (Y_i - g_G(X_i))^2        (Eq. 18, 25)
 *
 * Source: NoRGa (lab/gates/residual.h), Section 4.2 and Appendix A, which leave the distribution of X open:
 * with finitely many points the means of Y at each point say all that least squares can use, so a
 * fit costs the same for any n. Minimised by Levenberg-Marquardt (lab/gates/levmar.h) from several starts,
 * the lowest kept: even ones near the truth (each true atom, and a random one of them again for
 * every atom in excess, its weight shared, all parameters moved by N(0, spread^2)), odd ones uniform
 * in half the box. Theta is the box.
 *
 * Threads: pure function of its stream. */
#ifndef LAB_GATES_FIT_H
#define LAB_GATES_FIT_H

#include "base/rng.h"
#include "lab/gates/prefix_moe.h"

#include <stdint.h>

#define GATES_FIT_SIDE 24 /* at most */

struct gates_fit_cfg {
    struct prefix_moe model;
    struct prefix_moe_measure truth; /* L atoms */
    int atoms;                       /* L' >= L */
    int side;
    double noise;  /* nu */
    double box;    /* every parameter lies in -box .. box */
    double spread; /* of the starts near the truth */
    int starts, steps;
};

/* One frozen expert, two true atoms, L' = 3, nu = .1. */
struct gates_fit_cfg gates_fit_default(enum residual_kind gate,
                                       enum prefix_moe_expert expert, int power);

struct gates_fit {
    struct prefix_moe_measure fitted;
    double l1, l2; /* Eq. 20; Eq. 26 with r = 2 (lab/gates/voronoi.h) */
    double error;  /* ||g_G^ - g_G*|| in L2(mu) */
    double excess; /* least squares sum of G^ minus that of G*, over n nu^2; <= 0 when the
                      optimiser did its work */
};

void gates_fit_run(struct gates_fit *out, const struct gates_fit_cfg *c, int64_t n,
                   struct rng *r);

#endif
