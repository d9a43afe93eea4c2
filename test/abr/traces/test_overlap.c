#include "abr/traces/overlap.h"

#include "abr/traces/gen.h"
#include "support/alloc.h"
#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct corpus *corpus(const char *kind, int n, double seconds, uint64_t seed)
{
    struct err e = {0};
    struct corpus *c = corpus_generate(kind, n, seconds, seed, &e);
    ck_assert_msg(c != NULL, "%s: %s", e.field, e.detail);
    return c;
}

/* Seconds from .. from + n of t as another recorder would have written them: half-second
 * rows, another start of the clock, a little noise, scaled. */
static void replace_by_excerpt(struct trace **slot, const struct trace *t, int from,
                               int n, double scale)
{
    trace_free(*slot);
    *slot = trace_new(2 * n + 1, "excerpt", NULL);
    for (int i = 0; i <= 2 * n; i++) {
        (*slot)->time_s[i] = 100.0 + i * .5;
        int row = from + (i + 1) / 2;
        (*slot)->mbps[i] = scale * t->mbps[row] * (1.0 + .05 * sin(i * 1.7));
    }
}

static struct overlap find(const struct corpus *a, const struct corpus *b,
                           const struct overlap_cfg *cfg)
{
    struct overlap o = {0};
    struct err e = {0};
    ck_assert_msg(!overlap_find(&o, a, b, cfg, &e), "%s", e.detail);
    return o;
}

static bool up_to_the_end(void *ctx, double share)
{
    double *at = ctx;
    ck_assert(share > *at && share <= 1);
    *at = share;
    return false;
}

static bool no_further(void *ctx, double share)
{
    (void)ctx, (void)share;
    return true;
}

TEST(an_excerpt_is_found_where_it_lies)
{
    struct corpus *a = corpus("3g-commute", 5, 900, 1);
    struct corpus *b = corpus("3g-commute", 4, 400, 2);
    replace_by_excerpt(&b->traces[2], a->traces[3], 310, 260, 1.0);
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = find(a, b, &cfg);
    ck_assert_int_eq(o.n, 1);
    ck_assert(o.pairs[0].b == 2 && o.pairs[0].a == 3);
    ck_assert_double_gt(o.pairs[0].r, .97);
    ck_assert_int_le(abs(o.pairs[0].a_s - o.pairs[0].b_s - 310), 1);
    overlap_free(&o);

    /* threads change nothing */
    cfg.threads = 3;
    o = find(a, b, &cfg);
    ck_assert(o.n == 1 && o.pairs[0].b == 2);
    overlap_free(&o);

    /* it is told how far it is, and may be stopped */
    double share = 0;
    cfg.progress = up_to_the_end;
    cfg.progress_ctx = &share;
    o = find(a, b, &cfg);
    ck_assert(o.n == 1 && o.pairs[0].b == 2);
    ck_assert_double_eq(share, 1);
    overlap_free(&o);
    cfg.progress = no_further;
    struct err e = {0};
    ck_assert_int_eq(overlap_find(&o, a, b, &cfg, &e), OVERLAP_STOPPED);
    ck_assert_int_eq(e.code, 0);
    corpus_free(b);
    corpus_free(a);
}

TEST(other_levels_are_other_recordings)
{
    struct corpus *a = corpus("3g-commute", 2, 900, 1);
    struct corpus *b = corpus("3g-commute", 1, 400, 2);
    replace_by_excerpt(&b->traces[0], a->traces[1], 100, 260, 1.5);
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = find(a, b, &cfg);
    ck_assert_int_eq(o.n, 0);
    overlap_free(&o);
    cfg.level = 1.0;
    o = find(a, b, &cfg);
    ck_assert(o.n == 1 && o.pairs[0].a == 1);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

TEST(short_and_constant_traces_take_no_part)
{
    struct corpus *a = corpus("lte", 2, 300, 1), *b = corpus("lte", 3, 199, 1);
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = find(a, b, &cfg);
    ck_assert(o.n == 0 && o.short_b == 3 && o.short_a == 0);
    overlap_free(&o);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < a->traces[i]->n; k++)
            a->traces[i]->mbps[k] = 3.0;
    o = find(a, a, &cfg);
    ck_assert_int_eq(o.n, 0);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

TEST(every_shift_agrees_with_the_definition)
{
    struct corpus *a = corpus("lte", 1, 60, 1), *b = corpus("lte", 1, 50, 2);
    struct overlap_cfg cfg = {.window_s = 20, .threshold = -1, .level = 1, .threads = 1};
    const double *x = a->traces[0]->mbps + 1,
                 *y = b->traces[0]->mbps + 1; /* rows of 1 s */
    double best = 0.0;
    int best_a = 0, best_b = 0;
    for (int i = 0; i + 20 <= 60; i++)
        for (int j = 0; j + 20 <= 50; j++) {
            double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
            for (int k = 0; k < 20; k++) {
                mx += x[i + k] / 20;
                my += y[j + k] / 20;
            }
            for (int k = 0; k < 20; k++) {
                xy += (x[i + k] - mx) * (y[j + k] - my);
                xx += (x[i + k] - mx) * (x[i + k] - mx);
                yy += (y[j + k] - my) * (y[j + k] - my);
            }
            if (xy / sqrt(xx * yy) <= best) continue;
            best = xy / sqrt(xx * yy);
            best_a = i;
            best_b = j;
        }
    struct overlap o = find(a, b, &cfg);
    ck_assert_int_eq(o.n, 1);
    ck_assert_double_eq_tol(o.pairs[0].r, best, 1e-9);
    ck_assert(o.pairs[0].a_s == best_a && o.pairs[0].b_s == best_b);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

/* ---- every pair of windows, as running sums along i - j give them ---- */

struct plain {
    int n, windows;
    double level, x[1000], mean[1000], inv_sd[1000];
};

/* Of a trace with rows of 1 s. */
static void plain_make(struct plain *p, const struct trace *t, int window)
{
    *p = (struct plain){.n = t->n - 1, .windows = t->n - window};
    for (int i = 0; i < p->n; i++)
        p->level += t->mbps[i + 1] / p->n;
    for (int i = 0; i < p->n; i++)
        p->x[i] = t->mbps[i + 1] - p->level;
    for (int i = 0; i < p->windows; i++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < window; k++)
            sum += p->x[i + k];
        double mean = sum / window;
        for (int k = 0; k < window; k++)
            squares += (p->x[i + k] - mean) * (p->x[i + k] - mean);
        double sd = sqrt(squares / window);
        p->mean[i] = mean;
        p->inv_sd[i] = sd > .01 * (p->level + mean) && sd > 0 ? 1 / sd : 0;
    }
}

static struct overlap_pair plain_best(const struct plain *x, const struct plain *y,
                                      const struct overlap_cfg *cfg)
{
    static double sums[1000];
    struct overlap_pair best = {0};
    int window = cfg->window_s;
    for (int i = 0; i < x->windows; i++) {
        double limit = best.r / x->inv_sd[i], inv = 1.0 / window;
        for (int j = y->windows - 1; j >= 0; j--) {
            double sum = 0;
            for (int k = 0; (i == 0 || j == 0) && k < window; k++)
                sum += x->x[i + k] * y->x[j + k];
            sums[j] = i == 0 || j == 0
                          ? sum
                          : sums[j - 1] + x->x[i + window - 1] * y->x[j + window - 1] -
                                x->x[i - 1] * y->x[j - 1];
        }
        for (int j = 0; j < y->windows && x->inv_sd[i] > 0; j++) {
            double r = (sums[j] * inv - x->mean[i] * y->mean[j]) * y->inv_sd[j];
            double ax = x->level + x->mean[i], ay = y->level + y->mean[j];
            if (r <= limit || fabs(ax - ay) > cfg->level * fmax(ax, ay)) continue;
            limit = r;
            best = (struct overlap_pair){.r = r * x->inv_sd[i], .a_s = i, .b_s = j};
        }
    }
    return best;
}

/* What the screen leaves out is never above the threshold: the result is that of all pairs of windows, to
 * the bit. Among the traces are a copy, an excerpt, a ramp, one with a single peak and a constant one. */
TEST(the_screen_changes_nothing)
{
    static const struct {
        const char *kind;
        struct overlap_cfg cfg;
    } cases[] = {
        {"lte", {200, .9, .1, 2, NULL, NULL}},
        {"volatile-low", {200, .5, 1, 2, NULL, NULL}},
        {"outage", {60, .8, 1, 2, NULL, NULL}},
        {"3g-commute", {11, .95, .1, 2, NULL, NULL}},
        {"wifi", {10, .99, 0, 2, NULL, NULL}},
        {"high-4g", {333, .6, .5, 2, NULL, NULL}},
        {"lte", {50, 0, 1, 2, NULL, NULL}},
    };
    static struct plain x, y;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct overlap_cfg *cfg = &cases[c].cfg;
        struct corpus *a = corpus(cases[c].kind, 6, 700, 1);
        struct corpus *b = corpus(cases[c].kind, 6, 450, 2);
        for (int i = 0; i <= 450; i++) {
            b->traces[0]->mbps[i] = a->traces[1]->mbps[i + 100];
            b->traces[1]->mbps[i] = 2 + .001 * i;
            b->traces[2]->mbps[i] = 2 + .05 * sin(i * 1.1) + (i == 300 ? 20 : 0);
            b->traces[3]->mbps[i] = 3;
        }
        for (int i = 0; i <= 700; i++) {
            a->traces[4]->mbps[i] = 2 + .001 * i + .01 * sin(i * .7);
            a->traces[5]->mbps[i] = 2 + .05 * cos(i * .9) + (i == 400 ? 20 : 0);
        }
        struct overlap o = find(a, b, cfg);
        int found = 0;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                plain_make(&x, a->traces[i], cfg->window_s);
                plain_make(&y, b->traces[j], cfg->window_s);
                struct overlap_pair best = plain_best(&x, &y, cfg);
                const struct overlap_pair *p = NULL;
                for (int k = 0; k < o.n; k++)
                    if (o.pairs[k].a == i && o.pairs[k].b == j) p = &o.pairs[k];
                ck_assert_msg((best.r > cfg->threshold) == (p != NULL), "%s %d %d: %.17g",
                              cases[c].kind, i, j, best.r);
                if (!p) continue;
                ck_assert(p->r == best.r && p->a_s == best.a_s && p->b_s == best.b_s);
                found++;
            }
        ck_assert(found == o.n && found > 0);
        overlap_free(&o);
        corpus_free(b);
        corpus_free(a);
    }
}

/* Two excerpts in two sets of 60: the screen leaves few pairs of windows. All were compared before there was
 * one. The bound is of work, not of time. */
TEST(few_windows_are_compared_in_large_sets)
{
    struct corpus *a = corpus("3g-commute", 60, 900, 1);
    struct corpus *b = corpus("3g-commute", 60, 700, 2);
    replace_by_excerpt(&b->traces[17], a->traces[3], 310, 260, 1.0);
    replace_by_excerpt(&b->traces[41], a->traces[59], 120, 640, 1.0);
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = find(a, b, &cfg);
    ck_assert_int_eq(o.n, 2);
    ck_assert(o.pairs[0].b == 17 && o.pairs[0].a == 3);
    ck_assert(o.pairs[1].b == 41 && o.pairs[1].a == 59);
    double all = 60. * 60 * 701 * 501;
    ck_assert_double_lt((double)o.compared, .01 * all);
    ck_assert_int_gt(o.compared, 0);
    overlap_free(&o);

    /* nothing can be left out when every window counts */
    cfg.threshold = 0;
    cfg.level = 1;
    struct corpus few = {.n = 2, .traces = b->traces};
    o = find(&few, &few, &cfg);
    ck_assert_int_eq(o.compared, 4 * 501 * 501);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

TEST(what_is_too_long_is_refused)
{
    struct corpus *a = corpus("lte", 12, 300, 1), *b = corpus("lte", 1, 300, 2);
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = {0};
    struct err e = {0};
    struct trace *t = a->traces[1];
    t->time_s[t->n - 1] = t->time_s[0] + 2 * OVERLAP_TRACE_S;
    ck_assert_int_eq(overlap_find(&o, a, b, &cfg, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, t->name);
    ck_assert_ptr_nonnull(strstr(e.detail, "1000000 s"));
    for (int i = 0; i < a->n; i++) {
        t = a->traces[i];
        t->time_s[t->n - 1] = t->time_s[0] + .9 * OVERLAP_TRACE_S;
    }
    e = (struct err){0};
    ck_assert_int_eq(overlap_find(&o, b, a, &cfg, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, a->name);
    ck_assert_ptr_nonnull(strstr(e.detail, "parts"));
    ck_assert(!o.pairs);

    struct corpus none = {0};
    o = find(&none, b, &cfg);
    ck_assert(o.n == 0 && o.compared == 0);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

struct two {
    struct corpus *a, *b;
};

static void *make(void *ctx, struct err *e)
{
    struct two *two = ctx;
    struct overlap *o = calloc(1, sizeof *o);
    if (!o) {
        err_set(e, ERR_MEMORY, "no memory");
        return NULL;
    }
    struct overlap_cfg cfg = overlap_cfg_default();
    if (!overlap_find(o, two->a, two->b, &cfg, e)) return o;
    free(o);
    return NULL;
}

static void unmake(void *o)
{
    overlap_free(o);
    free(o);
}

TEST(every_allocation_may_fail)
{
    struct two two = {corpus("lte", 2, 250, 1), corpus("lte", 2, 250, 2)};
    ck_assert_int_ge(alloc_each_fails(make, unmake, &two), 8);
    corpus_free(two.a);
    corpus_free(two.b);
}

/* The two published sets that come from the same Norwegian logs. */
TEST(real_leak_is_found)
{
    const char *train = shared_path("traces/pensieve-train-127");
    const char *test = shared_path("traces/pensieve-test-hsdpa-142");
    if (!train || !test) return;
    struct err e = {0};
    struct corpus *a = corpus_load(train, CORPUS_ALL, &e);
    struct corpus *b = corpus_load(test, CORPUS_ALL, &e);
    ck_assert_msg(a && b, "%s: %s", e.field, e.detail);

    /* one trace of the set is enough here; the command shows all */
    int i = 0;
    while (i < b->n && strcmp(b->traces[i]->name, "norway_bus_14"))
        i++;
    ck_assert_int_lt(i, b->n);
    struct corpus one = {.n = 1, .traces = &b->traces[i]};
    struct overlap_cfg cfg = overlap_cfg_default();
    struct overlap o = find(a, &one, &cfg);
    ck_assert_int_ge(o.n, 1);
    ck_assert_ptr_nonnull(strstr(a->traces[o.pairs[0].a]->name, "2010-09-30_1058"));
    ck_assert_double_gt(o.pairs[0].r, .99);
    overlap_free(&o);
    corpus_free(b);
    corpus_free(a);
}

SUITE_WITHIN(abr_traces_overlap, 60, an_excerpt_is_found_where_it_lies,
             other_levels_are_other_recordings, short_and_constant_traces_take_no_part,
             every_shift_agrees_with_the_definition, the_screen_changes_nothing,
             few_windows_are_compared_in_large_sets, what_is_too_long_is_refused,
             every_allocation_may_fail, real_leak_is_found);
