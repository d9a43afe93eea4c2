#include "support/shift_rows.h"

#include <assert.h>
#include <string.h>

void shift_rows_fill(struct shift_rows *f, int points, int probes)
{
    assert(points <= SHIFT_ROWS_MAX && probes <= SHIFT_ROWS_MAX);
    memset(f, 0, sizeof *f);
    f->record = (struct shift_record){
        .points = points, .probes = probes, .point = f->point, .probe = f->probe};
    for (int i = 0; i < points; i++)
        f->point[i].tag = (float)(i * SHIFT_SEGMENTS / points % SHIFT_PROFILES);
    for (int i = 0; i < probes; i++)
        f->probe[i].iteration = (float)((i + 1) * points / probes);
}
