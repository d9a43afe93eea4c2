#include "abr/traces/gen.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS_MAX = 6 };

/* Outages last at most 5 * 10 s. Between two of them the link is up for at least this long with at
 * least this throughput, so the mean of a trace stays above TRACE_MEAN_MIN for any draw. */
static const double FLOOR_MBPS = 0.06, UP_MIN_S = 2.0;

/* One link: a fixed set of parameters from which a trace is drawn. */
struct link {
    int levels;
    double mbps[LEVELS_MAX];
    double dwell_s, sigma, rho;
    double outage_every_s, outage_s; /* 0: none */
    double slot_s;
};

/* A kind is a link whose mean is drawn. Levels are relative to the mean. */
struct kind {
    const char *name;
    double mean_lo, mean_hi;
    struct link link;
};

/* clang-format off */
static const struct kind kinds[] = {
    /*                  mean       levels, relative            dwell sigma rho  outages  slot */
    {"3g-commute",    0.5,  3.5, {5, {.3, .7, 1.1, 1.6, 2.2},   10, .25, .8,  150, 3,  1}},
    {"broadband",     0.6,  6.0, {3, {.7, 1.0, 1.2},            60, .10, .4,    0, 0,  5}},
    {"lte",           2.0, 12.0, {5, {.25, .6, 1.0, 1.6, 2.4},   8, .30, .7,  300, 2,  1}},
    {"wifi",          2.0, 15.0, {3, {.2, .8, 1.2},             15, .20, .5,    0, 0,  1}},
    {"outage",        0.8,  5.0, {3, {.5, 1.0, 1.5},            20, .25, .7,   40, 8,  1}},
    {"high-4g",      10.0, 80.0, {4, {.2, .6, 1.2, 2.0},        12, .30, .8,    0, 0,  1}},
    {"volatile-low",  0.3,  1.2, {4, {.2, .6, 1.3, 2.2},         4, .45, .3,   60, 3,  1}},
};
/* clang-format on */
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *const gen_kinds[] = {"3g-commute", "broadband", "lte", "wifi",
                                 "outage",     "high-4g",   NULL};

static double log_uniform(struct rng *r, double lo, double hi)
{
    return exp(rng_range(r, log(lo), log(hi)));
}

/* Scales the levels to a mean. The walk reflects at the ends, so an inner level is visited twice as
 * often as an end. */
static void scale_to(struct link *l, double mean_mbps)
{
    double sum = 0.0, weights = 0.0;
    for (int k = 0; k < l->levels; k++) {
        double weight = k == 0 || k == l->levels - 1 ? 1.0 : 2.0;
        sum += weight * l->mbps[k];
        weights += weight;
    }
    for (int k = 0; k < l->levels; k++)
        l->mbps[k] *= mean_mbps * weights / sum;
}

static int neighbour(struct rng *r, int state, int levels)
{
    if (state == 0) return 1;
    if (state == levels - 1) return levels - 2;
    return rng_below(r, 2) ? state + 1 : state - 1;
}

static double up_time(struct rng *r, const struct link *l)
{
    return fmax(rng_exponential(r, l->outage_every_s), UP_MIN_S);
}

static struct trace *gen_draw(const struct link *l, double seconds, const char *name,
                              struct rng *r, struct err *e)
{
    if (!(seconds >= 10.0 && seconds <= 1e5)) {
        err_field(e, ERR_RANGE, "seconds", "%g is not within 10 .. 100000", seconds);
        return NULL;
    }
    int n = (int)ceil(seconds / l->slot_s) + 1;
    struct trace *t = trace_new(n, name, e);
    if (!t) return NULL;

    int state = (int)rng_below(r, (uint32_t)l->levels);
    double z = rng_normal(r), fresh = sqrt(1.0 - l->rho * l->rho);
    double stay_s = rng_exponential(r, l->dwell_s);
    double up_s = 0.0, down_s = 0.0; /* left of the present phase */
    if (l->outage_every_s > 0.0) up_s = up_time(r, l);

    for (int i = 0; i < n; i++) {
        for (; stay_s <= 0.0; stay_s += rng_exponential(r, l->dwell_s))
            state = neighbour(r, state, l->levels);
        z = l->rho * z + fresh * rng_normal(r);
        double y = l->mbps[state] * exp(l->sigma * z - l->sigma * l->sigma / 2.0);
        bool down = down_s > 0.0;

        t->time_s[i] = i * l->slot_s;
        t->mbps[i] = down ? 0.0 : round(fmax(y, FLOOR_MBPS) * 1e4) / 1e4;

        stay_s -= l->slot_s;
        if (down) {
            down_s -= l->slot_s;
            if (down_s <= 0.0) up_s = up_time(r, l);
        } else if (l->outage_every_s > 0.0 && i > 0) {
            /* row 0 is never played and does not count */
            up_s -= l->slot_s;
            if (up_s <= 0.0)
                down_s = fmin(rng_exponential(r, l->outage_s), 5.0 * l->outage_s);
        }
    }
    return t;
}

static const struct kind *gen_find(const char *name, struct err *e)
{
    char known[128] = "";
    for (int i = 0; i < KINDS; i++) {
        if (!strcmp(kinds[i].name, name)) return &kinds[i];
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", kinds[i].name);
    }
    err_field(e, ERR_ABSENT, "kind", "there is no kind '%.32s': %s", name, known);
    return NULL;
}

/* The random stream of a kind and an index. */
static void gen_stream(struct rng *r, const char *what, uint64_t seed, uint64_t index)
{
    rng_init(r, rng_u64_at(seed, bytes_crc32(0, what, strlen(what)), 0), index);
}

struct trace *gen_trace(const char *kind, double seconds, uint64_t seed, uint64_t index,
                        struct err *e)
{
    const struct kind *k = gen_find(kind, e);
    if (!k) return NULL;
    char name[64];
    snprintf(name, sizeof name, "%s-%02llu", k->name, (unsigned long long)index);

    struct rng r;
    gen_stream(&r, k->name, seed, index);
    struct link l = k->link;
    scale_to(&l, log_uniform(&r, k->mean_lo, k->mean_hi));
    return gen_draw(&l, seconds, name, &r, e);
}

struct trace *gen_random_link(double seconds, uint64_t seed, uint64_t index,
                              struct err *e)
{
    static const double slots_s[] = {0.5, 1.0, 1.0, 1.0, 2.0, 5.0};
    char name[64];
    snprintf(name, sizeof name, "random-%02llu", (unsigned long long)index);
    struct rng r;
    gen_stream(&r, "random", seed, index);

    struct link l = {.levels = 2 + (int)rng_below(&r, LEVELS_MAX - 1)};
    bool usual =
        rng_uniform(&r) < 0.5; /* .4 .. 6 is half of the wide range's logarithm */
    double mean = usual ? log_uniform(&r, 0.4, 6.0) : log_uniform(&r, 0.2, 40.0);
    double ratio = log_uniform(&r, 1.2, 15.0); /* highest level to lowest */
    for (int k = 0; k < l.levels; k++)
        l.mbps[k] = pow(ratio, (double)k / (l.levels - 1));
    scale_to(&l, mean);
    l.dwell_s = log_uniform(&r, 2.0, 60.0);
    l.sigma = rng_range(&r, 0.02, 0.6);
    l.rho = rng_range(&r, 0.0, 0.9);
    l.slot_s = slots_s[rng_below(&r, sizeof slots_s / sizeof *slots_s)];
    if (rng_uniform(&r) < 0.3) {
        l.outage_every_s = log_uniform(&r, 30.0, 300.0);
        l.outage_s = log_uniform(&r, 1.0, 10.0);
    }
    return gen_draw(&l, seconds, name, &r, e);
}
