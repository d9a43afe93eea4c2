/* suites.h - a test file's suite, and the tables that the Makefile generates from the files' names.
 *
 *   SUITE(base_err, first_failure_wins, a_null_err_is_legal);      test/base/test_err.c
 *   SUITE_WITHIN(abr_eval, 60, ...);                               seconds per test
 *
 * A suite with loop tests or fixtures is written out. */
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

/* A suite of one test case. */
static inline Suite *suites_of(const char *name, double timeout_s,
                               const TTest *const *tests, size_t n)
{
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    if (timeout_s > 0) tcase_set_timeout(t, timeout_s);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(t, tests[i]);
    suite_add_tcase(s, t);
    return s;
}

#define SUITE_WITHIN(id, timeout_s, ...)                                       \
    Suite *suite_##id(void);                                                   \
    Suite *suite_##id(void)                                                    \
    {                                                                          \
        const TTest *const tests[] = {__VA_ARGS__};                            \
        return suites_of(#id, timeout_s, tests, sizeof tests / sizeof *tests); \
    }                                                                          \
    Suite *suite_##id(void)                             /* takes the semicolon */
#define SUITE(id, ...) SUITE_WITHIN(id, 0, __VA_ARGS__) /* check's own timeout */

/* One test per fuzz target: its corpus goes through it. */
Suite *suite_fuzz_replay(void);

#endif
