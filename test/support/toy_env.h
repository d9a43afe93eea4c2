/* toy_env.h - the smallest environment that can be learned, for tests of the learner.
 *
 * A context 0 .. 2 is shown one-hot (and a fourth entry of 1); the action that names it
 * earns `scale`, any other 0. Action 3 exists but is masked. Even ids end after 7 steps,
 * odd ids are cut there. Tag: 1 for context 2, else 0. Privileged: the context as a
 * number, and how many steps are left. Advice: the action that earns. */
#ifndef TEST_TOY_ENV_H
#define TEST_TOY_ENV_H

#include "rl/env.h"

#include "base/err.h"

#define TOY_OBS 4
#define TOY_PRIV 2
#define TOY_ACTIONS 4

/* ctx: const float * scale, or NULL for 1; the signature that rollout_new takes */
struct env toy_env_make(void *ctx, uint64_t id, struct err *e);

#endif
