/* hintless.h - viewers without a hint: how their levels are decided, and what is learned from them.
 *
 * Time is divided into slots. Everything that decides is fixed during a slot: the mix psi, the mean
 * hint, the head that guesses profiles, and the merged expert. So a repeated question gets the same
 * answer during a slot, also after a restart: the state file is written when a slot begins. A crash
 * loses what was learned since then.
 *
 * Mode merge. A bandit (policy/tanbr.h) chooses weights x for psi. The experts of the merge policy are
 * merged to sum_k x_k W_k (policy/bank.h), packed and published with the number of the slot as the
 * version. No router is needed. At the end of the slot the bandit learns the reward of every task v:
 *
 *   f_v = sum_i w_iv (r_iv - low_iv) / sum_i w_iv (high_iv - low_iv)         clipped to -1 .. 1
 *
 * The sum is over chunks i that the slot's merge decided, that were played as decided and reported
 * within the slot; the first chunk of a session is left out. r_iv is the chunk's QoE by the weights of
 * v, known for every task. low_iv and high_iv are the QoE of the lowest and the best level on a link
 * that always has the rate of this chunk (abr/emulator/qoe.h: qoe_chunk_range). w_iv = p(v | content)
 * of the session (profile_mix.h). So 0 is the lowest level and the best is near 1. The trust in f_v
 * grows with sum_i w_iv up to HINTLESS_CHUNKS.
 *
 * Regret is an estimate, as the best weights are unknown: the largest reward that the network expects
 * of single experts, their mean and the chosen weights, less the reward of the slot.
 *
 * Labels. A client may name the profile at the end of a session (a label); hinted sessions named it
 * at the beginning. Labels count for contents and psi (profile_mix.h). With an observation of the
 * session (FEAT_BLIND) they are examples for the head (policy/identity.h). Any client may send
 * labels, so each counts as one session, only after HINTLESS_WATCHED_CHUNKS chunks, and within the
 * share of its address. The same rules hold for sessions that end without a label. At most
 * HINTLESS_WATCHED observations are kept at a time; hinted sessions have at most half of them.
 *
 * Exam. Learned weights and hints are served only if they pass merge_exam.h, which no client can
 * influence. The first s of 1, 3/4, 1/2, 1/4 that passes is served:
 *
 *   merge      x_0 + s (x - x_0), x the bandit's choice for psi. Reference: x_0, the choice of a new
 *              bandit for the prior's mix. If none passes, the last good merge stays.
 *   mean hint  p = s psi, and the default profile with 1 - s. Reference: the default profile, which
 *              is served if none passes.
 *   identify   p = sum_v p(v | x, c) s_v e_v, and the default profile with the rest. s_v is the
 *              largest s for which the hint of s e_v passes. Reference: the default profile.
 *
 * If the merge or hint of the state file does not pass, a new slot begins. These sessions do not
 * explore, have no trajectories and do not train PPO.
 *
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_ABSENT and those of ckpt.h for the merge policy; ERR_INVALID if
 * it cannot be merged or has fewer actions than the router. A damaged state file is renamed to .bad,
 * logged and counted, and learning starts over. The bandit alone starts over if the merge policy or
 * its settings have changed.
 * Ownership: a hintless_worker belongs to one worker.
 * Threads: locked inside, a leaf. hintless_tick and hintless_save: one thread at a time. Decisions,
 * outcomes and ends allocate nothing. */
#ifndef SERVE_HINTLESS_H
#define SERVE_HINTLESS_H

#include "base/log.h"
#include "serve/session/decide.h"
#include "serve/hintless/merge_view.h"
#include "serve/learner/published.h"
#include "serve/hintless/hintless_cfg.h"

#define HINTLESS_WATCHED 4096      /* observations kept at a time */
#define HINTLESS_SAMPLE 8          /* one of so many observations is kept for the head */
#define HINTLESS_LEARNED 50        /* examples before the head is used */
#define HINTLESS_EXAMPLES_FREE 4.0 /* examples that any address may add */
#define HINTLESS_CHUNKS 50.0       /* chunks of a task for full trust in its reward */

struct hintless;
struct hintless_worker;
struct slot_log;

struct hintless_new {
    struct hintless_cfg cfg;
    const struct policy_cfg *router;
    struct published *weights;   /* the router's, for the exam of hints; NULL: no exam */
    const char *default_profile; /* borrowed for _new; NULL: standard */
    const char *state_path;      /* NULL: no state file; borrowed for _new */
    uint64_t seed;
    double now;
    const struct log *log; /* borrowed until _free */
};

/* NULL: the service has no such part. */
struct hintless *hintless_of(struct service *s);

struct hintless *hintless_new(const struct hintless_new *how, struct err *e);
void hintless_free(struct hintless *u);
/* The settings of hintless_new, without borrowed strings. */
void hintless_settings(struct hintless_cfg *out, const struct hintless *u);
struct hintless_worker *hintless_worker_new(struct hintless *u, struct err *e);
void hintless_worker_free(struct hintless_worker *d);

/* p (n): all profiles. With the next slot new profiles become tasks, and tasks whose profile is absent
 * are removed from the mix, the mean hint, the contents, the head, the bandit and the state file.
 * Built-in profiles stay. */
void hintless_profiles(struct hintless *u, const struct profile *p, int n);
/* The profile is deleted. A new one of the same name starts without history in the next slot. */
void hintless_forget(struct hintless *u, const char *name);

/* The mean hint; false: *out is unchanged, and the default profile is used. */
bool hintless_hint(struct qoe *out, struct hintless *u, struct hintless_worker *d);
void hintless_opened(struct hintless *u);

/* decide() for a session without a hint: the best level, never sampled. The view's qoe is the
 * session's (hintless_hint's or the default profile's), and its mu_stall contains stall_weight. The
 * hint's mu_stall is multiplied by it, too. content_id: "" is none; used by mode identify. */
bool hintless_decide(struct verdict *out, struct hintless *u, struct hintless_worker *d,
                     struct decider *decider, struct published *router,
                     const struct view *view, const char *content_id,
                     double stall_weight);

/* Is the observation of this decision to be kept for the head? */
bool hintless_watches(const struct hintless *u, uint64_t key, int chunk);
void hintless_watch(struct hintless *u, struct hintless_worker *d,
                    const uint8_t id[TRACK_ID], bool hinted, const struct view *view);
/* Drops the observation of a session that has ended already. */
void hintless_unwatch(struct hintless *u, const uint8_t id[TRACK_ID]);

/* The outcome of a chunk of a session without a hint is known. */
void hintless_chunk(struct hintless *u, const struct track_row *row,
                    const struct step *s);
/* A session has ended, hinted or not. */
void hintless_ended(struct hintless *u, const struct track_row *row);

/* Trains the head, and ends the slot if it is due. 1: a new slot has begun. Failures are logged. If
 * the state file cannot be written, the old slot goes on and the next tick tries again. */
int hintless_tick(struct hintless *u, double now);
/* Writes the state file, if there is one. */
int hintless_save(struct hintless *u, struct err *e) __attribute__((warn_unused_result));

/* ---- sharing slots among nodes (serve/cluster/slot_log.h) ----
 *
 * The record of a slot is pending, also in the state file, until it is found in the log. Records of
 * other nodes are learned at the end of the current slot. The state file stores how far the log was
 * learned, so the bandit learns each slot once, also after retries. */

/* Starts sharing; called once, before the first slot ends. store: id of this node's store; a state
 * from another store is a copy. id: random, for a bandit without an id. */
int hintless_share(struct hintless *u, uint64_t store, uint64_t id, struct err *e)
    __attribute__((warn_unused_result));
/* Are slots shared? *crc and *experts describe the experts. */
bool hintless_shares(struct hintless *u, uint32_t *crc, int *experts);
uint64_t hintless_maker(struct hintless *u);
/* Are there records to send? */
bool hintless_has_pending(struct hintless *u);
/* Reads a log as it is stored. */
void hintless_read_log(struct hintless *u, const struct slot_log *l, double now);
/* Appends pending records to the log; their number. They stay pending until hintless_read_log finds
 * them in a log. */
int hintless_append_pending(struct hintless *u, struct slot_log *l);

void hintless_stats(struct hintless_stats *out, struct hintless *u);
/* NULL: there is no merge (e is unchanged), or ERR_MEMORY. */
struct merge_view_copy *hintless_look(struct hintless *u, struct err *e);

#endif
