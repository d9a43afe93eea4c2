/* The policy that a service starts with, and what it logs of a turn of its learner. */
#include "serve/session/core.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "abr/deciders/forecast_own.h"
#include "abr/emulator/feat.h"
#include "learn/ckpt.h"
#include "serve/learner/learner.h"
#include "support/served.h"
#include "support/suites.h"
#include "support/trajs.h"

enum { DOWNLOADS = 50, LINKS = 160 };

/* A service with a policy that plans, whose forecast can be corrected, and its log. */
struct rig {
    struct served f;
    struct log log;
    FILE *said;
};

static void rig_begin(struct rig *r)
{
    served_begin(&r->f, false);
    struct policy_cfg c = policy_cfg_default(FEAT_PLAN_DIM);
    c.hidden = c.critic_hidden = 4;
    struct policy *p = policy_new(&c, NULL);
    policy_init(p, 1);
    ck_assert_int_eq(ckpt_save(r->f.policy, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
    r->said = tmpfile();
    r->log = log_init(fileno(r->said), LOG_INFO, false);
    r->f.cfg.log = &r->log;
    served_without_exams(&r->f);
}

static void rig_end(struct rig *r)
{
    served_end(&r->f);
    fclose(r->said);
}

/* How often the log has this text. */
static int times_said(struct rig *r, const char *text)
{
    char line[LOG_LINE];
    int n = 0;
    rewind(r->said);
    while (fgets(line, sizeof line, r->said))
        n += strstr(line, text) != NULL;
    return n;
}

/* Downloads from which the forecast learns, and a batch that is rolled back: its logp is NaN. */
static void send_downloads(struct service *s)
{
    static struct traj t;
    trajs_downloads(&t, DOWNLOADS, NAN, 1);
    for (int i = 0; i < LINKS; i++) {
        t.client = (uint64_t)i + 1;
        ck_assert(s->bus.send(s->bus.self, &t));
    }
}

TEST(a_rollback_and_a_version_of_one_turn_are_both_logged)
{
    struct rig r;
    rig_begin(&r);
    r.f.cfg.learn = LEARN_ON;
    r.f.cfg.online.batch = DOWNLOADS * LINKS;
    r.f.cfg.online.input_steps = 300;
    served_start(&r.f);
    send_downloads(r.f.service);
    ck_assert_int_eq(service_learn(r.f.service, NULL), 1);
    ck_assert_int_eq(times_said(&r, "rolled back"), 1);
    ck_assert_int_eq(times_said(&r, "version 2, check"), 1);
    rig_end(&r);
}

/* A policy in a file, with a correction of its forecast; 0: it was never published. */
static void save_corrected(struct rig *r, uint64_t version)
{
    static const float correction[FORECAST_OWN];
    struct policy *p = ckpt_load(r->f.policy, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    policy_copy_input(p, correction, FORECAST_OWN);
    p->input_of = forecast_crc32();
    p->version = version;
    ck_assert_int_eq(ckpt_save(r->f.policy, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
}

/* What a service decides by that has just started. */
static void started_with(struct rig *r, bool corrected, uint64_t version)
{
    served_start(&r->f);
    const struct weights *w = published_get(r->f.service->published);
    ck_assert_int_eq(packed_input(w->packed, FORECAST_OWN) != NULL, corrected);
    ck_assert_uint_eq(w->policy->version, version);
    published_put(r->f.service->published, w);
    if (r->f.service->learner)
        ck_assert_int_eq(learner_policy(r->f.service->learner)->input_n > 0, corrected);
    served_kill(&r->f);
}

/* --forecast-steps 0, with a learner and without one, whose folder knows the versions or does not. */
TEST(without_a_fit_a_correction_is_not_used)
{
    for (int learn = 0; learn < 2; learn++)
        for (int stored = 0; stored < 2; stored++) {
            struct rig r;
            rig_begin(&r);
            if (stored) r.f.cfg.data_dir = r.f.data;
            r.f.cfg.learn = learn ? LEARN_ON : LEARN_OFF;
            r.f.cfg.online.batch = DOWNLOADS * LINKS;
            save_corrected(&r, 0);
            started_with(&r, true, 1);
            ck_assert_int_eq(times_said(&r, "is not used"), 0);
            r.f.cfg.online.input_steps = 0;
            started_with(&r, false, stored ? 2 : 1);
            ck_assert_int_eq(times_said(&r, "is not used"), 1);
            started_with(&r, false, stored ? 2 : 1); /* the same weights */

            /* a file that has a number: what decides differently has another one */
            save_corrected(&r, 7);
            started_with(&r, false, 8);
            started_with(&r, false, 8);
            served_start(&r.f);
            rig_end(&r);
        }
}

SUITE(serve_session_service_learn, a_rollback_and_a_version_of_one_turn_are_both_logged,
      without_a_fit_a_correction_is_not_used);
