/* algo.h - one interface for everything that chooses a level.
 *
 * spec names an algorithm, with its argument after a colon or dash:
 *   fixed-N      always level N (clipped to the ladder)
 *   random       uniform, counter-based on (seed, session key, chunk)
 *   rate         highest level under the harmonic mean of the last 5 throughputs
 *   buffer       buffer-based; reservoir 5 s, cushion 10 s (Huang et al., SIGCOMM 2014, as in
 *                Pensieve's test code), scaled for short buffer limits
 *   bola         BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016), the paper's utility
 *   mpc          RobustMPC (Yin et al., SIGCOMM 2015), horizon 5, the viewer's own weights
 *   mpc-default  the same planning for the pensieve weights whatever the viewer's are
 *   oracle       not an online algorithm: see oracle.h, handled by eval
 *   moe[:FILE]   the shipped policy, or that of a checkpoint; greedy
 *
 * An algo is created once per session stream (reset between sessions); its decide function
 * sees the view, and the video when it is known in advance (NULL otherwise: then future
 * chunks are estimated from the ladder).
 *
 * Ownership: algo_new fills the caller's struct; algo_free releases what it holds.
 * Errors: ERR_ABSENT unknown name (the message lists them), ERR_INVALID bad argument, and
 * those of the checkpoint. Threads: not shared, one per thread. */
#ifndef ABR_ALGO_H
#define ABR_ALGO_H

#include "abr/manifests/video.h"
#include "abr/emulator/view.h"
#include "policy/policy.h"

struct algo {
    void *self;
    /* a new session with this key begins */
    void (*reset)(void *self, uint64_t session_key);
    /* level for view->chunk, 0 .. view->levels - 1 */
    int (*decide)(void *self, const struct view *view, const struct video *video);
    /* what a network computed for the last decision, borrowed until the next; NULL: it is
     * none */
    const struct policy_choice *(*choice)(void *self);
    void (*free)(void *self);
};

struct algo_ctx {
    uint64_t seed;
    const char *policy_path; /* checkpoint behind plain "moe" */
};

int algo_new(struct algo *out, const char *spec, const struct algo_ctx *ctx,
             struct err *e) __attribute__((warn_unused_result));
void algo_free(struct algo *a);

#endif
