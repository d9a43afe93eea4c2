/* networks.h - how fast the links of each network are at the start of a session.
 *
 * A network is a prefix of addresses (access/addr.h: addr_network), here a number. It has a histogram of
 * the throughputs of first chunks. Its bins have equal steps of the logarithm between VIEW_KBPS_MIN and
 * VIEW_KBPS_MAX.
 *
 *   networks_start_kbps   the lower edge of the bin with the 10th percentile: of this network after
 *                         NETWORKS_ENOUGH chunks, else of all networks after NETWORKS_ALL_ENOUGH, else 0
 *
 * A client can report a false throughput. So an address counts only while it has at most NETWORKS_FREE
 * chunks, or a quarter of its network's. A network counts in the histogram of all networks only while it
 * has at most NETWORKS_ALL_FREE chunks there, or a tenth. Each network counts addresses in 32 buckets, and
 * the addresses in one bucket share its part. At NETWORKS_HALVE chunks all counts of a histogram are
 * halved, so old chunks lose weight.
 *
 * Memory: 4096 networks in 1.1 MB, reserved at the start. A new network replaces the one that was used
 * least recently. Nothing is stored: a restart starts over. Each node of a cluster has its own.
 *
 * Errors: ERR_MEMORY.
 * Threads: locked inside, a leaf. No allocation after _new. */
#ifndef SERVE_NETWORKS_H
#define SERVE_NETWORKS_H

#include "base/err.h"

#include <stdint.h>

#define NETWORKS_MAX 4096
#define NETWORKS_BINS 64
#define NETWORKS_ENOUGH 20
#define NETWORKS_ALL_ENOUGH 50
#define NETWORKS_FREE 4
#define NETWORKS_ALL_FREE 5
#define NETWORKS_HALVE 1024

struct networks;

/* The network of a client whose session has the label `network`. Links of one prefix that have other
 * labels (wifi, cellular) are other networks, at most NETWORKS_LABELS of them: so one client cannot
 * replace all networks in the table. "": no label, the same network. */
#define NETWORKS_LABELS 64
uint64_t networks_labelled(uint64_t network, const char *label);

/* max: networks, 1 .. NETWORKS_MAX. seed: of the table's hash. */
struct networks *networks_new(int max, uint64_t seed, struct err *e);
void networks_free(struct networks *n);

/* The first chunk of a session from this network and address had kbps. network 0: unknown, ignored. */
void networks_first_chunk(struct networks *n, uint64_t network, uint64_t from,
                          double kbps);

/* The rate that nine in ten sessions of this network begin with, at least [kbit/s]; 0: not known. */
double networks_start_kbps(struct networks *n, uint64_t network);

int networks_count(struct networks *n);

#endif
