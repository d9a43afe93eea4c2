/* Added experts on all processes of a cluster: glue between added_shared and the turns (guest.h). */
#include "serve/cluster/guest.h"

#include <stdlib.h>

#include "serve/added/added.h"
#include "serve/cluster/added_shared.h"

extern const struct guest added_guest;

struct added_guest_state {
    struct service *service;
    struct added *added;
    struct added_shared *shared;
    bool decides;
    double save_at; /* when a node writes its added experts to the folder next */
};

static bool added_guest_profile(void *ctx, struct qoe *out, const char *name)
{
    struct service *s = ctx;
    struct profile p;
    if (profiles_get(&p, NULL, s->profiles, name, NULL)) return false;
    *out = p.qoe;
    return true;
}

static int added_guest_open(void **self, const struct guest_host *host, struct err *e)
{
    struct service *s = host->service;
    struct added_guest_state *g = *self = calloc(1, sizeof *g);
    if (!g) return err_set(e, ERR_MEMORY, "no memory for the cluster");
    *g = (struct added_guest_state){
        .service = s, .added = added_of(s), .decides = host->role == ROLE_DECIDE};
    struct added_shared_cfg cfg = {.bucket = host->bucket,
                                   .added = g->added,
                                   .published = s->published,
                                   .shape = s->policy_cfg,
                                   .entropy = s->cfg.parts.entropy,
                                   .max = added_max(g->added),
                                   .decides = g->decides,
                                   .log = s->cfg.log,
                                   .profile = added_guest_profile,
                                   .ctx = s};
    g->shared = added_shared_new(&cfg, e);
    return g->shared ? 0 : ERR_MEMORY;
}

static void added_guest_free(void *self)
{
    struct added_guest_state *g = self;
    added_shared_free(g->shared);
    free(g);
}

static struct shared_value *added_guest_value(void *self)
{
    const struct added_guest_state *g = self;
    return added_shared_value(g->shared);
}

static void added_guest_called(void *self)
{
    const struct added_guest_state *g = self;
    added_shared_called(g->shared);
}

static int added_guest_resume(void *self, uint64_t term, uint64_t position, double now,
                              struct err *e)
{
    const struct added_guest_state *g = self;
    return added_shared_resume(g->shared, term, position, now, e);
}

static int added_guest_lead(void *self, double mono, double now, struct err *e)
{
    const struct added_guest_state *g = self;
    return added_shared_lead(g->shared, mono, now, e);
}

/* Experts of other processes go into the folder of a node. */
static void added_guest_rest(void *self, bool drain)
{
    struct added_guest_state *g = self;
    struct service *s = g->service;
    double now = service_now(s);
    if (!drain) added_sweep(g->added);
    if (!g->decides || (!drain && now < g->save_at)) return;
    struct err why = {0};
    g->save_at = now + s->checkpoint_s;
    if (added_save(g->added, &why)) log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
}

static void added_guest_stats(struct cluster_stats *out, void *self)
{
    const struct added_guest_state *g = self;
    added_shared_stats(out, g->shared);
}

static bool added_guest_grows(void *self, const char *name)
{
    const struct added_guest_state *g = self;
    return added_shared_wanted(g->shared, name);
}

static int added_guest_check(void *self, const struct profile *p, struct err *e)
{
    const struct added_guest_state *g = self;
    struct profile was;
    if (!service_profile_grows(g->service, p->name) ||
        profiles_get(&was, NULL, g->service->profiles, p->name, NULL) ||
        (qoe_same_weights(&was.qoe, &p->qoe) && was.qoe.utility == p->qoe.utility))
        return 0;
    return err_field(e, ERR_CONFLICT, p->qoe.utility == QOE_POINTS ? "weights" : "mu",
                     "'%.63s' has experts that learned other weights: delete it first",
                     p->name);
}

static int added_guest_want(void *self, const char *name, bool wanted, struct err *e)
{
    const struct added_guest_state *g = self;
    return wanted ? added_shared_want(g->shared, name, e)
                  : added_shared_unwant(g->shared, name, e);
}

/* Experts of a profile that was deleted and put again while this node was away. */
static void added_guest_renew(void *self, const char *name)
{
    const struct added_guest_state *g = self;
    if (added_tag(g->added, name, NULL) < 0) return;
    added_remove(g->added, name);
    added_shared_renew(g->shared);
}

const struct guest added_guest = {.open = added_guest_open,
                                  .free = added_guest_free,
                                  .value = added_guest_value,
                                  .called = added_guest_called,
                                  .resume = added_guest_resume,
                                  .lead = added_guest_lead,
                                  .rest = added_guest_rest,
                                  .stats = added_guest_stats,
                                  .grows = added_guest_grows,
                                  .check = added_guest_check,
                                  .want = added_guest_want,
                                  .renew = added_guest_renew};
