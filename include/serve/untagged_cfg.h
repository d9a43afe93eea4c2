/* untagged_cfg.h - what viewers without a hint get: the settings, and the figures to watch.
 *
 *   default    the router, asked with the mean hint sum_v psi_v mu_v (QoE is linear in mu, so
 *              that is what a mixed audience values); the default profile while psi is unknown
 *   identify   the router, asked with the profile that this viewer most likely is of
 *   merge      one expert W = sum_k x_k W_k for all, x chosen once per slot by a bandit
 *
 * psi is the mix of tasks among untagged viewers (audience.h); a task is a profile with linear
 * utility: the built-in ones, and the first that an operator puts.
 *
 * Threads: plain data, pure functions. */
#ifndef SERVE_UNTAGGED_CFG_H
#define SERVE_UNTAGGED_CFG_H

#include "base/err.h"
#include "moe/tanbr.h"
#include "serve/audience.h"

#define UNTAGGED_EXPERTS 16 /* that can be merged */
#define UNTAGGED_NAME 64    /* = SERVICE_NAME */

enum untagged_mode { UNTAGGED_DEFAULT, UNTAGGED_IDENTIFY, UNTAGGED_MERGE };

/* How a decision was made; part of a step, so that its answer can be given again. */
enum untagged_by { BY_ROUTER, BY_DEFAULT, BY_MEAN_HINT, BY_IDENTITY, BY_MERGE, BY_WAYS };

struct untagged_cfg {
    enum untagged_mode mode;
    double slot_s;     /* a slot ends after so long ... */
    int slot_sessions; /* ... or after so many untagged sessions; 0 = by time alone */
    double half_life;  /* of psi, in slots */
    const char *merge_policy; /* the experts to merge; borrowed for _new */
    struct tanbr_cfg bandit;  /* experts and tasks are filled in; keep 0 = all experts */
};

/* default; 300 s, 0, 3 slots; the bandit's own defaults. */
struct untagged_cfg untagged_cfg_default(void);
/* ERR_RANGE, the field named as the options of `abrd serve` are. */
int untagged_cfg_check(const struct untagged_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* "default", "identify", "merge" and back (ERR_INVALID). */
const char *untagged_mode_name(enum untagged_mode mode);
int untagged_mode_parse(enum untagged_mode *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* "router", "default", "mean-hint", "identify", "merge". */
const char *untagged_by_name(enum untagged_by by);

struct untagged_stats {
    enum untagged_mode mode;
    uint64_t sessions, decisions[BY_WAYS]; /* opened; of BY_ROUTER none */
    uint64_t slots, empty_slots; /* ended; of those without a chunk to learn from */
    uint64_t labels;             /* untagged sessions that were told what they were */
    uint64_t late;               /* chunks of a slot that was over */
    uint64_t dropped;            /* examples for which there was no room */
    uint64_t refused;            /* damaged state files */
    /* the mix */
    bool known;
    int tasks;
    char task[AUDIENCE_TASKS][UNTAGGED_NAME];
    double mix[AUDIENCE_TASKS];
    /* the merge; experts 0: there is none */
    int experts;
    double weight[UNTAGGED_EXPERTS];
    uint64_t
        chosen[UNTAGGED_EXPERTS];    /* slots in which an expert had the largest weight */
    int nodes, leaves, depth, left;  /* left: leaves whose weights left their cell */
    double reward, expected, regret; /* of the last slot, and summed over all (slots.h) */
    /* the head */
    uint64_t examples;
    double accuracy, calibration, log_loss; /* NaN before the first */
};

#endif
