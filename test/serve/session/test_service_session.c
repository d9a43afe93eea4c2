/* Sessions, decisions and rewards as a viewer sees them. */
#include "serve/session/service.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/ckpt.h"
#include "serve/session/decide.h"
#include "support/alloc.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, false);
    f.cfg.explore_share = .5;
    served_start(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static void same_answer(const struct answer *a, const struct answer *b)
{
    ck_assert_int_eq(a->chunk, b->chunk);
    ck_assert_int_eq(a->level, b->level);
    ck_assert_int_eq(a->levels, b->levels);
    ck_assert_double_eq(a->kbps, b->kbps);
    ck_assert_uint_eq(a->policy, b->policy);
    ck_assert_int_eq(a->expert, b->expert);
    ck_assert_mem_eq(a->prob, b->prob, sizeof a->prob);
    ck_assert_double_eq(a->value, b->value);
    ck_assert_double_eq(a->entropy, b->entropy);
    ck_assert_int_eq(a->sampled, b->sampled);
    ck_assert_int_eq(a->by, b->by);
}

TEST(a_session_opens_with_its_first_answer)
{
    struct session_opened o = served_open(&f, 1, 48);
    ck_assert_uint_eq(strlen(o.session), 32);
    ck_assert_str_eq(o.profile, "pensieve");
    ck_assert(o.hinted);
    ck_assert_int_eq(o.first.by, BY_ROUTER);
    ck_assert_int_eq(o.first.chunk, 0);
    ck_assert_int_eq(o.first.levels, 6);
    ck_assert_uint_eq(o.first.policy, 1);
    double sum = 0;
    for (int k = 0; k < 6; k++)
        sum += o.first.prob[k];
    ck_assert_double_eq_tol(sum, 1, 1e-5);

    /* a question for chunk 0 gets the same answer */
    struct question q = served_question(0, 0);
    q.buffer_s = 0;
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    same_answer(&a, &o.first);
}

TEST(profiles_are_understood)
{
    struct session_open in = served_request(1, 48);
    struct session_opened o;
    strcpy(in.profile, "news");
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_str_eq(o.profile, "news");
    ck_assert(o.hinted);
    ck_assert(qoe_same(&o.qoe, &qoe_find("news")->qoe));

    in.profile[0] = '\0';
    in.has_mu = true;
    in.qoe = qoe_of_mu(1, 2, 3, QOE_LOG);
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_str_eq(o.profile, "custom");
    ck_assert(o.hinted);

    in.has_mu = false;
    strcpy(in.profile, "nobody");
    struct err e = {0};
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "profile");
}

/* The player fetches other levels than the daemon decides; another session follows the daemon. */
static void play_observed(const char *session, int level, int n)
{
    for (int k = 1; k < n; k++) {
        struct question q = served_question(k, level);
        struct answer a;
        ck_assert_int_eq(service_ask(&a, f.service, f.worker, session, &q, NULL), 0);
        ck_assert(a.observed && !a.sampled);
    }
    ck_assert_int_eq(service_close(f.service, session, NULL, NULL), 0);
}

TEST(an_observed_session_teaches_nothing_and_counts_apart)
{
    struct service_stats before, s;
    service_stats(&before, f.service);
    for (uint64_t key = 0; key < 40; key++) { /* half of them would explore */
        struct session_open in = served_request(key, 48);
        in.mode = SESSION_OBSERVE;
        if (key % 2) in.profile[0] = '\0'; /* without a hint */
        struct session_opened o;
        ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
        ck_assert(o.observed && !o.explores && o.first.observed && !o.first.sampled);
        struct underway_out out;
        ck_assert_int_eq(service_underway(&out, f.service, o.session,
                                          &(struct underway_in){0, 5, 1000, 30, 0, 0},
                                          NULL),
                         0);
        ck_assert_int_eq(out.level, 5); /* never abandons */
        play_observed(o.session, 5, 12);
    }
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.observed_opened, 40);
    ck_assert_uint_eq(s.observed.viewing.sessions, 40);
    ck_assert_double_eq(s.observed.viewing.played_s, 40 * 11 * 4);
    ck_assert_double_gt(s.observed.viewing.stall_s, 0);
    ck_assert_uint_eq(s.not_followed, 0);
    ck_assert_mem_eq(s.forecast_downloads, before.forecast_downloads,
                     sizeof s.forecast_downloads);
    ck_assert_mem_eq(s.forecast_margin, before.forecast_margin, sizeof s.forecast_margin);
    ck_assert_int_eq(s.networks, 0);
    for (int i = 0; i < s.n_profiles; i++) {
        ck_assert_uint_eq(s.profile[i].rewards, 0);
        ck_assert_double_eq(s.profile[i].stall_weight, before.profile[i].stall_weight);
    }
    ck_assert_uint_eq(served_parts(&f).hintless.sessions, 0);

    /* the same chunks of a session that is decided do teach */
    struct session_opened o = served_open(&f, 0, 48);
    served_play(&f, &o, 12);
    service_stats(&s, f.service);
    ck_assert_uint_gt(
        s.forecast_downloads[0] + s.forecast_downloads[1] + s.forecast_downloads[2], 0);
    ck_assert_uint_eq(s.observed_opened, 40);
}

TEST(learn_observe_is_the_default_of_sessions)
{
    served_kill(&f);
    f.cfg.learn = LEARN_OBSERVE;
    served_start(&f);
    struct session_open in = served_request(1, 48);
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert(o.observed);
    in.mode = SESSION_DECIDE;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert(!o.observed);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert(!s.learning);
}

TEST(repeats_and_contradictions)
{
    struct session_opened o = served_open(&f, 1, 48);
    struct question q = served_question(1, o.first.level);
    struct answer a, b;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, NULL), 0);
    same_answer(&a, &b);
    q.buffer_s += .5;
    struct err e = {0};
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, &e),
                     ERR_CONFLICT);
    ck_assert_str_eq(e.field, "chunk");

    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.decisions, 2);
    ck_assert_uint_eq(s.repeats, 1);
    ck_assert_uint_eq(s.conflicts, 1);
    ck_assert_uint_eq(s.rewards, 1);
}

TEST(exploring_sessions_never_abandon)
{
    int told[2] = {0}, asked[2] = {0};
    for (uint64_t key = 0; key < 40; key++) {
        struct session_opened o = served_open(&f, key, 48);
        struct underway_in in = {0, 0, 200000, .05, 0, 0};
        struct underway_out out;
        ck_assert_int_eq(service_underway(&out, f.service, o.session, &in, NULL), 0);
        ck_assert_int_eq(out.chunk, 0);
        asked[o.explores]++;
        told[o.explores] += out.level != 0;
    }
    ck_assert_int_gt(asked[0], 4);
    ck_assert_int_gt(asked[1], 4);
    ck_assert_int_eq(told[0], asked[0]);
    ck_assert_int_eq(told[1], 0);

    struct session_opened o = served_open(&f, 50, 48);
    struct underway_in in = {0, 0, 200000, NAN, 0, 0};
    struct underway_out out;
    struct err e = {0};
    ck_assert_int_lt(service_underway(&out, f.service, o.session, &in, &e), 0);
    ck_assert_str_eq(e.field, "elapsed_s");
    in = (struct underway_in){7, 0, 200000, 1, 0, 0};
    ck_assert_int_eq(service_underway(&out, f.service, o.session, &in, &e), ERR_CONFLICT);
    ck_assert_int_eq(service_underway(&out, f.service, "x", &in, &e), ERR_ABSENT);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.underway, 40);
    ck_assert_uint_eq(s.abandoned, (uint64_t)told[0]);
}

TEST(bad_input_is_refused_and_changes_nothing)
{
    struct session_opened o = served_open(&f, 1, 48);
    struct question q = served_question(1, o.first.level);
    struct answer a;
    struct err e = {0};
    q.last.download_s = NAN;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, &e),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "last.download_s");
    e = (struct err){0};
    q = served_question(48, 0);
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "chunk");
    const char *strangers[] = {"", "x", "00000000000000000000000000000000",
                               "ffffffffffffffffffffffffffffffffff"};
    q = served_question(1, 0);
    for (int i = 0; i < 4; i++) {
        e = (struct err){0};
        ck_assert_int_eq(service_ask(&a, f.service, f.worker, strangers[i], &q, &e),
                         ERR_ABSENT);
        ck_assert_str_eq(e.field, "session");
    }
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.decisions, 1);
    ck_assert_uint_eq(s.rewards, 0);
}

TEST(the_same_key_gets_the_same_answers)
{
    int explore = 0;
    for (uint64_t key = 0; key < 40; key++) {
        struct session_opened a = served_open(&f, key, 48), b = served_open(&f, key, 48);
        ck_assert_str_ne(a.session, b.session);
        ck_assert_int_eq(a.explores, b.explores);
        ck_assert_uint_eq(served_play(&f, &a, 48), served_play(&f, &b, 48));
        explore += a.explores;
    }
    ck_assert_int_gt(explore, 8);
    ck_assert_int_lt(explore, 32);

    /* a service of its own, as another process would be */
    struct session_opened a = served_open(&f, 5, 48);
    uint64_t here = served_play(&f, &a, 48);
    served_kill(&f);
    served_start(&f);
    a = served_open(&f, 5, 48);
    ck_assert_uint_eq(served_play(&f, &a, 48), here);
}

TEST(a_drawn_key_is_in_the_answer)
{
    struct session_open in = served_request(0, 48);
    in.has_key = false;
    struct session_opened a, b;
    ck_assert_int_eq(service_open(&a, f.service, f.worker, &in, NULL), 0);
    ck_assert_int_eq(service_open(&b, f.service, f.worker, &in, NULL), 0);
    ck_assert_uint_ne(a.key, b.key);
    struct session_opened again = served_open(&f, a.key, 48);
    ck_assert_uint_eq(served_play(&f, &again, 20), served_play(&f, &a, 20));
}

TEST(only_explorers_sample)
{
    bool seen[2] = {false};
    for (uint64_t key = 0; key < 20; key++) {
        struct session_opened o = served_open(&f, key, 48);
        ck_assert_int_eq(o.first.sampled, o.explores);
        seen[o.explores] = true;
        if (o.explores) { /* inverse transform of the draw for (seed, key, chunk) */
            double u = decide_draw(f.cfg.seed, key, 0), below = 0;
            for (int k = 0; k < o.first.level; k++)
                below += o.first.prob[k];
            ck_assert_double_ge(u, below - 1e-5);
            ck_assert_double_lt(u, below + o.first.prob[o.first.level] + 1e-5);
            continue;
        }
        for (int k = 0; k < 6; k++)
            ck_assert(o.first.prob[k] <= o.first.prob[o.first.level]);
    }
    ck_assert(seen[0] && seen[1]);
}

/* Weights whose products overflow: the lowest level, by no expert, also when asked again. */
TEST(weights_that_overflow_fall_back)
{
    struct err e = {0};
    struct policy *p = ckpt_load(f.policy, NULL, NULL, NULL, &e);
    ck_assert_msg(p != NULL, "%s", e.detail);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] = FLT_MAX;
    ck_assert_int_eq(ckpt_save(f.policy, p, NULL, NULL, 0, &e), 0);
    policy_free(p);
    served_kill(&f);
    served_start(&f);

    for (uint64_t key = 0; key < 4; key++) {
        struct session_opened o = served_open(&f, key, 48);
        ck_assert_int_eq(o.first.level, 0);
        ck_assert_int_eq(o.first.expert, -1);
        ck_assert(!o.first.sampled);
        struct question q = served_question(1, 0);
        struct answer a, again;
        ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
        ck_assert_int_eq(service_ask(&again, f.service, f.worker, o.session, &q, NULL),
                         0);
        ck_assert_int_eq(a.expert, -1);
        same_answer(&a, &again);
    }
    /* they are decisions, but no expert's */
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.decisions, 8);
    for (int k = 0; k < 16; k++)
        ck_assert_uint_eq(s.expert_decisions[k], 0);
}

TEST(a_stateless_question_equals_the_sessions)
{
    served_kill(&f);
    f.cfg.explore_share = 0;
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 48);
    struct view v = view_default();
    v.qoe = qoe_find("pensieve")->qoe;
    struct session_open in = served_request(1, 48);
    v.levels = 6;
    memcpy(v.ladder_kbps, in.ladder_kbps, sizeof v.ladder_kbps);
    quality_curve(v.points, v.ladder_kbps, NULL, v.levels);
    v.qoe = o.qoe;
    v.chunk_s = 4;
    v.chunks = 48;
    v.buffer_max_s = 60;
    struct answer a, b;
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, NULL), 0);
    same_answer(&a, &o.first);

    struct question q = served_question(1, o.first.level);
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, NULL), 0);
    view_push(&v, (double)q.last.bytes, q.last.download_s);
    v.chunk = 1;
    v.last_level = o.first.level;
    v.last_points = v.points[v.last_level];
    v.buffer_s = q.buffer_s;
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, NULL), 0);
    same_answer(&a, &b);
    v.buffer_s = -1;
    struct err e = {0};
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, &e),
                     ERR_RANGE);
    ck_assert_str_eq(e.field, "buffer_s");
}

/* The answer of a session to chunk 0 after what was measured before it. */
static struct answer opened_after(double kbps, double buffer_s, double max_kbps)
{
    struct session_open in = served_request(1, 48);
    struct session_opened o;
    struct err e = {0};
    in.continues = buffer_s > 0;
    in.buffer_s = buffer_s;
    in.max_kbps = max_kbps;
    for (int i = 0; i < 4 && kbps > 0; i++, in.link.n++) {
        in.link.kbps[i] = kbps;
        in.link.download_s[i] = 2;
    }
    ck_assert_msg(service_open(&o, f.service, f.worker, &in, &e) == 0, "%s: %s", e.field,
                  e.detail);
    return o.first;
}

/* A period after an advertisement, or the next video: no cold start, and no start at all. */
TEST(a_session_continues_with_what_was_measured_before_it)
{
    served_kill(&f);
    f.cfg.explore_share = 0;
    served_start(&f);
    struct answer cold = opened_after(0, 0, 0), fast = opened_after(5500, 40, 0);
    ck_assert(cold.guarded);
    ck_assert(!fast.guarded);

    /* the same view without a session */
    struct view v = view_default();
    struct session_open in = served_request(1, 48);
    v.levels = 6;
    memcpy(v.ladder_kbps, in.ladder_kbps, sizeof v.ladder_kbps);
    quality_curve(v.points, v.ladder_kbps, NULL, v.levels);
    v.qoe = qoe_find("pensieve")->qoe;
    v.chunk_s = 4;
    v.chunks = 48;
    v.buffer_max_s = 60;
    v.buffer_s = 40;
    for (int i = 0; i < 4; i++)
        view_push(&v, 5500 * 125 * 2, 2);
    struct answer a;
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, NULL), 0);
    same_answer(&a, &fast);

    /* what it waits for is a stall, not a start */
    struct service_stats s;
    in.continues = true;
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    struct question q = served_question(1, o.first.level);
    q.last.rebuffer_s = 3;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    service_stats(&s, f.service);
    double started = 0, stalled = 0;
    for (int i = 0; i < s.n_profiles; i++) {
        started += s.profile[i].viewing.startup_s;
        stalled += s.profile[i].viewing.stall_s;
    }
    ck_assert_double_eq(started, 0);
    ck_assert_double_eq(stalled, 3);
}

TEST(a_capped_question_is_planned_under_the_cap)
{
    struct {
        double max_kbps;
        int level; /* the highest one allowed */
    } row[] = {{4300, 5}, {4299, 4}, {1200, 2}, {750, 1}, {300, 0}, {100, 0}};
    served_kill(&f);
    f.cfg.explore_share = 1;
    served_start(&f);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct answer a = opened_after(5500, 40, row[i].max_kbps);
        ck_assert_msg(a.level <= row[i].level, "%g: level %d", row[i].max_kbps, a.level);
        ck_assert_int_eq(a.levels, 6);
        ck_assert(a.sampled == (i == 0)); /* all levels are allowed: drawn */
        double sum = 0;
        for (int k = 0; k < 6; k++) {
            sum += a.prob[k];
            ck_assert(k <= row[i].level || a.prob[k] == 0);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }

    /* another cap is another question, an equal one the same */
    struct session_opened o = served_open(&f, 7, 48);
    struct question q = served_question(1, o.first.level);
    struct answer a, b;
    struct err e = {0};
    q.max_kbps = 1200;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_le(a.level, 2);
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, NULL), 0);
    same_answer(&a, &b);
    q.max_kbps = 750;
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, NULL),
                     ERR_CONFLICT);
    q.chunk = 2;
    q.last.chunk = 1;
    q.max_kbps = 3;
    ck_assert_int_eq(service_ask(&b, f.service, f.worker, o.session, &q, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "max_kbps");

    /* nor is a chunk replaced by one above the cap */
    struct underway_in u = {.chunk = 1,
                            .level = a.level,
                            .bytes = 100000,
                            .elapsed_s = .3,
                            .buffer_s = 0,
                            .max_kbps = 1200};
    struct underway_out out;
    ck_assert_int_eq(service_underway(&out, f.service, o.session, &u, NULL), 0);
    ck_assert_int_le(out.level, 2);
}

TEST(the_history_shows_decisions_and_outcomes)
{
    struct session_opened o = served_open(&f, 1, 10);
    struct question q = served_question(1, o.first.level);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    int other = a.level ? 0 : 1;
    q = served_question(2, other);
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    struct reward_in in = {.has_external = true, .chunk = 2, .external = -3};
    struct reward_out r;
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, NULL), 0);

    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert_int_eq(h.n, 3);
    ck_assert(!h.closed);
    ck_assert_int_eq(h.open.chunks, 10);
    ck_assert_str_eq(h.opened.session, o.session);
    ck_assert(h.steps[0].reported && h.steps[0].followed);
    ck_assert(h.steps[1].reported && !h.steps[1].followed);
    ck_assert_int_eq(h.steps[1].level, other);
    ck_assert_int_ne(h.steps[1].decided_level, other);
    ck_assert(!h.steps[2].reported && h.steps[2].has_external);
    ck_assert_double_eq(h.steps[2].external, -3);
    service_history_free(&h);
    ck_assert_int_eq(service_history(&h, f.service, "0", NULL), ERR_ABSENT);
}

TEST(closing_twice_is_one_close)
{
    struct session_opened o = served_open(&f, 1, 10);
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.sessions_closed, 1);
    ck_assert_int_eq(s.sessions_live, 0);
    struct question q = served_question(1, 0);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL),
                     ERR_ABSENT);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert(h.closed && !h.terminal);
    service_history_free(&h);
}

TEST(an_answer_allocates_nothing)
{
    struct session_opened o = served_open(&f, 1, 0);
    int level = o.first.level, failed = 0;
    alloc_watch();
    for (int k = 1; k < 300; k++) {
        struct question q = served_question(k, level);
        struct answer a;
        failed |= service_ask(&a, f.service, f.worker, o.session, &q, NULL);
        level = a.level;
    }
    long calls = alloc_calls();
    ck_assert_int_eq(failed, 0);
    ck_assert_int_eq(calls, 0);
}

SUITE_SET_UP(serve_session_service_session, 60, setup, teardown,
             a_session_opens_with_its_first_answer, profiles_are_understood,
             an_observed_session_teaches_nothing_and_counts_apart,
             learn_observe_is_the_default_of_sessions, repeats_and_contradictions,
             exploring_sessions_never_abandon, bad_input_is_refused_and_changes_nothing,
             the_same_key_gets_the_same_answers, a_drawn_key_is_in_the_answer,
             only_explorers_sample, weights_that_overflow_fall_back,
             a_stateless_question_equals_the_sessions,
             a_session_continues_with_what_was_measured_before_it,
             a_capped_question_is_planned_under_the_cap,
             the_history_shows_decisions_and_outcomes, closing_twice_is_one_close,
             an_answer_allocates_nothing);
