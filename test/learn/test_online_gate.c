/* Experts that fail alone, experts set aside, and gates, as the online learner deals with them. */
#include "learn/online.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBS = 4, ACTIONS = 3, BATCH = 60 };

static struct policy *make_policy(void)
{
    struct policy_cfg c = policy_cfg_default(OBS);
    c.actions = ACTIONS;
    c.hidden = c.critic_hidden = 8;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 2);
    /* expert k of the actor, and of the critic, has the states whose entry k is 1; the last
     * entry is read by the actor's expert 1 alone, which it may overflow */
    for (int k = 0; k < 3; k++) {
        p->actor->theta[k * OBS + k] = p->critic->theta[k * OBS + k] = 4.0f;
        p->actor->theta[k * OBS + 3] = p->critic->theta[k * OBS + 3] = 0.0f;
        for (size_t unit = 0; unit < 8; unit++) {
            p->actor->theta[mix_expert(&p->actor->cfg, k).at + unit * OBS + 3] =
                k == 1 ? 1e6f : 0.0f;
            p->critic->theta[mix_expert(&p->critic->cfg, k).at + unit * OBS + 3] = 0.0f;
        }
    }
    return p;
}

static struct online_cfg small(void)
{
    struct online_cfg c = online_cfg_default();
    c.batch = BATCH;
    c.capacity = 2 * BATCH;
    c.ppo.minibatch = 20;
    c.ppo.epochs = 2;
    c.quarantine = 2;
    return c;
}

/* A batch of states of every expert; `last` is the fourth entry of those of expert `of`. */
static void feed_stakes(struct online *o, int of, float last, float stakes)
{
    static float obs[BATCH * OBS];
    float logp[BATCH], reward[BATCH];
    uint32_t mask[BATCH];
    int action[BATCH];
    memset(obs, 0, sizeof obs);
    for (int i = 0; i < BATCH; i++) {
        obs[i * OBS + i % 3] = 1.0f;
        obs[i * OBS + 3] = i % 3 == of ? last : 0.0f;
        mask[i] = 7;
        action[i] = i % 4 % 3;
        logp[i] = logf(1.0f / 3);
        reward[i] = action[i] == i % 3 ? stakes : 0.0f;
    }
    struct online_trajectory t = {.n = BATCH,
                                  .obs = obs,
                                  .mask = mask,
                                  .action = action,
                                  .logp = logp,
                                  .reward = reward,
                                  .version = online_policy(o)->version};
    ck_assert_int_eq(online_add(o, &t), 0);
}

static void feed(struct online *o, int of, float last)
{
    feed_stakes(o, of, last, 1.0f);
}

static bool moved(const struct mix *a, const struct mix *b, int expert)
{
    struct mix_range r = mix_expert(&a->cfg, expert);
    return memcmp(a->theta + r.at, b->theta + r.at, r.n * sizeof(float)) != 0;
}

/* Expert 1 meets numbers that overflow in it: it is put back and set aside for two updates,
 * while the others keep what they learned; then it learns again. */
START_TEST(an_expert_that_fails_alone_is_set_aside)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    struct online *o = online_new(&c, start, NULL, NULL, NULL);
    struct online_stats s;
    for (int i = 0; i < 4; i++) {
        struct policy *before = policy_clone(online_policy(o), NULL);
        feed(o, 1, i == 0 ? 3e38f : 0.0f);
        ck_assert_int_eq(online_update(o), 1);
        const struct policy *now = online_policy(o);
        online_stats(o, &s);
        bool aside = i < 2;
        ck_assert_uint_eq(now->actor->busy, aside ? 2 : 0);
        ck_assert_uint_eq(now->critic->busy, 0);
        ck_assert_uint_eq(s.actor_busy, now->actor->busy);
        ck_assert_int_eq(moved(now->actor, before->actor, 1), i > 2);
        ck_assert(moved(now->critic, before->critic, 1));
        if (i) ck_assert(moved(now->actor, before->actor, 0));
        for (size_t k = 0; k < now->actor->n; k++)
            ck_assert(isfinite(now->actor->theta[k]));
        ck_assert_uint_eq(now->version, before->version + 1);
        policy_free(before);
    }
    ck_assert_uint_eq(s.quarantines, 1);
    ck_assert_uint_eq(s.rollbacks, 0);
    ck_assert_uint_eq(s.updates, 4);
    online_free(o);
    policy_free(start);
}
END_TEST

/* When nobody would be left, all is undone as before. */
START_TEST(the_last_idle_expert_is_not_set_aside)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    struct online *o = online_new(&c, start, NULL, NULL, NULL);
    struct err e = {0};
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 5, &e), 0);
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 2, 5, &e), 0);
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 1, 5, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "expert");
    e = (struct err){0};
    ck_assert_int_eq(online_disable_expert(o, PPO_CRITIC, 3, 5, &e), ERR_RANGE);
    ck_assert_int_eq(online_disable_expert(o, PPO_CRITIC, -1, 5, NULL), ERR_RANGE);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 5);
    ck_assert_uint_eq(online_policy(o)->version, start->version + 2);

    struct policy *before = policy_clone(online_policy(o), NULL);
    feed(o, 1, 3e38f);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);
    for (int k = 0; k < 3; k++)
        ck_assert(!moved(online_policy(o)->actor, before->actor, k));
    ck_assert_uint_eq(online_policy(o)->actor->busy, 5);
    struct online_stats s;
    online_stats(o, &s);
    ck_assert_uint_eq(s.rollbacks, 1);
    ck_assert_uint_eq(s.quarantines, 0);

    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 0, NULL), 0);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 4);
    policy_free(before);
    online_free(o);
    policy_free(start);
}
END_TEST

/* Worth 1 with all experts of the actor, `without` when one is aside; or a score of its own at a
 * given call. */
struct worth {
    double without, score;
    int calls, at;
};

static double worth(void *ctx, const struct policy *p)
{
    struct worth *w = ctx;
    if (++w->calls == w->at) return w->score;
    return p->actor->busy ? w->without : 1.0;
}

/* What an expert's absence costs is no fault of the updates that happen meanwhile. */
START_TEST(updates_are_measured_with_the_same_experts_aside)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    struct worth w = {.without = .9};
    struct online *o = online_new(&c, start, worth, &w, NULL);
    struct online_stats s;
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 5, NULL), 0);
    online_stats(o, &s);
    ck_assert_double_eq(s.check_score, .9);
    ck_assert_double_eq(s.check_best, .9);
    for (int i = 0; i < 5; i++) {
        feed(o, -1, 0);
        ck_assert_int_eq(online_update(o), 1);
        ck_assert_uint_eq(online_policy(o)->actor->busy, i < 4);
    }
    online_stats(o, &s);
    ck_assert_double_eq(s.check_score, 1);
    ck_assert_double_eq(s.check_best, 1); /* the bar of before */

    /* an update that is worse itself has to go, with an expert aside as without one */
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 5, NULL), 0);
    w.at = w.calls + 1;
    w.score = .85;
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 0, NULL), 0);
    w.at = w.calls + 1;
    w.score = .9;
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);

    /* nor does one that sets an expert aside pay for that */
    feed(o, 1, 3e38f);
    ck_assert_int_eq(online_update(o), 1);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 2);
    online_free(o);

    /* from weights that have one aside, the bar without it is known all the same */
    start->actor->busy = 1;
    o = online_new(&c, start, worth, &w, NULL);
    online_stats(o, &s);
    ck_assert_double_eq(s.check_best, .9);
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 0, NULL), 0);
    online_stats(o, &s);
    ck_assert_double_eq(s.check_best, 1);
    online_free(o);
    policy_free(start);
}
END_TEST

/* What an undone update did to who is aside is undone, too: weights of one version have the same
 * experts busy here and where they are published. */
START_TEST(who_is_aside_is_undone_with_the_rest)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    struct worth w = {.without = .9, .score = NAN};
    struct online *o = online_new(&c, start, worth, &w, NULL);
    struct online_stats s;
    w.at = w.calls + 2; /* the bar without the expert, then the update */
    feed(o, 1, 3e38f);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 0);
    online_stats(o, &s);
    ck_assert_uint_eq(s.actor_busy, 0);
    ck_assert_uint_eq(s.quarantines, 0);
    ck_assert_double_eq(s.check_best, 1);

    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 1, NULL), 0);
    w.at = w.calls + 1;
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), ERR_NUMERIC);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 1);
    online_stats(o, &s);
    ck_assert_uint_eq(s.actor_busy, 1);
    ck_assert_double_eq(s.check_best, .9);
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), 1);
    ck_assert_uint_eq(online_policy(o)->actor->busy, 0);
    online_free(o);
    policy_free(start);
}
END_TEST

START_TEST(who_is_aside_and_what_is_latched_outlive_a_restart)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    c.ppo.gate = (struct gate_cfg){.latch = 2, .gap = 1e3};
    struct online *o = online_new(&c, start, NULL, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        feed(o, -1, 0);
        ck_assert_int_eq(online_update(o), 1);
    }
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 2, 2, NULL), 0);
    size_t n = online_state_size(o);
    void *state = malloc(n);
    online_state_get(o, state);

    struct online *p = online_new(&c, online_policy(o), NULL, NULL, NULL);
    ck_assert_int_eq(online_state_put(p, state, n, NULL), 0);
    ck_assert_uint_eq(online_policy(p)->actor->busy, 4);
    ck_assert_int_eq(online_gate(p, PPO_ACTOR)->rounds, 4);
    struct mix_range r = mix_router(&start->actor->cfg);
    for (int i = 0; i < 3; i++) {
        float router[3 * OBS + 3];
        memcpy(router, online_policy(p)->actor->theta, r.n * sizeof *router);
        feed(o, -1, 0);
        feed(p, -1, 0);
        ck_assert_int_eq(online_update(o), 1);
        ck_assert_int_eq(online_update(p), 1);
        ck_assert_uint_eq(online_policy(p)->actor->busy, i < 1 ? 4 : 0);
        ck_assert_mem_eq(router, online_policy(p)->actor->theta, r.n * sizeof *router);
    }
    ck_assert_mem_eq(online_policy(o)->actor->theta, online_policy(p)->actor->theta,
                     start->actor->n * sizeof(float));

    online_gate_reset(p);
    feed(p, -1, 0);
    ck_assert_int_eq(online_update(p), 1);
    ck_assert_int_ne(memcmp(online_policy(o)->actor->theta,
                            online_policy(p)->actor->theta, r.n * sizeof(float)),
                     0);
    struct online_stats s;
    online_stats(p, &s);
    ck_assert_uint_eq(s.gate_resets, 1);
    ck_assert_uint_eq(s.shifts, 0);

    struct gate g = {.rounds = 9, .flags = 7};
    online_gate_put(p, PPO_CRITIC, &g);
    ck_assert_int_eq(online_gate(p, PPO_CRITIC)->rounds, 9);
    free(state);
    online_free(o);
    online_free(p);
    policy_free(start);
}
END_TEST

/* A shift is seen, and wakes the gates, whatever becomes of the weights: while they rest updates may
 * go on failing because of it. */
START_TEST(a_shift_wakes_gates_though_the_update_is_undone)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    c.ppo.gate = (struct gate_cfg){.latch = 2, .gap = 1e3};
    c.ppo.drift.limit = 9; /* more than one batch can raise it by */
    struct worth w = {.without = 1, .score = NAN};
    struct online *o = online_new(&c, start, worth, &w, NULL);
    struct online_stats s;
    for (int i = 0; i < 12; i++) {
        feed_stakes(o, -1, 0, i % 2 ? 1.0f : 1.2f);
        ck_assert_int_eq(online_update(o), 1);
    }
    online_stats(o, &s);
    ck_assert(s.gate[PPO_ACTOR].latched && s.gate[PPO_CRITIC].latched);
    ck_assert_uint_eq(s.shifts, 0);

    int batches = 0;
    while (s.shifts == 0 && batches < 5) {
        ck_assert(s.gate[PPO_ACTOR].latched);
        w.at = w.calls + 1;
        feed_stakes(o, -1, 0, 100);
        ck_assert_int_eq(online_update(o), ERR_NUMERIC);
        online_stats(o, &s);
        batches++;
    }
    ck_assert_int_gt(batches, 1);
    ck_assert_uint_eq(s.shifts, 1);
    ck_assert(!s.gate[PPO_ACTOR].latched && !s.gate[PPO_CRITIC].latched);
    ck_assert_int_eq(s.gate[PPO_ACTOR].rounds, 0);
    online_free(o);
    policy_free(start);
}
END_TEST

/* All rows are compared; those that go elsewhere are counted. A huge step changes many. */
START_TEST(changes_of_route_are_counted)
{
    struct policy *start = make_policy();
    struct online_cfg c = small();
    c.ppo.lr = 0;
    struct online *o = online_new(&c, start, NULL, NULL, NULL);
    struct online_stats s;
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), 1);
    online_stats(o, &s);
    ck_assert_uint_eq(s.routed, BATCH);
    ck_assert_uint_eq(s.rerouted, 0);

    /* who was expert 0's goes elsewhere when it is set aside */
    ck_assert_int_eq(online_disable_expert(o, PPO_ACTOR, 0, 1, NULL), 0);
    feed(o, -1, 0);
    ck_assert_int_eq(online_update(o), 1); /* and it is back */
    online_stats(o, &s);
    ck_assert_uint_eq(s.routed, 2 * BATCH);
    ck_assert_uint_eq(s.rerouted, BATCH / 3);
    online_free(o);
    policy_free(start);
}
END_TEST

SUITE(learn_online_gate, an_expert_that_fails_alone_is_set_aside,
      the_last_idle_expert_is_not_set_aside,
      updates_are_measured_with_the_same_experts_aside,
      who_is_aside_is_undone_with_the_rest,
      who_is_aside_and_what_is_latched_outlive_a_restart,
      a_shift_wakes_gates_though_the_update_is_undone, changes_of_route_are_counted);
