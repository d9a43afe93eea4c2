/* gates.h - the lab `gates`: prefix experts with linear and with non-linear residual gates.
 *
 * Reproduces Le et al., "Mixture of Experts Meets Prompt-Based Continual Learning" (NoRGa):
 *   - the regression of Section 4.2 and Appendix A: Voronoi losses over n (fit.h), with
 *     the measures that no sample tells from the truth (prefix_moe.h)
 *   - class-incremental learning on images in small (hide.h): five tasks of two MNIST digits on an
 *     encoder that was pre-trained on Fashion-MNIST and frozen; fine-tuning, no prefix, prefix
 *     tuning, NoRGa with three activations, with and without the contrastive term, alpha and
 *     tau learned and fixed. Left out, with a line that says so, when the images are not there.
 *   - five kinds of viewer that arrive one after the other at a policy (arrivals.h), learned by
 *     fine-tuning, by a head of their own, by new experts with the linear gate and with NoRGa
 *     (newcomer.h), with the viewer's weights known and guessed.
 *
 * Checks: the regression error falls as n^-1/2 for every gate and expert (Theorem 4.1); splitting
 * an expert (a'x + b)^p leaves g as it is for both gates, splitting GELU(a'x + b) does not. That the
 * linear gate is slower (Theorem A.1) is reported, not checked: it need not be, for the experts
 * named there. On images: fine-tuning forgets, prefixes beat it in accuracy and forgetting. How
 * NoRGa stands to prefix tuning is reported with its interval. Of viewers: what heads and new experts
 * learned once does not change by a bit, what fine-tuning learned does.
 *
 * Threads: as lab.h. */
#ifndef LAB_GATES_H
#define LAB_GATES_H

#include "lab/lab.h"

extern const struct lab gates_lab;

#endif
