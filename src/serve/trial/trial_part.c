/* A trial as a part of the daemon: what the core calls (serve/part.h). */
#include "serve/trial/trial_run.h"
#include "serve/parts.h"
#include "serve/session/core.h"

#include <stdlib.h>
#include <string.h>

#include "serve/trial/api_trial.h"

extern const struct part trial_part;

struct trial_state {
    struct service *service;
    struct trial_run *trial;
    struct trial_plan plan; /* of the settings; arms 0: none */
};

struct trial_run *trial_run_of(struct service *s)
{
    const struct trial_state *h = service_part(s, trial_part.name);
    return h ? h->trial : NULL;
}

const struct trial_plan *trial_run_wanted(struct service *s)
{
    const struct trial_state *h = service_part(s, trial_part.name);
    return h && h->plan.arms ? &h->plan : NULL;
}

static int trial_part_check(const void *cfg, const struct service_cfg *common,
                            struct err *e)
{
    (void)common;
    return trial_cfg_check(cfg, e);
}

static int trial_part_open(void **self, struct service *s, const void *cfg, struct err *e)
{
    struct trial_state *h = *self = calloc(1, sizeof *h);
    if (!h) return err_set(e, ERR_MEMORY, "no memory for a trial");
    h->service = s;
    const struct trial_cfg *c = cfg;
    return c->name ? trial_plan_of(&h->plan, c, e) : 0;
}

static int trial_part_start(void *self, struct err *e)
{
    struct trial_state *h = self;
    struct service *s = h->service;
    struct trial_run_new how = {.policy = &s->policy_cfg,
                                .store = s->writer ? writer_store(s->writer) : NULL,
                                .state_path =
                                    s->folder.lock >= 0 ? s->folder.trial : NULL,
                                .profiles = s->profiles,
                                .networks = s->networks,
                                .log = s->cfg.log,
                                .entropy = s->cfg.parts.entropy,
                                .peers = s->peers != NULL};
    memcpy(how.key, s->viewers, sizeof how.key);
    int rc = s->peers ? entropy_draw(&how.entropy, &how.boot, sizeof how.boot, e) : 0;
    if (rc) return rc;
    h->trial = trial_run_new(&how, e);
    if (!h->trial) return ERR_MEMORY;
    rc = trial_run_resume(h->trial, e);
    if (rc || !h->plan.arms) return rc;
    /* a cluster's trial is begun once the bus answers (cluster/trial_shared.h) */
    if (s->peers) return trial_run_check(h->trial, &h->plan, e);
    rc = trial_run_start(h->trial, &h->plan, service_now(s), e);
    return rc < 0 ? rc : 0;
}

static void trial_part_save(void *self)
{
    const struct trial_state *h = self;
    struct err why = {0};
    if (h->trial && trial_run_save(h->trial, &why))
        log_err(h->service->cfg.log, LOG_ERROR, "trial", &why);
}

/* A guard rail may have stopped an arm. */
static void trial_part_tick(void *self, double now)
{
    (void)now;
    trial_part_save(self);
}

static void trial_part_free(void *self)
{
    struct trial_state *h = self;
    if (!h) return;
    trial_run_free(h->trial);
    free(h);
}

static void trial_part_stats(void *self, void *out)
{
    const struct trial_state *h = self;
    if (h->trial) trial_run_stats(out, h->trial);
}

static enum part_decide trial_part_decide(struct verdict *out, void *self, void *desk,
                                          const struct decision *d)
{
    (void)desk;
    const struct trial_state *h = self;
    return h->trial ? trial_run_decide(out, h->trial, d) : PART_PASSES;
}

static void trial_part_assign(void *self, struct track_row *row,
                              const struct session_open *in)
{
    const struct trial_state *h = self;
    if (h->trial) trial_run_assign(h->trial, row, in);
}

static void trial_part_assigned(void *self, struct track_row *row)
{
    const struct trial_state *h = self;
    if (h->trial) trial_run_assigned(h->trial, row);
}

static void trial_part_opened(void *self, const struct track_row *row)
{
    const struct trial_state *h = self;
    if (h->trial) trial_run_opened(h->trial, row);
}

static void trial_part_closed(void *self, const struct track_row *row)
{
    const struct trial_state *h = self;
    if (h->trial) trial_run_ended(h->trial, row);
}

const struct part trial_part = {.name = "trial",
                                .check = trial_part_check,
                                .open = trial_part_open,
                                .start = trial_part_start,
                                .tick = trial_part_tick,
                                .save = trial_part_save,
                                .free = trial_part_free,
                                .stats = trial_part_stats,
                                .decide = trial_part_decide,
                                .assign = trial_part_assign,
                                .assigned = trial_part_assigned,
                                .opened = trial_part_opened,
                                .closed = trial_part_closed,
                                .routes = api_trial_routes};
