/* shift.h - PA-MoE's experiment: PPO while the viewer's QoE weights change.
 *
 * Source: He and Liu, Plasticity-Aware Mixture of Experts for Learning Under QoE Shifts in
 * Adaptive Video Streaming, 2025; presets `paper` and `code` as abr/train/recipe.h defines them.
 * Four policies learn with PPO: one network (mlp), a dense mixture (moe), a top-1 mixture (smoe), and
 * a top-1 mixture with plasticity noise (pamoe). After every tenth of the steps the viewer's profile
 * changes (documentary, live, news). The report checks each claim of the paper (shift_claims.h) and
 * draws its figures again (shift_figures.h).
 *
 * Threads: as lab.h says. */
#ifndef LAB_SHIFT_H
#define LAB_SHIFT_H

#include "lab/lab.h"

extern const struct lab shift_lab;

#endif
