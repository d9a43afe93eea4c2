/* viewer.h - keyed hashes of viewers, the only trace of a viewer's name in the store.
 *
 * A player may name its viewer. The name is hashed with the daemon's secret (SipHash-2-4, 64 bits) and
 * not kept. So a session can be found by the name of its viewer, for a trial and to delete it. A name
 * can be found from the store only by trying names, with the secret.
 *
 *   viewer_hash   of all sessions of a viewer
 *   viewer_unit   of a viewer within one trial: what is assigned to an arm. Without a viewer it is of
 *                 one session, by its key. Bit VIEWER_NAMED tells the two apart
 *
 * Threads: pure functions. */
#ifndef SERVE_VIEWER_H
#define SERVE_VIEWER_H

#include "base/siphash.h"

#include <stdint.h>

#define VIEWER_NAMED 1u

/* viewer and trial: at most SERVICE_VIEWER and SERVICE_TRIAL bytes. "": unknown. */
uint64_t viewer_unit(const uint8_t key[SIPHASH_KEY], const char *trial,
                     const char *viewer, uint64_t session);

/* 0: viewer is "". */
uint64_t viewer_hash(const uint8_t key[SIPHASH_KEY], const char *viewer);

#endif
