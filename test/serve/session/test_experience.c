#include "serve/session/experience.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "policy/packed.h"
#include "serve/learner/bus_local.h"
#include "serve/session/core.h"
#include "serve/session/decide.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.explore_share = 0;
}

static void teardown(void)
{
    served_end(&f);
}

/* A calm link of 1000 kbit/s, whose history is long. */
static struct track_outcome outcome_of(double kbps, double stall_s)
{
    struct track_outcome o = {.kbps = kbps,
                              .bytes = 500000,
                              .lowest_kbps = 300,
                              .stall_s = stall_s,
                              .chunk_s = 4,
                              .stall_ratio_max = .01,
                              .slot = 2,
                              .decided = true,
                              .followed = true};
    for (int i = 0; i < VIEW_HISTORY; i++)
        traj_measure(&o.before, 500000, 4);
    return o;
}

static const double STEP = .02, RATE = .02;
static const double FIRST = 1; /* stall weight at the start */

/* A download is missed below the low quantile that the session's view has, at its chunk length. */
TEST(a_miss_is_one_of_the_session_s_forecast)
{
    for (int chunk_s = 1; chunk_s <= 8; chunk_s *= 2) {
        struct experience *x = experience_new(NULL);
        struct experience_stats s;
        struct view v = view_default();
        struct track_outcome o = {
            .lowest_kbps = 300, .chunk_s = chunk_s, .decided = true};
        v.chunk_s = chunk_s;
        for (int i = 0; i < VIEW_HISTORY; i++) {
            uint32_t bytes = i % 2 ? 750000 : 250000;
            traj_measure(&o.before, bytes, 4);
            view_push(&v, bytes, 4);
        }
        struct forecast shipped = forecast_of(&v);
        double low_kbps = shipped.next_kbps[FORECAST_LOW];
        o.bytes = shipped.usual_bytes;
        int kind = caution_link(&v);
        o.kbps = low_kbps * 1.01;
        experience_outcome(x, &o, NULL);
        experience_stats(&s, x);
        ck_assert_uint_eq(s.seen[kind], 1);
        ck_assert_uint_eq(s.missed[kind], 0);
        o.kbps = low_kbps * .99;
        experience_outcome(x, &o, NULL);
        experience_stats(&s, x);
        ck_assert_uint_eq(s.missed[kind], 1);

        /* by another forecast */
        float weights[FORECAST_OWN] = {0};
        for (int q = 0; q < FORECAST_OUTPUTS; q++)
            weights[FORECAST_OWN_B3 + q] = -.5f;
        experience_outcome(x, &o, weights);
        experience_stats(&s, x);
        ck_assert_uint_eq(s.seen[kind], 3);
        ck_assert_uint_eq(s.missed[kind], 1);
        experience_free(x);
    }
}

TEST(outcomes_by_hand)
{
    struct experience *x = experience_new(NULL);
    struct experience_stats s;
    struct track_outcome calm = outcome_of(1100, 0), slow = outcome_of(400, 3);
    experience_outcome(x, &calm, NULL);
    experience_stats(&s, x);
    ck_assert_uint_eq(s.seen[0], 1);
    ck_assert_uint_eq(s.missed[0], 0);
    ck_assert_double_eq_tol(s.margin[0], 0, 1e-12);
    ck_assert_double_eq(s.stall_weight[2], FIRST); /* never below */

    experience_outcome(x, &slow, NULL);
    experience_stats(&s, x);
    ck_assert_uint_eq(s.missed[0], 1);
    ck_assert_double_eq_tol(s.margin[0], STEP * 5 / 6, 1e-12);
    double weight = FIRST + RATE * (3 - .07);
    ck_assert_double_eq_tol(s.stall_weight[2], weight, 1e-12);
    experience_outcome(x, &calm, NULL);
    experience_stats(&s, x);
    ck_assert_double_eq_tol(s.stall_weight[2], weight - RATE * .04,
                            1e-12);                /* 0 - 0.01 * 4 */
    ck_assert_double_eq(s.stall_weight[1], FIRST); /* another profile's */
    experience_slot_gone(x, 2);
    experience_stats(&s, x);
    ck_assert_double_eq(s.stall_weight[2], FIRST);
    experience_free(x);
}

/* row: what is different; what it may change. */
static const struct {
    const char *what;
    bool undecided, other_level, first, no_ceiling, no_history;
    double kbps;
    bool downloads, stalls, as_stall;
} rows[] = {
    {"usual", .kbps = 400, .downloads = true, .stalls = true, .as_stall = true},
    {"player chose", .undecided = true, .other_level = true, .kbps = 400},
    {"other level", .other_level = true, .kbps = 400, .downloads = true},
    {"first", .first = true, .no_history = true, .kbps = 400, .stalls = true},
    {"link-bound", .kbps = 299, .downloads = true},
    {"no ceiling", .no_ceiling = true, .kbps = 400, .downloads = true},
    {"empty", .kbps = 0},
};

TEST(what_counts)
{
    struct experience *x = experience_new(NULL);
    struct track_outcome o = outcome_of(400, 3);
    experience_outcome(x, &o, NULL); /* so that the weight can fall */
    o = outcome_of(rows[_i].kbps, 3);
    o.decided = !rows[_i].undecided;
    o.followed = !rows[_i].other_level;
    o.first = rows[_i].first;
    if (rows[_i].no_ceiling) o.stall_ratio_max = 0;
    if (rows[_i].no_history) o.before.n = 0;
    experience_outcome(x, &o, NULL);
    struct experience_stats s;
    experience_stats(&s, x);
    ck_assert_msg((s.seen[0] == 2) == rows[_i].downloads, "%s", rows[_i].what);
    double change_s = 3 - .07;
    change_s += rows[_i].as_stall ? 3 - .07 : rows[_i].stalls ? -.04 : 0;
    ck_assert_msg(fabs(s.stall_weight[2] - FIRST - RATE * change_s) < 1e-12, "%s: %g",
                  rows[_i].what, s.stall_weight[2]);
    experience_free(x);
}

TEST(a_file_keeps_it_by_the_names_of_profiles)
{
    char path[400];
    snprintf(path, sizeof path, "%s/x.state", f.dir);
    struct profiles *p = profiles_new(NULL), *q = profiles_new(NULL);
    struct profile cycling = {.name = "cycling", .qoe = *qoe_standard()};
    ck_assert_int_eq(profiles_put(p, &cycling, NULL), 1);
    struct profile skiing = cycling;
    strcpy(skiing.name, "skiing");
    ck_assert_int_eq(profiles_put(q, &skiing, NULL), 1);
    ck_assert_int_eq(profiles_put(q, &cycling, NULL), 1); /* in another slot */
    int from, to;
    ck_assert_int_eq(profiles_get(&skiing, &from, p, "cycling", NULL), 0);
    ck_assert_int_eq(profiles_get(&skiing, &to, q, "cycling", NULL), 0);
    ck_assert_int_ne(from, to);

    struct experience *x = experience_new(NULL), *y = experience_new(NULL);
    struct track_outcome o = outcome_of(400, 3);
    o.slot = (uint8_t)from;
    for (int i = 0; i < 20; i++)
        experience_outcome(x, &o, NULL);
    struct experience_stats was, now;
    experience_stats(&was, x);
    ck_assert_double_gt(was.stall_weight[from], FIRST + 1);
    ck_assert_int_eq(experience_load(y, path, q, NULL), 0); /* no file */
    ck_assert_int_eq(experience_save(x, path, p, NULL), 0);
    ck_assert_int_eq(experience_load(y, path, q, NULL), 0);
    experience_stats(&now, y);
    ck_assert_mem_eq(now.margin, was.margin, sizeof now.margin);
    ck_assert_mem_eq(now.seen, was.seen, sizeof now.seen);
    ck_assert_double_eq(now.stall_weight[to], was.stall_weight[from]);
    ck_assert_double_eq(now.stall_weight[from], FIRST);

    /* every byte that changes is noticed, and so is every cut */
    size_t n;
    char *bytes = text_read_file(path, 1 << 20, &n, NULL);
    for (size_t i = 0; i < n; i += 7) {
        bytes[i] ^= 1;
        ck_assert_int_eq(text_write_file(path, bytes, n, NULL), 0);
        ck_assert_int_eq(experience_load(x, path, q, NULL), ERR_CORRUPT);
        bytes[i] ^= 1;
        ck_assert_int_eq(text_write_file(path, bytes, i, NULL), 0);
        ck_assert_int_eq(experience_load(x, path, q, NULL), ERR_CORRUPT);
    }
    experience_stats(&now, x);
    ck_assert_mem_eq(now.margin, was.margin, sizeof now.margin);
    free(bytes);
    experience_free(x);
    experience_free(y);
    profiles_free(p);
    profiles_free(q);
}

/* Files of before had margins down to -0.5. */
TEST(a_file_cannot_make_forecasts_bolder)
{
    enum { HEAD = 12 };
    char path[400];
    snprintf(path, sizeof path, "%s/x.state", f.dir);
    struct profiles *p = profiles_new(NULL);
    struct experience *x = experience_new(NULL);
    ck_assert_int_eq(experience_save(x, path, p, NULL), 0);
    size_t n;
    unsigned char *bytes = (unsigned char *)text_read_file(path, 1 << 20, &n, NULL);
    bytes_put_f64(bytes + HEAD, -.5);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, n - HEAD));
    ck_assert_int_eq(text_write_file(path, bytes, n, NULL), 0);
    ck_assert_int_eq(experience_load(x, path, p, NULL), 0);
    struct experience_stats s;
    experience_stats(&s, x);
    ck_assert_double_eq(s.margin[0], 0);
    free(bytes);
    experience_free(x);
    profiles_free(p);
}

/* ---- in the service ---- */

static struct session_opened open_as(const char *profile, uint64_t key)
{
    struct session_open in = served_request(key, 48);
    snprintf(in.profile, sizeof in.profile, "%s", profile);
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    return o;
}

/* As served_question, with a stall of the chunk before. */
static struct question stalled(int chunk, int level, double stall_s)
{
    struct question q = served_question(chunk, level);
    q.last.rebuffer_s = stall_s;
    return q;
}

static struct answer ask(const struct session_opened *o, const struct question *q)
{
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o->session, q, NULL), 0);
    return a;
}

/* The question of chunk 3 without a session, after the same downloads. */
static struct answer ask_alone(const int *level, double buffer_s, double stalled_s,
                               double played_s)
{
    struct session_open in = served_request(1, 48);
    struct view v = view_default();
    v.qoe = *qoe_standard();
    v.levels = in.levels;
    memcpy(v.ladder_kbps, in.ladder_kbps, sizeof v.ladder_kbps);
    quality_curve(v.points, v.ladder_kbps, NULL, v.levels);
    v.chunk_s = in.chunk_s;
    v.chunks = in.chunks;
    v.buffer_max_s = in.buffer_max_s;
    v.chunk = 3;
    v.buffer_s = buffer_s;
    v.last_level = level[2];
    v.last_points = v.points[level[2]];
    for (int i = 0; i < 3; i++) {
        struct outcome o = served_outcome(i, level[i]);
        view_push(&v, (double)o.bytes, o.download_s);
    }
    v.stalled_s = stalled_s;
    v.played_s = played_s;
    struct answer a;
    ck_assert_int_eq(
        service_decide(&a, f.service, f.worker, "standard", true, &v, 0, NULL), 0);
    return a;
}

/* The wait for chunk 0 is no stall. A restart knows what was stalled. */
TEST(decisions_know_the_stalls_of_their_session)
{
    for (int restart = 0; restart < 2; restart++) {
        served_start(&f);
        struct session_opened o = open_as("standard", (uint64_t)restart);
        int level[3] = {o.first.level};
        static const double stall_s[] = {5, 1.5, .25};
        for (int i = 1; i < 3; i++) {
            struct question q = stalled(i, level[i - 1], stall_s[i - 1]);
            level[i] = ask(&o, &q).level;
        }
        if (restart) {
            ck_assert_int_eq(service_commit(f.service, NULL), 0);
            service_save_experience(f.service);
            served_kill(&f);
            served_start(&f);
        }
        struct question q = stalled(3, level[2], stall_s[2]);
        struct answer same = ask_alone(level, q.buffer_s, 1.75, 12);
        struct answer other = ask_alone(level, q.buffer_s, 0, 12);
        struct answer a = ask(&o, &q), again = ask(&o, &q);
        ck_assert_mem_eq(a.prob, same.prob, sizeof a.prob);
        ck_assert_mem_eq(a.prob, again.prob, sizeof a.prob);
        ck_assert_mem_ne(a.prob, other.prob, sizeof a.prob);
        served_kill(&f);
    }
    served_start(&f);
}

/* What was seen of other sessions changes a decision, but not one that was made. */
TEST(decisions_know_the_stalls_of_the_audience)
{
    served_start(&f);
    struct session_opened o = open_as("standard", 1), other;
    struct question q = stalled(1, o.first.level, 0);
    struct answer before = ask(&o, &q), again;
    for (uint64_t key = 10; key < 14; key++) {
        other = open_as("standard", key);
        struct question late = stalled(1, other.first.level, 0);
        late = stalled(2, ask(&other, &late).level, 30);
        (void)ask(&other, &late);
    }
    struct service_stats s;
    service_stats(&s, f.service);
    again = ask(&o, &q);
    ck_assert_mem_eq(before.prob, again.prob, sizeof again.prob);
    other = open_as("standard", 2);
    q = stalled(1, other.first.level, 0);
    again = ask(&other, &q);
    if (other.first.level == o.first.level)
        ck_assert_mem_ne(before.prob, again.prob, sizeof again.prob);

    /* another profile has seen nothing, and papers' weights have no ceiling */
    struct experience_stats x;
    experience_stats(&x, f.service->experience);
    ck_assert_double_gt(x.stall_weight[0], 2.9);
    ck_assert_double_eq(x.stall_weight[1], FIRST);
}

static struct traj sent;

static bool send_here(void *self, const struct traj *t)
{
    (void)self;
    sent = *t;
    return true;
}

static int bus_here(struct bus *out, void *ctx, struct err *e)
{
    (void)ctx;
    int rc = bus_local_init(out, 16, e);
    out->send = send_here;
    return rc;
}

/* What the learner's replay of the trajectory that was sent decides: choice, action (N of traj_states). */
enum { REPLAY_MAX = 30 };
static void decide_again(struct policy_choice *choice, int *action, uint64_t key)
{
    struct policy *policy = ckpt_load(f.policy, NULL, NULL, NULL, NULL);
    struct packed *packed = packed_new(&policy->cfg, NULL);
    packed_load(packed, policy);
    static float obs[REPLAY_MAX][FEAT_FULL_DIM];
    uint32_t mask[REPLAY_MAX];
    ck_assert(traj_observe(obs[0], mask, action, &sent, FEAT_FULL));
    for (int i = 0; i < traj_states(&sent); i++) {
        double u = decide_draw(f.cfg.seed, key, i);
        ck_assert_int_eq(packed_decide(&choice[i], packed, obs[i], mask[i], u), 0);
        ck_assert_int_eq(choice[i].action, action[i]);
    }
    packed_free(packed);
    policy_free(policy);
}

/* Whatever was seen, the learner's replay is what a session that explores decided by. */
TEST(the_replay_is_the_decision)
{
    enum { N = 12 };
    f.cfg.data_dir = NULL;
    f.cfg.explore_share = 1;
    f.cfg.learn = true;
    f.cfg.parts.bus = bus_here;
    served_start(&f);
    struct track_outcome bad = outcome_of(400, 3);
    bad.slot = 0;
    for (int i = 0; i < 60; i++)
        experience_outcome(f.service->experience, &bad, NULL);

    struct session_opened o = open_as("standard", 7);
    struct answer a[N] = {o.first};
    for (int i = 1; i < N; i++) {
        struct question q = stalled(i, a[i - 1].level, .5 * (i % 3));
        a[i] = ask(&o, &q);
        ck_assert(a[i].sampled);
    }
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    ck_assert_int_eq(traj_states(&sent), N);

    struct policy_choice c[N];
    int action[N];
    decide_again(c, action, 7);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(c[i].action, a[i].level);
        for (int k = 0; k < 6; k++)
            ck_assert_double_eq((double)c[i].prob[k], a[i].prob[k]);
    }
}

/* Of a long ladder the policy sees a window, and the learner the same one: with sizes and qualities of
 * the chunks, on a link that changes. */
static void check_long_replay(int levels)
{
    enum { N = 30 };
    struct session_open in = served_request((uint64_t)levels, 48);
    in.levels = levels;
    for (int k = 0; k < levels; k++)
        in.ladder_kbps[k] = 100 * pow(1.17, k);
    struct session_opened o;
    struct err e = {0};
    ck_assert_msg(!service_open(&o, f.service, f.worker, &in, &e), "%s: %s", e.field,
                  e.detail);
    struct answer a[N] = {o.first};
    for (int i = 1; i < N; i++) {
        struct question q = {.chunk = i, .buffer_s = 5 + i, .has_last = true};
        double bytes = 500 * in.ladder_kbps[a[i - 1].level];
        double kbps = 900 * (1 + i * 7 % 11 * i);
        q.last = (struct outcome){.chunk = i - 1,
                                  .level = a[i - 1].level,
                                  .bytes = (int64_t)bytes,
                                  .download_s = bytes * 8e-3 / kbps};
        q.has_next = i % 2;
        q.has_next_quality = i % 3;
        for (int k = 0; k < levels; k++) {
            q.next_bytes[k] = floor(450 * in.ladder_kbps[k]) + i;
            q.next_quality[k] = 3 * k + .01 * i;
        }
        a[i] = ask(&o, &q);
        ck_assert(a[i].sampled);
    }
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    ck_assert_int_eq(traj_states(&sent), N);

    struct policy_choice c[N];
    int action[N], above = 0;
    decide_again(c, action, (uint64_t)levels);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        ck_assert_double_eq((double)c[i].prob[action[i]], a[i].prob[a[i].level]);
        if (i < sent.n) ck_assert_float_eq(c[i].logp, sent.step[i].logp);
        for (int k = 0; k < levels; k++)
            sum += a[i].prob[k];
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        above += a[i].level >= FEAT_LEVELS;
    }
    ck_assert_int_gt(above, 2);
    sent.step[3].action = (int8_t)(levels - 1); /* decided by other rules */
    sent.step[3].last_level = 2;
    sent.step[2].bytes = 1000;
    sent.step[2].download_s = 1;
    sent.before.n = 0;
    static float obs[REPLAY_MAX][FEAT_FULL_DIM];
    uint32_t mask[REPLAY_MAX];
    ck_assert(!traj_observe(obs[0], mask, action, &sent, FEAT_FULL));
}

TEST(the_replay_of_a_long_ladder_is_the_decision)
{
    f.cfg.data_dir = NULL;
    f.cfg.explore_share = 1;
    f.cfg.learn = true;
    f.cfg.parts.bus = bus_here;
    served_start(&f);
    check_long_replay(13);
    check_long_replay(20);
    check_long_replay(32);
}

/* ---- closed loop: an audience on one kind of link ---- */

struct audience {
    double stalled_s, played_s;
};

/* Uneven links: one chunk in six is slow. Each session has its own order. */
static double link_kbps(bool hard, uint64_t key, int chunk)
{
    if (!hard) return 20000;
    return rng_uniform_at(3, key, (uint64_t)chunk) < .25 ? 400 : 3000;
}

/* follows: whether the stall weight does; else it starts over before each decision. The margins follow
 * in both cases: they would hide the weight. */
static struct audience watch(bool hard, int sessions, bool follows)
{
    enum { CHUNKS = 40 };
    struct audience sum = {0, 0};
    for (uint64_t key = 0; key < (uint64_t)sessions; key++) {
        struct session_opened o = open_as("standard", key);
        struct answer a = o.first;
        double buffer_s = 0;
        for (int i = 0; i < CHUNKS; i++) {
            double kbps = link_kbps(hard, key, i), bytes = a.kbps * 500;
            double seconds = bytes * 8e-3 / kbps, stall_s = fmax(seconds - buffer_s, 0);
            buffer_s = fmin(fmax(buffer_s - seconds, 0) + 4, 30);
            if (i) sum.stalled_s += stall_s;
            sum.played_s += 4;
            struct question q = {.chunk = i + 1,
                                 .buffer_s = buffer_s,
                                 .has_last = true,
                                 .last = {.chunk = i,
                                          .level = a.level,
                                          .bytes = (int64_t)bytes,
                                          .download_s = seconds,
                                          .rebuffer_s = stall_s}};
            for (int slot = 0; slot < SERVICE_PROFILE_STATS && !follows; slot++)
                experience_slot_gone(f.service->experience, slot);
            if (i + 1 < CHUNKS) a = ask(&o, &q);
        }
        ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    }
    return sum;
}

static double ratio_of(struct audience a)
{
    return a.stalled_s / (a.stalled_s + a.played_s);
}

static double standard_weight(void)
{
    struct service_stats s;
    service_stats(&s, f.service);
    for (int i = 0; i < s.n_profiles; i++)
        if (!strcmp(s.profile[i].name, "standard")) return s.profile[i].stall_weight;
    return 0;
}

TEST(the_stall_weight_follows_the_audience)
{
    enum { SESSIONS = 40 };
    char path[400];
    snprintf(path, sizeof path, "%s/blank.state", f.dir);
    f.cfg.policy_path = "deploy/policy/moe.safetensors";
    f.cfg.data_dir = NULL;
    served_start(&f);
    struct experience *x = f.service->experience;
    ck_assert_int_eq(experience_save(x, path, f.service->profiles, NULL), 0);
    struct audience without = watch(true, SESSIONS, false);
    ck_assert_int_eq(experience_load(x, path, f.service->profiles, NULL), 0);
    struct audience with = watch(true, SESSIONS, true);
    double weight = standard_weight();
    ck_assert_msg(ratio_of(without) > .01, "%g",
                  ratio_of(without)); /* above the ceiling */
    ck_assert_msg(weight > FIRST, "%g", weight);
    ck_assert_msg(ratio_of(with) < .9 * ratio_of(without), "%g with, %g without",
                  ratio_of(with), ratio_of(without));
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_gt(s.forecast_downloads[0] + s.forecast_downloads[1] +
                          s.forecast_downloads[2],
                      1000);

    ck_assert_int_eq(experience_load(x, path, f.service->profiles, NULL), 0);
    struct audience easy = watch(false, SESSIONS, true);
    ck_assert_double_eq(ratio_of(easy), 0);
    ck_assert_msg(standard_weight() == 1, "%g", standard_weight()); /* lambda 0 */
}

TEST(a_damaged_file_starts_over)
{
    served_start(&f);
    struct track_outcome bad = outcome_of(400, 3);
    bad.slot = 0;
    experience_outcome(f.service->experience, &bad, NULL);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    struct experience_stats x;
    experience_stats(&x, f.service->experience);
    ck_assert_double_gt(x.stall_weight[0], FIRST);
    served_kill(&f);

    char path[400], kept[410];
    snprintf(path, sizeof path, "%s/experience.state", f.data);
    snprintf(kept, sizeof kept, "%s.bad", path);
    ck_assert_int_eq(text_write_file(path, "abrdexp1", 8, NULL), 0);
    served_start(&f);
    experience_stats(&x, f.service->experience);
    ck_assert_double_eq(x.stall_weight[0], FIRST);
    ck_assert_int_eq(access(kept, F_OK), 0);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.checkpoints_refused, 1);
}

SUITE_SET_UP(serve_session_experience, 0, setup, teardown, outcomes_by_hand,
             a_miss_is_one_of_the_session_s_forecast, ROWS(what_counts, rows),
             a_file_keeps_it_by_the_names_of_profiles,
             a_file_cannot_make_forecasts_bolder,
             decisions_know_the_stalls_of_their_session,
             decisions_know_the_stalls_of_the_audience, the_replay_is_the_decision,
             the_replay_of_a_long_ladder_is_the_decision,
             the_stall_weight_follows_the_audience, a_damaged_file_starts_over);
