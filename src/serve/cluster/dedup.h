/* dedup.h - which trajectories were counted: every one once, however often it arrives.
 *
 * A maker (a decision node) numbers its trajectories 1, 2, 3 ... and sends number n only when it has
 * done with all up to n - DEDUP_WINDOW (outbox.h). So of each maker the highest number and a bit for
 * each of those below it that came out of turn tell whether a number is new. Stream and messages may
 * then repeat at will: a node that was not sure whether its message arrived, a server that forgot
 * which ones it had.
 *
 * `position` is the place in the stream up to which this is so. The dedup is published with the
 * weights that were learned so far: both are of the same moment, and a learner that goes on from them
 * reads the stream from there. So what one learned and did not publish is learned again by the next,
 * and nothing else is. Makers read there what they need not keep any more, and what they have to send
 * again (dedup_view).
 *
 * Makers that were silent longest are forgotten when there are more than the dedup holds.
 *
 * State: little-endian, the counts included; 48 bytes a maker, and one for every eight numbers
 * between the first that is missing and his highest. Form 1, of older learners, has bits for the last
 * 256 numbers and the count of those missing; it is read, not written.
 * Errors: ERR_CORRUPT a state that cannot be. Threads: not shared. No allocation after dedup_new. */
#ifndef SERVE_DEDUP_H
#define SERVE_DEDUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEDUP_WINDOW 4096
#define DEDUP_WORDS (DEDUP_WINDOW / 64)
#define DEDUP_MAKERS 4096
#define DEDUP_FORM 2

struct dedup;

struct dedup_stats {
    uint64_t counted, repeated; /* trajectories that were new, and that were not */
    uint64_t missing; /* numbers below a maker's highest that have not come (yet) */
    int makers;
};

struct dedup *dedup_new(struct err *e);
void dedup_free(struct dedup *l);
void dedup_clear(struct dedup *l);

/* Is it new? Then it is counted. */
bool dedup_take(struct dedup *l, uint64_t maker, uint64_t number);

void dedup_advance(struct dedup *l, uint64_t position);
uint64_t dedup_position(const struct dedup *l);
void dedup_stats(struct dedup_stats *out, const struct dedup *l);

size_t dedup_state_size(const struct dedup *l);
void dedup_state_get(const struct dedup *l, void *out);
/* form: 1 .. DEDUP_FORM. On failure the dedup is empty. */
int dedup_state_put(struct dedup *l, int form, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

/* What a state (of DEDUP_FORM) says of one maker. */
struct dedup_view {
    uint64_t position;
    uint64_t low,
        highest; /* all up to low were counted, of those up to highest the marked ones */
    uint64_t seen[DEDUP_WORDS]; /* number n: bit n % DEDUP_WINDOW */
};
int dedup_view(struct dedup_view *out, uint64_t maker, const void *state, size_t n,
               struct err *e) __attribute__((warn_unused_result));
bool dedup_view_has(const struct dedup_view *v, uint64_t number);

#endif
