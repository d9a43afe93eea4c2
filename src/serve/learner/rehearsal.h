/* rehearsal.h - emulated steps that join an update, so that the policy does not forget.
 *
 * The learner has an emulator and its own past. Half of the steps are of known ground: generated links,
 * drawn ladders and players, all built-in profiles, as in the shipped policy's training. They carry the
 * shipped policy's probabilities (ppo.h: shown), so the anchor pulls the new weights to them. The other half
 * is of links that the daemon's viewers had (rehearsal_record), with the built-in profiles. They have no
 * anchor: what is new is learned there. Without recorded links all steps are of known ground.
 *
 * All actions that are likely are tried in the emulator (env.h: peek), so a step teaches more than a
 * viewer's. Rewards come from the emulator: a viewer can lie about a link, but not about what a level is
 * worth on it.
 *
 * Recorded links: the throughput of the downloads of one session. At most REHEARSAL_LINKS are kept. A new
 * one replaces a random one, with the probability that keeps a sample of the last REHEARSAL_PAST.
 *
 * Determinism: configuration, weights and recorded links decide all. Threads: not shared. */
#ifndef SERVE_REHEARSAL_H
#define SERVE_REHEARSAL_H

#include "abr/traces/trace.h"
#include "learn/online.h"
#include "serve/session/traj.h"

#define REHEARSAL_LINKS 128
#define REHEARSAL_PAST 2048
#define REHEARSAL_TAG (QOE_PROFILES + 1) /* tags of its steps begin here */

struct rehearsal;

/* rows: steps of one collection. NULL with e if the policy is not for video. shipped: copied. */
struct rehearsal *rehearsal_new(const struct policy *shipped, enum feat_layout layout,
                                int rows, uint64_t seed, struct err *e);
void rehearsal_free(struct rehearsal *r);

/* Steps of policy p. The arrays are borrowed until the next call. For online_rehearse. */
int rehearsal_collect(void *rehearsal, struct ppo_batch out[2], const struct policy *p,
                      double gamma, double lambda);
int rehearsal_rows(const struct rehearsal *r); /* at most, of one collection */

/* The link of a trajectory; NULL: too short, or not the throughput of a link. Owned by the caller. */
struct trace *rehearsal_link(const struct traj *t);
/* Taken, also on failure. */
void rehearsal_record(struct rehearsal *r, struct trace *link);
int rehearsal_links(const struct rehearsal *r);

#endif
