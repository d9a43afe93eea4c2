#include "abr/emulator/link.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double SLACK_BYTES = 1e-4;

/* A stretch of slots: slot i lasts from time_s[i] to time_s[i + 1] and carries
 * bytes[i + 1] - bytes[i]. */
struct stretch {
    int n;
    double *time_s, *bytes; /* (n + 1), from 0 */
};

struct link {
    struct stretch first; /* from the start row to the trace's end */
    struct stretch lap;   /* then this, again and again */
};

static double slot_rate(const struct emu_world *w, int row)
{
    return w->trace->mbps[row] * w->cfg.bandwidth_x * 1e6 / 8 * w->cfg.payload;
}

/* Rows row .. n-1, the first of which begins at begin_s. */
static int link_fill(struct stretch *s, const struct emu_world *w, int row,
                     double begin_s)
{
    const struct trace *t = w->trace;
    s->n = t->n - row;
    s->time_s = calloc((size_t)s->n + 1, sizeof *s->time_s);
    s->bytes = calloc((size_t)s->n + 1, sizeof *s->bytes);
    if (!s->time_s || !s->bytes) return ERR_MEMORY;
    for (int i = 0; i < s->n; i++) {
        double from_s = i ? t->time_s[row + i - 1] : begin_s;
        double seconds = t->time_s[row + i] - from_s;
        s->time_s[i + 1] = s->time_s[i] + seconds;
        s->bytes[i + 1] = s->bytes[i] + slot_rate(w, row + i) * seconds;
    }
    return 0;
}

/* Without a wrap the last positive throughput continues: laps of one long slot. */
static int fill_tail(struct stretch *s, const struct emu_world *w)
{
    int row = w->trace->n - 1;
    while (row > 0 && w->trace->mbps[row] <= 0)
        row--;
    s->n = 1;
    s->time_s = calloc(2, sizeof *s->time_s);
    s->bytes = calloc(2, sizeof *s->bytes);
    if (!s->time_s || !s->bytes) return ERR_MEMORY;
    s->time_s[1] = 1e6;
    s->bytes[1] = 1e6 * slot_rate(w, row);
    return 0;
}

struct link *link_new(const struct emu_world *w, int start_row, struct err *e)
{
    const struct trace *t = w->trace;
    assert(start_row >= 1 && start_row < t->n);
    struct link *l = calloc(1, sizeof *l);
    int rc =
        l ? link_fill(&l->first, w, start_row, t->time_s[start_row - 1]) : ERR_MEMORY;
    if (!rc && w->cfg.wrap == EMU_WRAP_NONE)
        rc = fill_tail(&l->lap, w);
    else if (!rc)
        rc = link_fill(&l->lap, w, 1, w->cfg.wrap == EMU_WRAP_FIRST ? t->time_s[0] : 0);
    if (rc) {
        link_free(l);
        err_set(e, ERR_MEMORY, "no memory for the link of %s", t->name);
        return NULL;
    }
    assert(l->lap.bytes[l->lap.n] > 0); /* trace_check: finish ends */
    return l;
}

void link_free(struct link *l)
{
    if (!l) return;
    free(l->first.time_s);
    free(l->first.bytes);
    free(l->lap.time_s);
    free(l->lap.bytes);
    free(l);
}

/* A slot of a stretch that begins at base_s, with base_bytes delivered before it. */
struct cursor {
    const struct stretch *s;
    int i;
    double base_s, base_bytes;
};

static int slot_at(const struct stretch *s, double time_s)
{
    int lo = 0, hi = s->n - 1;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if (s->time_s[mid] <= time_s)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

static struct cursor locate(const struct link *l, double time_s)
{
    struct cursor c = {.s = &l->first};
    double length = l->first.time_s[l->first.n];
    if (time_s >= length) {
        c.s = &l->lap;
        double laps = floor((time_s - length) / l->lap.time_s[l->lap.n]);
        c.base_s = length + laps * l->lap.time_s[l->lap.n];
        c.base_bytes = l->first.bytes[l->first.n] + laps * l->lap.bytes[l->lap.n];
    }
    c.i = slot_at(c.s, time_s - c.base_s);
    return c;
}

/* The slot in which the delivered bytes reach target. Rounding of a target at the end of a slot must
 * not make it wait for the end of an outage behind that slot. */
static void seek(struct cursor *c, const struct link *l, double target)
{
    while (c->base_bytes + c->s->bytes[c->i + 1] < target - SLACK_BYTES) {
        if (++c->i < c->s->n) continue;
        c->base_s += c->s->time_s[c->s->n];
        c->base_bytes += c->s->bytes[c->s->n];
        c->s = &l->lap;
        c->i = 0;
    }
}

/* The time at which the line through the slot reaches x; times and values are those of its ends. */
static double along(double x, double x0, double x1, double y0, double y1)
{
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0);
}

void link_finish(double *out, const struct link *l, double from_s, const int64_t *bytes,
                 int n)
{
    struct cursor start = locate(l, from_s), at = start;
    const double *t = &start.s->time_s[start.i], *b = &start.s->bytes[start.i];
    double delivered =
        start.base_bytes + along(from_s - start.base_s, t[0], t[1], b[0], b[1]);
    for (int k = 0; k < n; k++) {
        double target = delivered + (double)bytes[k];
        if (k && bytes[k] < bytes[k - 1]) at = start;
        seek(&at, l, target);
        t = &at.s->time_s[at.i];
        b = &at.s->bytes[at.i];
        out[k] =
            at.base_s + fmin(along(target - at.base_bytes, b[0], b[1], t[0], t[1]), t[1]);
    }
}
