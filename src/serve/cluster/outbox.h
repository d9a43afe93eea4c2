/* outbox.h - closed trajectories of this node until the learner has counted them.
 *
 * Each gets the next number (1, 2, ... for as long as the node's store lives) and waits as bytes
 * (bus_wire.h) in one of a fixed number of slots. With a store it is first written there, in the
 * transaction of the step that closed it, and sent only then: a node that is killed sends after its
 * start what it had not seen confirmed. Without one it is sent at once, and a kill loses it.
 *
 * What the stream has acknowledged stays until the dedup that is published with the weights has
 * its number (outbox_confirm). When the dedup holds up to a place in the stream at or behind the one
 * where it was acknowledged, and does not have it, then the stream has lost it: it is sent again,
 * OUTBOX_TRIES times at most. Should it come twice after all, the dedup counts one.
 *
 * What only waits to be confirmed keeps nobody out: when no slot is free, or the oldest lies
 * DEDUP_WINDOW numbers back, the oldest acknowledged one is let go and counted. So a learner that
 * publishes seldom costs what the outbox did before it knew of ledgers: trust in the stream. Only when
 * the oldest is not acknowledged is a new trajectory dropped and counted: nobody waits.
 *
 * At most OUTBOX_UNDER_WAY are sent and not answered, and number n is sent when all up to
 * n - DEDUP_WINDOW are done with, so that the learner can tell repeats from news (dedup.h). What was
 * refused or not answered is sent again.
 *
 * Behind a new connection the published dedup may have what is still kept here as not confirmed. So
 * nothing is sent (outbox_hold) until the board was read once (outbox_release), or has not answered
 * for OUTBOX_HOLD_S: what it has is then not sent at all.
 *
 * Errors: ERR_MEMORY; ERR_CORRUPT rows that cannot be; ERR_RANGE more of them than slots.
 * Threads: locked inside, a leaf. outbox_put allocates nothing. What outbox_next gives out stays
 * where it is until it is acknowledged; one thread asks for it. */
#ifndef SERVE_OUTBOX_H
#define SERVE_OUTBOX_H

#include "serve/learner/bus.h"
#include "serve/cluster/dedup.h"

#define OUTBOX_UNDER_WAY 256
#define OUTBOX_TRIES 8
#define OUTBOX_HOLD_S 3.0 /* since outbox_next was first asked */

struct outbox;

/* stored: outbox_stored will be told when a trajectory is safe. */
struct outbox *outbox_new(int slots, uint64_t maker, bool stored, struct err *e);
void outbox_free(struct outbox *o);

/* false: dropped. envelope: what the store has to keep; borrowed until it was acknowledged. */
bool outbox_put(struct outbox *o, const struct traj *t, struct bus_envelope *envelope);
void outbox_stored(struct outbox *o, uint64_t number);
/* Before anything is put: what the store kept, in the order of numbers. The last number ever given
 * comes last, without bytes when it was done with. */
int outbox_restore(struct outbox *o, const struct bus_envelope *envelope, struct err *e)
    __attribute__((warn_unused_result));

void outbox_hold(struct outbox *o);
void outbox_release(struct outbox *o);
/* The next one to send; false: none before `wait_s` were over or outbox_wake was called. */
bool outbox_next(struct outbox *o, struct bus_envelope *out, double wait_s);
void outbox_wake(struct outbox *o);
/* The stream has it, at this place. */
void outbox_acked(struct outbox *o, uint64_t number, uint64_t place);
/* The stream says that it had this id before. That may have been a message which its leader never
 * finished storing, so this is no acknowledgement: again, under another id. Should both be there, the
 * dedup counts one. */
void outbox_doubted(struct outbox *o, uint64_t number);
/* It was not taken: again, after the others. */
void outbox_refused(struct outbox *o, uint64_t number);
/* The connection was lost: all that was not acknowledged is to be sent again. */
void outbox_again(struct outbox *o);

/* What is published. A place that lies before the last one: the stream was made anew, and what it
 * acknowledged before is nowhere. Returns how many were lost and are sent again. */
int outbox_confirm(struct outbox *o, const struct dedup_view *v);

/* All up to this number are done with, confirmed or let go; 0: none are. */
uint64_t outbox_delivered(struct outbox *o);

struct outbox_stats {
    uint64_t put, acked, dropped, refused;
    uint64_t resent; /* acknowledged, and not what the learner has read */
    uint64_t let_go; /* acknowledged, and not kept until they were confirmed */
    int waiting, under_way, unconfirmed, slots; /* waiting: not acknowledged */
};
void outbox_stats(struct outbox *o, struct outbox_stats *out);

#endif
