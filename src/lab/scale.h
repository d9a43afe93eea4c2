/* scale.h - the lab `scale`: what a cluster costs as it grows, and which limit it reaches first.
 *
 * A node answers `rate` decisions per second; a viewer asks once per chunk. A share `explore` of the
 * viewers is sampled, and their steps reach the learner. With N nodes:
 *
 *   viewers     V = N rate chunk_s
 *   steps       S = N rate explore                    [1/s]
 *   stream      S step_bytes                          [bytes/s] in, to each server with a replica
 *   learner     S learn_us 10^-6                      [processors], of which it has one
 *   updates     U = S / batch                         [1/s]
 *   weights     U weights_bytes (N + 1)               [bytes/s] out, and state_bytes U in
 *
 * All of it is linear in N except the weights, which are published more often and to more nodes: N^2.
 * The first limit is the learner (`load` of a processor) or the network (`net_mb`), whichever needs
 * fewer nodes. Beyond it:
 *
 *   sampling    a lower explore keeps the learner at `load`; steps, stream and updates stop growing,
 *               and weights grow as N from there
 *   sharding    K = ceil(S learn_us 10^-6 / load) learners, each on its part of the stream, average
 *               gradients after every minibatch: 2 (K - 1) / K gradient_bytes each per minibatch
 *               (ring all-reduce)
 *
 * The unit costs are options; `make cluster` measured their defaults. Nothing is simulated here: it is
 * arithmetic. The checks fail if not even three nodes fit. Threads: pure function; see lab.h. */
#ifndef LAB_SCALE_H
#define LAB_SCALE_H

#include "lab/lab.h"

struct scale_units {
    double rate, chunk_s, explore; /* of a node, of a viewer */
    double decide_us, learn_us;    /* CPU of a decision, of a learned step */
    double step_bytes, weights_bytes, state_bytes, gradient_bytes;
    double batch, minibatches; /* steps of an update; minibatches in it, all epochs */
    double load;               /* share of a processor that may be used */
    double net_mb;             /* MB/s that a NATS server passes on */
};

struct scale_point {
    double nodes, viewers, steps, updates; /* the last two per second */
    double decide_cpus, learn_cpus;
    double stream_mb, weights_mb, state_mb; /* per second */
    /* beyond one learner */
    double explore; /* the share that gives the learner `load`, at most the given one */
    double sampled_weights_mb;    /* per second, with that share */
    double learners, gradient_mb; /* sharded: how many, and what each sends per second */
};

struct scale_point scale_at(const struct scale_units *u, double nodes);
/* Nodes at which the learner is full, and at which the network is. */
double scale_learner_full(const struct scale_units *u);
double scale_network_full(const struct scale_units *u);

extern const struct lab scale_lab;

#endif
