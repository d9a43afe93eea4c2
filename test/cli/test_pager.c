/* Standard output through another program. */
#include "cli/pager.h"
#include "support/capture.h"
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TEST(a_program_gets_standard_output)
{
    static const char *const upper[] = {"tr", "a-z", "A-Z", NULL};
    struct pager p;
    capture_begin(STDOUT_FILENO);
    bool begun = pager_begin(&p, upper);
    fputs("page\n", stdout);
    int code = begun ? pager_end(&p) : -1;
    fputs("after\n", stdout);
    fflush(stdout);
    char *text = capture_end();
    ck_assert(begun);
    ck_assert_int_eq(code, 0);
    ck_assert_str_eq(text, "PAGE\nafter\n");
    free(text);
}

/* More than a pipe holds, to a program that reads nothing. */
TEST(a_reader_may_leave_early)
{
    static const char *const leaves[] = {"sh", "-c", "exit 3", NULL};
    struct pager p;
    capture_begin(STDOUT_FILENO);
    bool begun = pager_begin(&p, leaves);
    for (int i = 0; i < 100000; i++)
        fputs("line\n", stdout);
    int code = begun ? pager_end(&p) : -1;
    fputs("after\n", stdout);
    bool writes = !fflush(stdout) && !ferror(stdout);
    char *text = capture_end();
    ck_assert(begun && writes);
    ck_assert_int_eq(code, 3);
    ck_assert_str_eq(text, "after\n");
    free(text);
}

TEST(without_the_program_nothing_changes)
{
    static const char *const none[] = {"no-such-program-of-abrd", NULL};
    struct pager p;
    capture_begin(STDOUT_FILENO);
    bool begun = pager_begin(&p, none);
    fputs("page\n", stdout);
    fflush(stdout);
    char *text = capture_end();
    ck_assert(!begun);
    ck_assert_str_eq(text, "page\n");
    free(text);
}

SUITE(cli_pager, a_program_gets_standard_output, a_reader_may_leave_early,
      without_the_program_nothing_changes);
