#include "cli/serve_options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "support/tmpdir.h"

static const struct serve_options_cmd cmd = {
    .name = "serve", .about = "A test.", .example = "abrd serve"};
static struct optfile file;

static int read_args(struct serve_options *s, const char *a, const char *b, const char *c)
{
    static char copy[4][256];
    const char *const given[] = {"serve", a, b, c};
    char *argv[5] = {0};
    int argc = 0;
    for (int i = 0; i < 4 && given[i]; i++) {
        snprintf(copy[i], sizeof copy[i], "%s", given[i]);
        argv[argc++] = copy[i];
    }
    *s = serve_options_default();
    return serve_options_read(s, &file, &cmd, argc, argv);
}

START_TEST(options_win_over_the_file)
{
    struct serve_options s;
    struct err e = {0};
    const char *dir = strdup(tmpdir_new());
    const char *path = strdup(tmpdir_path(dir, "a.conf"));
    static const char text[] = "port = 9000\nopen-rate = 7.5\ntrust_proxy = \"::1\"\n"
                               "durability = strict\n";
    ck_assert_int_eq(text_write_file(path, text, strlen(text), &e), 0);
    char option[300];
    snprintf(option, sizeof option, "--config=%s", path);
    ck_assert_int_eq(read_args(&s, option, "--port", "9001"), -1);
    ck_assert_int_eq(s.port, 9001);
    ck_assert_double_eq(s.admit.open_rate, 7.5);
    ck_assert_str_eq(s.admit.trust_proxy, "::1");
    ck_assert(serve_options_strict(&s));
    ck_assert_double_eq(s.admit.address_rate, 1000); /* the default */
    tmpdir_remove(dir);
}
END_TEST

START_TEST(tokens_are_one_word)
{
    char token[SERVE_OPTIONS_TOKEN];
    const char *dir = strdup(tmpdir_new());
    const char *path = strdup(tmpdir_path(dir, "token"));
    struct err e = {0};
    ck_assert_int_eq(serve_options_token(token, path, &e), ERR_ABSENT);
    static const struct {
        const char *text;
        int rc;
    } files[] = {{"0123456789abcdef", 0},
                 {"  0123456789abcdef\n\n", 0},
                 {"0123456789abcde\n", ERR_INVALID},
                 {"0123456789abcdef x\n", ERR_INVALID},
                 {"", ERR_INVALID}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        e = (struct err){0};
        ck_assert_int_eq(text_write_file(path, files[i].text, strlen(files[i].text), &e),
                         0);
        ck_assert_int_eq(serve_options_token(token, path, &e), files[i].rc);
        if (!files[i].rc) ck_assert_str_eq(token, "0123456789abcdef");
    }
    tmpdir_remove(dir);
}
END_TEST

START_TEST(what_was_given_is_taken)
{
    char buf[HOME_PATH];
    ck_assert_str_eq(serve_options_path("given", buf, "web"), "given");
    ck_assert_ptr_eq(serve_options_path(NULL, buf, "web"), buf);
    ck_assert_ptr_null(serve_options_path(NULL, buf, "no/such/file"));
}
END_TEST

START_TEST(what_differs_is_named)
{
    struct serve_options a = serve_options_default(), b = a;
    int from = 0;
    ck_assert_ptr_null(serve_options_differ(&a, &b, &from));
    char word[] = "pensieve"; /* the same word in another place */
    b.default_profile = word;
    b.explore = .5;
    b.host = "abrd.example";
    const char *const want[] = {"explore", "host"};
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(serve_options_differ(&a, &b, &from), want[i]);
    ck_assert_ptr_null(serve_options_differ(&a, &b, &from));
}
END_TEST

Suite *suite_cli_serve_options(void);
Suite *suite_cli_serve_options(void)
{
    Suite *s = suite_create("cli/serve_options");
    TCase *t = tcase_create("serve_options");
    tcase_add_test(t, options_win_over_the_file);
    tcase_add_test(t, tokens_are_one_word);
    tcase_add_test(t, what_was_given_is_taken);
    tcase_add_test(t, what_differs_is_named);
    suite_add_tcase(s, t);
    return s;
}
