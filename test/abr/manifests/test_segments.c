#include "abr/manifests/segments.h"

#include "support/suites.h"

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

TEST(sizes_are_asked_for_where_they_are_unknown)
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

TEST(levels_must_be_aligned)
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

TEST(urls_are_joined)
{
    const struct {
        const char *base, *ref, *want;
    } t[] = {
        {"", "a.mp4", "a.mp4"},
        {"v/low.m3u8", "1.ts", "v/1.ts"},
        {"v/", "w/", "v/w/"},
        {"v/x.mp4", "", "v/x.mp4"},
        {"v/x", "/abs", "/abs"},
        {"v/x", "https://e.org/y", "https://e.org/y"},
        /* a '/' in a query is none of a path */
        {"v/lo.m3u8?hdnts=exp=1~acl=/*~hmac=ab", "1.ts", "v/1.ts"},
        {"v/lo.m3u8", "1.ts?u=https://x/", "v/1.ts?u=https://x/"},
        {"v/lo.m3u8?a#b", "", "v/lo.m3u8?a"},
        {"v/lo.m3u8?a", "?b/c", "v/lo.m3u8?b/c"},
        /* what belongs to the server */
        {"https://cdn/v/lo.m3u8", "/v/1.ts", "https://cdn/v/1.ts"},
        {"https://cdn", "1.m4s", "https://cdn/1.m4s"},
        {"https://cdn?a/b", "1.m4s", "https://cdn/1.m4s"},
        {"https://cdn/v/lo.m3u8", "//host/x", "https://host/x"},
        /* dot segments; what leads out of a relative base stays to be seen */
        {"playlists/lo.m3u8", "../segments/1.ts", "segments/1.ts"},
        {"a/b/lo.m3u8", "./../.././1.ts", "1.ts"},
        {"a/lo.m3u8", "../../../1.ts", "../../1.ts"},
        {"a/b/c", "..", "a/"},
        {"a/b/c", "d/..?e/../f", "a/b/?e/../f"},
        {"a/b", "...", "a/..."},
        {"https://cdn/a/lo.m3u8", "../../1.ts", "https://cdn/1.ts"},
        {"", "https://cdn/a/../b/./1.ts", "https://cdn/b/1.ts"},
        {"a/b", "./x:1.ts", "a/x:1.ts"},
        {"", "./x:1.ts", "./x:1.ts"}, /* else x is a scheme */
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

/* RFC 3986, 5.4: the examples of the standard itself, without fragments of the base. */
TEST(urls_are_joined_as_the_standard_shows)
{
    const struct {
        const char *ref, *want;
    } t[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y#s"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g#s/./x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
    };
    char out[SEGMENTS_URL];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        ck_assert(segments_join(out, "http://a/b/c/d;p?q", t[i].ref));
        ck_assert_str_eq(out, t[i].want);
    }
}

/* The second of two periods may state one number where the first states one for each segment. */
TEST(quality_of_periods)
{
    struct segments a = two(2, 0), b = two(1, 0);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(segments_rate(&a, k, (const double[]){60 - k, 50}, 2, NULL), 0);
        ck_assert_int_eq(segments_rate(&b, k, (const double[]){40}, 1, NULL), 0);
    }
    segments_sort(&a);
    segments_sort(&b);
    ck_assert_int_eq(segments_append(&a, &b, NULL), 0);
    struct video *v = segments_video(&a, NULL, NULL);
    double points[VIEW_LEVELS];
    ck_assert(v->chunks == 3 && v->quality == QUALITY_CHUNK);
    video_points(points, v, 0);
    ck_assert(points[0] == 59 && points[1] == 60); /* "lo" is level 1 before sorting */
    video_points(points, v, 2);
    ck_assert(points[0] == 40 && points[1] == 40);
    video_free(v);
    segments_free(&b);

    /* a period without any leaves the curve */
    b = two(1, 0);
    segments_sort(&b);
    ck_assert_int_eq(segments_append(&a, &b, NULL), 0);
    v = segments_video(&a, NULL, NULL);
    ck_assert(v->quality == QUALITY_CURVE && !v->points);
    video_free(v);
    segments_free(&a);
    segments_free(&b);
}

TEST(more_levels_than_a_ladder_has)
{
    struct segments s = {.name = "m"};
    for (int k = 0; k < VIEW_LEVELS; k++)
        ck_assert_int_eq(segments_level(&s, "x", k + 1, NULL), k);
    ck_assert_int_eq(segments_level(&s, "x", 99, NULL), ERR_RANGE);
    segments_free(&s);
}

/* Of all levels together. */
TEST(a_list_has_a_limit)
{
    struct err e = {0};
    struct segments s = two(2, 0);
    s.most = 5;
    ck_assert_int_eq(segments_add(&s, 0, 4.0, -1, "x", &e), 0);
    ck_assert_int_eq(segments_add(&s, 1, 4.0, -1, "x", &e), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "more than 5 segments"));
    segments_free(&s);

    char url[2 * SEGMENTS_URL_MEAN] = "";
    memset(url, 'x', sizeof url - 1);
    s = (struct segments){.name = "m", .most = 2};
    e = (struct err){0};
    ck_assert_int_eq(segments_level(&s, "hi", 2000, NULL), 0);
    ck_assert_int_eq(segments_add(&s, 0, 4.0, -1, url, &e), 0);
    ck_assert_int_eq(segments_add(&s, 0, 4.0, -1, "y", &e), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "more than 512 bytes of URLs"));
    segments_free(&s);
}

SUITE(abr_manifests_segments, sizes_are_asked_for_where_they_are_unknown,
      levels_must_be_aligned, urls_are_joined, urls_are_joined_as_the_standard_shows,
      quality_of_periods, more_levels_than_a_ladder_has, a_list_has_a_limit);
