/* mixture.h - one repetition of a mixture of experts that learns tasks one after another.
 *
 * There are two settings and two kinds of task, which share the gate (router.h):
 *
 *   continual learning   one task per round; the chosen expert learns it in the same round
 *   edge computing       one task per slot arrives near one of the edge servers (servers.h). It goes to an
 *                        idle server, which is busy for d = d_tr + d_ex slots and has learned the task at
 *                        the end of them. While no server is idle, tasks wait in line. After T the tasks in
 *                        line and under way are finished
 *   linear tasks         task.h, recall.h; `within` is that of a task's own truth in the edge setting
 *   images               digits.h, image_experts.h; every task may have names of its own for its digits
 *
 * MIXTURE_STOP in continual learning: after T1 an expert within gamma of the chosen one is flagged; the
 * gate stops for good when every expert is flagged. In the edge setting the gate takes no step in slots
 * after T1. A step uses the scores with which the task was routed, as printed.
 *
 * Sources: Li et al., "Theory on Mixture-of-Experts in Continual Learning", Algorithm 1 and both
 * experiments; Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge Computing", system model,
 * algorithm and both experiments. On images sigma0 is measured on the inputs and sets the gate's
 * constants by the orders of Algorithm 1: eta = alpha = sigma0^0.5, noise = gamma = sigma0^1.25. The
 * edge paper says nothing about its images; there alpha = 0 (Definition 2), the noise is
 * Unif[0, sigma0^2], and N = 3, s = 100 and the gate's input are those of the first paper.
 *
 * The series, one value per point of a grid of rounds or slots; NaN where not defined:
 *   ERROR               G_t; on images the share of test images named wrongly
 *   FORGOT              F_t; continual learning
 *   BOUND_F, BOUND_G    linear. Theorem 1 as printed: for t > T1 F_t = (T1 - 1)/(t - 1) F_T1, and L is
 *                       frozen at T1 in G. Edge: BOUND_G is Theorem 2, 1/t sum { r^L A + (1 - r^L')
 *                       r^(L - L') B } + own, L' = L at T1, its O(sigma0^2) taken as `own`, the distance
 *                       of two tasks of one cluster
 *   EXACT               linear, edge: Proposition 9 corrected (recall.h), of the L so far
 *   INSIDE, ACROSS      mean gate gaps in an expert set and between sets, last routed task
 *   CHANGED             linear, continual: share of experts that changed their set since the last point
 *   TRAVEL              linear, continual: mean ||w_t - w_(last point)|| over experts
 *   LARGEST, SMALLEST   linear, continual: share of the experts in the largest and smallest set
 *   DRIFT               linear, edge: mean over experts of ||w_t - w_T2||_inf; NaN before T2
 *   HOME                edge or images: share of the tasks since the last point that went to an expert of
 *                       their own set; NaN without a gate and for one expert
 *   READY               edge: share of them that found an idle expert of their set
 *   SPECIAL             images: share of them whose kind the chosen expert has learned most often
 *   STEP                images: mean ||w_t - w_(t-1)|| of what was learned since the last point
 *   RUNNING             continual: 1 while the gate learns
 * An expert's set is the cluster of its specialty (router.h).
 *
 * Streams depend on (seed, repetition) and in the edge setting on the task's number. They are drawn
 * apart, so all configurations of a setting meet the same tasks and data.
 * Errors: ERR_MEMORY. Threads: pure function of the set of images. */
#ifndef LAB_MIXTURE_H
#define LAB_MIXTURE_H

#include "lab/forgetting/digits.h"
#include "lab/forgetting/exact.h"
#include "lab/forgetting/router.h"
#include "lab/forgetting/servers.h"

enum mixture_rule { MIXTURE_STOP, MIXTURE_ON, MIXTURE_NEAREST, MIXTURE_POWERFUL };

enum mixture_series {
    MIXTURE_ERROR,
    MIXTURE_FORGOT,
    MIXTURE_CORE, /* as many as a comparison with closed forms needs */
    MIXTURE_BOUND_F = MIXTURE_CORE,
    MIXTURE_BOUND_G,
    MIXTURE_EXACT,
    MIXTURE_INSIDE,
    MIXTURE_ACROSS,
    MIXTURE_CHANGED,
    MIXTURE_TRAVEL,
    MIXTURE_LARGEST,
    MIXTURE_SMALLEST,
    MIXTURE_DRIFT,
    MIXTURE_HOME,
    MIXTURE_READY,
    MIXTURE_SPECIAL,
    MIXTURE_STEP,
    MIXTURE_RUNNING,
    MIXTURE_SERIES,
};

struct mixture_cfg {
    bool edge;
    enum mixture_rule rule;   /* the last two: edge only */
    int rounds;               /* T, rounds or slots */
    struct task_cfg task;     /* edge: tasks = clusters = N; images: these two alone */
    struct router_cfg router; /* images: experts alone */
    double delta;             /* edge */
    const struct digits_set *images; /* borrowed; NULL: linear tasks */
    struct digits_cfg digits;
};

/* The papers' settings for linear tasks.
 * Continual: d 10, s 6, sigma0 0.4, sigma_t 0.1, 6 tasks in 3 clusters, v = 3 w, within 0.3, eta 0.5,
 * alpha 0.5, noise 0.3, gamma = sigma0^1.25, T 1000.
 * Edge: N 10, p 15, s 10, sigma0 0.6, eta 0.2, delta 0.1, T 3000, noise Unif[0, 0.03] (the source:
 * o(1); small against gate gaps of 0.1); the rest as above. */
struct mixture_cfg mixture_default(bool edge, int experts, enum mixture_rule rule);
/* The same on images: 3 tasks, delta 0.1. */
struct mixture_cfg mixture_images(const struct digits_set *set, bool edge, int experts,
                                  enum mixture_rule rule);
/* The gate's constants on images with that sigma0. */
struct router_cfg mixture_image_router(bool edge, int experts, int pixels, double sigma0);

/* T1: continual ceil(M / eta); edge d_u + ceil(M ln(M / delta)). */
int mixture_t1(const struct mixture_cfg *c);
/* Edge. Proposition 6: M_th = min(d_u, log_N(1 / delta)), and N M_th ln(1 / delta) experts;
 * T2 = T1 + d_u + ceil(N (M_th + ln(1 / delta))). */
double mixture_mth(const struct mixture_cfg *c);
double mixture_need(const struct mixture_cfg *c);
int mixture_t2(const struct mixture_cfg *c);

/* A and B of a repetition's linear tasks: E||w||^2 and E||w - w'||^2. */
struct exact_norms mixture_norms(const struct task_pool *p, const struct mixture_cfg *c);

/* The linear tasks of a repetition; edge: the clusters' centres. The same for every rule and M. */
void mixture_pool(struct task_pool *p, const struct mixture_cfg *c, uint64_t seed,
                  int repetition);

struct mixture_end {
    double error, printed,
        exact;               /* G after the last task; Proposition 9 on linear tasks */
    double sigma0;           /* of the images */
    int t1, stopped;         /* round after which the gate stood still; 0: never */
    int set[RECALL_EXPERTS]; /* cluster of each expert's specialty */
    int chosen[RECALL_EXPERTS][TASK_POOL]; /* continual: picks of m for a cluster in the
                                              second half of the run */
    int waited;                            /* tasks that found no idle expert */
    double wait, delay; /* slots in line and d_t, means over all tasks */
};

/* Where the series go. */
struct mixture_to {
    const int *grid; /* (points), ascending; continual: from 2 on */
    int points;      /* may be 0 */
    int series;      /* how many of them, MIXTURE_CORE or MIXTURE_SERIES */
    double *value;   /* (series, points) by rows */
    int *set;        /* (points, experts) or NULL: each expert's set, continual */
};

/* pool NULL: that of the repetition. */
int mixture_run(struct mixture_end *end, const struct mixture_to *to,
                const struct mixture_cfg *c, const struct task_pool *pool, uint64_t seed,
                int repetition, struct err *e) __attribute__((warn_unused_result));

/* How the picks of a cluster's tasks spread, means over the clusters that have experts:
 * home: share that went to the cluster's own set; even: exp(entropy of the shares inside the set)
 * / |set|, 1 when all are chosen equally often (Proposition 3). served: share of the clusters that
 * have an expert set at all. */
struct mixture_spread {
    double home, even, served;
};
struct mixture_spread mixture_spread(const struct mixture_end *end, int experts,
                                     int clusters);

#endif
