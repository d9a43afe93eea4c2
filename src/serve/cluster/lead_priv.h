/* lead_priv.h - what the sources of lead.h share: lead.c takes over and publishes, lead_heartbeat.c has the
 * heartbeat. */
#ifndef SERVE_LEAD_PRIV_H
#define SERVE_LEAD_PRIV_H

#include "serve/cluster/lead.h"

#include <pthread.h>
#include <stdatomic.h>

struct lead {
    struct lead_cfg cfg;
    atomic_bool leading,
        unsettled;             /* unsettled: what is common is to be put on the board */
    atomic_uint_fast64_t term; /* = beat.term: for others to see */
    atomic_bool deposed; /* by lead_heartbeat: the learner's thread has not seen it yet */
    struct bus_wire_heartbeat beat; /* as the learner's thread wants it written */
    double retry_at, committed_at;
    pthread_mutex_t lock; /* of what follows */
    struct {
        struct bus_wire_heartbeat beat; /* as it was written last, or is to be */
        uint64_t rev;
        double at, progress_at; /* progress_at: when the learner's thread was here last */
        bool writing, again; /* one writes at a time; again: what it writes has changed */
        uint64_t count;
    } said;
    size_t most; /* bytes of a value, as the board told them last */
    uint64_t trimmed;
    int live;    /* the slot that the board names */
    bool unsure; /* whether the last commit has happened: then it may be the other one */
    struct bus_wire_weights note; /* of the last commit ... */
    void *dedup;                  /* ... whose dedup this is */
};

void lead_stand_by(struct lead *l, const char *why);

/* ---- lead_heartbeat.c ---- */

/* What the next beats say. */
void lead_beat_note(struct lead *l);
void lead_beat_progress(struct lead *l, double mono);
bool lead_beat_due(struct lead *l, double mono);
int lead_beat_write(struct lead *l, double mono, struct err *e);
bool lead_deposed(struct lead *l);
int lead_beat_term(struct lead *l, uint64_t rev, double mono, struct err *e);
void lead_beat_over(struct lead *l);

#endif
