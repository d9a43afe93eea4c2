/* parcel.h - the envelope of everything that travels between nodes: what it is, in which form,
 * and whether it arrived whole.
 *
 *   0  8  "abrd-bus"
 *   8  2  kind (enum parcel_kind)
 *  10  2  form of the body
 *  12  4  CRC-32 of the body
 *  16  8  bytes of the body
 *  24     the body
 *
 * Little-endian. A body whose meaning changes gets the next form number; a reader names the newest
 * form that it knows and refuses later ones in plain words, so that nodes of two versions can run
 * side by side: upgrade the nodes first, the learner last.
 *
 * Errors: ERR_CORRUPT damaged or cut, ERR_INVALID something else, ERR_RANGE a newer form.
 * Threads: pure functions. */
#ifndef SERVE_PARCEL_H
#define SERVE_PARCEL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define PARCEL_HEAD 24

enum parcel_kind {
    PARCEL_TRAJ = 1, /* one closed trajectory (bus_wire.h) */
    PARCEL_WEIGHTS,  /* a published policy */
    PARCEL_COMMON,   /* profiles and settings that are equal everywhere */
    PARCEL_BEAT,     /* who learns */
    PARCEL_STATE,    /* a piece of the learner's state */
    PARCEL_SLOTS,    /* what slots of the merge have earned (slot_log.h) */
    PARCEL_GROWN,    /* which profiles grow (grown_wire.h) */
    PARCEL_GROWTH,   /* a piece of what one of them has */
    PARCEL_KINDS,
};

/* Writes the head in front of the body of n bytes at out + PARCEL_HEAD; returns the size of both. */
size_t parcel_seal(void *out, enum parcel_kind kind, int form, size_t n);

/* The body within bytes (borrowed), when it is of this kind and of form 1 .. newest. */
int parcel_open(const void **body, size_t *n, int *form, const void *bytes, size_t size,
                enum parcel_kind kind, int newest, struct err *e)
    __attribute__((warn_unused_result));

#endif
