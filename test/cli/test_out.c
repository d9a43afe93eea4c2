#include "cli/out.h"

#include "base/text.h"
#include "support/capture.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct out *two_rows(const struct out_cfg *cfg)
{
    struct err e = {0};
    struct out *o = out_new(cfg, &e);
    ck_assert_msg(o != NULL, "%s", e.detail);
    out_row(o);
    out_text(o, "policy", "mpc, \"robust\"");
    out_int(o, "n", 142);
    out_real(o, "qoe", .1, 3);
    out_row(o);
    out_text(o, "policy", "\u00fcber");
    out_real(o, "qoe", -12.34567890123, 3);
    out_real(o, "gap", NAN, 1);
    return o;
}

static char *finish(struct out *o)
{
    struct err e = {0};
    capture_begin(STDOUT_FILENO);
    int rc = out_finish(o, &e);
    char *text = capture_end();
    ck_assert_msg(rc == 0, "%s", e.detail);
    out_free(o);
    return text;
}

TEST(the_table_is_aligned)
{
    char *text = finish(two_rows(&(struct out_cfg){0}));
    ck_assert_str_eq(text, "policy           n      qoe  gap\n"
                           "mpc, \"robust\"  142    0.100    -\n"
                           "\u00fcber             -  -12.346    -\n");
    free(text);
}

TEST(csv_quotes_and_keeps_digits)
{
    char *text = finish(two_rows(&(struct out_cfg){.csv = "-"}));
    ck_assert_str_eq(text, "policy,n,qoe,gap\n"
                           "\"mpc, \"\"robust\"\"\",142,0.1,\n"
                           "\u00fcber,,-12.3456789012,\n");
    free(text);
}

TEST(json_on_stdout_is_one_object_and_nothing_else)
{
    struct out *o = two_rows(&(struct out_cfg){.json = "-"});
    capture_begin(STDERR_FILENO);
    out_say(o, "for %s", "people");
    char *said = capture_end();
    ck_assert_str_eq(said, "for people\n");
    free(said);

    char *text = finish(o);
    json_t *j = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(j);
    json_t *rows = json_object_get(j, "rows");
    ck_assert_uint_eq(json_array_size(rows), 2);
    json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    ck_assert_str_eq(json_string_value(json_object_get(first, "policy")),
                     "mpc, \"robust\"");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "n")), 142);
    ck_assert(json_is_null(json_object_get(second, "gap")));
    json_decref(j);
    ck_assert_ptr_nonnull(strstr(text, "0.1}")); /* not 0.10000000000000001 */
    free(text);
}

TEST(a_name_that_is_not_utf8_does_not_end_the_table)
{
    struct err e = {0};
    struct out *o = out_new(&(struct out_cfg){.json = "-"}, &e);
    out_row(o);
    out_text(o, "file", "caf\xe9.log");
    out_text(o, "note", "caf\xc3\xa9");
    char *text = finish(o);
    json_t *j = json_loads(text, 0, NULL);
    json_t *row = json_array_get(json_object_get(j, "rows"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(row, "file")), "caf?.log");
    ck_assert_str_eq(json_string_value(json_object_get(row, "note")), "caf\xc3\xa9");
    json_decref(j);
    free(text);
}

TEST(no_rows_is_still_json)
{
    struct err e = {0};
    char *text = finish(out_new(&(struct out_cfg){.json = "-"}, &e));
    json_t *j = json_loads(text, 0, NULL);
    ck_assert(json_is_array(json_object_get(j, "rows")));
    json_decref(j);
    free(text);
}

TEST(files_and_the_table)
{
    const char *dir = tmpdir_new();
    const char *csv = tmpdir_path(dir, "r.csv"), *json = tmpdir_path(dir, "r.json");
    char *text = finish(two_rows(&(struct out_cfg){.csv = csv, .json = json}));
    ck_assert_ptr_nonnull(strstr(text, "mpc"));
    free(text);

    struct err e = {0};
    char *c = text_read_file(csv, 10000, NULL, &e),
         *j = text_read_file(json, 10000, NULL, &e);
    ck_assert(c && strncmp(c, "policy,n,", 9) == 0);
    ck_assert(j && strncmp(j, "{\"rows\": [", 10) == 0);
    free(c);
    free(j);
}

TEST(what_cannot_work_is_refused_at_the_start)
{
    struct err e = {0};
    ck_assert_ptr_null(out_new(&(struct out_cfg){.csv = "-", .json = "-"}, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);

    struct err e2 = {0};
    ck_assert_ptr_null(out_new(&(struct out_cfg){.json = "/no/such/folder/x.json"}, &e2));
    ck_assert_int_eq(e2.code, ERR_IO);
    ck_assert_str_eq(e2.field, "/no/such/folder/x.json");
}

TEST(cells_are_columns_by_their_conversion)
{
    struct err e = {0};
    struct out *o = out_new(&(struct out_cfg){.csv = "-"}, &e);
    ck_assert_ptr_nonnull(o);
    out_row(o);
    out_cells(o, "name=%s n=%d long=%ld longer=%lld real=%.3f", "a b", -7, 1L << 40,
              1LL << 50, .25);
    out_interval(o, "gain", 1, -2, 3.5, 2);
    capture_begin(STDOUT_FILENO);
    int rc = out_finish(o, &e);
    char *text = capture_end();
    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(text, "name,n,long,longer,real,gain,gain_lo,gain_hi\n"
                           "a b,-7,1099511627776,1125899906842624,0.25,1,-2,3.5\n");
    free(text);
    out_free(o);
}

TEST(the_device_of_standard_output_is_standard_output)
{
    char *dash = finish(two_rows(&(struct out_cfg){.csv = "-"}));
    char *device = finish(two_rows(&(struct out_cfg){.csv = "/dev/stdout"}));
    ck_assert_str_eq(dash, device);
    free(dash);
    free(device);
}

static struct out *brief_rows(const struct out_cfg *cfg)
{
    struct out *o = two_rows(cfg);
    out_brief(o, "who", true, "%s", "b");
    out_brief(o, "gain", false, "%+.1f %%", 5.25);
    out_row(o);
    out_text(o, "policy", "c");
    out_brief(o, "who", true, "long name");
    return o;
}

/* Rows without brief cells are left out. */
TEST(brief_cells_replace_the_columns_of_the_table)
{
    char *text = finish(brief_rows(&(struct out_cfg){0}));
    ck_assert_str_eq(text, "who          gain\n"
                           "b          +5.2 %\n"
                           "long name       -\n");
    free(text);
    text = finish(brief_rows(&(struct out_cfg){.wide = true}));
    ck_assert(strstr(text, "policy ") == text && !strstr(text, "who"));
    free(text);
    text = finish(brief_rows(&(struct out_cfg){.csv = "-"}));
    ck_assert(strstr(text, "policy,n,qoe,gap\n") == text && !strstr(text, "long name"));
    free(text);
    text = finish(brief_rows(&(struct out_cfg){.json = "-"}));
    ck_assert_ptr_null(strstr(text, "who"));
    free(text);
}

SUITE(cli_out, the_table_is_aligned, brief_cells_replace_the_columns_of_the_table,
      csv_quotes_and_keeps_digits, json_on_stdout_is_one_object_and_nothing_else,
      a_name_that_is_not_utf8_does_not_end_the_table, no_rows_is_still_json,
      files_and_the_table, what_cannot_work_is_refused_at_the_start,
      cells_are_columns_by_their_conversion,
      the_device_of_standard_output_is_standard_output);
