/* window.h - the levels of a long ladder that a policy sees.
 *
 * A policy reads FEAT_LEVELS levels and chooses among them (feat.h). Of a longer ladder it sees a view
 * of FEAT_LEVELS levels. These are always among them:
 *
 *   0                 the level that is left when the link fails
 *   L - 1, L, L + 1   the last level, so that switches cost what they cost, and its neighbours
 *   the lowest and the highest offered level (guard.h), the latter if it is not above level `top`
 *   top               the highest level in reach of the link
 *
 *   top = max(FEAT_LEVELS - 1, L + 1, 1 + the highest k with R_k <= m (WINDOW_REACH + B / T)),
 *   but not above the top of the ladder
 *
 * R_k bitrate [kbit/s], m harmonic mean of the last 5 throughputs, B media in the buffer [s], T media
 * from this chunk to the video's end [s], without limit for a live stream. B / T is what the buffer adds
 * to the link until then. Without a measurement top is the top of the ladder. Levels above top are not
 * seen: a policy reads everything relative to the top rate, and in training the top rate was seldom far
 * above the link. WINDOW_REACH was chosen on the training part of the bundled traces, with ladders of 20
 * and 32 levels up to 4, 12 and 40 Mbit/s. From 1 to 2 the mean QoE of the six profiles differs by at
 * most 0.4 %; with 3 it is up to 0.7 % lower. With 1.5 it is 0.5 % (4 Mbit/s) to 1.8 % (40 Mbit/s)
 * above that of the same 20 levels thinned to 12.
 *
 * Levels 0 .. top are candidates, at least FEAT_LEVELS. Of them levels that are not listed above are
 * removed one by one until FEAT_LEVELS are left: the one whose neighbours have the smallest ratio
 * R_next / R_previous, the lowest of equal ones. That leaves about equal steps of log bitrate. It needs
 * divisions and comparisons only, so C and the page (web/lib/window.js) choose the same levels to the
 * bit.
 *
 * Guard, first level, abandon and the classical rules work on the whole ladder. A window is a function
 * of the view and of the offered levels, so that a learner's replay gives the same one.
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_WINDOW_H
#define ABR_WINDOW_H

#include "abr/emulator/feat.h"

#define WINDOW_REACH 1.5

struct window {
    int n; /* 0: the ladder has at most FEAT_LEVELS levels, all are seen; else FEAT_LEVELS */
    uint8_t level[FEAT_LEVELS]; /* of the ladder, ascending; n > 0 */
    struct view view;           /* n > 0 */
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

/* feat_observe of what a policy sees when all levels are offered. Not for feat_rolled layouts. */
void window_observe(float *obs, enum feat_layout layout, const struct view *v);

#endif
