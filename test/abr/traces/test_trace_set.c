/* Synthetic files in the published layouts. */
#include "abr/traces/trace_set.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEBGET                                                                         \
    "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,objects,threads,"   \
    "requests,connections,reused_connections,lookups,request_total_time,"              \
    "request_min_time,request_avg_time,request_max_time,ttfb_total,ttfb_min,ttfb_avg," \
    "ttfb_max,lookup_total_time,lookup_min_time,lookup_avg_time,lookup_max_time,"      \
    "successes,failures,location_id\n"
#define WEBGET_ROW(unit, target, rate, ok)                              \
    unit ",2001-01-01 00:00:00," target ",192.0.2.1,1000000,1000," rate \
         ",1,1,1,1,0,1,1,1,1,1,1,1,1,1,1,1,1,1," ok ",0,1\n"

#define HTTPGETMT                                                                      \
    "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,"                   \
    "bytes_sec_interval,warmup_time,warmup_bytes,sequence,threads,successes,failures," \
    "location_id\n"
#define HTTPGETMT_ROW(us, rate, sequence)                                         \
    "7,2001-01-01 00:00:00,t.example,192.0.2.1," us ",1,1," rate ",1,1," sequence \
    ",3,1,0,1\n"

#define SENT                                                                          \
    "time (ns GMT),session_id,index,expt_id,channel,video_ts,format,size,ssim_index," \
    "cwnd,in_flight,min_rtt,rtt,delivery_rate,buffer,cum_rebuf\n"
#define SENT_ROW(ns, session, ts, size) \
    ns "," session ",0,9,ch," ts ",640x360-26," size ",.98,10,0,1,1,1,1,0\n"
#define ACKED "time (ns GMT),session_id,index,expt_id,channel,video_ts,buffer,cum_rebuf\n"
#define ACKED_ROW(ns, session, ts) ns "," session ",0,9,ch," ts ",1,0\n"

#define LUMOS                                                                   \
    "run_num,seq_num,abstractSignalStr,latitude,longitude,movingSpeed,"         \
    "compassDirection,nrStatus,lte_rssi,lte_rsrp,lte_rsrq,lte_rssnr,nr_ssRsrp," \
    "nr_ssRsrq,nr_ssSinr,Throughput,mobility_mode,trajectory_direction,tower_id\n"
#define LUMOS_ROW(run, seq, mbps, mode) \
    run "," seq ",2,0,0,0,0,CONNECTED,0,0,0,0,0,0,0," mbps "," mode ",CW,1\n"

static const struct trace_set_cfg short_ones = {.min_s = 0, .max = 100};

static struct trace_set parse(const char *text, const char *acked)
{
    struct err e = {0};
    struct trace_set s;
    int rc = trace_set_parse(&s, text, acked, "t", &short_ones, &e);
    ck_assert_msg(!rc, "%s: %s", e.field, e.detail);
    return s;
}

static void rows_are(const struct trace *t, int n, const double (*want)[2])
{
    ck_assert_int_eq(t->n, n);
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq_tol(t->time_s[i], want[i][0], 1e-9);
        ck_assert_double_eq_tol(t->mbps[i], want[i][1], 1e-9);
    }
}

TEST(webget)
{
    struct trace_set s = parse(WEBGET WEBGET_ROW("11", "http://a", "125000", "1")
                                   WEBGET_ROW("12", "http://a", "250000", "1")
                                       WEBGET_ROW("11", "http://a", "500000", "1")
                                           WEBGET_ROW("11", "http://a", "9", "0")
                                               WEBGET_ROW("11", "http://b", "0", "1"),
                               NULL);
    ck_assert_str_eq(s.format, "FCC webget");
    ck_assert_int_eq(s.sessions, 3);
    ck_assert_int_eq(s.n, 2); /* http://b carried nothing */
    ck_assert_str_eq(s.traces[0]->name, "fcc-web-00000-11-http___a");
    rows_are(s.traces[0], 3, (const double[][2]){{0, 1}, {5, 1}, {10, 4}});
    rows_are(s.traces[1], 2, (const double[][2]){{0, 2}, {5, 2}});
    trace_set_free(&s);
}

TEST(httpgetmt_slots_end_with_their_intervals)
{
    struct trace_set s = parse(
        HTTPGETMT HTTPGETMT_ROW("5000000", "125000", "0")
            HTTPGETMT_ROW("10000000", "250000", "1") HTTPGETMT_ROW("4000000", "1e6", "0")
                HTTPGETMT_ROW("9", "1", "3") HTTPGETMT_ROW("9000000", "", "1"),
        NULL);
    ck_assert_str_eq(s.format, "FCC httpgetmt");
    ck_assert_int_eq(s.n, 1);
    rows_are(s.traces[0], 4, (const double[][2]){{0, 1}, {5, 1}, {10, 2}, {14, 8}});
    trace_set_free(&s);
}

TEST(puffer_joins_what_was_sent_with_what_was_acknowledged)
{
    /* 1 MB in 2 s; a pause of 1 s; 1 MB in 1 s; one that never arrived; another viewer */
    const char *sent = SENT SENT_ROW("1000000000000000000", "a/b+c=", "0", "1000000")
        SENT_ROW("1000000003000000000", "a/b+c=", "180180", "1000000")
            SENT_ROW("1000000005000000000", "a/b+c=", "360360", "1000000")
                SENT_ROW("1000000000000000000", "z", "0", "500000");
    const char *acked = ACKED ACKED_ROW("1000000000500000000", "before", "7")
        ACKED_ROW("1000000002000000000", "a/b+c=", "0")
            ACKED_ROW("1000000001000000000", "z", "0")
                ACKED_ROW("1000000004000000000", "a/b+c=", "180180");
    struct trace_set s = parse(sent, acked);
    ck_assert_str_eq(s.format, "Puffer");
    ck_assert_int_eq(s.n, 2);
    ck_assert_str_eq(s.traces[0]->name, "puffer-00000-a_b_c_-0");
    rows_are(s.traces[0], 3, (const double[][2]){{0, 4}, {2, 4}, {4, 8}});
    rows_are(s.traces[1], 2, (const double[][2]){{0, 4}, {1, 4}});
    trace_set_free(&s);

    struct err e = {0};
    ck_assert_int_eq(trace_set_parse(&s, sent, NULL, "t", &short_ones, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "video_acked"));
}

TEST(lumos)
{
    struct trace_set s = parse(
        LUMOS LUMOS_ROW("1", "1", "100", "walking")
            LUMOS_ROW("1", "2", "200.5", "walking") LUMOS_ROW("1", "3", "NaN", "walking")
                LUMOS_ROW("1", "5", "0", "walking") LUMOS_ROW("1", "8", "50", "driving")
                    LUMOS_ROW("1", "9", "60", "driving")
                        LUMOS_ROW("1", "1", "7", "driving"),
        NULL);
    ck_assert_int_eq(s.n, 3);
    ck_assert_str_eq(s.traces[0]->name, "lumos5g-00000-1-walking-CW");
    rows_are(s.traces[0], 4, (const double[][2]){{0, 100}, {1, 100}, {2, 200.5}, {5, 0}});
    rows_are(s.traces[1], 3, (const double[][2]){{0, 50}, {1, 50}, {2, 60}});
    rows_are(s.traces[2], 2,
             (const double[][2]){{0, 7}, {1, 7}}); /* the seconds went back */
    trace_set_free(&s);
}

TEST(quoted_cells)
{
    /* RFC 4180, 2.6 and 2.7 */
    struct trace_set s =
        parse(WEBGET WEBGET_ROW("11", "\"http://a/?q=\"\"x,y\"\",z\"", "\"125000\"", "1"),
              NULL);
    ck_assert_int_eq(s.n, 1);
    ck_assert_str_eq(s.traces[0]->name, "fcc-web-00000-11-http___a__q__x_y__z");
    rows_are(s.traces[0], 2, (const double[][2]){{0, 1}, {5, 1}});
    trace_set_free(&s);
}

/* 28 columns, or 27 of years without location_id: as the FCC published curr_webget_2016_01.csv. */
TEST(fcc_files_without_a_header_line)
{
    struct trace_set s = parse(WEBGET_ROW("11", "http://a", "125000", "1")
                                   WEBGET_ROW("11", "http://a", "500000", "1")
                                       WEBGET_ROW("11", "http://a", "9", "0"),
                               NULL);
    ck_assert_str_eq(s.format, "FCC webget");
    ck_assert_int_eq(s.n, 1);
    ck_assert_str_eq(s.traces[0]->name, "fcc-web-00000-11-http___a");
    rows_are(s.traces[0], 3, (const double[][2]){{0, 1}, {5, 1}, {10, 4}});
    trace_set_free(&s);

    s = parse("\xef\xbb\xbf" HTTPGETMT_ROW("5000000", "125000", "0")
                  HTTPGETMT_ROW("10000000", "250000", "1"),
              NULL);
    ck_assert_str_eq(s.format, "FCC httpgetmt");
    rows_are(s.traces[0], 3, (const double[][2]){{0, 1}, {5, 1}, {10, 2}});
    ck_assert_str_eq(s.traces[0]->name, "fcc-get-00000-7-t.example");
    trace_set_free(&s);

    char row[] = WEBGET_ROW("11", "a", "125000", "1"), *last = strrchr(row, ',');
    strcpy(last, "\n");
    s = parse(row, NULL);
    ck_assert_str_eq(s.format, "FCC webget");
    rows_are(s.traces[0], 2, (const double[][2]){{0, 1}, {5, 1}});
    trace_set_free(&s);

    ck_assert_str_eq(trace_set_format(HTTPGETMT_ROW("1", "1", "0")), "FCC httpgetmt");
    ck_assert_ptr_null(trace_set_format("7,2001-01-01 00:00:00,t.example\n"));
    ck_assert_ptr_null(trace_set_format("7,day,c,d,e,f,g,h,i,j,k,l,m,n,o\n"));

    /* one trace cannot be made of it, and the error says what can */
    struct err e = {0};
    ck_assert_ptr_null(trace_parse(row, strlen(row), "t", &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "abrd trace convert"));
}

TEST(limits_of_the_configuration)
{
    const char *text = WEBGET WEBGET_ROW("1", "a", "1000", "1")
        WEBGET_ROW("1", "a", "1000", "1") WEBGET_ROW("2", "a", "1000", "1")
            WEBGET_ROW("3", "a", "1000", "1") WEBGET_ROW("3", "a", "1000", "1");
    struct err e = {0};
    struct trace_set s;
    struct trace_set_cfg cfg = {.min_s = 10, .max = 9};
    ck_assert_int_eq(trace_set_parse(&s, text, NULL, "t", &cfg, &e), 0);
    ck_assert_int_eq(s.n, 2);
    ck_assert_int_eq(s.sessions, 3);
    trace_set_free(&s);
    cfg.max = 1;
    ck_assert_int_eq(trace_set_parse(&s, text, NULL, "t", &cfg, &e), 0);
    ck_assert_int_eq(s.n, 1);
    trace_set_free(&s);
    ck_assert_int_eq(trace_set_parse(&s, text, NULL, "t", NULL, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "none of 3 sessions"));
    trace_set_free(&s);
}

TEST(what_is_kept_has_a_limit)
{
    const char *sent = SENT SENT_ROW("1000", "s", "0", "1000")
        SENT_ROW("2000", "s", "1", "1000") SENT_ROW("3000", "t", "0", "1000");
    const char *acked = ACKED ACKED_ROW("100001000", "s", "0");
    const char *runs = LUMOS LUMOS_ROW("1", "1", "100", "walking")
        LUMOS_ROW("1", "2", "100", "walking") LUMOS_ROW("2", "1", "100", "walking");
    struct trace_set_cfg cfg = {.max = 9, .max_rows = 3};
    struct trace_set s;
    struct err e = {0};
    ck_assert_int_eq(trace_set_parse(&s, sent, acked, "t", &cfg, &e), 0);
    trace_set_free(&s);
    ck_assert_int_eq(trace_set_parse(&s, runs, NULL, "t", &cfg, &e), 0);
    trace_set_free(&s);
    cfg.max_rows = 2;
    const char *const both[] = {sent, runs};
    for (int i = 0; i < 2; i++) {
        e = (struct err){0};
        ck_assert_int_eq(trace_set_parse(&s, both[i], acked, "t", &cfg, &e), ERR_RANGE);
        ck_assert_str_eq(e.field, "t:4");
        ck_assert_str_eq(e.detail, "more than 2 rows in all");
        trace_set_free(&s);
    }
}

TEST(refusals_name_line_and_column)
{
    const struct {
        const char *text, *acked, *field, *says;
    } bad[] = {
        {"", NULL, "t", "is empty"},
        {"a,b\n", NULL, "t:1", "FCC webget"},
        {WEBGET WEBGET_ROW("1", "a", "x", "1"), NULL, "t:2", "column bytes_sec: 'x'"},
        {WEBGET WEBGET_ROW("1", "a", "-1", "1"), NULL, "t:2", "column bytes_sec: '-1'"},
        {WEBGET_ROW("1", "a", "1", "1") WEBGET_ROW("1", "a", "x", "1"), NULL, "t:2",
         "column bytes_sec: 'x'"},
        {WEBGET_ROW("1", "a", "x", "1"), NULL, "t:1", "column bytes_sec: 'x'"},
        {WEBGET_ROW("1", "a", "1", "1") "1,2\n", NULL, "t:2",
         "2 cells where the first line has 28"},
        {WEBGET "1,2\n", NULL, "t:2", "2 cells where the first line has 28"},
        {HTTPGETMT HTTPGETMT_ROW("1", "1", "1.5"), NULL, "t:2", "column sequence: '1.5'"},
        {HTTPGETMT HTTPGETMT_ROW("y", "1", "0"), NULL, "t:2", "column fetch_time: 'y'"},
        {LUMOS LUMOS_ROW("1", "1", "5", "w") LUMOS_ROW("1", "q", "5", "w"), NULL, "t:3",
         "column seq_num: 'q'"},
        {SENT SENT_ROW("1", "a", "0", "-5"), ACKED, "t:2", "column size: '-5'"},
        {SENT SENT_ROW("1", "a", "0", "5"), ACKED ACKED_ROW("?", "a", "0"),
         "video_acked:2", "column time (ns GMT): '?'"},
        {SENT, "time,x\n", "video_acked:1", "no column 'time (ns GMT)'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        struct trace_set s;
        int rc = trace_set_parse(&s, bad[i].text, bad[i].acked, "t", &short_ones, &e);
        trace_set_free(&s);
        ck_assert_msg(rc && rc == e.code && !strcmp(e.field, bad[i].field) &&
                          strstr(e.detail, bad[i].says),
                      "'%s' gave %d %s: %s", bad[i].text, rc, e.field, e.detail);
    }
}

static const char *dir;

static const char *put(const char *name, const char *text, size_t len)
{
    const char *path = tmpdir_path(dir, name);
    ck_assert_int_eq(text_write_file(path, text, len, NULL), 0);
    return path;
}

/* Grows up to 1. */
static void told(void *ctx, double share)
{
    double *at = ctx;
    ck_assert(share > *at && share <= 1);
    *at = share;
}

TEST(a_long_file_tells_how_far_it_is)
{
    enum { ROWS = 20000 };
    dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "long.csv");
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(LUMOS, f);
    char second[16];
    for (int i = 1; i <= ROWS; i++) {
        snprintf(second, sizeof second, "%d", i);
        for (const char *c = LUMOS_ROW("1", "@", "100", "walking"); *c; c++)
            if (*c == '@')
                fputs(second, f);
            else
                fputc(*c, f);
    }
    fclose(f);
    double share = 0;
    const struct trace_set_cfg cfg = {
        .max = 10, .progress = told, .progress_ctx = &share};
    struct trace_set s;
    ck_assert_int_eq(trace_set_load(&s, path, &cfg, NULL), 0);
    ck_assert_int_eq(s.traces[0]->n, ROWS + 1);
    ck_assert_double_gt(share, .8);
    trace_set_free(&s);
}

TEST(files)
{
    dir = tmpdir_new();
    const char sent[] = SENT SENT_ROW("1000", "s", "0", "1000");
    const char acked[] = ACKED ACKED_ROW("100001000", "s", "0");
    const char *path = put("video_sent_day.csv", sent, strlen(sent));
    struct err e = {0};
    struct trace_set s;
    ck_assert_int_eq(trace_set_load(&s, path, &short_ones, &e), ERR_ABSENT);
    trace_set_free(&s);
    put("video_acked_day.csv", acked, strlen(acked));
    e = (struct err){0};
    ck_assert_msg(!trace_set_load(&s, path, &short_ones, &e), "%s", e.detail);
    rows_are(s.traces[0], 2, (const double[][2]){{0, .08}, {.1, .08}});
    trace_set_free(&s);
    ck_assert(trace_set_is(path));
    ck_assert(!trace_set_is(put("x", "0 1\n", 4)));
    ck_assert(!trace_set_is(tmpdir_path(dir, "absent")));

    /* one trace cannot be made of it, and the error says what can */
    ck_assert_ptr_null(trace_load(path, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "abrd trace convert"));

    e = (struct err){0};
    ck_assert_int_eq(trace_set_load(&s, tmpdir_path(dir, "absent"), NULL, &e),
                     ERR_ABSENT);
    e = (struct err){0};
    ck_assert_int_eq(
        trace_set_load(&s, put("nul", WEBGET "1\0,2\n", sizeof WEBGET + 4), NULL, &e),
        ERR_INVALID);
    ck_assert_str_eq(e.field, "nul:2");
    ck_assert_ptr_nonnull(strstr(e.detail, "NUL"));

    char longest[5000];
    memset(longest, 'x', sizeof longest);
    e = (struct err){0};
    ck_assert_int_eq(trace_set_load(&s, put("long", longest, sizeof longest), NULL, &e),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "over 4095 bytes"));
}

static void *make(void *text, struct err *e)
{
    static const char acked[] = ACKED ACKED_ROW("100001000", "s", "0");
    struct trace_set *s = malloc(sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory");
        return NULL;
    }
    if (!trace_set_parse(s, text, acked, "t", &short_ones, e)) return s;
    trace_set_free(s);
    free(s);
    return NULL;
}

static void unmake(void *made)
{
    trace_set_free(made);
    free(made);
}

TEST(every_allocation_may_fail)
{
    char text[] = SENT SENT_ROW("1000", "s", "0", "1000");
    ck_assert_int_ge(alloc_each_fails(make, unmake, text), 9);
}

SUITE(abr_traces_trace_set, webget, httpgetmt_slots_end_with_their_intervals,
      puffer_joins_what_was_sent_with_what_was_acknowledged, lumos,
      fcc_files_without_a_header_line, quoted_cells, limits_of_the_configuration,
      what_is_kept_has_a_limit, refusals_name_line_and_column, files,
      a_long_file_tells_how_far_it_is, every_allocation_may_fail);
