/* Pages as roff: what a shell would take literally must come out of a terminal unchanged. */
#include "cli/man.h"

#include "support/capture.h"
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void printed(const char *text, const char *want)
{
    capture_begin(STDOUT_FILENO);
    man_text(text);
    char *got = capture_end();
    ck_assert_str_eq(got, want);
    free(got);
}

TEST(signs_of_roff_are_escaped)
{
    printed(".ds", "\\&.ds\n");
    printed("a-b's \"x\" ~^`\\", "a\\-b\\(aqs \\(dqx\\(dq \\(ti\\(ha\\(ga\\e\n");
}

TEST(indented_lines_stay_lines)
{
    printed("one\ntwo\n\nthree", "one\ntwo\n.PP\nthree\n");
    printed("see:\n  a\n  b\nso", "see:\n.PP\n.nf\n  a\n  b\n.fi\n.PP\nso\n");
    printed("see:\n  a", "see:\n.PP\n.nf\n  a\n.fi\n");
}

TEST(a_command_of_a_command_is_a_part)
{
    double half = .5;
    const struct field opts[] = {
        {"share", "X", "that explores", FIELD_TO(half)},
        {"threads", "N", "at once", FIELD_TO(half), .shown = "all"},
        {0}};
    const struct opt_cmd whole = {.name = "eval", .about = "Scores.", .opts = opts},
                         part = {.name = "trace check",
                                 .args = "FILE",
                                 .about = "Checks.",
                                 .opts = opts,
                                 .example = "abrd trace check x"};
    const char *options =
        ".TP\n\\fB\\-\\-share\\fR \\fIX\\fR\nthat explores (default 0.5)\n"
        ".TP\n\\fB\\-\\-threads\\fR \\fIN\\fR\nat once (default all)\n"
        ".TP\n\\fB\\-\\-help\\fR\nprint this text\n";
    char want[1024];
    capture_begin(STDOUT_FILENO);
    man_command(&whole);
    char *got = capture_end();
    snprintf(want, sizeof want,
             ".SH SYNOPSIS\n\\fBabrd eval\\fR [options]\n.SH DESCRIPTION\nScores.\n"
             ".SH OPTIONS\n%s",
             options);
    ck_assert_str_eq(got, want);
    free(got);

    capture_begin(STDOUT_FILENO);
    man_command(&part);
    got = capture_end();
    snprintf(want, sizeof want,
             ".SS abrd trace check\n\\fBabrd trace check\\fR [options] FILE\n.PP\n"
             "Checks.\n%s.PP\nExample:\n.PP\n.nf\nabrd trace check x\n.fi\n",
             options);
    ck_assert_str_eq(got, want);
    free(got);
}

SUITE(cli_man, signs_of_roff_are_escaped, indented_lines_stay_lines,
      a_command_of_a_command_is_a_part);
