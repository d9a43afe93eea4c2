/* plain_field.h - a field for lab/merge/merge_sim.h without an emulator. Included by each test once: everything
 * is static. */
#ifndef TEST_PLAIN_FIELD_H
#define TEST_PLAIN_FIELD_H

#include "lab/merge/merge_sim.h"

#include <math.h>
#include <stdlib.h>

enum { V = MERGE_TASKS, SESSIONS = 5, STEPS = 6 };

/* Task v is worth .9 - (distance of x from its top)^2, and a session
 * more or less. */
struct plain_field {
    struct merge_world world;
    struct merge_grid *grid;
    float fisher[SESSIONS * V], regmean[SESSIONS * V];
    float obs[SESSIONS * FEAT_FULL_DIM]; /* 0: they tell nothing */
    float *prior, *misled;
    struct merge_field field;
};

static inline double worth(const float *x, int v)
{
    double d = 0;
    for (int k = 0; k < V; k++)
        d += pow((double)x[k] - (k == v ? .8 : .2 / 3), 2);
    return .9 - d;
}

static inline struct plain_field *make(void)
{
    struct plain_field *f = calloc(1, sizeof *f);
    f->world.sessions = SESSIONS;
    f->grid = merge_grid_new(V, STEPS, &f->world, NULL);
    for (int i = 0; i < f->grid->points; i++) {
        float x[V];
        lattice_at(x, f->grid->dim, f->grid->steps, i);
        for (int v = 0; v < V; v++) {
            f->grid->mean[i * V + v] = worth(x, v);
            for (int s = 0; s < SESSIONS; s++)
                f->grid->scores[(i * SESSIONS + s) * V + v] =
                    (float)(worth(x, v) + .1 * (s - 2));
        }
    }
    for (int i = 0; i < SESSIONS * V; i++) {
        f->fisher[i] = .25f;
        f->regmean[i] = .5f;
    }
    /* the truth, and each profile's taken for the next one's */
    int n = f->grid->points;
    f->prior = calloc((size_t)(n * V), sizeof *f->prior);
    f->misled = calloc((size_t)(n * V), sizeof *f->misled);
    for (int i = 0; i < n; i++)
        for (int v = 0; v < V; v++) {
            f->prior[i * V + v] = (float)f->grid->mean[i * V + v];
            f->misled[i * V + v] = (float)f->grid->mean[i * V + (v + 1) % V];
        }
    f->field = (struct merge_field){.world = &f->world,
                                    .merged = f->grid,
                                    .hinted = f->grid,
                                    .plain = f->grid,
                                    .fisher = f->fisher,
                                    .regmean = f->regmean,
                                    .obs = f->obs,
                                    .prior = {STEPS, V, f->prior},
                                    .misled = {STEPS, V, f->misled}};
    return f;
}

static inline void drop(struct plain_field *f)
{
    merge_grid_free(f->grid);
    free(f->prior);
    free(f->misled);
    free(f);
}

#endif
