/* outbox.h - closed trajectories of this node, until the learner has counted them.
 *
 * Each one gets the next number (1, 2, ... for the life of the node's store) and waits as bytes
 * (bus_wire.h) in one of a fixed number of slots. With a store it is first written there, in the
 * transaction of the step that closed it, and sent after that. So a node that is killed sends after its
 * start what was not confirmed. Without a store it is sent at once, and a kill loses it.
 *
 * What the stream has acknowledged stays until the published state of the de-duplication has its number
 * (outbox_confirm). When that state reaches the position at which it was acknowledged, and does not
 * have the number, then the stream has lost it. It is sent again, OUTBOX_TRIES times at most. If it
 * arrives twice after all, the learner counts one.
 *
 * What only waits to be confirmed never blocks the outbox. When no slot is free, or the oldest is
 * DEDUP_WINDOW numbers back, the oldest acknowledged one is released and counted: the node trusts the
 * stream. Only when the oldest is not acknowledged is a new trajectory dropped and counted.
 *
 * At most OUTBOX_UNDER_WAY are sent and not answered. Number n is sent when the outbox is done with all
 * up to n - DEDUP_WINDOW, so that the learner can tell repeats from new ones (dedup.h). What was
 * refused or not answered is sent again.
 *
 * After a new connection, the published state may have numbers that are not confirmed here. So nothing
 * is sent (outbox_hold) until the shared values were read (outbox_release) or OUTBOX_HOLD_S are over.
 *
 * Errors: ERR_MEMORY; ERR_CORRUPT invalid rows; ERR_RANGE more rows than slots.
 * Threads: locked inside, a leaf. outbox_put allocates nothing. The bytes that outbox_next gives stay
 * in place until they are acknowledged; one thread calls it. */
#ifndef SERVE_OUTBOX_H
#define SERVE_OUTBOX_H

#include "serve/learner/bus.h"
#include "serve/cluster/dedup.h"

#define OUTBOX_UNDER_WAY 256
#define OUTBOX_TRIES 8
#define OUTBOX_HOLD_S 3.0 /* since the first outbox_next */

struct outbox;

/* stored: outbox_stored says when a trajectory is durable. */
struct outbox *outbox_new(int slots, uint64_t maker, bool stored, struct err *e);
void outbox_free(struct outbox *o);

/* false: dropped. envelope: what the store has to keep; borrowed until it is acknowledged. */
bool outbox_put(struct outbox *o, const struct traj *t, struct bus_envelope *envelope);
void outbox_stored(struct outbox *o, uint64_t number);
/* What the store kept, in the order of numbers, before anything is put. The last one has the highest
 * number of all, without bytes when it is done with. */
int outbox_restore(struct outbox *o, const struct bus_envelope *envelope, struct err *e)
    __attribute__((warn_unused_result));

void outbox_hold(struct outbox *o);
void outbox_release(struct outbox *o);
/* The next one to send; false: none within wait_s, or outbox_wake was called. */
bool outbox_next(struct outbox *o, struct bus_envelope *out, double wait_s);
void outbox_wake(struct outbox *o);
/* The stream has it, at this position. */
void outbox_acked(struct outbox *o, uint64_t number, uint64_t place);
/* The stream says that it had this id before. Its leader may never have stored that message, so this is
 * no acknowledgement: it is sent again with another id. The learner counts one. */
void outbox_doubted(struct outbox *o, uint64_t number);
/* The stream did not take it: it is sent again later. */
void outbox_refused(struct outbox *o, uint64_t number);
/* The connection was lost: all that is not acknowledged is sent again. */
void outbox_again(struct outbox *o);

/* The published state. A position before the last one means a new stream, which has nothing of what
 * the former one acknowledged. Returns how many were lost and are sent again. */
int outbox_confirm(struct outbox *o, const struct dedup_view *v);

/* All up to this number are confirmed or released; 0: none is. */
uint64_t outbox_delivered(struct outbox *o);

struct outbox_stats {
    uint64_t put, acked, dropped, refused;
    uint64_t resent;   /* acknowledged, and lost by the stream */
    uint64_t released; /* acknowledged, and not kept until they were confirmed */
    int waiting, under_way, unconfirmed, slots; /* waiting: not acknowledged */
};
void outbox_stats(struct outbox *o, struct outbox_stats *out);

#endif
