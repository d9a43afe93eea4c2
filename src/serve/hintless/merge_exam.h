/* merge_exam.h - the exam of weights for viewers without a hint: their loss for each profile.
 *
 *   loss_v = max over s of  merit_sv(reference) - merit_sv(candidate)
 *   passed:  loss_v <= MERGE_EXAM_LOSS for every profile v
 *
 * merit is that of abr/merge_score.h without its bounds: 0 is the lowest level, about 1 the best level
 * without a stall. So the bound is absolute and also holds if a mean QoE is near 0. The sets s are
 * generated links (two of every kind in gen_kinds, seed 22) and recorded links (at most
 * MERGE_EXAM_RECORDED of the training part of a folder). A candidate plays every link once, with the
 * decisions of serve/session/decide.h. If the hint has a ceiling of stalls, its forecast is lower, as
 * that of a session (abr/deciders/caution.h). Its decisions do not depend on the viewer, so one play
 * gives the merit for all profiles.
 *
 * The bound is a quarter of the largest loss that a profile may have, 2 %, as real links differ from the
 * exam's (test/cli/emulate/test_labels.c measures the loss on other links).
 *
 * The mix of profiles is learned from clients, and clients may send false data. The exam does not use
 * the mix: its bound holds for every profile, however rare.
 *
 * Measured: a candidate takes 4 ms on one core with the shipped experts.
 * Errors: ERR_MEMORY; ERR_INVALID for a policy with fewer levels than the video; those of corpus.h for
 * the folder. Threads: not shared. merge_exam_play allocates nothing. */
#ifndef SERVE_MERGE_EXAM_H
#define SERVE_MERGE_EXAM_H

#include "abr/merge_score.h"
#include "serve/session/decide.h"

#define MERGE_EXAM_LOSS .005   /* of the scale from the lowest level to the best */
#define MERGE_EXAM_LINKS 2     /* generated, of every kind */
#define MERGE_EXAM_RECORDED 48 /* at most */

enum { MERGE_EXAM_GENERATED, MERGE_EXAM_TRACES, MERGE_EXAM_SETS };

struct merge_exam_marks {
    double merit[MERGE_EXAM_SETS][MERGE_SCORE_TASKS];
};

struct merge_exam;

/* links: generated links of every kind; recorded: a folder of traces, NULL: none. */
struct merge_exam *merge_exam_new(int links, const char *recorded, int actions,
                                  struct err *e);
void merge_exam_free(struct merge_exam *x);

/* The merits of weights for every profile of qoe (tasks), in sessions whose QoE weights are `hint`.
 * false: the weights gave a value that is not finite. */
bool merge_exam_play(struct merge_exam_marks *out, struct merge_exam *x,
                     const struct packed *weights, enum feat_layout layout,
                     const struct qoe *hint, const struct qoe *qoe, int tasks);

/* The largest loss_v; *task, which may be NULL: its v. */
double merge_exam_loss(const struct merge_exam_marks *candidate,
                       const struct merge_exam_marks *reference, int tasks, int *task);

#endif
