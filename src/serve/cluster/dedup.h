/* dedup.h - which trajectories are counted: each one once, however often it arrives.
 *
 * A maker (a decision node) numbers its trajectories 1, 2, 3 ... It sends number n only when it is done
 * with all up to n - DEDUP_WINDOW (outbox.h). So the highest number of each maker, and one bit for each
 * number below it, tell whether a number is new. Messages may then arrive any number of times: from a
 * node without an answer, or from a server that forgot its message ids.
 *
 * `position` is the position in the stream up to which this is true. The state is published with the
 * weights of the same moment. A learner that continues from them reads the stream from there, so what
 * another one learned and did not publish is learned again, and nothing else is. Makers read in it what
 * they need not keep, and what they have to send again (dedup_view).
 *
 * With more makers than DEDUP_MAKERS, those that sent nothing for longest are dropped.
 *
 * State: little-endian, with the counts. 48 bytes a maker, and a byte for every eight numbers from the
 * first one that is missing to the highest. Form 1, of older learners, has bits for the last 256
 * numbers and the count of those missing; it is read and not written.
 * Errors: ERR_CORRUPT an invalid state. Threads: not shared. No allocation after dedup_new. */
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
    uint64_t missing; /* numbers below a maker's highest that did not arrive (yet) */
    int makers;
};

struct dedup *dedup_new(struct err *e);
void dedup_free(struct dedup *l);
void dedup_clear(struct dedup *l);

/* true: it is new, and is counted now. */
bool dedup_take(struct dedup *l, uint64_t maker, uint64_t number);

void dedup_advance(struct dedup *l, uint64_t position);
uint64_t dedup_position(const struct dedup *l);
void dedup_stats(struct dedup_stats *out, const struct dedup *l);

size_t dedup_state_size(const struct dedup *l);
void dedup_state_get(const struct dedup *l, void *out);
/* form: 1 .. DEDUP_FORM. On failure the dedup is empty. */
int dedup_state_put(struct dedup *l, int form, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

/* One maker in a state of DEDUP_FORM. */
struct dedup_view {
    uint64_t position;
    uint64_t low,
        highest; /* all up to low are counted, and the marked ones up to highest */
    uint64_t seen[DEDUP_WORDS]; /* number n: bit n % DEDUP_WINDOW */
};
int dedup_view(struct dedup_view *out, uint64_t maker, const void *state, size_t n,
               struct err *e) __attribute__((warn_unused_result));
bool dedup_view_has(const struct dedup_view *v, uint64_t number);

#endif
