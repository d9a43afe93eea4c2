/* What the service logs of a turn of its learner. */
#include "serve/session/core.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    for (int i = 0; i < LINKS; i++)
        ck_assert(s->bus.send(s->bus.self, &t));
}

TEST(a_rollback_and_a_version_of_one_turn_are_both_logged)
{
    struct rig r;
    rig_begin(&r);
    r.f.cfg.learn = LEARN_ON;
    r.f.cfg.online.batch = DOWNLOADS * LINKS;
    r.f.cfg.online.forecast_steps = 300;
    served_start(&r.f);
    send_downloads(r.f.service);
    ck_assert_int_eq(service_learn(r.f.service, NULL), 1);
    ck_assert_int_eq(times_said(&r, "rolled back"), 1);
    ck_assert_int_eq(times_said(&r, "version 2, check"), 1);
    rig_end(&r);
}

SUITE(serve_session_service_learn, a_rollback_and_a_version_of_one_turn_are_both_logged);
