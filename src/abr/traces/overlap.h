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
 * Complexity: let N_a and N_b be the seconds of all traces of a and b. A screen costs N_a N_b multiplications,
 * in matrix products, and 8 N_a N_b / M other operations, with M = window_s / 5. It bounds r from above
 * for M x 1 windows at a time (overlap.c), and traces whose levels do not meet skip it. A pair of traces
 * in which it leaves D diagonals i - j costs D min(n_a, n_b) operations more: running sums along i - j
 * make each pair of windows cost a few. When all windows are alike, that is all pairs. Memory:
 * 28 bytes for each second of both sets, N_a / 8 bytes and a few hundred KB per thread.
 * The screen's verdicts are bounds, with the rounding of floats counted. The result is that of all pairs
 * of windows, to the bit, on every processor.
 *
 * A trace shorter than the window is left out. Windows that vary by less than one percent of their mean
 * correlate with anything and are skipped.
 *
 * Source: running sums as in STOMP, Zhu et al., ICDM 2016. The screen is ours.
 * Errors: ERR_MEMORY; ERR_RANGE, a trace or a set is too long (below).
 * Ownership: the caller zero-initialises; overlap_free releases what overlap_find filled in.
 * Threads: pure function, on `threads` threads; the result does not depend on their number. */
#ifndef ABR_OVERLAP_H
#define ABR_OVERLAP_H

#include "abr/traces/corpus.h"

#include <stdbool.h>
#include <stdint.h>

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
    int64_t compared;           /* pairs of windows that the screen left */
};

#define OVERLAP_TRACE_S 1e6 /* longest trace that is compared [s] */
#define OVERLAP_SET_S 1e7   /* all traces of a set together, short ones left out [s] */

#define OVERLAP_STOPPED 1 /* by progress: no error, and no result */

struct overlap_cfg overlap_cfg_default(void);
int overlap_find(struct overlap *out, const struct corpus *a, const struct corpus *b,
                 const struct overlap_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void overlap_free(struct overlap *o);

#endif
