/* suites.h - a test file's suite, and the tables that the Makefile generates from the files' names.
 *
 *   SUITE(base_err, first_failure_wins, a_null_err_is_legal);      test/base/test_err.c
 *   SUITE_WITHIN(abr_eval, 60, ...);                               seconds per test
 *   SUITE_SET_UP(abr_link, 0, load, unload, ...);                  before and after each test
 *   SUITE(base_text, ROWS(doubles_that_are_read, good), distances);  one test for each row
 *
 * A suite whose tests must end by a signal or with a status is written out. */
#ifndef TEST_SUITES_H
#define TEST_SUITES_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

struct suite_entry {
    const char *name; /* "base/err" */
    Suite *(*make)(void);
};

extern const struct suite_entry suites[]; /* ends with {0, 0} */

struct fuzz_entry {
    const char *name; /* "mpd" */
    int (*one)(const uint8_t *data, size_t size);
};

extern const struct fuzz_entry fuzz_targets[]; /* ends with {0, 0} */

/* Seconds that a test waits. Only a test that fails should reach them, also on a busy machine. */
enum { PATIENCE_S = 300 };

/* libcheck's START_TEST without its END_TEST, which is empty. */
#define TEST(name) START_TEST(name)

/* Entries of a suite that run a test once for each row of an array, or n times; _i is the row. The
 * second pointer has no name and carries the number. */
#define TIMES(test, n) test, &((const TTest){.line = (int)(n)})
#define ROWS(test, rows) TIMES(test, sizeof(rows) / sizeof *(rows))

/* A suite of one test case. */
static inline Suite *suites_of(const char *name, double timeout_s, SFun set_up,
                               SFun tear_down, const TTest *const *tests, size_t n)
{
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    if (timeout_s > 0) tcase_set_timeout(t, timeout_s);
    tcase_add_checked_fixture(t, set_up, tear_down);
    for (size_t i = 0; i < n; i++) {
        const TTest *test = tests[i], *after = i + 1 < n ? tests[i + 1] : test;
        if (after->name) {
            tcase_add_test(t, test);
        } else {
            tcase_add_loop_test(t, test, 0, after->line);
            i++;
        }
    }
    suite_add_tcase(s, t);
    return s;
}

/* set_up runs before each test and tear_down after it; each may be NULL. */
#define SUITE_SET_UP(id, timeout_s, set_up, tear_down, ...)        \
    Suite *suite_##id(void);                                       \
    Suite *suite_##id(void)                                        \
    {                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                \
        return suites_of(#id, timeout_s, set_up, tear_down, tests, \
                         sizeof tests / sizeof *tests);            \
    }                                                              \
    Suite *suite_##id(void) /* takes the semicolon */
#define SUITE_WITHIN(id, timeout_s, ...) \
    SUITE_SET_UP(id, timeout_s, NULL, NULL, __VA_ARGS__)
#define SUITE(id, ...) SUITE_WITHIN(id, 0, __VA_ARGS__) /* check's own timeout */

/* One test per fuzz target: its corpus goes through it. */
Suite *suite_fuzz_replay(void);

#endif
