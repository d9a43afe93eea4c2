#include "lab/forgetting/experiment.h"

#include "base/pool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct stats_interval UNKNOWN = {NAN, NAN, NAN};

int experiment_column(const struct experiment_arm *arm, int column, int point)
{
    if (column < MIXTURE_SERIES) return column * arm->points + point;
    return arm->series * arm->points + column - MIXTURE_SERIES;
}

/* ---- repetitions over threads ---- */

struct crew {
    struct experiment_arm *arm;
    const struct task_pool *pool;
    const int *grid;
    uint64_t seed;
};

static int repeat_one(void *ctx, int i, struct err *e)
{
    const struct crew *c = ctx;
    const struct experiment_arm *arm = c->arm;
    double *row = reps_row(arm->reps, i);
    struct mixture_to to = {
        .grid = c->grid, .points = arm->points, .series = arm->series, .value = row};
    struct mixture_end end;
    int rc = mixture_run(&end, &to, &arm->cfg, c->pool, c->seed, i, e);
    if (rc) return rc;

    struct mixture_spread s =
        mixture_spread(&end, arm->cfg.router.experts, arm->cfg.task.clusters);
    const double ends[] = {
        [EXPERIMENT_G - MIXTURE_SERIES] = end.error,
        [EXPERIMENT_OFF_PRINTED - MIXTURE_SERIES] = end.error - end.printed,
        [EXPERIMENT_OFF_EXACT - MIXTURE_SERIES] = end.error - end.exact,
        [EXPERIMENT_FORM - MIXTURE_SERIES] = end.exact,
        [EXPERIMENT_STOPPED - MIXTURE_SERIES] = end.stopped ? end.stopped : (double)NAN,
        [EXPERIMENT_T1 - MIXTURE_SERIES] = end.t1,
        [EXPERIMENT_MET - MIXTURE_SERIES] = s.home,
        [EXPERIMENT_EVEN - MIXTURE_SERIES] = s.even,
        [EXPERIMENT_SERVED - MIXTURE_SERIES] = s.served,
        [EXPERIMENT_QUEUED - MIXTURE_SERIES] = (double)end.waited / arm->cfg.rounds,
        [EXPERIMENT_WAIT - MIXTURE_SERIES] = end.wait,
        [EXPERIMENT_DELAY - MIXTURE_SERIES] = end.delay,
        [EXPERIMENT_SIGMA0 - MIXTURE_SERIES] = end.sigma0,
    };
    for (int k = MIXTURE_SERIES; k < EXPERIMENT_COLUMNS; k++)
        row[experiment_column(arm, k, 0)] = ends[k - MIXTURE_SERIES];
    return 0;
}

int experiment_repeat(struct experiment_arm *arm, const struct task_pool *pool, int reps,
                      const int *grid, int points, int series, const struct lab_task *t,
                      struct err *e)
{
    arm->points = points;
    arm->series = series;
    arm->reps = reps_new(reps, series * points + EXPERIMENT_COLUMNS - MIXTURE_SERIES, e);
    if (!arm->reps) return ERR_MEMORY;
    struct crew c = {arm, pool, grid, t->seed};
    return pool_try(reps, t->threads, repeat_one, &c, e);
}

static bool experiment_wanted(const struct setting *s, const struct lab_task *t, int row,
                              int size)
{
    if (s->experts[size] == 1 && s->row[row].rule == MIXTURE_ON) return false;
    return !s->wanted || s->wanted(t, row, size);
}

static int run_arm(struct experiment *x, int row, int size, struct err *e)
{
    const struct setting *s = x->setting;
    char note[64];
    snprintf(note, sizeof note, "%sM = %d, %s", s->note, s->experts[size],
             s->row[row].name);
    double done = (double)(size * s->rows + row) / (s->sizes * s->rows);
    if (lab_progress(x->task, s->from + (s->to - s->from) * done, note))
        return LAB_STOPPED;
    return experiment_repeat(&x->arm[row * s->sizes + size], NULL, x->reps, x->grid,
                             x->points, MIXTURE_SERIES, x->task, e);
}

static int run_arms(struct experiment *x, const struct digits_set *images, struct err *e)
{
    const struct setting *s = x->setting;
    int rc = 0;
    for (int size = 0; size < s->sizes && !rc; size++)
        for (int row = 0; row < s->rows && !rc; row++) {
            struct mixture_cfg *c = &x->arm[row * s->sizes + size].cfg;
            enum mixture_rule rule = s->row[row].rule;
            *c = images ? mixture_images(images, s->edge, s->experts[size], rule)
                        : mixture_default(s->edge, s->experts[size], rule);
            c->rounds = x->grid[x->points - 1];
            c->digits.own_names = !s->row[row].common_names;
            if (experiment_wanted(s, x->task, row, size)) rc = run_arm(x, row, size, e);
        }
    return rc;
}

/* ---- what the tables read ---- */

static struct stats_interval known(double mean)
{
    return (struct stats_interval){mean, mean, mean};
}

static int points_above(const struct experiment_arm *a, int series, int bound)
{
    int above = 0;
    for (int i = 0; i < a->points; i++)
        above += reps_mean(a->reps, experiment_column(a, series, i)).mean >
                 reps_mean(a->reps, experiment_column(a, bound, i)).mean;
    return above;
}

static struct stats_interval experiment_gap(const struct experiment_arm *a,
                                            const struct experiment_arm *b, int column,
                                            int point)
{
    if (!b->reps) return UNKNOWN;
    int at = experiment_column(a, column, point);
    return reps_gap(a->reps, at, b->reps, at);
}

static struct stats_interval experiment_measure(const void *self, struct claims_number n)
{
    const struct experiment *x = self;
    const struct experiment_arm *a = &x->arm[n.a];
    int last = x->points - 1;
    if (!a->reps) return UNKNOWN;
    switch (n.kind) {
    case CLAIMS_MEAN:
        return reps_mean(a->reps, experiment_column(a, n.column, last));
    case CLAIMS_GAP:
        return experiment_gap(a, &x->arm[n.b], n.column, last);
    case EXPERIMENT_GAP_ONE:
        return experiment_gap(a, &x->arm[n.a - n.a % x->setting->sizes], n.column, last);
    case EXPERIMENT_GAP_T2:
        return experiment_gap(a, &x->arm[n.b], n.column,
                              reps_point(x->grid, x->points, mixture_t2(&a->cfg)));
    case EXPERIMENT_AT:
        last = reps_point(x->grid, x->points, x->setting->when(&a->cfg, n.b));
        return reps_mean(a->reps, experiment_column(a, n.column, last));
    case EXPERIMENT_ABOVE:
        return known(points_above(a, n.column, n.b));
    case EXPERIMENT_POINTS:
        return known(x->points);
    default:
        return UNKNOWN;
    }
}

static const char *experiment_size_name(char out[32], const void *self, int size)
{
    const struct experiment *x = self;
    snprintf(out, 32, "M = %d", x->setting->experts[size]);
    return out;
}

static bool experiment_ran(const void *self, int size)
{
    const struct experiment *x = self;
    bool any = false;
    for (int row = 0; row < x->setting->rows; row++)
        any |= x->arm[row * x->setting->sizes + size].reps != NULL;
    return any;
}

static void experiment_curve(const void *self, const struct claims_curve *c,
                             const char *name, int arm)
{
    const struct experiment *x = self;
    const struct experiment_arm *a = &x->arm[arm];
    if (!a->reps && a->cfg.router.experts == 1) a -= x->setting->sizes;
    if (!a->reps) return;
    reps_draw(x->task->report, name, c->kind, x->grid, x->points, a->reps,
              experiment_column(a, c->column, 0));
}

/* ---- */

static int experiment_draw(const struct experiment *x, struct err *e)
{
    const struct setting *s = x->setting;
    struct claims_lab l = {.report = x->task->report,
                           .self = x,
                           .prefix = s->note,
                           .measure = experiment_measure,
                           .sizes = s->sizes,
                           .size_name = experiment_size_name,
                           .curve = experiment_curve,
                           .mark = s->mark,
                           .ran = experiment_ran};
    return s->draw(x, &l, e);
}

int experiment_run(const struct setting *s, struct lab_task *t, struct err *e)
{
    assert(s->sizes <= EXPERIMENT_SIZES && s->rows <= EXPERIMENT_ROWS);
    struct experiment *x = calloc(1, sizeof *x);
    if (!x) return err_set(e, ERR_MEMORY, "no memory for the mixtures");
    struct digits_set *images = NULL;
    x->setting = s;
    x->task = t;
    x->reps = (int)lab_int(t, s->reps);
    x->points = reps_grid(x->grid, s->first, (int)lab_int(t, s->rounds));
    int rc = s->images ? digits_set_find(&images, t, e) : 0;
    if (!rc && (images || !s->images)) {
        rc = run_arms(x, images, e);
        if (!rc) rc = experiment_draw(x, e);
    }
    for (int i = 0; i < s->rows * s->sizes; i++)
        reps_free(x->arm[i].reps);
    digits_set_free(images);
    free(x);
    return rc;
}
