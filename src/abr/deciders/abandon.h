/* abandon.h - whether another level is better than the chunk that is being downloaded.
 *
 * A chunk at level k has S_k bytes, and b of them have arrived in t seconds. So the link carries
 * c = b / t, and the chunk at level j takes W_j / c more seconds: W_k = S_k - b, and W_j = S_j for other
 * levels, since what arrived is discarded. B is the media in the buffer [s], l the level before, n the
 * number of chunks after this one, r(j | l) the reward of a chunk at j after one at l (qoe.h):
 *
 *   V(j) = r(j | l) - mu_wait max(0, W_j / c - B)
 *          + max_i [ r(i | j) + (n - 1) r(i | i) - mu_stall max(0, n chunk_s (R_i / c - 1) - A_j) ]
 *
 * A_j = max(0, B - W_j / c) + chunk_s is what the buffer holds then, R_i the ladder. The last term is
 * the rest of the session at the level that suits this link best, and the cost of going there from j.
 * mu_wait is mu_stall, but mu_start for the first chunk with weights in points. The answer is the level
 * with the largest V among these:
 *
 *   - First chunk of a session, when nothing of the link was known: k and the levels above it. For
 *     viewers to whom a stall matters as much as quality (mu_stall >= mu_quality) also the levels
 *     below with fewer bytes to come than k (S_j < W_k). This corrects the first level
 *     (first_level.h) before anybody has seen it. The buffer is empty, so the whole wait counts. A
 *     viewer who prefers quality waits: in practice such viewers do not get what V promises for lower
 *     levels. With a ceiling of the start-up (qoe.h: startup_max_s), lower levels count for every viewer
 *     if t + W_k / c exceeds it, and levels that start in time come before levels that do not.
 *   - Any other chunk, when the rest would arrive too late (W_k / c > B): k and those lower levels,
 *     for viewers to whom nothing matters more than stalls (mu_stall at least as large as each other
 *     weight). Others gain nothing: a viewer who minds switches pays for one, and a viewer who wants
 *     quality waits for it. With a ceiling of stalls (stall_ratio_max), levels above 0 whose chunk
 *     would outlast the buffer (S_j / c > B) are left out, as in guard.h.
 *
 * The rules were found on training traces (deploy/policy/README.md). A session that explores does not
 * ask, so the level that is fetched is the level that was drawn.
 *
 * Threads: pure functions. */
#ifndef ABR_ABANDON_H
#define ABR_ABANDON_H

#include <stdbool.h>

#include "abr/emulator/view.h"

/* When a player asks: once during the first chunk, at this interval during others. */
#define ABANDON_FIRST_S 0.25    /* after the first byte, or */
#define ABANDON_FIRST_SHARE 0.5 /* when this share of it has arrived */
#define ABANDON_EVERY_S 0.5     /* from the request on */

struct underway {
    int level;
    double bytes;     /* that arrived */
    double elapsed_s; /* since the request; > 0 */
    double buffer_s;  /* media in the buffer now */
};

/* v: the view before this chunk. Returns the level to fetch it at; u->level: continue. */
int abandon_level(const struct view *v, const struct underway *u);

#endif
