#include "serve/learner/forecaster.h"

#include "support/made.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

/* A session of n chunks whose link alternates around kbps. */
static void session(struct traj *t, int n, double kbps, uint64_t source)
{
    memset(t, 0, sizeof *t);
    t->view = made_view(6);
    t->n = n;
    t->source = source;
    for (int i = 0; i < n; i++) {
        t->step[i].download_s = 3;
        t->step[i].bytes = kbps * (i % 3 ? 1.2 : .4) * 125 * 3;
    }
}

static struct forecaster *forecaster(double source_share)
{
    struct forecaster_cfg cfg = {.steps = 20, .source_share = source_share, .seed = 3};
    struct forecaster *f = forecaster_new(&cfg, NULL);
    ck_assert_ptr_nonnull(f);
    return f;
}

/* Each chunk with a history and ten that follow, itself among them. */
TEST(examples_have_a_history_and_a_future)
{
    static struct traj t;
    struct forecaster *f = forecaster(1);
    session(&t, 30, 800, 0);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 30 - FORECAST_FIT_LATER);
    t.before.n = 1; /* then the first chunk has one, too */
    t.before.bytes[0] = 100000;
    t.before.download_s[0] = 1;
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 2 * (30 - FORECAST_FIT_LATER) + 1);
    session(&t, FORECAST_FIT_LATER - 1, 800, 0);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 2 * (30 - FORECAST_FIT_LATER) + 1);
    forecaster_free(f);
}

TEST(one_source_has_its_share)
{
    static struct traj t;
    struct forecaster *f = forecaster(.1);
    for (int i = 0; i < 200; i++) {
        session(&t, 50, 800, 7);
        forecaster_add(f, &t);
    }
    int most = forecaster_examples(f);
    ck_assert_int_ge(most, FORECASTER_LEAST / 10);
    ck_assert_int_lt(most, FORECASTER_LEAST / 10 + TRAJ_STEPS);
    session(&t, 50, 800, 8);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), most + 40);
    ck_assert(!forecaster_turn(f)); /* too few for an offer */
    forecaster_free(f);
}

static struct policy *planner(void)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    return policy_new(&cfg, NULL);
}

static struct forecaster *fitted(void)
{
    static struct traj t;
    struct forecaster *f = forecaster(1);
    for (int i = 0; i < 110; i++) {
        session(&t, 50, 500, 0);
        forecaster_add(f, &t);
    }
    ck_assert(forecaster_turn(f));
    return f;
}

/* All weights of the last layer are half, so the correction is. */
TEST(a_second_offer_is_half_of_the_first)
{
    float offer[3][FORECAST_OWN];
    struct forecaster *f = fitted(), *again = fitted();
    forecaster_offer(offer[0], f, 0);
    forecaster_offer(offer[1], f, 1);
    forecaster_offer(offer[2], again, 0);
    ck_assert_mem_eq(offer[0], offer[2], sizeof offer[0]);
    double size = 0;
    for (int i = 0; i < FORECAST_OWN; i++) {
        bool last = i >= FORECAST_OWN_W3;
        ck_assert(offer[1][i] == (last ? .5f : 1) * offer[0][i]);
        if (last) size = fmax(size, fabs((double)offer[0][i]));
    }
    ck_assert_double_gt(size, .001);
    forecaster_free(f);
    forecaster_free(again);
}

TEST(it_continues_from_a_policy)
{
    float input[FORECAST_OWN] = {[0] = 5}, offer[FORECAST_OWN];
    struct policy *p = planner(), *without = planner();
    policy_copy_input(p, input, FORECAST_OWN);
    struct forecaster *f = fitted();
    forecaster_put(f, p);
    forecaster_offer(offer, f, 0);
    ck_assert_mem_eq(offer, input, sizeof offer);
    forecaster_put(f, without);
    forecaster_offer(offer, f, 0);
    for (int i = FORECAST_OWN_W3; i < FORECAST_OWN; i++)
        ck_assert(offer[i] == 0);
    forecaster_free(f);
    policy_free(without);
    policy_free(p);
}

SUITE_WITHIN(serve_learner_forecaster, 120, examples_have_a_history_and_a_future,
             one_source_has_its_share, a_second_offer_is_half_of_the_first,
             it_continues_from_a_policy);
