/* forget.h - deletes sessions from a data folder whose daemon does not run.
 *
 * A choice has one or more conditions; a session must fit all of them. forget_sessions deletes the rows
 * of the chosen sessions and of their steps. If there are any, it also empties all trajectories that wait
 * for the bus: some may be of these sessions. Then it writes the database anew (VACUUM) and empties its
 * log. So no file of the folder has bytes of the deleted rows, free pages included.
 *
 * What stays: learned weights and sums over many sessions (policy.safetensors, experience.state,
 * untagged.state, trial.state), files that were kept as NAME.bad, and copies elsewhere (backups).
 *
 * Opening the store is as at a start of the daemon: it is checked, and upgraded if it is older.
 *
 * Errors: ERR_CONFLICT a daemon uses the folder; ERR_ABSENT there is no store; those of
 * store_sqlite_open. After a failure nothing or everything is deleted, but bytes may be left: repeat it.
 * Threads: not shared. */
#ifndef SERVE_FORGET_H
#define SERVE_FORGET_H

#include "serve/session/labels.h"
#include "serve/session/track.h"

struct forget_choice {
    uint8_t id[TRACK_ID]; /* if has_id */
    bool has_id;
    const char *viewer; /* as the player named it; NULL: any */
    double before;      /* ended earlier than this, s since the epoch; 0: any */
    struct labels labels;
};

struct forget_stats {
    int64_t sessions, live, steps; /* live: of the sessions, those without an end */
    int64_t trajectories;          /* that waited for the bus */
    int kept; /* files NAME.bad of the store, which may have them too */
};

/* dry: only counts. */
int forget_sessions(struct forget_stats *out, const char *dir,
                    const struct forget_choice *choice, bool dry, struct err *e)
    __attribute__((warn_unused_result));

/* Reads "2026-11-24" or "2026-11-24T10:30:00Z", UTC. e->field is "before". */
int forget_time(double *out, const char *text, struct err *e)
    __attribute__((warn_unused_result));

#endif
