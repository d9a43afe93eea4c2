#include "serve/learner/forecaster.h"

#include "support/made.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

/* A trajectory of n chunks of one session, whose link alternates around kbps. Of the sessions 0, 1, 2, ...
 * every fourth is kept back. */
static void session(struct traj *t, int n, double kbps, uint64_t source, int number)
{
    const uint64_t inverse =
        0xf1de83e19937733du; /* of the factor that forecaster.c hashes with */
    memset(t, 0, sizeof *t);
    t->view = made_view(6);
    t->n = n;
    t->source = source;
    t->client = ((uint64_t)(3 - number % 4) << 62 | (uint64_t)number) * inverse;
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

/* Each chunk with a history and ten that follow, itself among them. An empty one is none. */
TEST(examples_have_a_history_and_a_future)
{
    static struct traj t;
    struct forecaster *f = forecaster(1);
    session(&t, 30, 800, 0, 0);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 20);
    t.before.n = 1; /* then the first chunk has one, too */
    t.before.bytes[0] = 100000;
    t.before.download_s[0] = 1;
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 20 + 21);
    t.step[4].bytes = 0;
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 20 + 21 + 20);
    session(&t, FORECAST_LATER - 1, 800, 0, 0);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), 20 + 21 + 20);
    forecaster_free(f);
}

/* A source that has its share goes on teaching, in the place of what it taught before. */
TEST(one_source_has_its_share)
{
    static struct traj t;
    struct forecaster *f = forecaster(.1);
    for (int i = 0; i < 400; i += 4) { /* none is kept back */
        session(&t, 60, 800, 7, i);
        forecaster_add(f, &t);
    }
    int most = forecaster_examples(f);
    ck_assert_int_ge(most, FORECASTER_LEAST / 10);
    ck_assert_int_lt(most, FORECASTER_LEAST / 10 + TRAJ_STEPS);
    session(&t, 60, 800, 8, 0);
    forecaster_add(f, &t);
    ck_assert_int_eq(forecaster_examples(f), most + 50);
    ck_assert(forecaster_turn(f));
    ck_assert(!forecaster_turn(f));
    for (int i = 0; i < FORECASTER_NEW / 50 + 1; i++) {
        session(&t, 60, 800, 7, 4 * i);
        forecaster_add(f, &t);
    }
    ck_assert(forecaster_turn(f));
    forecaster_free(f);
}

/* Trajectories of 50 chunks of that many sessions, which begin again after the last. */
static void crowd(struct forecaster *f, int trajectories, int sessions)
{
    static struct traj t;
    for (int i = 0; i < trajectories; i++) {
        session(&t, 50, 500, 0, i % sessions);
        forecaster_add(f, &t);
    }
}

static struct forecaster *fitted(void)
{
    struct forecaster *f = forecaster(1);
    crowd(f, 150, 150);
    ck_assert(forecaster_turn(f));
    return f;
}

/* All weights of the last layer are half, so the correction is. */
TEST(a_second_offer_is_half_of_the_first)
{
    float offer[3][FORECAST_OWN];
    struct forecaster *f = fitted(), *again = fitted();
    ck_assert(forecaster_offer(offer[0], f, 0, NULL));
    ck_assert(forecaster_offer(offer[1], f, 1, NULL));
    ck_assert(forecaster_offer(offer[2], again, 0, NULL));
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

/* The correction of the middle quantile after a steady history around kbps. */
static double corrected(const struct forecaster *f, double kbps)
{
    float offer[FORECAST_OWN], r[FORECAST_OUTPUTS], hidden[2][FORECAST_OWN_UNITS];
    struct view v = made_view(6);
    struct forecast_example x;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, kbps * (i % 3 ? 1.2 : .4) * 125 * 3, 3);
    ck_assert(forecast_example_of(&x, &v).mean_kbps > 0);
    ck_assert(forecaster_offer(offer, f, 0, NULL));
    forecast_own_network(r, hidden, offer, x.history.x);
    return (double)r[FORECAST_QUANTILES / 2];
}

/* Viewers come from slow links, then so many from others that none of the newest examples is a slow one. */
TEST(links_of_long_ago_are_not_forgotten)
{
    static struct traj t;
    struct forecaster_cfg cfg = {.steps = 300, .source_share = 1, .seed = 3};
    struct forecaster *f = forecaster_new(&cfg, NULL);
    double was = 0;
    for (int later = 0; later < 2; later++) {
        for (int i = 0; i < FORECASTER_OWN / 2 / 90 * 4 / 3 + 2; i++) {
            session(&t, 100, later ? 9000 : 500, 0, i);
            forecaster_add(f, &t);
        }
        ck_assert(forecaster_turn(f));
        if (!later) was = corrected(f, 500);
    }
    ck_assert_double_gt(fabs(was), .1);
    ck_assert_double_gt(corrected(f, 500) / was, .5);
    forecaster_free(f);
}

/* Half of what is served is no offer, and nor is the same again. */
TEST(an_offer_forecasts_better_than_what_is_served)
{
    float served[FORECAST_OWN], offer[FORECAST_OWN];
    struct forecaster *f = fitted();
    ck_assert(forecaster_offer(served, f, 0, NULL));
    for (int half = 0; half < FORECASTER_SCALES; half++)
        ck_assert(!forecaster_offer(offer, f, half, served));
    ck_assert(forecaster_offer(served, f, 2, NULL));
    ck_assert(forecaster_offer(offer, f, 0, served));
    forecaster_free(f);
}

/* What is served is nearly as good: however sure that is, it is not worth an exam. */
TEST(a_small_gain_is_no_offer)
{
    float served[FORECAST_OWN], offer[FORECAST_OWN];
    struct forecaster *f = fitted();
    for (int less = 0; less < 2; less++) {
        ck_assert(forecaster_offer(served, f, 0, NULL));
        for (int i = FORECAST_OWN_W3; i < FORECAST_OWN; i++)
            served[i] *= less ? .5f : .99f;
        ck_assert(forecaster_offer(offer, f, 0, served) == (less == 1));
    }
    forecaster_free(f);
}

/* However many trajectories a session closes, its link is one. */
TEST(a_few_sessions_prove_nothing)
{
    float offer[FORECAST_OWN];
    for (int sessions = 60; sessions <= 100; sessions += 40) { /* 15, 25 are kept back */
        struct forecaster *f = forecaster(1);
        crowd(f, 4 * sessions, sessions);
        ck_assert(forecaster_turn(f));
        ck_assert(forecaster_offer(offer, f, 0, NULL) == (sessions == 100));
        forecaster_free(f);
    }
}

/* One address closes more sessions than all others together, on links that nobody else has. */
TEST(one_source_refuses_nothing)
{
    static struct traj t;
    float offer[FORECAST_OWN];
    for (int bound = 0; bound < 2; bound++) {
        struct forecaster_cfg cfg = {200, bound ? .1 : 1, 3};
        struct forecaster *f = forecaster_new(&cfg, NULL);
        for (int i = 0; i < 200; i++) {
            session(&t, 50, 500, (uint64_t)i + 1, i);
            forecaster_add(f, &t);
        }
        for (int i = 0; i < 2000; i++) {
            session(&t, FORECAST_LATER + 1, 500, 999, 4 * i + 3);
            for (int k = 1; k < t.n; k++)
                t.step[k].bytes /= 100; /* begins as the others, and fails */
            forecaster_add(f, &t);
        }
        ck_assert(forecaster_turn(f));
        ck_assert(forecaster_offer(offer, f, 0, NULL) == (bound == 1));
        forecaster_free(f);
    }
}

TEST(a_turn_needs_new_examples)
{
    struct forecaster *f = fitted();
    ck_assert(!forecaster_turn(f));
    crowd(f, FORECASTER_NEW / 40 * 4 / 3 + 2, 150);
    ck_assert(forecaster_turn(f));
    ck_assert(!forecaster_turn(f));
    forecaster_free(f);
}

SUITE_WITHIN(serve_learner_forecaster, 120, examples_have_a_history_and_a_future,
             one_source_has_its_share, a_second_offer_is_half_of_the_first,
             links_of_long_ago_are_not_forgotten,
             an_offer_forecasts_better_than_what_is_served, a_small_gain_is_no_offer,
             a_few_sessions_prove_nothing, one_source_refuses_nothing,
             a_turn_needs_new_examples);
