/* cap.h - a cap on the bitrate: a decision sees only the levels up to it.
 *
 * A page or a player may forbid the upper levels of a ladder: a data saver, a small window, a limit of
 * the device. The view is cut to the allowed levels before anything decides, so the policy plans with
 * what it may take. A last level above the cap becomes the highest level that is left; last_points
 * still says what the viewer saw. At least two levels stay in the view, since a policy compares levels;
 * cap_levels says how many of them may be taken.
 *
 * A decision under a cap is never sampled: the learner replays a session with its whole ladder.
 *
 * Threads: pure functions. */
#ifndef ABR_CAP_H
#define ABR_CAP_H

#include "abr/emulator/view.h"

/* Levels of the view up to max_kbps, at least 1; all if max_kbps is 0, which is no cap. A bitrate that
 * differs by rounding counts as equal. */
int cap_levels(const struct view *v, double max_kbps);
/* Cuts the view to so many levels, at least 2. */
void cap_view(struct view *v, int levels);

#endif
