#include "lab/reps.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct reps {
    int rows, columns;
    double x[];
};

struct reps *reps_new(int rows, int columns, struct err *e)
{
    assert(rows > 0 && columns > 0);
    size_t n = (size_t)rows * (size_t)columns;
    struct reps *r = calloc(1, sizeof *r + n * sizeof r->x[0]);
    if (!r) {
        err_set(e, ERR_MEMORY, "no memory for %d repetitions", rows);
        return NULL;
    }
    r->rows = rows;
    r->columns = columns;
    return r;
}

void reps_free(struct reps *r)
{
    free(r);
}

static size_t reps_place(const struct reps *r, int row, int column)
{
    return (size_t)row * (size_t)r->columns + (size_t)column;
}

double *reps_row(struct reps *r, int row)
{
    assert(row >= 0 && row < r->rows);
    return &r->x[reps_place(r, row, 0)];
}

/* Student's t: the quantile .975 at that many degrees of freedom; from 31 on by the first term of
 * the expansion in 1/freedom (error < .003) */
static double t975(int freedom)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    const int known = sizeof t / sizeof *t;
    return freedom <= known ? t[freedom - 1] : 1.95996 + 2.3724 / freedom;
}

/* mean, sum of squared distances from it, and number of values */
struct moments {
    double mean, squares;
    int n;
};

static double reps_error_of(struct moments m)
{
    return m.n < 2 ? (double)NAN : sqrt(m.squares / (m.n - 1) / m.n);
}

static struct stats_interval reps_interval(struct moments m)
{
    if (m.n < 2) return (struct stats_interval){m.n ? m.mean : (double)NAN, NAN, NAN};
    double half = t975(m.n - 1) * reps_error_of(m);
    return (struct stats_interval){m.mean, m.mean - half, m.mean + half};
}

/* b NULL: of column i alone */
static struct moments difference(const struct reps *a, int i, const struct reps *b, int j)
{
    double sum = 0, squares = 0;
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        double mean = n ? sum / n : 0;
        n = 0;
        for (int row = 0; row < a->rows; row++) {
            double x =
                a->x[reps_place(a, row, i)] - (b ? b->x[reps_place(b, row, j)] : 0);
            if (isnan(x)) continue;
            n++;
            if (pass == 0)
                sum += x;
            else
                squares += (x - mean) * (x - mean);
        }
    }
    return (struct moments){n ? sum / n : 0, squares, n};
}

struct stats_interval reps_mean(const struct reps *r, int column)
{
    assert(column >= 0 && column < r->columns);
    return reps_interval(difference(r, column, NULL, 0));
}

void reps_band(double *mean, double *lo, double *hi, const struct reps *r, int from,
               int n)
{
    for (int i = 0; i < n; i++) {
        struct stats_interval s = reps_mean(r, from + i);
        mean[i] = s.mean;
        lo[i] = s.lo;
        hi[i] = s.hi;
    }
}

struct stats_interval reps_gap(const struct reps *a, int i, const struct reps *b, int j)
{
    assert(a->rows == b->rows && i >= 0 && i < a->columns && j >= 0 && j < b->columns);
    return reps_interval(difference(a, i, b, j));
}

struct stats_interval reps_measure(struct reps *const *tables, struct claims_number n)
{
    bool gap = n.kind == CLAIMS_GAP;
    assert(gap || n.kind == CLAIMS_MEAN);
    if (!tables[n.a] || (gap && !tables[n.b]))
        return (struct stats_interval){NAN, NAN, NAN};
    return gap ? reps_gap(tables[n.a], n.column, tables[n.b], n.column)
               : reps_mean(tables[n.a], n.column);
}

double reps_z(const struct reps *r, int column, double expected)
{
    assert(column >= 0 && column < r->columns);
    struct moments m = difference(r, column, NULL, 0);
    return (m.mean - expected) / reps_error_of(m);
}

int reps_grid(int grid[REPS_POINTS], int first, int last)
{
    int n = 0, step = 1;
    for (int t = first; t < last - step / 2 && n < REPS_POINTS - 1; t += step) {
        grid[n++] = t;
        step = 1 + t / 20;
    }
    grid[n++] = last;
    return n;
}

int reps_point(const int *grid, int points, int t)
{
    int p = 0;
    while (p < points - 1 && grid[p] < t)
        p++;
    return p;
}

void reps_draw(struct report *to, const char *name, enum report_kind kind,
               const int *grid, int points, const struct reps *r, int from)
{
    assert(points <= REPS_POINTS);
    double x[REPS_POINTS], mean[REPS_POINTS], lo[REPS_POINTS], hi[REPS_POINTS];
    for (int p = 0; p < points; p++)
        x[p] = grid[p];
    reps_band(mean, lo, hi, r, from, points);
    report_series(to, &(struct report_series){.name = name,
                                              .kind = kind,
                                              .n = points,
                                              .x = x,
                                              .y = mean,
                                              .lo = lo,
                                              .hi = hi});
}
