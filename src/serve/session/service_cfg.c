/* The settings of the service (service.h): defaults, table, limits. */
#include "serve/session/service.h"

#include "serve/parts.h"
#include "serve/session/limits.h"
#include "serve/session/profiles.h"
#include "serve/session/traj.h"

enum { QUEUE_MIN = 64 /* records: a dozen requests */ };

static const double DAY_S = 86400;

struct service_cfg service_cfg_default(void)
{
    return (struct service_cfg){.explore_share = .2,
                                .learn = LEARN_ON,
                                .default_profile = "standard",
                                .stall_ratio_max = .01,
                                .startup_max_s = 3,
                                .max_sessions = 100000,
                                .session_ttl_s = 600,
                                .retention_s = 30 * DAY_S,
                                .checkpoint_s = 60,
                                .flush_s = .05,
                                .store_queue = 32768,
                                .metrics_values = 16,
                                .online = online_cfg_default()};
}

static const char *const LEARN[] = {"off", "on", "observe",
                                    NULL}; /* enum service_learn */
static const char *const DURABILITY[] = {"window", "strict", NULL};

#define ROW(member) FIELD(struct service_cfg, member)

const struct field service_fields[] = {
    {"data", "DIR",
     "folder for sessions, rewards and learned weights (default: none are stored)",
     ROW(data_dir), .group = "data"},
    {"max-sessions", "N",
     "largest number of live sessions; a request to open one more gets 503",
     ROW(max_sessions), .lo = 1, .hi = 1e7},
    {"session-ttl", "S", "close a session after S seconds without a request",
     ROW(session_ttl_s), .lo = 1, .hi = SERVICE_TTL_MAX_S, .unit = "seconds",
     .flags = FIELD_LIVE},
    {"retention-days", "DAYS", "delete stored sessions after this many days; 0: never",
     ROW(retention_s), .lo = 0, .hi = SERVICE_RETENTION_MAX_S / 86400, .scale = 86400,
     .unit = "days", .flags = FIELD_LIVE},
    {"checkpoint", "S",
     "save what was learned every S seconds; weights that are served are saved at once",
     ROW(checkpoint_s), .lo = .1, .hi = SERVICE_CHECKPOINT_MAX_S, .unit = "seconds",
     .flags = FIELD_LIVE},
    {"durability", "WHEN",
     "when answers are stored; window: within 0.2 s; strict: before they are sent",
     ROW(strict), .words = DURABILITY},
    {"metrics-label", "KEY",
     "count in /metrics what viewers see by this label of their sessions: device, cdn, "
     "country, app, network, experiment or tenant (default: by none)",
     ROW(metrics_label)},
    {"metrics-values", "N",
     "values of that label in /metrics, the first that are seen; others count as other",
     ROW(metrics_values), .lo = 1, .hi = LABEL_SUMS_MAX},

    {"policy", "FILE", "weights to start from (default: the shipped ones)",
     ROW(policy_path), .group = "learning"},
    {"learn", "MODE",
     "on: learn from the sessions that explore; off: decide with fixed weights; observe: "
     "players keep their own rules, and the daemon stores what it would have decided",
     ROW(learn), .words = LEARN},
    {"explore", "SHARE",
     "share of the sessions that explore: their levels are drawn from the policy",
     ROW(explore_share), .lo = 0, .hi = 1, .flags = FIELD_LIVE},
    {"seed", "N",
     "seed of all random numbers, for repeatable runs; 0: exploration is drawn from a "
     "secret",
     ROW(seed)},

    {"stall-ratio-max", "SHARE",
     "ceiling of stalled time over stalled plus played time, for profiles in points that "
     "do "
     "not state their own; 0: none, else 0.0001 to 0.5",
     ROW(stall_ratio_max), .lo = 0, .hi = LIMITS_STALL_RATIO_MAX,
     .group = "ceilings of profiles", .flags = FIELD_LIVE},
    {"startup-max-s", "S",
     "ceiling of the wait for the first picture, for the same profiles; 0: none, else "
     "0.1 "
     "to 60",
     ROW(startup_max_s), .lo = 0, .hi = LIMITS_STARTUP_S_MAX, .unit = "seconds",
     .flags = FIELD_LIVE},
    {"ceilings", "NAME:SHARE:S,..",
     "other ceilings of built-in profiles, for example news:0.02:2", ROW(ceilings),
     .flags = FIELD_LIVE},

    {"default-profile", "NAME",
     "profile of sessions without a hint, until the mix of their profiles is known",
     ROW(default_profile), .group = "viewers without a hint"},
    {0}};

static int check_number(double v, double lo, double hi, const char *field, struct err *e)
{
    if (v >= lo && v <= hi) return 0;
    return err_field(e, ERR_RANGE, field, "%g is not within %g .. %g", v, lo, hi);
}

int service_check(const struct service_cfg *c, struct err *e)
{
    const struct online_cfg *o = &c->online;
    struct profiles_ceilings unused;
    int rc = field_check(service_fields, c, e);
    if (!rc) rc = profiles_ceilings_read(&unused, c, e);
    if (!rc && c->metrics_label && labels_find(c->metrics_label) < 0)
        rc =
            err_field(e, ERR_INVALID, "metrics-label",
                      "'%.40s' is none of device, cdn, country, app, network, experiment "
                      "and tenant",
                      c->metrics_label);
    if (!rc) rc = field_check(online_fields, o, e);
    if (!rc) rc = check_number(c->flush_s, 0, 10, "flush_s", e);
    if (!rc) rc = check_number(c->store_queue, QUEUE_MIN, 1 << 24, "store_queue", e);
    if (!rc) rc = check_number(o->batch, 1, SERVICE_BATCH_MAX, "batch", e);
    /* room for the trajectory that fills a batch */
    if (!rc)
        rc = check_number(o->capacity, o->batch + TRAJ_STEPS, 1 << 24, "online.capacity",
                          e);
    if (!rc) rc = check_number(o->sigmas, 0, 1e6, "online.sigmas", e);
    /* less than a trajectory would be nothing at all */
    if (!rc && o->client_max)
        rc = check_number(o->client_max, TRAJ_STEPS, 1 << 24, "online.client_max", e);
    if (!rc) rc = check_number(o->max_age, 0, 1e6, "online.max_age", e);
    struct parts_cfg defaults = parts_cfg_default();
    return rc ? rc : parts_check(c->optional ? c->optional : &defaults, c, e);
}
