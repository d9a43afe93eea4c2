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
