#include "lab/merge/merge_guess.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { V = MERGE_TASKS, SESSIONS = 8, C = MERGE_CONTENTS };

/* Session s shows s % V in one input, or nothing. */
static float *observations(float *obs, bool telling)
{
    memset(obs, 0, SESSIONS * FEAT_FULL_DIM * sizeof *obs);
    for (int s = 0; s < SESSIONS && telling; s++)
        obs[s * FEAT_FULL_DIM + s % V] = 1;
    return obs;
}

static const float EVEN[V] = {.25f, .25f, .25f, .25f};

START_TEST(contents_have_their_viewers)
{
    float obs[SESSIONS * FEAT_FULL_DIM];
    struct merge_guess *g =
        merge_guess_new(observations(obs, false), SESSIONS, .8, 1, NULL);
    struct rng r;
    rng_init(&r, 2, 0);
    int own = 0;
    double sum = 0;
    for (int i = 0; i < 4000; i++)
        own += merge_guess_draw(g, 2, &r) % V == 2;
    ck_assert_double_eq_tol(own / 4000.0, .85, .03); /* .8 + .2 / 4 */
    for (int c = 0; c < C; c++)
        sum += merge_guess_share(g, 2, c);
    ck_assert_double_eq_tol(sum, 1, 1e-12);
    ck_assert_double_eq_tol(merge_guess_share(g, 2, 6), .8 / 10 + .2 / 40, 1e-12);
    ck_assert_double_eq_tol(merge_guess_share(g, 2, 7), .2 / 40, 1e-12);
    merge_guess_free(g);
}
END_TEST

START_TEST(counts_by_hand)
{
    float obs[SESSIONS * FEAT_FULL_DIM];
    struct merge_guess *g =
        merge_guess_new(observations(obs, false), SESSIONS, .8, 1, NULL);
    double q[V];
    const float psi[V] = {.1f, .6f, .2f, .1f};
    merge_guess_begin(g, psi);
    ck_assert_int_eq(merge_guess_who(q, g, 0, 5), 1); /* the mix is all that is known */
    ck_assert_double_eq_tol(q[1], .6, 1e-6);
    for (int i = 0; i < 8; i++)
        merge_guess_learn(g, i, 5, i < 6 ? 0 : 3);
    ck_assert_int_eq(merge_guess_who(q, g, 0, 5), 1); /* not before the next slot */
    merge_guess_begin(g, psi);
    ck_assert(!merge_guess_sees(g)); /* all observations are the same */
    ck_assert_int_eq(merge_guess_who(q, g, 3, 5), 0);
    ck_assert_double_eq_tol(q[0], (6 + 2 * .1) / 10, 1e-6);
    ck_assert_double_eq_tol(q[3], (2 + 2 * .1) / 10, 1e-6);
    ck_assert_int_eq(merge_guess_who(q, g, 3, 6), 1);
    merge_guess_free(g);
}
END_TEST

START_TEST(observations_are_used_when_they_tell)
{
    float obs[SESSIONS * FEAT_FULL_DIM];
    struct merge_guess *g =
        merge_guess_new(observations(obs, true), SESSIONS, .8, 1, NULL);
    double q[V];
    for (int i = 0; i < 800; i++)
        merge_guess_learn(g, i % SESSIONS, i % C, i % SESSIONS % V);
    merge_guess_begin(g, EVEN);
    ck_assert(merge_guess_sees(g));
    for (int s = 0; s < SESSIONS; s++) {
        ck_assert_int_eq(merge_guess_who(q, g, s, 39 - s % V), s % V);
        double sum = 0;
        for (int v = 0; v < V; v++)
            sum += q[v];
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    }
    merge_guess_free(g);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return merge_guess_new(ctx, SESSIONS, .5, 1, e);
}

static void drop(void *made)
{
    merge_guess_free(made);
}

START_TEST(without_memory)
{
    float obs[SESSIONS * FEAT_FULL_DIM] = {0};
    ck_assert_int_ge(alloc_each_fails(make, drop, obs), 4);
}
END_TEST

Suite *suite_lab_merge_merge_guess(void);
Suite *suite_lab_merge_merge_guess(void)
{
    Suite *s = suite_create("lab/merge_guess");
    TCase *t = tcase_create("lab/merge_guess");
    tcase_add_test(t, contents_have_their_viewers);
    tcase_add_test(t, counts_by_hand);
    tcase_add_test(t, observations_are_used_when_they_tell);
    tcase_add_test(t, without_memory);
    suite_add_tcase(s, t);
    return s;
}
