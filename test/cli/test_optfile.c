#include "cli/optfile.h"

#include "base/text.h"
#include "support/tmpdir.h"

#include <check.h>
#include <string.h>

struct values {
    int port;
    double explore;
    bool quiet;
    const char *web_dir, *bind, *config;
};

static int read_text(struct values *v, struct optfile *f, const char *text, struct err *e)
{
    const struct opt opts[] = {
        {"port", "N", "", .i = &v->port, .lo = 0, .hi = 65535},
        {"explore", "X", "", .d = &v->explore, .lo = 0, .hi = 1},
        {"quiet", NULL, "", .flag = &v->quiet},
        {"web-dir", "DIR", "", .text = &v->web_dir},
        {"bind", "ADDRESS", "", .text = &v->bind},
        {"config", "FILE", "", .text = &v->config},
        {0},
    };
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "abrd.conf");
    int rc = text_write_file(path, text, strlen(text), e);
    if (!rc) rc = optfile_read(f, path, opts, "config", e);
    tmpdir_remove(dir);
    return rc;
}

START_TEST(options_are_keys_in_either_spelling)
{
    struct err e = {0};
    struct optfile f;
    struct values v = {.bind = "127.0.0.1", .explore = .2};
    int rc = read_text(&v, &f, "port = 9000\nweb_dir = \"/srv/a b\"\nquiet = yes\n", &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(v.port, 9000);
    ck_assert(v.quiet);
    ck_assert_str_eq(v.web_dir, "/srv/a b");
    ck_assert_str_eq(v.bind, "127.0.0.1"); /* not in the file: stays */
    ck_assert_double_eq(v.explore, .2);

    ck_assert_int_eq(read_text(&v, &f, "web-dir = /x\n", &e), 0);
    ck_assert_str_eq(v.web_dir, "/x");
}
END_TEST

static const struct {
    const char *text, *says;
} refusals[] = {
    {"config = other.conf\n", "no key is called 'config'"},
    {"prot = 1\n", "known: port, explore, quiet, web_dir, web-dir, bind"},
    {"explore = 2\n", "2 is not within 0 .. 1"},
    {"port = 1\nport = 2\n", "port was given before"},
};

START_TEST(mistakes_name_file_and_line)
{
    struct err e = {0};
    struct optfile f;
    struct values v = {0};
    ck_assert_int_lt(read_text(&v, &f, refusals[_i].text, &e), 0);
    ck_assert_int_eq(strncmp(e.field, "abrd.conf:", 10), 0);
    ck_assert_msg(strstr(e.detail, refusals[_i].says), "%s", e.detail);
}
END_TEST

Suite *suite_cli_optfile(void);
Suite *suite_cli_optfile(void)
{
    Suite *s = suite_create("cli/optfile");
    TCase *t = tcase_create("cli/optfile");
    tcase_add_test(t, options_are_keys_in_either_spelling);
    tcase_add_loop_test(t, mistakes_name_file_and_line, 0,
                        sizeof refusals / sizeof *refusals);
    suite_add_tcase(s, t);
    return s;
}
