/* hintless_cfg.h - viewers without a hint: the modes, the settings and the figures.
 *
 *   default    the router, with the mean hint of p = psi; the default profile while psi is unknown
 *   identify   the router, with the mean hint of this viewer, p = p(v | x, c): the shares of the
 *              content (profile_mix.h) times the head's posterior for the observation
 *              (policy/identity.h)
 *   merge      one expert W = sum_k x_k W_k for all; a bandit chooses x once per slot
 *
 * Mean hint. QoE is linear in the weights w, which are relative to `standard` (qoe.h). A viewer who
 * has profile v with probability p_v has the expected weights sum_v p_v w_v / u_v, up to a factor.
 * u_v = the weight of quality of v, but at least 1/20 of the sum of its weights, makes profiles
 * comparable: on a link without stalls, QoE above the lowest level is that weight times the same number
 * for all profiles. With u = 1 profiles with large weights would dominate. The factor keeps the sum of
 * the weights at its mean over p. The ceilings are those of the default profile. If that profile is in
 * the papers' units, there is no mean hint, and it is used.
 *
 * psi is the mix of tasks among viewers without a hint (profile_mix.h). A task is a profile in
 * points: those of the product and the first ones that operators add. The task of a deleted
 * profile is removed at the end of the slot; the next new profile gets its index.
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

/* A session's label counts after so many chunks that were fetched as decided and reported; equal to
 * the history of a decision (VIEW_HISTORY), so a restored session has them as well. */
#define HINTLESS_WATCHED_CHUNKS 8

enum hintless_mode { HINTLESS_DEFAULT, HINTLESS_IDENTIFY, HINTLESS_MERGE };

/* The daemon's default. hintless_cfg_default has another mode, as merging needs a file of experts. */
#ifdef WITHOUT_HINTLESS
#define HINTLESS_SHIPPED HINTLESS_DEFAULT
#else
#define HINTLESS_SHIPPED HINTLESS_MERGE
#endif

struct hintless_cfg {
    enum hintless_mode mode;
    double slot_s;     /* a slot ends after so long ... */
    int slot_sessions; /* ... or after so many sessions without a hint; 0: by time alone */
    double half_life;  /* of psi, in slots */
    const char *merge_policy; /* the experts to merge; borrowed for _new */
    struct tanbr_cfg bandit;  /* experts, tasks and prior are filled in; keep 0 = all */
    int merge_links; /* of every kind, for the bandit's prior (abr/merge_score.h); 0: none */
    int exam_links; /* of every kind, generated, for the exam (merge_exam.h); 0: no exam */
    const char *exam_traces; /* folder of recorded links; NULL: none; borrowed for _new */
};

/* Mode default, 300 s, 0, 3 slots, tanbr_cfg_informed, 5 links, MERGE_EXAM_LINKS, NULL. */
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
    uint64_t sessions, decisions[BY_WAYS]; /* opened; none is BY_ROUTER */
    uint64_t slots, empty_slots; /* ended; of these without a chunk to learn from */
    uint64_t labels;             /* labelled sessions without a hint */
    uint64_t labels_unwatched;   /* ignored: fewer than HINTLESS_WATCHED_CHUNKS chunks */
    double labels_address;       /* ignored: the address has its share of the slot */
    double labels_content; /* ignored: ... of the content, or of the head's examples */
    uint64_t late;         /* chunks of a slot that has ended */
    uint64_t dropped;      /* examples without room */
    uint64_t refused;      /* damaged state files */
    /* the mix */
    bool known;
    int tasks;
    char task[PROFILE_MIX_TASKS][HINTLESS_NAME];
    double mix[PROFILE_MIX_TASKS];
    /* the merge; experts 0: none */
    int experts;
    char expert[HINTLESS_EXPERTS]
               [HINTLESS_NAME]; /* the profile that it was tuned for, or its number */
    double weight[HINTLESS_EXPERTS];
    uint64_t
        chosen[HINTLESS_EXPERTS];   /* slots in which an expert had the largest weight */
    int nodes, leaves, depth, left; /* left: leaves whose weights left their cell */
    double reward, expected,
        regret; /* of the last slot; of this one; sum over all slots */
    /* the exam (merge_exam.h) */
    bool examined;
    double merge_share;     /* of the way to the bandit's choice: what is served */
    double hint_share;      /* of the way from the default profile to the mean hint */
    bool exam_kept;         /* no merge passed: this slot keeps the last good one */
    uint64_t exam_refused;  /* merges and hints, since the start */
    uint64_t exam_kept_all; /* slots that kept the last good merge, since the start */
    double exam_loss;       /* of this slot's merge, the largest of all profiles */
    /* slots shared among nodes (slot_log.h) */
    bool shares;
    uint64_t given, heard; /* slots sent to other nodes; learned from other nodes */
    uint64_t missed;       /* of either: lost before */
    int pending, makers;   /* not sent yet; bandits that ever sent one */
    double heard_at;       /* last read of the log, by this node's clock */
    /* the head */
    uint64_t examples;
    double accuracy, calibration, log_loss; /* NaN before the first */
};

/* For /metrics and JSON: all; of the exam; of the exam of merges, while experts > 0. */
extern const struct figure hintless_figures[], hintless_exam_figures[],
    hintless_merge_exam_figures[];

#endif
