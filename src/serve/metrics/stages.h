/* stages.h - where the time of a decision goes: a histogram of each stage.
 *
 * One decision in STAGES_EACH is timed, so that a clock read costs the others nothing:
 *
 *   wire    the question's JSON becomes a struct
 *   track   the session is found, its view copied out
 *   policy  observation, router and expert
 *   keep    the session takes the step in; its records go to store and learner
 *   emit    the answer becomes JSON
 *
 * A decision that fails on the way counts in the stages that it passed.
 *
 * Units: seconds. Threads: a struct stages belongs to one worker; its histograms may be read
 * by any. */
#ifndef SERVE_STAGES_H
#define SERVE_STAGES_H

#include "base/hist.h"

#include <stdbool.h>

#define STAGES_EACH 64

enum stage { STAGE_WIRE, STAGE_TRACK, STAGE_POLICY, STAGE_KEEP, STAGE_EMIT, STAGES };

struct stages {
    unsigned turn;
    bool timed;  /* the decision under way */
    double at_s; /* when its present stage began */
    struct hist seconds[STAGES];
};

void stages_init(struct stages *s);
/* What the two below do for a decision that is timed. */
void stages_start(struct stages *s);
void stages_note(struct stages *s, enum stage which);

/* A decision begins with its first stage. */
static inline void stages_begin(struct stages *s)
{
    s->timed = s->turn++ % STAGES_EACH == 0;
    if (s->timed) stages_start(s);
}

/* The stage under way was this one, and is over. s may be NULL. */
static inline void stages_end(struct stages *s, enum stage which)
{
    if (s && s->timed) stages_note(s, which);
}

/* "wire", "track", "policy", "keep", "emit". */
const char *stages_name(enum stage which);

#endif
