/* suites.h - the tables that the Makefile generates from the names of the test files. */
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

/* One test per fuzz target: its corpus goes through it. */
Suite *suite_fuzz_replay(void);

#endif
