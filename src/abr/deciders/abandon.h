/* abandon.h - is another level better than the one that is on its way?
 *
 * Of a chunk at level k, b of S_k bytes have come in t seconds, so the link carries c = b / t. To
 * have the chunk at level j takes W_j / c more seconds, W_k = S_k - b and W_j = S_j otherwise, as
 * what came is thrown away. With B seconds of media left in the buffer, l the level before, r(j | l)
 * what a chunk at j behind one at l earns (qoe.h) and n chunks to come after this one,
 *
 *   V(j) = r(j | l) - mu_stall max(0, W_j / c - B)
 *          + max_i [ r(i | j) + (n - 1) r(i | i) - mu_stall max(0, n chunk_s (R_i / c - 1) - A_j) ]
 *
 * A_j = max(0, B - W_j / c) + chunk_s what the buffer holds then, R_i the ladder: the rest at the
 * level that suits this link best, and what it costs to come there from j. The level with the
 * largest V is the answer, where that is to be asked:
 *
 *   - Of a session's first chunk, when nothing of the link was known: k and the levels above it, and
 *     for viewers to whom a stall matters as much as quality (mu_stall >= mu_quality) those below of
 *     which there is less to come than of k (S_j < W_k). So a beginning (first_level.h) is corrected before
 *     anybody has seen it. Nothing is in the buffer, so the whole wait counts as a stall. Who prefers
 *     quality waits: what V promises from below such viewers do not get from there.
 *   - Of any other chunk, when the rest would come too late (W_k / c > B): k and those levels below,
 *     for viewers to whom nothing matters more than stalls (mu_stall at least as large as each other
 *     weight). The others gain nothing by it: who minds switches pays for one, who wants quality waits
 *     for it.
 *
 * Found on training traces (deploy/policy/README.md). Who explores does not ask: what is fetched is
 * then what was drawn.
 *
 * Threads: pure functions. */
#ifndef ABR_ABANDON_H
#define ABR_ABANDON_H

#include <stdbool.h>

#include "abr/emulator/view.h"

/* When a player looks at what is under way: at a first chunk once, at others again and again. */
#define ABANDON_FIRST_S 0.25    /* after its first byte, or */
#define ABANDON_FIRST_SHARE 0.5 /* when so much of it is there */
#define ABANDON_EVERY_S 0.5     /* from the request on */

struct underway {
    int level;
    double bytes;     /* that came */
    double elapsed_s; /* since the request; > 0 */
    double buffer_s;  /* media in the buffer now */
};

/* Whether an answer other than its level is possible: so a player need not ask for nothing. */
bool abandon_asks(const struct view *v, const struct underway *u);

/* v: before the chunk that is under way. The level to have it at; u->level: let it come. */
int abandon_level(const struct view *v, const struct underway *u);

#endif
