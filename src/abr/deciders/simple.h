/* simple.h - the baselines that fit in a few lines: fixed, random, rate and buffer.
 *
 *   fixed-N  level N, or the highest level of a shorter ladder
 *   random   floor(u * levels), u a counter-based draw on (seed, session key, chunk); the same
 *            question has the same answer in any order
 *   rate     the highest level whose bitrate is at most the harmonic mean of the last 5 throughputs;
 *            the lowest level when nothing has been measured
 *   buffer   the lowest level below the reservoir r, the highest from r + c on, and between them
 *            floor((levels - 1) (buffer - r) / c)
 *
 * Source of buffer: the rate map of BBA-0, Huang et al., SIGCOMM 2014, Sec. 4, with r = 5 s and
 * c = 10 s as in Pensieve's comparison. Differs: the map goes over the indices of the levels (as in
 * that comparison), not over their bitrates. For a player that holds less than r + c both are scaled
 * down to what it holds.
 *
 * simple_points is the utility of rules whose source leaves the utility open, for viewers in points.
 *
 * Threads: pure functions. */
#ifndef ABR_SIMPLE_H
#define ABR_SIMPLE_H

#include "abr/deciders/algo.h"

#include <stdbool.h>

/* Harmonic mean [kbit/s] of the n newest throughputs before history entry `end`; with
 * end = v->n_history those are the newest of all. 0 without any. A throughput of 0 counts as
 * 1 bit/s. */
double simple_harmonic_kbps(const struct view *v, int end, int n);

/* Fills u (levels) with the quality of this chunk above that of the lowest level, never falling. The
 * unit is SIMPLE_POINTS points. On Envivio's ladder that is about one unit of ln R, so settings for ln R
 * keep their magnitude. False, with u not set, if the viewer is not in points or if no level looks better
 * than the lowest; the caller then uses ln R. */
#define SIMPLE_POINTS 25.0
bool simple_points(double *u, const struct view *v);

int simple_rate_level(const struct view *v);
int simple_buffer_level(const struct view *v);

/* Constructors of algo.c's table. arg is what follows the name in the spec. */
int simple_fixed_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                     struct err *e) __attribute__((warn_unused_result));
int simple_random_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                      struct err *e) __attribute__((warn_unused_result));

#endif
