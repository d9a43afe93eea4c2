/* compare.h - arms of a trial compared: what viewers saw, differences that hold at any look, guard rails.
 *
 * Sessions are assigned to arms at random, by fixed shares. Arm 0 is the control. A session that ended
 * shows one value per figure:
 *
 *   figure       value of a session                                 counts within   scale
 *   startup      wait for the first picture [s]                     0 .. 20         1
 *   stall_ratio  stalls / (stalls + media played)                   0 .. 0.05       0.01
 *   quality      mean points of its chunks                          0 .. 100        10
 *   switches     changes of level per minute of media               0 .. 15         2
 *   qoe          mean reward of its chunks, by its own weights      -200 .. 200     20
 *   watched      media played [s]                                   0 .. 10800      1800
 *
 * Values outside are set to the nearest bound, because single sessions would decide about a mean with a
 * heavy tail. So the figures are those of clipped values, and compare_arm counts the clipped sessions. The
 * scale is a typical standard deviation; it only decides where intervals are tightest.
 *
 * Each other arm is compared with the control (base/confseq.h: two-sided, level COMPARE_ALPHA, every
 * interval by itself). Strata are kinds of network that were known before the assignment: what a session
 * shows later may follow from its arm. The mean of a stratum only removes variance.
 *
 * Guard rails. An arm is surely worse if the interval of its difference in stall_ratio or in startup lies
 * above the margin. For an arm that is like the control, each of the two is wrong with probability at most
 * COMPARE_ALPHA / 2 over all looks, with a margin of 0. A larger margin makes it rarer.
 *
 * Flow of sessions, as CONSORT draws it:
 *
 *   assigned  = counted + again + fell_back
 *   again       their viewer already had a session of this trial; the unit of assignment is the viewer
 *   fell_back   their arm was stopped before they began
 *   counted   = running + empty (ended without a chunk) + analysed
 *
 * Threads: plain data, not shared. No allocation. */
#ifndef ABR_COMPARE_H
#define ABR_COMPARE_H

#include "base/confseq.h"

#include <stdbool.h>
#include <stdint.h>

#define COMPARE_ARMS 8
#define COMPARE_ALPHA 0.05
#define COMPARE_SHARES_ALPHA 0.001 /* of the check of the shares */
#define COMPARE_NETWORKS 4         /* unknown, slow, middle, fast */

enum compare_figure {
    COMPARE_STARTUP,
    COMPARE_STALL_RATIO,
    COMPARE_QUALITY,
    COMPARE_SWITCHES,
    COMPARE_QOE,
    COMPARE_WATCHED,
    COMPARE_FIGURES
};

struct compare_kind {
    const char *name, *unit, *help;
    double lo, hi, scale;
    int digits; /* behind the point, for people */
    bool lower; /* a lower value is better for the viewer */
};
extern const struct compare_kind compare_kinds[COMPARE_FIGURES];
/* "unknown", "slow", "middle", "fast"; ends with NULL. */
extern const char *const compare_networks[COMPARE_NETWORKS + 1];
/* By the rate that sessions of the network begin with at least [kbit/s]; 0: unknown. Slow: below 3000.
 * Fast: from 15000 on. */
int compare_network(double start_kbps);

struct compare_cfg {
    int arms;                   /* 2 .. COMPARE_ARMS */
    double share[COMPARE_ARMS]; /* positive */
    double
        sessions; /* analysed sessions of an arm and the control: where intervals are tightest */
    double stall_margin, startup_margin_s; /* of the guard rails; not negative */
};

/* One session that ended; NaN: not known. */
struct compare_session {
    double value[COMPARE_FIGURES];
};

struct compare_cell {
    uint64_t n, clipped;
    double sum, squares; /* of clipped values */
};

struct compare_arm {
    uint64_t counted, again, fell_back, ended, empty;
    struct compare_cell cell[1 + COMPARE_NETWORKS][COMPARE_FIGURES]; /* 0: all networks */
};

struct compare {
    struct compare_cfg cfg;
    struct compare_arm arm[COMPARE_ARMS];
    struct confseq diff[COMPARE_ARMS][1 + COMPARE_NETWORKS][COMPARE_FIGURES];
};

struct compare_cfg compare_cfg_default(void);
void compare_init(struct compare *c, const struct compare_cfg *cfg);

enum compare_assigned { COMPARE_COUNTED, COMPARE_AGAIN, COMPARE_FELL_BACK };
void compare_assign(struct compare *c, int arm, enum compare_assigned how);

/* The end of a counted session. chunks 0: it is empty. */
struct compare_ended {
    bool started; /* startup_s is known */
    double startup_s, stall_s, played_s, points,
        reward; /* the last two: sums over the chunks */
    uint32_t chunks, switches;
};
/* Of a session with a chunk; not clipped. */
struct compare_session compare_values(const struct compare_ended *e);
void compare_end(struct compare *c, int arm, int network, const struct compare_ended *e);
/* The same with values, for simulations. */
void compare_add(struct compare *c, int arm, int network,
                 const struct compare_session *s);

/* Adds the sessions of another process, which has the same arms and shares. The intervals hold as before
 * (confseq_merge). */
void compare_merge(struct compare *to, const struct compare *from);

/* Arm minus control. network: 0 for all, else 1 + kind. */
struct confseq_interval compare_diff(const struct compare *c, int arm, int network,
                                     enum compare_figure figure);
/* Estimate of how many more analysed sessions, of arm and control together, make the interval exclude 0 if
 * the difference stays as it is. 0: the interval excludes it already. INFINITY: not known. */
double compare_needed(const struct compare *c, int arm, enum compare_figure figure);
/* The figure by which the arm is surely worse than the control by more than the margin; -1: none. */
int compare_worse(const struct compare *c, int arm);
/* Sample ratio mismatch: true if the arms' numbers of sessions contradict the shares. See confseq.h. */
bool compare_mismatch(double *log_evidence, const struct compare *c);

uint64_t compare_running(const struct compare_arm *a);
uint64_t compare_analysed(const struct compare_arm *a);
double compare_mean(const struct compare_cell *k);
double compare_deviation(const struct compare_cell *k);

#endif
