/* forecast.h - a learned distribution of the throughput to come, given the session's history.
 *
 * With m the harmonic mean of the last 5 throughputs, a network gives quantiles of two ratios:
 *
 *   ln(c / m) of the next chunk, and of the FORECAST_LATER chunks from it on (their bytes over their time)
 *
 * Each ratio has FORECAST_QUANTILES quantiles, at the middles of the shares forecast_share. The lowest shares
 * are small, since stalls are decided there. The network has two hidden layers of ReLU. It sees the last 8
 * throughputs as ln(c_i / m), their download times as ln(d_i + 0.05), which of them exist, the deviation
 * s of the logarithms (more after fewer chunks, forecast.c) and ln(chunk_s). Of the whole session it sees the
 * mean throughput and the low one as ln(. / m), ln(1 + n) of its n downloads, and the deviation and the mean
 * absolute change of the logarithms (view_past). So it does not depend on the link's rate. Quantiles are sorted
 * by a running maximum.
 *
 * A large chunk arrives at a higher rate than a small one, since each pays for a round trip. The quantiles
 * n_i of the next chunk hold for the usual size U, the geometric mean of the last 5. A chunk of S bytes has
 *   n_i (S / U)^g,   S / U within 0.05 .. 20
 * The growth g is an output of the network, too, within 0 .. 0.9.
 *
 * Source: Pensieve's training traces, Puffer's training part of 2021, Lumos 4G and generated links,
 * chunks of 1 to 8 s; `node test/score/forecast.mjs` fits the weights again and prints how good they are.
 * A daemon may have fitted a correction to its own viewers' links (forecast_own.h; view.h: own_forecast).
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_FORECAST_H
#define ABR_FORECAST_H

#include "abr/emulator/view.h"

#include <stdbool.h>
#include <stdint.h>

#define FORECAST_QUANTILES 11
#define FORECAST_ENTRIES (3 * VIEW_HISTORY + 7)   /* inputs of the network */
#define FORECAST_OUTPUTS (2 * FORECAST_QUANTILES) /* without the growth */
#define FORECAST_LATER 10                         /* chunks of the second ratio */
/* The quantile that one download in six falls below. */
#define FORECAST_LOW 4

/* The share of downloads that each quantile stands for; the sum is 1. */
extern const double forecast_share[FORECAST_QUANTILES];

struct forecast {
    double mean_kbps; /* m; 0: nothing was measured, the rest is not set */
    double spread;    /* s */
    double next_kbps[FORECAST_QUANTILES]; /* of the next chunk, ascending */
    double later_kbps[FORECAST_QUANTILES];
    double usual_bytes, growth; /* U, g */
};

struct forecast forecast_of(const struct view *v);

/* A next chunk of this size takes as long as one of that many bytes at the rates of next_kbps. */
double forecast_bytes(const struct forecast *f, double bytes);
/* The throughput that a chunk of the usual size would have had when one of this size had kbps. */
double forecast_usual_kbps(const struct forecast *f, double kbps, double bytes);

/* The network alone: its inputs, and the logarithms of quantiles / m before they are sorted, of the next
 * chunk and then of later ones. Sets all but the quantiles. False: nothing was measured. */
bool forecast_look(struct forecast *f, double entries[FORECAST_ENTRIES],
                   double logs[FORECAST_OUTPUTS], const struct view *v);

/* CRC-32 of all that the quantiles follow from: the network's weights and what its inputs are. Never 0. */
uint32_t forecast_crc32(void);

/* m and s alone, at a fraction of the cost. Nothing was measured: 0, and a negative s. */
double forecast_mean_kbps(const struct view *v);
double forecast_spread(const struct view *v);

#endif
