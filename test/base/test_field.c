#include "base/field.h"

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum level { LOW, MIDDLE, HIGH };

struct values {
    int64_t i64;
    bool flag, strict;
    int i;
    uint64_t u64;
    double share, kept_s;
    enum level level;
    char chars[8];
    const char *text, *secret;
    struct field_list list, whole;
};

static const char *const LEVELS[] = {"low", "middle", "high", NULL};
static const char *const DURABILITY[] = {"window", "strict", NULL};

#define ROW(member) FIELD(struct values, member)
static const struct field ROWS[] = {
    {"learn", NULL, "learn", ROW(flag), .group = "one"},
    {"durability", "WHEN", "when", ROW(strict), .words = DURABILITY},
    {"port", "N", "port", ROW(i), .lo = 1, .hi = 65535, .group = "two"},
    {"steps", "N", "steps", ROW(i64), .lo = -1e15, .hi = 1e15, .unit = "steps"},
    {"seed", "N", "seed", ROW(u64)},
    {"share", "X", "share", ROW(share), .lo = 0, .hi = 1, .unit = "of all"},
    {"kept-days", "DAYS", "days", ROW(kept_s), .lo = 0, .hi = 100, .scale = 86400,
     .unit = "days"},
    {"level", "WORD", "level", ROW(level), .words = LEVELS, .flags = FIELD_LIVE},
    {"name", "NAME", "name", ROW(chars)},
    {"web-dir", "DIR", "folder", ROW(text)},
    {"bus", "URL", "url", ROW(secret), .flags = FIELD_SECRET},
    {"host", "A,B", "names", ROW(list)},
    {"origin", "A,B", "servers", ROW(whole), .flags = FIELD_WHOLE_ITEMS},
    {"config", "FILE", "file", ROW(text), .flags = FIELD_NO_FILE},
    {0},
};

static void bind(struct field out[FIELD_TABLE_MAX + 1], struct values *v)
{
    out[0] = (struct field){0};
    field_bind(out, ROWS, v);
}

static int parse(struct values *v, char *text, struct err *e)
{
    struct field rows[FIELD_TABLE_MAX + 1];
    bind(rows, v);
    return field_parse(text, strlen(text), "/etc/abrd/abrd.conf", rows, e);
}

/* One value, by the row's name. */
static int read_one(struct values *v, const char *name, char *text, bool more,
                    struct err *e)
{
    struct field rows[FIELD_TABLE_MAX + 1];
    bind(rows, v);
    return field_read(field_find(rows, name, strlen(name)), text, more, e);
}

TEST(every_type_is_read_from_a_file)
{
    struct err e = {0};
    struct values v = {0};
    char text[] = "# all of it\n\n  port=8080 \r\n\tlearn = on # comment\n"
                  "seed=18446744073709551615\nsteps = -9000000000\nshare = .25\n"
                  "kept_days = 2\nlevel = high\ndurability = strict\nname = \" a#b \"\n"
                  "web_dir = \"/srv/a b\"\nhost = a, b c\norigin = x=y,z=w";
    int rc = parse(&v, text, &e);
    ck_assert_msg(rc == 0, "%s %s", e.field, e.detail);
    ck_assert(v.flag && v.strict);
    ck_assert_int_eq(v.i, 8080);
    ck_assert_int_eq(v.i64, -9000000000);
    ck_assert_uint_eq(v.u64, UINT64_MAX);
    ck_assert_double_eq(v.share, .25);
    ck_assert_double_eq(v.kept_s, 2 * 86400);
    ck_assert_int_eq(v.level, HIGH);
    ck_assert_str_eq(v.chars, " a#b ");
    ck_assert_str_eq(v.text, "/srv/a b");
    ck_assert_int_eq(v.list.n, 3);
    ck_assert_str_eq(v.list.item[2], "c");
    ck_assert_int_eq(v.whole.n, 2);
}

TEST(what_is_not_in_the_file_keeps_its_default)
{
    struct err e = {0};
    struct values v = {.i = 7, .chars = "var", .text = "/x", .level = MIDDLE};
    char text[] = "name =\nweb-dir = \n", empty[] = "";
    ck_assert_int_eq(parse(&v, text, &e), 0);
    ck_assert_int_eq(parse(&v, empty, &e), 0);
    ck_assert_int_eq(v.i, 7);
    ck_assert_str_eq(v.chars, "var");
    ck_assert_str_eq(v.text, "/x");
    ck_assert_int_eq(v.level, MIDDLE);
}

static const struct {
    const char *text;
    int code;
    const char *field, *says;
} refusals[] = {
    {"port 80\n", ERR_INVALID, "abrd.conf:1", "'port 80' is not key = value"},
    {"\nprot = 80\n", ERR_INVALID, "abrd.conf:2",
     "unknown key 'prot'; did you mean 'port'?"},
    {"xyzzy = 80\n", ERR_INVALID, "abrd.conf:1", "unknown key 'xyzzy'"},
    {"= 3\n", ERR_INVALID, "abrd.conf:1", "unknown key ''"},
    {"config = a\n", ERR_INVALID, "abrd.conf:1",
     "config: is an option of the command line, not a key of the file"},
    {"stpes = 8\n", ERR_INVALID, "abrd.conf:1",
     "unknown key 'stpes'; did you mean 'steps'?"},
    {"web_folder = a\n", ERR_INVALID, "abrd.conf:1", "unknown key 'web_folder'"},
    {"web_dirs_ = a\n", ERR_INVALID, "abrd.conf:1",
     "unknown key 'web_dirs_'; did you mean 'web-dir'?"},
    {"port = 0\n", ERR_RANGE, "abrd.conf:1", "port: 0 is not within 1 .. 65535"},
    {"steps = 9000000000000000\n", ERR_RANGE, "abrd.conf:1",
     "steps: 9000000000000000 is not within -1000000000000000 .. 1000000000000000 steps"},
    {"port = 80x\n", ERR_INVALID, "abrd.conf:1", "port: '80x' is not a whole number"},
    {"port = 1\n#\nport = 2\n", ERR_CONFLICT, "abrd.conf:3", "port: is set twice"},
    {"web-dir = a\nweb_dir = a\n", ERR_CONFLICT, "abrd.conf:2", "web-dir: is set twice"},
    {"share = 1.5\n", ERR_RANGE, "abrd.conf:1", "share: 1.5 is not within 0 .. 1 of all"},
    {"kept-days = 101\n", ERR_RANGE, "abrd.conf:1",
     "kept-days: 101 is not within 0 .. 100 days"},
    {"share = nan\n", ERR_INVALID, "abrd.conf:1", "share: 'nan' is not a number"},
    {"seed = -1\n", ERR_INVALID, "abrd.conf:1", "seed: '-1' is not a whole number"},
    {"learn = maybe\n", ERR_INVALID, "abrd.conf:1",
     "learn: 'maybe' is not one of false, true, no, yes, off, on, 0, 1"},
    {"level = loud\n", ERR_INVALID, "abrd.conf:1",
     "level: 'loud' is not one of low, middle, high"},
    {"durability = on\n", ERR_INVALID, "abrd.conf:1",
     "durability: 'on' is not one of window, strict"},
    {"name = 12345678\n", ERR_RANGE, "abrd.conf:1", "name: is longer than 7 characters"},
    {"host = ,\n", ERR_INVALID, "abrd.conf:1", "host: the list is empty"},
    {"name = \"open\n", ERR_INVALID, "abrd.conf:1", "a quoted value begins and ends"},
    {"name = \"a\" b\n", ERR_INVALID, "abrd.conf:1", "a quoted value begins and ends"},
};

TEST(faults_name_the_line_the_key_and_the_limits)
{
    struct err e = {0};
    struct values v = {0};
    char text[100];
    snprintf(text, sizeof text, "%s", refusals[_i].text);
    ck_assert_int_eq(parse(&v, text, &e), refusals[_i].code);
    ck_assert_str_eq(e.field, refusals[_i].field);
    ck_assert_msg(strstr(e.detail, refusals[_i].says), "%s", e.detail);
}

TEST(a_zero_byte_is_no_text)
{
    struct err e = {0};
    const struct field rows[] = {{0}};
    char text[] = "#\na\0b";
    ck_assert_int_eq(field_parse(text, 5, "x", rows, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "x:2");
}

TEST(files)
{
    struct err e = {0};
    struct values v = {0};
    struct field rows[FIELD_TABLE_MAX + 1];
    bind(rows, &v);
    char *text = NULL;
    const char *dir = tmpdir_new(), *path = strdup(tmpdir_path(dir, "a.conf"));
    ck_assert_int_eq(field_file(&text, path, rows, &e), ERR_ABSENT);
    ck_assert_ptr_null(text);

    struct err e2 = {0};
    ck_assert_int_eq(text_write_file(path, "port = 5\n", 9, &e2), 0);
    ck_assert_int_eq(field_file(&text, path, rows, &e2), 0);
    ck_assert_int_eq(v.i, 5);
    free(text);
    free((void *)path);
}

TEST(a_value_is_read_and_shown)
{
    static const struct {
        const char *name, *given, *shown;
    } cases[] = {{"learn", NULL, ""},
                 {"durability", "window", "window"},
                 {"port", "80", "80"},
                 {"steps", "5000000000", "5000000000"},
                 {"seed", "3", "3"},
                 {"share", "0.25", "0.25"},
                 {"kept-days", "1.5", "1.5"},
                 {"level", "middle", "middle"},
                 {"name", "a", "a"},
                 {"web-dir", "/x y", "/x y"},
                 {"bus", "nats://a:b@c", "***"},
                 {"host", "a,b", "a,b"},
                 {"origin", "a,b", "a,b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values v = {0}, w = {0};
        struct field rows[FIELD_TABLE_MAX + 1], others[FIELD_TABLE_MAX + 1];
        bind(rows, &v);
        bind(others, &w);
        const char *name = cases[i].name;
        const struct field *f = field_find(rows, name, strlen(name));
        const struct field *g = field_find(others, name, strlen(name));
        char given[32], shown[FIELD_TEXT_MAX];
        snprintf(given, sizeof given, "%s", cases[i].given ? cases[i].given : "");
        ck_assert_int_eq(field_read(f, cases[i].given ? given : NULL, false, NULL), 0);
        field_show(shown, sizeof shown, f, NULL);
        ck_assert_str_eq(shown, cases[i].shown);
        ck_assert(field_same(f, f));
        bool zero = !strcmp(shown, "window"); /* as the struct held before */
        ck_assert_msg(field_same(f, g) == zero, "%s", name);
    }
}

TEST(lists_grow_and_end)
{
    struct values v = {.list = {1, {"default"}}};
    struct err e = {0};
    char one[] = "a,b", two[] = "c", whole[] = "x,y", many[256] = "", none[] = ",";
    ck_assert_int_eq(read_one(&v, "host", one, false, NULL), 0);
    ck_assert_int_eq(read_one(&v, "host", two, true, NULL), 0);
    ck_assert_int_eq(v.list.n, 3);
    ck_assert_str_eq(v.list.item[0], "a");
    ck_assert_int_eq(read_one(&v, "origin", whole, false, NULL), 0);
    ck_assert_int_eq(v.whole.n, 1);
    ck_assert_str_eq(v.whole.item[0], "x,y");
    for (int i = 0; i <= FIELD_LIST_MAX; i++)
        strcat(many, "a,");
    ck_assert_int_eq(read_one(&v, "host", many, false, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "host");
    ck_assert_int_eq(read_one(&v, "host", none, false, NULL), ERR_INVALID);
}

TEST(a_configuration_is_checked)
{
    const struct values good = {.i = 1};
    ck_assert_int_eq(field_check(ROWS, &good, NULL), 0);
    struct values bad[] = {good, good, good, good, good, good};
    const char *const name[] = {"port", "steps", "share", "kept-days", "level", "share"};
    bad[0].i = 65536;
    bad[1].i64 = -2000000000000000;
    bad[2].share = 1.0001;
    bad[3].kept_s = 101 * 86400.0;
    bad[4].level = (enum level)3;
    bad[5].share = NAN;
    for (int i = 0; i < 6; i++) {
        struct err e = {0};
        ck_assert_int_eq(field_check(ROWS, &bad[i], &e), ERR_RANGE);
        ck_assert_str_eq(e.field, name[i]);
    }
}

TEST(a_heading_holds_until_the_next)
{
    struct values v = {0};
    struct field rows[FIELD_TABLE_MAX + 1];
    bind(rows, &v);
    ck_assert_str_eq(rows[1].group, "one");
    ck_assert_str_eq(rows[3].group, "two");
    const struct field more[] = {{"x", "N", "", FIELD_TO(v.i)}, {0}};
    field_bind(rows, more, NULL);
    ck_assert_ptr_null(field_find(rows, "x", 1)->group);
    ck_assert_ptr_eq(field_find(rows, "x", 1)->to, &v.i);
}

TEST(as_many_rows_as_there_may_be)
{
    static struct field rows[FIELD_TABLE_MAX + 1];
    static char name[FIELD_TABLE_MAX][8];
    static int value[FIELD_TABLE_MAX];
    for (int i = 0; i < FIELD_TABLE_MAX; i++) {
        snprintf(name[i], sizeof name[i], "k%d", i);
        rows[i] = (struct field){FIELD_TO(value[i])};
        rows[i].name = name[i];
    }
    struct err e = {0};
    char text[] = "k3 = 1\nk67 = 2\nk127 = 3\n"; /* 3 and 67 are 64 apart */
    ck_assert_int_eq(field_parse(text, strlen(text), "a.conf", rows, &e), 0);
    ck_assert_int_eq(value[3], 1);
    ck_assert_int_eq(value[67], 2);
    ck_assert_int_eq(value[127], 3);
    char twice[] = "k127 = 3\nk127 = 4\n";
    ck_assert_int_eq(field_parse(twice, strlen(twice), "a.conf", rows, &e), ERR_CONFLICT);
}

SUITE(base_field, every_type_is_read_from_a_file,
      what_is_not_in_the_file_keeps_its_default,
      ROWS(faults_name_the_line_the_key_and_the_limits, refusals), a_zero_byte_is_no_text,
      files, a_value_is_read_and_shown, lists_grow_and_end, a_configuration_is_checked,
      a_heading_holds_until_the_next, as_many_rows_as_there_may_be);
