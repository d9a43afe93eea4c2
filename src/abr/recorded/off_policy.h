/* off_policy.h - what another policy would have earned in sessions that explored, from the probabilities with
 * which their levels were drawn. Unlike a replay it sees what the network really did.
 *
 * In state s_t the daemon drew level a_t with probability m_t and saw the reward r_t. The policy would have
 * taken it with probability p_t: rho_t = min(p_t / m_t, OFF_POLICY_CLIP). From the last chunk back,
 *
 *   D_t = V(s_t) + rho_t (r_t + D_(t+1) - Q(s_t, a_t)),   V(s) = sum over levels of p(a | s) Q(s, a)
 *
 * and the estimate of a session of n chunks is D_0 / n. It is doubly robust (Jiang, Li, ICML 2016, Eq. 10,
 * without discount): unbiased if the probabilities are right, whatever Q is. Q reduces variance. Differs: rho
 * is clipped, which moves the estimate towards Q where p / m is above the clip.
 *
 * Q is a simple model: the reward of the level, less what the wait would cost if the chunk came at the harmonic
 * mean of the last OFF_POLICY_HARMONIC throughputs, and the mean reward of the sessions for each later chunk.
 *
 * A level that was not drawn (for example the only one that was offered) has rho = 1. A session in which the
 * player fetched another level than the one drawn does not count.
 *
 * Effective sample size. With w_t = rho_0 ... rho_t of each session, chunk t has (sum w)^2 / sum w^2 of its
 * n_t sessions; the mean over all chunks, weighted by n_t. Long sessions and policies that differ much from
 * what was drawn leave little. Below OFF_POLICY_LEAST there is no estimate, and `why` says so.
 *
 * Interval: the mean over sessions, 95 %, Student's quantile; for one look.
 *
 * Errors: ERR_MEMORY, those of algo_new. Threads: pure functions. */
#ifndef ABR_OFF_POLICY_H
#define ABR_OFF_POLICY_H

#include "abr/deciders/algo.h"
#include "abr/recorded/recorded.h"
#include "base/stats.h"

#define OFF_POLICY_CLIP 10.0
#define OFF_POLICY_LEAST 30.0 /* effective sessions */
#define OFF_POLICY_HARMONIC 5

/* One decision of a session. */
struct off_policy_step {
    double ratio;  /* p / m, not clipped */
    double reward; /* what was seen */
    double q, v;   /* of the model: of the level taken, and of the policy */
};
/* D_0 / n. */
double off_policy_session(const struct off_policy_step *s, int n);

/* (sum w)^2 / sum w^2; 0: all are 0. */
double off_policy_effective(const double *w, int n);

struct off_policy {
    struct stats_interval value; /* reward per chunk; NaN: no estimate */
    double logged;               /* mean reward per chunk of the same sessions */
    double effective;
    int sessions, not_followed; /* that explored and count; that do not count */
    char why[96];               /* of no estimate; "": there is one */
};

/* Estimates from the sessions (n) that explored; others are skipped. The policy must keep no state between
 * chunks. A network takes its best level, as in service. */
int off_policy_run(struct off_policy *out, const char *policy, const struct algo_ctx *ctx,
                   const struct recorded *sessions, int n, struct err *e)
    __attribute__((warn_unused_result));

#endif
