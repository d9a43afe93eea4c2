/* bola.h - BOLA-BASIC: buffer-based choice by Lyapunov optimisation.
 *
 *   level = argmax_m (V (v_m + g) - Q) / S_m,   v_m = ln(R_m / R_1)
 *
 * For viewers in points v_m is the quality above that of the lowest level (simple_points). The source
 * allows any utility that does not fall with the bitrate; its experiments use ln R.
 *
 * Q is the media in the buffer [s], R_m the bitrate of level m, and g the paper's gamma*p. S_m is the
 * size of this chunk at level m, estimated from R_m when it is unknown. Ties go to the lower level.
 *
 * Two points of the buffer determine V and g, so there is no parameter to tune:
 *   - top: the score of the highest level is zero at Q_top, one chunk below the buffer's limit. The
 *     paper stops downloading there. So a chunk always fits, which is the paper's bound on V:
 *       V (v_M + g) = Q_top = limit - chunk_s
 *   - low: the second level takes over from the lowest at Q_low, for sizes R_m:
 *       (V g - Q) / R_1 = (V (v_2 + g) - Q) / R_2  at Q = Q_low, hence V (g - a) = Q_low
 *     with a = R_1 v_2 / (R_2 - R_1)
 *   so V = (Q_top - Q_low) / (v_M + a) and g = a + Q_low / V.
 * Q_low = min(10 s, limit / 3). Q_top is at least 1.01 Q_low, because some players buffer little more
 * than one chunk.
 *
 * Source: Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016. Differs: it cannot decline to download (the
 * player sleeps when its buffer is full). Above Q_top it chooses the highest level, which the same
 * argmax gives.
 *
 * Threads: pure functions. */
#ifndef ABR_BOLA_H
#define ABR_BOLA_H

#include "abr/emulator/view.h"

struct bola_gains {
    double v, g; /* V [s], gamma*p [1] */
    double utility[VIEW_LEVELS];
};

struct bola_gains bola_gains(const struct view *view);
int bola_level(const struct view *view);

#endif
