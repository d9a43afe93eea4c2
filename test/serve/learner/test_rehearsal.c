#include "serve/learner/rehearsal.h"

#include "abr/traces/gen.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>

static struct policy *planner(void)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.prior = (struct mix_prior){FEAT_WORTH, FEAT_WORTH_STRIDE, 60};
    cfg.hidden = cfg.critic_hidden = 8;
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 1);
    return p;
}

/* Sum of what both batches hold, to compare collections. */
static double digest(const struct ppo_batch *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < b[k].n; i++)
            sum += (double)b[k].advantage[i] * (i + 1) + (double)b[k].logp[i];
    return sum;
}

START_TEST(known_ground_has_an_anchor_and_recorded_links_have_none)
{
    struct policy *p = planner();
    double sum[2];
    for (int again = 0; again < 2; again++) {
        struct rehearsal *r = rehearsal_new(p, FEAT_PLAN, 256, 1, NULL);
        struct ppo_batch b[2];
        ck_assert_int_eq(rehearsal_collect(r, b, p, .95, .95), 1);
        ck_assert_int_eq(b[0].n, 256);
        ck_assert(b[0].shown && b[0].q && !isnan(b[0].shown[0]));
        for (int i = 0; i < 200; i++)
            rehearsal_record(r, gen_trace("volatile-low", 100, 1, (uint64_t)i, NULL));
        ck_assert_int_eq(rehearsal_links(r), REHEARSAL_LINKS);
        int n = rehearsal_collect(r, b, p, .95, .95);
        ck_assert_int_eq(n, 2);
        ck_assert_int_eq(b[0].n + b[1].n, rehearsal_rows(r));
        ck_assert_ptr_null(b[1].shown);
        int highest = 0, lowest = 64;
        for (int i = 0; i < b[0].n; i++)
            if (b[0].tag[i] > highest) highest = b[0].tag[i];
        for (int i = 0; i < b[1].n; i++)
            if (b[1].tag[i] < lowest) lowest = b[1].tag[i];
        ck_assert_int_lt(highest, lowest); /* their rewards differ in size */
        for (int i = 0; i < b[0].n; i++)
            ck_assert_int_ge(b[0].tag[i], REHEARSAL_TAG);
        sum[again] = digest(b, n);
        rehearsal_free(r);
    }
    ck_assert_double_eq(sum[0], sum[1]);
    policy_free(p);
}
END_TEST

static struct traj downloads(int n, double mbps, double seconds)
{
    struct traj t = {.n = n};
    for (int i = 0; i < n; i++) {
        t.step[i].download_s = seconds + .08;
        t.step[i].bytes = mbps * 1e6 / 8 * .95 * seconds;
    }
    return t;
}

START_TEST(a_trajectory_gives_its_link)
{
    static struct traj t;
    t = downloads(10, 3, 4);
    struct trace *link = rehearsal_link(&t);
    ck_assert_ptr_nonnull(link);
    ck_assert_int_eq(link->n, 11);
    ck_assert_double_eq_tol(trace_mean_mbps(link), 3, 1e-9);
    ck_assert_double_eq_tol(link->time_s[10], 40, 1e-9);
    trace_free(link);

    t = downloads(3, 3, 10); /* too few */
    ck_assert_ptr_null(rehearsal_link(&t));
    t = downloads(10, 3, 1); /* too short */
    ck_assert_ptr_null(rehearsal_link(&t));
    t = downloads(10, 3, 4);
    t.step[5].download_s = 3600; /* what a liar reports */
    ck_assert_ptr_null(rehearsal_link(&t));
}
END_TEST

SUITE_WITHIN(serve_learner_rehearsal, 30,
             known_ground_has_an_anchor_and_recorded_links_have_none,
             a_trajectory_gives_its_link);
