/* disk.h - a store in memory: what SQLite does, said once more and plainly; with faults.
 *
 * The rules are those of store.h and of the statements in store_sqlite.c: the highest revision of a
 * step stays, a session changes what may change, a version is kept as it came first. What
 * write returns 0 for is durable; a write that fails changes nothing.
 *
 * It outlives the service: disk_store gives a struct store whose free does nothing. With
 * `inner` it is the same shell around a real store: faults, counts and the moment in between
 * are the shell's, the rows are the inner one's. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "serve/store/store.h"
#include "sim/sim.h"

struct disk_session {
    struct track_row row;
    struct step *step; /* (n) by ord, owned */
    int n, cap;
};

struct disk {
    struct disk_session *session; /* (n) owned */
    int n, cap;
    struct store_version version[256]; /* ascending */
    int versions;
    struct profile profile[64];
    int profiles;
    uint64_t written; /* records ever, durable */
    double pruned;    /* the latest bound of all prunings */
    uint64_t failures;

    struct store inner; /* self NULL: the rows above */

    /* faults */
    int fail_writes; /* so many fail from now on; -1: until it is set again */
    int fail_reads;  /* of those at a start */
    /* while a transaction is under way, before it is durable; borrowed */
    void (*meanwhile)(void *ctx);
    void *ctx;
    enum sim_break broken;
    bool broke; /* what is broken once has been */
};

void disk_init(struct disk *d);
void disk_release(struct disk *d);
/* As it is now; the copy is released by its owner. Not of an inner store. */
void disk_copy(struct disk *to, const struct disk *from);
struct store disk_store(struct disk *d);

#endif
