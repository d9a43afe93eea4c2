/* abrd eval --sessions, from outside. */
#include "cli/opt.h"
#include "support/csv.h"
#include "support/program.h"
#include "support/stored.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
}

static char *must_run(const char *args)
{
    struct program_result r = program_run_in(dir, args);
    ck_assert_msg(r.code == 0, "%s: exit %d\n%s", args, r.code, r.text);
    char *text = strdup(r.text);
    program_free(&r);
    return text;
}

#define HAS(text, part) \
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in\n%s", part, text)

TEST(sessions_are_scored_with_their_own_links)
{
    stored_make(&(struct stored_cfg){
        .dir = dir, .sessions = 50, .seed = 3, .arms = 1, .policy = {"rate"}});
    char *text = must_run("eval --sessions @ --policy recorded,rate,hyb");
    HAS(text, "50 sessions, 47 used, 1 still running, 1 too short, 1 with holes");
    HAS(text, "gain: over recorded");
    HAS(text, "no trial ran in these sessions");
    HAS(text, "hyb, has not run");
    HAS(text, "no session explored, so there are no off-policy estimates");
    /* the emulator made the sessions, so a replay at their levels is the session */
    const char *check = strstr(text, "replayed for reported: ");
    ck_assert_ptr_nonnull(check);
    double again, was;
    ck_assert_int_eq(
        sscanf(strstr(check, "startup "), "startup %lf for %lf", &again, &was), 2);
    ck_assert_double_eq_tol(again, was, .011);
    ck_assert_int_eq(
        sscanf(strstr(check, "quality "), "quality %lf for %lf", &again, &was), 2);
    ck_assert_double_eq_tol(again, was, .011);
    free(text);

    text = must_run("eval --sessions @ --policy recorded,rate --profile news --csv -");
    HAS(text, "\nrecorded,own,");
    HAS(text, ",predicted,predicted_lo,predicted_hi,observed");
    HAS(text, "rate");
    free(text);
}

struct seen {
    double predicted, observed, bias, lo, hi;
    int rows;
};

/* NaN: empty. */
static double number(const struct csv *c, const char *column)
{
    return *csv_text(c, column) ? csv_number(c, column) : (double)NAN;
}

/* What the rows of an arm and figure say; policy NULL: any. */
static struct seen rows_of(const char *path, const char *policy, const char *arm,
                           const char *figure)
{
    struct csv c;
    struct seen s = {.rows = 0};
    csv_open(&c, path);
    while (csv_next(&c)) {
        if (strcmp(csv_text(&c, "arm"), arm) || strcmp(csv_text(&c, "figure"), figure))
            continue;
        if (policy && strcmp(csv_text(&c, "policy"), policy)) continue;
        s.predicted = number(&c, "predicted");
        s.observed = number(&c, "observed");
        s.bias = number(&c, "bias");
        s.lo = number(&c, "bias_lo");
        s.hi = number(&c, "bias_hi");
        s.rows++;
    }
    csv_close(&c);
    return s;
}

/* An arm that ran, with and without congestion that a replay cannot see: links slow down while high levels
 * are fetched. */
TEST(the_bias_is_that_of_arms_that_ran)
{
    double bias[2];
    for (int crowded = 0; crowded < 2; crowded++) {
        const char *data = tmpdir_path(dir, crowded ? "b" : "a");
        char *kept = strdup(data), args[400];
        snprintf(args, sizeof args, "mkdir %s", kept);
        ck_assert_int_eq(system(args), 0);
        stored_make(&(struct stored_cfg){.dir = kept,
                                         .sessions = 300,
                                         .seed = 5,
                                         .trial = "spring",
                                         .arms = 2,
                                         .arm = {"old", "new"},
                                         .policy = {"fixed-0", "fixed-4"},
                                         .crowding = crowded * .8});
        snprintf(args, sizeof args,
                 "eval --sessions %s --policy recorded,fixed-2 --decides "
                 "old=fixed-0,new=fixed-4 --csv %s/out.csv",
                 kept, kept);
        char *text = must_run(args);
        HAS(text, "trial spring: differences to the control");
        HAS(text, "new (fixed-4), ");
        HAS(text, "fixed-2, has not run");
        HAS(text, "bias of arms that ran ");
        HAS(text, "start a trial to know");
        snprintf(args, sizeof args, "%s/out.csv", kept);
        struct seen ran = rows_of(args, "fixed-4", "new", "stall_ratio");
        struct seen other = rows_of(args, "fixed-2", "", "stall_ratio");
        ck_assert_int_eq(ran.rows, 1);
        ck_assert_int_eq(other.rows, 1);
        ck_assert_double_eq_tol(ran.bias, ran.predicted - ran.observed, 1e-9);
        ck_assert(ran.lo < ran.bias && ran.bias < ran.hi);
        ck_assert(isnan(other.observed) && isnan(other.bias));
        ck_assert_double_lt(other.predicted, ran.predicted);
        /* links without congestion give no bias beyond chance */
        if (!crowded) ck_assert(ran.lo < 0 && ran.hi > 0);
        bias[crowded] = ran.bias;
        free(text);
        free(kept);
    }
    /* replays on the control's links, which no high level slowed down, stall too little */
    ck_assert_double_lt(bias[1], bias[0]);
    ck_assert_double_lt(bias[1], 0);
}

/* Its weights are not those of the control: neither can it be replayed, nor can QoE be compared. */
TEST(an_arm_of_another_profile_is_observed_only)
{
    stored_make(&(struct stored_cfg){.dir = dir,
                                     .sessions = 120,
                                     .seed = 5,
                                     .trial = "spring",
                                     .arms = 2,
                                     .arm = {"old", "new"},
                                     .policy = {"rate", "hyb"}});
    tmpdir_put(dir, "trial.state",
               "name = spring\nphase = runs\npromoted = \nstopped = \n"
               "arms = \"old:0.5:rate,new:0.5:hyb@news\"\n"
               "sessions = 1000\nstall-margin = 0\nstartup-margin = 0\nstarted-at = 1\n");
    char *text = must_run("eval --sessions @ --policy recorded,hyb --csv @/out.csv");
    HAS(text, "new (with the weights of another profile), ");
    HAS(text, "hyb, has not run");
    free(text);
    const char *csv = tmpdir_path(dir, "out.csv");
    struct seen quality = rows_of(csv, NULL, "new", "quality");
    struct seen qoe = rows_of(csv, NULL, "new", "qoe");
    ck_assert_int_eq(quality.rows, 1);
    ck_assert(isfinite(quality.observed) && isnan(quality.predicted));
    ck_assert_int_eq(qoe.rows, 1);
    ck_assert(isnan(qoe.observed) && isnan(qoe.predicted) && isnan(qoe.bias));
}

TEST(off_policy_estimates_where_sessions_explored)
{
    stored_make(&(struct stored_cfg){.dir = dir,
                                     .sessions = 400,
                                     .seed = 4,
                                     .arms = 1,
                                     .policy = {"hyb"},
                                     .drawn = .03});
    char *text =
        must_run("eval --sessions @ --policy recorded,hyb,fixed-5,mpc --csv @/o.csv");
    HAS(text, "hyb: off-policy QoE ");
    HAS(text, "of 397 sessions that explored");
    HAS(text, "fixed-5: no off-policy estimate: the effective sample size is ");
    HAS(text, "mpc: no off-policy estimate: the policy keeps something");
    free(text);
    struct csv c;
    int rows = 0;
    csv_open(&c, tmpdir_path(dir, "o.csv"));
    while (csv_next(&c)) {
        bool hyb = !strcmp(csv_text(&c, "policy"), "hyb") &&
                   !strcmp(csv_text(&c, "figure"), "qoe");
        rows += hyb;
        ck_assert_int_eq(isfinite(number(&c, "off_policy")), hyb);
        if (hyb) ck_assert_double_gt(number(&c, "off_policy_effective"), 100);
    }
    csv_close(&c);
    ck_assert_int_eq(rows, 1);
}

TEST(options_that_contradict)
{
    program_expect_in(dir, "eval --sessions @ --traces traces", OPT_EXIT_USAGE,
                      "--sessions brings links");
    program_expect_in(dir, "eval --sessions @ --draws 3", OPT_EXIT_USAGE,
                      "cannot be combined");
    program_expect_in(dir, "eval --sessions @ --policy rate,oracle", OPT_EXIT_USAGE,
                      "oracle");
    program_expect_in(dir, "eval --sessions @", OPT_EXIT_FAILED, "there is no store");
    program_expect_in(dir, "eval --policy recorded", OPT_EXIT_USAGE, "recorded");
}

SUITE_SET_UP(cli_eval_eval_recorded, 60, set_up, NULL,
             sessions_are_scored_with_their_own_links, the_bias_is_that_of_arms_that_ran,
             an_arm_of_another_profile_is_observed_only,
             off_policy_estimates_where_sessions_explored, options_that_contradict);
