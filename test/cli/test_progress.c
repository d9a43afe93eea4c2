#include "cli/progress.h"

#include "base/clock.h"
#include "support/capture.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    double share, elapsed_s;
    const char *note;
    bool bar;
    const char *line;
} lines[] = {
    {.5, 60, "qoe 0.9", false, "train   50 %  1:00 left  qoe 0.9"},
    {.5, 60, "", true, "train  [############............]  50 %  1:00 left"},
    {0, 5, "", false, "train    0 %"},
    {1, 3725, "", false, "train  100 %  in 1:02:05"},
    {1.7, 1, "", true, "train  [########################] 100 %  in 0:01"},
    {NAN, 1, "", false, "train    0 %"},
    {.01, 100, "", false, "train    1 %  2:45:00 left"},
};

START_TEST(the_line)
{
    char buf[128];
    progress_line(buf, sizeof buf, "train", lines[_i].share, lines[_i].elapsed_s,
                  lines[_i].note, lines[_i].bar);
    ck_assert_str_eq(buf, lines[_i].line);
}
END_TEST

START_TEST(off_a_terminal_a_line_comes_every_ten_seconds)
{
    struct progress p;
    capture_begin(STDERR_FILENO);
    progress_init(&p, "eval", false);
    progress_show(&p, .1, "");
    p.last_s = p.start_s = clock_mono() - 11;
    progress_show(&p, .2, "");
    progress_show(&p, .3, "");
    progress_end(&p);
    char *text = capture_end();
    ck_assert_str_eq(text, "eval   20 %  0:44 left\n");
    free(text);
}
END_TEST

START_TEST(quiet_is_quiet)
{
    struct progress p;
    capture_begin(STDERR_FILENO);
    progress_init(&p, "eval", true);
    p.last_s = clock_mono() - 11;
    progress_show(&p, .2, "");
    progress_end(&p);
    char *text = capture_end();
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

Suite *suite_cli_progress(void);
Suite *suite_cli_progress(void)
{
    Suite *s = suite_create("cli/progress");
    TCase *t = tcase_create("cli/progress");
    tcase_add_loop_test(t, the_line, 0, sizeof lines / sizeof *lines);
    tcase_add_test(t, off_a_terminal_a_line_comes_every_ten_seconds);
    tcase_add_test(t, quiet_is_quiet);
    suite_add_tcase(s, t);
    return s;
}
