/* Profiles that grow on the nodes of a cluster. */
#include "service_priv.h"

#include <string.h>

#include "base/clock.h"
#include "serve/cluster/growths.h"

static bool find_profile(void *ctx, struct qoe *out, const char *name)
{
    struct service *s = ctx;
    struct profile p;
    if (profiles_get(&p, NULL, s->profiles, name, NULL)) return false;
    *out = p.qoe;
    return true;
}

int service_added_open(struct service *s, struct err *e)
{
    if (!s->cluster) return 0;
    uint64_t maker;
    struct growths_cfg cfg = {.bucket = service_cluster_board(s, &maker),
                              .added = s->added,
                              .published = s->published,
                              .shape = s->policy_cfg,
                              .entropy = s->cfg.parts.entropy,
                              .max = s->cfg.grow_max,
                              .log = s->cfg.log,
                              .profile = find_profile,
                              .ctx = s};
    s->growths = growths_new(&cfg, e);
    return s->growths ? 0 : ERR_MEMORY;
}

void service_added_close(struct service *s)
{
    growths_free(s->growths);
}

bool service_added_wanted(struct service *s, const char *name)
{
    return added_tag(s->added, name, NULL) >= 0 ||
           (s->growths && growths_wanted(s->growths, name));
}

void service_added_stats(struct cluster_stats *out, struct service *s)
{
    struct growths_stats is;
    growths_stats(&is, s->growths);
    out->added_wanted = is.wanted;
    out->added_taken = is.taken;
    out->added_refused = is.refused;
}

/* ---- turns ---- */

void service_added_keep(struct service *s)
{
    struct err why = {0};
    s->added_at = service_now(s) + s->checkpoint_s;
    if (added_save(s->added, &why)) log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
}

void service_added_turn(struct service *s, bool leads)
{
    struct err why = {0};
    double mono = clock_mono(), now = service_now(s);
    bool decides = s->cfg.cluster.role == ROLE_DECIDE;
    int rc = leads ? growths_lead(s->growths, mono, now, &why)
                   : growths_follow(s->growths, decides, mono, now, &why);
    if (rc) log_err(s->cfg.log, LOG_DEBUG, "grown", &why);
    if (decides && now >= s->added_at) service_added_keep(s);
    added_sweep(s->added);
}

/* ---- profiles for all ---- */

static int check_weights(struct service *s, const struct profile *p, struct err *e)
{
    struct profile was;
    if (!service_added_wanted(s, p->name) ||
        profiles_get(&was, NULL, s->profiles, p->name, NULL) ||
        qoe_same(&was.qoe, &p->qoe))
        return 0;
    return err_field(e, ERR_CONFLICT, "mu",
                     "'%.63s' has experts that learned other weights: delete it first",
                     p->name);
}

/* The profile comes first, so that nobody wants experts for one that is not there. */
int service_added_put(struct service *s, const struct profile *p, struct err *e)
{
    int rc = check_weights(s, p, e);
    if (rc) return rc;
    struct profile plain = *p;
    plain.grow = false; /* experts are the learner's to make */
    int created = service_cluster_profile(s, p->name, &plain, e);
    if (created < 0 || !p->grow) return created;
    rc = growths_want(s->growths, p->name, e);
    if (rc && created) (void)!service_cluster_profile(s, p->name, NULL, NULL);
    return rc ? rc : created;
}

int service_added_delete(struct service *s, const char *name, struct err *e)
{
    int rc = growths_unwant(s->growths, name, e);
    return rc ? rc : service_cluster_profile(s, name, NULL, e);
}
