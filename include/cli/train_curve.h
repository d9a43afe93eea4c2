/* train_curve.h - the curve of a training: one row of CSV per update.
 *
 * Columns: iteration, steps, lr, entropy_coef, the figures of ppo_stats, the share of each of
 * the actor's experts, and the mean reward per chunk of each tag (profiles, drawn weights, drawn
 * ladders), empty where a tag had no step.
 *
 * Threads: not shared. */
#ifndef CLI_TRAIN_CURVE_H
#define CLI_TRAIN_CURVE_H

#include "rl/train.h"

#include <stdio.h>

void train_curve_head(FILE *f, int experts, int tags);
void train_curve_row(FILE *f, const struct train_row *r, int experts, int tags);

#endif
