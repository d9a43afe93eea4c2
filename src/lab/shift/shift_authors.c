#include "lab/shift/shift_authors.h"

#include <math.h>
#include <stdio.h>

enum { THEIRS = 2, INSIDE_LEAST = 4, RUNS = THEIRS * SHIFT_SEEDS };

static const char *const VARIANTS[THEIRS] = {"moe", "pamoe"};

static const struct {
    const char *name;
    double like[THEIRS]; /* moe and pamoe, run as preset code */
    double lo, hi;       /* over the segments of all four runs */
} PROFILES[SHIFT_PROFILES] = {{"documentary", {0.34, 0.66}, 0.30, 0.66},
                              {"live", {0.01, 0.29}, -0.21, 0.43},
                              {"news", {7.40, 5.41}, 5.36, 7.43}};

static bool froze_as_theirs(const struct shift_record *r)
{
    return shift_frozen_share(r, 3, 4) >= 0.9;
}

static double segments_of(const struct shift_record *r, int profile)
{
    double q[SHIFT_SEGMENTS], sum = 0.0;
    int n = 0;
    shift_segments(q, r, 0.0, 1.0);
    for (int s = SHIFT_PROFILES + profile; s < SHIFT_SEGMENTS; s += SHIFT_PROFILES, n++)
        sum += q[s];
    return sum / n;
}

/* moe and pamoe together; x (RUNS) */
static int plateaus(double *x, const struct shift_plan *p, int profile, bool frozen_alike)
{
    int n = 0;
    for (int i = 0; i < THEIRS; i++) {
        const struct shift_set *s = shift_plan_find(p, "code", false, VARIANTS[i]);
        for (int k = 0; s && k < s->n; k++)
            if (!frozen_alike || froze_as_theirs(&s->run[k]))
                x[n++] = segments_of(&s->run[k], profile);
    }
    return n;
}

struct span {
    double lo, hi;
};

static struct span span_of(const double *x, int n)
{
    struct span s = {INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        s.lo = fmin(s.lo, x[i]);
        s.hi = fmax(s.hi, x[i]);
    }
    return s;
}

static int inside(struct span s, double theirs)
{
    return theirs >= s.lo && theirs <= s.hi;
}

/* Returns how many of their values lie among ours. */
static int spread_table(struct report *r, const struct shift_plan *p)
{
    int all = 0;
    report_table(r, "Preset code beside the authors' own code");
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        double x[RUNS];
        int n = plateaus(x, p, i, false), in = 0;
        struct span ours = span_of(x, n);
        struct stats_interval mean = shift_mean_of(x, n);
        report_row(r);
        report_cell(r, "QoE of the segments", "%s", PROFILES[i].name);
        for (int k = 0; k < THEIRS; k++) {
            char column[32];
            snprintf(column, sizeof column, "theirs, %s", VARIANTS[k]);
            report_real(r, column, PROFILES[i].like[k], 2);
            in += inside(ours, PROFILES[i].like[k]);
        }
        report_real(r, "ours, lowest", ours.lo, 2);
        report_interval(r, "mean", mean.mean, mean.lo, mean.hi, 2);
        report_real(r, "highest", ours.hi, 2);
        report_int(r, "runs", n);
        report_cell(r, "theirs among ours", "%d of %d", in, THEIRS);
        all += in;
    }
    report_text(r,
                "Without hints, from the second round of profiles on. Theirs: one run of "
                "moe and one of pamoe (profile coefficient 6, learning rate 1e-4). Ours: "
                "moe and pamoe together, as one run of theirs says little about either.");
    return all;
}

static void frozen_table(struct report *r, const struct shift_plan *p)
{
    report_table(r, "Runs that froze where theirs did, at 1850 or 2850 kbit/s");
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        double x[RUNS];
        int n = plateaus(x, p, i, true);
        struct stats_interval mean = shift_mean_of(x, n);
        report_row(r);
        report_cell(r, "QoE of the segments", "%s", PROFILES[i].name);
        report_cell(r, "theirs, four runs", "%.2f to %.2f", PROFILES[i].lo,
                    PROFILES[i].hi);
        report_interval(r, "ours", mean.mean, mean.lo, mean.hi, 2);
        report_int(r, "runs", n);
    }
    report_text(r, "The other two of theirs were made with the settings that are shipped "
                   "(coefficient 7, learning rate 1e-3). The bitrate at which a policy "
                   "freezes decides its QoE, and ours freeze at other ones, too.");
}

static void check_frozen(struct report *r, const struct shift_plan *p)
{
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        char name[80];
        double x[RUNS];
        snprintf(name, sizeof name, "code: QoE of %s, frozen at 1850 or 2850 kbit/s",
                 PROFILES[i].name);
        int n = plateaus(x, p, i, true);
        report_check(r, name, stats_mean(x, n), PROFILES[i].lo, PROFILES[i].hi);
    }
}

void shift_authors(struct report *r, const struct shift_plan *p)
{
    if (!shift_plan_find(p, "code", false, "moe") &&
        !shift_plan_find(p, "code", false, "pamoe"))
        return;
    int in = spread_table(r, p);
    frozen_table(r, p);
    if (p->seeds < SHIFT_SEEDS_NEEDED) return;
    report_check(r, "code: plateaus of the authors' runs among ours (of 6)", in,
                 INSIDE_LEAST, SHIFT_PROFILES * THEIRS);
    check_frozen(r, p);
}
