/* trial_wire.h - what the nodes of a cluster share of a trial, as bytes and back.
 *
 *   trial                    plan, phase, stopped arms, key of the assignment, and the nodes that count
 *   trial.ID.MAKER           what one node counted: sums of its sessions, as compare_merge adds them
 *   trial.ID.MAKER.units.I   hashes of the viewers that this node counted, TRIAL_WIRE_UNITS in each value
 *
 * ID is a random number of the trial. Only the node that is named writes the last two.
 *
 * Errors: those of shared_value.h. Threads: pure functions. */
#ifndef SERVE_TRIAL_WIRE_H
#define SERVE_TRIAL_WIRE_H

#include "serve/cluster/shared_value.h"
#include "serve/trial/trial_run.h"

#define TRIAL_WIRE_UNITS 8192

struct trial_wire_units {
    int n;
    uint64_t unit[TRIAL_WIRE_UNITS];
};

extern const struct shared_value_kind trial_wire_common_kind; /* struct trial_common */
/* struct trial_tally and trial_wire_units; keys: below */
extern const struct shared_value_kind trial_wire_tally_kind, trial_wire_units_kind;

void trial_wire_tally_key(char out[SHARED_VALUE_KEY], uint64_t id, uint64_t maker);
void trial_wire_units_key(char out[SHARED_VALUE_KEY], uint64_t id, uint64_t maker, int i);

#endif
