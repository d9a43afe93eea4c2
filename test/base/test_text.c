#include "base/text.h"

#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ---- */

static const struct {
    const char *s;
    double value;
} good[] = {
    {"0", 0},       {"-0.5", -.5},    {"+3", 3},
    {".25", .25},   {"5.", 5},        {"1e3", 1000},
    {"1E-3", .001}, {"007", 7},       {"-.5e1", -5},
    {"0.1", .1},    {"1e308", 1e308}, {"123456789012345678", 123456789012345678.0},
};

TEST(doubles_that_are_read)
{
    struct err e = {0};
    double v = -1;
    ck_assert_int_eq(text_double(&v, good[_i].s, -1e308, 1e308, "x", &e), 0);
    ck_assert_double_eq(v, good[_i].value);
}

static const char *const bad_doubles[] = {
    "",    " 1", "1 ", "12x", "x",     "0x10", "nan",  "inf",      "-inf", "1e999", "1e",
    "--1", ".",  "+",  "1,5", "1.2.3", "\t1",  "-0x1", "infinity", "1e+",  "e5"};

TEST(doubles_that_are_refused)
{
    struct err e = {0};
    double v = 42;
    ck_assert_int_eq(text_double(&v, bad_doubles[_i], -1e308, 1e308, "--x", &e),
                     ERR_INVALID);
    ck_assert_double_eq(v, 42);
    ck_assert_str_eq(e.field, "--x");
    ck_assert_ptr_nonnull(strstr(e.detail, "is not a number"));
}

TEST(limits_include_their_ends)
{
    struct err e = {0};
    double v = 42;
    ck_assert_int_eq(text_double(&v, "0", 0, 1, "x", &e), 0);
    ck_assert_int_eq(text_double(&v, "1", 0, 1, "x", &e), 0);
    ck_assert_int_eq(text_double(&v, "1.0000001", 0, 1, "x", &e), ERR_RANGE);
    ck_assert_double_eq(v, 1);

    struct err e2 = {0};
    int64_t n = 42;
    ck_assert_int_eq(text_int(&n, "-5", -5, 5, "x", &e2), 0);
    ck_assert_int_eq(text_int(&n, "6", -5, 5, "x", &e2), ERR_RANGE);
    ck_assert_int_eq(n, -5);
    ck_assert_str_eq(e2.detail, "6 is not within -5 .. 5");
}

static const char *const bad_ints[] = {"",   " 1", "1 ",  "12x", "x", "0x10", "1.5",
                                       "1.", ".5", "1e3", "+",   "-", "--1",  "\n1"};

TEST(whole_numbers_that_are_refused)
{
    struct err e = {0}, e2 = {0};
    int64_t v = 42;
    uint64_t u = 42;
    ck_assert_int_eq(text_int(&v, bad_ints[_i], INT64_MIN, INT64_MAX, "x", &e),
                     ERR_INVALID);
    ck_assert_int_eq(text_u64(&u, bad_ints[_i], "x", &e2), ERR_INVALID);
    ck_assert_int_eq(v, 42);
    ck_assert_uint_eq(u, 42);
}

TEST(whole_numbers_up_to_the_last)
{
    struct err e = {0};
    int64_t v = 0;
    uint64_t u = 0;
    ck_assert_int_eq(text_int(&v, "9223372036854775807", 0, INT64_MAX, "x", &e), 0);
    ck_assert_int_eq(v, INT64_MAX);
    ck_assert_int_eq(text_int(&v, "-9223372036854775808", INT64_MIN, 0, "x", &e), 0);
    ck_assert_int_eq(text_u64(&u, "18446744073709551615", "x", &e), 0);
    ck_assert_uint_eq(u, UINT64_MAX);
    ck_assert_int_eq(text_int(&v, "9223372036854775808", 0, INT64_MAX, "x", &e),
                     ERR_RANGE);
    struct err e2 = {0}, e3 = {0};
    ck_assert_int_eq(text_u64(&u, "18446744073709551616", "x", &e2), ERR_RANGE);
    ck_assert_int_eq(text_u64(&u, "-1", "x", &e3), ERR_INVALID);
}

TEST(scanning_moves_behind_the_number)
{
    struct err e = {0};
    const char *s = " 1.5\t-2e1,3 x";
    double v = 0;
    ck_assert_int_eq(text_scan_double(&v, &s, &e), 0);
    ck_assert_double_eq(v, 1.5);
    ck_assert_int_eq(text_scan_double(&v, &s, &e), 0);
    ck_assert_double_eq(v, -20);
    ck_assert_str_eq(s, ",3 x");
    ck_assert_int_eq(text_scan_double(&v, &s, &e), ERR_INVALID);
    ck_assert_str_eq(s, ",3 x");
    s = "nan";
    struct err e2 = {0};
    ck_assert_int_eq(text_scan_double(&v, &s, &e2), ERR_INVALID);
    s = "1e999";
    ck_assert_int_eq(text_scan_double(&v, &s, &e2), ERR_INVALID);
    ck_assert_double_eq(v, -20);
}

TEST(distances)
{
    ck_assert_int_eq(text_distance("policy", "policy"), 0);
    ck_assert_int_eq(text_distance("polcy", "policy"), 1);
    ck_assert_int_eq(text_distance("", "abc"), 3);
    ck_assert_int_eq(text_distance("kitten", "sitting"), 3);
    ck_assert_int_eq(text_distance("sitting", "kitten"), 3);
}

TEST(utf8_characters)
{
    static const struct {
        const char *s;
        int bytes;
    } cases[] = {
        {"a", 1},
        {"\xc3\xbc", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"", 0},
        {"\n", 0},
        {"\x7f", 0},
        {"\x80", 0},
        {"\xc0\x80", 0},
        {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xc3", 0},
        {"\xe2\x82", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xc2\x9b", 0}, /* CSI, as ESC [ is */
        {"\xc2\xa0", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(text_utf8(cases[i].s), cases[i].bytes);
}

/* ---- files ---- */

TEST(a_file_comes_back_as_it_was_written)
{
    struct err e = {0};
    static char big[300001];
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "f");
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 7);
    size_t sizes[] = {0, 1, 65535, 65536, sizeof big};
    for (int i = 0; i < 5; i++) {
        size_t n = 99;
        ck_assert_int_eq(text_write_file(path, big, sizes[i], &e), 0);
        char *back = text_read_file(path, sizeof big, &n, &e);
        ck_assert_ptr_nonnull(back);
        ck_assert_uint_eq(n, sizes[i]);
        ck_assert_int_eq(memcmp(back, big, n), 0);
        ck_assert_int_eq(back[n], 0);
        free(back);
    }
    ck_assert_int_ne(access(tmpdir_path(dir, "f.tmp"), F_OK), 0);
}

TEST(reading_has_a_limit)
{
    struct err e = {0};
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "f");
    ck_assert_int_eq(text_write_file(path, "12345", 5, &e), 0);
    char *at = text_read_file(path, 5, NULL, &e);
    ck_assert_ptr_nonnull(at);
    free(at);
    ck_assert_ptr_null(text_read_file(path, 4, NULL, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.detail, "is larger than the limit of 4 bytes");

    struct err e2 = {0};
    ck_assert_ptr_null(text_read_file("/dev/zero", 100000, NULL, &e2));
    ck_assert_int_eq(e2.code, ERR_RANGE);
}

TEST(what_cannot_be_read_says_why)
{
    struct err e = {0}, e2 = {0};
    const char *dir = tmpdir_new();
    ck_assert_ptr_null(text_read_file(tmpdir_path(dir, "no"), 9, NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    ck_assert_ptr_null(text_read_file(dir, 9, NULL, &e2));
    ck_assert_int_eq(e2.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e2.detail, "directory"));
}

/* Neither works for root, who may write into any folder that exists. */
TEST(a_folder_that_takes_no_file)
{
    struct err e = {0}, e2 = {0};
    const char *dir = tmpdir_new(), *file = tmpdir_path(dir, "f");
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, "no/f"), "x", 1, &e), ERR_IO);
    ck_assert_int_eq(text_write_file(file, "old", 3, &e2), 0);
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, "f/g"), "x", 1, &e2), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e2.detail, "ot a directory"));
}

TEST(a_failed_write_leaves_the_old_file)
{
    struct err e = {0};
    const char *dir = tmpdir_new(), *file = tmpdir_path(dir, "f");
    ck_assert_int_eq(text_write_file(file, "old", 3, &e), 0);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "f.tmp"), 0755), 0); /* in the way */
    ck_assert_int_eq(text_write_file(file, "new", 3, &e), ERR_IO);
    struct err e2 = {0};
    char *now = text_read_file(file, 10, NULL, &e2);
    ck_assert_str_eq(now, "old");
    free(now);
}

/* A device or a pipe is written to, never replaced by a file of the same name. */
TEST(devices_stay_devices)
{
    struct err e = {0}, e2 = {0};
    struct stat st;
    ck_assert_int_eq(text_write_file("/dev/null", "x", 1, &e), 0);
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
    ck_assert_int_eq(text_write_file("/dev/full", "x", 1, &e2), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e2.detail, "No space"));
}

TEST(links_stay_links)
{
    struct err e = {0};
    struct stat st;
    const char *dir = tmpdir_new();
    char link[512];
    snprintf(link, sizeof link, "%s/link", dir);
    tmpdir_put(dir, "real", "old");
    ck_assert_int_eq(symlink("real", link), 0);
    ck_assert_int_eq(text_write_file(link, "new", 3, &e), 0);
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    char *text = text_read_file(tmpdir_path(dir, "real"), 100, NULL, &e);
    ck_assert_str_eq(text, "new");
    free(text);
}

TEST(the_folder_of_a_path)
{
    static const char *const rows[][2] = {{"a.csv", "."},     {"/a.csv", "/"},
                                          {"b/a.csv", "b"},   {"/b/c/a.csv", "/b/c"},
                                          {"../a.csv", ".."}, {"b/", "b"}};
    char dir[PATH_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(text_folder_of(dir, rows[i][0]), rows[i][1]);
}

TEST(paths_have_an_end)
{
    struct err e = {0};
    char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(text_write_file(path, "x", 1, &e), ERR_RANGE);
}

static void *read_it(void *ctx, struct err *e)
{
    return text_read_file(ctx, 1 << 20, NULL, e);
}

TEST(reading_survives_every_failing_allocation)
{
    struct err e = {0};
    static char big[200000];
    const char *dir = tmpdir_new(), *file = tmpdir_path(dir, "f");
    ck_assert_int_eq(text_write_file(file, big, sizeof big, &e), 0);
    ck_assert_int_ge(alloc_each_fails(read_it, free, (void *)file), 3);
}

static void cleans_to(const char *raw, const char *want)
{
    char out[64];
    text_clean(out, sizeof out, raw);
    ck_assert_str_eq(out, want);
}

TEST(only_printable_utf8_is_kept)
{
    cleans_to("plain ~", "plain ~");
    cleans_to("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xac",
              "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xac");
    cleans_to("a\x1b[m\n\x7f", "a?[m??");
    cleans_to("caf\xe9", "caf?");   /* Latin-1 */
    cleans_to("\xc3", "?");         /* cut short */
    cleans_to("\xc0\xaf", "\x3f?"); /* longer than needed */
    cleans_to("\xe0\x80\xaf", "\x3f\x3f?");
    cleans_to("\xed\xa0\x80", "\x3f\x3f?");         /* a surrogate */
    cleans_to("\xf4\x90\x80\x80", "\x3f\x3f\x3f?"); /* beyond the last plane */

    char out[5];
    text_clean(out, sizeof out, "abc\xc3\xa9"); /* cut between characters */
    ck_assert_str_eq(out, "abc");
}

TEST(last_components)
{
    const struct {
        const char *path, *last;
    } want[] = {{"a/b/c", "c"}, {"c", "c"}, {"a/c//", "c"},
                {"/c", "c"},    {"/", ""},  {"", ""}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char out[16];
        text_last_component(out, sizeof out, want[i].path);
        ck_assert_str_eq(out, want[i].last);
    }
    char out[4];
    text_last_component(out, sizeof out, "x/abcdef");
    ck_assert_str_eq(out, "abc");
}

TEST(refusals_keep_the_line)
{
    struct err e = {0};
    ck_assert_int_eq(text_refuse("f", 7, ERR_RANGE, &e, "%d\n", 5), ERR_RANGE);
    ck_assert_str_eq(e.field, "f:7");
    ck_assert_str_eq(e.detail, "5?");
    e = (struct err){0};
    text_refuse("f", 0, ERR_RANGE, &e, "as a whole");
    ck_assert_str_eq(e.field, "f");

    char name[200];
    memset(name, 'n', sizeof name);
    strcpy(name + 150, "\xc3\xa9.log");
    e = (struct err){0};
    text_refuse(name, 1234567, ERR_RANGE, &e, "x");
    ck_assert_str_eq(e.field + strlen(e.field) - 14, "\xc3\xa9.log:1234567");
    ck_assert_int_eq(text_refuse("f", 1, ERR_IO, NULL, "lost"), ERR_IO);
}

TEST(csv_fields_are_quoted_where_they_have_to_be)
{
    static const char *const field[][2] = {{"plain words", "plain words"},
                                           {"", ""},
                                           {"a,b", "\"a,b\""},
                                           {"say \"hi\"", "\"say \"\"hi\"\"\""},
                                           {"two\nlines", "\"two\nlines\""},
                                           {"\r", "\"\r\""}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        char *got = NULL;
        size_t n;
        FILE *f = open_memstream(&got, &n);
        text_put_csv(f, field[i][0]);
        ck_assert_int_eq(fclose(f), 0);
        ck_assert_str_eq(got, field[i][1]);
        free(got);
    }
}

SUITE(base_text, ROWS(doubles_that_are_read, good),
      ROWS(doubles_that_are_refused, bad_doubles), limits_include_their_ends,
      ROWS(whole_numbers_that_are_refused, bad_ints), whole_numbers_up_to_the_last,
      scanning_moves_behind_the_number, distances, utf8_characters,
      a_file_comes_back_as_it_was_written, reading_has_a_limit,
      what_cannot_be_read_says_why, a_folder_that_takes_no_file,
      a_failed_write_leaves_the_old_file, devices_stay_devices, links_stay_links,
      the_folder_of_a_path, paths_have_an_end, only_printable_utf8_is_kept,
      last_components, refusals_keep_the_line, reading_survives_every_failing_allocation,
      csv_fields_are_quoted_where_they_have_to_be);
