/* adversary.h - links on which a policy does worst: a search within bounds of speed and change.
 *
 * A link is a loop of n slots of step_s seconds with speeds c_i [Mbit/s]:
 *
 *   low <= c_i <= high,   1/factor <= c_i / c_{i-1} <= factor   (c_{-1} = c_{n-1})
 *
 * The score of a link is the share of the offline optimum that the policy loses on it:
 *
 *   regret = (O - V) / O      where O >= F,  else (O - F) / F, which is below 0
 *
 * V is the sum of the session's rewards, O that of the best plan known (deciders/oracle.h). F is what
 * the lowest level earns without a stall, at least a quarter of what the best level earns so. Links on
 * which nobody can earn F prove nothing about a policy: the share of an optimum near 0 has no meaning.
 * Stalls have no limit, so V may be negative and the regret above 1.
 *
 * Search: independent evolutions, each from random walks within the bounds. A trial changes a
 * tournament's winner: a window is raised, lowered or set, the whole is shifted in time, or a window
 * comes from another link. The result is brought back into the bounds and replaces the worst of the
 * population if it scores higher. A link is brought back as the mean of the largest minorant and
 * the smallest majorant of ln c that keep to the factor (McShane). Links within the bounds stay as they are.
 * Each evolution gives its worst link, so the links differ.
 *
 * Within the search O comes from an oracle with few nodes, which takes 3 ms instead of 60. Its plan is
 * a real plan, so O is never too high. Measured: it is 0.1 % below the usual oracle on links of 0.8 to
 * 4.8 Mbit/s, 2 % on the bundled traces, and 17 % on the worst links of 0.2 to 6 Mbit/s. There the
 * search may miss links. The links that are returned are judged with the usual oracle, which is within
 * 0.3 % of its bound on them.
 *
 * Errors: those of algo_new, ERR_INVALID for weights under which no level earns anything, ERR_MEMORY,
 * and ADVERSARY_STOPPED.
 * Ownership: adversary_links_free releases what adversary_search filled.
 * Threads: evolutions are spread over cfg.threads; the result does not depend on it. progress is
 * called from the caller's thread. */
#ifndef ABR_ADVERSARY_H
#define ABR_ADVERSARY_H

#include "abr/deciders/algo.h"
#include "abr/emulator/emu.h"

#define ADVERSARY_STOPPED 1 /* progress returned true */
#define ADVERSARY_SLOTS_MIN 2
#define ADVERSARY_SLOTS_MAX 1000
#define ADVERSARY_SEARCHES_MAX 1000

/* What a policy plays, and how its sessions are scored. */
struct adversary_world {
    const struct video *video;
    struct emu_cfg emu;
    struct qoe qoe;
    bool count_first; /* false: chunk 0 at level 1, not counted (eval.h) */
    struct algo_ctx ctx;
};

struct adversary_cfg {
    double low_mbps, high_mbps; /* 0.2, 6 */
    double factor, step_s;      /* 2, 4 */
    int slots;                  /* 0: a quarter more than the video lasts */
    int searches, trials;       /* evolutions; links tried by each of them: 10, 3000 */
    uint64_t seed;
    int threads;
    /* Called from time to time with the finished share; true stops. May be NULL. */
    bool (*progress)(void *progress_ctx, double share);
    void *progress_ctx;
};

struct adversary_cfg adversary_cfg_default(void);

/* A session against the optimum. Sums over the counted chunks. */
struct adversary_score {
    double policy, optimum;          /* V, O */
    double bound;                    /* no plan earns more */
    double least;                    /* F */
    double stall_s, optimum_stall_s; /* without the start */
};
/* V / O; NaN where O < F. */
double adversary_share(const struct adversary_score *s);

struct adversary_link {
    struct trace *trace; /* owned */
    struct adversary_score score;
};

struct adversary_links {
    int n;                       /* = searches */
    struct adversary_link *link; /* (n), the smallest share first; owned */
    /* mean share of the random walks that the searches began with */
    double begin_share;
};

/* 0, or ERR_RANGE with the setting that is outside the limits. */
int adversary_check(const struct adversary_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
int adversary_slots(const struct adversary_cfg *cfg, const struct video *video);

int adversary_search(struct adversary_links *out, const char *policy,
                     const struct adversary_world *world, const struct adversary_cfg *cfg,
                     struct err *e) __attribute__((warn_unused_result));
void adversary_links_free(struct adversary_links *l);

/* out (n): a policy on given links, with the usual oracle. */
int adversary_judge(struct adversary_score *out, const char *policy,
                    const struct adversary_world *world, struct trace *const *traces,
                    int n, int threads, struct err *e)
    __attribute__((warn_unused_result));

/* Brings ln c (n) into the bounds. scratch: (n). */
void adversary_bound(double *ln, double *scratch, int n, double ln_low, double ln_high,
                     double ln_factor);

#endif
