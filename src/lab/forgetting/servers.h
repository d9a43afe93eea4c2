/* servers.h - edge servers on a ring: which are idle, how long a task takes, which tasks wait.
 *
 * One task arrives in each slot, near one of the servers, m~. Given to server m it takes
 *   d = d_tr + d_ex,  d_tr = 1 + floor(5 f u),  f the hops between m~ and m over half the ring
 *                     d_ex = power_m + jitter,  power_m uniform in {1,2,3}, jitter 0, 1, 2 with
 *                                               0.6, 0.3, 0.1
 * slots, in which m is busy; u ~ Unif[0,1). So d is 2 to d_u = 10, on average about 4.4, and five
 * servers are just enough. While no server is idle, tasks wait in line, and the waiting is counted.
 *
 * Source: Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge Computing", system model; it
 * says that delays are random and bounded, the distributions are ours.
 *
 * Threads: not shared. */
#ifndef LAB_SERVERS_H
#define LAB_SERVERS_H

#include "base/rng.h"
#include "lab/forgetting/recall.h"

#define SERVERS_DELAY 10 /* d_u */

struct servers {
    int n;
    bool idle[RECALL_EXPERTS];
    int power[RECALL_EXPERTS]; /* slots of execution, without jitter: small is powerful */
    int done[RECALL_EXPERTS];  /* the slot in which a busy one is done */
    int next;           /* the task at the head of the line; task i arrives in slot i */
    int waited;         /* tasks that did not start in their slot */
    double wait, delay; /* slots, summed over the tasks that started */
};

/* Draws the powers. */
void servers_init(struct servers *s, int n, struct rng *r);

struct servers_task {
    int near;              /* m~ */
    double travel, jitter; /* uniform draws of its delays */
};
void servers_arrive(struct servers_task *k, const struct servers *s, struct rng *r);

/* Is a task of the `slots` that arrive waiting in slot t, and a server idle for it? */
bool servers_ready(const struct servers *s, int t, int slots);

/* The idle server with the fewest hops, the more powerful one of two; the most powerful idle one,
 * the nearer one of two. -1 when none is idle. */
int servers_nearest(const struct servers *s, const struct servers_task *k);
int servers_powerful(const struct servers *s, const struct servers_task *k);

/* The head of the line goes to m, idle, in slot t; returns the slots it waited. */
int servers_start(struct servers *s, int m, const struct servers_task *k, int t);

/* Has m's task come to its end in slot t? Then m is idle again. */
bool servers_finish(struct servers *s, int m, int t);

bool servers_busy(const struct servers *s); /* is any server? */

#endif
