#include "serve/players/contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/suites.h"

static struct origins names;
static struct contents *c;
static struct err e;

static void setup(void)
{
    e = (struct err){0};
    if (!names.n) {
        ck_assert_int_eq(origins_add(&names, "a=http://far/a", &e), 0);
        ck_assert_int_eq(origins_add(&names, "b=http://far/b", &e), 0);
        for (int i = 0; i < 3; i++) {
            char text[32];
            snprintf(text, sizeof text, "a%d=http://far/a%d", i, i);
            ck_assert_int_eq(origins_add(&names, text, &e), 0);
        }
    }
    c = contents_new(3, &names, &e);
    ck_assert_ptr_nonnull(c);
}

static void teardown(void)
{
    contents_free(c);
}

/* A manifest of `chunks` times 2 s, named by media, at 300 and `top` kbit/s. */
static const char *mpd(const char *media, int start, int chunks, int top)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "<MPD mediaPresentationDuration=\"PT%dS\"><Period><AdaptationSet "
             "contentType=\"video\"><SegmentTemplate media=\"%s\" duration=\"2\" "
             "startNumber=\"%d\"/><Representation id=\"lo\" bandwidth=\"300000\"/>"
             "<Representation id=\"hi\" bandwidth=\"%d000\"/></AdaptationSet></Period>"
             "</MPD>",
             chunks * 2, media, start, top);
    return text;
}

static int learn_for(const char *path, const char *text, struct addr who)
{
    char url[1024];
    if (!origins_url(url, sizeof url, &names, path)) strcpy(url, "http://else/m");
    const struct contents_manifest m = {path, url, text, strlen(text), who};
    e = (struct err){0};
    return contents_learn(c, &m, NULL, &e);
}

static int learn(const char *path, const char *text)
{
    return learn_for(path, text, (struct addr){0});
}

/* The number of the chunk that a file holds. */
static int number_of(const struct content *one, const char *path)
{
    return contents_chunk(one, path, -1).number;
}

/* The top level of what is known of a file; 0: nothing. */
static int top_of(const char *path, double kbps)
{
    struct content *one = contents_get(c, path, kbps, 0);
    if (!one) return 0;
    const struct video *v = contents_video(one);
    int top = (int)v->ladder_kbps[v->levels - 1];
    contents_put(c, one);
    return top;
}

TEST(a_manifest_tells_ladder_and_names)
{
    ck_assert_int_eq(
        learn("a/film/m.mpd", mpd("$RepresentationID$/$Number%03d$.m4s?k=1", 7, 5, 1200)),
        0);
    struct content *one = contents_get(c, "a/film/hi/009.m4s", 1200, 0);
    ck_assert_ptr_nonnull(one);
    const struct video *v = contents_video(one);
    ck_assert(v->levels == 2 && v->chunks == 5 && v->chunk_s == 2);
    ck_assert_int_eq(video_chunk(v, 3)[0], 75000);
    ck_assert_int_eq(video_chunk(v, 3)[1], 300000);
    ck_assert_int_eq(number_of(one, "a/film/hi/007.m4s"), 1);
    ck_assert_int_eq(number_of(one, "a/film/lo/009.m4s?y"), 3);
    ck_assert_int_eq(number_of(one, "a/film/hi/011.m4s"), 5);
    ck_assert_int_eq(number_of(one, "a/film/hi/012.m4s"), -1);
    contents_put(c, one);
    ck_assert_ptr_null(contents_get(c, "a/other/007.m4s", 300, 0));
    ck_assert_ptr_null(contents_get(c, "b/film/007.m4s", 300, 0));
    ck_assert_ptr_null(contents_get(c, "a/film", 300, 0));
}

TEST(which_of_several)
{
    ck_assert_int_eq(learn("a/m.mpd", mpd("out-$Number$", 1, 3, 1000)), 0);
    ck_assert_int_eq(learn("a/in/m.mpd", mpd("in-$Number$", 1, 3, 2000)), 0);
    ck_assert_int_eq(top_of("a/out-1", 300), 1000);
    ck_assert_int_eq(top_of("a/in/out-1", 1000), 2000); /* the innermost folder */
    ck_assert_int_eq(learn("a/in/n.mpd", mpd("on-$Number$", 1, 3, 3000)), 0);
    ck_assert_int_eq(top_of("a/in/in-2", 3000), 2000); /* it names the file */
    ck_assert_int_eq(top_of("a/in/x", 2000), 2000);    /* it has the bitrate */
    ck_assert_int_eq(top_of("a/in/x", 3000), 3000);
    ck_assert_int_eq(top_of("a/in/x", 300), 3000); /* it was used last */
}

TEST(of_those_that_fit_it_is_what_the_player_plays)
{
    ck_assert_int_eq(learn("a/sd.mpd", mpd("$Number$", 1, 3, 1000)), 0);
    struct content *sd = contents_get(c, "a/x", 300, 0);
    uint32_t ladder = video_ladder_crc(contents_video(sd));
    ck_assert_int_eq(learn("a/hd.mpd", mpd("$Number$", 1, 3, 3000)), 0);
    ck_assert_int_eq(top_of("a/2", 300), 3000); /* by another player */
    struct content *his = contents_get(c, "a/2", 300, ladder);
    ck_assert_ptr_eq(his, sd);
    contents_put(c, his);
    contents_put(c, sd);
}

TEST(what_changes_is_read_again)
{
    ck_assert_int_eq(learn("a/m.mpd", mpd("$Number$", 1, 3, 1000)), 0);
    struct content *held = contents_get(c, "a/1", 300, 0);
    alloc_watch();
    int again = learn("a/m.mpd", mpd("$Number$", 1, 3, 1000));
    long calls = alloc_calls();
    ck_assert_int_eq(again, 0);
    ck_assert_int_eq(calls, 0); /* it is the same */
    ck_assert_int_eq(learn("a/m.mpd", mpd("$Number$", 1, 4, 1500)), 0);
    ck_assert_int_eq(top_of("a/1", 300), 1500);
    ck_assert_int_eq((int)contents_video(held)->ladder_kbps[1],
                     1000); /* a user keeps it */
    contents_put(c, held);
}

TEST(what_is_not_understood_is_told_once)
{
    ck_assert_int_lt(learn("a/m.mpd", "<MPD/>"), 0);
    ck_assert_str_ne(e.detail, "");
    ck_assert_int_eq(learn("a/m.mpd", "<MPD/>"), 1);
    ck_assert_int_eq(learn("a/m.mpd", "<MPD></MPD>"), 1);
    ck_assert_ptr_null(contents_get(c, "a/1", 300, 0));
    ck_assert_int_eq(learn("a/m.mpd", mpd("$Number$", 1, 3, 1000)), 0);
    ck_assert_int_eq(top_of("a/1", 300), 1000);
    ck_assert_int_lt(learn("a/m.mpd", "nothing"), 0); /* it was, before */
    ck_assert_int_lt(learn("b/m.mpd", mpd("$Number$", 1, 100000, 1000)), 0);
    ck_assert_int_lt(learn("b/n.mpd", "<!DOCTYPE x><MPD/>"), 0);
    char path[CONTENTS_PATH + 1];
    memset(path, 'x', CONTENTS_PATH);
    path[CONTENTS_PATH] = '\0';
    ck_assert_int_eq(learn(path, mpd("$Number$", 1, 3, 1000)), ERR_RANGE);
}

/* One file with all chunks, or sizes in the manifest: names are of no use. */
TEST(names_that_tell_nothing)
{
    ck_assert_int_eq(
        learn("a/m.mpd",
              "<MPD mediaPresentationDuration=\"PT4S\"><Period><AdaptationSet "
              "contentType=\"video\"><Representation id=\"1\" bandwidth=\"300000\">"
              "<SegmentList duration=\"2\"><SegmentURL media=\"a\" mediaRange=\"0-99\"/>"
              "<SegmentURL media=\"a\" mediaRange=\"100-299\"/></SegmentList>"
              "</Representation><Representation id=\"2\" bandwidth=\"600000\">"
              "<SegmentList duration=\"2\"><SegmentURL media=\"b\" mediaRange=\"0-499\"/>"
              "<SegmentURL media=\"b\" mediaRange=\"500-999\"/></SegmentList>"
              "</Representation></AdaptationSet></Period></MPD>"),
        0);
    struct content *one = contents_get(c, "a/a", 300, 0);
    ck_assert_int_eq(number_of(one, "a/a"), 0);
    ck_assert_int_eq(video_chunk(contents_video(one), 1)[0], 200);
    contents_put(c, one);
    ck_assert_int_eq(learn("b/m.mpd", mpd("all.mp4", 1, 3, 1000)), 0);
    one = contents_get(c, "b/all.mp4", 300, 0);
    ck_assert_int_eq(number_of(one, "b/all.mp4"), -1);
    contents_put(c, one);
}

/* Sets of video and Periods have ladders of their own; a file tells which. */
TEST(a_ladder_for_each_set_and_period)
{
    static const char set[] =
        "<AdaptationSet contentType=\"video\"><SegmentTemplate "
        "media=\"%s$Bandwidth$-$Number$\" "
        "duration=\"2\"/><Representation bandwidth=\"300000\"/><Representation "
        "bandwidth=\"%d000\"/></AdaptationSet>";
    char text[2048], one[512], two[512];
    snprintf(one, sizeof one, set, "avc", 1200);
    snprintf(two, sizeof two, set, "av1", 900);
    snprintf(text, sizeof text,
             "<MPD mediaPresentationDuration=\"PT6S\"><Period>%s%s</Period></MPD>", one,
             two);
    ck_assert_int_eq(learn("a/m.mpd", text), 0);
    ck_assert_int_eq(top_of("a/avc300000-1", 300), 1200);
    ck_assert_int_eq(top_of("a/av1300000-3", 300), 900);

    snprintf(text, sizeof text,
             "<MPD><Period duration=\"PT6S\">%s</Period><Period "
             "duration=\"PT4S\">%s</Period></MPD>",
             one, two);
    ck_assert_int_eq(learn("b/m.mpd", text), 0);
    struct content *ad = contents_get(c, "b/av1900000-2", 900, 0);
    ck_assert_int_eq(contents_video(ad)->chunks, 2);
    struct contents_chunk chunk = contents_chunk(ad, "b/av1900000-2", -1);
    ck_assert(chunk.number == 2 && chunk.level == 1);
    contents_put(c, ad);
    ck_assert_int_eq(top_of("b/avc300000-3", 300), 1200);
}

/* The list of names_that_tell_nothing has ranges, and they do tell. */
TEST(a_part_of_a_file_is_a_chunk)
{
    ck_assert_int_eq(
        learn("a/m.mpd",
              "<MPD mediaPresentationDuration=\"PT4S\"><Period><AdaptationSet "
              "contentType=\"video\"><Representation id=\"1\" bandwidth=\"300000\">"
              "<SegmentList duration=\"2\"><SegmentURL media=\"a\" mediaRange=\"50-99\"/>"
              "<SegmentURL media=\"a\" mediaRange=\"100-299\"/></SegmentList>"
              "</Representation><Representation id=\"2\" bandwidth=\"600000\">"
              "<SegmentList duration=\"2\"><SegmentURL media=\"b\" mediaRange=\"0-499\"/>"
              "<SegmentURL media=\"b\" mediaRange=\"500-999\"/></SegmentList>"
              "</Representation></AdaptationSet></Period></MPD>"),
        0);
    const struct {
        const char *path;
        int64_t from;
        int number, level;
    } t[] = {{"a/a", 50, 1, 0},  {"a/a", 100, 2, 0}, {"a/a", 250, 2, 0},
             {"a/b", 0, 1, 1},   {"a/b", 500, 2, 1}, {"a/a", 0, 0, -1},
             {"a/a", 300, 0, 0}, {"a/a", -1, 0, -1}, {"a/x", 50, -1, -1}};
    struct content *one = contents_get(c, "a/a", 300, 0);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct contents_chunk got = contents_chunk(one, t[i].path, t[i].from);
        ck_assert_msg(got.number == t[i].number && got.level == t[i].level, "%zu: %d %d",
                      i, got.number, got.level);
    }
    contents_put(c, one);
}

/* Without a length, and with a timeline whose end is open. */
TEST(a_live_manifest_has_a_ladder)
{
    char text[1024];
    for (int i = 0; i < 2; i++) {
        snprintf(
            text, sizeof text,
            "<MPD type=\"dynamic\"><Period><AdaptationSet contentType=\"video\">"
            "<SegmentTemplate media=\"$Number$\" %s</SegmentTemplate><Representation "
            "bandwidth=\"300000\"/><Representation bandwidth=\"%d000\"/></AdaptationSet>"
            "</Period></MPD>",
            i ? "><SegmentTimeline><S t=\"0\" d=\"2\" r=\"-1\"/></SegmentTimeline>"
              : "duration=\"2\">",
            900 + i);
        ck_assert_msg(learn("a/m.mpd", text) == 0, "%s", e.detail);
        struct content *one = contents_get(c, "a/x", 300, 0);
        ck_assert(contents_video(one)->live && contents_video(one)->chunk_s == 2);
        ck_assert_int_eq((int)contents_video(one)->ladder_kbps[1], 900 + i);
        contents_put(c, one);
    }
}

TEST(the_one_that_nobody_uses_goes)
{
    char path[32];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "a%d/m.mpd", i);
        ck_assert_int_eq(learn(path, mpd("$Number$", 1, 3, 1000 + i)), 0);
    }
    ck_assert_int_eq(top_of("a0/1", 300), 1000); /* used */
    ck_assert_int_eq(learn("b/m.mpd", mpd("$Number$", 1, 3, 2000)), 0);
    ck_assert_int_eq(top_of("a0/1", 300), 1000);
    ck_assert_int_eq(top_of("a1/1", 300), 0);
    ck_assert_int_eq(top_of("a2/1", 300), 1002);
    ck_assert_int_eq(top_of("b/1", 300), 2000);
}

/* How many manifests a/<name>0/m.mpd, a/<name>1/m.mpd, ... are known. */
static int known_of(const char *name)
{
    int n = 0;
    for (int i = 0; i < 20; i++) {
        char path[32];
        snprintf(path, sizeof path, "a/%s%d/m.mpd", name, i);
        struct content *one = contents_of(c, path);
        n += one != NULL;
        contents_put(c, one);
    }
    return n;
}

TEST(a_client_has_a_quarter_of_the_places)
{
    struct addr one, other;
    ck_assert(addr_parse(&one, "192.0.2.1", 9) && addr_parse(&other, "192.0.2.2", 9));
    contents_free(c);
    c = contents_new(8, &names, &e);
    const struct {
        const char *name;
        int asks, known;
        struct addr who;
    } t[] = {{"other", 2, 2, other}, {"one", 20, 2, one}, {"local", 4, 4, {{0}}}};
    for (size_t k = 0; k < sizeof t / sizeof *t; k++)
        for (int i = 0; i < t[k].asks; i++) {
            char path[32];
            snprintf(path, sizeof path, "a/%s%d/m.mpd", t[k].name, i);
            ck_assert_int_eq(learn_for(path, mpd("$Number$", 1, 3, 1000), t[k].who), 0);
        }
    for (size_t k = 0; k < sizeof t / sizeof *t; k++)
        ck_assert_int_eq(known_of(t[k].name), t[k].known);
    struct content *last = contents_of(c, "a/one19/m.mpd");
    ck_assert_ptr_nonnull(last);
    contents_put(c, last);
}

/* Each set parses the manifest anew. */
TEST(sets_without_a_ladder_are_tried_up_to_a_limit)
{
    for (int empty = 14; empty <= 15; empty++) {
        char text[8192],
            *to = stpcpy(text, "<MPD mediaPresentationDuration=\"PT6S\"><Period>");
        for (int i = 0; i <= empty + 1; i++) {
            to += sprintf(to,
                          "<AdaptationSet contentType=\"video\"><SegmentTemplate "
                          "media=\"%d-$Bandwidth$-$Number$\" duration=\"2\"/>"
                          "<Representation bandwidth=\"300000\"/>",
                          i);
            if (i == 0 || i == empty + 1)
                to += sprintf(to, "<Representation bandwidth=\"%d000\"/>", 1000 + i);
            to = stpcpy(to, "</AdaptationSet>");
        }
        strcpy(to, "</Period></MPD>");
        ck_assert_int_eq(learn("a/m.mpd", text), 0);
        char last[64];
        snprintf(last, sizeof last, "a/%d-300000-1", empty + 1);
        ck_assert_int_eq(top_of(last, 300) == 1000 + empty + 1, empty == 14);
    }
}

SUITE_SET_UP(serve_players_contents, 0, setup, teardown,
             a_manifest_tells_ladder_and_names, which_of_several,
             of_those_that_fit_it_is_what_the_player_plays, what_changes_is_read_again,
             what_is_not_understood_is_told_once, names_that_tell_nothing,
             a_ladder_for_each_set_and_period, a_part_of_a_file_is_a_chunk,
             a_live_manifest_has_a_ladder, the_one_that_nobody_uses_goes,
             a_client_has_a_quarter_of_the_places,
             sets_without_a_ladder_are_tried_up_to_a_limit);
