/* occupancy.h - counts what each client address holds of a shared table, and limits it.
 *
 * One struct for each table that all clients share: connections, event streams, transfers from
 * origins, viewers of the demo, long answers, histories. So one address cannot fill the table while
 * other addresses wait. IPv6 addresses count by their /64 (addr_subscriber). Memory is fixed: room for
 * `capacity` addresses. One more address is refused; that cannot happen if the table itself has no more
 * places than that.
 *
 * Threads: locked inside (one leaf mutex). No allocation after occupancy_new. */
#ifndef SERVE_OCCUPANCY_H
#define SERVE_OCCUPANCY_H

#include "serve/access/addr.h"

#include <stdbool.h>
#include <stdint.h>

struct occupancy;

/* seed: secret, so that no client can choose addresses that collide. ERR_MEMORY. */
struct occupancy *occupancy_new(int capacity, uint64_t seed, struct err *e);
void occupancy_free(struct occupancy *t);

/* Takes one if the address holds fewer than `most`; else false, counted as refused. */
bool occupancy_take(struct occupancy *t, const struct addr *who, int most)
    __attribute__((warn_unused_result));
/* Takes `amount` if the address then holds at most `most`, or if it holds nothing. */
bool occupancy_take_amount(struct occupancy *t, const struct addr *who, int amount,
                           int most) __attribute__((warn_unused_result));
/* Returns one; pair every successful occupancy_take with one call. */
void occupancy_give(struct occupancy *t, const struct addr *who);
void occupancy_give_amount(struct occupancy *t, const struct addr *who, int amount);
int occupancy_held(struct occupancy *t, const struct addr *who);
/* Refusals since the start. */
uint64_t occupancy_refused(const struct occupancy *t);

#endif
