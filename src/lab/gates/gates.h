/* gates.h - the lab `gates`: prefix experts with linear and with non-linear residual gates.
 *
 * Reproduces Le et al., "Mixture of Experts Meets Prompt-Based Continual Learning" (NoRGa):
 *   - the regression of Section 4.2 and Appendix A: Voronoi losses over n (fit.h), with measures that
 *     no sample distinguishes from the truth (prefix_moe.h)
 *   - class-incremental learning on images, in small (hide.h): five tasks of two MNIST digits on an
 *     encoder that was pre-trained on Fashion-MNIST and frozen. The methods are fine-tuning, no prefix,
 *     prefix tuning, and NoRGa with three activations; with and without the contrastive term; with
 *     alpha and tau learned and fixed. Without the images this part is left out, and a line says so.
 *   - five kinds of viewer that arrive at a policy one after another (arrivals.h). The policy learns them
 *     by fine-tuning, by a head per kind, or by new experts with the linear gate or with NoRGa
 *     (newcomer.h), with the viewer's weights known and guessed.
 *
 * Checks: the regression error falls as n^-1/2 for every gate and expert (Theorem 4.1). Splitting an
 * expert (a'x + b)^p leaves g as it is for both gates; splitting GELU(a'x + b) does not. On images,
 * fine-tuning forgets, and prefixes beat it in accuracy and forgetting. Of viewers, what heads and new
 * experts learned once does not change by a bit; what fine-tuning learned does.
 *
 * Reported without a check: whether the linear gate is slower (Theorem A.1), since it need not be for
 * the experts named there; and NoRGa against prefix tuning, with its interval.
 *
 * Threads: as lab.h. */
#ifndef LAB_GATES_H
#define LAB_GATES_H

#include "lab/lab.h"

extern const struct lab gates_lab;

#endif
