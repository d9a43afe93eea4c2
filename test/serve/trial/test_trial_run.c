/* A trial in the service: assignment, arms, guard rails, restarts. */
#include "serve/trial/trial_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "serve/trial/trial_cfg.h"
#include "support/alloc.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;
static struct trial_report report;

static const char *const THREE[] = {"old:0.4:player", "new:0.4:abrd",
                                    "tail:0.2:mpc-tail"};

static void arms(const char *name, const char *const *arm, int n)
{
    struct trial_cfg *c = &f.optional.trial;
    c->name = name;
    c->arms.n = n;
    for (int i = 0; i < n; i++)
        c->arms.item[i] = arm[i];
}

static void setup(void)
{
    served_begin(&f, true);
    arms("spring", THREE, 3);
    served_start(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static struct trial_run *the_trial(void)
{
    return trial_run_of(f.service);
}

static const struct trial_report *now(void)
{
    struct err e = {0};
    ck_assert_msg(trial_run_report(&report, the_trial(), &e) == 0, "%s", e.detail);
    return &report;
}

static struct session_opened open_viewer(const char *viewer, uint64_t key)
{
    struct session_open in = served_request(key, 48);
    struct session_opened o;
    struct err e = {0};
    snprintf(in.viewer, sizeof in.viewer, "%s", viewer);
    ck_assert_msg(!service_open(&o, f.service, f.worker, &in, &e), "%s", e.detail);
    return o;
}

/* n chunks at a level, the first of them after 1 s; each later one stalls. */
static void watch(const char *session, int level, int n, double stall_s)
{
    for (int k = 1; k <= n; k++) {
        struct question q = {.chunk = k, .buffer_s = 8, .has_last = true};
        q.last = (struct outcome){.chunk = k - 1,
                                  .level = level,
                                  .bytes = 100000,
                                  .download_s = 1,
                                  .rebuffer_s = k == 1 ? 1 : stall_s};
        struct answer a;
        struct err e = {0};
        ck_assert_msg(!service_ask(&a, f.service, f.worker, session, &q, &e), "%s",
                      e.detail);
    }
    ck_assert_int_eq(service_close(f.service, session, NULL, NULL), 0);
}

TEST(arms_decide_as_their_plan_says)
{
    int seen[3] = {0};
    for (uint64_t key = 1; key < 100; key++) {
        struct session_opened o = open_viewer("", key);
        int arm = !strcmp(o.arm, "old") ? 0 : !strcmp(o.arm, "new") ? 1 : 2;
        ck_assert_str_eq(o.trial, "spring");
        ck_assert_str_eq(o.arm, now()->plan.arm[arm].name);
        ck_assert_int_eq(o.observed, arm == 0);
        ck_assert_int_eq(o.first.observed, arm == 0);
        ck_assert_int_eq(o.first.by, arm == 2 ? BY_ARM : BY_ROUTER);
        ck_assert(!o.explores);
        seen[arm]++;
    }
    ck_assert_int_gt(seen[0], 25);
    ck_assert_int_gt(seen[1], 25);
    ck_assert_int_gt(seen[2], 8);
    for (int a = 0; a < 3; a++)
        ck_assert_uint_eq(now()->compare.arm[a].counted, seen[a]);
    ck_assert_uint_eq(served_parts(&f).trial.assigned[2], seen[2]);
}

TEST(a_mode_keeps_a_session_out)
{
    struct session_open in = served_request(1, 48);
    struct session_opened o;
    in.mode = SESSION_DECIDE;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_str_eq(o.trial, "");
    ck_assert(!o.observed);
    in.mode = SESSION_OBSERVE;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_str_eq(o.trial, "");
    ck_assert(o.observed);
}

TEST(a_viewer_keeps_its_arm_and_counts_once)
{
    char arm[20][SERVICE_TRIAL];
    for (int round = 0; round < 3; round++)
        for (int v = 0; v < 20; v++) {
            char viewer[16];
            snprintf(viewer, sizeof viewer, "viewer %d", v);
            struct session_opened o =
                open_viewer(viewer, (uint64_t)(100 * round + v + 1));
            if (!round) strcpy(arm[v], o.arm);
            ck_assert_str_eq(o.arm, arm[v]);
        }
    uint64_t counted = 0, again = 0;
    for (int a = 0; a < 3; a++) {
        counted += now()->compare.arm[a].counted;
        again += now()->compare.arm[a].again;
    }
    ck_assert_uint_eq(counted, 20);
    ck_assert_uint_eq(again, 40);
}

static void same_report(const struct trial_report *a, const struct trial_report *b)
{
    for (int i = 0; i < a->plan.arms; i++) {
        const struct compare_arm *x = &a->compare.arm[i], *y = &b->compare.arm[i];
        ck_assert_uint_eq(x->counted, y->counted);
        ck_assert_uint_eq(x->again, y->again);
        ck_assert_uint_eq(x->ended, y->ended);
        ck_assert_uint_eq(x->empty, y->empty);
        for (int k = 0; k < COMPARE_FIGURES; k++) {
            ck_assert_uint_eq(x->cell[0][k].n, y->cell[0][k].n);
            ck_assert_double_eq_tol(x->cell[0][k].sum, y->cell[0][k].sum, 1e-9);
        }
        ck_assert_int_eq(a->stopped_by[i], b->stopped_by[i]);
    }
}

/* A crash: nothing is flushed after the commit. A session that runs on has all its chunks at its end. */
TEST(a_crash_loses_no_assignment)
{
    struct session_opened late = open_viewer("late", 7);
    for (int k = 1; k <= 40; k++) { /* more than a restart keeps of other sessions */
        struct question q = {.chunk = k, .buffer_s = 8, .has_last = true};
        q.last = (struct outcome){.chunk = k - 1,
                                  .level = 1,
                                  .bytes = 100000,
                                  .download_s = 1,
                                  .rebuffer_s = k == 1 ? 1 : .5};
        struct answer a;
        ck_assert_int_eq(service_ask(&a, f.service, f.worker, late.session, &q, NULL), 0);
    }
    for (uint64_t key = 10; key < 60; key++) {
        struct session_opened o = open_viewer("", key);
        f.now += 1; /* the order of their ends */
        if (key % 3) watch(o.session, (int)(key % 6), 5, key % 2 ? .1 : 0);
    }
    static struct trial_report before;
    before = *now();
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    same_report(&before, now());

    struct session_opened again = open_viewer("late", 8);
    ck_assert_str_eq(again.arm, late.arm);
    int arm = !strcmp(late.arm, "old") ? 0 : !strcmp(late.arm, "new") ? 1 : 2;
    double was = before.compare.arm[arm].cell[0][COMPARE_WATCHED].sum;
    ck_assert_int_eq(service_close(f.service, late.session, NULL, NULL), 0);
    const struct compare_cell *watched =
        &now()->compare.arm[arm].cell[0][COMPARE_WATCHED];
    ck_assert_double_eq(watched->sum - was, 40 * 4);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, late.session, NULL), 0);
    ck_assert_str_eq(h.opened.arm, late.arm);
    ck_assert_str_eq(h.opened.trial, "spring");
    service_history_free(&h);
}

/* Sessions until a guard rail fires, at most n: those of `bad` stall, all others do not. */
static int until_stopped(const char *bad, int n)
{
    for (int i = 1; i <= n; i++) {
        struct session_opened o = open_viewer("", (uint64_t)i);
        watch(o.session, 1, 4, strcmp(o.arm, bad) ? 0 : .4);
        for (int a = 0; a < now()->plan.arms; a++)
            if (now()->stopped_by[a] >= 0) return i;
    }
    return 0;
}

TEST(a_bad_arm_is_stopped_and_falls_back)
{
    ck_assert_int_gt(until_stopped("tail", 1500), 0);
    ck_assert_int_eq(now()->stopped_by[2], COMPARE_STALL_RATIO);
    ck_assert_int_eq(now()->stopped_by[1], -1);
    ck_assert_uint_eq(served_parts(&f).trial.stops, 1);
    for (int restart = 0; restart < 2; restart++) {
        int fell_back = 0;
        for (uint64_t key = 5000; key < 5060; key++) {
            struct session_opened o = open_viewer("", key + 100 * (uint64_t)restart);
            if (strcmp(o.arm, "tail")) continue;
            ck_assert(o.observed); /* as the control */
            ck_assert_int_ne(o.first.by, BY_ARM);
            fell_back++;
        }
        ck_assert_int_gt(fell_back, 3);
        if (restart) break;
        service_periodic(f.service); /* writes the file */
        ck_assert_int_eq(service_commit(f.service, NULL), 0);
        served_kill(&f);
        served_start(&f);
        ck_assert_int_eq(now()->stopped_by[2], COMPARE_STALL_RATIO);
    }
    double evidence;
    ck_assert(
        !compare_mismatch(&evidence, &now()->compare)); /* they count for the shares */
}

TEST(a_running_session_of_a_stopped_arm_falls_back)
{
    struct session_opened o;
    uint64_t key = 90000;
    do
        o = open_viewer("", key++);
    while (strcmp(o.arm, "tail"));
    ck_assert_int_gt(until_stopped("tail", 1500), 0);
    struct question q = {.chunk = 1, .buffer_s = 8, .has_last = true};
    q.last =
        (struct outcome){.level = 1, .bytes = 100000, .download_s = 1, .rebuffer_s = 1};
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_ne(a.by, BY_ARM);
}

TEST(promotion_and_rollback_stay_over_a_restart)
{
    struct err e = {0};
    ck_assert_int_eq(trial_run_promote(the_trial(), "nobody", &e), ERR_ABSENT);
    ck_assert_int_eq(trial_run_promote(the_trial(), "tail", NULL), 0);
    for (int restart = 0; restart < 2; restart++) {
        for (uint64_t key = 1; key < 20; key++) {
            struct session_opened o = open_viewer("", key + 100 * (uint64_t)restart);
            ck_assert_int_eq(o.first.by, BY_ARM);
            ck_assert_str_eq(o.trial, "");
        }
        ck_assert_int_eq(now()->phase, TRIAL_PROMOTED);
        ck_assert_int_eq(service_commit(f.service, NULL), 0);
        served_kill(&f);
        served_start(&f);
    }
    ck_assert_int_eq(trial_run_rollback(the_trial(), NULL), 0);
    ck_assert_int_eq(open_viewer("", 500).first.by, BY_ROUTER);
    served_kill(&f);
    served_start(&f); /* the settings still name it, but it has ended */
    ck_assert_int_eq(now()->phase, TRIAL_ENDED);
    ck_assert_str_eq(open_viewer("", 501).trial, "");
}

TEST(a_damaged_state_is_refused)
{
    char path[320], text[1024] = "";
    ck_assert_int_eq(trial_run_promote(the_trial(), "tail", NULL), 0);
    served_kill(&f);
    snprintf(path, sizeof path, "%s/trial.state", f.data);
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    char *name = strstr(text, "promoted = tail");
    ck_assert_ptr_nonnull(name);
    memcpy(name, "promoted = tale", strlen("promoted = tale"));
    rewind(file);
    fputs(text, file);
    fclose(file);
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_CORRUPT);
    ck_assert_str_eq(e.detail, "promotes no arm of the trial");
    remove(path);
    served_start(&f);
}

/* A trial with weights of a file, which are in the arm `of`. */
static void start_with_file(char file[300], int of)
{
    static char arm[400];
    char mine[300];
    snprintf(file, 300, "%s/other.safetensors", f.dir);
    snprintf(arm, sizeof arm, "%s:0.5:abrd:%s", of ? "new" : "old", file);
    served_kill(&f);
    snprintf(mine, sizeof mine, "%s", f.policy);
    snprintf(f.policy, sizeof f.policy, "%s", file);
    served_policy(&f, 99);
    snprintf(f.policy, sizeof f.policy, "%s", mine);
    if (of)
        arms("files", (const char *const[]){"old:0.5:player", arm}, 2);
    else
        arms("files", (const char *const[]){arm, "new:0.5:abrd"}, 2);
    served_start(&f);
}

static void start_again(void)
{
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
}

/* The first session of an arm from this key on. */
static struct session_opened open_in(const char *arm, uint64_t key)
{
    struct session_opened o;
    do
        o = open_viewer("", key++);
    while (strcmp(o.arm, arm));
    return o;
}

TEST(an_arm_without_its_file_falls_back)
{
    struct err e = {0};
    char file[300];
    start_with_file(file, 1);
    ck_assert_int_eq(open_in("new", 1).first.by, BY_ARM);
    struct session_opened running = open_in("new", 100);
    ck_assert_int_eq(remove(file), 0);
    start_again();
    ck_assert_int_eq(now()->phase, TRIAL_RUNS);
    uint64_t counted = now()->compare.arm[1].counted;
    ck_assert(open_in("new", 200).observed); /* as the control */
    ck_assert_uint_eq(now()->compare.arm[1].counted, counted);
    ck_assert_uint_ge(now()->compare.arm[1].fell_back, 1);
    ck_assert_int_eq(trial_run_promote(the_trial(), "new", &e), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(e.detail, "restore its file"));
    watch(running.session, 1, 3, 0);

    served_kill(&f);
    snprintf(file, sizeof file, "%s", f.policy);
    snprintf(f.policy, sizeof f.policy, "%s/other.safetensors", f.dir);
    served_policy(&f, 99); /* it is back */
    snprintf(f.policy, sizeof f.policy, "%s", file);
    served_start(&f);
    ck_assert_int_eq(open_in("new", 300).first.by, BY_ARM);
    ck_assert_int_eq(trial_run_promote(the_trial(), "new", NULL), 0);
    snprintf(file, sizeof file, "%s/other.safetensors", f.dir);
    ck_assert_int_eq(remove(file), 0);
    start_again();
    ck_assert_int_eq(now()->phase, TRIAL_PROMOTED);
    ck_assert(open_viewer("", 400).observed);
    ck_assert_int_eq(trial_run_rollback(the_trial(), NULL), 0);
    start_again();
    ck_assert_int_eq(now()->phase, TRIAL_ENDED);
    ck_assert_int_eq(open_viewer("", 401).first.by, BY_ROUTER);
}

TEST(a_control_without_its_file_is_the_player)
{
    char file[300];
    start_with_file(file, 0);
    ck_assert_int_eq(open_in("old", 1).first.by, BY_ARM);
    ck_assert_int_eq(remove(file), 0);
    start_again();
    ck_assert(open_in("old", 100).observed);
    ck_assert(!open_in("new", 100).observed);
    ck_assert_int_eq(trial_run_promote(the_trial(), "new", NULL), 0);
}

TEST(a_name_is_used_once)
{
    static const char *const OTHER[] = {"a:0.5:abrd", "b:0.5:rate"};
    struct trial_cfg c = trial_cfg_default();
    struct trial_plan p;
    struct err e = {0};
    open_viewer("", 1);
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    c.name = "spring";
    c.arms = (struct field_list){2, {OTHER[0], OTHER[1]}};
    ck_assert_int_eq(trial_plan_of(&p, &c, NULL), 0);
    ck_assert_int_eq(trial_run_start(the_trial(), &p, 0, &e), ERR_CONFLICT);
    c.name = "summer";
    ck_assert_int_eq(trial_plan_of(&p, &c, NULL), 0);
    ck_assert_int_eq(trial_run_start(the_trial(), &p, 0, NULL), 1);
    ck_assert_int_eq(trial_run_start(the_trial(), &p, 0, NULL), 0); /* as it runs */
    ck_assert_str_eq(open_viewer("", 2).trial, "summer");
    /* the store has a session of the first one */
    ck_assert_int_eq(trial_plan_of(&p, &f.optional.trial, NULL), 0);
    e = (struct err){0};
    ck_assert_int_eq(trial_run_start(the_trial(), &p, 0, &e), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(e.detail, "earlier trial"));
}

TEST(weights_of_a_file_decide_and_teach_nothing)
{
    char other[300], arm[400];
    snprintf(other, sizeof other, "%s/other.safetensors", f.dir);
    snprintf(arm, sizeof arm, "file:0.5:abrd:%s@news", other);
    served_kill(&f);
    char mine[300];
    snprintf(mine, sizeof mine, "%s", f.policy);
    snprintf(f.policy, sizeof f.policy, "%s", other);
    served_policy(&f, 99);
    snprintf(f.policy, sizeof f.policy, "%s", mine);
    arms("weights", (const char *const[]){"now:0.5:abrd", arm}, 2);
    served_start(&f);
    int n = 0;
    for (uint64_t key = 1; key < 30; key++) {
        struct session_opened o = open_viewer("", key);
        bool file = !strcmp(o.arm, "file");
        ck_assert_int_eq(o.first.by, file ? BY_ARM : BY_ROUTER);
        ck_assert_str_eq(o.profile, file ? "news" : "pensieve");
        ck_assert_int_ge(o.first.expert, 0);
        if (file) watch(o.session, 1, 10, .5);
        n += file;
    }
    ck_assert_int_gt(n, 8);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(
        s.forecast_downloads[0] + s.forecast_downloads[1] + s.forecast_downloads[2], 0);
}

/* ---- a ladder of 20 levels: an algorithm sees all, weights see a window ---- */

enum { LONG = 20, ABOVE = 17 };

static struct session_opened open_long(uint64_t key)
{
    struct session_open in = served_request(key, 48);
    in.levels = LONG;
    for (int k = 0; k < LONG; k++)
        in.ladder_kbps[k] = 200 * pow(1.2, k);
    struct session_opened o;
    struct err e = {0};
    ck_assert_msg(!service_open(&o, f.service, f.worker, &in, &e), "%s", e.detail);
    return o;
}

static struct answer ask_long(const struct session_opened *o)
{
    struct question q = {.chunk = 1, .buffer_s = 20, .has_last = true};
    q.last = (struct outcome){
        .level = o->first.level, .bytes = 1000000, .download_s = 1, .rebuffer_s = 1};
    struct answer a;
    struct err e = {0};
    ck_assert_msg(!service_ask(&a, f.service, f.worker, o->session, &q, &e), "%s",
                  e.detail);
    return a;
}

static void check_long(const struct answer *a, bool algorithm)
{
    double sum = 0;
    int seen = 0;
    for (int k = 0; k < LONG; k++) {
        sum += a->prob[k];
        seen += a->prob[k] > 0;
    }
    ck_assert_int_eq(a->levels, LONG);
    ck_assert_int_eq(a->by, BY_ARM);
    ck_assert_double_eq_tol(sum, 1, 1e-5);
    ck_assert_double_gt(a->prob[a->level], 0);
    if (algorithm) {
        ck_assert_int_eq(a->level, ABOVE);
        ck_assert_double_eq(a->prob[ABOVE], 1);
        ck_assert_int_eq(a->expert, -1);
    } else {
        ck_assert_int_ge(a->expert, 0);
        ck_assert_int_gt(seen, 1);
        ck_assert_int_le(seen, 12);
    }
}

TEST(arms_decide_for_a_long_ladder)
{
    char other[300], weights[400], fixed[40];
    snprintf(other, sizeof other, "%s/other.safetensors", f.dir);
    snprintf(weights, sizeof weights, "file:0.4:abrd:%s", other);
    snprintf(fixed, sizeof fixed, "high:0.4:fixed-%d", ABOVE);
    served_kill(&f);
    char mine[300];
    snprintf(mine, sizeof mine, "%s", f.policy);
    snprintf(f.policy, sizeof f.policy, "%s", other);
    served_policy(&f, 99);
    snprintf(f.policy, sizeof f.policy, "%s", mine);
    arms("tall", (const char *const[]){"now:0.2:abrd", fixed, weights}, 3);
    served_start(&f);
    struct session_opened o[2]; /* one of each arm */
    struct answer a[2];
    static const char *const names[] = {"high", "file"};
    uint64_t key = 1;
    for (int i = 0; i < 2; i++) {
        do
            o[i] = open_long(key++);
        while (strcmp(o[i].arm, names[i]));
        a[i] = ask_long(&o[i]);
        check_long(&a[i], i == 0);
    }
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    for (int i = 0; i < 2; i++) {
        struct answer again = ask_long(&o[i]);
        check_long(&again, i == 0);
        ck_assert_int_eq(again.level, a[i].level);
        ck_assert_mem_eq(again.prob, a[i].prob, sizeof(double[LONG]));
    }
}

TEST(a_decision_of_an_arm_allocates_nothing)
{
    served_end(&f);
    served_begin(&f, false); /* the store's queue has blocks of its own */
    arms("spring", THREE, 3);
    served_start(&f);
    struct session_opened o;
    uint64_t key = 1;
    do
        o = open_viewer("", key++);
    while (strcmp(o.arm, "tail"));
    struct question q = {.chunk = 1, .buffer_s = 8, .has_last = true};
    q.last =
        (struct outcome){.level = 1, .bytes = 100000, .download_s = 1, .rebuffer_s = 1};
    struct answer a;
    alloc_watch();
    int rc = service_ask(&a, f.service, f.worker, o.session, &q, NULL);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(a.by, BY_ARM);
}

/* ---- plans ---- */

static const struct {
    const char *arms, *says;
} BAD[] = {
    {"a:0.5:abrd", "needs a control"},
    {"a:0.5:abrd, a:0.5:rate", "two arms"},
    {"a:0.6:abrd, b:0.6:rate", "above 1"},
    {"a:0.5, b:0.5:rate", "NAME:SHARE:DECIDER"},
    {"a:x:abrd, b:0.5:rate", "share of a"},
    {"a:0:abrd, b:0.5:rate", "share of a"},
    {"A:0.5:abrd, b:0.5:rate", "the name 'A'"},
    {"a:0.5:, b:0.5:rate", "decider of a"},
    {"a:0.5:abrd@, b:0.5:rate", "the name ''"},
};
TEST(bad_plans_say_what_to_do)
{
    struct trial_cfg c = trial_cfg_default();
    struct trial_plan p;
    struct err e = {0};
    c.name = "x";
    ck_assert_int_lt(trial_plan_read(&p, &c, BAD[_i].arms, &e), 0);
    ck_assert_msg(strstr(e.detail, BAD[_i].says) != NULL, "%s", e.detail);
}

static const struct {
    const char *arms, *says;
} UNKNOWN[] = {{"a:0.5:abrd, b:0.5:mpc", "keeps nothing"},
               {"a:0.5:abrd, b:0.5:bola-e", "keeps nothing"},
               {"a:0.5:abrd, b:0.5:nonsense", "keeps nothing"},
               {"a:0.5:abrd, b:0.5:soda:zeta=1", "zeta"},
               {"a:0.5:abrd, b:0.5:abrd@nobody", "no profile 'nobody'"},
               {"a:0.5:abrd, b:0.5:abrd:/none.safetensors", "/none.safetensors"}};
TEST(unknown_deciders_say_what_is_known)
{
    struct trial_cfg c = trial_cfg_default();
    struct trial_plan p;
    struct err e = {0};
    c.name = "other";
    ck_assert_int_eq(trial_plan_read(&p, &c, UNKNOWN[_i].arms, NULL), 0);
    ck_assert_int_lt(trial_run_start(the_trial(), &p, 0, &e), 0);
    ck_assert_msg(strstr(e.detail, UNKNOWN[_i].says) != NULL, "%s", e.detail);
    ck_assert_str_eq(open_viewer("", 3).trial, "spring"); /* nothing has changed */
}

TEST(a_plan_as_text_and_back)
{
    struct trial_cfg c = trial_cfg_default();
    struct trial_plan a, b;
    char text[TRIAL_ARMS_TEXT];
    c.name = "x";
    ck_assert_int_eq(trial_plan_read(&a, &c,
                                     "one:0.125:player, two:0.25:soda:beta=2+gamma=40,"
                                     "three:0.1:abrd:/a@b/c.safetensors@live",
                                     NULL),
                     0);
    ck_assert_str_eq(a.arm[2].decides, "abrd:/a@b/c.safetensors");
    ck_assert_str_eq(a.arm[2].profile, "live");
    trial_plan_arms(text, &a);
    ck_assert_int_eq(trial_plan_read(&b, &c, text, NULL), 0);
    ck_assert(trial_plan_same(&a, &b));
    b.arm[1].share += .01;
    ck_assert(!trial_plan_same(&a, &b));
}

SUITE_SET_UP(serve_trial_trial_run, 120, setup, teardown, arms_decide_as_their_plan_says,
             a_mode_keeps_a_session_out, a_viewer_keeps_its_arm_and_counts_once,
             a_crash_loses_no_assignment, a_bad_arm_is_stopped_and_falls_back,
             a_running_session_of_a_stopped_arm_falls_back,
             promotion_and_rollback_stay_over_a_restart, a_damaged_state_is_refused,
             an_arm_without_its_file_falls_back, a_control_without_its_file_is_the_player,
             a_name_is_used_once, weights_of_a_file_decide_and_teach_nothing,
             arms_decide_for_a_long_ladder, a_decision_of_an_arm_allocates_nothing,
             ROWS(bad_plans_say_what_to_do, BAD),
             ROWS(unknown_deciders_say_what_is_known, UNKNOWN), a_plan_as_text_and_back);
