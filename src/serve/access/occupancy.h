/* occupancy.h - how many of something each client address holds now, and whether it may have one more.
 *
 * One of these for each table that all clients share: connections, event streams, transfers from
 * origins, viewers of the demo, long answers, histories. So one address cannot fill the table while others wait. IPv6 addresses count by
 * their /64 (addr_subscriber). Memory is fixed: room for `capacity` holders. An address without
 * room is refused; that cannot happen if the table itself has no more places.
 *
 * Threads: locked inside (one leaf mutex). No allocation after occupancy_new. */
#ifndef SERVE_OCCUPANCY_H
#define SERVE_OCCUPANCY_H

#include "serve/access/addr.h"

#include <stdbool.h>
#include <stdint.h>

struct occupancy;

/* seed: secret, so that nobody can choose addresses that collide. ERR_MEMORY. */
struct occupancy *occupancy_new(int capacity, uint64_t seed, struct err *e);
void occupancy_free(struct occupancy *t);

/* One more, if the address holds fewer than `most`; false and counted as refused if not. */
bool occupancy_take(struct occupancy *t, const struct addr *who, int most)
    __attribute__((warn_unused_result));
/* The same for something that counts as `amount`: that many more, if the address then holds at most
 * `most`. An address that holds nothing gets it in any case. */
bool occupancy_take_amount(struct occupancy *t, const struct addr *who, int amount,
                           int most) __attribute__((warn_unused_result));
/* One less; every successful occupancy_take is paired with one. */
void occupancy_give(struct occupancy *t, const struct addr *who);
void occupancy_give_amount(struct occupancy *t, const struct addr *who, int amount);
int occupancy_held(struct occupancy *t, const struct addr *who);
/* The refusals since the start. */
uint64_t occupancy_refused(const struct occupancy *t);

#endif
