/* forget.h - deletes sessions from a data folder.
 *
 * A choice has one or more conditions; a session must fit all of them. The rows of the chosen sessions and
 * of their steps are deleted. If there are any, all trajectories that wait for the bus are emptied, too:
 * some may be of these sessions. Then the database is written anew (VACUUM) and its log is emptied. So no
 * file of the folder has bytes of the deleted rows, free pages included. forget_sessions does this for a
 * daemon that does not run, service_forget for one that runs (serve/session/service.h).
 *
 * What stays: learned weights and sums over many sessions (policy.safetensors, experience.state,
 * untagged.state, trial.state), files that were kept as NAME.bad, and copies elsewhere (backups).
 *
 * Opening the store is as at a start of the daemon: it is checked, and upgraded if it is older.
 *
 * Errors: ERR_INVALID, ERR_RANGE the choice; ERR_CONFLICT a daemon uses the folder; ERR_ABSENT there is no
 * store; those of store_sqlite_open. After a failure nothing or all is deleted; bytes may be left: repeat it.
 * Threads: not shared. */
#ifndef SERVE_FORGET_H
#define SERVE_FORGET_H

#include "base/siphash.h"
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

/* At least one condition, and a viewer of the right length. */
int forget_check(const struct forget_choice *c, struct err *e)
    __attribute__((warn_unused_result));
/* Whether this session is chosen. key: of viewers' hashes. */
bool forget_fits(const struct forget_choice *c, const uint8_t key[SIPHASH_KEY],
                 const struct track_row *row);

/* Sessions that may still have had requests under way. */
struct forget_recent {
    double since;            /* they run, or ended then or later */
    uint8_t (*id)[TRACK_ID]; /* (n) owned by the caller */
    int n;
};
/* In an open store to which nobody writes meanwhile. recent NULL: not asked for. */
int forget_store(struct forget_stats *out, struct forget_recent *recent, const char *path,
                 const struct forget_choice *choice, const uint8_t key[SIPHASH_KEY],
                 bool dry, struct err *e) __attribute__((warn_unused_result));

/* Files NAME.bad of the folder's store. */
int forget_kept(const char *dir);

/* dry: only counts. */
int forget_sessions(struct forget_stats *out, const char *dir,
                    const struct forget_choice *choice, bool dry, struct err *e)
    __attribute__((warn_unused_result));

/* Reads "2026-11-24" or "2026-11-24T10:30:00Z", UTC. e->field is "before". */
int forget_time(double *out, const char *text, struct err *e)
    __attribute__((warn_unused_result));

#endif
