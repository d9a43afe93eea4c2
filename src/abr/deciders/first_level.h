/* first_level.h - the level of a session's first chunk, when nothing of its link was measured.
 *
 * The level with the largest expected value over nine equally likely links:
 *
 *   V(k) = E_c [ r(k) - mu_wait S_k / c + max_j ( r(j | k) + (n - 2) r(j | j) ) ]
 *
 * S_k size of the chunk at level k, c the constant throughput of the link, r(j | k) reward of a
 * chunk at level j after one at level k (qoe.h), with its stall of chunk_s max(0, R_j / c - 1), n
 * chunks left (FIRST_LEVEL_LIVE_CHUNKS for a stream without end). mu_wait, the weight of the wait for the
 * first picture, is mu_start in points, else mu_stall. A viewer who minds switches pays for the climb
 * from k, so the lowest level is an expensive first level for such a viewer.
 *
 * Links: the middles of the ninths of a log-normal distribution. Its median is 0.45 times the ladder's top
 * rate, since ladders are made for the links of their viewers. The top rate counts as at most 4.3 Mbit/s,
 * since viewers of tall ladders are not all on fast links. The logarithm has deviation 1. Median and
 * deviation were chosen on training traces: test/bench/bench_start.c plays sessions from each level.
 *
 * A profile may have a ceiling of the wait for the first picture (qoe.h: startup_max_s). Then levels whose
 * chunk would take longer on a slow link are withheld. That link has start_kbps (view.h) if it is known.
 * Else it has x = 0.09 times the top rate, or sqrt(x * 1 Mbit/s) if x is above 1 Mbit/s. About one link in
 * ten is slower.
 *
 * A policy knows nothing of the link here either. It learns one answer for all links of its training,
 * mostly 3G and videos of three minutes. A session that explores begins with a level that the policy
 * draws, so that a daemon can learn what the links of its viewers are like.
 *
 * Threads: pure functions. */
#ifndef ABR_FIRST_LEVEL_H
#define ABR_FIRST_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "abr/emulator/view.h"

#define FIRST_LEVEL_LIVE_CHUNKS 48

/* Nothing was fetched yet, as far as the view knows. */
bool first_level_is(const struct view *v);

/* 0 .. levels - 1. */
int first_level(const struct view *v);
/* Bit k set: level k may be taken, in a session that does not explore. The one level of first_level
 * before anything was fetched, else all. */
uint32_t first_level_offer(const struct view *v);
/* The highest level that starts in time, for viewers with a ceiling. Level 0 always may be taken. */
int first_level_most(const struct view *v);

#endif
