#include "cli/spent.h"

#include <check.h>
#include <stdio.h>

static const char *line_of(const struct spent *s, double cpu_s)
{
    static char line[512];
    spent_line(line, sizeof line, s, cpu_s);
    return line;
}

/* a from 1 to 4 and from 6 to 9, b from 4 to 6, c from 9 to 9.5, of 10: c is below a tenth */
START_TEST(by_hand)
{
    struct spent s = {0};
    ck_assert_str_eq(line_of(&s, .5), "0.5 s CPU");
    spent_note(&s, 1, "a");
    spent_note(&s, 2, "a");
    spent_note(&s, 4, "b");
    spent_note(&s, 6, "a");
    ck_assert_str_eq(line_of(&s, 7), "7.0 s CPU: a 4.0 s, b 2.0 s");
    spent_note(&s, 9, "c");
    ck_assert_str_eq(line_of(&s, 9.5), "9.5 s CPU: a 6.0 s, b 2.0 s");
    ck_assert_str_eq(line_of(&s, 11), "11.0 s CPU: a 6.0 s, b 2.0 s, c 2.0 s");
}
END_TEST

START_TEST(more_notes_than_room)
{
    struct spent s = {0};
    char note[16];
    for (int i = 0; i < SPENT_NOTES + 5; i++) {
        snprintf(note, sizeof note, "n%d", i);
        spent_note(&s, i, note);
    }
    ck_assert_int_eq(s.notes, SPENT_NOTES);
    ck_assert_str_eq(line_of(&s, 100),
                     "100.0 s CPU"); /* one second each, the end nobody's */
    spent_note(&s, 100, "n3");
    ck_assert_str_eq(line_of(&s, 150), "150.0 s CPU: n3 51.0 s");
}
END_TEST

START_TEST(a_short_line_is_cut)
{
    struct spent s = {0};
    char line[20];
    spent_note(&s, 0, "something long enough");
    spent_line(line, sizeof line, &s, 5);
    ck_assert_str_eq(line, "5.0 s CPU: somethin");
}
END_TEST

Suite *suite_cli_spent(void);
Suite *suite_cli_spent(void)
{
    Suite *s = suite_create("cli/spent");
    TCase *t = tcase_create("all");
    tcase_add_test(t, by_hand);
    tcase_add_test(t, more_notes_than_room);
    tcase_add_test(t, a_short_line_is_cut);
    suite_add_tcase(s, t);
    return s;
}
