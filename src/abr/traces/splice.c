#include "abr/traces/splice.h"

#include "base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 20, ROWS = 20000 };

static const double PIECE_S = 40.0; /* mean length of a piece */
static const double ALIKE = 1.6;    /* means of recordings within this factor */
static const double PACE = 1.2; /* a splice is faster or slower by up to this factor */
static const double SLOT_S =
    1e-3; /* empty slots take none of a piece: go on all the same */

struct growing {
    int n;
    double *time_s, *mbps; /* (ROWS) */
};

/* A recording with about the mean of `base`, or base itself. */
static const struct trace *alike(const struct trace *const *from, int n,
                                 const struct trace *base, struct rng *r)
{
    double mean = trace_mean_mbps(base);
    for (int i = 0; i < TRIES; i++) {
        const struct trace *t = from[rng_below(r, (uint32_t)n)];
        double ratio = trace_mean_mbps(t) / mean;
        if (ratio < ALIKE && ratio > 1.0 / ALIKE) return t;
    }
    return base;
}

/* Appends slots of t from a random one on, forwards or backwards, around its end. */
static void add_piece(struct growing *g, const struct trace *t, double seconds,
                      double pace, struct rng *r)
{
    int slots = t->n - 1, way = rng_uniform(r) < 0.5 ? slots - 1 : 1;
    int at = (int)rng_below(r, (uint32_t)slots); /* slot i ends with row i + 1 */
    for (; seconds > 0.0 && g->n < ROWS; at = (at + way) % slots, g->n++) {
        double slot_s = t->time_s[at + 1] - t->time_s[at];
        g->time_s[g->n] = g->time_s[g->n - 1] + slot_s;
        g->mbps[g->n] = t->mbps[at + 1] * pace;
        seconds -= fmax(slot_s, SLOT_S);
    }
}

static void splice_grow(struct growing *g, const struct trace *const *from, int n,
                        double seconds, struct rng *r)
{
    const struct trace *base = from[rng_below(r, (uint32_t)n)];
    double pace = pow(PACE, 2.0 * rng_uniform(r) - 1.0);
    g->time_s[0] = g->mbps[0] = 0.0;
    g->n = 1;
    while (g->time_s[g->n - 1] < seconds && g->n < ROWS) {
        const struct trace *t = rng_uniform(r) < 0.5 ? base : alike(from, n, base, r);
        add_piece(g, t, rng_exponential(r, PIECE_S), pace, r);
    }
}

struct trace *splice_link(const struct trace *const *from, int n, double seconds,
                          uint64_t seed, uint64_t id, struct err *e)
{
    assert(n >= 1 && seconds > 0.0);
    struct growing g = {.time_s = malloc(2 * ROWS * sizeof(double))};
    struct trace *t = NULL;
    if (!g.time_s) {
        err_set(e, ERR_MEMORY, "no memory for a splice of %d slots", ROWS);
        return NULL;
    }
    g.mbps = g.time_s + ROWS;
    struct rng r;
    rng_init(&r, seed, id);
    splice_grow(&g, from, n, seconds, &r);

    char name[64];
    snprintf(name, sizeof name, "splice-%" PRIu64, id);
    t = trace_new(g.n, name, e);
    if (t) {
        memcpy(t->time_s, g.time_s, (size_t)g.n * sizeof(double));
        memcpy(t->mbps, g.mbps, (size_t)g.n * sizeof(double));
    }
    free(g.time_s);
    if (t && trace_check(t, e)) {
        trace_free(t);
        t = NULL;
    }
    return t;
}
