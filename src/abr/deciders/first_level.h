/* first_level.h - the level of a session's first chunk, before anything of its link was measured.
 *
 * The level with the largest expected worth over nine equally likely links, the middles of the
 * ninths of a log-normal distribution whose median is .45 of the ladder's top rate, with a
 * deviation of 1 of the logarithm; a ladder is made for the links of those who watch:
 *
 *   V(k) = E_c [ r(k) - mu_stall S_k / c + max_j ( r(j | k) + (n - 2) r(j | j) ) ]
 *
 * S_k size of the chunk at level k, c what the link carries throughout, r(j | k) what a chunk at
 * level j behind one at level k earns (qoe.h), with its stall of chunk_s max(0, R_j / c - 1); n
 * chunks left, FIRST_LEVEL_LIVE_CHUNKS of a stream without end. So the wait for the first picture counts
 * as a stall, as it does in training, and whoever is bound to climb pays for the way from k: to
 * viewers who mind switches most the lowest level is a dear beginning.
 *
 * A policy sees nothing of the link here either and learns one answer for all that it was trained
 * on, mostly 3G links and videos of three minutes. Who explores still begins as the policy draws
 * (guard.h). Median and deviation were chosen on training traces: test/bench/bench_start.c plays
 * sessions from each level.
 *
 * Threads: pure functions. */
#ifndef ABR_FIRST_LEVEL_H
#define ABR_FIRST_LEVEL_H

#include <stdbool.h>

#include "abr/emulator/view.h"

#define FIRST_LEVEL_LIVE_CHUNKS 48

/* Nothing was fetched yet, as far as the view knows. */
bool first_level_is(const struct view *v);

/* 0 .. levels - 1. */
int first_level(const struct view *v);

#endif
