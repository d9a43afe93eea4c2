#include "support/shift_rows.h"

#include <assert.h>
#include <stdlib.h>
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

void shift_made_new(struct shift_made *m, const struct shift_request *q)
{
    struct shift_request full = *q;
    full.hints = "without";
    full.steps = 2000000;
    full.probe_every = 10;
    full.seed = 1;
    int rc = shift_plan_make(&m->plan, &full, NULL);
    assert(rc == 0);
    m->rows = calloc((size_t)m->plan.runs, sizeof *m->rows);
    assert(m->rows);
    for (int i = 0; i < m->plan.runs; i++) {
        shift_rows_fill(&m->rows[i], 100, 50);
        m->plan.record[i] = m->rows[i].record;
    }
}

void shift_made_free(struct shift_made *m)
{
    free(m->rows);
    shift_plan_free(&m->plan);
}

const struct shift_set *shift_made_set(const struct shift_made *m, int i)
{
    return &m->plan.set[i / m->plan.seeds];
}
