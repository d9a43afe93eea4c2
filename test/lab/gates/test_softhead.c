#include "lab/gates/softhead.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>

/* all weights 0: ln 3 over three classes, ln 2 over two of them */
TEST(at_first_all_are_as_likely)
{
    struct softhead *h = softhead_new(2, 3, 4, NULL);
    const float x[4] = {1, 2, -1, 1};
    const int label[2] = {0, 2};
    ck_assert_double_eq_tol(softhead_loss(h, NULL, x, label, 7, 2), log(3), 1e-6);
    ck_assert_double_eq_tol(softhead_loss(h, NULL, x, label, 5, 2), log(2), 1e-6);
    softhead_free(h);
}

/* Adam's first step is lr in every weight that has a gradient, against its sign; so class 1,
 * whose feature is 1 with label 1, has w = b = .1, class 0 -.1, and class 2 is not asked */
TEST(a_step_by_hand)
{
    struct softhead *h = softhead_new(1, 3, 4, NULL);
    const float x[1] = {1};
    const int one[1] = {1}, two[1] = {2};
    float dx[1];
    ck_assert_double_eq_tol(softhead_learn(h, dx, x, one, 3, 1, .1), log(2), 1e-6);
    ck_assert_double_eq((double)dx[0], 0); /* of weights that were 0 */
    /* logits -.2, .2, 0 */
    ck_assert_double_eq_tol(softhead_loss(h, dx, x, one, 3, 1), log(1 + exp(-.4)), 1e-5);
    double p1 = 1 / (1 + exp(-.4));
    ck_assert_double_eq_tol((double)dx[0], (1 - p1) * -.1 + (p1 - 1) * .1, 1e-5);
    ck_assert_double_eq_tol(softhead_loss(h, NULL, x, two, 7, 1),
                            log(exp(-.2) + exp(.2) + 1), 1e-5);
    softhead_free(h);
}

/* two corners of a plane, and a third class that is never asked */
TEST(it_learns_to_tell_them)
{
    struct softhead *h = softhead_new(2, 3, 4, NULL);
    const float x[8] = {1, 0, 1, .2f, -1, 0, -1, -.2f};
    const int label[4] = {0, 0, 1, 1};
    for (int t = 0; t < 50; t++)
        softhead_learn(h, NULL, x, label, 3, 4, .1);
    int got[4];
    softhead_classify(h, got, x, 7, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(got[i], label[i]);
    softhead_classify(h, got, x, 4, 4);
    ck_assert_int_eq(got[0], 2);
    softhead_free(h);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return softhead_new(2, 3, 4, e);
}

static void destroy(void *made)
{
    softhead_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 1);
}

SUITE(lab_gates_softhead, at_first_all_are_as_likely, a_step_by_hand,
      it_learns_to_tell_them, without_memory_it_says_so);
