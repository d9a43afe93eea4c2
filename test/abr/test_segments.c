#include "abr/segments.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct segments two(int n, double longer_s)
{
    struct segments s = {.name = "m"};
    ck_assert_int_eq(segments_level(&s, "hi", 2000, NULL), 0);
    ck_assert_int_eq(segments_level(&s, "lo", 500, NULL), 1);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(segments_add(&s, 0, 4.0 + longer_s, 20 + i, "hi.mp4", NULL), 0);
        ck_assert_int_eq(segments_add(&s, 1, 4.0, -1, i ? "lo-2" : "lo-1", NULL), 0);
    }
    return s;
}

/* A source that knows two sizes, or refuses. */
static int size_of(void *self, int64_t *bytes, const char *url, struct err *e)
{
    int *calls = self;
    ++*calls;
    if (!strcmp(url, "lo-1")) *bytes = 11;
    if (!strcmp(url, "lo-2")) *bytes = 12;
    return strncmp(url, "lo-", 3) ? err_set(e, ERR_IO, "asked for %s", url) : 0;
}

static bool stop(void *self, double share)
{
    (void)self;
    return share > 0.4;
}

START_TEST(sizes_are_asked_for_where_they_are_unknown)
{
    int calls = 0;
    struct segments s = two(2, 0.2);
    struct segments_source source = {.self = &calls, .must = true, .size = size_of};
    struct err e = {0};
    struct video *v = segments_video(&s, &source, &e);
    ck_assert_msg(v != NULL, "%s", e.detail);
    ck_assert(v->levels == 2 && v->chunks == 2 && v->ladder_kbps[0] == 500);
    ck_assert_int_eq(video_chunk(v, 0)[0], 11);
    ck_assert_int_eq(video_chunk(v, 1)[0], 12);
    ck_assert_int_eq(video_chunk(v, 1)[1], 21);
    ck_assert_int_eq(calls, 2); /* once each */
    video_free(v);

    source.progress = stop;
    ck_assert_ptr_null(segments_video(&s, &source, &e));
    ck_assert_str_eq(e.detail, "stopped");
    segments_free(&s);

    /* without a source: from the bitrate, whatever is known of one level */
    s = two(1, 0);
    v = segments_video(&s, NULL, &(struct err){0});
    ck_assert_int_eq(video_chunk(v, 0)[0], 250000);
    ck_assert_int_eq(video_chunk(v, 0)[1], 1000000);
    video_free(v);
    segments_free(&s);
}
END_TEST

START_TEST(levels_must_be_aligned)
{
    struct err e = {0};
    struct segments s = two(2, 0.6);
    ck_assert_ptr_null(segments_video(&s, NULL, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "lasts 4.60 s"));
    segments_free(&s);

    s = two(2, 0);
    ck_assert_int_eq(segments_add(&s, 1, 4.0, 9, "", NULL), 0);
    e = (struct err){0};
    ck_assert_ptr_null(segments_video(&s, NULL, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "has 2 segments and 'lo' has 3"));
    segments_free(&s);

    s = two(0, 0);
    e = (struct err){0};
    ck_assert_ptr_null(segments_video(&s, NULL, &e));
    ck_assert_str_eq(e.detail, "no segments");
    segments_free(&s);
}
END_TEST

START_TEST(urls_are_joined)
{
    const struct {
        const char *base, *ref, *want;
    } t[] = {
        {"", "a.mp4", "a.mp4"},  {"v/low.m3u8", "1.ts", "v/1.ts"},
        {"v/", "w/", "v/w/"},    {"v/x.mp4", "", "v/x.mp4"},
        {"v/x", "/abs", "/abs"}, {"v/x", "https://e.org/y", "https://e.org/y"},
    };
    char out[SEGMENTS_URL];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        ck_assert(segments_join(out, t[i].base, t[i].ref));
        ck_assert_str_eq(out, t[i].want);
    }
    char endless[SEGMENTS_URL + 1];
    memset(endless, 'x', sizeof endless);
    endless[SEGMENTS_URL] = '\0';
    ck_assert(!segments_join(out, "", endless));
}
END_TEST

START_TEST(more_levels_than_a_ladder_has)
{
    struct segments s = {.name = "m"};
    for (int k = 0; k < VIEW_LEVELS; k++)
        ck_assert_int_eq(segments_level(&s, "x", k + 1, NULL), k);
    ck_assert_int_eq(segments_level(&s, "x", 99, NULL), ERR_RANGE);
    segments_free(&s);
}
END_TEST

Suite *suite_abr_segments(void);
Suite *suite_abr_segments(void)
{
    Suite *s = suite_create("abr/segments");
    TCase *t = tcase_create("abr/segments");
    tcase_add_test(t, sizes_are_asked_for_where_they_are_unknown);
    tcase_add_test(t, levels_must_be_aligned);
    tcase_add_test(t, urls_are_joined);
    tcase_add_test(t, more_levels_than_a_ladder_has);
    suite_add_tcase(s, t);
    return s;
}
