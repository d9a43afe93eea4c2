#include "serve/cluster/cluster_cfg.h"

#include <string.h>

static const char *const ROLE[] = {"standalone", "decide", "learn"};

struct cluster_cfg cluster_cfg_default(void)
{
    return (struct cluster_cfg){
        .name = "abrd", .replicas = 1, .buffer = 2048, .stream_mb = 256};
}

int cluster_cfg_check(const struct cluster_cfg *c, struct err *e)
{
    if (c->number < 0 || c->number > 255)
        return err_field(e, ERR_RANGE, "node-number", "%d is not within 0 .. 255",
                         c->number);
    if (c->role == ROLE_STANDALONE)
        return c->url
                   ? err_field(e, ERR_INVALID, "bus",
                               "only a daemon with a role has one: give --role as well")
                   : 0;
    if (!c->url)
        return err_field(e, ERR_INVALID, "bus", "a role needs --bus nats://host:port");
    size_t n = strlen(c->name);
    if (n < 1 || n > 32 || strspn(c->name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n)
        return err_field(e, ERR_INVALID, "bus-name", "has 1 .. 32 of a-z, 0-9, '_', '-'");
    if (c->replicas != 1 && c->replicas != 3 && c->replicas != 5)
        return err_field(e, ERR_RANGE, "bus-replicas", "must be 1, 3 or 5, not %d",
                         c->replicas);
    if (c->buffer < 1 || c->buffer > CLUSTER_BUFFER_MAX)
        return err_field(e, ERR_RANGE, "bus-buffer", "%d is not within 1 .. %d",
                         c->buffer, CLUSTER_BUFFER_MAX);
    if (!(c->stream_mb >= .001 && c->stream_mb <= 1e6))
        return err_field(e, ERR_RANGE, "bus-stream-mb", "%g is not within 0.001 .. 1e6",
                         c->stream_mb);
    return 0;
}

const char *cluster_role_name(enum cluster_role role)
{
    return ROLE[role];
}

int cluster_role_parse(enum cluster_role *out, const char *name, struct err *e)
{
    for (int i = 0; i <= ROLE_LEARN; i++)
        if (strcmp(name, ROLE[i]) == 0) {
            *out = (enum cluster_role)i;
            return 0;
        }
    return err_set(e, ERR_INVALID, "must be standalone, decide or learn, not '%.40s'",
                   name);
}
