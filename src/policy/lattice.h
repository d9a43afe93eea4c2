/* lattice.h - evenly spaced points of the simplex, and interpolation between them.
 *
 *   points   all x >= 0 with sum_k x_k = 1 whose coordinates are multiples of 1 / steps,
 *            (steps + dim - 1 choose dim - 1) of them: the simplex-lattice design
 *   between  x lies in one simplex of the Freudenthal triangulation of the cumulated coordinates.
 *            Its corners are at most `dim` points of the lattice; x is their mean by barycentric
 *            coordinates
 *
 * Sources: Scheffe, Experiments with mixtures, 1958 (the design); Freudenthal 1942.
 * Points are numbered in lexicographic order of their coordinates: 0 is the vertex of the last
 * dimension, the last point that of the first.
 *
 * Shapes: x (dim), 1 <= dim <= LATTICE_DIM_MAX, steps >= 1. Threads: pure functions. */
#ifndef POLICY_LATTICE_H
#define POLICY_LATTICE_H

#define LATTICE_DIM_MAX 16

/* The number of points, at most INT_MAX; dim >= 1, steps >= 0. */
int lattice_points(int dim, int steps);
/* The coordinates of point i. */
void lattice_at(float *x, int dim, int steps, int i);

/* x = sum_j share_j x(point_j). */
struct lattice_mix {
    int n;
    int point[LATTICE_DIM_MAX];
    double share[LATTICE_DIM_MAX]; /* > 0, of sum 1 */
};
/* x >= 0, divided by its sum. */
struct lattice_mix lattice_mix(const float *x, int dim, int steps);

#endif
