/* cluster.h - the service as one process of a cluster: all that the rest of the daemon calls.
 *
 * With a role (cluster_cfg.h) the service has a struct cluster: NATS, the shared values, the outbox of
 * a node or the de-duplication and the lead of a learner. A standalone daemon has none, and calls none
 * of these functions but cluster_open.
 *
 * A call that waits for NATS holds no lock. Taking over common settings holds profiles_lock
 * (service_priv.h), never across NATS.
 *
 * Errors: ERR_IO the bus does not answer, ERR_CONFLICT other processes were always faster, and those
 * of the configuration. Threads: cluster_turn and cluster_announce the learner's thread;
 * cluster_heartbeat a thread of its own; open, start, drain and close the service's; the rest any. */
#ifndef SERVE_CLUSTER_H
#define SERVE_CLUSTER_H

#include "serve/cluster/cluster_cfg.h"
#include "serve/session/service.h"

#include <stdbool.h>

struct cluster;

/* Once the store is open: connects, and makes the bus of this role. */
int cluster_open(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Once policy, learner, added experts and hintless viewers are there. */
int cluster_start(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* What was closed gets some time to leave; another learner may lead at once. Stops the threads. */
void cluster_drain(struct service *s);
/* Once the learner is freed, while the store is open. */
void cluster_close(struct service *s);

/* One turn of the thread that reads the shared values and learns; waits wait_s when idle. */
void cluster_turn(struct service *s, double wait_s);
/* Ends the wait of a turn. */
void cluster_wake(struct service *s);
/* Writes the leader's heartbeat when it is due; false: this role has none. */
bool cluster_heartbeat(struct service *s);
/* Once a second: the store need not keep what has arrived. */
void cluster_tick(struct service *s);
/* The configuration has changed: the leader publishes its common settings. */
void cluster_reload(struct service *s);
/* As learner_cfg.announce: publishes a new version of the policy. */
int cluster_announce(struct service *s, const struct policy *p, double score,
                     struct err *e);

/* As service_profile_put and _delete, on all nodes. */
int cluster_profile_put(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int cluster_profile_delete(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Is this profile to have experts of its own? */
bool cluster_profile_added(struct service *s, const char *name);

void cluster_stats(struct cluster_stats *out, struct service *s);

#endif
