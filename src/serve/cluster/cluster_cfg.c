#include "serve/cluster/cluster_cfg.h"

#include <string.h>

static const char *const ROLES[] = {"standalone", "decide", "learn", NULL};

const struct field cluster_fields[] = {
    {"role", "ROLE",
     "role of this daemon: standalone decides and learns; in a cluster, decide answers "
     "players and learn trains",
     FIELD(struct cluster_cfg, role), .words = ROLES, .group = "cluster"},
    {"bus", "URL", "NATS servers of the cluster: nats://host:port, separated by commas",
     FIELD(struct cluster_cfg, url), .flags = FIELD_SECRET},
    {"bus-creds", "FILE", "credentials file for NATS", FIELD(struct cluster_cfg, creds)},
    {"node", "NAME", "name of this node (default: host name and process id)",
     FIELD(struct cluster_cfg, node)},
    {"node-number", "N",
     "number of this node; session ids begin with it (two hex digits), so that a "
     "balancer can "
     "route by it; 0: none",
     FIELD(struct cluster_cfg, number), .lo = 0, .hi = 255},
    {"bus-name", "NAME", "prefix of the stream, the bucket and the subjects",
     FIELD(struct cluster_cfg, name), .flags = FIELD_ADVANCED},
    {"bus-replicas", "N", "NATS servers that store each message: 1, 3 or 5",
     FIELD(struct cluster_cfg, replicas), .lo = 1, .hi = 5, .flags = FIELD_ADVANCED},
    {"bus-buffer", "N",
     "largest number of trajectories that a node keeps while the bus is away",
     FIELD(struct cluster_cfg, buffer), .lo = 1, .hi = CLUSTER_BUFFER_MAX,
     .flags = FIELD_ADVANCED},
    {"bus-stream-mb", "MB",
     "largest size of the trajectories that wait on the bus for a learner, in MB",
     FIELD(struct cluster_cfg, stream_mb), .lo = .001, .hi = 1e6, .unit = "MB",
     .flags = FIELD_ADVANCED},
    {0}};

struct cluster_cfg cluster_cfg_default(void)
{
    return (struct cluster_cfg){
        .name = "abrd", .replicas = 1, .buffer = 2048, .stream_mb = 256};
}

int cluster_cfg_check(const struct cluster_cfg *c, struct err *e)
{
    int rc = field_check(cluster_fields, c, e);
    if (rc) return rc;
    if (c->role == ROLE_STANDALONE)
        return c->url ? err_field(e, ERR_INVALID, "bus",
                                  "is for --role decide and --role learn; this daemon is "
                                  "standalone")
                      : 0;
    if (!c->url)
        return err_field(e, ERR_INVALID, "bus",
                         "is missing: --role needs --bus nats://host:port");
    size_t n = strlen(c->name);
    if (n < 1 || n > 32 || strspn(c->name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n)
        return err_field(e, ERR_INVALID, "bus-name",
                         "must have 1 to 32 characters of a-z, 0-9, '_', '-'");
    if (c->replicas != 1 && c->replicas != 3 && c->replicas != 5)
        return err_field(e, ERR_RANGE, "bus-replicas", "must be 1, 3 or 5, not %d",
                         c->replicas);
    return 0;
}

const char *cluster_role_name(enum cluster_role role)
{
    return ROLES[role];
}

/* ---- figures ---- */

#define ROW(member) FIELD(struct cluster_stats, member)
#define OF(which) FIGURE_WHEN(struct cluster_stats, role), .when_is = (which)

const struct figure cluster_figures[] = {
    {NULL, "node", FIGURE_GAUGE, NULL, ROW(node)},
    {"abrd_bus_up", "connected", FIGURE_GAUGE, "1 while the bus answers.",
     ROW(connected)},
    {NULL, "learner", FIGURE_GAUGE, NULL, ROW(learner)},
    {"abrd_learner_leading", "leading", FIGURE_GAUGE,
     "1 on the learner that leads, 0 on a standby learner.", ROW(leading),
     OF(ROLE_LEARN)},
    {"abrd_learner_term", "term", FIGURE_GAUGE, "Number of the leader's term, from 1.",
     ROW(term)},
    {"abrd_learner_silent_seconds", "learner_silent_s", FIGURE_GAUGE,
     "Seconds since the last heartbeat of the leader, which sends one a second.",
     ROW(learner_silent_s), .flags = FIGURE_ROUNDED},
    {"abrd_weights_delay_seconds", "weights_delay_s", FIGURE_GAUGE,
     "Seconds from the publication of the last weights to their arrival here.",
     ROW(weights_delay_s), .flags = FIGURE_ROUNDED},
    {"abrd_weights_refused_total", "weights_refused", FIGURE_COUNTER,
     "Published weights that were damaged, of another shape or of a newer format.",
     ROW(weights_refused)},
    {"abrd_grown_wanted", "grown_wanted", FIGURE_GAUGE,
     "Profiles of the cluster that should have added experts.", ROW(added_wanted)},
    {"abrd_grown_refused_total", "grown_refused", FIGURE_COUNTER,
     "Published added experts that were damaged, of another shape, of a newer format or "
     "too "
     "many.",
     ROW(added_refused), OF(ROLE_DECIDE)},
    {"abrd_outbox_waiting", "buffered", FIGURE_GAUGE,
     "Trajectories that were not sent to the bus yet.", ROW(buffered), OF(ROLE_DECIDE)},
    {"abrd_outbox_unconfirmed", "unconfirmed", FIGURE_GAUGE,
     "Trajectories on the bus that are kept until the learner confirms them.",
     ROW(unconfirmed), OF(ROLE_DECIDE)},
    {"abrd_outbox_resent_total", "resent", FIGURE_COUNTER,
     "Trajectories sent again because the bus lost them.", ROW(resent), OF(ROLE_DECIDE)},
    {"abrd_outbox_let_go_total", "let_go", FIGURE_COUNTER,
     "Trajectories on the bus that were released before the learner confirmed them.",
     ROW(let_go), OF(ROLE_DECIDE)},
    {"abrd_outbox_dropped_total", "dropped", FIGURE_COUNTER,
     "Trajectories dropped because too many waited (--bus-buffer).", ROW(dropped),
     OF(ROLE_DECIDE)},
    {"abrd_outbox_refused_total", "refused", FIGURE_COUNTER,
     "Attempts that the bus refused or did not answer; they are repeated.", ROW(refused),
     OF(ROLE_DECIDE)},
    {NULL, "trouble", FIGURE_GAUGE, NULL, ROW(trouble)},
    {"abrd_outbox_size", NULL, FIGURE_GAUGE,
     "Largest number of trajectories that are kept (--bus-buffer).", ROW(buffer),
     OF(ROLE_DECIDE)},
    {"abrd_outbox_published_total", NULL, FIGURE_COUNTER,
     "Trajectories that the bus acknowledged.", ROW(published), OF(ROLE_DECIDE)},
    {"abrd_outbox_repeated_total", NULL, FIGURE_COUNTER,
     "Trajectories that the bus already had, sent again with another id.", ROW(repeated),
     OF(ROLE_DECIDE)},
    {"abrd_outbox_full_total", NULL, FIGURE_COUNTER,
     "Refused attempts because the stream was full (--bus-stream-mb).", ROW(full),
     OF(ROLE_DECIDE)},
    {"abrd_bus_connects_total", NULL, FIGURE_COUNTER, "Connections made to the bus.",
     ROW(reconnects)},
    {"abrd_weights_taken_total", NULL, FIGURE_COUNTER,
     "Published weights that this node installed.", ROW(weights_taken)},
    {"abrd_weights_delay_max_seconds", NULL, FIGURE_GAUGE,
     "Longest delay from publication to arrival so far.", ROW(weights_delay_max_s)},
    {"abrd_grown_taken_total", NULL, FIGURE_COUNTER,
     "Published added experts that this node installed.", ROW(added_taken),
     OF(ROLE_DECIDE)},
    {"abrd_ledger_counted_total", NULL, FIGURE_COUNTER,
     "Trajectories taken from the stream.", ROW(counted), OF(ROLE_LEARN)},
    {"abrd_ledger_repeated_total", NULL, FIGURE_COUNTER,
     "Duplicate trajectories that were skipped.", ROW(again), OF(ROLE_LEARN)},
    {"abrd_ledger_missing", NULL, FIGURE_GAUGE,
     "Trajectories that nodes numbered and that never arrived.", ROW(missing),
     OF(ROLE_LEARN)},
    {"abrd_ledger_makers", NULL, FIGURE_GAUGE, "Nodes that sent trajectories.",
     ROW(makers), OF(ROLE_LEARN)},
    {"abrd_ledger_position", NULL, FIGURE_GAUGE,
     "Position in the stream up to which all was read.", ROW(position), OF(ROLE_LEARN)},
    {"abrd_stream_damaged_total", NULL, FIGURE_COUNTER,
     "Messages of the stream that were not trajectories.", ROW(damaged), OF(ROLE_LEARN)},
    {"abrd_stream_skipped_total", NULL, FIGURE_COUNTER,
     "Messages that the stream deleted before they were read.", ROW(skipped),
     OF(ROLE_LEARN)},
    {0}};
