#include "abr/recorded/replay_bias.h"

#include <math.h>

#include "base/rng.h"
#include "support/suites.h"

enum { N = 80 };
static int arm[N];
static double y[N], old[N], new[N];

/* 40 sessions each. y is 1 in the control and 4 in the arm; replays say 1 and 3. */
static struct replay_bias_in by_hand(void)
{
    for (int i = 0; i < N; i++) {
        arm[i] = i % 2;
        y[i] = arm[i] ? 4 : 1;
        old[i] = 1;
        new[i] = 3;
    }
    return (struct replay_bias_in){.n = N, .arm = arm, .y = y, .p = {old, new}};
}

TEST(differences_by_hand)
{
    struct replay_bias b;
    struct replay_bias_in in = by_hand();
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert(b.known);
    ck_assert_double_eq_tol(b.predicted.mean, 2, 1e-12);
    ck_assert_double_eq_tol(b.observed.mean, 3, 1e-12);
    ck_assert_double_eq_tol(b.bias.mean, -1, 1e-12);
    ck_assert_double_eq_tol(b.bias.lo, -1, 1e-12); /* nothing varies */

    y[0] =
        2; /* one session of the control saw 2: variance of y 0.025, and of its mean 0.025 / 40 */
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert_double_eq_tol(b.observed.mean, 3 - 1 / 40., 1e-12);
    ck_assert_double_eq_tol(b.observed.hi - b.observed.mean, 2.0215 * sqrt(.025 / 40),
                            1e-4);
    y[0] = 1;

    in.p[0] = NULL; /* the player's own: over its 40 sessions, 3 - 1 */
    new[1] = 100;   /* of a session of the arm: not used */
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert_double_eq_tol(b.predicted.mean, 2, 1e-12);
    in.p[0] = old; /* the arm is the player's own: over its 40 sessions, 4 - 1 */
    in.p[1] = NULL;
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert_double_eq_tol(b.predicted.mean, 3, 1e-12);
    ck_assert_double_eq_tol(b.bias.mean, 0, 1e-12);
    in.p[0] = NULL; /* both */
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert(!b.known);
    ck_assert_double_eq_tol(b.observed.mean, 3, 1e-12);

    in =
        by_hand(); /* a session in another arm counts for the prediction, one in none does not */
    arm[0] = 2;
    arm[2] = -1;
    new[0] = 3 + 79;
    new[2] = 1e9;
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert_double_eq_tol(b.predicted.mean, 3, 1e-12); /* 2 + 79 / 79 */
    ck_assert_int_eq(b.sessions[0], 38);
    for (int i = 0; i < 20; i++)
        arm[2 * i] = -1;
    ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
    ck_assert(!b.known && b.predicts); /* 18 sessions of the control are too few */

    in = by_hand(); /* an arm that has not run, at the control's place of the others */
    in.p[8] = new;
    ck_assert_int_eq(replay_bias(&b, &in, 8, NULL), 0);
    ck_assert(b.predicts && !b.known && isnan(b.bias.mean));
    ck_assert_double_eq_tol(b.predicted.mean, 2, 1e-12);
}

TEST(the_worst_of_the_arms_that_ran)
{
    struct replay_bias b[3] = {{.bias = {1, -1, 3}, .known = true},
                               {.bias = {-2, -5, 1}, .known = true},
                               {.bias = {9, 9, 9}}};
    struct replay_bias w = replay_bias_worst(b, 3);
    ck_assert(w.known);
    ck_assert_double_eq(w.bias.mean, -2);
    ck_assert_double_eq(w.bias.lo, -5);
    ck_assert_double_eq(w.bias.hi, 3);
    ck_assert(!replay_bias_worst(b + 2, 1).known);
    ck_assert_double_eq(replay_bias_clip(7, COMPARE_STALL_RATIO), .05);
    ck_assert(isnan(replay_bias_clip((double)NAN, COMPARE_STARTUP)));
}

/* Sessions with noise that is shared by what was seen and what is replayed: in 400 trials the intervals
 * cover the true bias, -0.5. */
TEST(intervals_cover)
{
    int covered = 0, of = 400;
    struct rng r;
    rng_init(&r, 5, 0);
    for (int t = 0; t < of; t++) {
        for (int i = 0; i < N; i++) {
            double link = rng_normal(&r) * 3;
            arm[i] = i < 30 || (i < 60 ? 0 : rng_uniform(&r) < .5);
            old[i] = link + rng_normal(&r) * .3;
            new[i] = link + 1 + rng_normal(&r) * .3;
            y[i] = link + (arm[i] ? 1.5 : 0);
        }
        struct replay_bias b;
        struct replay_bias_in in = {.n = N, .arm = arm, .y = y, .p = {old, new}};
        ck_assert_int_eq(replay_bias(&b, &in, 1, NULL), 0);
        covered += b.bias.lo <= -.5 && b.bias.hi >= -.5;
    }
    ck_assert_int_ge(covered, of * 92 / 100);
    ck_assert_int_lt(covered, of * 99 / 100); /* nor are they too wide */
}

SUITE(abr_recorded_replay_bias, differences_by_hand, the_worst_of_the_arms_that_ran,
      intervals_cover);
