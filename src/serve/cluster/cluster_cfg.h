/* cluster_cfg.h - the part that this process has among others: the settings, and what to watch.
 *
 *   standalone  decides and learns; there is no bus
 *   decide      answers players, sends closed trajectories, takes over the weights that are published
 *   learn       learns from what the others send and publishes; of several one does, and the others
 *               stand by
 *
 * Threads: plain data, pure functions. */
#ifndef SERVE_CLUSTER_CFG_H
#define SERVE_CLUSTER_CFG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum cluster_role { ROLE_STANDALONE, ROLE_DECIDE, ROLE_LEARN };

#define CLUSTER_NAME 64
#define CLUSTER_BUFFER_MAX (1 << 20) /* trajectories */
#define CLUSTER_HEARTBEAT_S 1.0      /* a learner says so often that it is there ... */
#define CLUSTER_TAKE_S \
    3.0 /* ... and is followed by another when it did not for so long */
#define CLUSTER_STUCK_S \
    60.0 /* a learner whose thread made no progress for so long says it no more */

struct cluster_cfg {
    enum cluster_role role;
    const char *url;   /* nats://host:port, several between commas; borrowed */
    const char *creds; /* file, NULL: none; borrowed */
    const char *name;  /* "abrd": stream, bucket and subjects begin with it; borrowed */
    char node[CLUSTER_NAME]; /* "": host name and process */
    int number;       /* 1 .. 255: ids of sessions begin with it, in hexadecimal, so
                              * that a balancer knows the node; 0: they tell nothing */
    int replicas;     /* 1, 3 or 5 servers keep what is on the bus */
    int buffer;       /* trajectories that are kept for the bus at most */
    double stream_mb; /* and on it, for the learner */
};

/* standalone, "abrd", 1 replica, 2048, 256 MB. */
struct cluster_cfg cluster_cfg_default(void);
/* ERR_RANGE, ERR_INVALID; fields as the options of `abrd serve` are named. */
int cluster_cfg_check(const struct cluster_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* "standalone", "decide", "learn" and back (ERR_INVALID). */
const char *cluster_role_name(enum cluster_role role);
int cluster_role_parse(enum cluster_role *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

struct cluster_stats {
    enum cluster_role role; /* of a standalone one nothing more is filled in */
    char node[CLUSTER_NAME];
    bool connected, leading;
    char learner[CLUSTER_NAME]; /* who learns, "" = nobody known */
    double learner_silent_s;    /* since it was heard last; by this node's clock */
    uint64_t term, reconnects;
    uint64_t weights_taken, weights_refused;
    int added_wanted; /* profiles that are to grow, on all nodes */
    uint64_t added_taken, added_refused;
    double weights_delay_s, weights_delay_max_s; /* from their publication to this node */
    /* what is sent */
    uint64_t published, repeated, refused, full, dropped, resent, let_go;
    int buffered, unconfirmed, buffer;
    /* what is learned from */
    uint64_t counted, again, missing, damaged, skipped, position;
    int makers;
    char trouble[128]; /* the last failure, "" when all is well */
};

#endif
