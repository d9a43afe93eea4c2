/* trial_cfg.h - a trial's plan: its arms and their shares; settings and figures.
 *
 * An arm is NAME:SHARE:DECIDER[@PROFILE]. The first one is the control. SHARE is a share of all sessions
 * that leave the mode to the daemon; the shares are at most 1 together, and the rest of the sessions is
 * decided as without a trial. PROFILE, if given, replaces what the session asked for: its weights and
 * ceilings. DECIDER is
 *
 *   abrd        the daemon's published weights, the best level. They may change during the trial if the
 *               daemon learns, but not from sessions of the trial
 *   abrd:FILE   weights of a file, which never change. Inputs and levels must be those of the daemon's
 *   player      the player's own rules: the session is observed
 *   a classical algorithm (abr/deciders/algo.h) that keeps nothing from chunk to chunk: rate, buffer,
 *               bola, fixed-N, hyb, soda, mpc-tail or hold, with settings, for example soda:beta=2
 *
 * Errors name the setting, and say what to do.
 * Threads: plain data, pure functions. */
#ifndef SERVE_TRIAL_CFG_H
#define SERVE_TRIAL_CFG_H

#include "abr/compare.h"
#include "base/field.h"
#include "serve/metrics/figure.h"
#include "serve/session/service.h"
#include "serve/session/track.h"

#define TRIAL_SPEC 256
#define TRIAL_ARMS_TEXT 2048 /* of all arms, commas between */

struct trial_cfg {
    const char *name; /* NULL: none */
    struct field_list arms;
    double sessions, stall_margin, startup_margin_s;
};

struct trial_cfg trial_cfg_default(void);
extern const struct field trial_fields[];

struct trial_arm {
    char name[SERVICE_TRIAL];
    double share;
    char decides[TRIAL_SPEC];
    char profile[SERVICE_NAME]; /* "": the session's */
};

struct trial_plan {
    char name[SERVICE_TRIAL];
    int arms;
    struct trial_arm arm[COMPARE_ARMS];
    double sessions, stall_margin, startup_margin_s;
};

/* ERR_INVALID, ERR_RANGE. cfg->name is set. */
int trial_plan_of(struct trial_plan *out, const struct trial_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* The same from one text, "a:0.5:player, b:0.5:abrd", for cfg->arms. */
int trial_plan_read(struct trial_plan *out, const struct trial_cfg *cfg, const char *arms,
                    struct err *e) __attribute__((warn_unused_result));
bool trial_plan_same(const struct trial_plan *a, const struct trial_plan *b);
/* Whether the arm has another profile than the control, so that their QoE has other weights. */
bool trial_plan_reweighted(const struct trial_plan *p, int arm);
/* All arms as one text. */
void trial_plan_arms(char out[TRIAL_ARMS_TEXT], const struct trial_plan *p);

int trial_cfg_check(const struct trial_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* runs; promoted: an arm decides for all; ended: rolled back */
enum trial_phase { TRIAL_NONE, TRIAL_RUNS, TRIAL_PROMOTED, TRIAL_ENDED };
/* "none", "runs", "promoted", "ended"; ends with NULL. */
extern const char *const trial_phases[];

/* trial.state of the data folder: lines of `name = value`. The lists are cut up from the file's text. */
struct trial_saved {
    const char *name, *promoted,
        *key; /* NULL: not in the file; key: of a cluster's trial */
    enum trial_phase phase;
    struct field_list arms, stopped;
    double sessions, stall_margin, startup_margin_s, started_at;
};

/* *text is owned by the caller, also after a failure; *out is borrowed from it. ERR_IO, ERR_INVALID. */
int trial_saved_read(struct trial_saved *out, char **text, const char *path,
                     struct err *e) __attribute__((warn_unused_result));
/* The plan of a file that has a name. */
int trial_saved_plan(struct trial_plan *out, const struct trial_saved *s, struct err *e)
    __attribute__((warn_unused_result));

/* What the comparison counts of a session that ended. */
struct compare_ended trial_ended_of(const struct track_row *row);

struct trial_stats {
    enum trial_phase phase;
    uint64_t stops; /* arms stopped by a guard rail since the start of the daemon */
    bool mismatch;
    int nodes; /* of the cluster whose sessions are counted */
    int arms;
    char arm[COMPARE_ARMS][SERVICE_TRIAL];
    uint64_t assigned[COMPARE_ARMS], analysed[COMPARE_ARMS], stopped[COMPARE_ARMS];
    double stall_ratio[COMPARE_ARMS], startup_s[COMPARE_ARMS], quality[COMPARE_ARMS];
};
extern const struct figure trial_figures[];

#endif
