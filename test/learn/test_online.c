#include "learn/online.h"

#include "support/suites.h"

#include "support/alloc.h"
#include "support/toy_env.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct policy *make_policy(void)
{
    struct policy_cfg c = policy_cfg_default(TOY_OBS);
    c.actions = TOY_ACTIONS;
    c.hidden = c.critic_hidden = 8;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 2);
    return p;
}

static struct online_cfg small(void)
{
    struct online_cfg c = online_cfg_default();
    c.ppo.lr = c.ppo.critic_lr = 5e-3;
    c.ppo.minibatch = 64;
    c.ppo.entropy = 0;
    c.batch = 128;
    c.capacity = 256;
    c.max_age = 2;
    c.tolerance = .2;
    return c;
}

static struct online *start(const struct online_cfg *c, const struct policy *p,
                            double (*check)(void *, const struct policy *), void *ctx)
{
    struct online *o = online_new(c, p, check, ctx, NULL);
    ck_assert_ptr_nonnull(o);
    return o;
}

/* A viewer of the toy world, who plays with the policy it is given. */
struct viewer {
    struct toy_viewer at;
    const struct policy *by;
    struct policy_ws *ws;
};

static void viewer_init(struct viewer *v, const struct policy *p, uint64_t id)
{
    toy_viewer_init(&v->at, id);
    v->ws = policy_ws_new(&p->cfg, NULL);
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

static struct online_trajectory watch(struct viewer *v, const struct policy *p)
{
    v->by = p;
    return toy_watch(&v->at, by_policy, v, p->version);
}

/* Adds episodes until an update is due; returns their mean reward per step. */
static double feed(struct online *o, struct viewer *v)
{
    double sum = 0;
    int n = 0;
    while (!online_ready(o)) {
        struct online_trajectory t = watch(v, online_policy(o));
        sum += toy_sum(&t);
        n += t.n;
        ck_assert_int_eq(online_add(o, &t), 0);
    }
    return sum / n;
}

static bool equal(const struct policy *a, const struct policy *b)
{
    return !memcmp(a->actor->theta, b->actor->theta, a->actor->n * sizeof(float)) &&
           !memcmp(a->critic->theta, b->critic->theta, a->critic->n * sizeof(float)) &&
           a->ret_mean == b->ret_mean && a->ret_std == b->ret_std &&
           a->version == b->version;
}

START_TEST(improves)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    for (uint64_t id = 0; id < 2; id++) { /* episodes that end, and that are cut */
        struct online *o = start(&c, p, NULL, NULL);
        struct viewer v;
        viewer_init(&v, p, id);
        ck_assert_int_eq(online_update(o), 0); /* nothing there yet */
        double first = feed(o, &v), now = first;
        for (int i = 0; i < 80; i++) {
            ck_assert_int_eq(online_update(o), 1);
            now = feed(o, &v);
        }
        ck_assert_double_lt(first, .5);
        ck_assert_double_gt(now, .9);
        ck_assert_uint_eq(online_policy(o)->version, p->version + 80);
        struct online_stats s;
        online_stats(o, &s);
        ck_assert_uint_eq(s.updates, 80);
        ck_assert_uint_eq(s.rollbacks + s.dropped_old + s.dropped_full, 0);
        ck_assert_uint_ge(s.steps, 80 * 128);
        viewer_release(&v);
        online_free(o);
    }
    policy_free(p);
}
END_TEST

/* One NaN among the rewards: the update is undone, optimiser and all, and the next one
 * works. */
START_TEST(rolls_back_on_nan)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 0);
    feed(o, &v);
    ck_assert_int_eq(online_update(o), 1);

    struct policy *before = policy_clone(online_policy(o), NULL);
    size_t size = online_state_size(o);
    char *state = malloc(size), *after = malloc(size);
    online_state_get(o, state);
    feed(o, &v);
    struct online_trajectory t = watch(&v, online_policy(o));
    v.at.reward[2] = NAN;
    ck_assert_int_eq(online_add(o, &t), 0);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);
    ck_assert(equal(before, online_policy(o)));
    online_state_get(o, after);
    size_t ppo = sizeof(struct online_stats);
    ck_assert_mem_eq(state + ppo, after + ppo, size - ppo);

    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.rollbacks, 1);
    feed(o, &v);
    ck_assert_int_eq(online_update(o), 1);
    free(after);
    free(state);
    policy_free(before);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* gives the scores it was told to, in order */
struct script {
    double score[8];
    int at;
};

static double scripted(void *ctx, const struct policy *p)
{
    (void)p;
    struct script *s = ctx;
    return s->score[s->at++];
}

/* Tolerance .2, a share: from 1.0 to .9 is kept, to .75 is not, 1.5 raises the bar, 1.15 is then
 * too low; NaN is never good enough. */
START_TEST(rolls_back_on_a_worse_check)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct script script = {.score = {1.0, .9, .75, 1.5, 1.15, NAN, 1.4}};
    const int want[] = {1, ERR_NUMERIC, 1, ERR_NUMERIC, ERR_NUMERIC, 1};
    struct online *o = start(&c, p, scripted, &script);
    struct viewer v;
    viewer_init(&v, p, 0);
    for (int i = 0; i < 6; i++) {
        struct policy *before = policy_clone(online_policy(o), NULL);
        feed(o, &v);
        ck_assert_int_eq(online_update(o), want[i]);
        ck_assert_int_eq(equal(before, online_policy(o)), want[i] < 0);
        policy_free(before);
    }
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.updates, 3);
    ck_assert_uint_eq(s.rollbacks, 3);
    ck_assert_double_eq(s.check_best, 1.5);
    ck_assert_double_eq(s.check_score, 1.4);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

START_TEST(old_trajectories_are_dropped)
{
    struct policy *p = make_policy();
    struct online_cfg c = small(); /* max_age 2 */
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 0);
    for (int i = 0; i < 3; i++) {
        feed(o, &v);
        ck_assert_int_eq(online_update(o), 1);
    }
    struct online_trajectory t = watch(&v, online_policy(o));
    t.version = p->version; /* three versions ago */
    ck_assert_int_eq(online_add(o, &t), ERR_CONFLICT);
    t.version++;
    ck_assert_int_eq(online_add(o, &t), 0);
    t.version = UINT64_MAX; /* not an old one: of whom nobody knows how old it is */
    ck_assert_int_eq(online_add(o, &t), 0);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.dropped_old, 1);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

START_TEST(a_full_buffer_drops)
{
    struct policy *p = make_policy();
    struct online_cfg c = small(); /* 256 = 36 episodes of 7, and 4 steps */
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 0);
    struct online_trajectory t = watch(&v, p);
    for (int i = 0; i < 36; i++)
        ck_assert_int_eq(online_add(o, &t), 0);
    ck_assert_int_eq(online_add(o, &t), ERR_FULL);
    t.n = 4;
    ck_assert_int_eq(online_add(o, &t), 0);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.dropped_full, 1);
    ck_assert_uint_eq(s.steps, 256);
    ck_assert_int_eq(online_update(o), 1); /* takes them all and makes room */
    ck_assert_int_eq(online_add(o, &t), 0);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

START_TEST(scores_may_fall_by_a_share)
{
    struct online_cfg c = {.tolerance = .03};
    ck_assert_double_eq_tol(online_lowest(&c, 2), 1.94, 1e-12);
    ck_assert_double_eq_tol(online_lowest(&c, -2), -2.06, 1e-12);
    ck_assert_double_eq_tol(online_lowest(&c, 0), -.003, 1e-12); /* of .1 */
}
END_TEST

/* 20 steps of one client: two episodes of 7. What others and unknown ones give is taken. */
START_TEST(one_client_gives_no_more_than_its_part)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    c.client_max = 20;
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 0);
    struct online_trajectory t = watch(&v, p);
    ck_assert_int_eq(t.n, 7);
    t.client = 5;
    ck_assert_int_eq(online_add(o, &t), 0);
    ck_assert_int_eq(online_add(o, &t), 0);
    ck_assert_int_eq(online_add(o, &t), ERR_FULL);
    t.client = 6;
    ck_assert_int_eq(online_add(o, &t), 0);
    t.client = 0;
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(online_add(o, &t), 0);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.dropped_client, 1);
    ck_assert_uint_eq(s.dropped_full, 0);
    ck_assert_int_eq(online_update(o), 1);
    t = watch(&v, p);
    t.client = 5; /* the next batch */
    ck_assert_int_eq(online_add(o, &t), 0);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* Three in ten episodes claim rewards `factor` times too large: the spread of returns that the
 * policy believes in after an update. */
static double spread_with_lies(double factor, double sigmas, uint64_t *bounded)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    c.sigmas = sigmas;
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 0);
    for (int i = 0; !online_ready(o); i++) {
        struct online_trajectory t = watch(&v, p);
        float reward[16];
        for (int k = 0; k < t.n; k++)
            reward[k] = (float)((i % 10 < 3 ? factor : 1) * (double)t.reward[k]);
        t.reward = reward;
        ck_assert_int_eq(online_add(o, &t), 0);
    }
    (void)online_update(o);
    struct online_stats s;
    online_stats(o, &s);
    *bounded = s.bounded;
    double spread = online_policy(o)->ret_std;
    viewer_release(&v);
    online_free(o);
    policy_free(p);
    return spread;
}

START_TEST(what_is_claimed_weighs_no_more_than_a_bound)
{
    uint64_t honest, lies, open;
    double without = spread_with_lies(1, 5, &honest);
    double bound = spread_with_lies(1e6, 5, &lies);
    double unbound = spread_with_lies(1e6, 0, &open);
    ck_assert_uint_gt(lies, honest);
    ck_assert_uint_eq(open, 0);
    ck_assert(isfinite(bound));
    ck_assert_msg(bound < 30 * without, "%g, %g without lies", bound, without);
    ck_assert_msg(unbound > 1e3 * without, "%g, %g without lies", unbound, without);
}
END_TEST

/* Saved after an update and taken up by another: the same next update. */
START_TEST(state_round_trip)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct online *a = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 1);
    feed(a, &v);
    ck_assert_int_eq(online_update(a), 1);
    size_t size = online_state_size(a);
    char *state = malloc(size);
    online_state_get(a, state);
    struct online *b = start(&c, online_policy(a), NULL, NULL);
    ck_assert_int_eq(online_state_put(b, state, size - 1, NULL), ERR_CORRUPT);
    ck_assert_int_eq(online_state_put(b, state, size, NULL), 0);

    while (!online_ready(a)) {
        struct online_trajectory t = watch(&v, online_policy(a));
        ck_assert_int_eq(online_add(a, &t), 0);
        ck_assert_int_eq(online_add(b, &t), 0);
    }
    ck_assert_int_eq(online_update(a), 1);
    ck_assert_int_eq(online_update(b), 1);
    ck_assert(equal(online_policy(a), online_policy(b)));
    struct online_stats s;
    online_stats(b, &s);
    ck_assert_uint_eq(s.updates, 2);
    free(state);
    viewer_release(&v);
    online_free(b);
    online_free(a);
    policy_free(p);
}
END_TEST

static double steady(void *ctx, const struct policy *p)
{
    (void)p;
    return *(double *)ctx;
}

/* A newer program's exam may give the same weights another score: the bar is moved with it. */
START_TEST(another_exam_moves_the_bar)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    c.tolerance = .03;
    struct viewer v;
    viewer_init(&v, p, 1);
    struct script script = {.score = {.99, 1.0, .98, .5}};
    struct online *a = start(&c, p, scripted, &script);
    const int want[] = {
        1, 1, ERR_NUMERIC};       /* .98 is kept, and .5 is not: they are not what it */
    for (int i = 0; i < 3; i++) { /* says of the weights that are there */
        feed(a, &v);
        ck_assert_int_eq(online_update(a), want[i]);
    }
    size_t size = online_state_size(a);
    char *state = malloc(size);
    online_state_get(a, state);

    double score = .9;
    struct online_stats s;
    /* the state of now, and one from before it held the weights' own score */
    for (size_t n = size; n >= size - 16; n -= 16) {
        struct online *b = start(&c, online_policy(a), steady, &score);
        ck_assert_int_eq(online_state_put(b, state, n, NULL), 0);
        online_stats(b, &s);
        ck_assert_double_eq(s.check_score, .9);
        ck_assert_double_eq_tol(s.check_best, n == size ? .92 : .9, 1e-12);
        feed(b, &v);
        ck_assert_int_eq(online_update(b), 1);
        score = .8;
        feed(b, &v);
        ck_assert_int_eq(online_update(b), ERR_NUMERIC);
        score = .9;
        online_free(b);
    }
    /* the same exam: the same bar */
    score = .98;
    struct online *b = start(&c, online_policy(a), steady, &score);
    ck_assert_int_eq(online_state_put(b, state, size, NULL), 0);
    online_stats(b, &s);
    ck_assert_double_eq(s.check_best, 1);
    online_free(b);
    free(state);
    viewer_release(&v);
    online_free(a);
    policy_free(p);
}
END_TEST

static void *make_online(void *ctx, struct err *e)
{
    struct online_cfg c = small();
    return online_new(&c, ctx, NULL, NULL, e);
}

static void free_online(void *o)
{
    online_free(o);
}

START_TEST(memory)
{
    struct policy *p = make_policy();
    alloc_each_fails(make_online, free_online, p);

    struct online_cfg c = small();
    struct online *o = start(&c, p, NULL, NULL);
    struct viewer v;
    viewer_init(&v, p, 1);
    feed(o, &v);
    alloc_watch();
    int rc = online_update(o);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 1);
    ck_assert_int_eq(calls, 0);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* A judge that says what it is told, and remembers what it was asked. */
struct told {
    enum online_verdict says[8];
    int asked, published, replaced;
    uint32_t challenger; /* the last one */
};

static enum online_verdict told_judge(void *self, const struct policy *p)
{
    struct told *t = self;
    t->challenger = policy_crc32(p);
    return t->says[t->asked++];
}

static void told_publish(void *self)
{
    ((struct told *)self)->published++;
}

static void told_replace(void *self, const struct policy *p)
{
    (void)p;
    ((struct told *)self)->replaced++;
}

static int one_batch(struct online *o, struct viewer *v, const struct policy *p,
                     uint64_t source)
{
    while (!online_ready(o)) {
        struct online_trajectory t = watch(v, p);
        t.version = p->version;
        t.source = source ? source + (uint64_t)online_buffered(o) / 60 : 0;
        ck_assert_int_eq(online_add(o, &t), 0);
    }
    return online_update(o);
}

static double told_score(void *ctx, const struct policy *p)
{
    (void)p;
    return *(const double *)ctx;
}

/* score: what the check gives; NULL: there is no check. */
static struct online *judged_scored(const struct online_cfg *c, struct policy *p,
                                    double *score, struct told *told)
{
    struct online *o = start(c, p, score ? told_score : NULL, score);
    const struct online_judge judge = {told, told_judge, told_publish, told_replace, p};
    online_judge(o, &judge);
    return o;
}

static struct online *judged(const struct online_cfg *c, struct policy *p,
                             struct told *told)
{
    return judged_scored(c, p, NULL, told);
}

START_TEST(what_is_better_nowhere_is_held_and_then_dropped)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct told told = {.says = {ONLINE_EVEN, ONLINE_EVEN, ONLINE_BETTER, ONLINE_EVEN,
                                 ONLINE_EVEN, ONLINE_EVEN, ONLINE_FALLEN}};
    c.hold = 3;
    struct online *o = judged(&c, p, &told);
    struct viewer v;
    viewer_init(&v, p, 1);
    uint32_t first = policy_crc32(p);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
        ck_assert_uint_ne(told.challenger, first);
        ck_assert_uint_eq(policy_crc32(online_policy(o)), first); /* the champion stays */
    }
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), 1);
    uint32_t second = policy_crc32(online_policy(o));
    ck_assert_uint_eq(second, told.challenger);
    ck_assert_uint_eq(policy_version(online_policy(o)), 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    ck_assert_uint_eq(policy_crc32(online_policy(o)), second);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_int_eq(s.judged.holding, 0); /* the third one was too many */
    ck_assert_uint_eq(s.judged.returned, 1);
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0),
                     1); /* back to the beginning */
    ck_assert_uint_eq(policy_crc32(online_policy(o)), first);
    ck_assert_uint_eq(policy_version(online_policy(o)), 2);
    ck_assert_int_eq(told.published, 1);
    ck_assert_int_eq(told.replaced, 2);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* An input is offered with the champion's weights, and taken unless the judge finds it worse. */
START_TEST(an_input_is_taken_unless_it_is_worse)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct told told = {.says = {ONLINE_WORSE, ONLINE_EVEN, ONLINE_EVEN, ONLINE_BETTER,
                                 ONLINE_BETTER, ONLINE_FALLEN}};
    struct online *o = judged(&c, p, &told);
    const float input[] = {1, 2}, other[] = {3};
    uint32_t first = policy_crc32(p);
    ck_assert_int_eq(online_offer(o, input, 2), ERR_NUMERIC);
    ck_assert_int_eq(online_policy(o)->input_n, 0);
    ck_assert_int_eq(online_offer(o, input, 2), 1);
    ck_assert_int_eq(online_policy(o)->input_n, 2);
    ck_assert_mem_eq(online_policy(o)->input, input, sizeof input);
    ck_assert_uint_eq(policy_version(online_policy(o)), 1);
    ck_assert_uint_eq(policy_crc32(online_policy(o)), first);

    struct viewer v;
    viewer_init(&v, p, 1);
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    ck_assert_int_eq(online_offer(o, other, 1), 1); /* the held update goes on with it */
    ck_assert_uint_eq(told.challenger, first);
    ck_assert_uint_eq(policy_crc32(online_policy(o)), first);
    ck_assert_int_eq(online_policy(o)->input_n, 1);
    ck_assert_uint_eq(policy_version(online_policy(o)), 2);
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), 1);
    ck_assert_uint_ne(policy_crc32(online_policy(o)), first);
    ck_assert_int_eq(online_policy(o)->input_n, 1);
    ck_assert_uint_eq(policy_version(online_policy(o)), 3);

    ck_assert_int_eq(online_offer(o, input, 2), 1); /* home: as it began */
    ck_assert_int_eq(online_policy(o)->input_n, 0);
    ck_assert_uint_eq(policy_crc32(online_policy(o)), first);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.judged.offered, 4);
    ck_assert_uint_eq(s.judged.taken, 2);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* The judge refuses, holds in vain, or returns to the first weights: what scored well is not published. */
START_TEST(weights_that_are_not_published_raise_no_bar)
{
    static const struct {
        enum online_verdict says;
        double score, bar;
    } rows[] = {{ONLINE_WORSE, 2, 1},   {ONLINE_EVEN, 2, 2},
                {ONLINE_EVEN, 2.5, 1},  {ONLINE_EVEN, 2, 2},
                {ONLINE_WORSE, 3, 2},   {ONLINE_BETTER, 2.5, 2.5},
                {ONLINE_WORSE, 9, 2.5}, {ONLINE_FALLEN, 2.45, 2.45}};
    enum { ROWS = sizeof rows / sizeof *rows };
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct told told = {0};
    double score = 1;
    c.hold = 2;
    c.retries = 0;
    struct online *o = judged_scored(&c, p, &score, &told);
    struct viewer v;
    viewer_init(&v, p, 1);
    for (int i = 0; i < ROWS; i++) {
        told.says[i] = rows[i].says;
        score = rows[i].score;
        ck_assert_int_ne(one_batch(o, &v, online_policy(o), 0), 0);
        struct online_stats s;
        online_stats(o, &s);
        ck_assert_int_eq(told.asked, i + 1);
        ck_assert_double_eq(s.check_best, rows[i].bar);
    }
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* An input that is taken in a hold is published with its own score. It raises the bar for what follows, if the
 * hold ends in vain, too. */
START_TEST(an_input_that_is_taken_in_a_hold_has_its_own_score)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct told told = {.says = {ONLINE_EVEN, ONLINE_EVEN, ONLINE_EVEN, ONLINE_EVEN}};
    double score = 1;
    const float input[] = {1, 2};
    c.hold = 3;
    struct online *o = judged_scored(&c, p, &score, &told);
    struct viewer v;
    viewer_init(&v, p, 1);
    score = 1.3;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    score = 1.2;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    ck_assert_double_eq(online_score(o), 1); /* of the champion */
    score = 1.1;
    ck_assert_int_eq(online_offer(o, input, 2), 1);
    ck_assert_double_eq(online_score(o), 1.1);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_double_eq(s.check_score, 1.1);
    ck_assert_double_eq(s.check_best, 1.3); /* of the held updates */
    ck_assert_int_eq(s.judged.holding, 2);

    score = 1.4;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    online_stats(o, &s);
    ck_assert_uint_eq(s.judged.returned, 1);
    ck_assert_double_eq(s.check_best, 1.1);
    ck_assert_double_eq(online_score(o), 1.1);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* What is saved in a hold belongs to the champion, whose weights are saved: the next update is that of a state
 * from before the hold. The gates' reset is kept. */
START_TEST(a_state_that_is_saved_in_a_hold_is_the_champions)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    struct told told = {.says = {ONLINE_BETTER, ONLINE_EVEN, ONLINE_EVEN}};
    double score = 1;
    c.ppo.gate.locality = 0;
    c.ppo.gate.latch = 0;
    struct online *o = judged_scored(&c, p, &score, &told);
    struct viewer v;
    viewer_init(&v, p, 1);
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), 1);
    size_t size = online_state_size(o);
    char *state[] = {malloc(size), malloc(size)};
    online_state_get(o, state[0]);
    score = 1.3;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    score = 1.2;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 0), ONLINE_HELD);
    online_gate_reset(o);
    online_state_get(o, state[1]);

    score = 1;
    struct online *after[2];
    struct online_stats s;
    for (int i = 0; i < 2; i++) {
        after[i] = start(&c, online_policy(o), told_score, &score);
        ck_assert_int_eq(online_state_put(after[i], state[i], size, NULL), 0);
        online_stats(after[i], &s);
        ck_assert_double_eq(s.check_best, 1);
        ck_assert_int_eq((int)s.gate[PPO_ACTOR].rounds, !i);
    }
    while (!online_ready(after[0])) {
        struct online_trajectory t = watch(&v, online_policy(o));
        ck_assert_int_eq(online_add(after[0], &t), 0);
        ck_assert_int_eq(online_add(after[1], &t), 0);
    }
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(online_update(after[i]), 1);
    ck_assert(equal(online_policy(after[0]), online_policy(after[1])));
    for (int i = 0; i < 2; i++) {
        online_free(after[i]);
        free(state[i]);
    }
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

/* Three sources; the update that is refused is made again with two. */
START_TEST(a_refused_update_is_made_again_without_the_suspect)
{
    struct policy *p = make_policy();
    struct online_cfg c = small();
    c.source_share = 1;
    struct told told = {
        .says = {ONLINE_WORSE, ONLINE_BETTER, ONLINE_WORSE, ONLINE_WORSE, ONLINE_WORSE}};
    struct online *o = judged(&c, p, &told);
    struct viewer v;
    viewer_init(&v, p, 1);
    struct online_stats s;
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 40), 1);
    online_stats(o, &s);
    ck_assert_int_eq(told.asked, 2);
    ck_assert_uint_eq(s.judged.rescued, 1);
    ck_assert_uint_eq(s.rollbacks, 0);
    ck_assert(s.judged.excluded >= 40 && s.judged.excluded <= 43);

    uint32_t before = policy_crc32(online_policy(o));
    ck_assert_int_eq(one_batch(o, &v, online_policy(o), 40), ERR_NUMERIC);
    online_stats(o, &s);
    ck_assert_int_eq(told.asked, 5); /* and without two sources; no further */
    ck_assert_uint_eq(s.rollbacks, 1);
    ck_assert_uint_eq(s.judged.rescued, 1);
    ck_assert_uint_eq(policy_crc32(online_policy(o)), before);
    viewer_release(&v);
    online_free(o);
    policy_free(p);
}
END_TEST

SUITE_WITHIN(learn_online, 60, an_input_is_taken_unless_it_is_worse,
             an_input_that_is_taken_in_a_hold_has_its_own_score,
             a_state_that_is_saved_in_a_hold_is_the_champions,
             weights_that_are_not_published_raise_no_bar,
             what_is_better_nowhere_is_held_and_then_dropped,
             a_refused_update_is_made_again_without_the_suspect, improves,
             rolls_back_on_nan, rolls_back_on_a_worse_check, old_trajectories_are_dropped,
             a_full_buffer_drops, scores_may_fall_by_a_share,
             one_client_gives_no_more_than_its_part,
             what_is_claimed_weighs_no_more_than_a_bound, state_round_trip,
             another_exam_moves_the_bar, memory);
