#include "abr/emulator/qoe_means.h"

#include <stdarg.h>
#include <stdio.h>

struct means {
    char *at;
    size_t n, used;
};

__attribute__((format(printf, 2, 3))) static void means_add(struct means *m,
                                                            const char *fmt, ...)
{
    if (m->used >= m->n) return;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(m->at + m->used, m->n - m->used, fmt, ap);
    va_end(ap);
    if (n > 0) m->used += (size_t)n;
}

/* Three digits, without an exponent. */
static const char *means_number(char out[32], double v)
{
    if (v >= 100)
        snprintf(out, 32, "%.0f", v);
    else
        snprintf(out, 32, "%.3g", v >= 1e-3 ? v : 0.0);
    return out;
}

static void means_points(struct means *m, const struct qoe *k, double unit)
{
    char stall[32], start[32], fall[32], rise[32];
    means_add(
        m,
        "one second of stall is worth %s points of one 4 s chunk; one second before "
        "the first picture %s; a fall by one point costs %s",
        means_number(stall, k->mu_stall / unit), means_number(start, k->mu_start / unit),
        means_number(fall, k->mu_switch / unit));
    if (k->mu_rise > 0)
        means_add(m, "; a rise by one point costs %s",
                  means_number(rise, k->mu_rise / unit));
}

static void means_mbps(struct means *m, const struct qoe *k, double unit)
{
    char stall[32], change[32];
    bool linear = k->utility == QOE_LINEAR;
    means_number(stall, k->mu_stall / unit);
    means_number(change, k->mu_switch / unit);
    if (linear)
        means_add(m,
                  "one second of stall is worth %s Mbit/s of one chunk; a change by one "
                  "Mbit/s costs %s",
                  stall, change);
    else
        means_add(m,
                  "one second of stall is worth %s units of the logarithm of one chunk's "
                  "bitrate; a change by one %s costs %s",
                  stall, k->utility == QOE_PAMOE ? "Mbit/s" : "unit", change);
}

const char *qoe_means(char *out, size_t n, const struct qoe *k)
{
    struct means m = {.at = out, .n = n};
    if (n) *out = '\0';
    double unit = k->mu_quality;
    if (!(unit > 0)) {
        means_add(&m, "quality does not count; without units: ");
        unit = 1;
    }
    if (k->utility == QOE_POINTS)
        means_points(&m, k, unit);
    else
        means_mbps(&m, k, unit);
    /* an aim, not a promise: a link may carry less than the lowest level */
    if (k->stall_ratio_max > 0)
        means_add(&m, "; the aim is stalls below %.3g %% of the time",
                  100 * k->stall_ratio_max);
    if (k->startup_max_s > 0)
        means_add(&m, "%s a first picture within %.3g s",
                  k->stall_ratio_max > 0 ? " and" : "; the aim is", k->startup_max_s);
    return out;
}
