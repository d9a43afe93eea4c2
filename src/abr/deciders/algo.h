/* algo.h - one interface for everything that chooses a level.
 *
 * A spec is a name, with its argument behind a dash or a colon:
 *   fixed-N      level N, clipped to the ladder
 *   random       uniform; a counter-based draw on (seed, session key, chunk)
 *   rate         the highest level below the harmonic mean of the last 5 throughputs
 *   buffer       buffer-based; reservoir 5 s, cushion 10 s, scaled down for short buffer limits
 *                (Huang et al., SIGCOMM 2014, as in Pensieve's test code)
 *   bola         BOLA-BASIC with the paper's utility (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016)
 *   mpc          RobustMPC, horizon 5, with the viewer's own weights (Yin et al., SIGCOMM 2015)
 *   mpc-default  RobustMPC with the pensieve weights for every viewer
 *   bola-e       BOLA as dash.js runs it, with a placeholder buffer (bola_e.h)
 *   bba-2        the buffer's chunk map with a start-up phase (bba2.h)
 *   hyb          the highest level that arrives before the buffer is empty (hyb.h)
 *   soda         SODA, planned in time (soda.h)
 *   mpc-tail     a plan of a few chunks whose last level is held (mpc_tail.h)
 *   fugu         stochastic planning over a learned distribution of download times (fugu.h)
 *   hold         one chunk, then a level held, averaged over a learned forecast (hold.h)
 *   moe[:FILE]   the shipped policy, or the policy of a checkpoint; greedy
 *   ceiled:SPEC  SPEC under the ceilings of the profile (ceiled.h)
 * The algorithms from bba-2 to hold have settings, which were chosen on training traces. A spec such as
 * soda:beta=2+gamma=40 replaces them (settings.h).
 * `oracle` is not an online algorithm; eval handles it (oracle.h).
 *
 * One algo serves one stream of sessions and is reset between them. decide gets the view, and the
 * video when it is known in advance. Without the video (NULL) future chunks are estimated from the
 * ladder. README.md of this folder says how to add an algorithm.
 *
 * Errors: ERR_ABSENT for an unknown name (the message lists the known ones), ERR_INVALID for a bad
 * argument, and those of the checkpoint.
 * Ownership: algo_new fills the caller's struct; algo_free releases what it holds.
 * Threads: not shared, one per thread. */
#ifndef ABR_ALGO_H
#define ABR_ALGO_H

#include "abr/manifests/video.h"
#include "abr/emulator/view.h"

/* What a network computed for a decision. */
struct algo_choice {
    int expert;
    float value, prob[VIEW_LEVELS]; /* of each level of the ladder */
};

#include <stdbool.h>

struct algo {
    void *self;
    /* A session with this key begins. */
    void (*reset)(void *self, uint64_t session_key);
    /* The level of view->chunk, 0 .. view->levels - 1. */
    int (*decide)(void *self, const struct view *view, const struct video *video);
    /* What a network computed for the last decision, borrowed until the next one. NULL for
     * algorithms without a network. */
    const struct algo_choice *(*choice)(void *self);
    void (*free)(void *self);
};

struct algo_ctx {
    uint64_t seed;
    const char *policy_path; /* checkpoint behind plain "moe" */
};

/* True if the spec names an algorithm that keeps no state between decisions: one instance then serves any
 * number of sessions and threads at once, without reset. It does not check the argument; algo_new does. */
bool algo_shared(const char *spec);

int algo_new(struct algo *out, const char *spec, const struct algo_ctx *ctx,
             struct err *e) __attribute__((warn_unused_result));
void algo_free(struct algo *a);

#endif
