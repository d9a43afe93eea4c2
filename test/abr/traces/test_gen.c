#include "abr/traces/gen.h"

#include "abr/traces/corpus.h"
#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trace *must(struct trace *t, const struct err *e)
{
    ck_assert_msg(t != NULL, "%s: %s", e->field, e->detail);
    return t;
}

static double share_of_zeros(const struct trace *t)
{
    int zeros = 0;
    for (int i = 1; i < t->n; i++)
        zeros += t->mbps[i] == 0.0;
    return (double)zeros / (t->n - 1);
}

/* Means of the kinds over many traces lie in the ranges that the table states. */
TEST(kinds_are_what_they_say)
{
    const struct {
        const char *kind;
        double mean_lo, mean_hi, zeros_lo, zeros_hi;
    } want[] = {
        {"3g-commute", 1.2, 1.9, .005, .04}, {"broadband", 2.0, 2.7, 0, 0},
        {"lte", 4.6, 6.4, .001, .02},        {"wifi", 5.3, 7.5, 0, 0},
        {"outage", 1.6, 2.3, .1, .25},       {"high-4g", 27, 40, 0, 0},
        {"volatile-low", .5, .75, .03, .09},
    };
    struct err e = {0};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        double mean = 0.0, zeros = 0.0;
        for (int i = 0; i < 300; i++) {
            struct trace *t = must(gen_trace(want[k].kind, 320, 5, (uint64_t)i, &e), &e);
            ck_assert_int_eq(trace_check(t, &e), 0);
            mean += trace_mean_mbps(t) / 300;
            zeros += share_of_zeros(t) / 300;
            trace_free(t);
        }
        ck_assert_msg(mean >= want[k].mean_lo && mean <= want[k].mean_hi, "%s: mean %g",
                      want[k].kind, mean);
        ck_assert_msg(zeros >= want[k].zeros_lo && zeros <= want[k].zeros_hi,
                      "%s: zeros %g", want[k].kind, zeros);
    }
}

TEST(random_links_are_wide_and_valid)
{
    struct err e = {0};
    int usual = 0, low = 0, high = 0, n = 2000;
    for (int i = 0; i < n; i++) {
        struct trace *t = must(gen_random_link(i % 2 ? 320 : 10, 1, (uint64_t)i, &e), &e);
        ck_assert_msg(trace_check(t, &e) == 0, "%s: %s", e.field, e.detail);
        double mean = trace_mean_mbps(t);
        usual += mean > .4 && mean < 6;
        low += mean < .4;
        high += mean > 10;
        trace_free(t);
    }
    ck_assert(usual > n / 2 && usual < n * 9 / 10 && low > n / 50 && high > n / 20);
}

TEST(seeds_and_indices_count)
{
    struct err e = {0};
    struct trace *a = must(gen_trace("lte", 60, 1, 0, &e), &e);
    struct trace *b = must(gen_trace("lte", 60, 1, 0, &e), &e);
    struct trace *c = must(gen_trace("lte", 60, 1, 1, &e), &e);
    struct trace *d = must(gen_trace("lte", 60, 2, 0, &e), &e);
    size_t size = (size_t)a->n * sizeof *a->mbps;
    ck_assert_int_eq(a->n, 61);
    ck_assert_int_eq(memcmp(a->mbps, b->mbps, size), 0);
    ck_assert_int_ne(memcmp(a->mbps, c->mbps, size), 0);
    ck_assert_int_ne(memcmp(a->mbps, d->mbps, size), 0);
    ck_assert_str_eq(c->name, "lte-01");
    trace_free(a);
    trace_free(b);
    trace_free(c);
    trace_free(d);
}

TEST(bad_requests)
{
    struct err e = {0};
    ck_assert_ptr_null(gen_trace("5g", 60, 1, 0, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "3g-commute"));
    ck_assert_ptr_nonnull(strstr(e.detail, "volatile-low"));
    e = (struct err){0};
    ck_assert_ptr_null(gen_trace("lte", 9, 1, 0, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    e = (struct err){0};
    ck_assert_ptr_null(gen_random_link(NAN, 1, 0, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
}

/* traces/ is what `abrd trace generate --out traces` writes, to the byte. */
TEST(bundled_corpus_regenerates)
{
    struct err e = {0};
    struct corpus *c = corpus_generate(NULL, 10, 320, 1, &e);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(c->n, 60);
    const char *dir = tmpdir_new();
    for (int i = 0; i < c->n; i++) {
        const char *path = tmpdir_path(dir, c->traces[i]->name);
        ck_assert_int_eq(trace_save(c->traces[i], path, &e), 0);
        size_t n_made, n_bundled;
        char *made = text_read_file(path, 1 << 20, &n_made, &e);
        char *bundled = text_read_file(tmpdir_path("traces", c->traces[i]->name), 1 << 20,
                                       &n_bundled, &e);
        ck_assert_msg(made && bundled, "%s: %s", e.field, e.detail);
        ck_assert_uint_eq(n_made, n_bundled);
        ck_assert_msg(!memcmp(made, bundled, n_made), "%s", c->traces[i]->name);
        free(made);
        free(bundled);
    }

    struct corpus *read = corpus_load("traces", CORPUS_ALL, &e);
    ck_assert_msg(read != NULL, "%s: %s", e.field, e.detail);
    ck_assert_uint_eq(corpus_hash(read), corpus_hash(c));
    corpus_free(read);
    corpus_free(c);
}

SUITE_WITHIN(abr_traces_gen, 60, kinds_are_what_they_say, random_links_are_wide_and_valid,
             seeds_and_indices_count, bad_requests, bundled_corpus_regenerates);
