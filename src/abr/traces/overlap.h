/* overlap.h - traces of one set that come from the same recording as traces of another.
 *
 * Published sets of traces are often cut and resampled from the same logs, so a test set may
 * leak into a training set without one file in common. Every trace is averaged to 1 s; for a
 * pair (a, b) the highest Pearson correlation is sought over all windows of window_s seconds
 * of a and of b, at every shift:
 *
 *   r = max_{i,j} corr(a[i .. i + W), b[j .. j + W))
 *
 * among windows whose means agree within `level`: a resampled recording keeps its level,
 * while two drops of different height only look alike.
 *
 * All n_a * n_b window pairs cost one multiplication each by running sums along i - j (as in
 * STOMP, Zhu et al., ICDM 2016). A trace shorter than the window takes no part. Windows that
 * vary by less than one percent of their mean correlate with anything and are passed over.
 *
 * Ownership: overlap_free releases what overlap_find filled in; zero-initialise before.
 * Errors: ERR_MEMORY. Threads: pure function, on `threads` threads; the result does not
 * depend on their number. */
#ifndef ABR_OVERLAP_H
#define ABR_OVERLAP_H

#include "abr/traces/corpus.h"

#include <stdbool.h>

struct overlap_cfg {
    int window_s;     /* 200; >= 2 */
    double threshold; /* .9 */
    double level; /* .1: the larger mean may be so much above the other; 1 = anything */
    int threads;  /* 1 */
    bool (*progress)(void *ctx, double share); /* true stops; may be NULL */
    void *progress_ctx;
};

struct overlap_pair {
    int a, b;     /* traces, by their place in the corpus */
    double r;     /* the best correlation */
    int a_s, b_s; /* where its windows begin [s] */
};

struct overlap {
    int n;
    struct overlap_pair *pairs; /* above the threshold, by b, then by falling r; owned */
    int short_a, short_b;       /* traces shorter than the window */
};

#define OVERLAP_STOPPED 1 /* by progress: no error, and no result */

struct overlap_cfg overlap_cfg_default(void);
int overlap_find(struct overlap *out, const struct corpus *a, const struct corpus *b,
                 const struct overlap_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void overlap_free(struct overlap *o);

#endif
