/* cluster_cfg.h - the role of this process in a cluster, its settings and its figures.
 *
 *   standalone  decides and learns; there is no bus
 *   decide      answers players, sends closed trajectories, uses the weights that are published
 *   learn       learns from the trajectories of all nodes and publishes; one leads, others stand by
 *
 * Threads: plain data, pure functions. */
#ifndef SERVE_CLUSTER_CFG_H
#define SERVE_CLUSTER_CFG_H

#include "base/field.h"
#include "serve/metrics/figure.h"

#include <stdbool.h>
#include <stdint.h>

enum cluster_role { ROLE_STANDALONE, ROLE_DECIDE, ROLE_LEARN };

#define CLUSTER_NAME 64
#define CLUSTER_BUFFER_MAX (1 << 20) /* trajectories */
#define CLUSTER_HEARTBEAT_S 1.0      /* between two heartbeats of the leader */
#define CLUSTER_TAKE_S 3.0           /* without a heartbeat: another learner takes over */
#define CLUSTER_STUCK_S 60.0 /* without a turn of the learner: no heartbeat any more */

struct cluster_cfg {
    enum cluster_role role;
    const char *url;         /* nats://host:port, several with commas; borrowed */
    const char *creds;       /* file, NULL: none; borrowed */
    const char *name;        /* prefix of stream, bucket and subjects; borrowed */
    char node[CLUSTER_NAME]; /* "": host name and process */
    int number;   /* 1 .. 255: session ids begin with it, in hexadecimal, for a balancer;
                       * 0: they do not */
    int replicas; /* servers that keep stream and bucket: 1, 3 or 5 */
    int buffer;   /* trajectories that a node keeps for the bus at most */
    double stream_mb; /* and that the stream keeps for the learner */
};

/* standalone, "abrd", 1 replica, 2048, 256 MB. */
struct cluster_cfg cluster_cfg_default(void);
extern const struct field cluster_fields[];
/* ERR_RANGE, ERR_INVALID; fields are named as the options of `abrd serve`. */
int cluster_cfg_check(const struct cluster_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* "standalone", "decide", "learn". */
const char *cluster_role_name(enum cluster_role role);

struct cluster_stats {
    enum cluster_role role; /* standalone: nothing else is set */
    char node[CLUSTER_NAME];
    bool connected, leading;
    char learner[CLUSTER_NAME]; /* the leader, "": not known */
    double learner_silent_s;    /* since its last heartbeat, by this node's clock */
    uint64_t term, reconnects;
    uint64_t weights_taken, weights_refused;
    int added_wanted; /* added profiles of the cluster */
    uint64_t added_taken, added_refused;
    double weights_delay_s, weights_delay_max_s; /* from publication to this node */
    /* a node: trajectories that it sends */
    uint64_t published, repeated, refused, full, dropped, resent, let_go;
    int buffered, unconfirmed, buffer;
    /* a learner: trajectories that it reads */
    uint64_t counted, again, missing, damaged, skipped, position;
    int makers;
    char trouble[128]; /* the last failure, "" when there is none */
};

/* For /metrics and JSON, of a node with a role. */
extern const struct figure cluster_figures[];

#endif
