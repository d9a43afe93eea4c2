/* Nodes with one trial, around one bucket in memory. */
#include "serve/cluster/trial_shared.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/session/core.h"
#include "serve/trial/trial_wire.h"
#include "support/buckets.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f; /* lends profiles and networks */
static struct buckets keys;
static struct bucket bucket;
static double mono;
static struct trial_report report;

struct node {
    uint64_t maker;
    const struct trial_plan *wanted;
    struct trial_run *trial;
    struct trial_shared *shared;
    struct log said;
};
static struct node a, b, l; /* l: a learner, which has no sessions */

static void begin(struct node *n)
{
    static uint64_t boots;
    struct err e = {0};
    struct service *s = f.service;
    struct trial_run_new how = {.policy = &s->policy_cfg,
                                .profiles = s->profiles,
                                .networks = s->networks,
                                .log = &n->said,
                                .peers = true,
                                .boot = ++boots};
    how.key[0] = (uint8_t)n->maker; /* of its own, which must not matter */
    n->said = log_init(STDERR_FILENO, LOG_ERROR, false);
    n->trial = trial_run_new(&how, &e);
    ck_assert_msg(n->trial != NULL, "%s", e.detail);
    struct trial_shared_cfg cfg = {.bucket = bucket,
                                   .trial = n->trial,
                                   .wanted = n->wanted,
                                   .maker = n->maker,
                                   .log = &n->said};
    n->shared = trial_shared_new(&cfg, &e);
    ck_assert_msg(n->shared != NULL, "%s", e.detail);
}

static void stop(struct node *n)
{
    trial_shared_free(n->shared);
    trial_run_free(n->trial);
}

static void open_all(void)
{
    served_begin(&f, false);
    served_start(&f);
    bucket = buckets_open(&keys);
    mono = 1000;
    a = (struct node){.maker = 11};
    b = (struct node){.maker = 12};
    l = (struct node){.maker = 0};
    begin(&a);
    begin(&b);
    begin(&l);
}

static void close_all(void)
{
    stop(&a);
    stop(&b);
    stop(&l);
    buckets_free(&keys);
    served_end(&f);
}

static int turn(struct node *n)
{
    mono += 10;
    struct shared_value *v = trial_shared_value(n->shared);
    int rc = shared_value_turn(&v, 1, false, mono, mono, NULL);
    trial_shared_rest(n->shared, mono, false);
    return rc;
}

/* So that everyone has what the others put. */
static void turns(void)
{
    for (int i = 0; i < 3; i++) {
        (void)turn(&a);
        (void)turn(&b);
        (void)turn(&l);
    }
}

static struct trial_plan plan_of(const char *name, const char *arms)
{
    struct trial_plan p;
    struct trial_cfg c = trial_cfg_default();
    c.name = name;
    c.sessions = 200;
    ck_assert_int_eq(trial_plan_read(&p, &c, arms, NULL), 0);
    return p;
}

static void start(struct node *n, const char *name)
{
    struct trial_plan p = plan_of(name, "now:0.5:abrd,bad:0.5:rate");
    struct err e = {0};
    ck_assert_msg(trial_run_start(n->trial, &p, 5, &e) == 1, "%s", e.detail);
}

static const struct trial_report *of(struct node *n)
{
    ck_assert_int_eq(trial_run_report(&report, n->trial, NULL), 0);
    return &report;
}

static uint64_t counted(struct node *n)
{
    return of(n)->compare.arm[0].counted + report.compare.arm[1].counted;
}

static uint64_t again(struct node *n)
{
    return of(n)->compare.arm[0].again + report.compare.arm[1].again;
}

/* Sessions of the arm that has fewer: a guard rail waits for both. */
static uint64_t fewest(struct node *n)
{
    uint64_t control = of(n)->compare.arm[0].counted, arm = report.compare.arm[1].counted;
    return control < arm ? control : arm;
}

/* A whole session of a viewer; returns its arm, -1: none. */
static int watch(struct node *n, const char *viewer, double stall_s)
{
    struct session_open in = {.mode = SESSION_DEFAULT};
    struct track_row row = {.key = 1, .hinted = true};
    snprintf(in.viewer, sizeof in.viewer, "%s", viewer);
    trial_run_assign(n->trial, &row, &in);
    if (!row.arm.trial[0]) return -1;
    trial_run_opened(n->trial, &row);
    row.seen = (struct viewing){.started = true,
                                .startup_s = 1,
                                .played_s = 100,
                                .points = 800,
                                .chunks = 10,
                                .stall_s = row.arm.index ? (float)stall_s : 0};
    trial_run_ended(n->trial, &row);
    return row.arm.index;
}

static int watch_number(struct node *n, int i, double stall_s)
{
    char viewer[32];
    snprintf(viewer, sizeof viewer, "viewer %d", i);
    return watch(n, viewer, stall_s);
}

TEST(all_count_as_one)
{
    ck_assert_int_eq(trial_run_report(&report, a.trial, NULL), ERR_ABSENT);
    ck_assert_int_eq(watch_number(&a, 0, 0), -1);
    start(&b, "spring");
    turns();
    for (int i = 0; i < 100; i++) {
        int arm = watch_number(i % 2 ? &a : &b, i, 0);
        ck_assert_int_ge(arm, 0);
        if (i % 10 == 9) turns();
        ck_assert_int_eq(watch_number(i % 3 ? &a : &b, i, 0), arm);
    }
    turns();
    ck_assert_int_eq(of(&a)->nodes, 2);
    ck_assert_int_eq(of(&l)->nodes, 3); /* itself, too */
    static struct compare sum;
    sum = of(&a)->compare;
    ck_assert_uint_eq(counted(&l), counted(&a));
    for (int arm = 0; arm < 2; arm++) {
        ck_assert_mem_eq(&of(&b)->compare.arm[arm].counted, &sum.arm[arm].counted,
                         5 * sizeof(uint64_t));
        for (int fig = 0; fig < COMPARE_FIGURES; fig++)
            ck_assert_uint_eq(report.compare.arm[arm].cell[0][fig].n,
                              sum.arm[arm].cell[0][fig].n);
    }
    /* a viewer counts once where the nodes know of each other in time */
    ck_assert_uint_eq(again(&a) + counted(&a), 200);
    for (int i = 0; i < 100; i++)
        (void)watch_number(i % 2 ? &b : &a, i, 0);
    uint64_t before = counted(&a);
    turns();
    ck_assert_uint_eq(counted(&a), before);
    ck_assert_uint_eq(again(&b) + counted(&b), 300);
}

TEST(the_sum_stops_an_arm_on_all)
{
    start(&a, "guard");
    turns();
    for (int n = 0; n < 2000 && of(&a)->stopped_by[1] < 0 && of(&b)->stopped_by[1] < 0;
         n++) {
        (void)watch_number(n % 2 ? &a : &b, n, 3);
        if (n % 4 == 3) turns();
    }
    turns();
    /* alone, a needs about as many sessions as both together */
    uint64_t both = fewest(&a);
    start(&b, "alone");
    turns();
    for (int i = 0; i < 2000 && of(&a)->stopped_by[1] < 0; i++)
        (void)watch_number(&a, i, 3);
    ck_assert_uint_lt(2 * both, 3 * fewest(&a));
}

TEST(without_a_bucket_a_node_goes_on)
{
    start(&a, "spring");
    turns();
    int arm = watch_number(&a, 7, 0);
    keys.away = true;
    turns();
    ck_assert_int_eq(watch_number(&b, 7, 0), arm);
    ck_assert_int_lt(trial_run_promote(b.trial, "bad", NULL), 0);
    ck_assert_int_eq(of(&b)->phase, TRIAL_RUNS);
    keys.away = false;
    turns();
    ck_assert_uint_eq(counted(&a), counted(&b));

    /* a new bucket gets the trial, its key and all counts */
    struct bucket old = bucket;
    buckets_free(&keys);
    bucket = buckets_open(&keys);
    ck_assert_ptr_eq(old.self, bucket.self);
    turns();
    turns();
    ck_assert_uint_gt(buckets_rev(&keys, "trial"), 0);
    ck_assert_int_eq(watch_number(&b, 7, 0), arm);
    ck_assert_int_eq(of(&a)->nodes, 2);
}

TEST(orders_hold_on_all)
{
    start(&a, "spring");
    turns();
    struct trial_plan other = plan_of("spring", "x:0.5:abrd,y:0.5:rate");
    ck_assert_int_eq(trial_run_start(b.trial, &other, 6, NULL), ERR_CONFLICT);
    ck_assert_int_eq(trial_run_promote(l.trial, "none", NULL), ERR_ABSENT);
    ck_assert_int_eq(trial_run_promote(l.trial, "bad", NULL), 0);
    turns();
    ck_assert_int_eq(of(&a)->phase, TRIAL_PROMOTED);
    ck_assert_int_eq(of(&b)->promoted, 1);
    ck_assert_int_eq(trial_run_rollback(b.trial, NULL), 0);
    turns();
    ck_assert_int_eq(of(&a)->phase, TRIAL_ENDED);
    ck_assert_int_eq(watch_number(&a, 1, 0), -1);
    start(&b, "summer");
    turns();
    ck_assert_str_eq(of(&a)->plan.name, "summer");
    struct trial_plan again_spring = plan_of("spring", "now:0.5:abrd,bad:0.5:rate");
    ck_assert_int_eq(trial_run_start(a.trial, &again_spring, 7, NULL), ERR_CONFLICT);
}

/* Keys of a trial that is over do not stay. */
TEST(a_new_trial_drops_the_counts_of_the_old_one)
{
    start(&a, "spring");
    turns();
    (void)watch_number(&a, 1, 0);
    (void)watch_number(&b, 2, 0);
    turns();
    struct trial_common c;
    char old[SHARED_VALUE_KEY];
    ck_assert(trial_run_common(&c, a.trial));
    trial_wire_tally_key(old, trial_common_id(&c), a.maker);
    old[strlen("trial.") + 16] = '\0';
    ck_assert_int_eq(buckets_count(&keys, old), 4); /* counts and viewers of two */
    start(&a, "summer");
    turns();
    ck_assert_uint_eq(counted(&a), 0);
    for (int i = 0; i < keys.n; i++)
        ck_assert(strncmp(keys.value[i].key, old, strlen(old)) || !keys.value[i].n);
}

TEST(settings_begin_a_trial_where_there_is_none)
{
    static struct trial_plan mine, other;
    mine = plan_of("spring", "now:0.5:abrd,bad:0.5:rate");
    other = plan_of("summer", "now:0.5:abrd,bad:0.5:rate");
    stop(&a);
    stop(&b);
    a.wanted = &mine;
    b.wanted = &other;
    begin(&a);
    begin(&b);
    turns();
    ck_assert_str_eq(of(&a)->plan.name, "spring");
    ck_assert_str_eq(of(&b)->plan.name, "spring");
}

/* Counts that cannot be read leave those that were. */
TEST(damaged_counts_are_not_believed)
{
    start(&a, "spring");
    turns();
    for (int i = 0; i < 20; i++)
        (void)watch_number(&a, i, 0);
    turns();
    ck_assert_uint_eq(counted(&b), 20);
    for (int i = 0; i < keys.n; i++)
        if (!strncmp(keys.value[i].key, "trial.", 6))
            ((unsigned char *)keys.value[i].data)[keys.value[i].n - 1] ^= 1;
    (void)turn(&b);
    ck_assert_uint_eq(counted(&b), 20);
    (void)watch_number(&a, 30, 0); /* a puts them anew */
    turns();
    ck_assert_uint_eq(counted(&b), 21);
}

/* A node without the file of an arm: the sessions of this arm fall back. */
TEST(arms_that_cannot_be_opened_fall_back)
{
    start(&a, "spring");
    turns();
    struct trial_common c;
    ck_assert(trial_run_common(&c, a.trial));
    snprintf(c.plan.name, sizeof c.plan.name, "files");
    snprintf(c.plan.arm[1].decides, sizeof c.plan.arm[1].decides, "abrd:/not/there");
    ck_assert_int_eq(trial_run_follow(b.trial, &c, 99, false, NULL), 0);
    ck_assert_str_eq(of(&b)->plan.name, "files");
    for (int i = 0; i < 20; i++)
        ck_assert_int_ge(watch_number(&b, i, 0), 0);
    ck_assert_uint_gt(of(&b)->compare.arm[0].counted, 0);
    ck_assert_uint_eq(of(&b)->compare.arm[1].counted, 0);
    ck_assert_uint_gt(of(&b)->compare.arm[1].fell_back, 0);
    ck_assert_int_eq(trial_run_follow(b.trial, &c, 98, false, NULL), ERR_CONFLICT);
    ck_assert_int_eq(trial_run_follow(b.trial, &c, 98, true, NULL), 0);
}

SUITE_SET_UP(serve_cluster_trial_shared, 60, open_all, close_all, all_count_as_one,
             the_sum_stops_an_arm_on_all, without_a_bucket_a_node_goes_on,
             orders_hold_on_all, a_new_trial_drops_the_counts_of_the_old_one,
             settings_begin_a_trial_where_there_is_none, damaged_counts_are_not_believed,
             arms_that_cannot_be_opened_fall_back);
