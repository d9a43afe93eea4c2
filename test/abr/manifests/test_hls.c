/* abr/hls.c has no header of its own: it is reached through video_load and video_parse. */
#include "abr/manifests/hls.h"
#include "abr/manifests/segments.h"

#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

#define MASTER                                                                     \
    "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"audio.m3u8\"\n"         \
    "#EXT-X-STREAM-INF:BANDWIDTH=2500000,AVERAGE-BANDWIDTH=2000000,"               \
    "CODECS=\"avc1.64001f,mp4a.40.2\",RESOLUTION=1280x720\r\nhi/index.m3u8\r\n"    \
    "#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=500000,BANDWIDTH=800000\n\n# a comment\n" \
    "lo/index.m3u8\n"                                                              \
    "#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"mp4a.40.2\"\nsound.m3u8\n"         \
    "#EXT-X-STREAM-INF:BANDWIDTH=900000,AVERAGE-BANDWIDTH=600000,AUDIO=\"b\"\n"    \
    "lo/index.m3u8\n"

static void set_up(void)
{
    dir = tmpdir_new();
    mkdir(tmpdir_path(dir, "lo"), 0755);
    mkdir(tmpdir_path(dir, "hi"), 0755);
    tmpdir_put(dir, "lo/index.m3u8",
               "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"init\"\n"
               "#EXTINF:4.0,\n#EXT-X-BYTERANGE:100@50\nall.mp4\n"
               "#EXTINF:2.5,a title\n#EXT-X-BYTERANGE:90\nall.mp4\n"
               "#EXT-X-ENDLIST\n");
    tmpdir_put(dir, "hi/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:2.5,\n2.ts\n");
}

static struct video *read(const char *text, struct err *e)
{
    return video_parse(text, strlen(text), "m.m3u8", dir, NULL, e);
}

static void refused(const char *text, const char *field, const char *says)
{
    struct err e = {0};
    struct video *v = read(text, &e);
    ck_assert_msg(!v && !strcmp(e.field, field) && strstr(e.detail, says),
                  "%s: %s\nfor %s", e.field, e.detail, text);
}

TEST(ranges_and_files)
{
    tmpdir_put(dir, "hi/1.ts", "12345");
    tmpdir_put(dir, "hi/2.ts", "123");
    tmpdir_put(dir, "m.m3u8", MASTER);
    struct err e = {0};
    struct video *v = video_load(tmpdir_path(dir, "m.m3u8"), NULL, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->levels == 2 && v->chunks == 2 && v->chunk_s == 4.0);
    ck_assert(v->ladder_kbps[0] == 500 && v->ladder_kbps[1] == 2000);
    ck_assert_int_eq(video_chunk(v, 0)[0], 100);
    ck_assert_int_eq(video_chunk(v, 0)[1], 5);
    ck_assert_int_eq(video_chunk(v, 1)[0], 90);
    ck_assert_int_eq(video_chunk(v, 1)[1], 3);

    /* and as a table that every command reads */
    const char *to = tmpdir_path(dir, "table");
    ck_assert_int_eq(video_save(v, to, &e), 0);
    struct video *w = video_load(to, NULL, &e);
    ck_assert_msg(w != NULL, "%s: %s", e.field, e.detail);
    ck_assert(w->levels == 2 && w->chunks == 2 && w->chunk_s == 4.0);
    ck_assert_int_eq(memcmp(v->bytes, w->bytes, 4 * sizeof *v->bytes), 0);
    ck_assert_int_eq(memcmp(v->ladder_kbps, w->ladder_kbps, sizeof v->ladder_kbps), 0);
    video_free(w);
    ck_assert_int_eq(video_save(v, tmpdir_path(dir, "no/where"), &e), ERR_IO);
    video_free(v);
}

TEST(heights_of_pictures)
{
    const struct {
        const char *resolution;
        int want;
    } t[] = {{"1280x720", 720}, {"1280x536", 720}, {"608x1080", 608}, {"720", 0},
             {"x720", 0},       {"1280x", 0},      {"1280x-1", 0},    {"0x0", 0}};
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    tmpdir_put(dir, "hi/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[512];
        struct err e = {0};
        snprintf(text, sizeof text,
                 "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlo/index.m3u8\n"
                 "#EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=%s\nhi/index.m3u8\n",
                 t[i].resolution);
        struct video *v = read(text, &e);
        ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
        ck_assert_msg(v->heights[0] == 0 && v->heights[1] == t[i].want, "%s: %d",
                      t[i].resolution, v->heights[1]);
        video_free(v);
    }
}

TEST(peaks_when_one_states_no_mean)
{
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    tmpdir_put(dir, "hi/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    struct err e = {0};
    struct video *v = read("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlo/index.m3u8\n"
                           "#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=9\n"
                           "hi/index.m3u8\n",
                           &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->ladder_kbps[0] == 800 && v->ladder_kbps[1] == 2000);
    ck_assert_int_eq(video_chunk(v, 0)[0], 400000); /* no files: from the bitrate */
    video_free(v);
}

TEST(files_beside_the_playlists)
{
    /* back and down again stays in the folder */
    mkdir(tmpdir_path(dir, "segments"), 0755);
    tmpdir_put(dir, "segments/1.ts", "12345");
    tmpdir_put(dir, "segments/2.ts", "123");
    tmpdir_put(dir, "hi/index.m3u8",
               "#EXTM3U\n#EXTINF:4,\n../segments/1.ts\n"
               "#EXTINF:2.5,\n./../segments/2.ts\n");
    struct err e = {0};
    struct video *v = read("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\n"
                           "hi/../lo/index.m3u8\n"
                           "#EXT-X-STREAM-INF:BANDWIDTH=2000000\nhi/index.m3u8\n",
                           &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(video_chunk(v, 0)[1], 5);
    ck_assert_int_eq(video_chunk(v, 1)[1], 3);
    video_free(v);
}

/* The same variant from several servers, for clients to fall back to. */
TEST(redundant_streams_are_one_level)
{
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    char master[4096] = "#EXTM3U\n";
    for (int backup = 0; backup < 2; backup++)
        for (int k = 1; k <= 7; k++) {
            size_t n = strlen(master);
            char name[32];
            snprintf(name, sizeof name, "lo/%d.m3u8", k);
            if (!backup) tmpdir_put(dir, name, "#EXTM3U\n#EXTINF:4,\n1.ts\n");
            snprintf(master + n, sizeof master - n,
                     "#EXT-X-STREAM-INF:BANDWIDTH=%d00000,CODECS=\"avc1.64001f\","
                     "RESOLUTION=640x%d0\n%s%s\n",
                     k, k, backup ? "https://backup.example/" : "", name);
        }
    struct err e = {0};
    struct video *v = read(master, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(v->levels, 7);
    video_free(v);

    /* another resolution, codec or mean is another variant, and as before */
    static const char *const other[] = {"BANDWIDTH=800000,RESOLUTION=1x1",
                                        "BANDWIDTH=800000,CODECS=\"hvc1\"",
                                        "BANDWIDTH=800000,AVERAGE-BANDWIDTH=700000"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        snprintf(master, sizeof master,
                 "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlo/1.m3u8\n"
                 "#EXT-X-STREAM-INF:%s\nlo/2.m3u8\n",
                 other[i]);
        refused(master, "ladder_kbps", "must ascend");
    }
}

/* A server that sends lo.m3u8 from another one. */
static int size_there(void *self, int64_t *bytes, const char *url, struct err *e)
{
    static const char *const there[] = {"https://b.example/v/1.ts", "hi/1.ts",
                                        "https://b.example/2.ts", "hi/2.ts"};
    int *at = self;
    ck_assert_str_eq(url, there[*at]);
    *bytes = ++*at;
    (void)e;
    return 0;
}

static char *read_moved(void *self, const char *url, int64_t from, size_t max,
                        size_t *len, struct err *e)
{
    (void)self, (void)url, (void)from, (void)max, (void)e;
    char *text = strdup("#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:4,\n/2.ts\n");
    if (strstr(url, "hi")) strcpy(strrchr(text, '/'), "2.ts\n");
    *len = strlen(text);
    return text;
}

static bool found_moved(void *self, char url[SEGMENTS_URL])
{
    (void)self;
    bool moved = !strcmp(url, "lo/lo.m3u8");
    if (moved) strcpy(url, "https://b.example/v/lo.m3u8?token=a/b");
    return strcmp(url, "far/lo.m3u8") != 0;
}

TEST(segments_of_a_redirected_playlist)
{
    /* the address of a retrieved document is the one behind redirects (RFC 3986, 5.1.3) */
    int at = 0;
    const struct segments_source source = {.self = &at,
                                           .must = true,
                                           .size = size_there,
                                           .read = read_moved,
                                           .found = found_moved};
    const char *text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlo/lo.m3u8\n"
                       "#EXT-X-STREAM-INF:BANDWIDTH=2000000\nhi/hi.m3u8\n";
    struct err e = {0};
    struct video *v = video_parse_from(text, strlen(text), "m", &source, NULL, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(at, 4);
    video_free(v);

    text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nfar/lo.m3u8\n";
    ck_assert_ptr_null(video_parse_from(text, strlen(text), "m", &source, NULL, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "far/lo.m3u8");
}

TEST(refusals)
{
    refused("#EXTM3U\n#EXTINF:4,\n1.ts\n", "m.m3u8:2", "give the master playlist");
    refused("#EXTM3U\n#EXT-X-STREAM-INF:CODECS=\"x\"\nlo.m3u8\n", "m.m3u8:2",
            "without BANDWIDTH");
    refused("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=fast\nlo.m3u8\n", "m.m3u8:2",
            "BANDWIDTH 'fast'");
    refused("#EXTM3U\n", "m.m3u8", "0 levels of video");
    refused("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nabsent.m3u8\n", "absent.m3u8",
            "no such file");
    refused("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n../../etc/passwd\n",
            "../../etc/passwd", "no such file");
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n1.ts\n");
    refused(MASTER, "lo/index.m3u8:2", "without EXTINF");
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:x,\n1.ts\n");
    refused(MASTER, "lo/index.m3u8:2", "EXTINF: 'x'");
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:-1\n1.ts\n");
    refused(MASTER, "lo/index.m3u8:3", "EXT-X-BYTERANGE: '-1'");
    tmpdir_put(dir, "lo/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    refused(MASTER, "m.m3u8", "levels must be aligned");

    struct err e = {0};
    ck_assert_ptr_null(video_parse(MASTER, strlen(MASTER), "m", NULL, NULL, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "cannot be read from here"));
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return read(MASTER, e);
}

static void unmake(void *v)
{
    video_free(v);
}

TEST(every_allocation_may_fail)
{
    tmpdir_put(dir, "hi/1.ts", "12345");
    tmpdir_put(dir, "hi/2.ts", "123");
    ck_assert_int_ge(alloc_each_fails(make, unmake, NULL), 8);
}

TEST(as_many_levels_as_a_view_has)
{
    static char text[8192] = "#EXTM3U\n";
    for (int k = 0; k <= VIEW_LEVELS; k++) {
        char name[32];
        snprintf(name, sizeof name, "%d.m3u8", k);
        tmpdir_put(dir, name, "#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:2.5,\n2.ts\n");
        if (k == VIEW_LEVELS) {
            struct err e = {0};
            struct video *v = read(text, &e);
            ck_assert_msg(v && v->levels == VIEW_LEVELS, "%s: %s", e.field, e.detail);
            ck_assert_double_eq(v->ladder_kbps[VIEW_LEVELS - 1], 1000 + VIEW_LEVELS - 1);
            video_free(v);
        }
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "#EXT-X-STREAM-INF:BANDWIDTH=%d\n%s\n", 1000 * (1000 + k), name);
    }
    refused(text, "m.m3u8:67", "more than 32 variants");
}

static bool to_daemon(void *self, char out[SEGMENTS_URL], const char *uri)
{
    if (strncmp(uri, "/", 1) != 0) return false;
    return snprintf(out, SEGMENTS_URL, "%s%s", (const char *)self, uri) < SEGMENTS_URL;
}

/* The playlist that is offered. */
static const char *offered(const char *text, struct hls_offer offer)
{
    static char out[4096];
    struct err e = {0};
    size_t n = 0;
    char *got = hls_offer(&n, text, strlen(text), "m.m3u8", &offer, &e);
    ck_assert_msg(got != NULL, "%s: %s", e.field, e.detail);
    ck_assert(n == strlen(got) && n < sizeof out);
    strcpy(out, got);
    free(got);
    return out;
}

#define V(kbps, height, codecs)                                                        \
    "#EXT-X-STREAM-INF:BANDWIDTH=" #kbps "000,RESOLUTION=" #height ",CODECS=\"" codecs \
    "\"\n" #kbps codecs ".m3u8\n"
#define HEAD "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a,URI=\",URI=\"/a.m3u8\"\n"
#define SOUND "#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"mp4a.40.2\"\nsound.m3u8\n"

TEST(variants_within_caps_and_in_order)
{
    const char *all = HEAD V(2000, 1280x720, "avc1") V(500, 640x360, "avc1")
        SOUND V(1000, 640x360, "avc3") V(700, 1280x720, "hvc1");
    const struct {
        struct hls_offer offer;
        const char *want;
    } t[] = {
        {{0}, all},
        {{.max_kbps = 1000},
         HEAD V(500, 640x360, "avc1") SOUND V(1000, 640x360, "avc3")
             V(700, 1280x720, "hvc1")},
        {{.max_height = 500},
         HEAD V(500, 640x360, "avc1") SOUND V(1000, 640x360, "avc3")
             V(700, 1280x720, "hvc1")},
        /* the lowest one of each codec stays */
        {{.max_kbps = 100}, HEAD V(500, 640x360, "avc1") SOUND V(700, 1280x720, "hvc1")},
        {{.first_kbps = 1999},
         HEAD V(1000, 640x360, "avc3") V(2000, 1280x720, "avc1") V(500, 640x360, "avc1")
             SOUND V(700, 1280x720, "hvc1")},
        {{.first_kbps = 10},
         HEAD V(500, 640x360, "avc1") V(2000, 1280x720, "avc1")
             SOUND V(1000, 640x360, "avc3") V(700, 1280x720, "hvc1")},
        {{.first_kbps = 9000}, all},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        ck_assert_str_eq(offered(all, t[i].offer), t[i].want);
}

/* A variant with sound alone is no level, and a cap leaves one with a picture. */
TEST(sound_alone_is_no_level)
{
    static const char *const codecs[] = {"mp4a.40.2",      "mp4a",           "ec-3",
                                         "ac-3",           "Opus",           "fLaC",
                                         "mp4a.40.2,wvtt", "ec-3,mp4a.40.2", "mhm1.0x0d"};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        char sound[256], all[1024], want[1024];
        struct err e = {0};
        snprintf(sound, sizeof sound,
                 "#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"%s\"\nsound.m3u8\n",
                 codecs[i]);
        snprintf(all, sizeof all, "%s%s%s", HEAD V(2000, 1280x720, "avc1"), sound,
                 V(500, 640x360, "avc1"));
        snprintf(want, sizeof want, "%s%s%s", HEAD, sound, V(500, 640x360, "avc1"));
        ck_assert_str_eq(offered(all, (struct hls_offer){.max_kbps = 100}), want);
        struct video *v = hls_ladder(all, "m", 6, &e);
        ck_assert_msg(v && v->levels == 2 && v->ladder_kbps[0] == 500, "%s: %s",
                      codecs[i], e.detail);
        video_free(v);
    }
    /* of these nothing says that there is no picture */
    struct err e = {0};
    struct video *v =
        hls_ladder("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"\"\na\n"
                   "#EXT-X-STREAM-INF:BANDWIDTH=99000\nb\n",
                   "m", 6, &e);
    ck_assert_msg(v && v->levels == 2, "%s", e.detail);
    video_free(v);
}

TEST(a_byte_order_mark_is_left_out)
{
    char self[] = "X";
    struct hls_offer offer = {.self = self, .map = to_daemon};
    ck_assert_str_eq(offered("\xef\xbb\xbf#EXTM3U\n#EXTINF:4,\n/d.ts\n", offer),
                     "#EXTM3U\n#EXTINF:4,\nX/d.ts\n");
    ck_assert_str_eq(
        offered("\xef\xbb\xbf" HEAD V(2000, 1280x720, "avc1"), (struct hls_offer){0}),
        HEAD V(2000, 1280x720, "avc1"));
    tmpdir_put(dir, "lo/index.m3u8", "\xef\xbb\xbf#EXTM3U\n#EXTINF:4,\n1.ts\n");
    tmpdir_put(dir, "hi/index.m3u8", "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    struct err e = {0};
    struct video *v = read("\xef\xbb\xbf" MASTER, &e);
    ck_assert_msg(v && v->levels == 2 && v->chunks == 1, "%s: %s", e.field, e.detail);
    video_free(v);
}

TEST(addresses_are_those_of_the_caller)
{
    char self[] = "X";
    struct hls_offer offer = {.self = self, .map = to_daemon};
    ck_assert_str_eq(
        offered("#EXTM3U\n#EXT-X-MEDIA:NAME=\"a,URI=/b\",URI=\"/c\"\n#EXTINF:4,/t\n"
                "/d.ts\r\n#EXTINF:4,\ne.ts\n# /f\n#EXT-X-KEY:URI=\"/k\",X=\"/\"",
                offer),
        "#EXTM3U\n#EXT-X-MEDIA:NAME=\"a,URI=/b\",URI=\"X/c\"\n#EXTINF:4,/t\n"
        "X/d.ts\r\n#EXTINF:4,\ne.ts\n# /f\n#EXT-X-KEY:URI=\"X/k\",X=\"/\"");
}

TEST(an_offer_is_refused_with_a_reason)
{
    struct hls_offer none = {0};
    const struct {
        const char *text, *says;
    } t[] = {{"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n", "without a URI"},
             {"#EXTM3U\n#EXT-X-STREAM-INF:RESOLUTION=1x1\nx\n", "without BANDWIDTH"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct err e = {0};
        size_t n;
        ck_assert_ptr_null(hls_offer(&n, t[i].text, strlen(t[i].text), "m", &none, &e));
        ck_assert_msg(strstr(e.detail, t[i].says) != NULL, "%s", e.detail);
    }
    size_t room = 200000;
    char *many = malloc(room), *to = stpcpy(many, "#EXTM3U\n");
    for (int i = 0; i < 1001; i++)
        to = stpcpy(to, "#EXT-X-STREAM-INF:BANDWIDTH=1000000,CODECS=\"avc1\"\nx\n");
    struct err e = {0};
    size_t n;
    ck_assert_ptr_null(hls_offer(&n, many, strlen(many), "m", &none, &e));
    ck_assert(e.code == ERR_RANGE && strstr(e.field, "m:2002"));
    free(many);
}

static void *offer_some(void *ctx, struct err *e)
{
    (void)ctx;
    size_t n;
    const struct hls_offer o = {.max_kbps = 600, .first_kbps = 500};
    const char *text = HEAD V(2000, 1280x720, "avc1") V(500, 640x360, "avc1");
    return hls_offer(&n, text, strlen(text), "m", &o, e);
}

TEST(memory_for_an_offer_may_fail)
{
    ck_assert_int_gt(alloc_each_fails(offer_some, free, NULL), 2);
}

/* The sets of a playlist, one after the other. */
TEST(sets_are_codecs)
{
    static const char *const files[] = {"x", "x2", "h", "h2", "h3"};
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s.m3u8", files[i]);
        tmpdir_put(dir, name, "#EXTM3U\n#EXTINF:4,\n1.ts\n");
    }
    const char *text =
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS=\"avc1.4d\"\nx.m3u8\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=700000,CODECS=\"mp4a.40.2,hev1.1\"\nh.m3u8\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=1800000,CODECS=\"avc3.4d\"\nx2.m3u8\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=1700000,CODECS=\"hvc1.1\"\nh2.m3u8\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=1700000,CODECS=\"hvc1.1\",VIDEO-RANGE=PQ\nh3.m3u8\n";
    struct err e = {0};
    struct video *v = hls_ladder(text, "m", 6, &e);
    ck_assert(v && v->levels == 2 && v->ladder_kbps[1] == 1800 && v->chunk_s == 6);
    video_free(v);
    v = video_parse(text, strlen(text), "m", dir, &(struct video_cfg){.set = 1}, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->levels == 2 && v->ladder_kbps[0] == 700 && v->ladder_kbps[1] == 1700);
    ck_assert(v->live && v->sound && v->peak_kbps[1] == 1700);
    video_free(v);
    ck_assert_ptr_null(
        video_parse(text, strlen(text), "m", dir, &(struct video_cfg){.set = 2}, &e));
    ck_assert_int_eq(e.code, ERR_RANGE); /* one level */
    e = (struct err){0};
    ck_assert_ptr_null(
        video_parse(text, strlen(text), "m", dir, &(struct video_cfg){.set = 3}, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
}

SUITE_SET_UP(abr_manifests_hls, 0, set_up, NULL, as_many_levels_as_a_view_has,
             ranges_and_files, heights_of_pictures, peaks_when_one_states_no_mean,
             files_beside_the_playlists, redundant_streams_are_one_level,
             segments_of_a_redirected_playlist, refusals, every_allocation_may_fail,
             variants_within_caps_and_in_order, sound_alone_is_no_level,
             a_byte_order_mark_is_left_out, addresses_are_those_of_the_caller,
             an_offer_is_refused_with_a_reason, memory_for_an_offer_may_fail,
             sets_are_codecs);
