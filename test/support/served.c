#include "support/served.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "base/bytes.h"
#include "learn/ckpt.h"
#include "support/tmpdir.h"

static double served_clock(void *ctx)
{
    return ((const struct served *)ctx)->now;
}

void served_policy(struct served *f, uint64_t seed)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    cfg.hidden = cfg.critic_hidden = 16;
    struct policy *p = policy_new(&cfg, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, seed);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] *= 2; /* not too uniform */
    struct err e = {0};
    ck_assert_msg(ckpt_save(f->policy, p, NULL, NULL, 0, &e) == 0, "%s", e.detail);
    policy_free(p);
}

void served_begin(struct served *f, bool stored)
{
    *f = (struct served){.now = 1.6e9};
    snprintf(f->dir, sizeof f->dir, "%s", tmpdir_new());
    snprintf(f->data, sizeof f->data, "%s/data", f->dir);
    snprintf(f->policy, sizeof f->policy, "%s/start.safetensors", f->dir);
    served_policy(f, 3);
    f->optional = parts_cfg_default();
    f->cfg = service_cfg_default();
    f->cfg.optional = &f->optional;
    f->cfg.data_dir = stored ? f->data : NULL;
    f->cfg.policy_path = f->policy;
    f->cfg.seed = 42;
    f->cfg.max_sessions = 1000;
    f->cfg.learn = false;
    f->cfg.clock = served_clock;
    f->cfg.clock_ctx = f;
}

void served_without_exams(struct served *f)
{
    f->cfg.online.rehearse = f->cfg.online.exam_links = 0;
    f->cfg.online.tolerance = 1; /* the largest that the service takes */
}

void served_saves(struct served *f, bool can)
{
    char name[400];
    snprintf(name, sizeof name, "%s/policy.safetensors.new", f->data);
    ck_assert_int_eq(can ? rmdir(name) : mkdir(name, 0700), 0);
}

void served_start(struct served *f)
{
    struct err e = {0};
    f->service = service_new(&f->cfg, &e);
    ck_assert_msg(f->service != NULL, "%s: %s", e.field, e.detail);
    f->worker = service_worker_new(f->service, &e);
    ck_assert_ptr_nonnull(f->worker);
}

void served_kill(struct served *f)
{
    service_worker_free(f->worker);
    service_free(f->service);
    f->worker = NULL;
    f->service = NULL;
}

struct parts_stats served_parts(struct served *f)
{
    struct parts_stats s;
    parts_stats(&s, f->service);
    return s;
}

void served_end(struct served *f)
{
    served_kill(f);
    tmpdir_remove(f->dir);
}

struct session_open served_request(uint64_t key, int chunks)
{
    return (struct session_open){.profile = "pensieve",
                                 .levels = 6,
                                 .ladder_kbps = {300, 750, 1200, 1850, 2850, 4300},
                                 .chunk_s = 4,
                                 .chunks = chunks,
                                 .buffer_max_s = 60,
                                 .has_key = true,
                                 .key = key};
}

struct session_opened served_open(struct served *f, uint64_t key, int chunks)
{
    struct session_open in = served_request(key, chunks);
    struct session_opened out;
    struct err e = {0};
    int rc = service_open(&out, f->service, f->worker, &in, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return out;
}

struct outcome served_outcome(int chunk, int level)
{
    static const double mbps[] = {.3, .75, 1.2, 1.85, 2.85, 4.3};
    double bytes = mbps[level] * 4e6 / 8 * (1 + .01 * (chunk % 7));
    double seconds = bytes * 8 / 2e6 + .08;
    return (struct outcome){.chunk = chunk,
                            .level = level,
                            .bytes = (int64_t)bytes,
                            .download_s = seconds,
                            .rebuffer_s = seconds > 4 ? seconds - 4 : 0};
}

struct question served_question(int chunk, int last_level)
{
    struct question q = {.chunk = chunk, .buffer_s = 8 + .125 * (chunk % 16)};
    if (chunk > 0) {
        q.has_last = true;
        q.last = served_outcome(chunk - 1, last_level);
    }
    return q;
}

uint64_t served_play(struct served *f, const struct session_opened *o, int n)
{
    uint32_t hash = bytes_crc32(0, o->first.prob, sizeof o->first.prob);
    int level = o->first.level;
    for (int k = 1; k < n; k++) {
        struct question q = served_question(k, level);
        struct answer a;
        struct err e = {0};
        int rc = service_ask(&a, f->service, f->worker, o->session, &q, &e);
        ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
        level = a.level;
        hash = bytes_crc32(hash, a.prob, sizeof a.prob);
        hash = bytes_crc32(hash, &a.level, sizeof a.level);
    }
    struct reward_in in = {.has_outcome = true, .outcome = served_outcome(n - 1, level)};
    struct reward_out r;
    ck_assert_int_eq(service_reward(&r, f->service, o->session, &in, NULL), 0);
    return hash;
}
