#include "lab/gates/finetune.h"

#include "support/alloc.h"
#include "support/small_tasks.h"
#include "support/suites.h"

#include <string.h>

static const struct finetune_cfg CFG = {
    .encoder = {SIDE, 2, 8, 2, 1, 12}, .epochs = 40, .batch = 32, .lr = .01};

static struct small_tasks *world(void)
{
    return small_tasks(&CFG.encoder);
}

/* after a task it knows that task and, of all tasks, not much more */
TEST(it_learns_and_forgets)
{
    struct small_tasks *w = world();
    struct rng r;
    rng_init(&r, 2, 2);
    struct finetune *f = finetune_new(&CFG, w->theta, &w->s, r, NULL, NULL);
    struct continual_learner l = finetune_learner(f);
    struct continual_result out;
    float before[PARAMS];
    memcpy(before, w->theta, sizeof before);
    ck_assert(!continual_run(&out, &w->s, &l));
    for (int t = 0; t < CONTINUAL_TASKS; t++)
        ck_assert_double_ge(out.blind.s[t][t], .9);
    ck_assert_double_ge(continual_fm(&out.blind), .5);
    ck_assert_double_ge(continual_told(&out), continual_fa(&out.blind));
    ck_assert_mem_eq(before, w->theta, sizeof before);
    finetune_free(f);
}

TEST(pretraining_learns_all_classes)
{
    struct small_tasks *w = world();
    struct rng r;
    rng_init(&r, 2, 3);
    float theta[PARAMS];
    double accuracy;
    memcpy(theta, w->theta, sizeof theta);
    ck_assert_int_eq(
        finetune_pretrain(theta, &accuracy, &CFG, &w->all[0], &w->all[1], r, NULL, NULL),
        0);
    ck_assert_double_ge(accuracy, .9);
    ck_assert_mem_ne(theta, w->theta, encoder_params(&CFG.encoder) * sizeof *theta);
}

static bool stop(void *ctx, double share)
{
    (void)share;
    return ++*(int *)ctx == 2;
}

TEST(it_stops_when_asked)
{
    struct small_tasks *w = world();
    struct rng r;
    int calls = 0;
    const struct lab_tick tick = {stop, &calls, 0, 0};
    double accuracy;
    rng_init(&r, 2, 2);
    float theta[PARAMS];
    memcpy(theta, w->theta, sizeof theta);
    ck_assert_int_eq(finetune_pretrain(theta, &accuracy, &CFG, &w->s.task[0].train,
                                       &w->s.task[0].test, r, &tick, NULL),
                     1);
    ck_assert_mem_eq(theta, w->theta, sizeof theta);
    calls = 0;
    struct finetune *f = finetune_new(&CFG, w->theta, &w->s, r, &tick, NULL);
    struct continual_learner l = finetune_learner(f);
    ck_assert(l.learn(l.self, 0));
    finetune_free(f);
}

static void *make(void *ctx, struct err *e)
{
    struct rng r;
    rng_init(&r, 2, 2);
    struct small_tasks *w = ctx;
    return finetune_new(&CFG, w->theta, &w->s, r, NULL, e);
}

static void destroy(void *made)
{
    finetune_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, world()), 1 + 2 + 1);
}

SUITE(lab_gates_finetune, it_learns_and_forgets, pretraining_learns_all_classes,
      it_stops_when_asked, without_memory_it_says_so);
