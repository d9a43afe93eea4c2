#include "policy/lattice.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

int lattice_points(int dim, int steps)
{
    double n = 1;
    for (int k = 1; k < dim; k++)
        n = n * (steps + k) / k;
    return n < INT_MAX ? (int)lround(n) : INT_MAX;
}

/* The number of the point with these counts, of sum steps. */
static int lattice_place(const int *count, int dim, int steps)
{
    int at = 0, left = steps;
    for (int k = 0; k < dim - 1; k++) {
        for (int c = 0; c < count[k]; c++)
            at += lattice_points(dim - 1 - k, left - c);
        left -= count[k];
    }
    return at;
}

void lattice_at(float *x, int dim, int steps, int i)
{
    int left = steps;
    for (int k = 0; k < dim - 1; k++) {
        int count = 0, size;
        while (i >= (size = lattice_points(dim - 1 - k, left - count))) {
            i -= size;
            count++;
        }
        x[k] = (float)count / (float)steps;
        left -= count;
    }
    x[dim - 1] = (float)left / (float)steps;
}

/* Cumulated coordinates of x, y_k = steps (x_k + ... + x_{dim-1}), which decrease from steps to 0:
 * their whole parts, and the order of their fractions from the largest. Equal fractions keep the
 * order of k, so y stays decreasing. */
struct cumulated {
    int whole[LATTICE_DIM_MAX + 1], order[LATTICE_DIM_MAX];
    double part[LATTICE_DIM_MAX + 1];
};

static void cumulate(struct cumulated *c, const float *x, int dim, int steps)
{
    double sum = 0, y = steps;
    for (int k = 0; k < dim; k++)
        sum += (double)x[k];
    c->whole[0] = steps;
    for (int k = 1; k < dim; k++) {
        y = fmax(0, y - steps * (double)x[k - 1] / sum);
        double near = round(y);
        if (fabs(y - near) < 1e-5) y = near; /* x is float */
        c->whole[k] = (int)floor(y);
        c->part[k] = y - c->whole[k];
        int at = k - 1;
        for (; at > 0 && c->part[c->order[at - 1]] < c->part[k]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = k;
    }
}

/* The whole part is a corner. Adding 1 to the y of the largest fractions, one after another, gives
 * the other corners. */
struct lattice_mix lattice_mix(const float *x, int dim, int steps)
{
    assert(dim >= 1 && dim <= LATTICE_DIM_MAX && steps >= 1);
    struct cumulated c = {{0}, {0}, {0}};
    cumulate(&c, x, dim, steps);
    struct lattice_mix m = {0};
    double above = 1;
    for (int i = 0; i < dim; i++) {
        double share = above - (i < dim - 1 ? c.part[c.order[i]] : 0);
        if (share > 0) {
            int count[LATTICE_DIM_MAX];
            for (int k = 0; k < dim; k++)
                count[k] = c.whole[k] - (k < dim - 1 ? c.whole[k + 1] : 0);
            m.point[m.n] = lattice_place(count, dim, steps);
            m.share[m.n++] = share;
        }
        if (i == dim - 1) break;
        above = c.part[c.order[i]];
        c.whole[c.order[i]]++;
    }
    return m;
}
