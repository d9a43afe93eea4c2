/* overlap.h - traces of one set that come from the same recording as traces of another.
 *
 *   r = max_{i,j} corr(a[i .. i + W), b[j .. j + W))
 *
 * Published sets of traces are often cut and resampled from the same logs, so a test set may leak
 * into a training set without a common file. Every trace is averaged to 1 s. r is the highest Pearson
 * correlation over all windows of window_s seconds of a and of b, at every shift. Only windows whose
 * means agree within `level` are compared: a resampled recording keeps its level, while two drops of
 * different height only look alike.
 *
 * Running sums along i - j make each of the n_a * n_b pairs of windows cost one multiplication. A
 * trace shorter than the window is left out. Windows that vary by less than one percent of their mean
 * correlate with anything and are skipped.
 *
 * Source: STOMP, Zhu et al., ICDM 2016.
 * Errors: ERR_MEMORY.
 * Ownership: the caller zero-initialises; overlap_free releases what overlap_find filled in.
 * Threads: pure function, on `threads` threads; the result does not depend on their number. */
#ifndef ABR_OVERLAP_H
#define ABR_OVERLAP_H

#include "abr/traces/corpus.h"

#include <stdbool.h>

struct overlap_cfg {
    int window_s;     /* 200; >= 2 */
    double threshold; /* of r; default 0.9 */
    double level;     /* largest relative difference of the means; default 0.1; 1 = any */
    int threads;      /* 1 */
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
