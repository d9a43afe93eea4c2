#include "serve/cluster/cluster_cfg.h"

#include <string.h>

static const char *const ROLES[] = {"standalone", "decide", "learn", NULL};

const struct field cluster_fields[] = {
    {"role", "ROLE",
     "standalone decides and learns; decide answers players of a cluster; learn learns "
     "for it",
     FIELD(struct cluster_cfg, role), .words = ROLES, .group = "cluster"},
    {"bus", "URL",
     "NATS servers that the nodes of a cluster share: nats://host:port, several between "
     "commas",
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
    {"bus-buffer", "N", "trajectories that a node keeps while the bus is away, at most",
     FIELD(struct cluster_cfg, buffer), .lo = 1, .hi = CLUSTER_BUFFER_MAX,
     .flags = FIELD_ADVANCED},
    {"bus-stream-mb", "MB",
     "trajectories that wait on the bus for a learner, at most, in MB",
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
