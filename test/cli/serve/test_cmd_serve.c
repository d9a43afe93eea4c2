/* The program's own words; that it serves is tested in test/http. */
#include "cli/cmd.h"

#include <string.h>

#include "support/program.h"
#include "support/suites.h"

static const struct {
    const char *args, *said;
    int code;
} runs[] = {
    {"serve --help", "--allow-origin", 0},
    {"serve --port 70000", "--port", 2},
    {"serve --learn maybe", "--learn: 'maybe' is not one of off, on", 2},
    {"serve --log xml", "--log: 'xml' is not one of text, json", 2},
    {"serve --log-level loud", "loud", 2},
    {"serve --explore 1.5", "--explore", 2},
    {"serve --config /no/such.conf", "/no/such.conf", 2},
    {"serve --port 0 --policy /no/such", "/no/such", 1},
    {"serve --port 0 --bind 0.0.0.0", "admin-token-file", 1},
    {"serve --port 0 --admin-token-file /no/such/token", "/no/such/token", 1},
};

TEST(it_says_what_is_wrong)
{
    struct program_result r = program_run(runs[_i].args);
    ck_assert_msg(r.code == runs[_i].code && strstr(r.text, runs[_i].said) != NULL,
                  "abrd %s: exit %d, %s", runs[_i].args, r.code, r.text);
    program_free(&r);
}

SUITE_WITHIN(cli_serve_cmd_serve, 30, ROWS(it_says_what_is_wrong, runs));
