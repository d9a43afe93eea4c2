/* shift_draw_priv.h - what the figures of lab shift share: panels of curves over the sets of
 * one preset. */
#ifndef LAB_SHIFT_DRAW_PRIV_H
#define LAB_SHIFT_DRAW_PRIV_H

#include "report/report.h"
#include "lab/shift/shift_stat.h"

enum { SHIFT_BINS = 200, SHIFT_ROWS = 4096 }; /* ROWS: probes drawn at most */

/* One section: the main sets of a preset with or without hints, and scratch. */
struct shift_draw {
    struct report *r;
    const char *preset;
    bool hint;
    int n;
    const struct shift_set *set[8];
    double *rows, *x, *mean, *lo, *hi; /* (SHIFT_SEEDS, SHIFT_ROWS), (SHIFT_ROWS) each */
};

/* id "qoe" becomes "qoe-paper" or "qoe-paper-hint". */
void shift_draw_figure(const struct shift_draw *d, const char *id, const char *title,
                       const char *caption);
/* One panel, a series per set. */
void shift_draw_curve(const struct shift_draw *d, const char *title, enum shift_curve c,
                      const char *label);
void shift_draw_probe(const struct shift_draw *d, const char *title, int net, int expert,
                      int layer, int measure, const char *label);
/* QoE of the exam in one profile. */
void shift_draw_exam(const struct shift_draw *d, const char *title, int profile);
/* One panel of one set: the shares of its experts, the most chosen of each run first. */
void shift_draw_shares(const struct shift_draw *d, const struct shift_set *s, int net);

/* A table: what the presets are beside the paper's text. */
void shift_draw_presets(struct report *r);

/* The figures of plasticity: 3, 5, 11 to 16. all: also layer by layer. */
void shift_draw_plasticity(const struct shift_draw *d, bool all);

#endif
