/* bola_e.h - BOLA as dash.js runs it today: BOLA-E with a placeholder buffer.
 *
 *   level = argmax_m (Vp (u_m + gp) - Q - P) / R_m,   u_m = ln(R_m / R_1) + 1
 *   gp = (u_M - 1) / (t / t_min - 1),   Vp = t_min / gp,   t = max(12 s, t_min + 2 s M), t_min = 10 s
 *
 * For viewers in points u_m is 1 plus the quality above that of the lowest level (simple_points). dash.js
 * knows ln R only; points are ours. They score better on training traces.
 *
 * Q is the media in the buffer and P the placeholder: buffer that the player would have if the link
 * alone had not held it back. It starts as the least buffer at which BOLA would choose what the
 * throughput allows (nine tenths of the mean of the last 4), and is used up when Q + P is more than
 * the chosen level can hold. A level that rises above both the last one and the throughput's is cut
 * to the larger of the two (no oscillation). Until a chunk is in the buffer the throughput decides.
 *
 * As in dash.js the rule for short buffers has the last word from the third chunk on: the highest level
 * under 0.7 C Q / chunk_s, C the mean throughput.
 *
 * A player that holds less than t gets t_min and t scaled down to what it holds.
 *
 * Source: Spiteri, Sitaraman, Sparacio, From Theory to Practice, MMSys 2018, and the public behaviour
 * of dash.js 4. Differs: no delay before a request, no interruption by seeks.
 * Threads: not shared, one per thread. */
#ifndef ABR_BOLA_E_H
#define ABR_BOLA_E_H

#include "abr/deciders/algo.h"

int bola_e_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
               struct err *e) __attribute__((warn_unused_result));

#endif
