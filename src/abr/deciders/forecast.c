#include "abr/deciders/forecast.h"

#include "abr/deciders/simple.h"

#include <math.h>

enum { WINDOW = 5, KNOTS = 7 };

/* made by test/score/forecast.mjs */
static const double KNOT[KNOTS] = {0.026, 0.086, 0.169, 0.283, 0.439, 0.671, 1.005};
static const double NEXT[KNOTS][FORECAST_QUANTILES] = {
    {-0.151, -0.047, -0.023, -0.010, -0.001, 0.007, 0.018, 0.032, 0.070},
    {-0.393, -0.162, -0.082, -0.031, 0.006, 0.039, 0.076, 0.122, 0.218},
    {-0.584, -0.275, -0.139, -0.046, 0.023, 0.088, 0.153, 0.232, 0.386},
    {-0.758, -0.355, -0.154, -0.017, 0.087, 0.184, 0.278, 0.388, 0.580},
    {-0.958, -0.442, -0.158, 0.026, 0.177, 0.320, 0.451, 0.602, 0.839},
    {-1.155, -0.515, -0.121, 0.150, 0.388, 0.600, 0.789, 0.981, 1.271},
    {-1.234, -0.443, 0.058, 0.418, 0.774, 1.070, 1.308, 1.540, 1.917},
};
static const double LATER[KNOTS][FORECAST_QUANTILES] = {
    {-0.424, -0.160, -0.062, -0.028, -0.011, -0.001, 0.010, 0.024, 0.085},
    {-0.653, -0.328, -0.191, -0.098, -0.038, 0.004, 0.047, 0.110, 0.279},
    {-0.752, -0.414, -0.259, -0.140, -0.048, 0.030, 0.114, 0.228, 0.448},
    {-0.826, -0.448, -0.264, -0.137, -0.027, 0.076, 0.184, 0.323, 0.596},
    {-0.882, -0.486, -0.285, -0.132, -0.002, 0.125, 0.264, 0.429, 0.737},
    {-1.014, -0.544, -0.289, -0.087, 0.085, 0.258, 0.446, 0.669, 1.080},
    {-1.164, -0.556, -0.210, 0.078, 0.322, 0.566, 0.852, 1.199, 1.805},
};

/* A short history shows too little of a link's spread. This is added to it, as variances are, after 1, 2
 * .. chunks; chosen so that the quantiles hold for short histories on the same sets. */
static const double UNSEEN[VIEW_HISTORY + 1] = {0,    0.34, 0.34, 0.25, 0.20,
                                                0.13, 0.08, 0.04, 0};

static double spread_of(const struct view *v)
{
    double sum = 0, square = 0;
    int n = v->n_history;
    for (int i = 0; i < n; i++) {
        double x = log(fmax(v->throughput_kbps[i], 1e-3));
        sum += x;
        square += x * x;
    }
    double mean = sum / n;
    double variance = fmax(square / n - mean * mean, 0);
    return sqrt(variance + UNSEEN[n] * UNSEEN[n]);
}

struct forecast_place forecast_place_of(const struct view *v)
{
    struct forecast_place p = {.mean_kbps =
                                   simple_harmonic_kbps(v, v->n_history, WINDOW)};
    if (!(p.mean_kbps > 0)) return p;
    p.spread = spread_of(v);
    while (p.knot < KNOTS - 2 && p.spread > KNOT[p.knot + 1])
        p.knot++;
    double x = (p.spread - KNOT[p.knot]) / (KNOT[p.knot + 1] - KNOT[p.knot]);
    p.share = fmin(fmax(x, 0), 1);
    return p;
}

static double quantile(const struct forecast_place *p,
                       const double table[KNOTS][FORECAST_QUANTILES], int i)
{
    double low = table[p->knot][i], high = table[p->knot + 1][i];
    return p->mean_kbps * exp(low + p->share * (high - low));
}

double forecast_next_kbps(const struct forecast_place *p, int i)
{
    return quantile(p, NEXT, i);
}

struct forecast forecast_of(const struct view *v)
{
    struct forecast_place p = forecast_place_of(v);
    struct forecast f = {.mean_kbps = p.mean_kbps};
    if (!(f.mean_kbps > 0)) return f;
    f.spread = p.spread;
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        f.next_kbps[i] = quantile(&p, NEXT, i);
        f.later_kbps[i] = quantile(&p, LATER, i);
    }
    return f;
}
