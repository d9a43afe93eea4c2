/* merge_exam.h - may viewers without a hint get these weights? What it costs each profile.
 *
 *   loss_v = max over s of  merit_sv(reference) - merit_sv(candidate)
 *   passed:  loss_v <= MERGE_EXAM_LOSS for every profile v
 *
 * merit is that of abr/merge_score.h without its bounds: 0 is the lowest level, about 1 the best level
 * without a stall. So the bound is absolute, and holds where a mean QoE is near 0 as well. The sets s are generated links
 * (two of every kind in gen_kinds, seed 22) and recorded links (MERGE_EXAM_RECORDED of the training
 * part of the bundled folder). Each candidate plays every link once, with the decisions of
 * serve/session/decide.h; what it decides does not depend on the viewer, so one play judges all profiles.
 *
 * The bound is half of what a profile may lose at most, 2 %, as other links than the exam's differ
 * (test/cli/emulate/test_labels.c measures it on such links).
 *
 * The mix of profiles is learned from clients, who may lie. The exam knows nothing of the mix: it
 * holds for every profile, however few viewers of it there seem to be.
 *
 * Measured: one candidate takes 4 ms on one core with the shipped experts.
 * Errors: ERR_MEMORY, ERR_INVALID for a policy with fewer levels than the video, and those of
 * corpus.h for the folder. Threads: not shared; playing allocates nothing. */
#ifndef SERVE_MERGE_EXAM_H
#define SERVE_MERGE_EXAM_H

#include "abr/merge_score.h"
#include "serve/session/decide.h"

#define MERGE_EXAM_LOSS .01    /* of the scale from the lowest level to the best */
#define MERGE_EXAM_LINKS 2     /* generated, of every kind */
#define MERGE_EXAM_RECORDED 48 /* at most */

enum { MERGE_EXAM_GENERATED, MERGE_EXAM_TRACES, MERGE_EXAM_SETS };

struct merge_exam_marks {
    double merit[MERGE_EXAM_SETS][MERGE_SCORE_TASKS];
};

struct merge_exam;

/* links: generated ones of every kind; recorded: a folder of traces, NULL for none. */
struct merge_exam *merge_exam_new(int links, const char *recorded, int actions,
                                  struct err *e);
void merge_exam_free(struct merge_exam *x);

/* Marks of weights for every profile of qoe (tasks), while the session's weights are `hint`. false:
 * the weights gave a value that is not finite. */
bool merge_exam_play(struct merge_exam_marks *out, struct merge_exam *x,
                     const struct packed *weights, enum feat_layout layout,
                     const struct qoe *hint, const struct qoe *qoe, int tasks);

/* The largest loss_v of all profiles; *task, which may be NULL: whose. */
double merge_exam_loss(const struct merge_exam_marks *candidate,
                       const struct merge_exam_marks *reference, int tasks, int *task);

#endif
