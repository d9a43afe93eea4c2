/* envelope.h - the envelope of everything that travels between processes: kind, form and checksum.
 *
 *   0  8  "abrd-bus"
 *   8  2  kind (enum envelope_kind)
 *  10  2  form of the body
 *  12  4  CRC-32 of the body
 *  16  8  bytes of the body
 *  24     the body
 *
 * Little-endian. A body whose meaning changes gets the next form number. A reader refuses forms that
 * are newer than it knows, so two versions can run in one cluster. Upgrade the learners first, then the
 * nodes; README.md says why.
 *
 * Errors: ERR_CORRUPT damaged or cut, ERR_INVALID another kind, ERR_RANGE a newer form.
 * Threads: pure functions. */
#ifndef SERVE_ENVELOPE_H
#define SERVE_ENVELOPE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define ENVELOPE_HEAD 24

enum envelope_kind {
    ENVELOPE_TRAJ = 1,  /* one closed trajectory (bus_wire.h) */
    ENVELOPE_WEIGHTS,   /* a published policy */
    ENVELOPE_COMMON,    /* profiles and settings of the whole cluster */
    ENVELOPE_HEARTBEAT, /* the leader */
    ENVELOPE_STATE,     /* a piece of the learner's state */
    ENVELOPE_SLOTS,     /* results of the merge's slots (slot_log.h) */
    ENVELOPE_ADDED,     /* the list of added profiles (added_wire.h) */
    ENVELOPE_GROWTH,    /* a piece of one profile's experts */
    ENVELOPE_TRIAL,     /* the trial of all nodes (serve/trial/trial_wire.h) */
    ENVELOPE_TALLY,     /* what one node counted in it */
    ENVELOPE_UNITS,     /* hashes of the viewers that it counted */
    ENVELOPE_KINDS,
};

/* "published weights". */
const char *envelope_name(enum envelope_kind kind);

/* Writes the head in front of the body of n bytes at out + ENVELOPE_HEAD; returns the size of both. */
size_t envelope_seal(void *out, enum envelope_kind kind, int form, size_t n);

/* The body within bytes (borrowed), when it is of this kind and of form 1 .. newest. */
int envelope_open(const void **body, size_t *n, int *form, const void *bytes, size_t size,
                  enum envelope_kind kind, int newest, struct err *e)
    __attribute__((warn_unused_result));

#endif
