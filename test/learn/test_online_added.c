#include "learn/online.h"

#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a frozen policy that has learned nothing, and the same with added experts */
struct bed {
    struct policy *base, *start;
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
    struct policy_added_cfg two = {2, (enum norga_sigma)sigma};
    b->start = policy_clone(b->base, NULL);
    ck_assert_int_eq(policy_add(b->start, &two, NULL, 0, 3, NULL), 0);

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
    policy_free(b->start);
    policy_free(b->base);
}

static struct online *start(const struct bed *b,
                            double (*check)(void *, const struct policy *), void *ctx)
{
    struct online *g = online_new(&b->cfg, b->start, check, ctx, NULL);
    ck_assert_ptr_nonnull(g);
    return g;
}

/* A viewer of the toy world, who plays with what has been learned. */
struct viewer {
    struct toy_viewer at;
    const struct policy *by;
    struct policy_ws *ws;
};

static void viewer_init(struct viewer *v, const struct bed *b, uint64_t id)
{
    toy_viewer_init(&v->at, id);
    v->ws = policy_ws_new(&b->start->cfg, NULL);
    ck_assert_ptr_nonnull(v->ws);
}

static void viewer_release(struct viewer *v)
{
    policy_ws_free(v->ws);
    toy_viewer_release(&v->at);
}

static int by_policy(void *ctx, struct policy_choice *out, const float *obs,
                     uint32_t mask, double u)
{
    struct viewer *v = ctx;
    return policy_decide(out, v->by, v->ws, obs, mask, u);
}

static struct online_trajectory watch(struct viewer *v, const struct policy *g)
{
    v->by = g;
    return toy_watch(&v->at, by_policy, v, policy_version(g));
}

/* Adds episodes until an update is due; returns their mean reward per step. */
static double feed(struct online *g, struct viewer *v)
{
    double sum = 0;
    int n = 0;
    while (!online_ready(g)) {
        struct online_trajectory t = watch(v, online_policy(g));
        sum += toy_sum(&t);
        n += t.n;
        ck_assert_int_eq(online_add(g, &t), 0);
    }
    return sum / n;
}

static bool equal(const struct policy *a, const struct policy *b)
{
    const struct norga *of[2][2] = {{a->added->actor, b->added->actor},
                                    {a->added->critic, b->added->critic}};
    for (int i = 0; i < 2; i++)
        if (memcmp(of[i][0]->theta, of[i][1]->theta, of[i][0]->n * sizeof(float)))
            return false;
    return a->added->version == b->added->version;
}

/* Are the mixture and the scale of its returns those of the base, to the last bit? */
static bool frozen(const struct policy *p, const struct policy *base)
{
    return policy_crc32(p) == policy_crc32(base) && p->ret_mean == base->ret_mean &&
           p->ret_std == base->ret_std && p->version == base->version;
}

START_TEST(learns_on_a_mixture_that_does_not_move)
{
    struct bed b;
    bed_make(&b, _i);
    for (uint64_t id = 0; id < 2; id++) { /* episodes that end, and that are cut */
        struct online *g = start(&b, NULL, NULL);
        struct viewer v;
        viewer_init(&v, &b, id);
        ck_assert_int_eq(online_update(g), 0); /* nothing there yet */
        double first = feed(g, &v), now = first, explained = 0;
        struct online_stats s;
        for (int i = 0; i < 60; i++) {
            ck_assert_int_eq(online_update(g), 1);
            now = feed(g, &v);
            online_stats(g, &s);
            ck_assert_double_lt(s.last.first_ratio_error, 1e-4);
            if (i == 0) explained = s.last.explained_variance;
        }
        ck_assert_double_lt(first, .5);
        ck_assert_double_gt(now, .9);
        ck_assert_uint_eq(policy_version(online_policy(g)), 61);
        ck_assert(frozen(online_policy(g), b.base));
        ck_assert_uint_eq(s.updates, 60);
        ck_assert_uint_eq(s.rollbacks + s.dropped_old, 0);
        ck_assert(online_share(g) > .05 && online_share(g) < 1);
        if (id == 0) { /* how far an episode is does not show: at best V is the mean */
            ck_assert_double_lt(explained, -.3);
            ck_assert_double_gt(s.last.explained_variance, -.1);
        }
        const float *shape = online_policy(g)->added->actor->theta;
        bool moved = shape[0] != 1.0f && shape[1] != 1.0f;
        ck_assert(moved == (_i != NORGA_LINEAR));
        viewer_release(&v);
        online_free(g);
    }
    bed_free(&b);
}
END_TEST

START_TEST(a_and_tau_stand_still_once_frozen)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct online *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 4; i++) {
        feed(g, &v);
        ck_assert_int_eq(online_update(g), 1);
    }
    float a = online_policy(g)->added->actor->theta[0],
          tau = online_policy(g)->added->critic->theta[1];
    float w = online_policy(g)->added->actor->theta[2];
    ck_assert(a != 1.0f && tau != 1.0f);
    online_freeze_shape(g);
    for (int i = 0; i < 4; i++) {
        feed(g, &v);
        ck_assert_int_eq(online_update(g), 1);
    }
    ck_assert(online_policy(g)->added->actor->theta[0] == a);
    ck_assert(online_policy(g)->added->critic->theta[1] == tau);
    ck_assert(online_policy(g)->added->actor->theta[2] != w);
    viewer_release(&v);
    online_free(g);
    bed_free(&b);
}
END_TEST

static double scored(void *ctx, const struct policy *g)
{
    double *scores = ctx;
    return policy_version(g) == 1 ? scores[0] : scores[1];
}

START_TEST(worse_weights_are_rolled_back_with_the_optimiser)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    double scores[] = {1, 1};
    struct online *g = start(&b, scored, scores);
    struct viewer v;
    viewer_init(&v, &b, 0);
    feed(g, &v);
    ck_assert_int_eq(online_update(g), 1);

    size_t n = online_state_size(g);
    char *before = malloc(n), *after = malloc(n);
    struct policy *kept = policy_clone(online_policy(g), NULL);
    online_state_get(g, before);
    static const double bad[] = {.79, NAN};
    for (int i = 0; i < 2; i++) {
        scores[1] = bad[i];
        feed(g, &v);
        ck_assert_int_eq(online_update(g), ERR_NUMERIC);
        ck_assert(equal(online_policy(g), kept));
    }
    online_state_get(g, after);
    size_t counts = sizeof(struct online_stats) + sizeof(double);
    ck_assert(!memcmp(before + counts, after + counts, n - counts));
    struct online_stats s;
    online_stats(g, &s);
    ck_assert_uint_eq(s.rollbacks, 2);
    ck_assert_uint_eq(s.updates, 1);
    scores[1] = .81; /* within the tolerance */
    feed(g, &v);
    ck_assert_int_eq(online_update(g), 1);

    /* a reward that is no number */
    struct online_trajectory t = watch(&v, online_policy(g));
    v.at.reward[0] = NAN;
    policy_copy(kept, online_policy(g));
    ck_assert_int_eq(online_add(g, &t), 0);
    feed(g, &v);
    ck_assert_int_eq(online_update(g), ERR_NUMERIC);
    ck_assert(equal(online_policy(g), kept));
    free(before), free(after);
    policy_free(kept);
    viewer_release(&v);
    online_free(g);
    bed_free(&b);
}
END_TEST

START_TEST(another_exam_moves_the_bar)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    b.cfg.tolerance = .03;
    double scores[] = {1, .98}, newer[] = {.9, .9};
    struct online *g = start(&b, scored, scores);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 2; i++) {
        feed(g, &v);
        ck_assert_int_eq(online_update(g), 1);
    }
    size_t n = online_state_size(g);
    char *state = malloc(n);
    online_state_get(g, state);
    struct online_stats s;
    for (int old = 0; old < 2; old++) { /* of before the weights' own score was kept */
        struct online *h = online_new(&b.cfg, online_policy(g), scored, newer, NULL);
        ck_assert_int_eq(online_state_put(h, state, old ? n - 8 : n, NULL), 0);
        online_stats(h, &s);
        ck_assert_double_eq_tol(s.check_best, old ? .9 : .92, 1e-12);
        feed(h, &v);
        ck_assert_int_eq(online_update(h), 1);
        online_free(h);
    }
    free(state);
    viewer_release(&v);
    online_free(g);
    bed_free(&b);
}
END_TEST

START_TEST(old_and_too_many_are_refused)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct online *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 3; i++) {
        feed(g, &v);
        ck_assert_int_eq(online_update(g), 1);
    }
    struct online_trajectory t = watch(&v, online_policy(g));
    t.version = 1; /* now 4, two back are allowed */
    ck_assert_int_eq(online_add(g, &t), ERR_CONFLICT);
    t.version = 2;
    ck_assert_int_eq(online_add(g, &t), 0);
    int room = (b.cfg.capacity - 7) / 7;
    for (int i = 0; i < room; i++)
        ck_assert_int_eq(online_add(g, &t), 0);
    ck_assert_int_eq(online_add(g, &t), ERR_FULL);
    struct online_stats s;
    online_stats(g, &s);
    ck_assert_uint_eq(s.dropped_old, 1);
    ck_assert_uint_eq(s.dropped_full, 1);
    viewer_release(&v);
    online_free(g);
    bed_free(&b);
}
END_TEST

/* Stopped after two updates and taken up again: the third is the same, bit for bit. */
START_TEST(goes_on_from_its_state)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct online *g = start(&b, NULL, NULL);
    struct viewer v;
    viewer_init(&v, &b, 0);
    for (int i = 0; i < 2; i++) {
        feed(g, &v);
        ck_assert_int_eq(online_update(g), 1);
    }
    size_t n = online_state_size(g);
    void *state = malloc(n);
    online_state_get(g, state);
    policy_copy(b.start, online_policy(g));
    struct online *again = start(&b, NULL, NULL);
    struct err e = {0};
    ck_assert_int_eq(online_state_put(again, state, n - 1, &e), ERR_CORRUPT);
    ck_assert_int_eq(online_state_put(again, state, n, NULL), 0);

    while (!online_ready(g)) {
        struct online_trajectory t = watch(&v, online_policy(g));
        ck_assert_int_eq(online_add(g, &t), 0);
        ck_assert_int_eq(online_add(again, &t), 0);
    }
    alloc_watch();
    int rc = online_update(g);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 1);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(online_update(again), 1);
    ck_assert(equal(online_policy(g), online_policy(again)));
    free(state);
    viewer_release(&v);
    online_free(again);
    online_free(g);
    bed_free(&b);
}
END_TEST

/* What an earlier program, with a PPO of its own for added experts, learned from the same steps. */
START_TEST(learns_as_it_did)
{
    enum { N = 50, LEVELS = TOY_ACTIONS };
    struct bed b;
    bed_make(&b, NORGA_TANH);
    b.cfg.ppo.entropy = .01;
    struct online *o = start(&b, NULL, NULL);
    struct rng r;
    rng_init(&r, 11, 3);
    float obs[N * TOY_OBS], logp[N], reward[N];
    uint32_t mask[N];
    int action[N];
    for (int k = 0; k < 4; k++) {
        while (!online_ready(o)) {
            for (int i = 0; i < N * TOY_OBS; i++)
                obs[i] = (float)rng_normal(&r);
            for (int i = 0; i < N; i++) {
                mask[i] = (1u << LEVELS) - 1;
                action[i] = (int)rng_below(&r, LEVELS);
                logp[i] = -1.386f;
                reward[i] = obs[i * TOY_OBS] > 0 ? (float)(action[i] == 2) : .5f;
            }
            struct online_trajectory t = {.n = N,
                                          .obs = obs,
                                          .mask = mask,
                                          .action = action,
                                          .logp = logp,
                                          .reward = reward,
                                          .tag = 77,
                                          .version = (uint64_t)k + 1};
            ck_assert_int_eq(online_add(o, &t), 0);
        }
        ck_assert_int_eq(online_update(o), 1);
    }
    static const double want[2][3] = {
        {0.962100, 0.959357, 89.13780},
        {0.963391, 0.982513, 108.66895},
    };
    const struct norga *nets[2] = {online_policy(o)->added->actor,
                                   online_policy(o)->added->critic};
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        for (size_t j = 0; j < nets[i]->n; j++)
            sum += fabs((double)nets[i]->theta[j]);
        ck_assert_double_eq_tol((double)nets[i]->theta[0], want[i][0], 1e-4);
        ck_assert_double_eq_tol((double)nets[i]->theta[1], want[i][1], 1e-4);
        ck_assert_double_eq_tol(sum, want[i][2], 1e-2);
    }
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_double_eq_tol(s.last.approx_kl, 0.005338, 1e-4);
    online_free(o);
    bed_free(&b);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    return online_new(&b->cfg, b->start, NULL, NULL, e);
}

static void drop(void *made)
{
    online_free(made);
}

START_TEST(memory_runs_out)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    alloc_each_fails(make, drop, &b);
    bed_free(&b);
}
END_TEST

Suite *suite_learn_online_added(void);
Suite *suite_learn_online_added(void)
{
    Suite *s = suite_create("learn/online_added");
    TCase *t = tcase_create("learn/online_added");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, learns_on_a_mixture_that_does_not_move, 0, 4);
    tcase_add_test(t, a_and_tau_stand_still_once_frozen);
    tcase_add_test(t, worse_weights_are_rolled_back_with_the_optimiser);
    tcase_add_test(t, another_exam_moves_the_bar);
    tcase_add_test(t, old_and_too_many_are_refused);
    tcase_add_test(t, goes_on_from_its_state);
    tcase_add_test(t, learns_as_it_did);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}
