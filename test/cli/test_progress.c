#include "cli/progress.h"

#include "base/clock.h"
#include "support/capture.h"
#include "support/suites.h"

#include <stdio.h>
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

TEST(the_line)
{
    char buf[128];
    progress_line(buf, sizeof buf, "train", lines[_i].share, lines[_i].elapsed_s,
                  lines[_i].note, lines[_i].bar);
    ck_assert_str_eq(buf, lines[_i].line);
}

TEST(off_a_terminal_a_line_comes_every_ten_seconds)
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

TEST(quiet_is_quiet)
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

/* ---- CPU time ---- */

static const char *cpu_line(const struct progress_cpu *s, double cpu_s)
{
    static char line[512];
    progress_cpu_line(line, sizeof line, s, cpu_s);
    return line;
}

/* a from 1 to 4 and from 6 to 9, b from 4 to 6, c from 9 to 9.5, of 10: c is below a tenth */
TEST(cpu_time_by_hand)
{
    struct progress_cpu s = {0};
    ck_assert_str_eq(cpu_line(&s, .5), "0.5 s CPU");
    progress_cpu_note(&s, 1, "a");
    progress_cpu_note(&s, 2, "a");
    progress_cpu_note(&s, 4, "b");
    progress_cpu_note(&s, 6, "a");
    ck_assert_str_eq(cpu_line(&s, 7), "7.0 s CPU: a 4.0 s, b 2.0 s");
    progress_cpu_note(&s, 9, "c");
    ck_assert_str_eq(cpu_line(&s, 9.5), "9.5 s CPU: a 6.0 s, b 2.0 s");
    ck_assert_str_eq(cpu_line(&s, 11), "11.0 s CPU: a 6.0 s, b 2.0 s, c 2.0 s");
}

TEST(more_notes_of_cpu_time_than_room)
{
    struct progress_cpu s = {0};
    char note[16];
    for (int i = 0; i < PROGRESS_PARTS + 5; i++) {
        snprintf(note, sizeof note, "n%d", i);
        progress_cpu_note(&s, i, note);
    }
    ck_assert_int_eq(s.notes, PROGRESS_PARTS);
    ck_assert_str_eq(cpu_line(&s, 100),
                     "100.0 s CPU"); /* one second each, the rest in no part */
    progress_cpu_note(&s, 100, "n3");
    ck_assert_str_eq(cpu_line(&s, 150), "150.0 s CPU: n3 51.0 s");
}

TEST(a_short_line_of_cpu_time_is_cut)
{
    struct progress_cpu s = {0};
    char line[20];
    progress_cpu_note(&s, 0, "something long enough");
    progress_cpu_line(line, sizeof line, &s, 5);
    ck_assert_str_eq(line, "5.0 s CPU: somethin");
}

SUITE(cli_progress, ROWS(the_line, lines), off_a_terminal_a_line_comes_every_ten_seconds,
      quiet_is_quiet, cpu_time_by_hand, more_notes_of_cpu_time_than_room,
      a_short_line_of_cpu_time_is_cut);
