#include "base/conf.h"

#include "base/text.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct values {
    bool flag;
    int i;
    uint64_t u64;
    double d;
    char text[8];
};

static int parse(struct values *v, const char *text, struct err *e)
{
    const struct conf_key keys[] = {
        {"learn", .flag = &v->flag},
        {"port", .i = &v->i, .lo = 1, .hi = 65535},
        {"seed", .u64 = &v->u64},
        {"share", .d = &v->d, .lo = 0, .hi = 1},
        {"data", .text = v->text, .size = sizeof v->text},
        {0},
    };
    return conf_parse(text, strlen(text), "/etc/abrd/abrd.conf", keys, e);
}

START_TEST(every_type_is_read)
{
    struct err e = {0};
    struct values v = {0};
    int rc = parse(
        &v, "# all of it\n\n  port=8080 \r\nlearn = yes# no comment: part of nothing\n",
        &e);
    ck_assert_int_eq(rc, ERR_INVALID); /* "yes# no comment..." is no truth value */

    struct err e2 = {0};
    rc = parse(&v,
               "# all of it\n\n  port=8080 \r\n\tlearn = on # "
               "comment\nseed=18446744073709551615\n"
               "share = .25\ndata = \" a#b \"",
               &e2);
    ck_assert_msg(rc == 0, "%s %s", e2.field, e2.detail);
    ck_assert(v.flag);
    ck_assert_int_eq(v.i, 8080);
    ck_assert_uint_eq(v.u64, UINT64_MAX);
    ck_assert_double_eq(v.d, .25);
    ck_assert_str_eq(v.text, " a#b ");
}
END_TEST

START_TEST(absent_keys_keep_their_default)
{
    struct err e = {0};
    struct values v = {.i = 7, .text = "var"};
    ck_assert_int_eq(parse(&v, "data =\n", &e), 0);
    ck_assert_int_eq(v.i, 7);
    ck_assert_str_eq(v.text, "");
    ck_assert_int_eq(parse(&v, "", &e), 0);
}
END_TEST

static const struct {
    const char *text;
    int code;
    const char *field, *says;
} refusals[] = {
    {"port 80\n", ERR_INVALID, "abrd.conf:1", "'port 80' is not key = value"},
    {"\nprot = 80\n", ERR_INVALID, "abrd.conf:2",
     "no key is called 'prot'; known: learn, port, seed, share, data"},
    {"port = 0\n", ERR_RANGE, "abrd.conf:1", "0 is not within 1 .. 65535"},
    {"port = 80x\n", ERR_INVALID, "abrd.conf:1", "'80x' is not a whole number"},
    {"port = 1\n#\nport = 2\n", ERR_CONFLICT, "abrd.conf:3", "port was given before"},
    {"share = 1.5\n", ERR_RANGE, "abrd.conf:1", "1.5 is not within 0 .. 1"},
    {"seed = -1\n", ERR_INVALID, "abrd.conf:1", "'-1' is not a whole number"},
    {"learn = maybe\n", ERR_INVALID, "abrd.conf:1", "'maybe' is neither true nor false"},
    {"data = 12345678\n", ERR_RANGE, "abrd.conf:1", "data is longer than 7 characters"},
    {"data = \"open\n", ERR_INVALID, "abrd.conf:1", "a quoted value is \"like this\""},
    {"data = \"a\" b\n", ERR_INVALID, "abrd.conf:1", "a quoted value is"},
    {"= 3\n", ERR_INVALID, "abrd.conf:1", "no key is called ''"},
};

START_TEST(mistakes_are_placed)
{
    struct err e = {0};
    struct values v = {0};
    ck_assert_int_eq(parse(&v, refusals[_i].text, &e), refusals[_i].code);
    ck_assert_str_eq(e.field, refusals[_i].field);
    ck_assert_msg(strstr(e.detail, refusals[_i].says), "%s", e.detail);
}
END_TEST

START_TEST(not_text_and_endless_lines)
{
    struct err e = {0};
    const struct conf_key keys[] = {{0}};
    ck_assert_int_eq(conf_parse("a\0b", 3, "x", keys, &e), ERR_INVALID);
    char big[3000];
    memset(big, 'a', sizeof big);
    struct err e2 = {0};
    ck_assert_int_eq(conf_parse(big, sizeof big, "x", keys, &e2), ERR_RANGE);
    ck_assert_str_eq(e2.field, "x:1");
}
END_TEST

START_TEST(files)
{
    struct err e = {0};
    int port = 0;
    const struct conf_key keys[] = {{"port", .i = &port}, {0}};
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "a.conf");
    ck_assert_int_eq(conf_read(path, keys, &e), ERR_ABSENT);

    struct err e2 = {0};
    ck_assert_int_eq(text_write_file(path, "port = -5\n", 10, &e2), 0);
    ck_assert_int_eq(conf_read(path, keys, &e2), 0);
    ck_assert_int_eq(port, -5);
    tmpdir_remove(dir);
}
END_TEST

START_TEST(as_many_keys_as_there_may_be)
{
    static struct conf_key keys[CONF_KEYS_MAX + 1];
    static char name[CONF_KEYS_MAX][8];
    static int value[CONF_KEYS_MAX];
    for (int i = 0; i < CONF_KEYS_MAX; i++) {
        snprintf(name[i], sizeof name[i], "k%d", i);
        keys[i] = (struct conf_key){name[i], .i = &value[i]};
    }
    struct err e = {0};
    const char *text = "k3 = 1\nk67 = 2\nk127 = 3\n"; /* 3 and 67 are 64 apart */
    ck_assert_int_eq(conf_parse(text, strlen(text), "a.conf", keys, &e), 0);
    ck_assert_int_eq(value[3], 1);
    ck_assert_int_eq(value[67], 2);
    ck_assert_int_eq(value[127], 3);
    text = "k127 = 3\nk127 = 4\n";
    ck_assert_int_eq(conf_parse(text, strlen(text), "a.conf", keys, &e), ERR_CONFLICT);
}
END_TEST

Suite *suite_base_conf(void);
Suite *suite_base_conf(void)
{
    Suite *s = suite_create("base/conf");
    TCase *t = tcase_create("base/conf");
    tcase_add_test(t, every_type_is_read);
    tcase_add_test(t, absent_keys_keep_their_default);
    tcase_add_loop_test(t, mistakes_are_placed, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(t, not_text_and_endless_lines);
    tcase_add_test(t, files);
    tcase_add_test(t, as_many_keys_as_there_may_be);
    suite_add_tcase(s, t);
    return s;
}
