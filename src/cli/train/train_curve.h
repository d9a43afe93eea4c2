/* train_curve.h - the curve of a training: one row of CSV per update.
 *
 * Columns: iteration, steps, lr, entropy_coef, the figures of ppo_stats, the share of each of
 * the actor's experts, and the mean reward per chunk of each tag (profiles, drawn weights, drawn
 * ladders), empty where a tag had no step.
 *
 * Threads: not shared. */
#ifndef CLI_TRAIN_TRAIN_CURVE_H
#define CLI_TRAIN_TRAIN_CURVE_H

#include "base/err.h"
#include "learn/train.h"

#include <stdio.h>

/* path: "-" is standard output. resumed: steps of a resumed training, else 0. A resumed training keeps
 * the rows of the file up to there: a killed training may have written more rows, which come again
 * now, or half a row. A file with another table is refused, ERR_CONFLICT. The caller closes. */
FILE *train_curve_open(const char *path, int64_t resumed, int experts, int tags,
                       struct err *e) __attribute__((warn_unused_result));
/* False: a part is not written. Standard output stays open. */
bool train_curve_close(FILE *f) __attribute__((warn_unused_result));

void train_curve_head(FILE *f, int experts, int tags);
void train_curve_row(FILE *f, const struct train_row *r, int experts, int tags);

#endif
