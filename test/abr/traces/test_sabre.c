/* abr/sabre.c has no header of its own: it is reached through trace_parse and video_parse. */
#include "abr/traces/trace.h"
#include "abr/manifests/video.h"
#include "support/alloc.h"
#include "support/shared.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct trace *parse_trace(const char *text)
{
    struct err e = {0};
    struct trace *t = trace_parse(text, strlen(text), "t", &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    return t;
}

START_TEST(trace)
{
    struct trace *t = parse_trace("[{\"duration_ms\": 1500, \"bandwidth_kbps\": 800, "
                                  "\"latency_ms\": 100},\n {\"duration_ms\": 500, "
                                  "\"bandwidth_kbps\": 0, \"latency_ms\": 300}]");
    ck_assert_double_eq_tol(t->rtt_s, .15, 1e-12); /* weighted by time */
    ck_assert_int_eq(t->n, 3);
    const double time_s[] = {0, 1.5, 2}, mbps[] = {.8, .8, 0};
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(t->time_s[i], time_s[i], 1e-12);
        ck_assert_double_eq_tol(t->mbps[i], mbps[i], 1e-12);
    }
    trace_free(t);
    t = parse_trace("[{\"duration_ms\": 1500, \"bandwidth_kbps\": 800}]");
    ck_assert_double_lt(t->rtt_s, 0.0);
    trace_free(t);
}
END_TEST

START_TEST(trace_refusals)
{
    const struct {
        const char *text, *field, *says;
        int code;
    } bad[] = {
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
END_TEST

START_TEST(real_trace)
{
    const char *path = shared_path("traces/sabre-3g-86/report.2010-09-13_1003CEST.json");
    if (!path) return;
    struct err e = {0};
    struct trace *t = trace_load(path, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.detail);
    ck_assert_double_eq_tol(t->rtt_s, .1, 1e-9);
    trace_free(t);
}
END_TEST

static struct video *parse(const char *text, const struct video_cfg *cfg)
{
    struct err e = {0};
    struct video *v = video_parse(text, strlen(text), "v", NULL, cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

static void refused(const char *text, const char *field, const char *says, int code)
{
    struct err e = {0};
    struct video *v = video_parse(text, strlen(text), "v", NULL, NULL, &e);
    ck_assert_msg(v == NULL, "'%s' was accepted", text);
    ck_assert_msg(e.code == code && !strcmp(e.field, field) && strstr(e.detail, says),
                  "'%s' gave %d %s: %s", text, e.code, e.field, e.detail);
}

static const char sabre_ok[] =
    "{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [100, 200.5],\n"
    "\"segment_sizes_bits\": [[800, 1601], [8, 16], [24, 32]]}";

START_TEST(video)
{
    struct video *v = parse(sabre_ok, NULL);
    ck_assert(v->levels == 2 && v->chunks == 3 && v->chunk_s == 3.0);
    ck_assert_double_eq(v->ladder_kbps[1], 200.5);
    ck_assert_int_eq(video_chunk(v, 0)[0], 100);
    ck_assert_int_eq(video_chunk(v, 0)[1], 201); /* bits are rounded up to bytes */
    ck_assert_int_eq(video_chunk(v, 2)[1], 4);
    video_free(v);

    v = parse(sabre_ok, &(struct video_cfg){.chunks = 2, .chunk_s = 1.5});
    ck_assert(v->chunks == 2 && v->chunk_s == 1.5);
    video_free(v);
    struct err e = {0};
    ck_assert_ptr_null(video_parse(sabre_ok, sizeof sabre_ok - 1, "v", NULL,
                                   &(struct video_cfg){.chunks = 4}, &e));
    ck_assert_str_eq(e.field, "chunks");
    e = (struct err){0};

    const char *path = shared_path("video/sabre-bbb.json");
    if (!path) return;
    v = video_load(path, NULL, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->levels == 10 && v->chunks == 199 && v->chunk_s == 3.0);
    ck_assert_int_eq(video_chunk(v, 0)[0], 886360 / 8);
    video_free(v);
}
END_TEST

START_TEST(video_refusals)
{
    refused("{", "v:1", "not JSON", ERR_INVALID);
    refused("{\n\n1}", "v:3", "not JSON", ERR_INVALID);
    refused("{\"a\": 1, \"a\": 2}", "v:1", "not JSON", ERR_INVALID);
    refused("{}", "v", "needs segment_duration_ms", ERR_INVALID);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1], "
            "\"segment_sizes_bits\": [[8]]}",
            "v", "2 to 12", ERR_RANGE);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, \"2\"], "
            "\"segment_sizes_bits\": [[8, 8]]}",
            "v", "entry 1", ERR_INVALID);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [2, 1], "
            "\"segment_sizes_bits\": [[8, 8]]}",
            "ladder_kbps", "ascend", ERR_RANGE);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
            "\"segment_sizes_bits\": []}",
            "chunks", "0 chunks", ERR_RANGE);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
            "\"segment_sizes_bits\": [[8, 8], [8]]}",
            "v", "segment 1", ERR_INVALID);
    refused("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
            "\"segment_sizes_bits\": [[8, 0]]}",
            "v", "segment 0, level 1", ERR_RANGE);
    refused("{\"segment_duration_ms\": 100, \"bitrates_kbps\": [1, 2], "
            "\"segment_sizes_bits\": [[8, 8]]}",
            "chunk_s", "0.1 s", ERR_RANGE);
}
END_TEST

static void *make(void *text, struct err *e)
{
    return video_parse(text, strlen(text), "v", NULL, NULL, e);
}

static void unmake(void *v)
{
    video_free(v);
}

START_TEST(every_allocation_may_fail)
{
    char text[sizeof sabre_ok];
    strcpy(text, sabre_ok);
    ck_assert_int_ge(alloc_each_fails(make, unmake, text), 2);
}
END_TEST

Suite *suite_abr_traces_sabre(void);
Suite *suite_abr_traces_sabre(void)
{
    Suite *s = suite_create("abr/sabre");
    TCase *t = tcase_create("abr/sabre");
    tcase_add_test(t, trace);
    tcase_add_test(t, trace_refusals);
    tcase_add_test(t, real_trace);
    tcase_add_test(t, video);
    tcase_add_test(t, video_refusals);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    return s;
}
