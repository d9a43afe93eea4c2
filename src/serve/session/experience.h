/* experience.h - what this daemon has seen of links and stalls, and how it changes decisions.
 *
 * abr/deciders/caution.h has the equations. There is one margin for each kind of link, over all
 * sessions, and one stall weight for each slot of the statistics (profiles.h).
 *
 *   margins       a download counts if the daemon decided its chunk and its session had a history. It is
 *                 judged by the forecast that is served to such sessions: corrected if the common policy
 *                 decides, else (merged or added experts) as shipped
 *   stall weight  a chunk counts if the player fetched the level that the daemon decided, the profile
 *                 has a ceiling, and the link carried at least the lowest level. The wait for a
 *                 session's first chunk is no stall
 *
 * experience_apply changes the view of a session that does not explore. A session that explores decides
 * by its own view, so that the learner's replay gives the same observation and offer.
 *
 * Each node of a cluster has its own experience. The file experience.state of the data folder keeps it
 * over a restart, by the names of the profiles. It is written once a minute and at the end. The daemon
 * renames a damaged file to experience.state.bad and starts over.
 *
 * Errors: ERR_MEMORY, ERR_IO; ERR_CORRUPT for a damaged file.
 * Threads: locked inside, a leaf. experience_apply reads atomics and takes no lock. No allocation after
 * _new. */
#ifndef SERVE_EXPERIENCE_H
#define SERVE_EXPERIENCE_H

#include "abr/deciders/caution.h"
#include "serve/session/profiles.h"
#include "serve/session/traj.h"

struct experience;

struct experience *experience_new(struct err *e);
void experience_free(struct experience *x);

/* Makes the view as cautious as what was seen. Only for viewers with a ceiling of stalls. */
void experience_apply(struct view *v, struct experience *x, int slot);

/* The outcome of one chunk (session/track.h). own_forecast: the correction of the policy that decides
 * (view.h), or NULL. */
struct track_outcome;
void experience_outcome(struct experience *x, const struct track_outcome *o,
                        const float *own_forecast);

/* The slot has no profile any more: its next owner starts over. */
void experience_slot_gone(struct experience *x, int slot);

struct experience_stats {
    uint64_t seen[CAUTION_LINKS],
        missed[CAUTION_LINKS]; /* downloads, over all restarts */
    double margin[CAUTION_LINKS];
    double stall_weight[SERVICE_PROFILE_STATS]; /* 1 + lambda */
};
void experience_stats(struct experience_stats *out, struct experience *x);

/* Reads the file; no file changes nothing. A profile without a slot of its own is skipped. */
int experience_load(struct experience *x, const char *path, struct profiles *p,
                    struct err *e) __attribute__((warn_unused_result));
int experience_save(struct experience *x, const char *path, struct profiles *p,
                    struct err *e) __attribute__((warn_unused_result));

#endif
