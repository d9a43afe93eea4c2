/* hintless.h - viewers without a hint: what they are given, and what is learned from them.
 *
 * Time is cut into slots. Within a slot nothing that decides changes: the mix psi, the mean hint,
 * the head that guesses profiles, and the merged expert are those of its beginning. So the same
 * question has the same answer all through a slot, also after a restart, since all of it is in
 * the state file that is written when a slot begins. What a crash loses is what was learned since.
 *
 * A slot, mode merge: a bandit (policy/tanbr.h) chooses x for psi; sum_k x_k W_k of the experts in the
 * merge policy (policy/bank.h) is packed and published in a struct published of its own, with the slot's
 * number as its version. No router is asked, and one expert is in use. At the slot's end the bandit
 * learns the reward of every task v:
 *
 *   f_v = sum_i w_iv (r_iv - low_iv) / sum_i w_iv (high_iv - low_iv)         bounded to -1 .. 1
 *
 * over the chunks i that were decided by the slot's merge, played as decided and reported within
 * it, but for a session's first. r_iv is the chunk's QoE by the weights of v, which can be computed
 * for every task whatever the viewer is; low and high are what the lowest and the best level earn
 * on a link that always carries what this chunk measured (abr/emulator/qoe.h: qoe_chunk_range).
 * w_iv = p(v | content) of the session (profile mix.h). So the lowest level scores 0 and the best near
 * 1; an oracle that knows the link's future, which nobody has online, would be the better 1.
 * Tasks without weight are not trusted.
 * Regret (a proxy, as the best weights are not known): what the network expects of the best
 * among the experts alone, their mean and the weights chosen, less what the slot earned.
 *
 * A session that ends may say what its viewer really watched (a label), and hinted sessions have
 * said it before. Labels count for contents and psi (profile mix.h), and with an observation of that
 * session, kept for this, teach the head (policy/identity.h). The observation is FEAT_BLIND. Anyone
 * may send a label, so each counts only for a session with HINTLESS_WATCHED_CHUNKS chunks, as one
 * session, and within the share of its address (profile mix.h). That a session has ended without a
 * label counts by the same rules.
 *
 * Nothing that was learned is served before it has passed the exam (merge_exam.h), which no client
 * can move. The first of s = 1, 3/4, 1/2, 1/4 that passes is served:
 *
 *   merge      x_0 + s (x - x_0), x the bandit's choice for psi; reference: x_0, which a new
 *              bandit chooses for the prior's mix. When none passes, the slot keeps the last good
 *              merge.
 *   mean hint  p = s psi, and the default profile with 1 - s; reference: the default profile, which
 *              is served when none passes
 *   identify   p = sum_v p(v | x, c) s_v e_v, and the default profile with the rest; s_v is the
 *              largest s for which the hint of s e_v passes; reference: the default profile
 *
 * A merge or hint that a state file brings and that does not pass is not served: a new slot begins.
 * At most HINTLESS_WATCHED sessions are watched for that at a time, hinted ones in half of the
 * places. Nothing here teaches PPO: untagged sessions do not explore and have no trajectories.
 *
 * Errors: ERR_RANGE, ERR_MEMORY; ERR_ABSENT and those of ckpt.h for the merge policy, ERR_INVALID
 * when it cannot be merged or has fewer actions than the router. A damaged state file is put aside
 * as .bad, logged and counted, and what it held starts anew; so does the bandit alone when the
 * merge policy or its settings have changed.
 *
 * Threads: locked inside, a leaf. hintless_tick and _save: one thread at a time. A desk belongs to
 * one worker. Deciding, hearing and ending allocate nothing. */
#ifndef SERVE_HINTLESS_H
#define SERVE_HINTLESS_H

#include "base/log.h"
#include "serve/session/decide.h"
#include "serve/hintless/grove.h"
#include "serve/learner/published.h"
#include "serve/hintless/hintless_cfg.h"

#define HINTLESS_WATCHED 4096
#define HINTLESS_SAMPLE 8    /* of so many decisions one is kept for the head */
#define HINTLESS_LEARNED 50  /* examples before the head is asked */
#define HINTLESS_TEACHES 4.0 /* examples that one address may give the head in any case */
#define HINTLESS_CHUNKS 50.0 /* of a task: its reward is fully trusted */

struct hintless;
struct hintless_desk;
struct slot_log;

struct hintless_new {
    struct hintless_cfg cfg;
    const struct policy_cfg *router;
    struct published
        *weights; /* the router's, for the exam; NULL: mean hints have none */
    const char *default_profile; /* borrowed for _new; NULL: pensieve */
    const char *state_path;      /* NULL: nothing is kept; borrowed for _new */
    uint64_t seed;
    double now;
    const struct log *log; /* must live as long */
};

/* Of a service, NULL: it has none (hintless_part.c). */
struct hintless *hintless_of(struct service *s);

struct hintless *hintless_new(const struct hintless_new *how, struct err *e);
void hintless_free(struct hintless *u);
/* As it was made with. */
void hintless_settings(struct hintless_cfg *out, const struct hintless *u);
struct hintless_desk *hintless_desk_new(struct hintless *u, struct err *e);
void hintless_desk_free(struct hintless_desk *d);

/* All profiles there are. With the next slot a profile becomes a task, and a task without a profile
 * leaves: then the mix, the mean hint, contents, the head, the bandit and the state file know nothing
 * of it. The built-in ones stay. */
void hintless_profiles(struct hintless *u, const struct profile *p, int n);
/* This profile is deleted. Put again under the same name, it begins anew with the next slot. */
void hintless_forget(struct hintless *u, const char *name);

/* What an untagged viewer values, as far as is known: the mean hint; false: nothing is. */
bool hintless_hint(struct qoe *out, struct hintless *u, struct hintless_desk *d);
void hintless_opened(struct hintless *u);

/* As decide() does, for a session that gave no hint; the best level, never sampled. The view's
 * qoe is the session's (hintless_hint's or the default profile's). content_id: "" is none; only
 * mode identify looks at it. */
bool hintless_decide(struct verdict *out, struct hintless *u, struct hintless_desk *d,
                     struct decider *decider, struct published *router,
                     const struct view *view, const char *content_id);

/* Should this decision's observation be kept for the head? */
bool hintless_watches(const struct hintless *u, uint64_t key, int chunk);
void hintless_watch(struct hintless *u, struct hintless_desk *d,
                    const uint8_t id[TRACK_ID], bool hinted, const struct view *view);
/* It was over before: nothing will be told of it. */
void hintless_unwatch(struct hintless *u, const uint8_t id[TRACK_ID]);

/* A chunk of an untagged session has its outcome. */
void hintless_chunk(struct hintless *u, const struct track_row *row,
                    const struct step *s);
/* Any session is over. */
void hintless_ended(struct hintless *u, const struct track_row *row);

/* Teaches the head; ends the slot when it is time. 1: a new one has begun. A failure is
 * logged. What cannot be kept does not begin: the slot before goes on, and the next tick tries
 * again. */
int hintless_tick(struct hintless *u, double now);
/* The state file, now. Does nothing without one. */
int hintless_save(struct hintless *u, struct err *e) __attribute__((warn_unused_result));

/* ---- among others (serve/cluster/slot_log.h) ----
 *
 * What a slot earned waits, also in the state file, until it is seen in the log; what the slots of
 * others earned is learned when the slot under way ends. So the bandit learns each slot once, whatever
 * is tried again: the state file says up to which record it has learned of which log. */

/* Begins to. store: who makes this node's trajectories; a state that comes from another one is a copy.
 * id: drawn anew, for a bandit that has none yet. Once, before the first slot ends. */
int hintless_share(struct hintless *u, uint64_t store, uint64_t id, struct err *e)
    __attribute__((warn_unused_result));
/* false: nothing is merged, or shared. */
bool hintless_shares(struct hintless *u, uint32_t *crc, int *experts);
uint64_t hintless_maker(struct hintless *u);
/* Is there anything to give? */
bool hintless_gives(struct hintless *u);
/* A log as it is on the board. */
void hintless_hear(struct hintless *u, const struct slot_log *l, double now);
/* Adds to it what waits; how many. They wait on until hintless_hear finds them. */
int hintless_give(struct hintless *u, struct slot_log *l);

void hintless_stats(struct hintless_stats *out, struct hintless *u);
/* The merge's picture; NULL: there is no merge (e says nothing), or ERR_MEMORY. */
struct grove_view *hintless_look(struct hintless *u, struct err *e);

#endif
