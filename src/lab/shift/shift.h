/* shift.h - PA-MoE's experiment: learning while the viewer's weights shift.
 *
 * Source: He and Liu, Plasticity-Aware Mixture of Experts for Learning Under QoE Shifts in
 * Adaptive Video Streaming, 2025; presets `paper` and `code` as abr/train/recipe.h defines them.
 * A viewer's profile (documentary, live, news) shifts every tenth of the steps while an
 * mlp, a dense mixture (moe), a top-1 mixture (smoe) and that with plasticity noise (pamoe)
 * learn with PPO. The report answers the paper claim by claim (lab/shift/shift_claims.h) and redraws its
 * figures (lab/shift/shift_figures.h).
 *
 * Threads: as lab.h says. */
#ifndef LAB_SHIFT_H
#define LAB_SHIFT_H

#include "lab/lab.h"

extern const struct lab shift_lab;

#endif
