/* hintless_viewers.h - viewers who give no hint, and experts that can be merged, for the tests of
 * serve/untagged. Included by each of them once: everything is static. */
#ifndef TEST_HINTLESS_VIEWERS_H
#define TEST_HINTLESS_VIEWERS_H

#include "serve/hintless/hintless.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "serve/session/service.h"
#include "support/alloc.h"
#include "support/served.h"

static struct served f;
static char experts[512];

/* Three experts, each in love with one level: the lowest, the best on 2 Mbit/s, the highest. love (n): how
 * much. The merge with equal weights takes the level that is loved most. */
__attribute__((unused)) static void make_experts_of(const float *love, int n)
{
    static const int LOVES[] = {0, 3, 5};
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    cfg.hidden = cfg.critic_hidden = 4;
    cfg.layers = 1;
    cfg.experts = n;
    cfg.critic_experts = 1;
    cfg.route = n == 1 ? MIX_SINGLE : MIX_TOP1;
    cfg.critic_route = MIX_SINGLE;
    struct policy *p = policy_new(&cfg, NULL);
    for (int k = 0; k < n; k++) {
        struct mix_range r = mix_expert(&p->actor->cfg, k);
        /* the head's biases end an expert */
        p->actor->theta[r.at + r.n - (size_t)cfg.actions + (size_t)LOVES[k]] = love[k];
    }
    snprintf(experts, sizeof experts, "%s/experts.safetensors", f.dir);
    struct err e = {0};
    ck_assert_msg(ckpt_save(experts, p, NULL, NULL, 0, &e) == 0, "%s", e.detail);
    policy_free(p);
}

__attribute__((unused)) static void make_experts(int n)
{
    make_experts_of((const float[]){4, 4, 4}, n);
}

__attribute__((unused)) static void setup(void)
{
    served_begin(&f, true);
    f.cfg.explore_share = 1;
    f.optional.hintless.slot_s = 300;
    f.optional.hintless.bandit = tanbr_cfg_default(2, PROFILE_MIX_TASKS);
    f.optional.hintless.bandit.keep = 0;
    f.optional.hintless.merge_links = 0; /* a bandit that knows nothing */
    f.optional.hintless.exam_links =
        0; /* and whose choices nobody examines: test_labels.c does */
    make_experts(3);
    f.optional.hintless.merge_policy = experts;
}

__attribute__((unused)) static void teardown(void)
{
    served_end(&f);
}

__attribute__((unused)) static void start(enum hintless_mode mode)
{
    f.optional.hintless.mode = mode;
    served_start(&f);
}

__attribute__((unused)) static struct hintless_stats stats(void)
{
    return served_parts(&f).hintless;
}

__attribute__((unused)) static void next_slot(void)
{
    f.now += 301;
    service_tick(f.service);
}

/* ---- viewers ---- */

struct watching {
    const char *hint, *content, *label; /* NULL: none */
    double mbps;
    int chunks;
};

__attribute__((unused)) static struct outcome over_link(const struct watching *v,
                                                        int chunk, int level)
{
    struct outcome o = served_outcome(chunk, level);
    o.download_s = (double)o.bytes * 8e-6 / v->mbps;
    o.rebuffer_s = fmax(0, o.download_s - 4);
    return o;
}

__attribute__((unused)) static struct session_opened
open_session(const struct watching *v, uint64_t key)
{
    struct session_open in = served_request(key, 48);
    snprintf(in.profile, sizeof in.profile, "%s", v->hint ? v->hint : "");
    snprintf(in.content_id, sizeof in.content_id, "%s", v->content ? v->content : "");
    struct session_opened o;
    struct err e = {0};
    int rc = service_open(&o, f.service, f.worker, &in, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return o;
}

__attribute__((unused)) static struct question ask_next(const struct watching *v,
                                                        int chunk, int level)
{
    struct question q = {.chunk = chunk, .buffer_s = 12, .has_last = true};
    q.last = over_link(v, chunk - 1, level);
    return q;
}

__attribute__((unused)) static struct answer ask(const struct session_opened *o,
                                                 const struct question *q)
{
    struct answer a;
    struct err e = {0};
    int rc = service_ask(&a, f.service, f.worker, o->session, q, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return a;
}

__attribute__((unused)) static void
finish(const struct watching *v, const struct session_opened *o, int chunk, int level)
{
    struct reward_in in = {
        .has_outcome = true, .outcome = over_link(v, chunk, level), .final = true};
    snprintf(in.profile, sizeof in.profile, "%s", v->label ? v->label : "");
    struct reward_out r;
    struct err e = {0};
    int rc = service_reward(&r, f.service, o->session, &in, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
}

/* Watches all; returns the last answer. */
__attribute__((unused)) static struct answer watch(const struct watching *v, uint64_t key)
{
    struct session_opened o = open_session(v, key);
    struct answer a = o.first;
    for (int k = 1; k < v->chunks; k++) {
        struct question q = ask_next(v, k, a.level);
        a = ask(&o, &q);
    }
    finish(v, &o, v->chunks - 1, a.level);
    return a;
}

__attribute__((unused)) static void live_through(uint64_t first_key, int slots)
{
    static const struct watching some[] = {
        {.label = "standard", .content = "a", .mbps = 2, .chunks = 12},
        {.label = "news", .content = "b", .mbps = 5, .chunks = 12},
        {.hint = "live", .content = "c", .mbps = 1, .chunks = 12},
        {.content = "c", .mbps = 1, .chunks = 12}};
    for (int t = 0; t < slots; t++) {
        for (int i = 0; i < 4; i++)
            watch(&some[i], first_key++);
        next_slot();
    }
}

#endif
