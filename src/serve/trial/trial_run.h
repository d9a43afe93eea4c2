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
 * Guard rails. When an arm is surely worse (compare_worse), it is stopped, logged and counted. New sessions of
 * its viewers are treated as the control, and running ones are decided as the control from the next chunk on.
 * If players decide in the control, running sessions get the published weights instead.
 *
 * Closed arms. A trial goes on after a restart even if the file or the profile of an arm is gone. That arm is
 * closed and logged as an error. Its sessions fall back as those of a stopped arm do: to the control. If the
 * control is closed, the player's own rules decide instead. A closed arm cannot be promoted. It opens at the
 * next start that finds its file and profile.
 *
 * Nodes of a cluster have one trial (trial_peers). Plan, phase, stopped arms and the key of the assignment are
 * the same on all, so a viewer has one arm on every node. A node counts its own sessions, and gets the sums
 * and the viewers that the others counted. Guard rails and the report use the sum. Each node looks at its own
 * sessions at once and at those of other nodes some seconds later. So nodes see the same sessions in slightly
 * different orders, and the error rate of a guard rail holds for each order.
 *
 * Promotion makes one arm's treatment that of all sessions that give no mode. Rollback ends trial or
 * promotion. A person orders both, and they persist over restarts.
 *
 * The file trial.state of the data folder has plan, phase and stopped arms, in the form of a configuration
 * file. It is written whole, at each change.
 *
 * Errors: ERR_CONFLICT (a trial of this name with other arms, none to promote, or a closed arm), ERR_ABSENT,
 * ERR_INVALID, ERR_IO, ERR_MEMORY.
 * Threads: locked inside, a leaf; trial_run_start, _promote, _rollback and _save also hold the file's lock
 * across the disk, so an HTTP worker must not call them. assign, decide and ended allocate nothing. */
#ifndef SERVE_TRIAL_RUN_H
#define SERVE_TRIAL_RUN_H

#include "base/entropy.h"
#include "base/log.h"
#include "base/siphash.h"
#include "serve/part.h"
#include "serve/session/labels.h"
#include "serve/trial/trial_cfg.h"

#define TRIAL_VIEWERS (1 << 20)
#define TRIAL_MAKERS 64 /* nodes that count in one trial */
#define TRIAL_NAMES 32  /* names of earlier trials that a cluster knows */

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
    struct entropy entropy;          /* of the key of a cluster's trial */
    bool peers;                      /* trial_run_share follows */
    uint64_t boot;                   /* with peers: see struct trial_tally */
};

struct trial_run *trial_run_new(const struct trial_run_new *how, struct err *e);
void trial_run_free(struct trial_run *t);

/* Continues what trial.state says, if it is there. Arms that cannot be opened are closed. */
int trial_run_resume(struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));
/* Whether this process can open the arms, or has this trial already. */
int trial_run_check(struct trial_run *t, const struct trial_plan *plan, struct err *e)
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

/* ---- nodes of a cluster ---- */

/* What all nodes have in common; plan.arms 0: there is no trial. */
struct trial_common {
    struct trial_plan plan;
    enum trial_phase phase;
    int promoted;                 /* arm; -1: none */
    int stopped_by[COMPARE_ARMS]; /* as in a report */
    double started_at;
    uint8_t key[SIPHASH_KEY]; /* of viewers' units */
    int makers;
    uint64_t maker[TRIAL_MAKERS]; /* nodes that count */
    int used;
    char used_name[TRIAL_NAMES][SERVICE_TRIAL];
};
/* A number of this trial, and of no other one. */
uint64_t trial_common_id(const struct trial_common *c);

struct trial_peers {
    void *self;
    /* Changes what is common, as shared_value_change, and has this node follow it before it returns.
     * change: 1 put it, 0 it is as wanted, negative: give up. It waits for the bus. */
    int (*change)(void *self,
                  int (*change)(void *ctx, struct trial_common *c, struct err *e),
                  void *ctx, struct err *e);
};

/* Before the first session. A trial that only this process had does not go on. */
void trial_run_share(struct trial_run *t, const struct trial_peers *peers);
/* Does what is common. rev: its revision; older: take it also if it is older than the last one. ERR_CONFLICT:
 * it is older. Arms that this node cannot open are closed. */
int trial_run_follow(struct trial_run *t, const struct trial_common *c, uint64_t rev,
                     bool older, struct err *e) __attribute__((warn_unused_result));
/* The trial of this node, without the nodes that count; false: it has none of a cluster. */
bool trial_run_common(struct trial_common *out, struct trial_run *t);

/* What this node counted. */
struct trial_tally {
    uint64_t id;   /* of the trial; 0: none */
    uint64_t boot; /* another one after a restart: the viewers may be in another order */
    uint64_t changes; /* grows with what is counted; not sent */
    int units;
    struct compare compare; /* sums; of cfg only arms is sent */
};
void trial_run_tally(struct trial_tally *out, struct trial_run *t);
/* Viewers that this node counted: at most max from number `from` on; returns how many. */
int trial_run_units(uint64_t *out, struct trial_run *t, uint64_t id, int from, int max);
/* Viewers that another node counted. */
void trial_run_seen(struct trial_run *t, uint64_t id, const uint64_t *unit, int n);
/* The sum of what `nodes` other nodes counted. */
void trial_run_others(struct trial_run *t, uint64_t id, const struct compare *sum,
                      int nodes);

/* ---- the report ---- */

struct trial_report {
    struct trial_plan plan;
    enum trial_phase phase;
    int promoted; /* arm; -1: none */
    double started_at;
    int stopped_by[COMPARE_ARMS]; /* enum compare_figure; -1: not stopped */
    int nodes;                    /* whose sessions are counted */
    struct labels labels;         /* of these sessions */
    struct compare compare;
};
/* ERR_ABSENT: there was no trial. Large: the caller allocates it. */
int trial_run_report(struct trial_report *out, struct trial_run *t, struct err *e)
    __attribute__((warn_unused_result));
/* The same of sessions with all these labels, read from this process's store: on the disk, as above. Of
 * running sessions it knows those whose row is stored. ERR_CONFLICT: there is no store. */
int trial_run_labelled(struct trial_report *out, struct trial_run *t,
                       const struct labels *labels, struct err *e)
    __attribute__((warn_unused_result));

/* The trial of a service; NULL: a build without the part. */
struct trial_run *trial_run_of(struct service *s);
/* The plan of its settings, borrowed; NULL: none. */
const struct trial_plan *trial_run_wanted(struct service *s);

#endif
