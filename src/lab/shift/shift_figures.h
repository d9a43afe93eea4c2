/* shift_figures.h - the paper's figures, redrawn from our runs, and the tables next to them.
 *
 * One section per preset and hint. Lines are means over seeds, bands the 10 and 90 % of the seeds; bars
 * and points carry 95 % bootstrap intervals. Time is averaged over 200 parts of the run; what was probed
 * is drawn as it was taken. Before the sections: what the presets are, other readings of the paper, the
 * dormant units (shift_claims.h), and the noise sweep.
 *
 * Errors: ERR_MEMORY. Threads: as report.h says. */
#ifndef LAB_SHIFT_FIGURES_H
#define LAB_SHIFT_FIGURES_H

#include "lab/shift/shift_stat.h"
#include "report/report.h"

int shift_figures(struct report *r, const struct shift_plan *p)
    __attribute__((warn_unused_result));

#endif
