/* bus_local.h - the bus inside one process: a bounded ring under a lock.
 *
 * A slot has room for the longest trajectory; only the used part is copied.
 * Threads: as bus.h. No allocation after bus_local_init. */
#ifndef SERVE_BUS_LOCAL_H
#define SERVE_BUS_LOCAL_H

#include "base/err.h"
#include "serve/learner/bus.h"

int bus_local_init(struct bus *out, int slots, struct err *e)
    __attribute__((warn_unused_result));

#endif
