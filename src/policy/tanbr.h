/* tanbr.h - the tree-structured neural bandit that chooses how experts are merged.
 *
 *   per time slot t:  psi_t the mix of tasks (estimated by the caller)
 *     U_l = psi' f(x_l) + nu1 rho^h_l + gamma sqrt(g_l' Z^-1 g_l / w)   of every leaf (Eq. 4)
 *     x_t = x_l of the leaf with the largest U, the first among equals   (Alg. 1, l. 8)
 *     ... the merged expert sum_k x_k theta_k (policy/bank.h) serves the slot ...
 *     reward r_t (V), visit of the leaf, expansion, Z, network           (l. 10-18)
 *
 * Source: Han et al. (Tanbr), Algorithm 1. The tree is policy/tree.h, the network and its bounds
 * policy/nucb.h; both say where they differ.
 *
 * Prior: the reward of each merge in an emulation, before any session is served. The paper's
 * "fine-tune before online inference" (Sec. III-B) uses labelled data instead:
 *
 *   f(x) = m(x) + network(x)           m: rewards at the points of a lattice (policy/lattice.h),
 *                                      interpolated; the network learns r - m(x)
 *   before the first slot, `warm` rounds of Algorithm 1 with m as rewards and psi ~ Dirichlet(1):
 *   leaves are visited and halved; the network and Z do not change
 *
 * So the first choice is the best static merge of the tree for psi, and the bandit learns where real
 * rewards differ from the emulation. Without a prior m = 0 and the tree begins as a root, as in the
 * printed algorithm.
 *
 * A slot may outlast the process: tanbr_choose changes nothing, so the same state and psi give the
 * same node. A node's number and weights are valid as long as the state is.
 *
 * Errors: ERR_RANGE, ERR_MEMORY, ERR_NUMERIC (of nucb_learn; the visit is then not counted),
 * ERR_CORRUPT (a state of wrong length, checksum or shape), ERR_CONFLICT (a sound state of another
 * configuration). Nothing allocates after _new.
 * Threads: not shared, one per thread. */
#ifndef POLICY_TANBR_H
#define POLICY_TANBR_H

#include "policy/nucb.h"
#include "policy/tree.h"

/* Expected rewards of merges; steps 0: no prior. */
struct tanbr_prior {
    int steps, tasks;   /* of the lattice; the first tasks, m of other tasks is 0 */
    const float *value; /* (lattice_points(experts, steps), tasks); borrowed for _new */
};

struct tanbr_cfg {
    int experts, tasks; /* K, V */
    int keep;           /* B: most weights that are not 0 */
    int max_nodes;      /* of the tree */
    enum tree_split split;
    double border;             /* likewise */
    double c, delta, nu1, rho; /* of Eq. 2; nu1 and rho also of Eq. 4 */
    int width, depth;          /* of the network */
    int history, steps, batch; /* of its learning */
    double lambda, gamma, eta;
    enum nucb_cov cov;
    struct tanbr_prior prior; /* K <= LATTICE_DIM_MAX */
    int warm;                 /* rounds on the prior */
};

struct tanbr;

/* A choice and its bounds. */
struct tanbr_choice {
    int node, depth;
    int leaves;          /* number of candidates */
    double mean;         /* expected reward, psi' f, the prior's m included */
    double width, grain; /* gamma sqrt(...), nu1 rho^h; U is the sum of the three */
    bool left;           /* keeping `keep` weights took x out of its cell */
};

struct tanbr_stats {
    struct tree_stats tree;
    int64_t rounds; /* rewards learned from */
    int64_t left;   /* of these: with a candidate outside its cell */
    int64_t failed; /* rewards or updates that were not finite */
};

/* The defaults of tree_cfg_default and nucb_cfg_default; no prior. */
struct tanbr_cfg tanbr_cfg_default(int experts, int tasks);
/* For a bandit with a prior, which the caller sets: warm 2000, gamma 0.01, eta 0.003. The values are a
 * compromise between a prior that fits and one that does not, chosen on generated links (README of the
 * lab: abrd lab merge). */
struct tanbr_cfg tanbr_cfg_informed(int experts, int tasks);
int tanbr_cfg_check(const struct tanbr_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

struct tanbr *tanbr_new(const struct tanbr_cfg *cfg, uint64_t seed, struct err *e);
void tanbr_free(struct tanbr *t);
const struct tanbr_cfg *tanbr_cfg(const struct tanbr *t);

/* The weights for a slot whose mix is psi (V). x (K): >= 0, of sum 1. why may be NULL. Returns the
 * node for tanbr_learn. Changes only scratch. */
int tanbr_choose(struct tanbr *t, float *x, struct tanbr_choice *why, const float *psi);

/* The weights of a node that tanbr_choose returned. */
void tanbr_weights(float *x, const struct tanbr *t, int node);

/* Learns from a slot. reward (V) of each task, about unit size; trust (V): 0 without a sample, 1 for a
 * usual number of samples (NULL: all 1). */
int tanbr_learn(struct tanbr *t, int node, const float *psi, const float *reward,
                const float *trust) __attribute__((warn_unused_result));

/* The same for weights x (K) of another bandit; the visit counts for the leaf that contains them. */
int tanbr_learn_at(struct tanbr *t, const float *x, const float *psi, const float *reward,
                   const float *trust) __attribute__((warn_unused_result));

/* Forgets the rewards of a task that is not in the prior (nucb_forget). The tree does not change. */
void tanbr_forget(struct tanbr *t, int task);

/* Expected rewards of any weights: out (V). */
void tanbr_predict(float *out, struct tanbr *t, const float *x);

struct tanbr_stats tanbr_stats(const struct tanbr *t);
const struct tree *tanbr_tree(const struct tanbr *t); /* borrowed */

/* Tree, network, covariance and history as flat bytes with a checksum; their number depends on the
 * shapes only. The prior is not included, but a state fits only the same prior (ERR_CONFLICT). A failed
 * _put changes nothing; if the checksum was right and the content wrong, the tree is a new one. */
size_t tanbr_state_size(const struct tanbr *t);
void tanbr_state_get(const struct tanbr *t, void *out);
int tanbr_state_put(struct tanbr *t, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
