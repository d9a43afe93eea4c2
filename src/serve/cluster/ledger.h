/* ledger.h - which trajectories were counted: every one once, however often it arrives.
 *
 * A maker (a decision node) numbers its trajectories 1, 2, 3 ... and sends number n only when it has
 * done with all up to n - LEDGER_WINDOW (outbox.h). So of each maker the highest number and a bit for
 * each of those below it that came out of turn tell whether a number is new. Stream and messages may
 * then repeat at will: a node that was not sure whether its message arrived, a server that forgot
 * which ones it had.
 *
 * `position` is the place in the stream up to which this is so. The ledger is published with the
 * weights that were learned so far: both are of the same moment, and a learner that goes on from them
 * reads the stream from there. So what one learned and did not publish is learned again by the next,
 * and nothing else is. Makers read there what they need not keep any more, and what they have to send
 * again (ledger_view).
 *
 * Makers that were silent longest are forgotten when there are more than the ledger holds.
 *
 * State: little-endian, the counts included; 48 bytes a maker, and one for every eight numbers
 * between the first that is missing and his highest. Form 1, of older learners, has bits for the last
 * 256 numbers and the count of those missing; it is read, not written.
 * Errors: ERR_CORRUPT a state that cannot be. Threads: not shared. No allocation after ledger_new. */
#ifndef SERVE_LEDGER_H
#define SERVE_LEDGER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_WINDOW 4096
#define LEDGER_WORDS (LEDGER_WINDOW / 64)
#define LEDGER_MAKERS 4096
#define LEDGER_FORM 2

struct ledger;

struct ledger_stats {
    uint64_t counted, repeated; /* trajectories that were new, and that were not */
    uint64_t missing; /* numbers below a maker's highest that have not come (yet) */
    int makers;
};

struct ledger *ledger_new(struct err *e);
void ledger_free(struct ledger *l);
void ledger_clear(struct ledger *l);

/* Is it new? Then it is counted. */
bool ledger_take(struct ledger *l, uint64_t maker, uint64_t number);

void ledger_advance(struct ledger *l, uint64_t position);
uint64_t ledger_position(const struct ledger *l);
void ledger_stats(struct ledger_stats *out, const struct ledger *l);

size_t ledger_state_size(const struct ledger *l);
void ledger_state_get(const struct ledger *l, void *out);
/* form: 1 .. LEDGER_FORM. On failure the ledger is empty. */
int ledger_state_put(struct ledger *l, int form, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

/* What a state (of LEDGER_FORM) says of one maker. */
struct ledger_view {
    uint64_t position;
    uint64_t low,
        highest; /* all up to low were counted, of those up to highest the marked ones */
    uint64_t seen[LEDGER_WORDS]; /* number n: bit n % LEDGER_WINDOW */
};
int ledger_view(struct ledger_view *out, uint64_t maker, const void *state, size_t n,
                struct err *e) __attribute__((warn_unused_result));
bool ledger_view_has(const struct ledger_view *v, uint64_t number);

#endif
