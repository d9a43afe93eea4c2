/* label_sums.h - what viewers saw, by the value of one label, for /metrics.
 *
 * The label is a setting (metrics-label). The first values that ended sessions have get a row each, at
 * most LABEL_SUMS_MAX or as the setting says. Sessions with later values count in the row "other",
 * sessions without the label in "none". So no client can make /metrics long. After a restart all begin
 * at 0.
 *
 * Threads: locked inside, a leaf. No allocation. */
#ifndef SERVE_LABEL_SUMS_H
#define SERVE_LABEL_SUMS_H

#include "serve/session/labels.h"

#include <pthread.h>
#include <stdint.h>

#define LABEL_SUMS_MAX 64
#define LABEL_SUMS_ROWS (LABEL_SUMS_MAX + 2) /* with none and other, which come first */

struct track_row;

struct label_sum {
    char value[LABELS_VALUE];
    uint64_t sessions, started, chunks, switches;
    double startup_s, stall_s, played_s, points;
};

struct label_sums {
    int key, values;      /* enum labels_key, -1: none; at most so many */
    pthread_mutex_t lock; /* guards the members below */
    int n;
    struct label_sum at[LABEL_SUMS_ROWS];
};

void label_sums_init(struct label_sums *s, int key, int values);
void label_sums_free(struct label_sums *s);

/* A session has ended. Counts if a chunk was reported. */
void label_sums_ended(struct label_sums *s, const struct track_row *row);

/* out (LABEL_SUMS_ROWS); returns the number of rows, 0: there is no such setting. */
int label_sums_read(struct label_sum *out, struct label_sums *s);

#endif
