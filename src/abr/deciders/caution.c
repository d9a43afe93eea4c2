#include "abr/deciders/caution.h"

#include "abr/deciders/forecast.h"

#include <math.h>
#include <stddef.h>

static const double CALM = 0.15, UNEVEN = 0.4; /* spread of the forecast, below */
static const double STEP = 0.02, MARGIN_MAX = 2;
static const double RATE = 0.02, KAPPA = 0.5; /* per second above the ceiling */

const double caution_margins[CAUTION_LINKS] = {0, 0, 0.05};

const char *const caution_link_names[CAUTION_LINKS + 1] = {"calm", "uneven", "volatile",
                                                           NULL};

static int kind_of(double spread)
{
    return spread < 0 ? -1 : spread < CALM ? 0 : spread < UNEVEN ? 1 : 2;
}

int caution_link(const struct view *v)
{
    return kind_of(forecast_spread(v));
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

double caution_margin(double margin)
{
    return clamp(margin, 0, MARGIN_MAX);
}

void caution_download(struct caution_links *c, const struct view *v, double kbps,
                      double bytes)
{
    struct forecast f = forecast_of(v);
    if (!(f.mean_kbps > 0)) return;
    int kind = kind_of(f.spread);
    bool missed = forecast_usual_kbps(&f, kbps, bytes) <
                  f.next_kbps[FORECAST_LOW] * exp(-c->margin[kind]);
    c->seen[kind]++;
    c->missed[kind] += missed;
    c->margin[kind] = caution_margin(c->margin[kind] + STEP * (missed - CAUTION_MISSES));
}

void caution_chunk(struct caution_stalls *c, double stall_s, double chunk_s, double max)
{
    if (!(max > 0)) return;
    double above_s = stall_s - max * (stall_s + chunk_s);
    c->lambda = clamp(c->lambda + RATE * above_s, 0, CAUTION_LAMBDA_MAX);
}

bool caution_link_bound(const struct view *v, double kbps)
{
    return kbps < v->ladder_kbps[0];
}

/* `slow` */
static double slow_of(const struct view *v)
{
    double mean_kbps = forecast_mean_kbps(v);
    if (!(mean_kbps > 0)) return 0;
    return CAUTION_SLOW * clamp(2 - 2 * mean_kbps / v->ladder_kbps[v->levels - 1], 0, 1);
}

void caution_apply(struct view *v, const struct caution_links *links,
                   const struct caution_stalls *stalls)
{
    if (!(v->qoe.stall_ratio_max > 0)) return;
    int kind = caution_link(v);
    if (kind >= 0) v->margin = caution_margins[kind] + (links ? links->margin[kind] : 0);
    double above_s = v->stalled_s - v->qoe.stall_ratio_max * (v->stalled_s + v->played_s);
    double lambda = stalls ? stalls->lambda : 0;
    double weight = (1 + lambda + slow_of(v)) * (1 + KAPPA * fmax(above_s, 0));
    v->qoe.mu_stall *= fmin(weight, CAUTION_WEIGHT_MAX);
}
