/* score_page FILE.html - a page (report/report.h) of tables that a score printed.
 *
 * Reads one JSON object from standard input: title, parameters {}, winner (a sentence for the top, may be
 * missing) and sections [{title, text, columns [], rows [[]]}]. */
#include "cli/page.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static int page_fail(const char *what, const char *why)
{
    fprintf(stderr, "score_page: %s: %s\n", what, why);
    return 1;
}

static const char *text_of(char out[64], const json_t *j)
{
    if (json_is_string(j)) return json_string_value(j);
    if (json_is_number(j))
        snprintf(out, 64, "%.12g", json_number_value(j));
    else
        snprintf(out, 64, "-");
    return out;
}

static void put_section(struct report *r, const json_t *section)
{
    const json_t *columns = json_object_get(section, "columns"), *row;
    const char *text = json_string_value(json_object_get(section, "text"));
    size_t i, c;
    report_heading(r, "%s", json_string_value(json_object_get(section, "title")));
    if (text) report_text(r, "%s", text);
    report_table(r, json_string_value(json_object_get(section, "title")));
    json_array_foreach(json_object_get(section, "rows"), i, row)
    {
        const json_t *cell;
        report_row(r);
        json_array_foreach(row, c, cell)
        {
            char number[64], name[REPORT_COLUMN];
            snprintf(name, sizeof name, "%s",
                     json_string_value(json_array_get(columns, c)));
            report_cell(r, name, "%s", text_of(number, cell));
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return page_fail("usage", "score_page FILE.html");
    json_error_t why;
    json_t *j = json_loadf(stdin, 0, &why);
    if (!j) return page_fail("standard input", why.text);
    struct err e = {0};
    struct report *r =
        page_new(argv[1], json_string_value(json_object_get(j, "title")), &e);
    if (!r) return page_fail(e.field, e.detail);
    const char *key, *winner = json_string_value(json_object_get(j, "winner"));
    const json_t *value, *section;
    size_t i;
    char number[64];
    if (winner) report_text(r, "%s", winner);
    json_object_foreach(json_object_get(j, "parameters"), key, value)
    {
        report_param(r, key, "%s", text_of(number, value));
    }
    json_array_foreach(json_object_get(j, "sections"), i, section)
    {
        put_section(r, section);
    }
    int rc = page_write(r, argv[1], &e);
    report_free(r);
    json_decref(j);
    return rc ? page_fail(e.field, e.detail) : 0;
}
