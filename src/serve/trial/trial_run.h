/* trial_run.h - a trial on the daemon's own viewers: assignment, decisions of its arms, guard rails.
 *
 * Assignment. A session that gives no mode is drawn by a keyed hash of the trial's name and the viewer, or
 * without a viewer of the session's key. The key is the daemon's secret (or comes from the seed). So an
 * assignment is a pure function: it is the same after a crash, and all sessions of a viewer get one arm.
 * The session's row in the store has its arm. The comparison counts a viewer's first session only, since
 * later ones are not drawn anew. Viewers are remembered as 64-bit hashes, TRIAL_VIEWERS of them; later
 * ones count as seen before.
 *
 * Decisions. Sessions of a trial do not explore. Arms that are not the daemon's own weights teach nothing
 * (track.h: apart).
 *
 * Results. The store's rows are the only record. At a start the comparison (abr/compare.h) is computed
 * from them again, in the order in which the sessions ended. Without a store it begins at 0.
 *
 * Guard rails. When an arm is surely worse (compare_worse), it is stopped: new sessions of its viewers are
 * treated as the control, and running ones are decided as the control from the next chunk on; a control
 * whose players decide cannot take them back, so they get the published weights. It is logged and counted.
 *
 * Promotion makes one arm's treatment that of all sessions that give no mode. Rollback ends trial or
 * promotion. Both are decided by a person, and stay over restarts.
 *
 * The file trial.state of the data folder has plan, phase and stopped arms, in the form of a configuration
 * file. It is written whole, at each change.
 *
 * Errors: ERR_CONFLICT (a trial of this name with other arms, or none to promote), ERR_ABSENT, ERR_INVALID,
 * ERR_IO, ERR_MEMORY.
 * Threads: locked inside, a leaf; trial_run_start, _promote, _rollback and _save also hold the file's lock
 * across the disk, so an HTTP worker must not call them. assign, decide and ended allocate nothing. */
#ifndef SERVE_TRIAL_RUN_H
#define SERVE_TRIAL_RUN_H

#include "base/log.h"
#include "base/siphash.h"
#include "serve/part.h"
#include "serve/trial/trial_cfg.h"

#define TRIAL_VIEWERS (1 << 20)

struct store;
struct trial_run;

struct trial_run_new {
    uint8_t key[SIPHASH_KEY];
    const struct policy_cfg *policy; /* of the daemon */
    const struct store *store;       /* NULL: none */
    const char *state_path;          /* NULL: none; copied */
    struct profiles *profiles;       /* borrowed */
    struct networks *networks;       /* borrowed */
    const struct log *log;           /* borrowed */
};

struct trial_run *trial_run_new(const struct trial_run_new *how, struct err *e);
void trial_run_free(struct trial_run *t);

/* Continues what trial.state says, if it is there. */
int trial_run_resume(struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));
/* 1: it began; 0: it runs already, as planned. Another trial that runs is ended. */
int trial_run_start(struct trial_run *t, const struct trial_plan *plan, double now,
                    struct err *e) __attribute__((warn_unused_result));
int trial_run_promote(struct trial_run *t, const char *arm, struct err *e)
    __attribute__((warn_unused_result));
int trial_run_rollback(struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));
/* Writes the file if something changed. */
int trial_run_save(struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));

/* As the members of struct part. */
void trial_run_assign(struct trial_run *t, struct track_row *row,
                      const struct session_open *in);
void trial_run_assigned(struct trial_run *t, struct track_row *row);
void trial_run_opened(struct trial_run *t, const struct track_row *row);
enum part_decide trial_run_decide(struct verdict *out, struct trial_run *t,
                                  const struct decision *d);
void trial_run_ended(struct trial_run *t, const struct track_row *row);

void trial_run_stats(struct trial_stats *out, struct trial_run *t);

struct trial_report {
    struct trial_plan plan;
    enum trial_phase phase;
    int promoted; /* arm; -1: none */
    double started_at;
    int stopped_by[COMPARE_ARMS]; /* enum compare_figure; -1: not stopped */
    struct compare compare;
};
/* ERR_ABSENT: there was no trial. Large: the caller allocates it. */
int trial_run_report(struct trial_report *out, struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));

/* The trial of a service; NULL: a build without the part. */
struct trial_run *trial_run_of(struct service *s);

#endif
