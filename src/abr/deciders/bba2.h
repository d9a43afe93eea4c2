/* bba2.h - BBA-2: the buffer's chunk map with a start-up phase.
 *
 *   f(B) = S_low below the reservoir, S_high above the cushion's end, linear between
 *
 * S_low and S_high are the mean sizes of a chunk at the lowest and the highest level. Steady state
 * (BBA-1's rule for variable sizes, S+ and S- the next chunk's sizes one level up and down):
 *   f(B) >= S+: the highest level with S < f(B);  f(B) <= S-: the lowest with S > f(B);  else as before.
 * Start-up: from chunk to chunk the buffer changes by dB. The level rises by one when dB exceeds
 * a share of chunk_s that falls from 0.875 (empty buffer) to 0.5 (full cushion). The phase ends when the
 * buffer does not grow or the map asks for more.
 *
 * Reservoir and cushion are shares of the player's limit: settings (settings.h) reservoir, cushion.
 *
 * Source: Huang et al., SIGCOMM 2014, Sec. 5 and 6. Differs: the reservoir is a fixed share (theirs
 * follows the sizes of the next minutes), for players that hold less than 240 s.
 * Threads: not shared, one per thread. */
#ifndef ABR_BBA2_H
#define ABR_BBA2_H

#include "abr/deciders/algo.h"

int bba2_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
