#include "serve/learner/learner.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abr/traces/corpus.h"
#include "abr/emulator/player.h"
#include "learn/ckpt.h"
#include "serve/learner/bus_local.h"
#include "serve/session/decide.h"
#include "serve/learner/exam.h"
#include "support/alloc.h"
#include "support/served.h"
#include "support/trajs.h"
#include "support/tmpdir.h"

/* A learner by itself: what service.c puts around it, in the test's hands. */
struct rig {
    struct served files; /* the random policy */
    struct learner_cfg cfg;
    struct policy *start;
    struct bus bus;
    struct published *published;
    struct learner *learner;
    char path[400];
};

static void rig_begin(struct rig *r)
{
    served_begin(&r->files, false);
    snprintf(r->path, sizeof r->path, "%s/policy.safetensors", r->files.dir);
    r->start = ckpt_load(r->files.policy, NULL, NULL, NULL, NULL);
    r->start->version = 5;
    r->cfg = (struct learner_cfg){.online = online_cfg_default(), .ckpt_path = r->path};
    r->cfg.online.rehearse = r->cfg.online.exam_links =
        0; /* random weights learn at random */
    r->cfg.online.batch = 480;
    r->cfg.online.capacity = 2000;
    ck_assert_int_eq(bus_local_init(&r->bus, 32, NULL), 0);
    r->published = published_new(policy_clone(r->start, NULL), 1, 0, NULL);
}

static void rig_learner(struct rig *r)
{
    bool fresh;
    struct err e = {0};
    r->learner =
        learner_new(&r->cfg, r->start, NULL, 0, &fresh, r->published, &r->bus, &e);
    ck_assert_msg(r->learner != NULL, "%s", e.detail);
}

static void rig_end(struct rig *r)
{
    learner_free(r->learner);
    published_free(r->published);
    r->bus.free(r->bus.self);
    policy_free(r->start);
    served_end(&r->files);
}

/* One whole session of level `action` throughout, sent as a terminal trajectory. */
static void send_session(struct rig *r, int action, double reward)
{
    static struct traj t;
    struct session_open in = served_request(1, 48);
    t = (struct traj){.n = 48};
    t.view = view_default();
    t.view.levels = 6;
    for (int k = 0; k < 6; k++)
        t.view.ladder_kbps[k] = in.ladder_kbps[k];
    t.view.chunk_s = 4;
    t.view.chunks = 48;
    t.view.buffer_max_s = 60;
    const struct weights *w = published_get(r->published);
    for (int i = 0; i < 48; i++) {
        struct outcome o = served_outcome(i, action);
        t.step[i] = (struct traj_step){.chunk = i,
                                       .action = (int8_t)action,
                                       .last_level = (int8_t)(i ? action : -1),
                                       .logp = logf(1 / 6.0f),
                                       .policy = w->policy->version,
                                       .buffer_s = 8,
                                       .bytes = (double)o.bytes,
                                       .download_s = o.download_s,
                                       .reward = reward};
    }
    published_put(r->published, w);
    ck_assert(r->bus.send(r->bus.self, &t));
}

static uint64_t served_version(struct rig *r)
{
    const struct weights *w = published_get(r->published);
    uint64_t version = w->policy->version;
    published_put(r->published, w);
    return version;
}

START_TEST(a_full_batch_becomes_the_next_version)
{
    struct rig r;
    rig_begin(&r);
    r.cfg.online.tolerance = 100;
    rig_learner(&r);
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 0);
    for (int i = 0; i < 9; i++)
        send_session(&r, i % 6, i % 6);
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 0); /* 432 of 480 */
    ck_assert_uint_eq(served_version(&r), 5);
    send_session(&r, 1, 1);
    ck_assert_int_eq(learner_turn(r.learner, 0, 3, NULL), 1);
    ck_assert_uint_eq(served_version(&r), 6);
    const struct weights *w = published_get(r.published);
    ck_assert_double_eq(w->published_at, 3);
    ck_assert(isfinite(w->check_score));
    ck_assert_mem_ne(w->policy->actor->theta, r.start->actor->theta,
                     r.start->actor->n * sizeof(float));
    published_put(r.published, w);

    struct online_stats s;
    learner_stats(r.learner, &s);
    ck_assert_uint_eq(s.trajectories, 10);
    ck_assert_uint_eq(s.updates, 1);
    rig_end(&r);
}
END_TEST

/* A store that notes versions, and what was served when it heard of them. */
struct heard {
    struct rig *rig;
    int n, fail, good; /* good: the first ones do not fail */
    uint64_t version, served;
};

static int hear(void *ctx, const struct policy *p, double now, double score,
                struct err *e)
{
    struct heard *h = ctx;
    ck_assert(isfinite(now) && isfinite(score));
    h->n++;
    h->version = p->version;
    h->served = served_version(h->rig);
    return h->fail && h->n > h->good ? err_set(e, ERR_IO, "the disk is full") : 0;
}

START_TEST(more_levels_than_the_policy_has_are_passed_over)
{
    struct rig r;
    rig_begin(&r);
    policy_free(r.start);
    struct policy_cfg small = policy_cfg_default(FEAT_FULL_DIM);
    small.actions = 6;
    r.start = policy_new(&small, NULL);
    policy_init(r.start, 1);
    rig_learner(&r);
    static struct traj t;
    for (uint64_t i = 0; i < 10; i++) {
        trajs_make(&t, i, 7, 32, false);
        ck_assert(r.bus.send(r.bus.self, &t));
    }
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 0);
    ck_assert_uint_eq(learner_misfits(r.learner), 10);
    ck_assert(learner_settled(r.learner));
    rig_end(&r);
}
END_TEST

START_TEST(a_version_is_announced_before_anybody_decides_by_it)
{
    struct rig r;
    rig_begin(&r);
    struct heard heard = {.rig = &r, .fail = 1};
    r.cfg.online.tolerance = 100;
    r.cfg.announce = hear;
    r.cfg.announce_ctx = &heard;
    rig_learner(&r);
    for (int i = 0; i < 10; i++)
        send_session(&r, i % 6, i % 6);
    struct err e = {0};
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, &e), ERR_IO);
    ck_assert_str_eq(e.detail, "the disk is full");
    ck_assert_uint_eq(heard.version, 6);
    ck_assert_uint_eq(served_version(&r), 5);

    /* it is announced until that works, and nothing else is taken meanwhile */
    for (int i = 0; i < 10; i++)
        send_session(&r, i % 6, i % 6);
    ck_assert(!learner_published(r.learner));
    ck_assert_int_eq(learner_turn(r.learner, 0, 3, NULL), ERR_IO);
    ck_assert_uint_eq(heard.version, 6);
    ck_assert(learner_settled(r.learner));
    heard.fail = 0;
    ck_assert_int_eq(learner_turn(r.learner, 0, 3, NULL), 1);
    ck_assert_int_eq(heard.n, 3);
    ck_assert_uint_eq(heard.version, 6);
    ck_assert_uint_eq(heard.served, 5);
    ck_assert_uint_eq(served_version(&r), 6);
    ck_assert(learner_published(r.learner));
    ck_assert_int_eq(learner_turn(r.learner, 0, 3, NULL), 1);
    ck_assert_uint_eq(served_version(&r), 7);
    rig_end(&r);
}
END_TEST

/* A curve that the learner adds to, and its points so far. */
static struct curve *rig_curve(struct rig *r)
{
    r->cfg.curve = curve_new(NULL);
    ck_assert_ptr_nonnull(r->cfg.curve);
    return r->cfg.curve;
}

START_TEST(the_curve_has_every_update_and_version)
{
    struct rig r;
    struct curve_point p[8];
    rig_begin(&r);
    struct curve *curve = rig_curve(&r);
    r.cfg.online.tolerance = 100;
    rig_learner(&r);
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 0);
    ck_assert_int_eq(curve_read(p, 8, curve, 0), 0);
    for (int i = 0; i < 10; i++)
        send_session(&r, i % 6, i % 6);
    ck_assert_int_eq(learner_turn(r.learner, 0, 3, NULL), 1);
    struct online_stats s, order;
    learner_stats(r.learner, &s);
    ck_assert_int_eq(learner_disable_expert(r.learner, PPO_ACTOR, 1, 5, NULL), 0);
    ck_assert_int_eq(learner_turn(r.learner, 0, 4, NULL), 1);
    ck_assert_int_eq(curve_read(p, 8, curve, 0), 2);

    struct vitals_stats v;
    learner_stats(r.learner, &order);
    learner_vitals(r.learner, &v);
    ck_assert_int_eq(p[0].kind, CURVE_UPDATE);
    ck_assert_uint_eq(p[0].version, 6);
    ck_assert_double_eq(p[0].at, 3);
    ck_assert_uint_eq(p[0].steps, 480);
    ck_assert_double_eq(p[0].score, s.check_score);
    ck_assert_double_eq(p[0].best, s.check_best);
    ck_assert(p[0].learned && p[0].measured);
    ck_assert_double_eq(p[0].update.entropy, s.last.entropy);
    ck_assert_double_eq(p[0].weights[PPO_CRITIC].effective, v.critic.effective);
    ck_assert_int_eq(p[1].kind, CURVE_ORDER);
    ck_assert_uint_eq(p[1].version, 7);
    ck_assert_double_eq(p[1].score, order.check_score); /* without the expert */
    ck_assert_double_ne(p[1].score, p[0].score);
    ck_assert(!p[1].learned);
    rig_end(&r);
    curve_free(curve);
}
END_TEST

START_TEST(weights_are_measured_when_asked_to)
{
    struct rig r;
    rig_begin(&r);
    rig_learner(&r);
    struct vitals_stats v;
    learner_vitals(r.learner, &v);
    ck_assert(!v.known);
    learner_look(r.learner);
    learner_vitals(r.learner, &v);
    ck_assert(v.known);
    ck_assert_int_eq(v.actor.experts, r.start->cfg.experts);
    rig_end(&r);
}
END_TEST

START_TEST(worse_weights_are_not_given_out)
{
    struct rig r;
    rig_begin(&r);
    struct curve *curve = rig_curve(&r);
    r.cfg.online.tolerance = -100; /* nothing can be good enough */
    rig_learner(&r);
    for (int i = 0; i < 10; i++)
        send_session(&r, i % 6, i % 6);
    struct err e = {0};
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, &e), ERR_NUMERIC);
    ck_assert_str_ne(e.detail, "");
    ck_assert_uint_eq(served_version(&r), 5);
    struct online_stats s;
    learner_stats(r.learner, &s);
    ck_assert_uint_eq(s.rollbacks, 1);
    struct curve_point p;
    ck_assert_int_eq(curve_read(&p, 1, curve, 0), 1);
    ck_assert_int_eq(p.kind, CURVE_ROLLBACK);
    ck_assert_uint_eq(p.version, 5);
    ck_assert_double_eq(p.score, s.check_score);
    ck_assert(p.learned && !p.measured);
    ck_assert_int_eq(learner_checkpoint(r.learner, NULL), 0); /* nothing to keep */
    ck_assert_int_ne(access(r.path, R_OK), 0);
    rig_end(&r);
    curve_free(curve);
}
END_TEST

/* Downloads from which the forecast learns, and as a batch an update that fails if logp is NaN. */
enum { DOWNLOADS = 50, LINKS = 160 };

static int learn_forecast(struct rig *r, float logp, struct err *e)
{
    static struct traj t;
    int rc = 0;
    trajs_downloads(&t, DOWNLOADS, logp, 5);
    for (int i = 0; i < LINKS; i++) {
        ck_assert_int_eq(rc, 0);
        t.client = (uint64_t)i + 1;
        ck_assert(r->bus.send(r->bus.self, &t));
        rc = learner_turn(r->learner, 0, 2, e);
    }
    return rc;
}

static void rig_forecast(struct rig *r, struct heard *heard)
{
    rig_begin(r);
    policy_free(r->start);
    struct policy_cfg c = policy_cfg_default(FEAT_PLAN_DIM);
    c.hidden = c.critic_hidden = 4;
    r->start = policy_new(&c, NULL);
    policy_init(r->start, 1);
    r->start->version = 5;
    r->cfg.online.tolerance = 100;
    r->cfg.online.batch = r->cfg.online.capacity = DOWNLOADS * LINKS;
    r->cfg.online.input_steps = 300;
    *heard = (struct heard){.rig = r};
    r->cfg.announce = hear;
    r->cfg.announce_ctx = heard;
}

/* The update of a turn is rolled back, and a correction of the forecast is published. */
START_TEST(a_rollback_does_not_hide_a_version)
{
    struct rig r;
    struct heard heard;
    struct curve_point p[8];
    rig_forecast(&r, &heard);
    struct curve *curve = rig_curve(&r);
    rig_learner(&r);
    struct err e = {0};
    ck_assert_int_eq(learn_forecast(&r, NAN, &e), 1);
    ck_assert_int_eq(e.code, 0);
    ck_assert_uint_eq(served_version(&r), 6);
    ck_assert_int_eq(learner_policy(r.learner)->input_n > 0, 1);
    struct online_stats s;
    learner_stats(r.learner, &s);
    ck_assert_uint_eq(s.rollbacks, 1);
    ck_assert_uint_eq(s.judged.taken, 1);
    ck_assert_int_eq(curve_read(p, 8, curve, 0), 2);
    ck_assert_int_eq(p[0].kind, CURVE_ROLLBACK);
    ck_assert_int_eq(p[1].kind, CURVE_UPDATE);
    rig_end(&r);
    curve_free(curve);
}
END_TEST

/* The correction cannot be announced. After a rollback that is the turn's error; after an update that was
 * published it is what else failed. */
START_TEST(the_error_of_a_turn_is_that_of_its_result)
{
    for (int updated = 0; updated < 2; updated++) {
        struct rig r;
        struct heard heard;
        rig_forecast(&r, &heard);
        heard.fail = 1;
        heard.good = updated;
        rig_learner(&r);
        struct err e = {0};
        int rc = learn_forecast(&r, updated ? logf(1 / 6.0f) : NAN, &e);
        ck_assert_int_eq(rc, updated ? 1 : ERR_IO);
        ck_assert_int_eq(e.code, ERR_IO);
        ck_assert_str_eq(e.detail, "the disk is full");
        ck_assert_int_eq(heard.n, 1 + updated);
        ck_assert_uint_eq(served_version(&r), 5 + (uint64_t)updated);
        ck_assert(!learner_published(r.learner));
        rig_end(&r);
    }
}
END_TEST

static void learn_once(struct rig *r)
{
    for (int i = 0; i < 10; i++)
        send_session(r, i % 6, i % 6);
    ck_assert_int_eq(learner_turn(r->learner, 0, 2, NULL), 1);
}

static uint64_t version_in(const char *path)
{
    struct policy *p = ckpt_load(path, NULL, NULL, NULL, NULL);
    uint64_t version = p ? p->version : 0;
    policy_free(p);
    return version;
}

static bool lies_beside(const char *path, const char *ending)
{
    char name[500];
    snprintf(name, sizeof name, "%s%s", path, ending);
    return access(name, F_OK) == 0;
}

/* A checkpoint that cannot be written takes nothing away from those that are there. */
START_TEST(a_full_disk_leaves_both_checkpoints)
{
    struct rig r;
    rig_begin(&r);
    r.cfg.online.tolerance = 100;
    rig_learner(&r);
    char prev[500];
    snprintf(prev, sizeof prev, "%s.prev", r.path);
    for (int round = 0; round < 2; round++) {
        learn_once(&r);
        ck_assert_int_eq(learner_checkpoint(r.learner, NULL), 0);
    }
    learn_once(&r);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tight;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 1000;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
        int rc = learner_checkpoint(r.learner, NULL);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
        ck_assert_int_eq(rc, ERR_IO);
        ck_assert_uint_eq(version_in(r.path), 7);
        ck_assert_uint_eq(version_in(prev), 6);
    }
    static const char *const scraps[] = {".tmp", ".prev.tmp", ".new", ".new.tmp"};
    for (size_t i = 0; i < sizeof scraps / sizeof *scraps; i++)
        ck_assert_msg(!lies_beside(r.path, scraps[i]), "%s", scraps[i]);
    ck_assert_int_eq(learner_checkpoint(r.learner, NULL), 0);
    ck_assert_uint_eq(version_in(r.path), 8);
    ck_assert_uint_eq(version_in(prev), 7);
    for (size_t i = 0; i < sizeof scraps / sizeof *scraps; i++)
        ck_assert_msg(!lies_beside(r.path, scraps[i]), "%s", scraps[i]);
    rig_end(&r);
}
END_TEST

START_TEST(checkpoints_keep_the_one_before_and_the_optimiser)
{
    struct rig r;
    rig_begin(&r);
    r.cfg.online.tolerance = 100;
    rig_learner(&r);
    char prev[500];
    snprintf(prev, sizeof prev, "%s.prev", r.path);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++)
            send_session(&r, i % 6, i % 6);
        ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 1);
        ck_assert_int_eq(learner_checkpoint(r.learner, NULL), 0);
        ck_assert_int_eq(access(prev, R_OK) == 0, round == 1);
    }
    struct policy *old = ckpt_load(prev, NULL, NULL, NULL, NULL);
    ck_assert_uint_eq(old->version, 6);
    policy_free(old);

    void *state;
    size_t n;
    struct ckpt_meta meta;
    struct policy *now = ckpt_load(r.path, &meta, &state, &n, NULL);
    ck_assert_uint_eq(now->version, 7);
    ck_assert_str_eq(ckpt_meta_get(&meta, "updates"), "2");
    bool fresh = true;
    struct learner *again =
        learner_new(&r.cfg, now, state, n, &fresh, r.published, &r.bus, NULL);
    ck_assert_ptr_nonnull(again);
    ck_assert(!fresh);
    struct online_stats s;
    learner_stats(again, &s);
    ck_assert_uint_eq(s.updates, 2);
    learner_free(again);
    again = learner_new(&r.cfg, now, state, n - 1, &fresh, r.published, &r.bus, NULL);
    ck_assert(fresh); /* of another configuration: passed over */
    learner_free(again);
    free(state);
    policy_free(now);
    rig_end(&r);
}
END_TEST

START_TEST(a_checkpoint_that_cannot_be_written_says_so)
{
    struct rig r;
    rig_begin(&r);
    r.cfg.online.tolerance = 100;
    r.cfg.ckpt_path = "/nonexistent/policy.safetensors";
    rig_learner(&r);
    for (int i = 0; i < 10; i++)
        send_session(&r, i % 6, i % 6);
    ck_assert_int_eq(learner_turn(r.learner, 0, 2, NULL), 1);
    struct err e = {0};
    ck_assert_int_eq(learner_checkpoint(r.learner, &e), ERR_IO);
    ck_assert_str_ne(e.detail, "");
    rig_end(&r);
}
END_TEST

/* A batch in which the exam by cells judges the update; its report is in *out. */
static void be_examined(struct rig *r, struct cells_report *out)
{
    for (int i = 0; i < 10; i++)
        send_session(r, i % 6, i % 6);
    (void)!learner_turn(r->learner, 0, 2, NULL);
    ck_assert(learner_exam(r->learner, out));
}

/* The last allocation of a resume fails. The next exam is that of a learner that never tried, with the same
 * champion. */
START_TEST(a_resume_without_memory_changes_nothing)
{
    enum { TRIED, NEVER, RESUMED, LEARNERS };
    struct rig r[LEARNERS];
    static struct cells_report said[LEARNERS];
    struct policy *other = NULL;
    long calls = 0;
    bool fresh;
    for (int i = LEARNERS - 1; i >= 0; i--) {
        rig_begin(&r[i]);
        r[i].cfg.online.exam_links = 4;
        r[i].cfg.online.tolerance = 100;
        rig_learner(&r[i]);
        if (!other) {
            other = policy_clone(r[i].start, NULL);
            policy_init(other, 99);
            other->version = 9;
        }
        /* checks allocate, too */
        alloc_watch_failing(i == TRIED ? calls : 0);
        int rc = i == NEVER
                     ? 0
                     : learner_resume(r[i].learner, other, NULL, 0, &fresh, 3, NULL);
        if (i == RESUMED) calls = alloc_calls();
        alloc_watch_failing(0);
        ck_assert_int_eq(rc, i == TRIED ? ERR_MEMORY : 0);
        ck_assert_uint_eq(served_version(&r[i]), i == RESUMED ? 9 : 5);
        ck_assert_uint_eq(learner_policy(r[i].learner)->version, i == RESUMED ? 9 : 5);
        be_examined(&r[i], &said[i]);
    }
    ck_assert_int_gt(said[TRIED].n, 0);
    int moved = 0;
    for (int k = 0; k < said[TRIED].n; k++) {
        float champion = said[TRIED].row[k].champion;
        ck_assert_double_eq((double)champion, (double)said[NEVER].row[k].champion);
        moved += champion != said[RESUMED].row[k].champion;
    }
    ck_assert_int_gt(moved, 0);
    for (int i = 0; i < LEARNERS; i++)
        rig_end(&r[i]);
    policy_free(other);
}
END_TEST

/* Another learner's correction of the forecast is not used by one that fits none. */
START_TEST(a_correction_is_dropped_without_a_fit)
{
    for (int fits = 0; fits < 2; fits++) {
        struct rig r;
        bool fresh;
        rig_begin(&r);
        r.cfg.online.input_steps = fits;
        rig_learner(&r);
        struct policy *other = policy_clone(r.start, NULL);
        policy_copy_input(other, (const float[]){1, 2}, 2);
        other->version = 8;
        ck_assert_int_eq(learner_resume(r.learner, other, NULL, 0, &fresh, 3, NULL), 0);
        ck_assert_int_eq(learner_policy(r.learner)->input_n, fits ? 2 : 0);
        ck_assert_uint_eq(served_version(&r), fits ? 8 : 9);
        ck_assert_int_eq(other->input_n, 2);
        policy_free(other);
        rig_end(&r);
    }
}
END_TEST

/* ---- it learns: emulated viewers of a service that begins with random weights ---- */

static double play(struct served *f, const struct emu_world *world, uint64_t key)
{
    struct player p;
    player_start(&p, world, 1, &qoe_find("pensieve")->qoe, -1);
    struct session_open in = {.profile = "pensieve",
                              .levels = world->video->levels,
                              .chunk_s = world->video->chunk_s,
                              .chunks = world->video->chunks,
                              .buffer_max_s = world->cfg.buffer_max_s,
                              .has_key = true,
                              .key = key};
    for (int k = 0; k < in.levels; k++)
        in.ladder_kbps[k] = world->video->ladder_kbps[k];
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f->service, f->worker, &in, NULL), 0);

    double sum = 0;
    int level = o.first.level;
    bool end = false;
    for (int k = 0; !end; k++) {
        end = player_step(&p, level, 1);
        sum += p.last.reward;
        struct outcome done = {.chunk = k,
                               .level = level,
                               .bytes = p.result.bytes,
                               .download_s = p.result.delay_ms / 1000,
                               .rebuffer_s = p.result.rebuffer_s};
        if (end) {
            struct reward_in r = {.has_outcome = true, .outcome = done, .final = true};
            struct reward_out out;
            ck_assert_int_eq(service_reward(&out, f->service, o.session, &r, NULL), 0);
            ck_assert_double_eq_tol(out.reward, p.last.reward, 1e-9);
        } else {
            struct question q = {.chunk = k + 1, .buffer_s = p.view.buffer_s};
            q.has_last = true;
            q.last = done;
            struct answer a;
            ck_assert_int_eq(service_ask(&a, f->service, f->worker, o.session, &q, NULL),
                             0);
            level = a.level;
        }
    }
    return sum / in.chunks;
}

START_TEST(viewers_teach_the_service)
{
    struct served f;
    served_begin(&f, false);
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.online.batch = 1024;
    f.cfg.online.capacity = 4096;
    f.cfg.online.ppo.lr = 1e-3;
    f.cfg.online.ppo.critic_lr = 1e-3;
    f.cfg.online.ppo.target_kl = 0;
    f.cfg.online.tolerance = 0.5; /* the exams have tests of their own */
    f.cfg.online.rehearse = f.cfg.online.exam_links = 0;
    served_start(&f);

    struct corpus *c = corpus_generate("3g-commute", 8, 320, 1, NULL);
    struct video *video = video_default(NULL);
    ck_assert(c && video);
    enum { SESSIONS = 400, TENTH = SESSIONS / 10 };
    double first = 0, last = 0;
    for (int i = 0; i < SESSIONS; i++) {
        struct emu_world world = {video, c->traces[i % c->n], emu_cfg_default()};
        double mean = play(&f, &world, (uint64_t)i);
        if (i < TENTH) first += mean / TENTH;
        if (i >= SESSIONS - TENTH) last += mean / TENTH;
        int rc = service_learn(f.service, NULL);
        ck_assert(rc >= 0 || rc == ERR_NUMERIC);
    }
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_ge(s.learner.updates, 10);
    ck_assert_uint_eq(s.policy_version, 1 + s.learner.updates);
    ck_assert_uint_eq(s.learner.trajectories, SESSIONS);
    ck_assert_msg(last > first + .2, "%.3f at first, %.3f at last", first, last);
    video_free(video);
    corpus_free(c);
    served_end(&f);
}
END_TEST

SUITE_WITHIN(serve_learner_learner, 120, a_full_batch_becomes_the_next_version,
             more_levels_than_the_policy_has_are_passed_over,
             a_version_is_announced_before_anybody_decides_by_it,
             the_curve_has_every_update_and_version, weights_are_measured_when_asked_to,
             worse_weights_are_not_given_out, a_rollback_does_not_hide_a_version,
             the_error_of_a_turn_is_that_of_its_result,
             a_full_disk_leaves_both_checkpoints,
             checkpoints_keep_the_one_before_and_the_optimiser,
             a_checkpoint_that_cannot_be_written_says_so,
             a_resume_without_memory_changes_nothing,
             a_correction_is_dropped_without_a_fit, viewers_teach_the_service);
