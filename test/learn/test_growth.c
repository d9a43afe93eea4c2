#include "learn/growth.h"

#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a frozen policy that has learned nothing, and experts beside it */
struct bed {
    struct policy *base, *was;
    struct graft *start;
    struct online_cfg cfg;
};

static void bed_make(struct bed *b, int sigma)
{
    struct policy_cfg c = policy_cfg_default(TOY_OBS);
    c.actions = TOY_ACTIONS;
    c.hidden = c.critic_hidden = 8;
    b->base = policy_new(&c, NULL);
    policy_init(b->base, 2);
    b->base->ret_mean = 1;
    b->base->ret_std = 2;
    b->base->version = 40;
    b->was = policy_clone(b->base, NULL);
    struct graft_cfg gc = {c, 2, (enum norga_sigma)sigma};
    b->start = graft_new(&gc, NULL);
    ck_assert_int_eq(graft_init(b->start, b->base, NULL, 0, 3, NULL), 0);

    b->cfg = online_cfg_default();
    b->cfg.ppo.lr = b->cfg.ppo.critic_lr = 1e-2;
    b->cfg.ppo.minibatch = 64;
    b->cfg.ppo.entropy = 0;
    b->cfg.ppo.target_kl = 0;
    b->cfg.batch = 128;
    b->cfg.capacity = 256;
    b->cfg.max_age = 2;
    b->cfg.tolerance = .2;
}

static void bed_free(struct bed *b)
{
    graft_free(b->start);
    policy_free(b->was);
    policy_free(b->base);
}

static struct growth *start(const struct bed *b,
                            double (*check)(void *, const struct graft *), void *ctx)
{
    struct growth *g = growth_new(&b->cfg, b->base, b->start, check, ctx, NULL);
    ck_assert_ptr_nonnull(g);
    return g;
}

/* A viewer of the toy world, who plays with what has grown. */
struct viewer {
    struct toy_viewer at;
    const struct bed *bed;
    const struct graft *by;
    struct graft_ws *ws;
};

static void viewer_init(struct viewer *v, const struct bed *b, uint64_t id)
{
    toy_viewer_init(&v->at, id);
    v->bed = b;
    v->ws = graft_ws_new(&b->start->cfg, NULL);
    ck_assert_ptr_nonnull(v->ws);
}

static void viewer_release(struct viewer *v)
{
    graft_ws_free(v->ws);
    toy_viewer_release(&v->at);
}

static int by_graft(void *ctx, struct policy_choice *out, const float *obs, uint32_t mask,
                    double u)
{
    struct viewer *v = ctx;
    return graft_decide(out, v->by, v->bed->base, v->ws, obs, mask, u);
}

static struct online_trajectory watch(struct viewer *v, const struct graft *g)
{
    v->by = g;
    return toy_watch(&v->at, by_graft, v, g->version);
}

/* Adds episodes until an update is due; returns their mean reward per step. */
static double feed(struct growth *g, struct viewer *v)
{
    double sum = 0;
    int n = 0;
    while (!growth_ready(g)) {
        struct online_trajectory t = watch(v, growth_graft(g));
        sum += toy_sum(&t);
        n += t.n;
        ck_assert_int_eq(growth_add(g, &t), 0);
    }
    return sum / n;
}

static bool equal(const struct graft *a, const struct graft *b)
{
    return !memcmp(a->actor->theta, b->actor->theta, a->actor->n * sizeof(float)) &&
           !memcmp(a->critic->theta, b->critic->theta, a->critic->n * sizeof(float)) &&
           a->version == b->version;
}

START_TEST(learns_beside_a_policy_that_does_not_move)
{
    struct bed b;
    bed_make(&b, _i);
    for (uint64_t id = 0; id < 2; id++) { /* episodes that end, and that are cut */
        struct growth *g = start(&b, NULL, NULL);
        struct viewer v;
        viewer_init(&v, &b, id);
        ck_assert_int_eq(growth_update(g), 0); /* nothing there yet */
        double first = feed(g, &v), now = first, explained = 0;
        struct growth_stats s;
        for (int i = 0; i < 60; i++) {
            ck_assert_int_eq(growth_update(g), 1);
            now = feed(g, &v);
            growth_stats(g, &s);
            ck_assert_double_lt(s.online.last.first_ratio_error, 1e-4);
            if (i == 0) explained = s.online.last.explained_variance;
        }
        ck_assert_double_lt(first, .5);
        ck_assert_double_gt(now, .9);
        ck_assert_uint_eq(growth_graft(g)->version, 61);
        ck_assert_uint_eq(s.online.updates, 60);
        ck_assert_uint_eq(s.online.rollbacks + s.online.dropped_old, 0);
        ck_assert(s.share > .05 && s.share < 1);
        if (id == 0) { /* how far an episode is does not show: at best V is the mean */
            ck_assert_double_lt(explained, -.3);
            ck_assert_double_gt(s.online.last.explained_variance, -.1);
        }
        const float *shape = growth_graft(g)->actor->theta;
        bool moved = shape[0] != 1.0f && shape[1] != 1.0f;
        ck_assert(moved == (_i != NORGA_LINEAR));
        viewer_release(&v);
        growth_free(g);
    }
    ck_assert(!memcmp(b.base->actor->theta, b.was->actor->theta,
                      b.base->actor->n * sizeof(float)));
    ck_assert(!memcmp(b.base->critic->theta, b.was->critic->theta,
                      b.base->critic->n * sizeof(float)));
    ck_assert(b.base->ret_mean == b.was->ret_mean && b.base->ret_std == b.was->ret_std);
    bed_free(&b);
}
END_TEST

START_TEST(a_and_tau_stand_still_once_frozen)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct growth *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 4; i++) {
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), 1);
    }
    float a = growth_graft(g)->actor->theta[0], tau = growth_graft(g)->critic->theta[1];
    float w = growth_graft(g)->actor->theta[2];
    ck_assert(a != 1.0f && tau != 1.0f);
    growth_freeze_shape(g);
    for (int i = 0; i < 4; i++) {
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), 1);
    }
    ck_assert(growth_graft(g)->actor->theta[0] == a);
    ck_assert(growth_graft(g)->critic->theta[1] == tau);
    ck_assert(growth_graft(g)->actor->theta[2] != w);
    viewer_release(&v);
    growth_free(g);
    bed_free(&b);
}
END_TEST

static double told(void *ctx, const struct graft *g)
{
    double *scores = ctx;
    return g->version == 1 ? scores[0] : scores[1];
}

START_TEST(worse_weights_are_rolled_back_with_the_optimiser)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    double scores[] = {1, 1};
    struct growth *g = start(&b, told, scores);
    struct viewer v;
    viewer_init(&v, &b, 0);
    feed(g, &v);
    ck_assert_int_eq(growth_update(g), 1);

    size_t n = growth_state_size(g);
    char *before = malloc(n), *after = malloc(n);
    struct graft *kept = graft_clone(growth_graft(g), NULL);
    growth_state_get(g, before);
    static const double bad[] = {.79, NAN};
    for (int i = 0; i < 2; i++) {
        scores[1] = bad[i];
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), ERR_NUMERIC);
        ck_assert(equal(growth_graft(g), kept));
    }
    growth_state_get(g, after);
    size_t counts = sizeof(struct growth_stats);
    ck_assert(!memcmp(before + counts, after + counts, n - counts));
    struct growth_stats s;
    growth_stats(g, &s);
    ck_assert_uint_eq(s.online.rollbacks, 2);
    ck_assert_uint_eq(s.online.updates, 1);
    scores[1] = .81; /* within the tolerance */
    feed(g, &v);
    ck_assert_int_eq(growth_update(g), 1);

    /* a reward that is no number */
    struct online_trajectory t = watch(&v, growth_graft(g));
    v.at.reward[0] = NAN;
    graft_copy(kept, growth_graft(g));
    ck_assert_int_eq(growth_add(g, &t), 0);
    feed(g, &v);
    ck_assert_int_eq(growth_update(g), ERR_NUMERIC);
    ck_assert(equal(growth_graft(g), kept));
    free(before), free(after);
    graft_free(kept);
    viewer_release(&v);
    growth_free(g);
    bed_free(&b);
}
END_TEST

START_TEST(another_exam_moves_the_bar)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    b.cfg.tolerance = .03;
    double scores[] = {1, .98}, newer[] = {.9, .9};
    struct growth *g = start(&b, told, scores);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 2; i++) {
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), 1);
    }
    size_t n = growth_state_size(g);
    char *state = malloc(n);
    growth_state_get(g, state);
    struct growth_stats s;
    for (int old = 0; old < 2; old++) { /* of before the weights' own score was kept */
        struct growth *h = growth_new(&b.cfg, b.base, growth_graft(g), told, newer, NULL);
        ck_assert_int_eq(growth_state_put(h, state, old ? n - 8 : n, NULL), 0);
        growth_stats(h, &s);
        ck_assert_double_eq_tol(s.online.check_best, old ? .9 : .92, 1e-12);
        feed(h, &v);
        ck_assert_int_eq(growth_update(h), 1);
        growth_free(h);
    }
    free(state);
    viewer_release(&v);
    growth_free(g);
    bed_free(&b);
}
END_TEST

START_TEST(old_and_too_many_are_refused)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct growth *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 3; i++) {
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), 1);
    }
    struct online_trajectory t = watch(&v, growth_graft(g));
    t.version = 1; /* now 4, two back are allowed */
    ck_assert_int_eq(growth_add(g, &t), ERR_CONFLICT);
    t.version = 2;
    ck_assert_int_eq(growth_add(g, &t), 0);
    int room = (b.cfg.capacity - 7) / 7;
    for (int i = 0; i < room; i++)
        ck_assert_int_eq(growth_add(g, &t), 0);
    ck_assert_int_eq(growth_add(g, &t), ERR_FULL);
    struct growth_stats s;
    growth_stats(g, &s);
    ck_assert_uint_eq(s.online.dropped_old, 1);
    ck_assert_uint_eq(s.online.dropped_full, 1);
    viewer_release(&v);
    growth_free(g);
    bed_free(&b);
}
END_TEST

/* Stopped after two updates and taken up again: the third is the same, bit for bit. */
START_TEST(goes_on_from_its_state)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct growth *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 2; i++) {
        feed(g, &v);
        ck_assert_int_eq(growth_update(g), 1);
    }
    size_t n = growth_state_size(g);
    void *state = malloc(n);
    growth_state_get(g, state);
    graft_copy(b.start, growth_graft(g));
    struct growth *again = start(&b, NULL, NULL);
    struct err e = {0};
    ck_assert_int_eq(growth_state_put(again, state, n - 1, &e), ERR_CORRUPT);
    ck_assert_int_eq(growth_state_put(again, state, n, NULL), 0);

    while (!growth_ready(g)) {
        struct online_trajectory t = watch(&v, growth_graft(g));
        ck_assert_int_eq(growth_add(g, &t), 0);
        ck_assert_int_eq(growth_add(again, &t), 0);
    }
    alloc_watch();
    int rc = growth_update(g);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 1);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(growth_update(again), 1);
    ck_assert(equal(growth_graft(g), growth_graft(again)));
    free(state);
    viewer_release(&v);
    growth_free(again);
    growth_free(g);
    bed_free(&b);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    return growth_new(&b->cfg, b->base, b->start, NULL, NULL, e);
}

static void drop(void *made)
{
    growth_free(made);
}

START_TEST(memory_runs_out)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    alloc_each_fails(make, drop, &b);
    bed_free(&b);
}
END_TEST

Suite *suite_learn_growth(void);
Suite *suite_learn_growth(void)
{
    Suite *s = suite_create("rl/growth");
    TCase *t = tcase_create("rl/growth");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, learns_beside_a_policy_that_does_not_move, 0, 4);
    tcase_add_test(t, a_and_tau_stand_still_once_frozen);
    tcase_add_test(t, worse_weights_are_rolled_back_with_the_optimiser);
    tcase_add_test(t, another_exam_moves_the_bar);
    tcase_add_test(t, old_and_too_many_are_refused);
    tcase_add_test(t, goes_on_from_its_state);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}
