/* The tests' own tool for failing allocations must be able to find a fault. */
#include "support/alloc.h"
#include "support/suites.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

static void *make_table(void *ctx, struct err *e)
{
    (void)ctx;
    return table_new(100, 8, 8, 1, e);
}

static void free_table(void *p)
{
    table_free(p);
}

TEST(every_constructor_of_base_survives)
{
    ck_assert_int_eq(alloc_each_fails(make_table, free_table, NULL), 4);
}

TEST(counts_calls_and_live_blocks)
{
    /* volatile: the compiler may otherwise drop a block that nobody looks at */
    alloc_watch();
    char *volatile a = malloc(10), *volatile b = calloc(1, 10), *volatile c = strdup("x");
    long calls = alloc_calls(), live = alloc_live();
    ck_assert_int_eq(calls, 3);
    ck_assert_int_eq(live, 3);

    alloc_watch();
    a = realloc(a, 100000);
    calls = alloc_calls();
    ck_assert_int_eq(calls, 1);

    alloc_watch();
    char *volatile d = malloc(10);
    free(d);
    free(NULL);
    live = alloc_live();
    ck_assert_int_eq(live, 0);
    free(a);
    free(b);
    free(c);
}

/* Two constructors with the two usual faults; the tests on them must fail. */
static void *leaks(void *ctx, struct err *e)
{
    (void)ctx;
    char *first = malloc(10), *second = malloc(10);
    if (first && second) {
        free(second);
        return first;
    }
    err_set(e, ERR_MEMORY, "leaves the first behind");
    return NULL;
}

static void *is_silent(void *ctx, struct err *e)
{
    (void)ctx;
    (void)e;
    return malloc(10);
}

TEST(a_leak_is_found) /* has to fail */
{
    alloc_each_fails(leaks, free, NULL);
}

TEST(a_missing_error_is_found) /* has to fail */
{
    alloc_each_fails(is_silent, free, NULL);
}

/* libcheck has no "must fail": run them in a runner of their own and look at its count */
TEST(faults_are_found)
{
    Suite *s = suite_create("faults");
    TCase *t = tcase_create("faults");
    tcase_add_test(t, a_leak_is_found);
    tcase_add_test(t, a_missing_error_is_found);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_FORK);
    srunner_run_all(r, CK_SILENT);
    ck_assert_int_eq(srunner_ntests_failed(r), 2);
    srunner_free(r);
}

SUITE(base_alloc, every_constructor_of_base_survives, counts_calls_and_live_blocks,
      faults_are_found);
