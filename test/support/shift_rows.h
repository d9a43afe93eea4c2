/* shift_rows.h - hand-made records of lab shift. */
#ifndef TEST_SHIFT_ROWS_H
#define TEST_SHIFT_ROWS_H

#include "lab/shift/shift_plan.h"

enum { SHIFT_ROWS_MAX = 100 };

struct shift_rows {
    struct shift_point point[SHIFT_ROWS_MAX];
    struct shift_probe probe[SHIFT_ROWS_MAX];
    struct shift_record record;
};

/* Zeros, with the tags of ten segments and probes evenly spread. f stays where it is. */
void shift_rows_fill(struct shift_rows *f, int points, int probes);

/* A plan of 2,000,000 steps without hints, with hand-made records of 100 points, 50 probes. */
struct shift_made {
    struct shift_plan plan;
    struct shift_rows *rows; /* (plan.runs) */
};

/* Presets, sweep, variants, once and seeds as the request has them. */
void shift_made_new(struct shift_made *m, const struct shift_request *q);
void shift_made_free(struct shift_made *m);

/* The set that run i belongs to. */
const struct shift_set *shift_made_set(const struct shift_made *m, int i);

#endif
