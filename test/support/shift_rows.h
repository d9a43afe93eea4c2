/* shift_rows.h - hand-made records of lab shift. */
#ifndef TEST_SHIFT_ROWS_H
#define TEST_SHIFT_ROWS_H

#include "lab/shift_run.h"

enum { SHIFT_ROWS_MAX = 100 };

struct shift_rows {
    struct shift_point point[SHIFT_ROWS_MAX];
    struct shift_probe probe[SHIFT_ROWS_MAX];
    struct shift_record record;
};

/* Zeros, with the tags of ten segments and probes evenly spread. f stays where it is. */
void shift_rows_fill(struct shift_rows *f, int points, int probes);

#endif
