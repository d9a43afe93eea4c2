/* Profiles with added experts through the service: the start, learning, restart, deletion, and that nobody
 * else notices. */
#include "serve/added/added.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "support/alloc.h"
#include "support/served.h"

enum { CHUNKS = 24 };

static struct served f;

static void learner(struct served *s)
{
    s->cfg.learn = true;
    s->cfg.explore_share = 1;
    s->cfg.online.batch = 64;
    s->cfg.online.capacity = 64 + 2 * TRAJ_STEPS;
    served_without_exams(s);
    s->cfg.online.ppo.lr = s->cfg.online.ppo.critic_lr = 3e-3;
    s->cfg.online.ppo.target_kl = 0;
}

static void setup(void)
{
    served_begin(&f, true);
    learner(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static int put(struct served *s, const char *name, double switching, bool grow,
               struct err *e)
{
    struct profile p = {.qoe = qoe_of_mu(3, switching, 3, QOE_LINEAR), .grow = grow};
    snprintf(p.name, sizeof p.name, "%s", name);
    return service_profile_put(s->service, &p, e);
}

static void must_put(struct served *s, const char *name)
{
    struct err e = {0};
    int rc = put(s, name, 1, true, &e);
    ck_assert_msg(rc == 1, "%s: %s", e.field, e.detail);
}

static struct session_opened open_as(struct served *s, const char *profile, uint64_t key)
{
    struct session_open in = served_request(key, CHUNKS);
    snprintf(in.profile, sizeof in.profile, "%s", profile);
    struct session_opened out;
    struct err e = {0};
    int rc = service_open(&out, s->service, s->worker, &in, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return out;
}

/* One viewer from beginning to end, and a turn of the learner. Hash of the answers. */
static uint64_t watch(struct served *s, const char *profile, uint64_t key)
{
    struct session_opened o = open_as(s, profile, key);
    uint64_t hash = served_play(s, &o, CHUNKS);
    int rc = service_learn(s->service, NULL);
    ck_assert_msg(rc >= 0, "the learner failed: %d", rc);
    return hash;
}

static struct service_added added_at(struct served *s, int i)
{
    struct added_stats stats = served_parts(s).added;
    ck_assert_int_gt(stats.n, i);
    return stats.at[i];
}

static void path_of(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s/grown-%s.safetensors", f.data, name);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

START_TEST(begins_as_the_common_policy)
{
    f.cfg.learn = false;
    f.cfg.explore_share = 0;
    served_start(&f);
    struct profile p;
    ck_assert_int_eq(put(&f, "cycling", 1, false, NULL), 1);
    struct session_opened before = open_as(&f, "cycling", 1);
    ck_assert_int_eq(put(&f, "cycling", 1, true, NULL), 0);
    ck_assert_int_eq(service_profile_get(&p, f.service, "cycling", NULL), 0);
    ck_assert(p.grow && !p.builtin);
    f.now += 1;
    struct session_opened after = open_as(&f, "cycling", 1);
    ck_assert_int_eq(after.first.level, before.first.level);
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq_tol(after.first.prob[k], before.first.prob[k], 1e-6);
    ck_assert_uint_eq(after.first.policy, 1);

    struct service_added g = added_at(&f, 0);
    ck_assert_str_eq(g.name, "cycling");
    ck_assert_int_eq(g.frozen_experts, 3);
    ck_assert_int_eq(g.experts, 2);
    ck_assert_uint_eq(g.decisions, 1); /* the session from before is not of it */
    ck_assert_double_eq_tol(g.share, .5, .1);
    ck_assert(g.alpha == 1 && g.tau == 1);
    ck_assert_double_eq_tol(g.base_score, 0, 10);

    /* the stateless question with its name is answered by it as well */
    struct view v = view_default();
    v.levels = 6;
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] = served_request(0, 1).ladder_kbps[k];
    v.chunk_s = 4;
    v.chunks = CHUNKS;
    v.buffer_max_s = 60;
    v.qoe = p.qoe;
    struct answer a;
    ck_assert_int_eq(
        service_decide(&a, f.service, f.worker, "cycling", true, &v, 0, NULL), 0);
    ck_assert_uint_eq(added_at(&f, 0).decisions, 2);
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, NULL), 0);
    ck_assert_uint_eq(added_at(&f, 0).decisions, 2);
}
END_TEST

/* Two daemons, one with a grown profile that learns beside the others: every answer to older
 * profiles, and every weight of the common policy, is the same to the bit. */
/* A policy file with a correction of this program's forecast. */
static void correct(const char *path)
{
    static const float weights[FORECAST_OWN] = {1};
    struct ckpt_meta meta;
    void *state;
    size_t n;
    struct policy *p = ckpt_load_any(path, &meta, &state, &n, NULL);
    ck_assert_ptr_nonnull(p);
    policy_copy_input(p, weights, FORECAST_OWN);
    p->input_of = forecast_crc32();
    ck_assert_int_eq(ckpt_save(path, p, &meta, state, n, NULL), 0);
    policy_free(p);
    free(state);
}

/* Numbers of the input of weights that are handed out. */
static int input_of(int rc, void *bytes, size_t n)
{
    ck_assert_int_eq(rc, 0);
    struct policy *p = ckpt_decode_any(bytes, n, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    int input = p->input_n;
    policy_free(p);
    free(bytes);
    return input;
}

static void expect_inputs(int common, int added)
{
    void *bytes = NULL;
    size_t n = 0;
    int rc = service_policy_weights(&bytes, &n, f.service, NULL);
    ck_assert_int_eq(input_of(rc, bytes, n), common);
    rc = service_profile_weights(&bytes, &n, f.service, "cycling", NULL);
    ck_assert_int_eq(input_of(rc, bytes, n), added);
}

/* Neither new ones nor those of an older program's file: nothing would fit it again. */
START_TEST(added_experts_have_no_correction)
{
    char path[600];
    correct(f.policy);
    served_start(&f);
    must_put(&f, "cycling");
    expect_inputs(FORECAST_OWN, 0);
    double base = added_at(&f, 0).base_score;

    served_kill(&f);
    path_of(path, sizeof path, "cycling");
    correct(path);
    served_start(&f);
    expect_inputs(FORECAST_OWN, 0);
    ck_assert_double_eq(added_at(&f, 0).base_score, base);
}
END_TEST

START_TEST(older_profiles_notice_nothing)
{
    static const char *const older[] = {"pensieve", "paper-news", "paper-live",
                                        "paper-documentary"};
    struct served other;
    served_begin(&other, true);
    learner(&other);
    served_start(&f);
    served_start(&other);
    must_put(&f, "cycling");
    for (uint64_t i = 0; i < 24; i++) {
        watch(&f, "cycling", 1000 + i);
        uint64_t with = watch(&f, older[i % 4], i),
                 without = watch(&other, older[i % 4], i);
        ck_assert_uint_eq(with, without);
    }
    struct service_stats a, b;
    service_stats(&a, f.service);
    service_stats(&b, other.service);
    ck_assert_uint_gt(a.learner.updates, 3);
    ck_assert_uint_eq(a.learner.updates, b.learner.updates);
    ck_assert_uint_eq(a.policy_version, b.policy_version);
    ck_assert_uint_gt(served_parts(&f).added.at[0].learner.updates, 3);
    ck_assert_int_eq(served_parts(&other).added.n, 0);

    void *mine, *theirs;
    size_t n, m;
    ck_assert_int_eq(service_policy_weights(&mine, &n, f.service, NULL), 0);
    ck_assert_int_eq(service_policy_weights(&theirs, &m, other.service, NULL), 0);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(mine, theirs, n);
    free(mine), free(theirs);
    served_end(&other);
}
END_TEST

START_TEST(learns_restarts_and_is_deleted)
{
    char path[400];
    path_of(path, sizeof path, "cycling");
    served_start(&f);
    must_put(&f, "cycling");
    ck_assert(exists(path)); /* durable when it is answered */
    for (uint64_t i = 0; i < 12; i++)
        watch(&f, "cycling", i);
    struct service_added was = added_at(&f, 0);
    ck_assert_uint_gt(was.learner.updates, 2);
    ck_assert_uint_eq(was.version, 1 + was.learner.updates);
    ck_assert(was.alpha != 1 && was.tau != 1);
    struct service_stats stats;
    service_stats(&stats, f.service);
    ck_assert_uint_eq(stats.learner.updates, 0); /* the common one learned nothing */

    /* killed: what was decided by is still there, the count of updates too, and it learns on */
    struct session_open in = served_request(77, CHUNKS);
    strcpy(in.profile, "cycling");
    served_kill(&f);
    served_start(&f);
    struct service_added is = added_at(&f, 0);
    ck_assert_uint_eq(is.version, was.version);
    ck_assert_uint_eq(is.learner.updates, was.learner.updates);
    ck_assert(is.alpha == was.alpha && is.tau == was.tau);
    ck_assert_uint_eq(is.base_version, was.base_version);
    for (uint64_t i = 20; i < 26; i++)
        watch(&f, "cycling", i);
    ck_assert_uint_gt(added_at(&f, 0).version, was.version);

    /* deleted in the middle of a session, which goes on by the common policy */
    struct session_opened o = open_as(&f, "cycling", 500);
    ck_assert(o.first.sampled);
    ck_assert_int_eq(service_profile_delete(f.service, "cycling", NULL), 0);
    ck_assert(!exists(path));
    struct question q = served_question(1, o.first.level);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert(!a.sampled && a.expert < 3);
    ck_assert_int_eq(service_learn(f.service, NULL), 0);
    service_stats(&stats, f.service);
    ck_assert_int_eq(served_parts(&f).added.n, 0);
    served_kill(&f);
    served_start(&f);
    struct profile p;
    ck_assert_int_eq(service_profile_get(&p, f.service, "cycling", NULL), ERR_ABSENT);
}
END_TEST

/* Weights whose file could not be written are not given up: they decide once it can be. */
START_TEST(what_could_not_be_written_is_published_later)
{
    char path[400], kept[420];
    path_of(path, sizeof path, "cycling");
    snprintf(kept, sizeof kept, "%s.kept", path);
    served_start(&f);
    must_put(&f, "cycling");
    ck_assert_int_eq(rename(path, kept), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* nothing can be put in its place */
    int rc = 0;
    for (uint64_t i = 0; i < 12 && rc >= 0; i++) {
        struct session_opened o = open_as(&f, "cycling", i);
        served_play(&f, &o, CHUNKS);
        rc = service_learn(f.service, NULL);
    }
    ck_assert_int_lt(rc, 0);
    ck_assert_uint_eq(added_at(&f, 0).learner.updates, 1);
    ck_assert_uint_eq(open_as(&f, "cycling", 50).first.policy, 1);
    f.now += 2;
    ck_assert_int_eq(service_learn(f.service, NULL), 0); /* told once */
    ck_assert_uint_eq(open_as(&f, "cycling", 51).first.policy, 1);

    ck_assert_int_eq(rmdir(path), 0);
    f.now += 2;
    ck_assert_int_ge(service_learn(f.service, NULL), 0);
    ck_assert(exists(path));
    ck_assert_uint_eq(open_as(&f, "cycling", 52).first.policy, 2);
    ck_assert_uint_eq(added_at(&f, 0).learner.updates, 1);
}
END_TEST

START_TEST(answers_after_a_restart_are_the_same)
{
    served_start(&f);
    must_put(&f, "cycling");
    for (uint64_t i = 0; i < 8; i++)
        watch(&f, "cycling", i);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    uint64_t hash[2];
    f.cfg.learn = false;
    for (int k = 0; k < 2; k++) {
        served_start(&f);
        struct session_opened o = open_as(&f, "cycling", 99);
        hash[k] = served_play(&f, &o, CHUNKS);
        if (k == 0) served_kill(&f);
    }
    ck_assert_uint_eq(hash[0], hash[1]);
}
END_TEST

START_TEST(a_damaged_file_harms_nobody_else)
{
    char path[400], bad[410];
    path_of(path, sizeof path, "cycling");
    snprintf(bad, sizeof bad, "%s.bad", path);
    served_start(&f);
    must_put(&f, "cycling");
    must_put(&f, "course");
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    size_t n;
    char *file = text_read_file(path, 1 << 24, &n, NULL);
    file[n / 2] ^= 1;
    ck_assert_int_eq(text_write_file(path, file, n, NULL), 0);
    free(file);

    served_start(&f);
    struct profile p;
    ck_assert_int_eq(service_profile_get(&p, f.service, "cycling", NULL), 0);
    ck_assert(!p.grow);
    ck_assert(!exists(path) && exists(bad));
    ck_assert_int_eq(service_profile_get(&p, f.service, "course", NULL), 0);
    ck_assert(p.grow);
    struct session_opened o = open_as(&f, "cycling", 1);
    ck_assert_int_lt(o.first.expert, 3);
    ck_assert_uint_eq(added_at(&f, 0).decisions, 0);

    /* a file of another policy's shape is none of ours either */
    ck_assert_int_eq(put(&f, "cycling", 1, true, NULL), 0);
    ck_assert_int_eq(service_profile_get(&p, f.service, "cycling", NULL), 0);
    ck_assert(p.grow);
}
END_TEST

START_TEST(limits_and_conflicts)
{
    f.optional.added.max = 1;
    served_start(&f);
    must_put(&f, "cycling");
    struct err e = {0};
    ck_assert_int_eq(put(&f, "course", 1, true, &e), ERR_FULL);
    ck_assert_str_eq(e.field, "grow");
    struct profile p;
    ck_assert_int_eq(service_profile_get(&p, f.service, "course", NULL), ERR_ABSENT);
    ck_assert_int_eq(put(&f, "course", 1, false, NULL), 1);

    /* its experts learned these weights */
    e = (struct err){0};
    ck_assert_int_eq(put(&f, "cycling", 2, true, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "mu");
    ck_assert_int_eq(put(&f, "cycling", 1, false, NULL), 0);
    ck_assert_int_eq(service_profile_get(&p, f.service, "cycling", NULL), 0);
    ck_assert(p.grow);
    e = (struct err){0};
    struct profile builtin = {
        .name = "news", .qoe = qoe_of_mu(6, 1, 1, QOE_LINEAR), .grow = true};
    ck_assert_int_eq(service_profile_put(f.service, &builtin, &e), ERR_CONFLICT);

    ck_assert_int_eq(service_profile_delete(f.service, "cycling", NULL), 0);
    ck_assert_int_eq(put(&f, "course", 1, true, NULL), 0);

    f.optional.added.max = SERVICE_ADDED + 1;
    served_kill(&f);
    e = (struct err){0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_str_eq(e.field, "grow-max");
    f.optional.added.max = 1;
    served_start(&f);
}
END_TEST

/* A second profile takes a and tau of the first, and both keep them from then on. */
START_TEST(a_and_tau_are_learned_with_the_first)
{
    served_start(&f);
    must_put(&f, "cycling");
    for (uint64_t i = 0; i < 8; i++)
        watch(&f, "cycling", i);
    struct service_added first = added_at(&f, 0);
    ck_assert(first.alpha != 1);
    must_put(&f, "course");
    ck_assert(added_at(&f, 1).alpha == first.alpha && added_at(&f, 1).tau == first.tau);
    for (uint64_t i = 20; i < 28; i++) {
        watch(&f, "cycling", i);
        watch(&f, "course", 100 + i);
    }
    struct service_added a = added_at(&f, 0), b = added_at(&f, 1);
    ck_assert(a.version > first.version && b.version > 1);
    ck_assert(a.alpha == first.alpha && a.tau == first.tau);
    ck_assert(b.alpha == first.alpha && b.tau == first.tau);
}
END_TEST

/* ---- the table itself ---- */

struct made {
    struct added *table;
    struct policy *policy;
};

static void *grow(void *ctx, struct err *e)
{
    struct made *m = ctx;
    struct added_cfg cfg = {.max = 2,
                            .experts = 1,
                            .gate = NORGA_GELU,
                            .learn = true,
                            .online = online_cfg_default()};
    cfg.online.batch = 16;
    struct qoe q = qoe_of_mu(3, 1, 3, QOE_LINEAR);
    m->table = added_new(&cfg, e);
    if (!m->table) return NULL;
    struct policy *base = policy_clone(m->policy, e);
    if (base && added_add(m->table, 0, "cycling", &q, base, 5, e) == 1) return m;
    added_free(m->table);
    return NULL;
}

static void fell(void *made)
{
    added_free(((struct made *)made)->table);
}

START_TEST(every_failing_allocation_of_added_experts_is_reported)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = 4;
    struct made m = {.policy = policy_new(&c, NULL)};
    policy_init(m.policy, 1);
    ck_assert_int_gt(alloc_each_fails(grow, fell, &m), 40);

    struct err e = {0};
    ck_assert_ptr_nonnull(grow(&m, &e));
    double since = 0;
    int tag = added_tag(m.table, "cycling", &since);
    ck_assert_int_eq(tag, ADDED_TAG);
    ck_assert(since == 5);
    ck_assert_int_eq(added_tag(m.table, "course", NULL), -1);
    struct verdict v = {.level = 9};
    struct decider d;
    ck_assert_int_eq(decide_init(&d, &c, NULL), 0);
    struct view view = view_default();
    view.levels = 2;
    view.ladder_kbps[0] = 300;
    view.ladder_kbps[1] = 900;
    view.chunk_s = 4;
    view.qoe = qoe_of_mu(3, 1, 3, QOE_LINEAR);
    ck_assert_int_eq(added_decide(&v, m.table, tag + 1, &d, &view, -1), -1);
    ck_assert_int_eq(v.level, 9);
    alloc_watch();
    int rc = added_decide(&v, m.table, tag, &d, &view, -1);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 1);
    ck_assert_int_eq(calls, 0);
    ck_assert(v.level < 2 && v.expert < 4 && v.policy == 1);

    /* given up and grown again: another tag */
    added_remove(m.table, "cycling");
    ck_assert_int_eq(added_decide(&v, m.table, tag, &d, &view, -1), -1);
    added_sweep(m.table);
    struct qoe q = qoe_of_mu(3, 1, 3, QOE_LINEAR);
    ck_assert_int_eq(
        added_add(m.table, 0, "cycling", &q, policy_clone(m.policy, NULL), 6, NULL), 1);
    ck_assert_int_eq(
        added_add(m.table, 0, "cycling", &q, policy_clone(m.policy, NULL), 6, NULL), 0);
    ck_assert_int_eq(added_tag(m.table, "cycling", NULL), ADDED_TAG + 1);
    ck_assert(!added_ready(m.table));
    ck_assert_int_eq(added_turn(m.table, 7, NULL), 0);
    ck_assert_int_eq(added_save(m.table, NULL), 0);
    added_free(m.table);
    policy_free(m.policy);
}
END_TEST

/* An expert that is out for some updates of the common policy would be out for the whole life of
 * the frozen copy, which has none. */
START_TEST(the_frozen_copy_has_nobody_aside)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = 4;
    struct made m = {.policy = policy_new(&c, NULL)};
    policy_init(m.policy, 1);
    m.policy->actor->busy = 2;
    m.policy->critic->busy = 1;
    ck_assert_ptr_nonnull(grow(&m, NULL));
    struct added_one at[SERVICE_ADDED];
    ck_assert_int_eq(added_look(at, m.table), 1);
    ck_assert_uint_eq(at[0].base->actor->busy, 0);
    ck_assert_uint_eq(at[0].base->critic->busy, 0);
    added_free(m.table);
    policy_free(m.policy);
}
END_TEST

START_TEST(batches_are_smaller_than_the_common_ones)
{
    struct online_cfg c = online_cfg_default();
    ck_assert_int_eq(added_online(&c).batch, 1024);
    ck_assert_int_eq(added_online(&c).capacity, 1024 + 2 * TRAJ_STEPS);
    c.batch = 100;
    ck_assert_int_eq(added_online(&c).batch, 100);
}
END_TEST

Suite *suite_serve_added_added(void);
Suite *suite_serve_added_added(void)
{
    Suite *s = suite_create("serve/added/added");
    TCase *t = tcase_create("serve/added/added");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, begins_as_the_common_policy);
    tcase_add_test(t, added_experts_have_no_correction);
    tcase_add_test(t, older_profiles_notice_nothing);
    tcase_add_test(t, learns_restarts_and_is_deleted);
    tcase_add_test(t, what_could_not_be_written_is_published_later);
    tcase_add_test(t, answers_after_a_restart_are_the_same);
    tcase_add_test(t, a_damaged_file_harms_nobody_else);
    tcase_add_test(t, limits_and_conflicts);
    tcase_add_test(t, a_and_tau_are_learned_with_the_first);
    suite_add_tcase(s, t);
    TCase *table = tcase_create("serve/grown table");
    tcase_set_timeout(table, 60);
    tcase_add_test(table, every_failing_allocation_of_added_experts_is_reported);
    tcase_add_test(table, the_frozen_copy_has_nobody_aside);
    tcase_add_test(table, batches_are_smaller_than_the_common_ones);
    suite_add_tcase(s, table);
    return s;
}
