/* trajs.h - trajectories with plausible numbers, drawn from a seed. */
#ifndef TEST_TRAJS_H
#define TEST_TRAJS_H

#include "serve/session/traj.h"

/* n steps, one state more when truncated. */
void trajs_make(struct traj *t, uint64_t seed, int levels, int n, bool truncated);
/* n steps on a link that delivers small chunks more slowly than large ones, which a fit of the forecast learns
 * from some thousand steps. */
void trajs_downloads(struct traj *t, int n, float logp, uint64_t policy);
/* Is what the learner would see of both the same? */
bool trajs_equal(const struct traj *a, const struct traj *b);
bool pasts_equal(const struct view_past *p, const struct view_past *q);

#endif
