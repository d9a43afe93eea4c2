#include "lab/claims.h"

#include "support/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct stats_interval UNKNOWN = {NAN, NAN, NAN};

/* Arm a has the mean a + column, +- 0.5; kinds beyond the mean work on means. Arm 9 is missing. */
static struct stats_interval made_measure(const void *self, struct claims_number n)
{
    (void)self;
    if (n.a == 9 || n.b == 9) return UNKNOWN;
    double x = n.a + n.column;
    if (n.kind == CLAIMS_GAP) x = n.a - n.b;
    if (n.kind == CLAIMS_RATIO) x = (double)n.a / n.b;
    return (struct stats_interval){x, x - 0.5, x + 0.5};
}

static const char *made_name(char out[32], const void *self, int size)
{
    (void)self;
    snprintf(out, 32, "M = %d", size);
    return out;
}

/* What was drawn, as text: one line per call. */
struct drawn {
    char text[1024];
};

static void made_curve(const void *self, const struct claims_curve *c, const char *name,
                       int arm)
{
    char *text = ((struct drawn *)self)->text;
    size_t n = strlen(text);
    snprintf(text + n, sizeof((struct drawn *)0)->text - n, "%s: column %d of arm %d\n",
             name, c->column, arm);
}

static void made_mark(const void *self, int mark, int size)
{
    char *text = ((struct drawn *)self)->text;
    size_t n = strlen(text);
    snprintf(text + n, sizeof((struct drawn *)0)->text - n, "mark %d, size %d\n", mark,
             size);
}

/* not the size 1 */
static bool made_ran(const void *self, int size)
{
    (void)self;
    return size != 1;
}

static struct claims_lab made(struct drawn *to)
{
    return (struct claims_lab){.report = report_new("made", "made", NULL),
                               .self = to,
                               .measure = made_measure,
                               .sizes = 3,
                               .size_name = made_name,
                               .curve = made_curve,
                               .mark = made_mark};
}

TEST(effects_by_hand)
{
    static const struct {
        struct stats_interval ours;
        double claimed, even;
        enum report_verdict v;
    } row[] = {
        {{1.5, 1.2, 1.8}, 1.455, 1, REPORT_PASS},
        {{1.3, 1.1, 1.5}, 1.455, 1, REPORT_SHORT},
        {{1.2, 0.9, 1.5}, 1.455, 1, REPORT_DIFFERS},
        /* "at most half", where 1 is no effect */
        {{0.4, 0.3, 0.5}, 0.5, 1, REPORT_PASS},
        {{0.7, 0.5, 0.9}, 0.5, 1, REPORT_SHORT},
        {{1.1, 1.0, 1.2}, 0.5, 1, REPORT_DIFFERS},
        {{1.5, NAN, NAN}, 0.5, 1, REPORT_UNTESTED},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_msg(claims_effect(row[i].ours, row[i].claimed, row[i].even) == row[i].v,
                      "row %zu", i);
}

/* The verdict and the answer of each rule. */
TEST(judges_by_rule)
{
    static const struct {
        struct claims_claim claim;
        const char *ours, *verdict;
    } row[] = {
        {{.rule = CLAIMS_SIGN, .of = {{CLAIMS_GAP, 0, 3, 1}}, .digits = 1},
         "2.0 [1.5, 2.5]",
         "pass"},
        {{.rule = CLAIMS_SIGN, .of = {{CLAIMS_GAP, 0, 1, 3}}, .digits = 1},
         "-2.0 [-2.5, -1.5]",
         "differs"},
        {{.rule = CLAIMS_SIGN, .of = {{CLAIMS_GAP, 0, 1, 1}}, .digits = 1},
         "0.0 [-0.5, 0.5]",
         "short"},
        {{.rule = CLAIMS_SIGN, .of = {{CLAIMS_GAP, 0, 9, 1}}}, NULL, "untested"},
        {{.rule = CLAIMS_SURE, .of = {{CLAIMS_GAP, 0, 3, 1}}, .claimed = 1.5},
         "2 [2, 2]",
         "pass"},
        {{.rule = CLAIMS_SURE, .of = {{CLAIMS_GAP, 0, 3, 1}}, .claimed = 2},
         "2 [2, 2]",
         "short"},
        {{.rule = CLAIMS_SURE, .of = {{CLAIMS_GAP, 0, 3, 1}}, .claimed = 2.1},
         "2 [2, 2]",
         "differs"},
        {{.rule = CLAIMS_SURE, .of = {{CLAIMS_GAP, 0, 9, 1}}, .claimed = 2},
         NULL,
         "untested"},
        {{.rule = CLAIMS_EFFECT,
          .of = {{CLAIMS_RATIO, 0, 6, 3}},
          .claimed = 1,
          .even = 1},
         "2 [2, 2]",
         "pass"},
        /* 2 against a constant */
        {{.rule = CLAIMS_BELOW,
          .of = {{CLAIMS_MEAN, 0, 2, 0}},
          .claimed = 3,
          .ours = "#1"},
         "2.0",
         "pass"},
        {{.rule = CLAIMS_BELOW,
          .of = {{CLAIMS_MEAN, 0, 2, 0}},
          .claimed = 2,
          .ours = "#0%"},
         "200 %",
         "differs"},
        {{.rule = CLAIMS_AT_LEAST,
          .of = {{CLAIMS_MEAN, 0, 2, 0}},
          .claimed = 3,
          .short_by = CLAIMS_ALWAYS,
          .ours = "it is #0"},
         "it is 2",
         "short"},
        /* 2 against half of another, and against that one: 8 and 3 */
        {{.rule = CLAIMS_BELOW,
          .of = {{CLAIMS_MEAN, 0, 2, 0}, {CLAIMS_MEAN, 1, 7, 0}},
          .claimed = 0.5,
          .pass_by = 1,
          .short_by = 1,
          .ours = "#0 of #0"},
         "2 of 8",
         "pass"},
        {{.rule = CLAIMS_BELOW,
          .of = {{CLAIMS_MEAN, 0, 2, 0}, {CLAIMS_MEAN, 0, 3, 0}},
          .claimed = 0.5,
          .pass_by = 1,
          .short_by = 1,
          .ours = "#0"},
         "2",
         "short"},
        {{.rule = CLAIMS_AT_LEAST,
          .of = {{CLAIMS_MEAN, 0, 2, 0}, {CLAIMS_MEAN, 0, 3, 0}},
          .claimed = 5,
          .short_by = 1,
          .ours = "#0"},
         "2",
         "differs"},
    };
    static const struct claims_columns columns = {.ours = "ours", .verdict = "verdict"};
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char buf[64];
        report_table(l.report, "t");
        claims_judge(&l, &columns, &row[i].claim, 1);
        int t = report_tables(l.report) - 1, c = row[i].ours ? 1 : 0;
        ck_assert_str_eq(report_shown(buf, l.report, t, 0, c), row[i].verdict);
        if (c) ck_assert_str_eq(report_shown(buf, l.report, t, 0, 0), row[i].ours);
    }
    report_free(l.report);
}

TEST(columns_are_the_tables)
{
    static const struct claims_claim claim[] = {
        {.text = "a", .where = "Sec. 1", .paper = "more", .of = {{CLAIMS_MEAN, 0, 1, 0}}},
        {.text = "b",
         .where = "Sec. 2",
         .paper = "less",
         .of = {{CLAIMS_MEAN, 0, 9, 0}}}};
    static const struct claims_columns all = {.text = "claim",
                                              .where = "where",
                                              .paper = "paper",
                                              .ours = "ours",
                                              .verdict = "verdict",
                                              .verdict_first = true,
                                              .scale = 100};
    struct claims_columns some = all, few = all;
    few.untested = true;
    few.published = "data";
    some.measured_only = true;
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    report_table(l.report, "all");
    claims_judge(&l, &all, claim, 2);
    report_table(l.report, "measured");
    claims_judge(&l, &some, claim, 2);
    report_table(l.report, "few");
    claims_judge(&l, &few, claim, 1);
    report_table(l.report, "missing");
    some.measured_only = false;
    some.missing_shown = true;
    claims_judge(&l, &some, claim, 2);
    static const char *const names[] = {"claim", "where", "paper", "verdict", "ours"};
    char buf[64];
    for (int i = 0; i < 5; i++)
        ck_assert_str_eq(report_column(l.report, 0, i), names[i]);
    ck_assert_ptr_null(report_column(l.report, 0, 5));
    ck_assert_str_eq(report_shown(buf, l.report, 0, 0, 4), "100 [50, 150]");
    ck_assert_int_eq(report_rows(l.report, 0), 2);
    ck_assert_ptr_null(report_shown(buf, l.report, 0, 1, 4));
    ck_assert_int_eq(report_rows(l.report, 1), 1);
    ck_assert_str_eq(report_shown(buf, l.report, 2, 0, 3), "-"); /* nothing published */
    ck_assert_str_eq(report_shown(buf, l.report, 2, 0, 4), "untested");
    ck_assert_str_eq(report_shown(buf, l.report, 3, 1, 4), "-");
    report_free(l.report);
}

TEST(checks_read_their_side)
{
    static const struct claims_check check[] = {
        {"mean", {CLAIMS_MEAN, 0, 1, 0}, CLAIMS_OF_MEAN, 1, 1},
        {"lower", {CLAIMS_MEAN, 0, 1, 0}, CLAIMS_OF_LOWER, 0.5, 0.5},
        {"upper", {CLAIMS_MEAN, 0, 1, 0}, CLAIMS_OF_UPPER, 1.5, 1.5},
        {"too large", {CLAIMS_MEAN, 0, 1, 0}, CLAIMS_OF_UPPER, 0, 1},
        {"missing", {CLAIMS_MEAN, 0, 9, 0}, CLAIMS_OF_MEAN, -INFINITY, INFINITY},
    };
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    claims_check(&l, check, 5);
    ck_assert_int_eq(report_checks(l.report), 5);
    for (int i = 0; i < 5; i++)
        ck_assert_msg(report_check_at(l.report, i).pass == (i < 3), "%s", check[i].name);
    report_free(l.report);
}

/* Arms are rows of the grid, and names say which size. */
TEST(checks_of_a_size)
{
    static const struct claims_check check[] = {
        {"G at T, @: rising", {CLAIMS_MEAN, 0, 1, 0}, CLAIMS_OF_MEAN, 5, 5},
        CLAIMS_NEGATIVE("G, @", CLAIMS_GAP, 0, 0, 1),
        CLAIMS_NEGATIVE("no size", CLAIMS_GAP, 0, 1, 0)};
    static const char *const names[] = {"MNIST, G at T, M = 2: rising", "MNIST, G, M = 2",
                                        "MNIST, no size"};
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    l.prefix = "MNIST, ";
    claims_check_size(&l, check, 3, 2);
    for (int i = 0; i < 3; i++) {
        struct report_check c = report_check_at(l.report, i);
        ck_assert_str_eq(c.name, names[i]);
        ck_assert(c.pass ==
                  (i < 2)); /* row 1 of size 2 is arm 5; 2 - 5 is below 0, 5 - 2 is not */
    }
    report_free(l.report);
}

TEST(fields_are_of_the_arm)
{
    static const struct claims_field field[] = {
        {"mean", {CLAIMS_MEAN, 1, 0, 0}, CLAIMS_REAL, 1},
        {"interval", {CLAIMS_MEAN, 1, 0, 0}, CLAIMS_INTERVAL, 1},
        {"share, %", {CLAIMS_MEAN, 1, 0, 0}, CLAIMS_PERCENT, 0}};
    static const char *const shown[] = {"5.0", "5.0 [4.5, 5.5]", "500"};
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    report_table(l.report, "t");
    report_row(l.report);
    claims_fields(&l, field, 3, 4);
    char buf[64];
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(report_shown(buf, l.report, 0, 0, i), shown[i]);
    report_free(l.report);
}

TEST(panels_once_per_size)
{
    static const struct claims_curve curve[] = {{"x", REPORT_LINE, 7, 0},
                                                {"y", REPORT_DASHED, 8, 1}};
    static const struct claims_curve unnamed[] = {{NULL, REPORT_LINE, 5, 1}};
    static const struct claims_panel panel[] = {
        {.title = "one", .x = {"t"}, .y = {"F"}, .curve = curve, .curves = 2, .mark = 4},
        {.x = {"t"},
         .y = {"F"},
         .each = CLAIMS_PANELS,
         .from = 1,
         .curve = curve,
         .curves = 2,
         .mark = 5},
        {.title = "sizes",
         .x = {"t"},
         .y = {"F"},
         .each = CLAIMS_CURVES,
         .from = 1,
         .curve = unnamed,
         .curves = 1},
    };
    static const struct claims_figure figure[] = {
        {.heading = "h", .id = "f", .title = "t", .panel = panel, .panels = 3}};
    struct drawn d = {""};
    struct claims_lab l = made(&d);
    claims_draw(&l, figure, 1);
    ck_assert_str_eq(d.text, "x: column 7 of arm 0\n"
                             "y: column 8 of arm 1\n"
                             "mark 4, size 0\n"
                             "x: column 7 of arm 1\n"
                             "y: column 8 of arm 4\n"
                             "mark 5, size 1\n"
                             "x: column 7 of arm 2\n"
                             "y: column 8 of arm 5\n"
                             "mark 5, size 2\n"
                             "M = 1: column 5 of arm 4\n"
                             "M = 2: column 5 of arm 5\n");

    /* a size that did not run has no panel and no mark */
    d.text[0] = '\0';
    l.ran = made_ran;
    static const struct claims_figure by_size[] = {
        {.id = "g", .title = "t", .panel = &panel[1], .panels = 1}};
    claims_draw(&l, by_size, 1);
    ck_assert_str_eq(d.text, "x: column 7 of arm 2\n"
                             "y: column 8 of arm 5\n"
                             "mark 5, size 2\n");
    report_free(l.report);
}

TEST(words_take_their_numbers)
{
    const double x[] = {0.126, 3};
    char out[24];
    claims_fill(out, sizeof out, "#2 in, #0% out", x, 2);
    ck_assert_str_eq(out, "0.13 in, 300 % out");
    claims_fill(out, 8, "far too long for it", x, 2);
    ck_assert_str_eq(out, "far too");
    claims_fill(out, 8, "about #3 here", x, 2);
    ck_assert_str_eq(out, "about 0");
}

SUITE(lab_claims, effects_by_hand, judges_by_rule, columns_are_the_tables,
      checks_read_their_side, checks_of_a_size, fields_are_of_the_arm,
      panels_once_per_size, words_take_their_numbers);
