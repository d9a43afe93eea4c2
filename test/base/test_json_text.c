#include "base/json_text.h"

#include "support/suites.h"

#include <string.h>

TEST(a_value_or_the_line_of_the_error)
{
    const struct {
        const char *text, *field, *says;
        int max, code;
    } cases[] = {
        {"{\"a\": [1, 2]}", "", "", 64, 0},
        {"[\n{]", "f:2", "not JSON", 64, ERR_INVALID},
        {"", "f:1", "not JSON", 64, ERR_INVALID},
        {"{} x", "f:1", "not JSON", 64, ERR_INVALID},
        {"{\"a\": 1,\n\"a\": 2}", "f:2", "duplicate", 64, ERR_INVALID},
        {"[1, 2]", "f", "6 bytes of JSON, more than 5", 5, ERR_RANGE},
        {"[1, 2]", "", "", 6, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        json_t *v =
            json_text_parse(cases[i].text, strlen(cases[i].text), cases[i].max, "f", &e);
        ck_assert_msg(!v == (cases[i].code != 0) && e.code == cases[i].code &&
                          !strcmp(e.field, cases[i].field) &&
                          strstr(e.detail, cases[i].says),
                      "'%s' gave %d %s: %s", cases[i].text, e.code, e.field, e.detail);
        json_decref(v);
    }
}

SUITE(base_json_text, a_value_or_the_line_of_the_error);
