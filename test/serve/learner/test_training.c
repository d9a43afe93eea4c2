#include "serve/learner/training.h"

#include "abr/emulator/feat.h"
#include "base/rng.h"
#include "support/trajs.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 32, BATCH = 64 };

/* With added experts or without them: a turn is the same. */
struct rig {
    struct training t;
    struct online_cfg cfg;
    int fails, announced; /* announcements that still fail; versions that came */
    double score;         /* of the last one */
};

static int announce(void *ctx, const struct policy *p, double now, double score,
                    struct err *e)
{
    struct rig *r = ctx;
    const struct weights *w = published_get(r->t.published);
    ck_assert(policy_version(w->policy) < policy_version(p)); /* it comes first */
    published_put(r->t.published, w);
    ck_assert(now > 0 && score == score);
    r->announced++;
    r->score = score;
    return r->fails-- > 0 ? err_set(e, ERR_IO, "the disk is full") : 0;
}

static void rig_begin(struct rig *r, bool adds)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = 4;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 1);
    p->version = 3;
    struct policy_added_cfg one = {1, NORGA_TANH};
    if (adds) ck_assert_int_eq(policy_add(p, &one, NULL, 0, 1, NULL), 0);
    *r = (struct rig){.cfg = online_cfg_default()};
    r->cfg.batch = BATCH;
    r->cfg.capacity = 2 * BATCH;
    r->cfg.tolerance = 100; /* whatever the exam says: it is not what is tested */
    r->t.exam = exam_new(&p->cfg, NULL);
    r->t.announce = announce;
    r->t.ctx = r;
    ck_assert_int_eq(training_start(&r->t, &r->cfg, p, NULL), 0);
    r->t.published = published_new(p, 1, 0, NULL);
}

static void rig_end(struct rig *r)
{
    training_release(&r->t);
    published_free(r->t.published);
}

static void feed(struct rig *r, float reward)
{
    static float obs[STEPS * FEAT_FULL_DIM], logp[STEPS], rewards[STEPS];
    static uint32_t mask[STEPS];
    static int action[STEPS];
    struct rng random;
    rng_init(&random, 1, 2);
    while (!online_ready(r->t.online)) {
        for (int i = 0; i < STEPS * FEAT_FULL_DIM; i++)
            obs[i] = (float)rng_normal(&random);
        for (int i = 0; i < STEPS; i++) {
            mask[i] = 63;
            action[i] = (int)rng_below(&random, 6);
            logp[i] = -1.79f;
            rewards[i] = reward * (float)rng_normal(&random);
        }
        struct online_trajectory t = {.n = STEPS,
                                      .obs = obs,
                                      .mask = mask,
                                      .action = action,
                                      .logp = logp,
                                      .reward = rewards,
                                      .version =
                                          policy_version(online_policy(r->t.online))};
        ck_assert_int_eq(online_add(r->t.online, &t), 0);
    }
}

static uint64_t served(struct rig *r)
{
    const struct weights *w = published_get(r->t.published);
    uint64_t version = policy_version(w->policy);
    ck_assert_uint_eq(packed_version(w->packed), version);
    published_put(r->t.published, w);
    return version;
}

START_TEST(an_update_is_announced_and_published)
{
    struct rig r;
    rig_begin(&r, _i);
    uint64_t first = served(&r);
    int failed = 7;
    ck_assert_int_eq(training_update(&r.t, 2, &failed, NULL),
                     0); /* nothing to learn from */
    ck_assert(!r.t.unsaved && failed == 7);
    feed(&r, 1);
    ck_assert_int_eq(training_update(&r.t, 2, &failed, NULL), 1);
    ck_assert_int_eq(failed, 0);
    ck_assert(r.announced == 1 && r.t.unsaved && !r.t.unpublished);
    ck_assert_uint_eq(served(&r), first + 1);

    /* what cannot be announced is served by nobody, until it can */
    struct err e = {0};
    r.fails = 1;
    feed(&r, 1);
    ck_assert_int_eq(training_update(&r.t, 3, &failed, &e), 1);
    ck_assert_int_eq(failed, ERR_IO);
    ck_assert(r.t.unpublished && e.code == ERR_IO);
    ck_assert_uint_eq(served(&r), first + 1);
    ck_assert_int_eq(training_publish(&r.t, 4, NULL), 0);
    ck_assert(!r.t.unpublished);
    ck_assert_uint_eq(served(&r), first + 2);

    /* rewards that are no numbers */
    feed(&r, (float)NAN);
    ck_assert_int_eq(training_update(&r.t, 5, &failed, NULL), ERR_NUMERIC);
    ck_assert_uint_eq(served(&r), first + 2);
    ck_assert_int_eq(r.announced, 3);

    void *state;
    size_t n;
    ck_assert_int_eq(training_state(&state, &n, &r.t, NULL), 0);
    ck_assert_uint_eq(n, online_state_size(r.t.online));
    ck_assert_int_eq(online_state_put(r.t.online, state, n, NULL), 0);
    free(state);
    rig_end(&r);
}
END_TEST

/* Downloads whose sizes tell their rates, more than a fit needs. */
static void forecast_examples(struct rig *r)
{
    static struct traj t;
    trajs_downloads(&t, 100, 0, 1);
    for (t.client = 1; t.client <= 120; t.client++)
        forecaster_add(r->t.forecaster, &t);
}

/* A forecast is offered once there are enough examples, and the policy carries it. _i: it cannot be announced. */
START_TEST(a_fitted_forecast_is_announced_and_published)
{
    struct rig r;
    rig_begin(&r, false);
    uint64_t first = served(&r);
    struct forecaster_cfg cfg = {.steps = 300, .source_share = 1, .seed = 1};
    r.t.forecaster = forecaster_new(&cfg, NULL);
    ck_assert_ptr_nonnull(r.t.forecaster);
    int failed = 7;
    ck_assert_int_eq(training_forecast(&r.t, 2, &failed, NULL), 0); /* no examples */
    ck_assert(!r.t.unsaved && failed == 7);

    forecast_examples(&r);
    r.fails = _i;
    ck_assert_int_eq(training_forecast(&r.t, 2, &failed, NULL), 1);
    ck_assert_int_eq(failed, _i ? ERR_IO : 0);
    ck_assert(r.t.unsaved && r.t.unpublished == _i);
    ck_assert_int_eq(r.announced, 1);
    ck_assert_uint_eq(served(&r), first + 1 - (uint64_t)_i);
    if (!_i) {
        float offer[FORECAST_OWN];
        ck_assert(forecaster_offer(offer, r.t.forecaster, 0, NULL));
        const struct weights *w = published_get(r.t.published);
        ck_assert_ptr_nonnull(packed_input(w->packed, FORECAST_OWN));
        ck_assert_mem_eq(packed_input(w->packed, FORECAST_OWN), offer, sizeof offer);
        published_put(r.t.published, w);
    }
    rig_end(&r);
}
END_TEST

static enum online_verdict judge_even(void *self, const struct policy *challenger)
{
    (void)self, (void)challenger;
    return ONLINE_EVEN;
}

static void judge_publish(void *self)
{
    (void)self;
}

static void judge_replace(void *self, const struct policy *p)
{
    (void)self, (void)p;
}

/* Updates are held when the forecast is published: with its own score, not with theirs. */
START_TEST(a_forecast_is_published_with_its_own_score)
{
    struct rig r;
    rig_begin(&r, false);
    const struct online_judge judge = {.judge = judge_even,
                                       .publish = judge_publish,
                                       .replace = judge_replace,
                                       .home = online_policy(r.t.online)};
    online_judge(r.t.online, &judge);
    struct forecaster_cfg cfg = {.steps = 300, .source_share = 1, .seed = 1};
    r.t.forecaster = forecaster_new(&cfg, NULL);
    ck_assert_ptr_nonnull(r.t.forecaster);
    forecast_examples(&r);
    int failed = 7;
    feed(&r, 1);
    ck_assert_int_eq(training_update(&r.t, 2, &failed, NULL), ONLINE_HELD);
    ck_assert_int_eq(training_forecast(&r.t, 2, &failed, NULL), 1);
    struct online_stats s;
    online_stats(r.t.online, &s);
    ck_assert_int_eq(s.judged.holding, 1);
    const struct weights *w = published_get(r.t.published);
    double score = exam_score(r.t.exam, w->policy);
    ck_assert_double_eq(r.score, score);
    ck_assert_double_eq(w->check_score, score);
    published_put(r.t.published, w);
    rig_end(&r);
}
END_TEST

Suite *suite_serve_learner_training(void);
Suite *suite_serve_learner_training(void)
{
    Suite *s = suite_create("serve/learner/training");
    TCase *t = tcase_create("serve/learner/training");
    tcase_add_loop_test(t, an_update_is_announced_and_published, 0, 2);
    tcase_add_loop_test(t, a_fitted_forecast_is_announced_and_published, 0, 2);
    tcase_add_test(t, a_forecast_is_published_with_its_own_score);
    suite_add_tcase(s, t);
    return s;
}
