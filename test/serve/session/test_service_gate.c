/* Routers and busy experts of the whole service: latches, orders, and an expert that an update
 * poisons while viewers ask. */
#include "serve/session/service.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/ckpt.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.online.batch = 240;
    f.cfg.online.capacity = 1200;
    served_without_exams(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static struct service_stats stats(void)
{
    struct service_stats s;
    service_stats(&s, f.service);
    return s;
}

/* Whole sessions until `updates` more versions are out. */
static void learn(int updates, uint64_t key)
{
    while (updates > 0) {
        struct session_opened o = served_open(&f, key++, 48);
        served_play(&f, &o, 48);
        int rc = service_learn(f.service, NULL);
        ck_assert_int_ge(rc, 0);
        updates -= rc;
    }
}

TEST(orders_are_carried_out_at_the_next_turn)
{
    served_start(&f);
    struct err e = {0};
    uint64_t version = stats().policy_version;
    ck_assert_uint_eq(stats().actor_busy, 0);
    ck_assert_int_eq(service_set_aside(f.service, false, 0, 2, &e), 0);
    ck_assert_int_eq(service_set_aside(f.service, false, 2, 1, &e), 0);
    ck_assert_int_eq(service_set_aside(f.service, false, 1, 1, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "expert");
    ck_assert_uint_eq(stats().actor_busy, 0); /* not yet */
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(stats().actor_busy, 5);
    ck_assert_uint_eq(stats().critic_busy, 0);
    ck_assert_uint_gt(stats().policy_version, version);

    struct session_opened o = served_open(&f, 7, 8);
    ck_assert_int_eq(o.first.expert, 1);

    /* the last enabled expert cannot be disabled */
    e = (struct err){0};
    ck_assert_int_eq(service_set_aside(f.service, false, 1, 1, &e), ERR_CONFLICT);
    ck_assert_int_eq(service_set_aside(f.service, false, 0, 0, NULL), 0);
    ck_assert_int_eq(service_set_aside(f.service, false, 1, 1, NULL), 0);
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(stats().actor_busy, 6);

    learn(1, 100); /* their update has gone by */
    ck_assert_uint_eq(stats().actor_busy, 0);
    ck_assert_int_eq(service_set_aside(f.service, true, 1, 3, NULL), 0);
    ck_assert_int_eq(service_learn(f.service, NULL), 1);
    ck_assert_uint_eq(stats().critic_busy, 2);
    service_drain(f.service, NULL);
    served_kill(&f);
    served_start(&f);
    ck_assert_uint_eq(stats().critic_busy, 2); /* in what is published, too */
    served_kill(&f);

    /* a service that does not learn, or has a file without the learner's state, keeps it disabled */
    f.cfg.learn = false;
    served_start(&f);
    ck_assert_uint_eq(stats().critic_busy, 2);
    served_kill(&f);
    f.cfg.learn = true;
    char path[320];
    snprintf(path, sizeof path, "%s/policy.safetensors", f.data);
    struct policy *p = ckpt_load(path, NULL, NULL, NULL, NULL);
    ck_assert_uint_eq(p->critic->busy, 2);
    ck_assert_int_eq(ckpt_save(path, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
    served_start(&f);
    ck_assert_uint_eq(stats().critic_busy, 2);
    ck_assert_uint_eq(stats().learner.critic_busy, 2);
    learn(1, 500); /* it waits as after a failure */
    ck_assert_uint_eq(stats().critic_busy, 2);
}

TEST(refused_orders)
{
    f.cfg.learn = false;
    served_start(&f);
    struct err e = {0};
    ck_assert_int_eq(service_gate_reset(f.service, &e), ERR_CONFLICT);
    ck_assert_int_eq(service_set_aside(f.service, false, 0, 1, NULL), ERR_CONFLICT);
    served_kill(&f);
    f.cfg.learn = true;
    served_start(&f);
    ck_assert_int_eq(service_set_aside(f.service, false, 3, 1, NULL), ERR_RANGE);
    ck_assert_int_eq(service_set_aside(f.service, false, -1, 1, NULL), ERR_RANGE);
    e = (struct err){0};
    ck_assert_int_eq(service_set_aside(f.service, false, 0, -1, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "updates");
    ck_assert_int_eq(service_set_aside(f.service, false, 0, SERVICE_ASIDE_MAX + 1, NULL),
                     ERR_RANGE);
}

TEST(a_stopped_gate_survives_a_restart_and_is_in_the_file)
{
    f.cfg.online.ppo.gate = (struct gate_cfg){.latch = 1, .gap = 1e3};
    served_start(&f);
    learn(3, 1);
    struct service_stats s = stats();
    ck_assert(s.learner.gate[PPO_ACTOR].latched && s.learner.gate[PPO_CRITIC].latched);
    ck_assert_int_eq(s.learner.gate[PPO_ACTOR].rounds, 3);
    ck_assert_uint_ge(s.learner.routed, 3 * 240);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);

    char path[400];
    snprintf(path, sizeof path, "%s/policy.safetensors", f.data);
    struct ckpt_meta *m = calloc(1, sizeof *m);
    struct policy *p = ckpt_load(path, m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(ckpt_meta_get(m, "gate.actor"), "flags=111 rounds=3");
    ck_assert_str_eq(ckpt_meta_get(m, "gate.critic"), "flags=111 rounds=3");

    served_start(&f);
    s = stats();
    ck_assert(s.learner.gate[PPO_ACTOR].latched);
    ck_assert_int_eq(service_gate_reset(f.service, NULL), 0);
    ck_assert_int_eq(service_learn(f.service, NULL), 0);
    s = stats();
    ck_assert(!s.learner.gate[PPO_ACTOR].latched && !s.learner.gate[PPO_CRITIC].latched);
    ck_assert_uint_eq(s.learner.gate_resets, 1);
    served_kill(&f);

    /* a file without the learner's state: its metadata count */
    ck_assert_int_eq(ckpt_save(f.policy, p, m, NULL, 0, NULL), 0);
    f.cfg.data_dir = NULL;
    served_start(&f);
    s = stats();
    ck_assert(s.learner.gate[PPO_ACTOR].latched && s.learner.gate[PPO_CRITIC].latched);
    ck_assert_int_eq(s.learner.gate[PPO_CRITIC].rounds, 3);
    policy_free(p);
    free(m);
}

/* ---- poison under load ---- */

enum { VIEWERS = 3, VERSIONS = 128 }; /* it ends with version 3 */

static atomic_int failures, asked;
static atomic_bool enough;
static atomic_uint chosen[VERSIONS]; /* experts that answered, as bits */

static void note(const struct answer *a)
{
    atomic_fetch_add(&asked, 1);
    if (a->expert < 0 || a->policy >= VERSIONS) {
        atomic_fetch_add(&failures, 1);
        return;
    }
    atomic_fetch_or(&chosen[a->policy], 1u << a->expert);
}

static void *watch(void *ctx)
{
    uint64_t me = (uint64_t)(uintptr_t)ctx;
    struct service_worker *w = service_worker_new(f.service, NULL);
    for (uint64_t i = 0; !atomic_load(&enough); i++) {
        struct session_open in = served_request(1000 * me + i, 48);
        struct session_opened o;
        if (service_open(&o, f.service, w, &in, NULL)) {
            atomic_fetch_add(&failures, 1);
            continue;
        }
        note(&o.first);
        int level = o.first.level;
        for (int k = 1; k < 48; k++) {
            struct question q = served_question(k, level);
            struct answer a = {.expert = -1};
            if (service_ask(&a, f.service, w, o.session, &q, NULL))
                atomic_fetch_add(&failures, 1);
            note(&a);
            level = a.level;
        }
        struct reward_in last = {.has_outcome = true,
                                 .outcome = served_outcome(47, level)};
        struct reward_out r;
        if (service_reward(&r, f.service, o.session, &last, NULL) ||
            service_close(f.service, o.session, NULL, NULL))
            atomic_fetch_add(&failures, 1);
    }
    service_worker_free(w);
    return NULL;
}

/* A router that prefers expert 2, then 1. The bias of each expert's highest level, which no ladder here
 * has, is near the largest float: ten times that, which the decay below is, overflows. */
static void one_sided_policy(void)
{
    struct policy *p = ckpt_load(f.policy, NULL, NULL, NULL, NULL);
    for (size_t k = 0; k < 3; k++) {
        p->actor->theta[3 * (size_t)p->cfg.obs_dim + k] = 20.0f * (float)k;
        struct mix_range r = mix_expert(&p->actor->cfg, (int)k);
        p->actor->theta[r.at + r.n - 1] = 1e38f;
    }
    p->version = 1;
    ck_assert_int_eq(ckpt_save(f.policy, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
}

/* Decay makes the trained expert not finite, update by update: first 2, then 1. If only 0 is left the
 * update is rolled back. No answer fails. */
TEST(a_poisoned_expert_is_skipped_under_load)
{
    one_sided_policy();
    f.cfg.data_dir = NULL;
    f.cfg.online.ppo.weight_decay = 10;
    f.cfg.online.quarantine = 50;
    served_start(&f);
    pthread_t t[VIEWERS];
    for (int i = 0; i < VIEWERS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, watch, (void *)(uintptr_t)(i + 1)),
                         0);
    uint64_t busy[VERSIONS] = {0};
    int published = 0, undone = 0;
    /* until all of it has happened, and the remaining expert has answered */
    while (!undone || !atomic_load(&chosen[3])) {
        int rc = service_learn(f.service, NULL);
        struct service_stats s = stats();
        ck_assert_uint_lt(s.policy_version, VERSIONS);
        busy[s.policy_version] = s.actor_busy;
        published += rc == 1;
        undone += rc == ERR_NUMERIC;
        sched_yield();
    }
    atomic_store(&enough, true);
    for (int i = 0; i < VIEWERS; i++)
        pthread_join(t[i], NULL);

    ck_assert_int_eq(atomic_load(&failures), 0);
    ck_assert_int_eq(published, 2);
    ck_assert_int_ge(undone, 1);
    ck_assert_uint_eq(busy[1], 0);
    ck_assert_uint_eq(busy[2], 4);
    ck_assert_uint_eq(busy[3], 6);
    ck_assert_uint_eq(atomic_load(&chosen[1]), 4);
    for (int v = 1; v < VERSIONS; v++)
        ck_assert_uint_eq(atomic_load(&chosen[v]) & busy[v], 0);
    ck_assert_uint_eq(atomic_load(&chosen[3]), 1);
    struct service_stats s = stats();
    ck_assert_uint_eq(s.learner.quarantines, 2);
    ck_assert_uint_eq(s.learner.rollbacks, (unsigned)undone);
    ck_assert_uint_eq(s.decisions, (unsigned)atomic_load(&asked));
}

SUITE_SET_UP(serve_session_service_gate, 60, setup, teardown,
             orders_are_carried_out_at_the_next_turn, refused_orders,
             a_stopped_gate_survives_a_restart_and_is_in_the_file,
             a_poisoned_expert_is_skipped_under_load);
