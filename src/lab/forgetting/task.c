#include "lab/forgetting/task.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586476925286766559;

/* both values of Box-Muller: half the logarithms of rng_normal, and data are all normals */
static void normals(double *x, int n, double std, struct rng *r)
{
    for (int i = 0; i < n; i += 2) {
        double len = std * sqrt(-2 * log(1 - rng_uniform(r)));
        double angle = TWO_PI * rng_uniform(r);
        x[i] = len * cos(angle);
        if (i + 1 < n) x[i + 1] = len * sin(angle);
    }
}

double task_dot(const double *a, const double *b, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += a[i] * b[i];
    return sum;
}

double task_distance2(const double *a, const double *b, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

void task_member(double *w, const double *centre, const struct task_cfg *c, struct rng *r)
{
    normals(w, c->d, c->within * c->sigma0 * c->sigma0, r);
    for (int i = 0; i < c->d; i++)
        w[i] += centre[i];
}

void task_pool_draw(struct task_pool *p, const struct task_cfg *c, struct rng *r)
{
    assert(c->s >= 1 && c->s < c->d && c->d <= TASK_DIM);
    assert(c->clusters >= 1 && c->clusters <= c->tasks && c->tasks <= TASK_POOL);
    memset(p, 0, sizeof *p);

    double centre[TASK_POOL][TASK_DIM];
    for (int k = 0; k < c->clusters; k++)
        normals(centre[k], c->d, c->sigma0, r);
    for (int n = 0; n < c->tasks; n++) {
        p->cluster[n] = n % c->clusters;
        task_member(p->w[n], centre[n % c->clusters], c, r);
    }
}

/* Takes the rows before it out of x and makes what is left a unit vector. Where little is left it
 * is rounding's too, so those rows are taken out once more (twice is enough, says Kahan). */
static void orthonormalise(double *x, double (*before)[TASK_DIM], int n, int d)
{
    double was, is = task_dot(x, x, d);
    do {
        was = is;
        for (int j = 0; j < n; j++) {
            double along = task_dot(x, before[j], d);
            for (int i = 0; i < d; i++)
                x[i] -= along * before[j][i];
        }
        is = task_dot(x, x, d);
    } while (is < .1 * was);
    double len = sqrt(is);
    for (int i = 0; i < d; i++)
        x[i] /= len;
}

void task_draw(struct task_data *x, const struct task_cfg *c, const double *truth,
               struct rng *r)
{
    memset(x->sum, 0, sizeof x->sum);
    for (int k = 0; k < c->s; k++) {
        double *sample = x->basis[k];
        if (k == 0 && c->signal) {
            double beta = 1 - rng_uniform(r);
            for (int i = 0; i < c->d; i++)
                sample[i] = beta * c->scale * truth[i];
        } else
            normals(sample, c->d, c->sigma_t, r);
        for (int i = 0; i < c->d; i++)
            x->sum[i] += sample[i];
        orthonormalise(sample, x->basis, k, c->d);
    }
}

double task_learn(double *w, const struct task_cfg *c, const struct task_data *x,
                  const double *truth)
{
    double missing[TASK_DIM], moved = 0;
    for (int i = 0; i < c->d; i++)
        missing[i] = truth[i] - w[i];
    for (int k = 0; k < c->s; k++) {
        double along = task_dot(missing, x->basis[k], c->d);
        for (int i = 0; i < c->d; i++)
            w[i] += along * x->basis[k][i];
        moved += along * along;
    }
    return sqrt(moved);
}
