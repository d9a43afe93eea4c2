#include "lab/gates/voronoi.h"

#include <math.h>

static double squared(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

/* squared distances of the parts of two atoms */
struct gap {
    double beta1, a, b;
};

static struct gap voronoi_gap(const struct prefix_moe_atom *x,
                              const struct prefix_moe_atom *y)
{
    return (struct gap){.beta1 = squared(x->beta1, y->beta1, PREFIX_MOE_DIM),
                        .a = squared(x->a, y->a, PREFIX_MOE_DIM),
                        .b = squared(&x->b, &y->b, 1)};
}

void voronoi_cells(int cell[PREFIX_MOE_ATOMS], const struct prefix_moe_measure *g,
                   const struct prefix_moe_measure *truth)
{
    for (int i = 0; i < g->n; i++) {
        double least = INFINITY;
        cell[i] = 0; /* also of an atom that is not finite */
        for (int j = 0; j < truth->n; j++) {
            struct gap d = voronoi_gap(&g->atom[i], &truth->atom[j]);
            if (d.beta1 + d.a + d.b >= least) continue;
            least = d.beta1 + d.a + d.b;
            cell[i] = j;
        }
    }
}

/* atoms in cell j, and what their weights miss of the true one's */
static int voronoi_count(double *missing, const int *cell, int j,
                         const struct prefix_moe_measure *g,
                         const struct prefix_moe_measure *truth)
{
    int n = 0;
    double sum = -exp(truth->atom[j].beta0);
    for (int i = 0; i < g->n; i++)
        if (cell[i] == j) {
            n++;
            sum += exp(g->atom[i].beta0);
        }
    *missing = fabs(sum);
    return n;
}

double voronoi_l1(const struct prefix_moe_measure *g,
                  const struct prefix_moe_measure *truth)
{
    int cell[PREFIX_MOE_ATOMS];
    double loss = 0;
    voronoi_cells(cell, g, truth);
    for (int j = 0; j < truth->n; j++) {
        double missing;
        int n = voronoi_count(&missing, cell, j, g, truth);
        loss += missing;
        for (int i = 0; i < g->n; i++) {
            if (cell[i] != j) continue;
            struct gap d = voronoi_gap(&g->atom[i], &truth->atom[j]);
            double far = n > 1 ? d.beta1 + d.a + d.b : sqrt(d.beta1) + sqrt(d.a + d.b);
            loss += exp(g->atom[i].beta0) * far;
        }
    }
    return loss;
}

double voronoi_l2(const struct prefix_moe_measure *g,
                  const struct prefix_moe_measure *truth, double r)
{
    int cell[PREFIX_MOE_ATOMS];
    double loss = 0;
    voronoi_cells(cell, g, truth);
    for (int j = 0; j < truth->n; j++) {
        double missing;
        voronoi_count(&missing, cell, j, g, truth);
        loss += missing;
    }
    for (int i = 0; i < g->n; i++) {
        struct gap d = voronoi_gap(&g->atom[i], &truth->atom[cell[i]]);
        loss += exp(g->atom[i].beta0) *
                (pow(d.beta1, r / 2) + pow(d.a, r / 2) + pow(d.b, r / 2));
    }
    return loss;
}
