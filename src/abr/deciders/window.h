/* window.h - the levels of a long ladder that a policy sees.
 *
 * A policy reads FEAT_LEVELS levels and chooses among them (feat.h). Of a longer ladder it sees a view
 * of FEAT_LEVELS levels. These are always among them:
 *
 *   0                 the level that is left when the link fails
 *   L - 1, L, L + 1   the last level, so that switches cost what they cost, and its neighbours
 *   the lowest offered level
 *
 * The others are those next to the best level. To find it, a plan (plan.h) weighs the last level and six
 * that are spread evenly over the ladder, level round(i (levels - 1) / 5) for i = 0 .. 5. The one that is
 * worth most on average is the middle M, the lowest of equal ones. Then M, M - 1, M + 1, M - 2 .. are added
 * until there are FEAT_LEVELS.
 *
 * If nothing was measured, the top of the ladder is seen, too. Then levels that are not listed above are
 * removed one by one until FEAT_LEVELS are left: the one whose neighbours have the smallest ratio
 * R_next / R_previous of bitrates, the lowest of equal ones. That leaves about equal steps of log bitrate.
 *
 * The page (web/lib/window.js) chooses the same levels, unless two are worth the same but for rounding.
 *
 * Guard, first level, abandon and the classical rules work on the whole ladder. A window is a function
 * of the view and of the offered levels, so that a learner's replay gives the same one.
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_WINDOW_H
#define ABR_WINDOW_H

#include "abr/emulator/feat.h"

struct window {
    int n; /* 0: the ladder has at most FEAT_LEVELS levels, all are seen; else FEAT_LEVELS */
    uint8_t level[FEAT_LEVELS]; /* of the ladder, ascending; n > 0 */
    struct view view;           /* n > 0 */
    struct forecast forecast;   /* the view's, n > 0 */
};

/* What a policy sees of v: v itself, or w->view. offered: levels of the ladder, at least one. */
const struct view *window_see(struct window *w, const struct view *v, uint32_t offered);

/* The window's levels among `levels` of the ladder, as bits of the window. */
uint32_t window_mask(const struct window *w, uint32_t levels);
/* The window's levels as bits of the ladder; 0: all of it is seen. */
uint32_t window_levels(const struct window *w);
/* Probabilities of all `levels` levels from those of the window with the bits `seen`. */
void window_spread(double *prob, int levels, uint32_t seen, const float *of_window);
/* The level of the ladder at place i of the window. */
int window_level(const struct window *w, int i);
/* The place of a level; -1: it is not in the window. */
int window_place(const struct window *w, int level);

/* feat_observe of what a policy sees when all levels are offered. FEAT_BLIND: the levels that the standard
 * viewer's plan chooses, since a plan shows the weights. Not for feat_rolled layouts. */
void window_observe(float *obs, enum feat_layout layout, const struct view *v);

#endif
