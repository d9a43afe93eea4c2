/* outbox.h - closed trajectories of this node until the stream has them.
 *
 * Each gets the next number (1, 2, ... for as long as the node's store lives) and waits as bytes
 * (bus_wire.h) in one of a fixed number of slots. With a store it is first written there, in the
 * transaction of the step that closed it, and sent only then: a node that is killed sends after its
 * start what it had not seen acknowledged. Without one it is sent at once, and a kill loses it.
 *
 * Number n is sent when all up to n - LEDGER_WINDOW were acknowledged, so that the learner can tell
 * repeats from news (ledger.h). What was refused or not answered is sent again. When no slot is
 * free the trajectory is dropped and counted: nobody waits.
 *
 * Errors: ERR_MEMORY; ERR_CORRUPT rows that cannot be.
 * Threads: locked inside, a leaf. outbox_put allocates nothing. What outbox_next gives out stays
 * where it is until it is acknowledged; one thread asks for it. */
#ifndef SERVE_OUTBOX_H
#define SERVE_OUTBOX_H

#include "serve/bus.h"

struct outbox;

/* stored: outbox_stored will be told when a trajectory is safe. */
struct outbox *outbox_new(int slots, uint64_t maker, bool stored, struct err *e);
void outbox_free(struct outbox *o);

/* false: dropped. parcel: what the store has to keep; borrowed until it was acknowledged. */
bool outbox_put(struct outbox *o, const struct traj *t, struct bus_parcel *parcel);
void outbox_stored(struct outbox *o, uint64_t number);
/* Before anything is put: what the store kept, in the order of numbers. The last number ever given
 * comes last, without bytes when it was acknowledged. */
int outbox_restore(struct outbox *o, const struct bus_parcel *parcel, struct err *e)
    __attribute__((warn_unused_result));

/* The next one to send; false: none before `wait_s` were over or outbox_wake was called. */
bool outbox_next(struct outbox *o, struct bus_parcel *out, double wait_s);
void outbox_wake(struct outbox *o);
void outbox_acked(struct outbox *o, uint64_t number);
/* The stream says that it had this id before. That may have been a message which its leader never
 * finished storing, so this is no acknowledgement: again, under another id. Should both be there, the
 * ledger counts one. */
void outbox_doubted(struct outbox *o, uint64_t number);
/* It was not taken: again, after the others. */
void outbox_refused(struct outbox *o, uint64_t number);
/* The connection was lost: all that was not acknowledged is to be sent again. */
void outbox_again(struct outbox *o);

/* All up to this number are acknowledged; 0: none are. */
uint64_t outbox_delivered(struct outbox *o);

struct outbox_stats {
    uint64_t put, acked, dropped, refused;
    int waiting, under_way, slots; /* waiting: in a slot, under way or not */
};
void outbox_stats(struct outbox *o, struct outbox_stats *out);

#endif
