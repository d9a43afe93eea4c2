#include "report/report.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <jansson.h>
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct report_assets ASSETS = {
    .uplot_js = "var uPlot = 1 < 2;",
    .uplot_css = ".uplot { top: 0 }",
    .page_js = "uPlot;",
    .page_css = "body { margin: 0 }",
};

static struct report *sample(void)
{
    struct err e = {0};
    struct report *r = report_new("sample", "A <b>sample</b> & more", &e);
    ck_assert_ptr_nonnull(r);
    report_param(r, "command", "abrd lab sample --mu '%d,\"2\"'", 1);
    report_param_int(r, "seeds", 3);
    report_param_real(r, "eta", .5);
    report_heading(r, "First & last");
    report_text(r, "a < b, </script> is %s", "harmless");

    report_table(r, "Claims");
    report_row(r);
    report_cell(r, "claim", "rank <%d>", 7);
    report_interval(r, "ours", 1.64, 1.5, 1.8, 1);
    report_verdict(r, "verdict", REPORT_PASS);
    report_row(r);
    report_cell(r, "claim", "nothing");
    report_real(r, "ours", NAN, 2);
    report_int(r, "runs", -12);
    report_verdict(r, "verdict", REPORT_DIFFERS);

    static const double x[] = {1, 10, 100}, y[] = {.25, NAN, 3}, lo[] = {.2, NAN, 2},
                        hi[] = {.3, NAN, INFINITY};
    static const char *const word[] = {"mlp, plain", "moe"};
    report_figure(r, "fig1", "QoE </script>", "bands");
    report_panel(r, &(struct report_panel){
                        .title = "left", .x = {"steps", .log = true}, .y = {"QoE"}});
    report_rule(r, 'x', 10, "shift");
    report_series(r, &(struct report_series){"moe", .n = 3, x, y, lo, hi});
    report_panel(r, &(struct report_panel){.title = "right",
                                           .x = {"variant"},
                                           .y = {"QoE", .lo = 0, .hi = 4},
                                           .category = word,
                                           .categories = 2});
    report_series(r, &(struct report_series){"mean", REPORT_BARS, .n = 2, .y = y});
    report_series(r, &(struct report_series){"moe", REPORT_POINTS, .n = 2, .y = lo});
    return r;
}

static char *read_file(const char *dir, const char *name)
{
    struct err e = {0};
    char *text = text_read_file(tmpdir_path(dir, name), 1 << 20, NULL, &e);
    ck_assert_msg(text != NULL, "%s", e.detail);
    return text;
}

static void write_sample(const char *dir, struct report *r)
{
    struct err e = {0};
    ck_assert_msg(report_write(r, dir, &ASSETS, &e) == 0, "%s: %s", e.field, e.detail);
}

static const char CSV[] = "figure,panel,series,x,y,lo,hi\n"
                          "fig1,left,moe,1,0.25,0.2,0.3\n"
                          "fig1,left,moe,10,,,\n"
                          "fig1,left,moe,100,3,2,\n"
                          "fig1,right,mean,\"mlp, plain\",0.25,,\n"
                          "fig1,right,mean,moe,,,\n"
                          "fig1,right,moe,\"mlp, plain\",0.2,,\n"
                          "fig1,right,moe,moe,,,\n";

TEST(csv_holds_every_number)
{
    const char *dir = tmpdir_new();
    struct report *r = sample();
    write_sample(dir, r);
    char *text = read_file(dir, "sample.csv");
    ck_assert_str_eq(text, CSV);
    free(text);
    report_free(r);
}

static double number_at(const json_t *v, const char *key)
{
    const json_t *n = json_object_get(v, key);
    ck_assert_msg(json_is_number(n), "%s", key);
    return json_number_value(n);
}

TEST(json_parses_and_has_no_nan)
{
    const char *dir = tmpdir_new();
    struct report *r = sample();
    ck_assert(report_check(r, "in", 1.5, 1, 2));
    ck_assert(!report_check(r, "nan", NAN, -INFINITY, 2));
    write_sample(dir, r);
    json_error_t why;
    json_t *v = json_load_file(tmpdir_path(dir, "sample.json"), 0, &why);
    ck_assert_msg(v != NULL, "line %d: %s", why.line, why.text);

    ck_assert_str_eq(json_string_value(json_object_get(v, "name")), "sample");
    const json_t *p = json_object_get(v, "parameters");
    ck_assert_str_eq(json_string_value(json_object_get(p, "command")),
                     "abrd lab sample --mu '1,\"2\"'");
    ck_assert_double_eq(number_at(p, "eta"), .5);

    const json_t *checks = json_object_get(v, "checks");
    ck_assert_uint_eq(json_array_size(checks), 2);
    const json_t *in = json_array_get(checks, 0), *nan = json_array_get(checks, 1);
    ck_assert(json_is_true(json_object_get(in, "pass")));
    ck_assert_double_eq(number_at(in, "value"), 1.5);
    ck_assert_double_eq(number_at(in, "low"), 1);
    ck_assert(json_is_false(json_object_get(nan, "pass")));
    ck_assert(json_is_null(json_object_get(nan, "value")));
    ck_assert(json_is_null(json_object_get(nan, "low")));

    const json_t *table = json_array_get(json_object_get(v, "tables"), 0);
    const json_t *first = json_array_get(json_object_get(table, "rows"), 0);
    const json_t *second = json_array_get(json_object_get(table, "rows"), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(table, "columns")), 4);
    ck_assert_str_eq(json_string_value(json_object_get(first, "claim")), "rank <7>");
    ck_assert_double_eq(number_at(json_object_get(first, "ours"), "lo"), 1.5);
    ck_assert_str_eq(json_string_value(json_object_get(first, "verdict")), "pass");
    ck_assert(json_is_null(json_object_get(second, "ours")));
    ck_assert_int_eq(json_integer_value(json_object_get(second, "runs")), -12);
    ck_assert_ptr_null(json_object_get(first, "runs"));
    json_decref(v);
    report_free(r);
}

/* ---- the page, through libxml2's parser ---- */

enum { UNKNOWN_TAG = 801 }; /* libxml2 knows HTML 4: figure, main, svg are news to it */

static void on_error(void *ctx, const xmlError *e)
{
    (void)ctx;
    ck_assert_msg(e->code == UNKNOWN_TAG, "line %d: %s", e->line, e->message);
}

static htmlDocPtr parse(const char *text)
{
    htmlParserCtxtPtr c = htmlNewParserCtxt();
    xmlSetStructuredErrorFunc(NULL, (xmlStructuredErrorFunc)on_error);
    htmlDocPtr d =
        htmlCtxtReadMemory(c, text, (int)strlen(text), NULL, "utf-8", HTML_PARSE_NONET);
    xmlSetStructuredErrorFunc(NULL, NULL);
    ck_assert_ptr_nonnull(d);
    htmlFreeParserCtxt(c);
    return d;
}

/* string(path), owned */
static char *found(htmlDocPtr d, const char *path)
{
    xmlXPathContextPtr c = xmlXPathNewContext(d);
    char expression[256];
    snprintf(expression, sizeof expression, "string(%s)", path);
    xmlXPathObjectPtr o = xmlXPathEvalExpression((const xmlChar *)expression, c);
    ck_assert_ptr_nonnull(o);
    char *text = strdup((const char *)o->stringval);
    xmlXPathFreeObject(o);
    xmlXPathFreeContext(c);
    return text;
}

static void expect(htmlDocPtr d, const char *path, const char *text)
{
    char *is = found(d, path);
    ck_assert_msg(strcmp(is, text) == 0, "%s is \"%s\", not \"%s\"", path, is, text);
    free(is);
}

TEST(page_says_what_was_added)
{
    const char *dir = tmpdir_new();
    struct report *r = sample();
    report_check(r, "in <limits>", 1.5, 1, 2);
    write_sample(dir, r);
    char *text = read_file(dir, "sample.html");
    htmlDocPtr d = parse(text);
    expect(d, "//h1", "A <b>sample</b> & more");
    expect(d, "//header/p[@class='summary']",
           "1 of 2 claims hold, 0 fall short, 1 differ, 0 cannot be told.");
    expect(d, "//title", "A <b>sample</b> & more");
    expect(d, "//h2[1]", "First & last");
    expect(d, "//main/p[1]", "a < b, </script> is harmless");
    expect(d, "count(//dl/div)", "3");
    expect(d, "//dl/div[1]/dd", "abrd lab sample --mu '1,\"2\"'");
    expect(d, "count(//section[1]//tbody/tr)", "2");
    expect(d, "count(//section[1]//thead//th)", "4");
    expect(d, "//section[1]//tr[1]/td[1]", "rank <7>");
    expect(d, "//section[1]//tr[1]/td[@class='num'][1]", "1.6 1.5 to 1.8");
    expect(d, "//section[1]//tr[1]/td[3]/span/@class", "verdict pass");
    expect(d, "//section[1]//tr[1]/td[1]/@data-of", "claim");
    expect(d, "//section[1]//tr[2]/td[2]", "-");
    expect(d, "//section[1]//tr[2]/td[3]/span", "differs");
    expect(d, "count(//figure[@id='fig1']//div[@class='plot'])", "2");
    expect(d, "count(//figure//button)", "2"); /* moe is in both panels */
    expect(d, "//section[@id='checks']//tr[1]/td[1]", "in <limits>");
    expect(d, "//header/a[@class='verdict pass']", "our checks: 1 of 1 pass");
    expect(d, "//header/span[@class='verdict differs']",
           "the paper's claims: 1 hold, 1 differ");

    /* the data that the charts are drawn from, as a browser would read it */
    char *data = found(d, "//script[@id='report-data']");
    ck_assert_ptr_null(strchr(data, '<'));
    json_t *v = json_loads(data, 0, NULL);
    ck_assert_uint_eq(json_array_size(v), 1);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(v, 0), "title")),
                     "QoE </script>");
    json_decref(v);
    free(data);
    xmlFreeDoc(d);
    free(text);
    report_free(r);
}

static void contender(struct report *r, const char *profile, const char *policy, double v,
                      double lo, double hi)
{
    report_row(r);
    report_cell(r, "profile", "%s", profile);
    report_cell(r, "policy", "%s", policy);
    report_interval(r, "QoE", v, lo, hi, 2);
}

TEST(the_winner_is_marked_and_named)
{
    const char *dir = tmpdir_new();
    struct err e = {0};
    struct report *r = report_new("won", "Won", &e);
    report_table(r, "Scores");
    contender(r, "live", "bola", 1, .9, 1.1);
    contender(r, "live", "moe", 2, 1.5, 2.5);
    contender(r, "live", "oracle", 9, 9, 9);
    report_bound(r);
    contender(r, "news", "moe", 3, 2, 4);
    contender(r, "news", "bola", 3.5, 3, 4);
    contender(r, "news", "hyb", NAN, NAN, NAN);
    contender(r, "alone", "moe", 1, 1, 1);
    contender(r, "film", "moe", 2, 1, 3);
    contender(r, "film", "bola", 1, 1, 1);
    report_best(r, "QoE", true, "profile");
    write_sample(dir, r);
    char *text = read_file(dir, "won.html");
    htmlDocPtr d = parse(text);
    expect(d, "//header/p[@class='summary']",
           "moe has the best QoE in 2 of 3 groups (profile); the intervals of "
           "others overlap.");
    static const char *const mark[] = {"", "best", "",     "overlaps", "best",
                                       "", "",     "best", ""};
    for (int i = 0; i < 9; i++) {
        char path[64];
        snprintf(path, sizeof path,
                 "string(//tbody/tr[%d]//span[contains(@class,'mark')])", i + 1);
        expect(d, path, mark[i]);
    }
    xmlFreeDoc(d);
    free(text);

    /* less is better; a sentence of the caller's own goes first */
    report_best(r, "QoE", false, "profile");
    report_summary(r, "Less <is> %s.", "more");
    write_sample(dir, r);
    d = parse(text = read_file(dir, "won.html"));
    expect(d, "//header/p[@class='summary']", "Less <is> more.");
    expect(d, "string(//tbody/tr[1]//span[contains(@class,'mark')])", "best");
    xmlFreeDoc(d);
    free(text);
    json_t *v = json_loads(text = read_file(dir, "won.json"), 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(v, "summary")), "Less <is> more.");
    json_decref(v);
    free(text);
    report_free(r);
}

TEST(page_needs_no_network)
{
    const char *dir = tmpdir_new();
    struct report *r = sample();
    write_sample(dir, r);
    char *text = read_file(dir, "sample.html");
    ck_assert_ptr_nonnull(strstr(text, ASSETS.uplot_js));
    ck_assert_ptr_nonnull(strstr(text, ASSETS.uplot_css));
    ck_assert_ptr_nonnull(strstr(text, "default-src 'none'"));
    ck_assert_ptr_null(strstr(text, " src="));
    ck_assert_ptr_null(strstr(text, "http://"));
    ck_assert_ptr_null(strstr(text, "https://"));
    free(text);
    report_free(r);
}

/* the colour of a legend's key: "0" .. "6" */
static void expect_key(htmlDocPtr d, const char *figure, const char *name,
                       const char *colour, const char *dashed)
{
    char path[160];
    snprintf(path, sizeof path,
             "//figure[@id='%s']//button[@data-name='%s']/@data-colour", figure, name);
    expect(d, path, colour);
    snprintf(path, sizeof path,
             "count(//figure[@id='%s']//button[@data-name='%s'][@data-dashed])", figure,
             name);
    expect(d, path, dashed);
}

TEST(colours_follow_the_name)
{
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    static const double one[] = {1};
    const char *dir = tmpdir_new();
    struct report *r = report_new("colours", "colours", NULL);
    for (int figure = 0; figure < 2; figure++) {
        report_figure(r, figure ? "later" : "first", "t", NULL);
        report_panel(r, &(struct report_panel){.x = {"x"}, .y = {"y"}});
        for (int i = 0; i < 9; i++)
            if (!figure || i == 2 || i == 7) /* c, h */
                report_series(r, &(struct report_series){name[i], .n = 1, .y = one});
    }
    write_sample(dir, r);
    char *text = read_file(dir, "colours.html");
    htmlDocPtr d = parse(text);
    expect_key(d, "first", "a", "0", "0");
    expect_key(d, "first", "g", "6", "0");
    expect_key(d, "first", "h", "0", "1"); /* the eighth: the first colour, dashed */
    expect_key(d, "first", "i", "1", "1");
    expect_key(d, "later", "c", "2", "0");
    expect_key(d, "later", "h", "0", "0");
    xmlFreeDoc(d);
    free(text);
    report_free(r);
}

TEST(same_content_same_bytes)
{
    const char *dir = tmpdir_new();
    static const char *const file[] = {"sample.html", "sample.json", "sample.csv",
                                       "index.html"};
    for (int i = 0; i < 4; i++) {
        struct report *r = sample();
        write_sample(dir, r);
        report_free(r);
        char *before = read_file(dir, file[i]);
        r = sample();
        write_sample(dir, r);
        char *after = read_file(dir, file[i]);
        ck_assert_str_eq(before, after);
        free(before);
        free(after);
        report_free(r);
    }
}

static void put(const char *dir, const char *name, const char *text)
{
    struct err e = {0};
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, name), text, strlen(text), &e), 0);
}

TEST(index_lists_the_reports_of_the_folder)
{
    const char *dir = tmpdir_new();
    put(dir, "odd.json", "{\"name\": \"another\", \"checks\": []}");
    put(dir, "broken.json", "{\"name\":");
    put(dir, "list.json", "[1, 2]");
    put(dir, "zeta.json",
        "{\"name\": \"zeta\", \"title\": \"Z & z\", \"claims\": {\"pass\": 2, "
        "\"untested\": 1}, \"checks\": [{\"name\": \"<slope>\", "
        "\"pass\": false}, {\"name\": \"gap\", \"pass\": true}]}");
    struct report *r = sample();
    write_sample(dir, r);
    char *text = read_file(dir, "index.html");
    htmlDocPtr d = parse(text);
    expect(d, "count(//ul[@class='reports']/li)", "2");
    expect(d, "//ul[@class='reports']/li[1]/a/@href", "sample.html");
    expect(d, "//ul[@class='reports']/li[2]/a[1]", "Z & z");
    expect(d, "//ul[@class='reports']/li[2]/a[2]", "our checks: 1 of 2 pass");
    expect(d, "//ul[@class='reports']/li[2]/a[2]/@href", "zeta.html#checks");
    expect(d, "//ul[@class='reports']/li[2]/span[@class='verdict short']",
           "the paper's claims: 2 hold, 1 untested");
    expect(d, "//ul[@class='reports']/li[2]/ul/li", "<slope>");
    xmlFreeDoc(d);
    free(text);
    report_free(r);
}

TEST(checks_take_their_ends_and_no_nan)
{
    struct report *r = report_new("checks", "t", NULL);
    ck_assert(report_check(r, "low end", 1, 1, 2));
    ck_assert(report_check(r, "high end", 2, 1, 2));
    ck_assert(report_check(r, "open", 1e300, 0, INFINITY));
    ck_assert_int_eq(report_checks_failed(r), 0);
    ck_assert(!report_check(r, "below", .999, 1, 2));
    ck_assert(!report_check(r, "above", 2.001, 1, 2));
    ck_assert(!report_check(r, "not a number", NAN, -INFINITY, INFINITY));
    ck_assert_int_eq(report_checks(r), 6);
    ck_assert_int_eq(report_checks_failed(r), 3);
    struct report_check c = report_check_at(r, 2);
    ck_assert_str_eq(c.name, "open");
    ck_assert(c.pass && isinf(c.high) && c.high > 0 && c.low == 0);
    ck_assert(isnan(report_check_at(r, 5).value));
    report_free(r);
}

TEST(tables_are_read_back)
{
    struct report *r = sample();
    char buf[64];
    ck_assert_int_eq(report_tables(r), 1);
    ck_assert_int_eq(report_rows(r, 0), 2);
    ck_assert_str_eq(report_column(r, 0, 3), "runs");
    ck_assert_ptr_null(report_column(r, 0, 4));
    ck_assert_str_eq(report_shown(buf, r, 0, 0, 0), "rank <7>");
    ck_assert_str_eq(report_shown(buf, r, 0, 0, 1), "1.6 [1.5, 1.8]");
    ck_assert_str_eq(report_shown(buf, r, 0, 0, 2), "pass");
    ck_assert_ptr_null(report_shown(buf, r, 0, 0, 3));
    ck_assert_str_eq(report_shown(buf, r, 0, 1, 1), "-");
    ck_assert_str_eq(report_shown(buf, r, 0, 1, 3), "-12");
    report_free(r);
}

/* 0 and .24 are in the first quarter, 1 in the last, 2 in none, NaN is no value */
TEST(assets_that_end_their_element_are_refused)
{
    struct report *r = sample();
    struct report_assets a = ASSETS;
    struct err e = {0};
    a.page_js = "x = '</ScRiPt>'";
    ck_assert_int_eq(report_write(r, "/", &a, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "report.js");
    e = (struct err){0};
    a = ASSETS;
    a.uplot_css = NULL;
    ck_assert_int_eq(report_write(r, "/", &a, &e), ERR_ABSENT);
    e = (struct err){0};
    ck_assert_int_eq(report_write(r, "/nowhere/at/all", &ASSETS, &e), ERR_IO);
    report_free(r);
}

static void *make(void *ctx, struct err *e)
{
    return report_new(ctx, "t", e);
}

static void destroy(void *r)
{
    report_free(r);
}

TEST(allocations_may_fail)
{
    char name[] = "name";
    ck_assert_int_eq(alloc_each_fails(make, destroy, name), 1);
}

SUITE(report_report, csv_holds_every_number, json_parses_and_has_no_nan,
      page_says_what_was_added, the_winner_is_marked_and_named, page_needs_no_network,
      colours_follow_the_name, same_content_same_bytes,
      index_lists_the_reports_of_the_folder, checks_take_their_ends_and_no_nan,
      tables_are_read_back, assets_that_end_their_element_are_refused,
      allocations_may_fail);
