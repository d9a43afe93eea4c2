/* edge_sim.h - one repetition of the mixture of experts in mobile edge computing.
 *
 * Experts are edge servers on a ring; one task arrives in each slot 1 .. T near one of them, m~.
 * It goes to an idle expert, which is busy for d = d_tr + d_ex slots and has learned the task at
 * the end of them; then the gate takes its step. While no expert is idle tasks wait in line; the
 * waiting is counted. After T the tasks in line and under way are finished (w_(T + d_T)).
 *
 * Source: Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge Computing", system model and
 * algorithm; task.h (Definition 1, Lemma 2), router.h (Definition 2), recall.h (G_T), servers.h (the
 * delays).
 * The step for task t uses the scores of the slot that routed it, theta_t, and is applied at
 * t + d_t, as printed. EDGE_STOP takes no step in slots after T1.
 * Every task has a truth of its own, a member of one of N clusters (the pool holds the centres).
 *
 * The series, one value per slot of the grid; tasks count when completed:
 *   ERROR               G_t
 *   PRINTED, EXACT      Proposition 9 as printed and corrected, of the L^(m) so far
 *   THEOREM             Theorem 2: 1/t sum { r^L A + (1 - r^L') r^(L - L') B } + own, L' = L at T1,
 *                       its O(sigma0^2) taken as `own`, the distance of two tasks of one cluster
 *   INSIDE, ACROSS      gate gaps of the last routed task (Proposition 7)
 *   DRIFT               mean over experts of ||w_t - w_T2||_inf (Proposition 8); NaN before T2
 *   HOME                share of the tasks since the last point that went to their own set
 *   READY               share of them that found an idle expert of their set (Proposition 6)
 *   WAITED              mean slots they waited in line
 *
 * Streams: the pool and the servers depend on (seed, repetition), a task also on its number alone,
 * so every rule meets the same tasks. Threads: pure function. */
#ifndef LAB_EDGE_SIM_H
#define LAB_EDGE_SIM_H

#include "base/err.h"
#include "lab/forgetting/exact.h"
#include "lab/forgetting/router.h"
#include "lab/forgetting/servers.h"

enum edge_rule { EDGE_STOP, EDGE_ON, EDGE_NEAREST, EDGE_POWERFUL };

enum edge_series {
    EDGE_ERROR,
    EDGE_PRINTED,
    EDGE_EXACT,
    EDGE_THEOREM,
    EDGE_INSIDE,
    EDGE_ACROSS,
    EDGE_DRIFT,
    EDGE_HOME,
    EDGE_READY,
    EDGE_WAITED,
    EDGE_SERIES,
};

struct edge_sim_cfg {
    struct task_cfg
        task; /* tasks = clusters = N; within is that of a task in its cluster */
    struct router_cfg router;
    enum edge_rule rule;
    double delta;
    int slots; /* T */
};

/* T 3000, N 10, sigma0 .6, eta .2, p 15, s 10, delta .1; sigma_t .1, v = 3 w, within .3 as in
 * forgetting_sim.h, and noise Unif[0, .03] (the source: o(1); small against gate gaps of .1). */
struct edge_sim_cfg edge_sim_default(int experts, enum edge_rule rule);

int edge_sim_t1(const struct edge_sim_cfg *c); /* d_u + ceil(M ln(M / delta)) */
double
edge_sim_mth(const struct edge_sim_cfg *c); /* min(d_u, log_N(1 / delta)), Prop. 6 */
int edge_sim_t2(
    const struct edge_sim_cfg *c); /* T1 + d_u + ceil(N (M_th + ln(1/delta))) */
double
edge_sim_need(const struct edge_sim_cfg *c); /* N M_th ln(1 / delta) experts, Prop. 6 */

struct edge_sim_end {
    double error, printed, exact; /* after the last task */
    int waited;                   /* tasks that found no idle expert */
    double wait;                  /* slots in line, mean over all tasks */
    double delay;                 /* d_t, mean over all tasks */
    int set[RECALL_EXPERTS];      /* cluster of each expert's specialty */
};

/* A and B of the tasks of a repetition's pool: E||w||^2 and E||w - w'||^2. */
struct exact_norms edge_sim_norms(const struct task_pool *p, const struct task_cfg *c);

/* "gate that stops", ... */
const char *edge_sim_rule(enum edge_rule rule);

/* Who of the idle servers gets the task with gate scores h; -1 when nobody is idle. r: the gate's
 * noise. */
int edge_sim_choose(enum edge_rule rule, const struct router *gate, const double *h,
                    const struct servers *s, const struct servers_task *k, struct rng *r);

/* The pool of a repetition; the same for every rule and M. */
void edge_sim_pool(struct task_pool *p, const struct edge_sim_cfg *c, uint64_t seed,
                   int repetition);

/* out (EDGE_SERIES, points) by rows at the slots of `grid` (ascending); points may be 0. pool NULL:
 * that of the repetition. 0 or ERR_MEMORY. */
int edge_sim_run(double *out, struct edge_sim_end *end, const struct edge_sim_cfg *c,
                 const struct task_pool *pool, const int *grid, int points, uint64_t seed,
                 int repetition) __attribute__((warn_unused_result));

#endif
