#include "learn/bound.h"

#include <math.h>
#include <stdlib.h>

static const double NORMAL = 1.4826; /* 1 / (third quartile of N(0, 1)) */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sorts v. */
static double median(float *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n % 2 ? (double)v[n / 2] : ((double)v[n / 2 - 1] + (double)v[n / 2]) / 2;
}

static int bound_tag(float *advantage, float *target, const int *tag, int of, int n,
                     double sigmas, float *scratch)
{
    int m = 0, cut = 0;
    for (int i = 0; i < n; i++)
        if (tag[i] == of) scratch[m++] = advantage[i];
    if (!m) return 0;
    double mid = median(scratch, m);
    for (int i = 0; i < m; i++)
        scratch[i] = (float)fabs((double)scratch[i] - mid);
    double reach = sigmas * NORMAL * median(scratch, m);
    if (!(reach > 0)) return 0;
    for (int i = 0; i < n; i++) {
        if (tag[i] != of) continue;
        double a = (double)advantage[i], b = fmax(mid - reach, fmin(mid + reach, a));
        if (b == a) continue;
        target[i] += (float)(b - a);
        advantage[i] = (float)b;
        cut++;
    }
    return cut;
}

int bound_advantages(float *advantage, float *target, const int *tag, int n,
                     double sigmas, float *scratch)
{
    int cut = 0, tags = 0;
    for (int i = 0; i < n; i++)
        if (tag[i] >= tags) tags = tag[i] + 1;
    for (int of = 0; of < tags; of++)
        cut += bound_tag(advantage, target, tag, of, n, sigmas, scratch);
    return cut;
}
