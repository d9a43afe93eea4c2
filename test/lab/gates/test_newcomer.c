#include "lab/gates/newcomer.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <stdbool.h>

enum { STEPS = 4096 };

struct world {
    struct arrivals *arrivals;
    struct policy *base, *was;
};

static struct world make_world(void)
{
    struct world w = {.arrivals = arrivals_new(3, 1, NULL)};
    struct policy_cfg c = newcomer_policy();
    w.base = policy_new(&c, NULL);
    ck_assert_int_eq(newcomer_before(w.base, w.arrivals, STEPS, 1, NULL, NULL), 0);
    w.was = policy_clone(w.base, NULL);
    return w;
}

static void drop_world(struct world *w)
{
    ck_assert_mem_eq(w->base->actor->theta, w->was->actor->theta,
                     sizeof(float) * w->base->actor->n);
    ck_assert_mem_eq(w->base->critic->theta, w->was->critic->theta,
                     sizeof(float) * w->base->critic->n);
    policy_free(w->was);
    policy_free(w->base);
    arrivals_free(w->arrivals);
}

static struct newcomer *start(const struct world *w, enum newcomer_way way)
{
    const struct newcomer_cfg c = {way, STEPS, 3};
    return newcomer_new(&c, w->arrivals, w->base, NULL);
}

static double score(const struct world *w, struct newcomer *n, int kind)
{
    struct arrivals_score s;
    const struct arrivals_decider d = newcomer_decider(n);
    ck_assert_int_eq(arrivals_exam(&s, w->arrivals, kind, 3, NULL, &d, NULL), 0);
    return s.reward;
}

/* Nobody touches the base. A second kind changes what fine-tuning knew of the first, and not by a
 * bit what the others did; before they learn, all decide as the base. */
TEST(a_second_kind)
{
    struct world w = make_world();
    double base = 0;
    for (int way = 0; way < NEWCOMER_WAYS; way++) {
        struct newcomer *n = start(&w, (enum newcomer_way)way);
        double before = score(&w, n, 2);
        if (!way) base = before;
        ck_assert_double_eq(before, base);
        ck_assert_int_eq(newcomer_learn(n, 2, NULL, NULL), 0);
        double learned = score(&w, n, 2);
        ck_assert_int_eq(newcomer_learn(n, 0, NULL, NULL), 0);
        if (way == NEWCOMER_TUNE)
            ck_assert_double_ne(score(&w, n, 2), learned);
        else
            ck_assert_double_eq(score(&w, n, 2), learned);
        bool grows = way == NEWCOMER_LINEAR || way == NEWCOMER_NORGA;
        ck_assert((newcomer_added_experts(n, 2) != NULL) == grows);
        newcomer_free(n);
    }
    drop_world(&w);
}

/* a and tau learn with the first kind and are then the same for all; the linear gate has none */
TEST(the_gates_shape_is_learned_once)
{
    struct world w = make_world();
    struct newcomer *n = start(&w, NEWCOMER_NORGA), *l = start(&w, NEWCOMER_LINEAR);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(newcomer_learn(n, k, NULL, NULL), 0);
        ck_assert_int_eq(newcomer_learn(l, k, NULL, NULL), 0);
    }
    const struct policy_added *a = newcomer_added_experts(n, 0),
                              *b = newcomer_added_experts(n, 1);
    struct mix_range shape = norga_shape(&a->actor->cfg);
    ck_assert_mem_eq(a->actor->theta + shape.at, b->actor->theta + shape.at,
                     sizeof(float) * shape.n);
    ck_assert(a->actor->theta[shape.at] != 1);
    ck_assert(newcomer_added_experts(l, 0)->actor->theta[shape.at] == 1);
    ck_assert_mem_ne(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    newcomer_free(n);
    newcomer_free(l);
    drop_world(&w);
}

static bool stop(void *ctx, double share)
{
    ck_assert(share > 0 && share <= 1.1);
    return ++*(int *)ctx == 1;
}

TEST(it_stops_when_asked)
{
    struct world w = make_world();
    for (int way = 0; way < NEWCOMER_WAYS; way++) {
        int calls = 0;
        const struct lab_tick t = {stop, &calls, 0, 0};
        struct newcomer *n = start(&w, (enum newcomer_way)way);
        ck_assert_int_eq(newcomer_learn(n, 0, &t, NULL), NEWCOMER_STOPPED);
        ck_assert_int_eq(calls, 1);
        newcomer_free(n);
    }
    drop_world(&w);
}

static void *make(void *ctx, struct err *e)
{
    const struct world *w = ctx;
    const struct newcomer_cfg c = {NEWCOMER_NORGA, STEPS, 3};
    return newcomer_new(&c, w->arrivals, w->base, e);
}

static void destroy(void *made)
{
    newcomer_free(made);
}

TEST(without_memory_it_says_so)
{
    struct world w = make_world();
    ck_assert_int_gt(alloc_each_fails(make, destroy, &w), 2);
    drop_world(&w);
}

SUITE(lab_gates_newcomer, a_second_kind, the_gates_shape_is_learned_once,
      it_stops_when_asked, without_memory_it_says_so);
