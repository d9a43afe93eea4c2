/* gap.h - the gain of learning, and the largest gain that was possible, trace by trace.
 *
 *   gain_i = (after_i - before_i) / scale, most_i = (oracle_i - before_i) / scale
 *   share of the gap that was closed = sum gain / sum most
 *
 * Intervals: 95 % bootstraps over traces; the share resamples gain and most together.
 * Ownership: gap_free releases what gap_init made. Errors: ERR_MEMORY. Threads: not shared. */
#ifndef CLI_EMULATE_GAP_H
#define CLI_EMULATE_GAP_H

#include "base/err.h"

#include <stdint.h>

struct out;

struct gap {
    int n;               /* traces */
    double *gain, *most; /* (n) each, sums of what was added */
};

int gap_init(struct gap *g, int n, struct err *e) __attribute__((warn_unused_result));
/* QoE of each trace, (n) each; scale > 0: the sum of a profile's weights, or 1. */
void gap_add(struct gap *g, const double *before, const double *after,
             const double *oracle, double scale);
/* Adds columns to the row: gain, gain_lo, gain_hi, gap_closed, gap_lo, gap_hi; the brief table has the
 * share. */
void gap_print(struct out *rows, const struct gap *g, uint64_t seed);
void gap_free(struct gap *g);

#endif
