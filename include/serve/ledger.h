/* ledger.h - which trajectories were counted: every one once, however often it arrives.
 *
 * A maker (a decision node) numbers its trajectories 1, 2, 3 ... and sends number n only when all
 * up to n - LEDGER_WINDOW are in the stream (outbox.h). So of each maker the highest number and
 * one bit for each of the LEDGER_WINDOW up to it tell whether a number is new: what lies below
 * them has been seen. Stream and messages may then repeat at will: a node that was not sure whether
 * its message arrived, a server that forgot which ones it had.
 *
 * `position` is the place in the stream up to which this is so. The ledger is part of the learner's
 * state: both are of the same moment, and a learner that goes on from that state reads the stream
 * from there. So what one learned and did not publish is learned again by the next, and nothing else
 * is.
 *
 * Makers that were silent longest are forgotten when there are more than the ledger holds.
 *
 * State: little-endian, the counts included.
 * Errors: ERR_CORRUPT a state that cannot be. Threads: not shared. No allocation after ledger_new. */
#ifndef SERVE_LEDGER_H
#define SERVE_LEDGER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_WINDOW 256
#define LEDGER_MAKERS 4096

struct ledger;

struct ledger_stats {
    uint64_t counted, repeated; /* trajectories that were new, and that were not */
    uint64_t missing; /* numbers below a maker's highest that have not come (yet) */
    int makers;
};

struct ledger *ledger_new(struct err *e);
void ledger_free(struct ledger *l);
void ledger_clear(struct ledger *l);

/* Is it new? Then it is counted. */
bool ledger_take(struct ledger *l, uint64_t maker, uint64_t number);

void ledger_advance(struct ledger *l, uint64_t position);
uint64_t ledger_position(const struct ledger *l);
void ledger_stats(struct ledger_stats *out, const struct ledger *l);

size_t ledger_state_size(const struct ledger *l);
void ledger_state_get(const struct ledger *l, void *out);
/* On failure the ledger is empty. */
int ledger_state_put(struct ledger *l, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
