#include "abr/train/forecast_fit.h"

#include "base/rng.h"
#include "support/made.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { MANY = 400 };

/* A history around `kbps` that varies by `spread`, and a link that then carries `later` times its mean. */
static struct forecast_example example(struct rng *r, double kbps, double spread,
                                       double then)
{
    struct view v = made_view(6);
    struct forecast_example x;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, kbps * exp(spread * rng_normal(r)) * 125 * 2, 2);
    struct forecast f = forecast_example_of(&x, &v);
    ck_assert(f.mean_kbps > 0);
    forecast_example_came(&x, &f, then * f.mean_kbps, f.usual_bytes, then * f.mean_kbps);
    return x;
}

TEST(nothing_measured_is_no_example)
{
    struct view v = made_view(6);
    struct forecast_example x;
    ck_assert(forecast_example_of(&x, &v).mean_kbps == 0);
}

/* What came as forecast is off by nothing, and a larger chunk has to come faster. */
TEST(an_example_is_off_by_what_came)
{
    struct view v = made_view(6);
    for (int i = 0; i < 4; i++)
        view_push(&v, (i % 2 ? 900 : 1500) * 125 * 2, 2);
    struct forecast f = forecast_of(&v);
    struct forecast_example x;
    ck_assert_double_eq(forecast_example_of(&x, &v).growth, f.growth);
    int top = FORECAST_QUANTILES - 1;
    f.growth = .1; /* whatever the network says */
    forecast_example_came(&x, &f, f.next_kbps[top] * pow(3, .1), 3 * f.usual_bytes,
                          2 * f.later_kbps[top]);
    ck_assert_double_eq_tol((double)x.off[top], 0, 1e-5);
    ck_assert_double_eq_tol((double)x.off[FORECAST_QUANTILES + top], log(2), 1e-5);
}

TEST(the_gradient_is_that_of_the_loss)
{
    struct rng r;
    rng_init(&r, 1, 1);
    float weights[FORECAST_OWN];
    for (int i = 0; i < FORECAST_OWN; i++)
        weights[i] = (float)(.2 * rng_normal(&r));
    for (int known = 0; known < 2; known++) {
        static float gradient[FORECAST_OWN];
        struct forecast_example x = example(&r, 800, .4, 1e3); /* far from every kink */
        memset(gradient, 0, sizeof gradient);
        const float *off = known ? NULL : x.off;
        forecast_fit_gradient(gradient, weights, &x.history, off, 1.5, 1);
        int moved = 0;
        for (int i = 0; i < FORECAST_OWN; i += 7) {
            const float was = weights[i], step = 1e-3f;
            weights[i] = was + step;
            double up = forecast_fit_loss(weights, &x.history, off, 1.5);
            weights[i] = was - step;
            double down = forecast_fit_loss(weights, &x.history, off, 1.5);
            weights[i] = was;
            double slope = (up - down) / (2 * (double)step);
            ck_assert_double_eq_tol((double)gradient[i], slope, .02 * fabs(slope) + .01);
            moved += fabs(slope) > .05;
        }
        ck_assert_int_gt(moved, 20);
    }
}

/* A correction beyond what is served earns nothing, and is pushed back alone. */
TEST(a_correction_is_judged_within_its_bounds)
{
    struct rng r;
    rng_init(&r, 6, 6);
    float weights[FORECAST_OWN] = {0};
    for (int then = 0; then < 2; then++) {
        static float gradient[FORECAST_OWN];
        struct forecast_example x = example(&r, 800, .4, then ? 1e3 : 1);
        double loss[2];
        for (int far = 0; far < 2; far++) {
            for (int j = FORECAST_OWN_B3; j < FORECAST_OWN; j++)
                weights[j] = far ? 3 : (float)FORECAST_OWN_MOST;
            loss[far] = forecast_fit_loss(weights, &x.history, x.off, 0);
        }
        ck_assert_double_eq_tol(loss[0], loss[1], 1e-5);
        memset(gradient, 0, sizeof gradient);
        forecast_fit_gradient(gradient, weights, &x.history, x.off, 0, 1);
        for (int j = FORECAST_OWN_B3; j < FORECAST_OWN; j++)
            ck_assert(then ? gradient[j] == 0 : gradient[j] > 0);
    }
}

/* The mean correction of the middle quantile. */
static double middle(const float *weights, const struct forecast_history *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        float r[FORECAST_OUTPUTS], hidden[2][FORECAST_OWN_UNITS];
        forecast_own_network(r, hidden, weights, x[i].x);
        sum += (double)r[FORECAST_QUANTILES / 2];
    }
    return sum / n;
}

static void histories(struct forecast_history *out, const struct forecast_example *x)
{
    for (int i = 0; i < MANY; i++)
        out[i] = x[i].history;
}

/* Own links are slow and fall to a third; known ones are fast. Half of the lesson: without known examples
 * that hold it, the forecast of fast links falls as well. */
TEST(own_links_are_learned_and_known_ones_stay)
{
    static struct forecast_example own[MANY];
    static struct forecast_history known[MANY], mine[MANY];
    struct rng r;
    rng_init(&r, 2, 2);
    for (int i = 0; i < MANY; i++) {
        own[i] = example(&r, 400, .5, .33);
        known[i] = example(&r, 6000, .2, 1).history;
    }
    histories(mine, own);
    double stays[2];
    const struct forecast_lesson lesson = {own, known, MANY, MANY};
    for (int held = 0; held < 2; held++) {
        float w[FORECAST_OWN];
        struct forecast_fit_cfg cfg = {
            .steps = 400, .rate = .005, .anchor = held, .seed = 1};
        forecast_fit(w, &cfg, &lesson);
        ck_assert_double_lt(middle(w, mine, MANY), -.4);
        stays[held] = fabs(middle(w, known, MANY));
    }
    ck_assert_double_lt(stays[1], FORECAST_FIT_FREE);
    ck_assert_double_gt(stays[0], 2 * stays[1]);
}

/* The same histories are own and known: what came is a third of the forecast, and nothing is corrected if
 * the known ones weigh more than the slope of the own ones. */
TEST(what_cannot_be_told_from_known_ground_stays)
{
    static struct forecast_example own[MANY];
    static struct forecast_history known[MANY];
    struct rng r;
    rng_init(&r, 3, 3);
    for (int i = 0; i < MANY; i++)
        own[i] = example(&r, 800, .3, .33);
    histories(known, own);
    const struct forecast_lesson lesson = {own, known, MANY, MANY};
    for (int heavy = 0; heavy < 2; heavy++) {
        float w[FORECAST_OWN];
        struct forecast_fit_cfg cfg = {
            .steps = 400, .rate = .005, .anchor = heavy ? 2 : .1, .seed = 1};
        forecast_fit(w, &cfg, &lesson);
        double r50 = middle(w, known, MANY);
        if (heavy)
            ck_assert_double_lt(fabs(r50), FORECAST_FIT_FREE);
        else
            ck_assert_double_lt(r50, -.4);
    }
}

TEST(nothing_is_corrected_at_first)
{
    struct rng r;
    rng_init(&r, 4, 4);
    struct forecast_example x = example(&r, 800, .3, 1);
    float w[FORECAST_OWN];
    const struct forecast_fit_cfg cfg = {.seed = 5};
    forecast_fit(w, &cfg, &(struct forecast_lesson){&x, &x.history, 1, 1});
    ck_assert_double_eq(middle(w, &x.history, 1), 0);
}

SUITE_WITHIN(abr_train_forecast_fit, 60, nothing_measured_is_no_example,
             an_example_is_off_by_what_came, the_gradient_is_that_of_the_loss,
             a_correction_is_judged_within_its_bounds,
             own_links_are_learned_and_known_ones_stay,
             what_cannot_be_told_from_known_ground_stays, nothing_is_corrected_at_first);
