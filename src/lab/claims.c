#include "lab/claims.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 256 }; /* of one series of intervals */

/* ---- claims ---- */

enum report_verdict claims_effect(struct stats_interval ours, double claimed, double even)
{
    if (isnan(ours.mean) || isnan(ours.lo) || isnan(ours.hi)) return REPORT_UNTESTED;
    bool up = claimed >= even;
    if (up ? ours.lo <= even : ours.hi >= even) return REPORT_DIFFERS;
    return (up ? ours.mean >= claimed : ours.mean <= claimed) ? REPORT_PASS
                                                              : REPORT_SHORT;
}

static enum report_verdict claims_sign(struct stats_interval ours)
{
    if (ours.lo > 0) return REPORT_PASS;
    if (ours.hi < 0) return REPORT_DIFFERS;
    return isfinite(ours.lo) ? REPORT_SHORT : REPORT_UNTESTED;
}

static enum report_verdict claims_sure(struct stats_interval ours, double claimed)
{
    if (!isfinite(ours.lo)) return REPORT_UNTESTED;
    if (ours.lo >= claimed) return REPORT_PASS;
    return ours.mean >= claimed ? REPORT_SHORT : REPORT_DIFFERS;
}

static enum report_verdict claims_limit(const struct claims_claim *c, const double *mean)
{
    bool below = c->rule == CLAIMS_BELOW;
    double limit = c->claimed * (c->pass_by ? mean[c->pass_by] : 1);
    if (below ? mean[0] < limit : mean[0] >= limit) return REPORT_PASS;
    if (c->short_by == CLAIMS_ALWAYS) return REPORT_SHORT;
    if (!c->short_by) return REPORT_DIFFERS;
    double other = mean[c->short_by];
    return (below ? mean[0] < other : mean[0] > other) ? REPORT_SHORT : REPORT_DIFFERS;
}

void claims_fill(char *out, int size, const char *words, const double *value, int n)
{
    int at = 0, next = 0;
    for (const char *w = words; *w && at < size - 1; w++) {
        if (*w != '#') {
            out[at++] = *w;
            continue;
        }
        assert(next < n && w[1] >= '0' && w[1] <= '9');
        int digits = *++w - '0';
        bool percent = w[1] == '%';
        w += percent;
        at += snprintf(out + at, (size_t)(size - at), "%.*f%s", digits,
                       (percent ? 100 : 1) * value[next++], percent ? " %" : "");
    }
    out[at < size ? at : size - 1] = '\0';
}

static void claims_ours(struct report *r, const struct claims_columns *c,
                        const struct claims_claim *claim, struct stats_interval ours,
                        const double *mean)
{
    if (!c->ours) return;
    char words[160];
    if (claim->ours) {
        claims_fill(words, sizeof words, claim->ours, mean, CLAIMS_NUMBERS);
        report_cell(r, c->ours, "%s", words);
    } else if (c->missing_shown || isfinite(ours.mean)) {
        claims_show(r, c->ours, ours, c->scale != 0 ? c->scale : 1, claim->digits);
    }
}

void claims_row(struct report *r, const struct claims_columns *c,
                const struct claims_claim *claim)
{
    report_row(r);
    if (c->text) report_cell(r, c->text, "%s", claim->text);
    if (c->where) report_cell(r, c->where, "%s", claim->where);
    if (c->paper) report_cell(r, c->paper, "%s", claim->paper);
    if (c->published)
        report_cell(r, c->published, "%s", claim->published ? claim->published : "-");
}

void claims_answer(const struct claims_lab *l, const struct claims_columns *c,
                   const struct claims_claim *claim)
{
    double mean[CLAIMS_NUMBERS] = {NAN, NAN, NAN};
    struct stats_interval ours = l->measure(l->self, claim->of[0]);
    mean[0] = ours.mean;
    for (int i = 1; i < CLAIMS_NUMBERS; i++)
        if (claim->of[i].kind) mean[i] = l->measure(l->self, claim->of[i]).mean;

    enum report_verdict v =
        c->untested                    ? REPORT_UNTESTED
        : claim->rule == CLAIMS_EFFECT ? claims_effect(ours, claim->claimed, claim->even)
        : claim->rule == CLAIMS_SIGN   ? claims_sign(ours)
        : claim->rule == CLAIMS_SURE   ? claims_sure(ours, claim->claimed)
                                       : claims_limit(claim, mean);
    if (!c->verdict_first) claims_ours(l->report, c, claim, ours, mean);
    if (c->verdict) report_verdict(l->report, c->verdict, v);
    if (c->verdict_first) claims_ours(l->report, c, claim, ours, mean);
}

void claims_judge(const struct claims_lab *l, const struct claims_columns *c,
                  const struct claims_claim *claim, int n)
{
    for (int i = 0; i < n; i++) {
        if (c->measured_only && isnan(l->measure(l->self, claim[i].of[0]).mean)) continue;
        claims_row(l->report, c, &claim[i]);
        claims_answer(l, c, &claim[i]);
    }
}

/* ---- checks ---- */

/* '@' in the check's name becomes `size`. */
static void claims_check_one(const struct claims_lab *l, const struct claims_check *c,
                             struct claims_number of, const char *size)
{
    char name[160];
    const char *at = strchr(c->name, '@');
    int before = at ? (int)(at - c->name) : (int)strlen(c->name);
    snprintf(name, sizeof name, "%s%.*s%s%s", l->prefix ? l->prefix : "", before, c->name,
             at ? size : "", at ? at + 1 : "");
    struct stats_interval x = l->measure(l->self, of);
    double value = c->side == CLAIMS_OF_LOWER   ? x.lo
                   : c->side == CLAIMS_OF_UPPER ? x.hi
                                                : x.mean;
    report_check(l->report, name, value, c->low, c->high);
}

void claims_check(const struct claims_lab *l, const struct claims_check *check, int n)
{
    for (int i = 0; i < n; i++)
        claims_check_one(l, &check[i], check[i].of, "@");
}

void claims_check_size(const struct claims_lab *l, const struct claims_check *check,
                       int n, int size)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        struct claims_number of = check[i].of;
        of.a = of.a * l->sizes + size;
        of.b = of.b * l->sizes + size;
        claims_check_one(l, &check[i], of, l->size_name(name, l->self, size));
    }
}

/* ---- tables of arms ---- */

void claims_fields(const struct claims_lab *l, const struct claims_field *field, int n,
                   int arm)
{
    for (int i = 0; i < n; i++) {
        const struct claims_field *f = &field[i];
        struct claims_number of = f->of;
        of.a = arm;
        struct stats_interval x = l->measure(l->self, of);
        if (f->as == CLAIMS_INTERVAL)
            claims_cell(l->report, f->column, x, f->digits);
        else
            report_real(l->report, f->column,
                        (f->as == CLAIMS_PERCENT ? 100 : 1) * x.mean, f->digits);
    }
}

/* ---- figures ---- */

static void claims_panel_begin(const struct claims_lab *l, const struct claims_panel *p,
                               int size)
{
    char name[32];
    report_panel(l->report,
                 &(struct report_panel){.title = p->title || p->each != CLAIMS_PANELS
                                                     ? p->title
                                                     : l->size_name(name, l->self, size),
                                        .x = p->x,
                                        .y = p->y});
}

static void claims_panel_of_curves(const struct claims_lab *l,
                                   const struct claims_panel *p)
{
    char name[32];
    claims_panel_begin(l, p, p->from);
    for (int i = 0; i < p->curves; i++) {
        const struct claims_curve *c = &p->curve[i];
        if (p->each == CLAIMS_ONE) l->curve(l->self, c, c->name, c->arm);
        for (int k = p->from; p->each == CLAIMS_CURVES && k < l->sizes; k++)
            l->curve(l->self, c, c->name ? c->name : l->size_name(name, l->self, k),
                     c->arm * l->sizes + k);
    }
    if (p->mark) l->mark(l->self, p->mark, p->from);
}

static void claims_panel_per_size(const struct claims_lab *l,
                                  const struct claims_panel *p)
{
    for (int k = p->from; k < l->sizes; k++) {
        if (l->ran && !l->ran(l->self, k)) continue;
        claims_panel_begin(l, p, k);
        for (int i = 0; i < p->curves; i++)
            l->curve(l->self, &p->curve[i], p->curve[i].name,
                     p->curve[i].arm * l->sizes + k);
        if (p->mark) l->mark(l->self, p->mark, k);
    }
}

void claims_draw(const struct claims_lab *l, const struct claims_figure *figure, int n)
{
    for (int i = 0; i < n; i++) {
        const struct claims_figure *f = &figure[i];
        if (f->heading) report_heading(l->report, "%s", f->heading);
        report_figure(l->report, f->id, f->title, f->caption);
        for (int k = 0; k < f->panels; k++) {
            if (f->panel[k].each == CLAIMS_PANELS)
                claims_panel_per_size(l, &f->panel[k]);
            else
                claims_panel_of_curves(l, &f->panel[k]);
        }
    }
}

void claims_points(struct report *r, const char *name, enum report_kind kind,
                   const double *at, const struct stats_interval *x, int n)
{
    double y[POINTS], lo[POINTS], hi[POINTS];
    assert(n <= POINTS);
    for (int i = 0; i < n; i++) {
        y[i] = x[i].mean;
        lo[i] = x[i].lo;
        hi[i] = x[i].hi;
    }
    report_series(
        r, &(struct report_series){
               .name = name, .kind = kind, .n = n, .x = at, .y = y, .lo = lo, .hi = hi});
}

void claims_bars(const struct claims_lab *l, const char *name, int row, int from,
                 int column)
{
    struct stats_interval x[POINTS];
    for (int k = from; k < l->sizes; k++)
        x[k - from] = l->measure(
            l->self, (struct claims_number){CLAIMS_MEAN, column, row * l->sizes + k, 0});
    claims_points(l->report, name, REPORT_BARS, NULL, x, l->sizes - from);
}

void claims_show(struct report *r, const char *column, struct stats_interval x,
                 double scale, int digits)
{
    if (isfinite(x.lo))
        report_interval(r, column, scale * x.mean, scale * x.lo, scale * x.hi, digits);
    else
        report_real(r, column, scale * x.mean, digits);
}

void claims_cell(struct report *r, const char *column, struct stats_interval x,
                 int digits)
{
    report_interval(r, column, x.mean, x.lo, x.hi, digits);
}
