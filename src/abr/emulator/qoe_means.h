/* qoe_means.h - what the weights of a viewer mean, as a sentence for people.
 *
 * "one second of stall is worth 34 points of one 4 s chunk; ..." All numbers are relative to the weight
 * of quality. The papers' utilities are in Mbit/s, or in units of the logarithm of the bitrate.
 *
 * Threads: pure function. */
#ifndef ABR_QOE_MEANS_H
#define ABR_QOE_MEANS_H

#include "abr/emulator/qoe.h"

#include <stddef.h>

#define QOE_MEANS 400 /* bytes that hold every sentence */

/* A text that does not fit is cut. Returns out. */
const char *qoe_means(char *out, size_t n, const struct qoe *k);

#endif
