#include "lab/forgetting/image_experts.h"

#include "support/alloc.h"
#include "support/glyphs.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { EXPERTS = 3, ROUNDS = 12 };

static struct digits_set *set;

static void setup(void)
{
    set = glyphs_set();
}

static void teardown(void)
{
    digits_set_free(set);
}

static struct image_experts *make(struct err *e)
{
    struct rng r;
    rng_init(&r, 5, 1);
    struct digits_cfg c = glyphs_cfg();
    return image_experts_new(set, &c, EXPERTS, &r, e);
}

static float *weights(const struct image_experts *x, int m)
{
    return x->weights + (size_t)m * digits_expert(x->digits);
}

/* Twelve rounds, and the figures written out: every error measured anew, every round summed up. */
TEST(figures_are_those_of_errors_measured_anew)
{
    struct image_experts *x = make(NULL);
    ck_assert(isnan(image_experts_error(x)));
    struct rng r;
    rng_init(&r, 6, 1);
    int task[ROUNDS], expert[ROUNDS];
    double at_once[ROUNDS];
    for (int t = 0; t < ROUNDS; t++) {
        struct digits_round round;
        task[t] = (int)rng_below(&r, (uint32_t)x->tally.tasks);
        expert[t] = (int)rng_below(&r, EXPERTS);
        digits_draw(&round, x->digits, task[t], &r);
        double moved = image_experts_learn(x, expert[t], &round, true);
        ck_assert_double_ge(moved, 0);
        at_once[t] = digits_error(weights(x, expert[t]), x->digits, task[t]);

        double g = 0, f = 0;
        for (int i = 0; i <= t; i++) {
            double now = digits_error(weights(x, expert[i]), x->digits, task[i]);
            g += now / (t + 1);
            f += t ? (now - at_once[i]) / t : 0;
        }
        ck_assert_double_eq_tol(image_experts_error(x), g, 1e-12);
        if (t)
            ck_assert_double_eq_tol(image_experts_forgot(x), f, 1e-12);
        else
            ck_assert(isnan(image_experts_forgot(x)));
    }
    image_experts_free(x);
}

/* One that knows its round does not move, and is not measured again: an error that is put in its
 * place stays. One that moves is. */
TEST(who_has_not_moved_is_not_measured_again)
{
    struct image_experts *x = make(NULL);
    struct rng r;
    rng_init(&r, 6, 1);
    struct digits_round round;
    digits_draw(&round, x->digits, 0, &r);
    double moved = 1;
    for (int i = 0; i < 50 && moved > 0; i++)
        moved = image_experts_learn(x, 1, &round, true);
    ck_assert_double_eq(moved, 0);
    x->error[1] = 7; /* task 0, expert 1 */
    image_experts_learn(x, 1, &round, true);
    ck_assert_double_eq(image_experts_error(x), 7);

    float *w = weights(x, 1);
    memset(w, 0,
           digits_expert(x->digits) * sizeof *w); /* all names alike: it has to learn */
    ck_assert_double_gt(image_experts_learn(x, 1, &round, true), 0);
    ck_assert_double_le(image_experts_error(x), 1);
    image_experts_free(x);
}

TEST(all_begin_alike_and_each_learns_for_itself)
{
    struct image_experts *x = make(NULL);
    size_t n = digits_expert(x->digits) * sizeof(float);
    ck_assert_mem_eq(weights(x, 0), weights(x, 1), n);
    ck_assert_mem_eq(weights(x, 0), weights(x, 2), n);
    struct rng r;
    rng_init(&r, 6, 1);
    struct digits_round round;
    digits_draw(&round, x->digits, 2, &r);
    ck_assert_double_gt(image_experts_learn(x, 1, &round, false), 0);
    ck_assert_mem_eq(weights(x, 0), weights(x, 2), n);
    ck_assert_mem_ne(weights(x, 0), weights(x, 1), n);
    ck_assert_int_eq(image_experts_habit(x, 1), 2);
    ck_assert_int_eq(image_experts_habit(x, 0), 0); /* nothing yet: the first */
    ck_assert_double_eq(image_experts_error(x),
                        digits_error(weights(x, 1), x->digits, 2));
    image_experts_free(x);
}

TEST(the_habit_is_what_was_learned_most_often)
{
    struct image_experts *x = make(NULL);
    static const int task[] = {2, 1, 2, 1, 0};
    for (int i = 0; i < 5; i++)
        recall_tally_add(&x->tally, task[i], 0, 0);
    ck_assert_int_eq(image_experts_habit(x, 0), 1); /* of two the first */
    recall_tally_add(&x->tally, 2, 0, 0);
    ck_assert_int_eq(image_experts_habit(x, 0), 2);
    image_experts_free(x);
}

static void *make_one(void *ctx, struct err *e)
{
    (void)ctx;
    return make(e);
}

static void destroy(void *made)
{
    image_experts_free(made);
}

TEST(memory_runs_out)
{
    ck_assert_int_ge(alloc_each_fails(make_one, destroy, NULL), 3);
}

SUITE_SET_UP(lab_forgetting_image_experts, 0, setup, teardown,
             figures_are_those_of_errors_measured_anew,
             who_has_not_moved_is_not_measured_again,
             all_begin_alike_and_each_learns_for_itself,
             the_habit_is_what_was_learned_most_often, memory_runs_out);
