/* reps.h - a table of repetitions: one row per repetition, one column per measured value.
 *
 *   struct reps *r = reps_new(50, points, &e);
 *   pool_run(50, threads, fill, r);              each fill writes reps_row(r, i)
 *   reps_band(mean, lo, hi, r, 0, points);
 *
 * A value that is not defined in a repetition is NaN and does not count in its column.
 * Intervals: of the mean, at level 0.95 by Student's t. Fewer than two values give NaN.
 *
 * Errors: reps_new ERR_MEMORY. Ownership: rows are borrowed as long as the table lives.
 * Threads: different threads may write different rows; else read-only. */
#ifndef LAB_REPS_H
#define LAB_REPS_H

#include "base/err.h"
#include "base/stats.h"
#include "lab/claims.h"
#include "report/report.h"

struct reps;

struct reps *reps_new(int rows, int columns, struct err *e);
void reps_free(struct reps *r);
double *reps_row(struct reps *r, int row);

struct stats_interval reps_mean(const struct reps *r, int column);

/* Of columns from .. from + n - 1, into arrays of n. */
void reps_band(double *mean, double *lo, double *hi, const struct reps *r, int from,
               int n);

/* Mean of a's column i minus b's column j over rows that have both (paired). */
struct stats_interval reps_gap(const struct reps *a, int i, const struct reps *b, int j);

/* The measure of a struct claims_lab whose arms are tables: `tables` are struct reps *, NULL for an arm
 * that did not run. Means and gaps. */
struct stats_interval reps_measure(struct reps *const *tables, struct claims_number n);

/* How many standard errors the column's mean lies above `expected`. */
double reps_z(const struct reps *r, int column, double expected);

/* ---- curves over time: one column per point of a grid of rounds */

#define REPS_POINTS 256 /* of one curve, at most */

/* The rounds first, first + 1, ... with steps that grow to a twentieth of the round, and last itself,
 * at least half a step after the one before; returns how many. */
int reps_grid(int grid[REPS_POINTS], int first, int last);

/* The first point at or after round t, the last one if there is none. */
int reps_point(const int *grid, int points, int t);

/* Columns from .. from + points - 1 as a curve over the grid with its band, on the last panel. */
void reps_draw(struct report *to, const char *name, enum report_kind kind,
               const int *grid, int points, const struct reps *r, int from);

#endif
