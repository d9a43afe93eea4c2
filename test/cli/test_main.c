/* The frame of the program, tried from outside: build/<mode>/abrd beside this runner. */
#include "cli/opt.h"
#include "support/program.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(no_command_is_wrong_usage)
{
    struct program_result r = program_run("");
    ck_assert_int_eq(r.code, OPT_EXIT_USAGE);
    ck_assert_ptr_nonnull(strstr(r.text, "usage: abrd COMMAND"));
    program_free(&r);
}
END_TEST

START_TEST(version_and_help)
{
    struct program_result r = program_run("--version");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_int_eq(strncmp(r.text, "abrd ", 5), 0);
    program_free(&r);

    r = program_run("help");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(r.text, "commands:"));
    program_free(&r);
}
END_TEST

START_TEST(unknown_commands_are_named)
{
    struct program_result r = program_run("emulat --x");
    ck_assert_int_eq(r.code, OPT_EXIT_USAGE);
    ck_assert_ptr_nonnull(strstr(r.text, "there is no command 'emulat'; did you mean "
                                         "'emulate'?"));
    program_free(&r);

    program_expect("xyz", OPT_EXIT_USAGE, "there is no command 'xyz'\n");
    program_expect("trace chek", OPT_EXIT_USAGE, "did you mean 'check'?");
    r = program_run("help emulat");
    ck_assert_int_eq(r.code, OPT_EXIT_USAGE);
    program_free(&r);
}
END_TEST

START_TEST(a_full_disk_is_not_success)
{
    struct program_result r = program_run("help > /dev/full");
    ck_assert_int_eq(r.code, OPT_EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(r.text, "standard output"));
    program_free(&r);
}
END_TEST

Suite *suite_cli_main(void);
Suite *suite_cli_main(void)
{
    Suite *s = suite_create("cli/main");
    TCase *t = tcase_create("cli/main");
    tcase_add_test(t, no_command_is_wrong_usage);
    tcase_add_test(t, version_and_help);
    tcase_add_test(t, unknown_commands_are_named);
    tcase_add_test(t, a_full_disk_is_not_success);
    suite_add_tcase(s, t);
    return s;
}
