/* cells.h - the exam by cells: may these weights be published?
 *
 * A cell is a profile on a kind of link: the ten built-in profiles (qoe.h) on each of gen_kinds, on
 * links of gen_random_link, and on links that the daemon's own viewers had (cells_record). The policies
 * decide as they are served, with a ceiling's caution (deciders/caution.h). Every other
 * generated link has a drawn buffer and round trip, every fourth a ladder of its own. Three policies play
 * the same links greedily: the shipped one, the champion, which is published, and a challenger. A link is
 * a sample, so differences are paired. With d the loss of the challenger, m and s its mean and standard
 * error over the n links of a cell:
 *
 *   below shipped    m_shipped - Z_WORSE s > 0, or m_shipped > margin u and m_shipped - Z_BOUND s > 0
 *   below champion   m_champion - Z_WORSE s > 0
 *   stalls           above the profile's ceiling, 2 % above shipped and champion, and significant
 *   start-up         above the profile's ceiling, and 2 % above shipped and champion
 *
 * u is the size of the shipped policy's mean in the cell, at least 0.25 scaled rewards. A cell has few links,
 * and small losses in many cells would pass. So there are groups: all links of a kind, all profiles
 * together, and all links of a profile. A group's loss is in units of its cells:
 *
 *   worse            m_shipped + Z_BOUND s > margin     non-inferiority: however slow a drift is
 *   better           -m_champion - Z_BETTER s > 0
 *
 * Recorded links outnumber those of any other kind, so that gains for the daemon's own viewers are seen. A
 * profile's group uses only as many of them as of other kinds. Otherwise they could hide losses elsewhere.
 *
 * Verdicts: WORSE, if a cell or a group is worse. BETTER, if none is and a group is better. Else EVEN: the
 * caller holds an update and learns on. It publishes a correction of the forecast, whose gain is measured
 * elsewhere (online_offer). FALLEN: not BETTER, and the champion itself is below the shipped policy in a cell,
 * by Z_WORSE.
 *
 * Error rates. For a challenger whose true loss is the margin in a profile or a kind, P(published) <= 5 %
 * per exam, whatever the number of groups, since each must pass (intersection-union; Berger 1982). For one
 * that equals shipped policy and champion, P(refused for one of 80 cells) <= 12 %, P(called better in one
 * of 18 groups) <= 0.15 %. The last is small because a daemon has hundreds of exams. An exam ends after half
 * of the links when a cell's loss is above the margin by Z_WORSE, which can only refuse.
 *
 * A turn of the learner may have several exams: one for an update and each of its retries, then one for each of
 * up to three sizes of a correction. With n challengers at the margin, P(one is published) <= n times 5 %.
 * Losses do not add up over publications: each replaces an eighth of the generated links, recorded ones come
 * with viewers, the margin is always that to the shipped policy, and each exam judges the champion again.
 *
 * Determinism: same configuration, weights and recorded links, same verdict. Threads: not shared. */
#ifndef SERVE_CELLS_H
#define SERVE_CELLS_H

#include "abr/emulator/qoe.h"
#include "abr/traces/trace.h"
#include "base/err.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

#define CELLS_KINDS 8 /* gen_kinds, random, recorded */
#define CELLS_GROUPS (CELLS_KINDS + QOE_PROFILES)
#define CELLS_MAX (QOE_PROFILES * CELLS_KINDS)
#define CELLS_LINKS_MAX 64
#define CELLS_RECORDED_LEAST 8 /* links before the recorded kind counts */

enum cells_verdict { CELLS_WORSE, CELLS_EVEN, CELLS_BETTER, CELLS_FALLEN };
enum cells_why {
    CELLS_FINE,
    CELLS_BELOW_SHIPPED,
    CELLS_BELOW_CHAMPION,
    CELLS_STALLS,
    CELLS_STARTUP,
    CELLS_NOT_FINITE
};

struct cells_cfg {
    int links;     /* 24 of each kind; 4 .. CELLS_LINKS_MAX, even */
    int recorded;  /* 48: most recorded links, links .. CELLS_LINKS_MAX, even */
    double margin; /* 0.02 */
    uint64_t seed;
    double source_share; /* 0.1: most recorded links of one source, but at least one */
};

/* One cell in the last exam. Scores are means of scaled reward per chunk. */
struct cells_row {
    uint8_t profile, kind; /* index of qoe_profiles; cells_kind_name */
    uint8_t why;           /* enum cells_why */
    int links;             /* played */
    float shipped, champion, challenger;
    float loss, loss_bound; /* of the challenger against shipped, shares of u */
    float gain;             /* against the champion, share of u */
};

struct cells_report {
    enum cells_verdict verdict;
    int n, worse; /* cells; cells that are worse */
    int worst; /* cell with the largest loss_bound, among the worse ones if any; -1: none */
    int better;               /* group: kind k, or CELLS_KINDS + profile; -1: none */
    uint64_t exams, sessions; /* so far: exams; emulated sessions */
    int recorded;             /* links */
    struct cells_row row[CELLS_MAX];
    /* kind k, or CELLS_KINDS + profile; losses are shares */
    struct cells_group {
        int links; /* 0: not examined */
        float loss, loss_bound, gain;
        bool worse;
    } group[CELLS_GROUPS];
};

struct cells;

/* shipped: copied; also the first champion. */
struct cells *cells_new(const struct cells_cfg *cfg, const struct policy *shipped,
                        struct err *e);
void cells_free(struct cells *c);

/* Measured: 0.42 s of one core with 24 links and 48 recorded ones, which are 2,160 emulated sessions. */
enum cells_verdict cells_judge(struct cells *c, const struct policy *challenger);
/* The challenger of the last exam is the champion now. */
void cells_promote(struct cells *c);
/* Another champion, which has not been examined. */
void cells_champion(struct cells *c, const struct policy *p);
const struct policy *cells_shipped(const struct cells *c);
const struct cells_report *cells_report(const struct cells *c);

/* A link of the daemon's own viewers; taken. The newest cfg.recorded are kept. source: of the trajectory
 * (learn/online.h); 0: unknown, no bound. A link of a source that has its share replaces the oldest of
 * that source. */
void cells_record(struct cells *c, struct trace *link, uint64_t source);

/* "broadband", ..., "random", "recorded". */
const char *cells_kind_name(int kind);
/* "fine", "below shipped", ... */
const char *cells_why_name(enum cells_why why);
/* "worse", "even", "better", "fallen". */
const char *cells_verdict_name(enum cells_verdict v);

#endif
