/* hyb.h - HYB: the highest level that arrives before the buffer is empty.
 *
 *   level = max k with 8 S_k / (factor C) <= B
 *
 * C is the harmonic mean of the last 5 throughputs, B the media in the buffer; else the lowest level.
 *
 * Settings (settings.h): factor.
 *
 * Source: HYB in Akhtar et al., Oboe, SIGCOMM 2018, Sec. 3. Threads: not shared, one per thread. */
#ifndef ABR_HYB_H
#define ABR_HYB_H

#include "abr/deciders/algo.h"

int hyb_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
