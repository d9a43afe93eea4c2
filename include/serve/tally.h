/* tally.h - how many of something each client address holds now, and whether it may have one more.
 *
 * One tally for each table that all clients share: connections, event streams, transfers from
 * origins. So one address cannot fill the table while others wait. IPv6 addresses count by
 * their /64 (addr_subscriber). Memory is fixed: room for `capacity` holders. An address without
 * room is refused; that cannot happen if the table itself has no more places.
 *
 * Threads: locked inside (one leaf mutex). No allocation after tally_new. */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

#include "serve/addr.h"

#include <stdbool.h>
#include <stdint.h>

struct tally;

/* seed: secret, so that nobody can choose addresses that collide. ERR_MEMORY. */
struct tally *tally_new(int capacity, uint64_t seed, struct err *e);
void tally_free(struct tally *t);

/* One more, if the address holds fewer than `most`; false and counted as refused if not. */
bool tally_take(struct tally *t, const struct addr *who, int most)
    __attribute__((warn_unused_result));
/* One less; every successful tally_take is paired with one. */
void tally_give(struct tally *t, const struct addr *who);
int tally_held(struct tally *t, const struct addr *who);
/* The refusals since the start. */
uint64_t tally_refused(const struct tally *t);

#endif
