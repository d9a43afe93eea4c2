#include "lab/gates/prefix_moe.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { DIM = PREFIX_MOE_DIM };

static double prefix_moe_dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += a[i] * b[i];
    return sum;
}

static double power(double x, int p)
{
    double y = 1;
    while (p-- > 0)
        y *= x;
    return y;
}

/* h at z = a'x + b, and dh/dz */
static double expert(const struct prefix_moe *m, double z, double *slope)
{
    if (m->expert == PREFIX_MOE_GELU) return residual_gelu(z, slope);
    double below = power(z, m->power - 1);
    *slope = m->power * below;
    return below * z;
}

static double quadratic(const struct prefix_moe_frozen *f, const double *x)
{
    double sum = f->c;
    for (int i = 0; i < DIM; i++)
        sum += x[i] * prefix_moe_dot(f->q[i], x);
    return sum;
}

double prefix_moe_value(const struct prefix_moe *m, const struct prefix_moe_measure *g,
                        const double x[DIM], double *by)
{
    enum { ALL = PREFIX_MOE_FROZEN + PREFIX_MOE_ATOMS };
    assert(g->n <= PREFIX_MOE_ATOMS && m->frozen <= PREFIX_MOE_FROZEN);
    double score[ALL], h[ALL], slope[ALL], steep[ALL];
    int n = m->frozen + g->n;
    for (int j = 0; j < m->frozen; j++) {
        const struct prefix_moe_frozen *f = &m->known[j];
        score[j] = quadratic(f, x);
        h[j] = expert(m, prefix_moe_dot(f->a, x) + f->b, &slope[j]);
    }
    for (int i = 0; i < g->n; i++) {
        const struct prefix_moe_atom *at = &g->atom[i];
        int j = m->frozen + i;
        struct residual_at s = residual_score(&m->gate, prefix_moe_dot(at->beta1, x));
        score[j] = s.score + at->beta0;
        steep[j] = s.by_s;
        h[j] = expert(m, prefix_moe_dot(at->a, x) + at->b, &slope[j]);
    }

    double most = score[0], total = 0, y = 0;
    for (int j = 1; j < n; j++)
        most = fmax(most, score[j]);
    for (int j = 0; j < n; j++)
        total += score[j] = exp(score[j] - most);
    for (int j = 0; j < n; j++)
        y += (score[j] /= total) * h[j];

    for (int i = 0; i < g->n && by; i++, by += PREFIX_MOE_EACH) {
        int j = m->frozen + i;
        struct prefix_moe_atom *d = (struct prefix_moe_atom *)by;
        d->beta0 = score[j] * (h[j] - y);
        d->b = score[j] * slope[j];
        for (int k = 0; k < DIM; k++) {
            d->beta1[k] = d->beta0 * steep[j] * x[k];
            d->a[k] = d->b * x[k];
        }
    }
    return y;
}

/* ---- Voronoi losses ---- */

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

static struct gap prefix_moe_gap(const struct prefix_moe_atom *x,
                                 const struct prefix_moe_atom *y)
{
    return (struct gap){.beta1 = squared(x->beta1, y->beta1, PREFIX_MOE_DIM),
                        .a = squared(x->a, y->a, PREFIX_MOE_DIM),
                        .b = squared(&x->b, &y->b, 1)};
}

void prefix_moe_cells(int cell[PREFIX_MOE_ATOMS], const struct prefix_moe_measure *g,
                      const struct prefix_moe_measure *truth)
{
    for (int i = 0; i < g->n; i++) {
        double least = INFINITY;
        cell[i] = 0; /* also of an atom that is not finite */
        for (int j = 0; j < truth->n; j++) {
            struct gap d = prefix_moe_gap(&g->atom[i], &truth->atom[j]);
            if (d.beta1 + d.a + d.b >= least) continue;
            least = d.beta1 + d.a + d.b;
            cell[i] = j;
        }
    }
}

/* atoms in cell j, and what their weights miss of the true one's */
static int prefix_moe_count(double *missing, const int *cell, int j,
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

double prefix_moe_l1(const struct prefix_moe_measure *g,
                     const struct prefix_moe_measure *truth)
{
    int cell[PREFIX_MOE_ATOMS];
    double loss = 0;
    prefix_moe_cells(cell, g, truth);
    for (int j = 0; j < truth->n; j++) {
        double missing;
        int n = prefix_moe_count(&missing, cell, j, g, truth);
        loss += missing;
        for (int i = 0; i < g->n; i++) {
            if (cell[i] != j) continue;
            struct gap d = prefix_moe_gap(&g->atom[i], &truth->atom[j]);
            double far = n > 1 ? d.beta1 + d.a + d.b : sqrt(d.beta1) + sqrt(d.a + d.b);
            loss += exp(g->atom[i].beta0) * far;
        }
    }
    return loss;
}

double prefix_moe_l2(const struct prefix_moe_measure *g,
                     const struct prefix_moe_measure *truth, double r)
{
    int cell[PREFIX_MOE_ATOMS];
    double loss = 0;
    prefix_moe_cells(cell, g, truth);
    for (int j = 0; j < truth->n; j++) {
        double missing;
        prefix_moe_count(&missing, cell, j, g, truth);
        loss += missing;
    }
    for (int i = 0; i < g->n; i++) {
        struct gap d = prefix_moe_gap(&g->atom[i], &truth->atom[cell[i]]);
        loss += exp(g->atom[i].beta0) *
                (pow(d.beta1, r / 2) + pow(d.a, r / 2) + pow(d.b, r / 2));
    }
    return loss;
}
