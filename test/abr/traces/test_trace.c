#include "abr/traces/trace.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/shared.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trace *parse(const char *text)
{
    struct err e = {0};
    struct trace *t = trace_parse(text, strlen(text), "t", &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    return t;
}

static void rows_are(struct trace *t, int n, const double (*want)[2])
{
    ck_assert_int_eq(t->n, n);
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq_tol(t->time_s[i], want[i][0], 1e-12);
        ck_assert_double_eq_tol(t->mbps[i], want[i][1], 1e-12);
    }
    trace_free(t);
}

TEST(pensieve)
{
    rows_are(parse("0\t1.5\n0.5 2\r\n\n  2.25 \t0  \n2.25 9"), 4,
             (const double[][2]){{0, 1.5}, {.5, 2}, {2.25, 0}, {2.25, 9}});
    rows_are(parse("\xef\xbb\xbf"
                   "0.0 1\n1e1 1e-1\n"),
             2, (const double[][2]){{0, 1}, {10, .1}});
}

TEST(mahimahi_conserves_bytes)
{
    /* two packets in (0, 1], none in (1, 2], one in (2, 2.5] */
    rows_are(parse("10\n1000\n2500\n"), 4,
             (const double[][2]){{0, 0}, {1, .024}, {2, 0}, {2.5, .024}});
    struct trace *t = parse("0\n0\n1\n2000\n");
    ck_assert_int_eq(t->n, 3); /* a period of 2 s, not 2.001 */
    ck_assert_double_eq_tol(trace_mean_mbps(t) * 2.0, 4 * .012, 1e-12);
    trace_free(t);
}

TEST(csv)
{
    rows_are(parse("time_s,mbps\n0,1\n1.5,2\n"), 2,
             (const double[][2]){{0, 1}, {1.5, 2}});
    rows_are(parse("\"cell\", Throughput_Kbps ,timestamp_ms\na,100,1700000000000\n"
                   "b,2500,1700000001000\n"),
             2, (const double[][2]){{0, .1}, {1, 2.5}});
    rows_are(parse("timestamp_s,bytes_per_s\n5,0\n7,125000\n"), 2,
             (const double[][2]){{0, 0}, {2, 1}});
    rows_are(
        parse("\"cell, city\",time_s,\"mbps\"\n\"4, \"\"G\"\"\" ,0, \" 1\"\n\"\",1,2\n"),
        2, (const double[][2]){{0, 1}, {1, 2}});
}

TEST(logs_of_receivers_that_move)
{
    /* seconds since 1970 (Riiser), ms (Ghent); a gap of 2 s belongs to the slot behind it */
    rows_are(parse("1000000000 500 60.5 10.5 125000 1000\n"
                   "1000000003 3500 60.5 10.5 250000 1000\n"),
             3, (const double[][2]){{0, 1}, {1, 1}, {4, 2}});
    rows_are(parse("1400000000000 30000 50.5000000000001 3.50000000000001 250000 1000\n"
                   "1400000000999 30999 50.5000000000002 3.50000000000002 0 0999\n"),
             3, (const double[][2]){{0, 2}, {1, 2}, {1.999, 0}});
}

TEST(sabre)
{
    struct trace *t = parse("[{\"duration_ms\": 1500, \"bandwidth_kbps\": 800, "
                            "\"latency_ms\": 100},\n {\"duration_ms\": 500, "
                            "\"bandwidth_kbps\": 0, \"latency_ms\": 300}]");
    ck_assert_double_eq_tol(t->rtt_s, .15, 1e-12); /* weighted by time */
    rows_are(t, 3, (const double[][2]){{0, .8}, {1.5, .8}, {2, 0}});
    t = parse("[{\"duration_ms\": 1500, \"bandwidth_kbps\": 800}]");
    ck_assert_double_lt(t->rtt_s, 0.0);
    trace_free(t);
}

TEST(real_sabre_trace)
{
    const char *path = shared_path("traces/sabre-3g-86/report.2010-09-13_1003CEST.json");
    if (!path) return;
    struct err e = {0};
    struct trace *t = trace_load(path, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    ck_assert_double_eq_tol(t->rtt_s, .1, 1e-9);
    trace_free(t);
}

TEST(refusals_name_the_line)
{
    const struct {
        const char *text, *field, *says;
        int code;
    } bad[] = {
        {"", "t", "0 rows", ERR_INVALID},
        {"\n \n", "t", "0 rows", ERR_INVALID},
        {"0 1\n", "t", "1 rows", ERR_INVALID},
        {"0 1\n1 -2\n", "t:2", "throughput -2", ERR_RANGE},
        {"-1 1\n1 2\n", "t:1", "time -1", ERR_RANGE},
        {"0 1\n\n1 nan\n", "t:3", "not 'seconds Mbit/s'", ERR_INVALID},
        {"0 1\n1 inf\n", "t:2", "not 'seconds", ERR_INVALID},
        {"0 1\n1 0x10\n", "t:2", "not 'seconds", ERR_INVALID},
        {"0 1\n1 1e999\n", "t:2", "not 'seconds", ERR_INVALID},
        {"0 1\n1 2 3\n", "t:2", "not 'seconds", ERR_INVALID},
        {"0 1\n1,2\n", "t:2", "not 'seconds", ERR_INVALID},
        {"0 1\n2 1\n1 1\n", "t:3", "goes back", ERR_INVALID},
        {"0 5\n1 0\n2 0\n", "t", "all zero", ERR_RANGE}, /* row 0 is never played */
        {"5 1\n5 2\n", "t", "slots must be 1 ms", ERR_RANGE},
        {"0 1\n1 1e7\n", "t:2", "throughput 1e+07", ERR_RANGE},
        {"0 1\n2e9 1\n", "t:2", "time 2e+09", ERR_RANGE},
        {"#0 1\n", "t:1", "not 'seconds", ERR_INVALID},
        {"5\n3\n", "t:2", "goes back", ERR_INVALID},
        {"5\n6 7\n", "t:2", "one whole number", ERR_INVALID},
        {"5\n6.5\n", "t:2", "one whole number", ERR_INVALID},
        {"0\n0\n", "t", "1 rows", ERR_INVALID},
        {"1\n999999999999\n", "t:2", "more than 1000000 rows", ERR_RANGE},
        {"time_s,speed\n0,1\n", "t:1", "no column of throughput", ERR_INVALID},
        {"when,mbps\n0,1\n", "t:1", "no column of time", ERR_INVALID},
        {"time_s,mbps,kbps\n", "t:1", "more than one column of throughput", ERR_INVALID},
        {"time_s,mbps\n0,1\n1\n", "t:3", "1 cells", ERR_INVALID},
        {"time_s,mbps\n0,1\n1,x\n", "t:3", "mbps: 'x'", ERR_INVALID},
        {"time_s,mbps\n0,1\n-1,2\n", "t:3", "not a time", ERR_INVALID},
        {"time_s,mbps\n5,1\n4,2\n", "t:3", "goes back", ERR_INVALID},
        {"time_s,mbps\n", "t", "0 rows", ERR_INVALID},
        {"1 2 3 4 5 6\n1 2 3 4 5\n", "t:2", "column 6 (ms elapsed)", ERR_INVALID},
        {"1 2 3 4 5 6\n1 2 3 4 5 6 7\n", "t:2", "more than 6 columns", ERR_INVALID},
        {"1 2 99 4 5 6\n", "t:1", "column 3 (latitude): 99", ERR_RANGE},
        {"1 2 3 4 -5 6\n", "t:1", "column 5 (bytes): -5", ERR_RANGE},
        {"1 2 3 4 5 0\n", "t:1", "column 6 (ms elapsed): 0", ERR_RANGE},
        {"1 2000 3 4 5 6\n1 1000 3 4 5 6\n", "t:2", "goes back", ERR_INVALID},
        {"run_num,seq_num,Throughput\n1,1,1\n", "t:1", "abrd trace convert", ERR_INVALID},
        {"[]", "t", "0 rows", ERR_INVALID},
        {"[\n{]", "t:2", "not JSON", ERR_INVALID},
        {"{}", "t:1", "array", ERR_INVALID},
        {"[3]", "t", "period 0", ERR_INVALID},
        {"[{\"duration_ms\": 1, \"bandwidth_kbps\": \"x\"}]", "t", "period 0",
         ERR_INVALID},
        {"[{\"duration_ms\": -1, \"bandwidth_kbps\": 1}]", "t", "negative", ERR_RANGE},
        {"[{\"duration_ms\": 9, \"bandwidth_kbps\": 1, \"latency_ms\": -1}]", "t",
         "latency_ms", ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        struct trace *t = trace_parse(bad[i].text, strlen(bad[i].text), "t", &e);
        ck_assert_msg(t == NULL, "'%s' was accepted", bad[i].text);
        ck_assert_msg(e.code == bad[i].code && !strcmp(e.field, bad[i].field) &&
                          strstr(e.detail, bad[i].says),
                      "'%s' gave %d %s: %s", bad[i].text, e.code, e.field, e.detail);
    }
}

TEST(bytes_that_are_no_text)
{
    struct err e = {0};
    ck_assert_ptr_null(trace_parse("0 1\n1\0 2\n", 9, "t", &e));
    ck_assert_str_eq(e.field, "t:2");
    ck_assert_ptr_nonnull(strstr(e.detail, "NUL"));

    e = (struct err){0};
    const char utf16[] = "\xff\xfe"
                         "0\0 \0001\0\n\0";
    ck_assert_ptr_null(trace_parse(utf16, sizeof utf16 - 1, "t", &e));
    ck_assert_str_eq(e.field, "t:1");

    e = (struct err){0};
    char longest[3000];
    memset(longest, ' ', sizeof longest);
    ck_assert_ptr_null(trace_parse(longest, sizeof longest, "t", &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "3000 bytes"));

    /* what cannot be shown is not shown */
    e = (struct err){0};
    ck_assert_ptr_null(trace_parse("0 1\n1 \xff\x1b[m\n", 10, "t", &e));
    ck_assert_ptr_null(strchr(e.detail, 0x1b));
    ck_assert_ptr_null(strchr(e.detail, 0xff));
}

TEST(row_limit)
{
    size_t len = 0;
    char *text = malloc((TRACE_ROWS_MAX + 1) * (size_t)10);
    for (int i = 0; i <= TRACE_ROWS_MAX; i++)
        len += (size_t)sprintf(text + len, "%d 1\n", i);
    struct err e = {0};
    ck_assert_ptr_null(trace_parse(text, len, "big", &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "big:1000001");

    e = (struct err){0};
    struct trace *t = trace_parse(text, len - strlen("1000000 1\n"), "big", &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(t->n, TRACE_ROWS_MAX);
    trace_free(t);
    free(text);
}

TEST(names)
{
    struct err e = {0};
    struct trace *t = trace_parse("0 1\n1 1\n", 8, "caf\xc3\xa9-\xff\n-x", &e);
    ck_assert_str_eq(t->name, "caf\xc3\xa9-?"
                              "?-x");
    trace_free(t);

    /* a long name loses its beginning in messages, never the line */
    char name[200];
    memset(name, 'n', sizeof name);
    strcpy(name + 150, "-end.log");
    ck_assert_ptr_null(trace_parse("0 1\nx\n", 6, name, &e));
    ck_assert_ptr_nonnull(strstr(e.field, "-end.log:2"));
    t = trace_parse("0 1\n1 1\n", 8, name, &(struct err){0});
    ck_assert_uint_eq(strlen(t->name), sizeof t->name - 1);
    trace_free(t);
}

TEST(save_and_load)
{
    const char *dir = tmpdir_new();
    struct err e = {0};
    struct trace *t = trace_new(4, "x", &e);
    const double odd[4] = {0.1, 1.0 / 3.0, 4.03768755221, 5e-324};
    for (int i = 0; i < 4; i++) {
        t->time_s[i] = 1.0 / 7.0 + i;
        t->mbps[i] = odd[i];
    }
    const char *path = tmpdir_path(dir, "caf\xe9"); /* Latin-1: legal for a file system */
    ck_assert_int_eq(trace_save(t, path, &e), 0);
    struct trace *back = trace_load(path, &e);
    ck_assert_msg(back != NULL, "%s: %s", e.field, e.detail);
    ck_assert_str_eq(back->name, "caf?");
    ck_assert_int_eq(memcmp(t->time_s, back->time_s, 4 * sizeof(double)), 0);
    ck_assert_int_eq(memcmp(t->mbps, back->mbps, 4 * sizeof(double)), 0);
    char *text = text_read_file(path, 1000, NULL, &e);
    ck_assert_ptr_nonnull(strstr(text, "\t0.1\n")); /* shortest, not .1000...01 */
    free(text);
    trace_free(back);

    ck_assert_int_eq(trace_save(t, tmpdir_path(dir, "no/where"), &e), ERR_IO);
    e = (struct err){0};
    ck_assert_ptr_null(trace_load(tmpdir_path(dir, "absent"), &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    e = (struct err){0};
    ck_assert_ptr_null(trace_load(dir, &e)); /* a folder */
    ck_assert_int_eq(e.code, ERR_IO);
    trace_free(t);
}

TEST(huge_files_are_refused_unread)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "sparse");
    FILE *f = fopen(path, "w");
    ck_assert_int_eq(fseek(f, 65L << 20, SEEK_SET), 0);
    fputc('1', f);
    fclose(f);
    struct err e = {0};
    ck_assert_ptr_null(trace_load(path, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
}

TEST(mean_is_weighted_by_time)
{
    struct trace *t = parse("0 99\n1 4\n4 1\n");
    ck_assert_double_eq_tol(trace_mean_mbps(t), 7.0 / 4.0, 1e-12);
    trace_free(t);
}

TEST(check_finds_what_a_caller_filled_in_wrongly)
{
    struct trace *t = parse("0 1\n1 1\n2 1\n");
    struct err e = {0};
    t->mbps[1] = NAN;
    ck_assert_int_eq(trace_check(t, &e), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "row 1"));
    t->mbps[1] = 1.0;
    t->time_s[2] = 0.5;
    ck_assert_int_eq(trace_check(t, NULL), ERR_INVALID);
    trace_free(t);
}

static void *make(void *text, struct err *e)
{
    return trace_parse(text, strlen(text), "t", e);
}

static void unmake(void *t)
{
    trace_free(t);
}

TEST(every_allocation_may_fail)
{
    char text[20 * 600];
    size_t len = 0;
    for (int i = 0; i < 600; i++) /* past the first size of the growing arrays */
        len += (size_t)sprintf(text + len, "%d 1\n", i);
    ck_assert_int_ge(alloc_each_fails(make, unmake, text), 7);
}

SUITE_WITHIN(abr_traces_trace, 60, pensieve, mahimahi_conserves_bytes, csv,
             logs_of_receivers_that_move, sabre, real_sabre_trace, refusals_name_the_line,
             bytes_that_are_no_text, row_limit, names, save_and_load,
             huge_files_are_refused_unread, mean_is_weighted_by_time,
             check_finds_what_a_caller_filled_in_wrongly, every_allocation_may_fail);
