/* The frame of the program, tried from outside: build/<mode>/abrd next to this runner. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"

#include <stdlib.h>
#include <string.h>

TEST(no_command_is_wrong_usage)
{
    struct program_result r = program_run("");
    ck_assert_int_eq(r.code, OPT_EXIT_USAGE);
    ck_assert_ptr_nonnull(strstr(r.text, "usage: abrd COMMAND"));
    program_free(&r);
}

TEST(version_and_help)
{
    struct program_result r = program_run("--version");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_int_eq(strncmp(r.text, "abrd ", 5), 0);
    program_free(&r);

    program_expect("-V", OPT_EXIT_DONE, "abrd ");
    program_expect("version", OPT_EXIT_DONE, "abrd ");

    r = program_run("help");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(r.text, "commands:"));
    program_free(&r);
}

TEST(unknown_commands_are_named)
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

/* what main.c answers itself, and the commands that have commands: no way leads in a circle */
TEST(every_command_tells_of_itself_with_an_example)
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

TEST(two_outputs_do_not_share_standard_output)
{
    program_expect("trace check --csv - --json - traces", OPT_EXIT_USAGE,
                   "--csv and --json cannot both be -");
    program_expect("eval --json=- --csv=-", OPT_EXIT_USAGE, "cannot both be -");
}

TEST(a_full_disk_is_not_success)
{
    struct program_result r = program_run("help > /dev/full");
    ck_assert_int_eq(r.code, OPT_EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(r.text, "standard output: No space"));
    program_free(&r);
    /* the command has seen it already, and errno may be that of something later */
    r = program_run("trial plan --csv - > /dev/full");
    ck_assert_int_eq(r.code, OPT_EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(r.text, "standard output: No space"));
    ck_assert_ptr_nonnull(
        strstr(r.text, "standard output: could not be written in full"));
    program_free(&r);
}

SUITE(cli_main, no_command_is_wrong_usage, version_and_help, unknown_commands_are_named,
      every_command_tells_of_itself_with_an_example,
      two_outputs_do_not_share_standard_output, a_full_disk_is_not_success);
