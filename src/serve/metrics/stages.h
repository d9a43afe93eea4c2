/* stages.h - durations of the stages of a decision, one histogram per stage.
 *
 * Only one decision in STAGES_EACH is timed, so that clock reads do not slow the rest:
 *
 *   wire    parse the question's JSON
 *   track   find the session, copy out its view
 *   policy  observation, router and expert
 *   keep    record the step in the session, pass its rows to store and learner
 *   emit    write the answer's JSON
 *
 * A decision that fails counts in the stages that it completed.
 *
 * Units: seconds. Threads: a struct stages belongs to one worker; any thread may read its
 * histograms. */
#ifndef SERVE_STAGES_H
#define SERVE_STAGES_H

#include "base/hist.h"

#include <stdbool.h>

#define STAGES_EACH 64

enum stage { STAGE_WIRE, STAGE_TRACK, STAGE_POLICY, STAGE_KEEP, STAGE_EMIT, STAGES };

struct stages {
    unsigned turn;
    bool timed;  /* the current decision is timed */
    double at_s; /* start of the current stage */
    struct hist seconds[STAGES];
};

void stages_init(struct stages *s);
/* Parts of the two below, for a timed decision. */
void stages_start(struct stages *s);
void stages_note(struct stages *s, enum stage which);

/* A decision begins with its first stage. */
static inline void stages_begin(struct stages *s)
{
    s->timed = s->turn++ % STAGES_EACH == 0;
    if (s->timed) stages_start(s);
}

/* Ends the current stage, which was this one. s may be NULL. */
static inline void stages_end(struct stages *s, enum stage which)
{
    if (s && s->timed) stages_note(s, which);
}

/* "wire", "track", "policy", "keep", "emit". */
const char *stages_name(enum stage which);

#endif
