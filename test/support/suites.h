/* suites.h - the table of suites that the Makefile generates from the file names. */
#ifndef TEST_SUITES_H
#define TEST_SUITES_H

#include <check.h>

struct suite_entry {
    const char *name; /* "base/err" */
    Suite *(*make)(void);
};

extern const struct suite_entry suites[]; /* ends with {0, 0} */

#endif
