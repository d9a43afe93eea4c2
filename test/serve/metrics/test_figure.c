/* Figures: a table and a struct of the test's own, seen in /metrics, in JSON and in the reference. */
#include "serve/metrics/figure.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "serve/wire/emit.h"
#include "support/suites.h"

enum mode { FIRST, SECOND };

struct stats {
    double at_s;
    int live, filled, role;
    bool up;
    uint64_t opened, by_reason, by_other, chosen[4], ways[3];
    double share[3], level;
    enum mode mode;
    char node[8], name[3][8];
    uint64_t waits[3];
    double waits_s;
};

static const double BOUNDS_S[] = {.5, 2};

static const char *const MODES[] = {"first", "second", NULL};
static const char *const WAYS[] = {"none", "left", "right", NULL};

#define ROW(member) FIELD(struct stats, member)
static const struct figure FIGURES[] = {
    {"t_live", "live", FIGURE_GAUGE, "Live ones.", ROW(live)},
    {"t_opened_total", "opened", FIGURE_COUNTER, "Opened ones.", ROW(opened)},
    {"t_up", "up", FIGURE_GAUGE, "1 if up.", ROW(up)},
    {"t_level", "level", FIGURE_GAUGE, "A level.", ROW(level), .flags = FIGURE_ROUNDED},
    {"t_mode", "mode", FIGURE_GAUGE, "The mode.", ROW(mode), .label = "mode",
     .words = MODES},
    {NULL, "node", FIGURE_GAUGE, NULL, ROW(node)},
    {NULL, "names", FIGURE_GAUGE, NULL, .type = FIELD_NAMES,
     .at = offsetof(struct stats, name), .size = 8,
     .count = FIELD_PLACE(struct stats, filled)},
    {"t_share", "shares", FIGURE_GAUGE, "Shares.", ROW(share), .label = "profile",
     .names = offsetof(struct stats, name), .name_size = 8,
     .count = FIELD_PLACE(struct stats, filled)},
    {"t_chosen_total", "chosen", FIGURE_COUNTER, "Chosen ones.", ROW(chosen),
     .label = "expert", .flags = FIGURE_SPARSE | FIGURE_USED},
    {"t_ways_total", NULL, FIGURE_COUNTER, "Ways.", ROW(ways), .label = "way",
     .words = WAYS, .from = 1},
    {"t_refused_total", NULL, FIGURE_COUNTER, "Refused ones.", ROW(by_reason),
     .label = "why", .word = "reason"},
    {"t_refused_total", NULL, FIGURE_COUNTER, NULL, ROW(by_other), .label = "why",
     .word = "other"},
    {"t_wait_seconds", "waits", FIGURE_HISTOGRAM, "Waits.", ROW(waits),
     .bounds = BOUNDS_S, .sum = FIELD_PLACE(struct stats, waits_s)},
    {"t_when", "when", FIGURE_GAUGE, "While something is filled.", ROW(at_s),
     FIGURE_WHEN(struct stats, filled)},
    {"t_role_two", NULL, FIGURE_GAUGE, "In role 2.", ROW(at_s),
     FIGURE_WHEN(struct stats, role), .when_is = 2},
    {0}};

static const struct stats SAMPLE = {.at_s = .5,
                                    .live = 3,
                                    .filled = 2,
                                    .role = 2,
                                    .up = true,
                                    .opened = 9007199254740993,
                                    .by_reason = 1,
                                    .by_other = 2,
                                    .chosen = {0, 7},
                                    .ways = {1, 2, 3},
                                    .share = {.25, .75},
                                    .level = .12345678,
                                    .mode = SECOND,
                                    .node = "a",
                                    .name = {"live", "news"},
                                    .waits = {2, 0, 3},
                                    .waits_s = 20.5};

static void is(struct emit *o, const char *want)
{
    ck_assert(!o->failed);
    emit_text(o, "%s", "");
    ck_assert_str_eq(o->at ? o->at : "", want);
    emit_free(o);
}

TEST(a_row_is_a_family_of_prometheus)
{
    struct emit o = {0};
    figure_put(&o, FIGURES, &SAMPLE);
    is(&o, "# HELP t_live Live ones.\n# TYPE t_live gauge\nt_live 3\n"
           "# HELP t_opened_total Opened ones.\n# TYPE t_opened_total counter\n"
           "t_opened_total 9007199254740992\n"
           "# HELP t_up 1 if up.\n# TYPE t_up gauge\nt_up 1\n"
           "# HELP t_level A level.\n# TYPE t_level gauge\nt_level 0.12345678\n"
           "# HELP t_mode The mode.\n# TYPE t_mode gauge\n"
           "t_mode{mode=\"first\"} 0\nt_mode{mode=\"second\"} 1\n"
           "# HELP t_share Shares.\n# TYPE t_share gauge\n"
           "t_share{profile=\"live\"} 0.25\nt_share{profile=\"news\"} 0.75\n"
           "# HELP t_chosen_total Chosen ones.\n# TYPE t_chosen_total counter\n"
           "t_chosen_total{expert=\"1\"} 7\n"
           "# HELP t_ways_total Ways.\n# TYPE t_ways_total counter\n"
           "t_ways_total{way=\"left\"} 2\nt_ways_total{way=\"right\"} 3\n"
           "# HELP t_refused_total Refused ones.\n# TYPE t_refused_total counter\n"
           "t_refused_total{why=\"reason\"} 1\nt_refused_total{why=\"other\"} 2\n"
           "# HELP t_wait_seconds Waits.\n# TYPE t_wait_seconds histogram\n"
           "t_wait_seconds_bucket{le=\"0.5\"} 2\nt_wait_seconds_bucket{le=\"2\"} 2\n"
           "t_wait_seconds_bucket{le=\"+Inf\"} 5\n"
           "t_wait_seconds_sum 20.5\nt_wait_seconds_count 5\n"
           "# HELP t_when While something is filled.\n# TYPE t_when gauge\nt_when 0.5\n"
           "# HELP t_role_two In role 2.\n# TYPE t_role_two gauge\nt_role_two 0.5\n");
}

TEST(a_row_is_a_member_of_an_object)
{
    struct emit o = {0};
    emit_open(&o, '{');
    figure_json(&o, FIGURES, &SAMPLE);
    emit_close(&o, '}');
    is(&o, "{\"live\":3,\"opened\":9007199254740993,\"up\":true,\"level\":0.123457,"
           "\"mode\":\"second\",\"node\":\"a\",\"names\":[\"live\",\"news\"],"
           "\"shares\":[0.25,0.75],\"chosen\":[0,7],\"waits\":[2,0,3],\"when\":0.5}");
}

TEST(a_row_without_its_condition_is_left_out)
{
    struct stats s = SAMPLE;
    s.filled = 0;
    s.role = 1;
    s.level = NAN;
    struct emit o = {0};
    figure_put(&o, FIGURES, &s);
    emit_text(&o, "%s", "");
    ck_assert_ptr_null(strstr(o.at, "t_when"));
    ck_assert_ptr_null(strstr(o.at, "t_role_two"));
    ck_assert_ptr_nonnull(strstr(o.at, "\nt_level NaN\n"));
    emit_free(&o);
}

TEST(many_structs_make_one_family)
{
    const struct figure_element e[] = {{"net=\"actor\"", &SAMPLE},
                                       {"net=\"critic\"", &SAMPLE}};
    const struct figure rows[] = {FIGURES[0], FIGURES[8], {0}};
    struct emit o = {0};
    figure_put_each(&o, rows, e, 2);
    is(&o, "# HELP t_live Live ones.\n# TYPE t_live gauge\n"
           "t_live{net=\"actor\"} 3\nt_live{net=\"critic\"} 3\n"
           "# HELP t_chosen_total Chosen ones.\n# TYPE t_chosen_total counter\n"
           "t_chosen_total{net=\"actor\",expert=\"1\"} 7\n"
           "t_chosen_total{net=\"critic\",expert=\"1\"} 7\n");
    figure_put_each(&o, rows, e, 0);
    is(&o, "# HELP t_live Live ones.\n# TYPE t_live gauge\n"
           "# HELP t_chosen_total Chosen ones.\n# TYPE t_chosen_total counter\n");
}

TEST(the_reference_has_one_line_for_each_family)
{
    const struct figure rows[] = {FIGURES[0], FIGURES[5], FIGURES[10], FIGURES[11], {0}};
    struct emit o = {0};
    figure_reference(&o, rows, "");
    figure_reference(&o, rows + 2, "profile");
    is(&o, "| `t_live` | gauge |  | Live ones. |\n"
           "| `t_refused_total` | counter | why | Refused ones. |\n"
           "| `t_refused_total` | counter | profile, why | Refused ones. |\n");
}

SUITE(serve_metrics_figure, a_row_is_a_family_of_prometheus,
      a_row_is_a_member_of_an_object, a_row_without_its_condition_is_left_out,
      many_structs_make_one_family, the_reference_has_one_line_for_each_family);
