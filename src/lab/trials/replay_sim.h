/* replay_sim.h - trials whose sessions are replayed, with emulated viewers whose truth is known.
 *
 * A viewer has a link and leaves after a number of chunks. The link slows down while a high level is
 * fetched: a download takes 1 + crowding level / (levels - 1) times as long. A recording of the session
 * (abr/recorded/recorded.h) shows the throughput that came out, so a replay cannot see that another level
 * would have had another.
 *
 * Each viewer is emulated with both deciders, and each of these sessions is recorded and replayed with both.
 * A trial draws viewers with replacement and their arms by a fair coin. So the truth is known exactly: the
 * mean of the replays' differences less the mean difference of what happened, over all viewers.
 *
 * Errors: ERR_MEMORY, those of algo_new. Threads: a pool is read-only after replay_sim_pool. */
#ifndef LAB_REPLAY_SIM_H
#define LAB_REPLAY_SIM_H

#include "abr/recorded/replay_bias.h"

#define REPLAY_SIM_FIGURES COMPARE_WATCHED /* all but the watched time */

struct replay_sim_pool {
    int n;
    struct replay_sim_viewer {
        double y[2][REPLAY_SIM_FIGURES]; /* with each decider; clipped */
        double p[2][2]
                [REPLAY_SIM_FIGURES]; /* recorded with one, replayed with the other */
    } * viewer;                       /* (n) owned */
};

int replay_sim_pool(struct replay_sim_pool *out, const char *const algo[2], int n,
                    double crowding, uint64_t seed, struct err *e)
    __attribute__((warn_unused_result));
void replay_sim_pool_free(struct replay_sim_pool *p);

struct replay_sim_cfg {
    const struct replay_sim_pool *pool;
    bool own;     /* the control is the player's own: it cannot be replayed */
    int sessions; /* of a trial, both arms */
    uint64_t seed;
};

/* The true bias of each figure, and the true difference. */
void replay_sim_truth(double bias[REPLAY_SIM_FIGURES],
                      double difference[REPLAY_SIM_FIGURES],
                      const struct replay_sim_cfg *c);
int replay_sim_run(struct replay_bias out[REPLAY_SIM_FIGURES],
                   const struct replay_sim_cfg *c, uint64_t trial, struct err *e)
    __attribute__((warn_unused_result));

#endif
