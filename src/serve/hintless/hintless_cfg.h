/* hintless_cfg.h - what viewers without a hint get: the settings, and the figures to watch.
 *
 *   default    the router, asked with the mean hint of the profile mix, p = psi; the default profile
 *              while psi is unknown
 *   identify   the router, asked with the mean hint for this viewer, p = p(v | x, c): what the
 *              content is known for (profile mix.h) times what a head makes of the observation
 *              (policy/identity.h: posterior)
 *   merge      one expert W = sum_k x_k W_k for all, x chosen once per slot by a bandit
 *
 * The mean hint. QoE is linear in mu, so a viewer who is of profile v with probability p_v is
 * expected to value sum_v p_v mu_v / u_v, up to a factor. u_v makes the profiles comparable: on a
 * link that carries a level without stalls, QoE above the lowest level is mu_quality times the same
 * number for all of them, so u_v = mu_quality of v (at least 1/20 of all its weights). With u = 1
 * profiles whose weights are large are all that counts. The factor leaves the sum of the weights
 * what it is on average over p.
 *
 * psi is the mix of tasks among untagged viewers (profile mix.h); a task is a profile with linear
 * utility: the built-in ones, and the first that an operator puts. One whose profile is deleted leaves
 * with the end of the slot, and its place is free for the next new profile.
 *
 * Threads: plain data, pure functions. */
#ifndef SERVE_HINTLESS_CFG_H
#define SERVE_HINTLESS_CFG_H

#include "base/field.h"
#include "policy/tanbr.h"
#include "serve/hintless/profile_mix.h"
#include "serve/metrics/figure.h"
#include "serve/session/service.h"

#define HINTLESS_EXPERTS 16 /* that can be merged */
#define HINTLESS_NAME 64    /* = SERVICE_NAME */
/* The bandit's constants, where its own limits are open (tree.h, nucb.h). */
#define HINTLESS_LEAST 1e-6
#define HINTLESS_RHO_MAX .999999

/* Chunks that a session must have fetched as decided, and reported, before anything that it tells
 * counts: as many as a decision looks back on (VIEW_HISTORY). Restored sessions have these at least,
 * if they had them. What one address may tell is bounded in profile mix.h, what a merge may cost a
 * profile in merge_exam.h. */
#define HINTLESS_WATCHED_CHUNKS 8

enum hintless_mode { HINTLESS_DEFAULT, HINTLESS_IDENTIFY, HINTLESS_MERGE };

/* What the program does unless told otherwise; it needs experts, so that
 * hintless_cfg_default is not of it. */
#ifdef WITHOUT_HINTLESS
#define HINTLESS_SHIPPED HINTLESS_DEFAULT
#else
#define HINTLESS_SHIPPED HINTLESS_MERGE
#endif

struct hintless_cfg {
    enum hintless_mode mode;
    double slot_s;     /* a slot ends after so long ... */
    int slot_sessions; /* ... or after so many untagged sessions; 0 = by time alone */
    double half_life;  /* of psi, in slots */
    const char *merge_policy; /* the experts to merge; borrowed for _new */
    struct tanbr_cfg bandit;  /* experts, tasks and prior are filled in; keep 0 = all */
    int merge_links; /* of every kind, for the bandit's prior (abr/merge_score.h); 0 = none */
    int exam_links; /* of every kind, generated, for the exam (merge_exam.h); 0 = no exam */
    const char
        *exam_traces; /* a folder of recorded ones; NULL = none; borrowed for _new */
};

/* default; 300 s, 0, 3 slots; the bandit's own defaults for one with a prior; 5 links;
 * MERGE_EXAM_LINKS, NULL. */
struct hintless_cfg hintless_cfg_default(void);
extern const struct field hintless_fields[];
/* ERR_RANGE; fields are named as the options of `abrd serve`. */
int hintless_cfg_check(const struct hintless_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* "default", "identify", "merge" and back (ERR_INVALID). */
const char *hintless_mode_name(enum hintless_mode mode);
int hintless_mode_parse(enum hintless_mode *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));

struct hintless_stats {
    enum hintless_mode mode;
    uint64_t sessions, decisions[BY_WAYS]; /* opened; of BY_ROUTER none */
    uint64_t slots, empty_slots; /* ended; of those without a chunk to learn from */
    uint64_t labels;             /* untagged sessions that were told what they were */
    uint64_t
        labels_unwatched; /* that did not count: too few chunks (HINTLESS_WATCHED_CHUNKS) */
    double labels_address; /* likewise: the address had counted enough in the slot, */
    double labels_content; /* ... for that content, or for the head */
    uint64_t late;         /* chunks of a slot that was over */
    uint64_t dropped;      /* examples for which there was no room */
    uint64_t refused;      /* damaged state files */
    /* the mix */
    bool known;
    int tasks;
    char task[PROFILE_MIX_TASKS][HINTLESS_NAME];
    double mix[PROFILE_MIX_TASKS];
    /* the merge; experts 0: there is none */
    int experts;
    char expert[HINTLESS_EXPERTS]
               [HINTLESS_NAME]; /* whom it was tuned for, or its number */
    double weight[HINTLESS_EXPERTS];
    uint64_t
        chosen[HINTLESS_EXPERTS];    /* slots in which an expert had the largest weight */
    int nodes, leaves, depth, left;  /* left: leaves whose weights left their cell */
    double reward, expected, regret; /* of the last slot, and summed over all (slots.h) */
    /* the exam (merge_exam.h) */
    bool examined;
    double merge_share;    /* of the way to the bandit's choice: what is served */
    double hint_share;     /* of the way from the default profile to the mean hint */
    bool exam_kept;        /* no merge passed: this slot goes on with the last good one */
    uint64_t exam_refused; /* merges and hints, since the start; */
    uint64_t exam_kept_all; /* slots that kept the last good merge, since the start */
    double exam_loss;       /* of this slot's merge, the largest of all profiles */
    /* the merge on other nodes (slot_log.h) */
    bool shares;
    uint64_t given, heard; /* slots of this node that the others can learn from; of the
                            * others that it has learned from */
    uint64_t missed;       /* of either: gone before they could be */
    int pending, makers;   /* not given yet; bandits that ever gave one */
    double heard_at;       /* when the board was read last, by this node's clock */
    /* the head */
    uint64_t examples;
    double accuracy, calibration, log_loss; /* NaN before the first */
};

/* For /metrics and JSON: all; of the safety check; of its merge, which there is while experts > 0. */
extern const struct figure hintless_figures[], hintless_exam_figures[],
    hintless_merge_exam_figures[];

#endif
