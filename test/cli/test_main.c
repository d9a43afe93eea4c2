/* The frame of the program, tried from outside: build/<mode>/abrd next to this runner. */
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

/* what main.c answers itself, and the commands that have commands: no way leads in a circle */
START_TEST(every_command_tells_of_itself_with_an_example)
{
    static const char *const asked[] = {
        "man --help",   "completion --help", "help man",     "help completion",
        "lab --help",   "policy --help",     "trace --help", "video --help",
        "eval --help",  "emulate --help",    "serve --help", "doctor --help",
        "train --help", "lab shift --help",  "help trace",
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        program_expect(asked[i], OPT_EXIT_DONE, "usage: abrd ");
        program_expect(asked[i], OPT_EXIT_DONE, "\nexample");
    }
    program_expect("help version", OPT_EXIT_DONE, "commands:");
    program_expect("help help", OPT_EXIT_DONE, "commands:");
}
END_TEST

START_TEST(two_outputs_do_not_share_standard_output)
{
    program_expect("trace check --csv - --json - traces", OPT_EXIT_USAGE,
                   "--csv and --json cannot both be -");
    program_expect("eval --json=- --csv=-", OPT_EXIT_USAGE, "cannot both be -");
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
    tcase_add_test(t, every_command_tells_of_itself_with_an_example);
    tcase_add_test(t, two_outputs_do_not_share_standard_output);
    tcase_add_test(t, a_full_disk_is_not_success);
    suite_add_tcase(s, t);
    return s;
}
