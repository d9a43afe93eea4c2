#include "shift_draw_priv.h"

#include <math.h>
#include <stdio.h>

static const char *const SEGMENT_NAMES[SHIFT_PROFILES] = {"D", "L", "N"};

void shift_draw_figure(const struct shift_draw *d, const char *id, const char *title,
                       const char *caption)
{
    char full[64], head[160];
    snprintf(full, sizeof full, "%s-%s%s", id, d->preset, d->hint ? "-hint" : "");
    snprintf(head, sizeof head, "%s (preset %s, %s hints)", title, d->preset,
             d->hint ? "with" : "without");
    report_figure(d->r, full, head, caption);
}

/* A panel over time with the shifts in it; iterations of 2000 steps on the x axis. */
static void time_panel(const struct shift_draw *d, const char *title, const char *label)
{
    int points = d->n && d->set[0]->n ? d->set[0]->run[0].points : 0;
    report_panel(d->r, &(struct report_panel){.title = title,
                                              .x = {.label = "iteration", .hi = points},
                                              .y = {.label = label}});
    for (int s = 0; s < SHIFT_SEGMENTS; s++)
        report_rule(d->r, 'x', (double)points * s / SHIFT_SEGMENTS,
                    SEGMENT_NAMES[s % SHIFT_PROFILES]);
}

static void series(const struct shift_draw *d, const char *name, int runs, int n)
{
    shift_band(d->mean, d->lo, d->hi, d->rows, runs, n);
    bool alone = runs < 2;
    report_series(d->r, &(struct report_series){.name = name,
                                                .n = n,
                                                .x = d->x,
                                                .y = d->mean,
                                                .lo = alone ? NULL : d->lo,
                                                .hi = alone ? NULL : d->hi});
}

void shift_draw_curve(const struct shift_draw *d, const char *title, enum shift_curve c,
                      const char *label)
{
    time_panel(d, title, label);
    for (int i = 0; i < d->n; i++) {
        const struct shift_set *s = d->set[i];
        int n = s->run[0].points < SHIFT_BINS ? s->run[0].points : SHIFT_BINS;
        for (int k = 0; k < n; k++)
            d->x[k] = s->run[0].points * (k + 0.5) / n;
        for (int run = 0; run < s->n; run++)
            shift_bins(d->rows + run * n, n, &s->run[run], c);
        series(d, s->label, s->n, n);
    }
}

static int probes_of(const struct shift_draw *d, const struct shift_set *s)
{
    int n = s->run[0].probes < SHIFT_ROWS ? s->run[0].probes : SHIFT_ROWS;
    for (int k = 0; k < n; k++)
        d->x[k] = (double)s->run[0].probe[k].iteration;
    return n;
}

void shift_draw_probe(const struct shift_draw *d, const char *title, int net, int expert,
                      int layer, int measure, const char *label)
{
    time_panel(d, title, label);
    for (int i = 0; i < d->n; i++) {
        const struct shift_set *s = d->set[i];
        if (expert > 0 && s->arm.variant[1] == 'l') continue; /* an mlp has one */
        int n = probes_of(d, s);
        for (int run = 0; run < s->n; run++)
            for (int k = 0; k < n; k++)
                d->rows[run * n + k] =
                    shift_probed(&s->run[run].probe[k], net, expert, layer, measure);
        series(d, s->label, s->n, n);
    }
}

void shift_draw_exam(const struct shift_draw *d, const char *title, int profile)
{
    time_panel(d, title, "QoE per chunk");
    for (int i = 0; i < d->n; i++) {
        const struct shift_set *s = d->set[i];
        int n = probes_of(d, s);
        for (int run = 0; run < s->n; run++)
            for (int k = 0; k < n; k++)
                d->rows[run * n + k] = (double)s->run[run].probe[k].exam[profile];
        series(d, s->label, s->n, n);
    }
}

/* The r-th largest share. */
static double share_of_rank(const struct shift_probe *p, int net, int r)
{
    double x[SHIFT_EXPERTS];
    for (int e = 0; e < SHIFT_EXPERTS; e++) {
        double share = (double)p->net[net].share[e];
        int at = e;
        for (; at > 0 && x[at - 1] < share; at--)
            x[at] = x[at - 1];
        x[at] = share;
    }
    return x[r];
}

void shift_draw_shares(const struct shift_draw *d, const struct shift_set *s, int net)
{
    static const char *const names[] = {"most chosen", "second", "least"};
    char title[64];
    snprintf(title, sizeof title, "%s, %s", s->label,
             net == SHIFT_ACTOR ? "actor" : "critic");
    time_panel(d, title, "share of the states");
    int n = probes_of(d, s);
    for (int e = 0; e < SHIFT_EXPERTS; e++) {
        for (int run = 0; run < s->n; run++)
            for (int k = 0; k < n; k++)
                d->rows[run * n + k] = share_of_rank(&s->run[run].probe[k], net, e);
        series(d, names[e], s->n, n);
    }
}
