/* train_page.h - abrd train --report: the curves of a training as a page (cli/page.h).
 *
 * Rewards while exploring by profile, entropy, losses, explained variance and the experts' shares,
 * over the steps of this run (a resumed training begins at its resumed step).
 *
 * Errors: those of page.h; train_page_write also ERR_MEMORY when rows could not be kept.
 * Threads: not shared. */
#ifndef CLI_TRAIN_TRAIN_PAGE_H
#define CLI_TRAIN_TRAIN_PAGE_H

#include "base/err.h"
#include "learn/train.h"

struct train_page;

/* Fails before any work is done. tags: number of reward curves. */
struct train_page *train_page_new(const char *path, int experts, int tags, struct err *e);
void train_page_free(struct train_page *p);
void train_page_add(struct train_page *p, const struct train_row *row);
/* tag_name(ctx, tag) names the curves. */
int train_page_write(struct train_page *p, const char *(*tag_name)(void *ctx, int tag),
                     void *ctx, struct err *e) __attribute__((warn_unused_result));

#endif
