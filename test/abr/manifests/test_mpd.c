/* abr/mpd.c has no header of its own: it is reached through video_load and video_parse. */
#include "abr/manifests/video.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
}

/* A manifest around the inside of its video AdaptationSet. */
static const char *mpd(const char *attributes, const char *set)
{
    static char text[4096];
    snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\"?>\n"
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" %s>\n<Period>\n"
        "<AdaptationSet mimeType=\"audio/mp4\"><Representation bandwidth=\"64000\"/>"
        "</AdaptationSet>\n"
        "<AdaptationSet contentType=\"video\">\n%s\n</AdaptationSet>\n</Period></MPD>",
        attributes, set);
    return text;
}

#define TWO                                             \
    "<Representation id=\"hi\" bandwidth=\"2000000\"/>" \
    "<Representation id=\"lo\" bandwidth=\"500000\"/>"
#define LAST_10S "type=\"static\" mediaPresentationDuration=\"PT10S\""

static struct video *read(const char *text, const struct video_cfg *cfg)
{
    struct err e = {0};
    struct video *v = video_parse(text, strlen(text), "m.mpd", dir, cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

static void refused(const char *text, int line, const char *says, int code)
{
    struct err e = {0};
    char field[32];
    snprintf(field, sizeof field, "m.mpd:%d", line); /* 0: the line is not looked at */
    struct video *v = video_parse(text, strlen(text), "m.mpd", dir, NULL, &e);
    ck_assert_msg(v == NULL, "accepted: %s", text);
    ck_assert_msg(e.code == code && (!line || !strcmp(e.field, field)) &&
                      strstr(e.detail, says),
                  "%d %s: %s\nfor %s", e.code, e.field, e.detail, text);
}

static void put(const char *name, size_t size)
{
    static const char zeros[4096];
    struct err e = {0};
    ck_assert_msg(!text_write_file(tmpdir_path(dir, name), zeros, size, &e), "%s",
                  e.detail);
}

TEST(fixed_duration_without_files)
{
    struct video *v =
        read(mpd(LAST_10S, "<SegmentTemplate media=\"$RepresentationID$-$Number$"
                           ".m4s\" timescale=\"1000\" duration=\"4000\"/>" TWO),
             NULL);
    ck_assert(v->levels == 2 && v->chunks == 3 && v->chunk_s == 4.0);
    ck_assert_double_eq(v->ladder_kbps[0], 500); /* sorted by rate */
    ck_assert_double_eq(v->ladder_kbps[1], 2000);
    ck_assert_int_eq(video_chunk(v, 0)[0], 250000);
    ck_assert_int_eq(video_chunk(v, 2)[0], 125000); /* the rest of 2 s */
    ck_assert_int_eq(video_chunk(v, 2)[1], 500000);
    ck_assert_str_eq(v->name, "m.mpd");
    video_free(v);
}

TEST(rounded_total_is_no_extra_segment)
{
    struct video *v =
        read(mpd("mediaPresentationDuration=\"PT0H0M8.003S\"",
                 "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>" TWO),
             NULL);
    ck_assert_int_eq(v->chunks, 2);
    video_free(v);
    v = read(mpd("mediaPresentationDuration=\"P1DT1M\"",
                 "<SegmentTemplate media=\"$Number$\" duration=\"10\"/>" TWO),
             NULL);
    ck_assert_int_eq(v->chunks, 8646);
    video_free(v);
    /* as Bitmovin's encoder writes it: years and months have no length, but none of them has */
    v = read(mpd("mediaPresentationDuration=\"P0Y0M0DT0H3M30.000S\"",
                 "<SegmentTemplate media=\"$Number$\" duration=\"10\"/>" TWO),
             NULL);
    ck_assert_int_eq(v->chunks, 21);
    video_free(v);
}

TEST(timeline)
{
    struct video *v =
        read(mpd(LAST_10S, "<SegmentTemplate media=\"$Time$\" timescale=\"10\">"
                           "<SegmentTimeline><S t=\"7\" d=\"20\" r=\"2\"/>"
                           "<S d=\"30\"/></SegmentTimeline></SegmentTemplate>" TWO),
             NULL);
    ck_assert_int_eq(v->chunks, 4);
    ck_assert_double_eq(v->chunk_s, 2.0);
    ck_assert_int_eq(video_chunk(v, 3)[0], 187500);
    video_free(v);

    /* repeated to the end */
    v = read(mpd(LAST_10S, "<SegmentTemplate media=\"$Time$\" timescale=\"10\" "
                           "presentationTimeOffset=\"50\"><SegmentTimeline>"
                           "<S t=\"50\" d=\"20\" r=\"-1\"/></SegmentTimeline>"
                           "</SegmentTemplate>" TWO),
             NULL);
    ck_assert_int_eq(v->chunks, 5);
    video_free(v);
}

TEST(segments_of_all_levels_are_limited)
{
    const char *text =
        mpd(LAST_10S, "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>" TWO);
    struct err e = {0};
    struct video_cfg cfg = {.segments = 6};
    video_free(read(text, &cfg));
    cfg.segments = 5;
    ck_assert_ptr_null(video_parse(text, strlen(text), "m.mpd", dir, &cfg, &e));
    ck_assert(e.code == ERR_RANGE && strstr(e.detail, "more than 5 segments"));
}

TEST(inheritance)
{
    /* the inner template overrides attributes of the outer one, one by one */
    struct video *v =
        read(mpd(LAST_10S,
                 "<SegmentTemplate media=\"$Number$\" timescale=\"1\" duration=\"5\"/>"
                 "<Representation bandwidth=\"1000\"><SegmentTemplate duration=\"2\"/>"
                 "</Representation><Representation bandwidth=\"3000\">"
                 "<SegmentTemplate timescale=\"10\" duration=\"20\"/></Representation>"),
             NULL);
    ck_assert_int_eq(v->chunks, 5);
    video_free(v);
}

#define HI_WITH(its_own)                                                             \
    "<SegmentTemplate media=\"$Number$\" duration=\"4\"/><Representation id=\"lo\" " \
    "bandwidth=\"1000\"/><Representation id=\"hi\" bandwidth=\"3000\">" its_own      \
    "</Representation>"

TEST(each_representation_has_times_of_its_own)
{
    const char *set =
        "<SegmentTemplate media=\"$RepresentationID$-$Time$\"/>"
        "<Representation id=\"lo\" bandwidth=\"500000\">"
        "<SegmentTemplate timescale=\"30000\" duration=\"120000\"/></Representation>"
        "<Representation id=\"hi\" bandwidth=\"2000000\"><SegmentTemplate "
        "timescale=\"60000\"><SegmentTimeline><S t=\"0\" d=\"240000\" r=\"1\"/>"
        "</SegmentTimeline></SegmentTemplate></Representation>";
    put("lo-0", 11);
    put("lo-120000", 12);
    put("hi-0", 21);
    put("hi-240000", 22);
    struct video *v = read(mpd("mediaPresentationDuration=\"PT8S\"", set), NULL);
    ck_assert(v->chunks == 2 && v->chunk_s == 4.0);
    ck_assert_int_eq(video_chunk(v, 1)[0], 12);
    ck_assert_int_eq(video_chunk(v, 1)[1], 22);
    video_free(v);

    refused(mpd(LAST_10S, HI_WITH("<SegmentTemplate duration=\"2\"/>")), 0,
            "'hi' has 5 segments and 'lo' has 3", ERR_INVALID);
    refused(mpd(LAST_10S, HI_WITH("<SegmentTemplate><SegmentTimeline>"
                                  "<S d=\"3\" r=\"1\"/><S d=\"4\"/>"
                                  "</SegmentTimeline></SegmentTemplate>")),
            0, "levels must be aligned", ERR_INVALID);
}

TEST(live_needs_a_number_of_chunks)
{
    const char *set = "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>" TWO;
    refused(mpd("type=\"dynamic\"", set), 2, "say how many chunks", ERR_INVALID);
    struct video *v =
        read(mpd("type=\"dynamic\"", set), &(struct video_cfg){.chunks = 7});
    ck_assert_int_eq(v->chunks, 7);
    video_free(v);
}

TEST(sizes_from_files)
{
    const char *text = mpd(
        "mediaPresentationDuration=\"PT12S\"",
        "<BaseURL>\n seg/ </BaseURL><SegmentTemplate startNumber=\"3\" duration=\"4\" "
        "media=\"$RepresentationID$-$Bandwidth$-$$$Number%03d$-$Time$.m4s\"/>" TWO);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "seg"), 0755), 0);
    put("seg/lo-500000-$003-0.m4s", 11);
    put("seg/lo-500000-$004-4.m4s", 12);
    put("seg/hi-2000000-$003-0.m4s", 21);

    /* one level lacks a chunk that the other has */
    refused(text, 0, "segment 1 of 'hi' is missing", ERR_ABSENT);

    put("seg/hi-2000000-$004-4.m4s", 22);
    struct err e = {0};
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, "m.mpd"), text, strlen(text), &e),
                     0);
    struct video *v = video_load(tmpdir_path(dir, "m.mpd"), NULL, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(v->chunks, 2); /* as long as there are files */
    ck_assert_int_eq(video_chunk(v, 0)[0], 11);
    ck_assert_int_eq(video_chunk(v, 0)[1], 21);
    ck_assert_int_eq(video_chunk(v, 1)[0], 12);
    ck_assert_int_eq(video_chunk(v, 1)[1], 22);
    video_free(v);
}

TEST(only_files_inside_the_folder_count)
{
    const char *self = strrchr(dir, '/') + 1;
    char media[4][128], set[1024];
    snprintf(media[0], sizeof media[0], "../%s/x$Number$", self);
    snprintf(media[1], sizeof media[1], "a/../../%s/x$Number$", self);
    snprintf(media[2], sizeof media[2], "%s/x$Number$", dir);
    snprintf(media[3], sizeof media[3], "http://127.0.0.1/x$Number$");
    put("x1", 5);
    for (int i = 0; i < 4; i++) {
        snprintf(set, sizeof set, "<SegmentTemplate media=\"%s\" duration=\"4\"/>" TWO,
                 media[i]);
        struct video *v = read(mpd(LAST_10S, set), NULL);
        ck_assert_int_eq(video_chunk(v, 0)[0], 250000); /* from the bandwidth */
        video_free(v);
    }
}

/* A Representation of two segments; `second` tells the second one. */
static void listed(char out[1024], const char *id, int rate, const char *second)
{
    snprintf(out, 1024,
             "<Representation id=\"%s\" bandwidth=\"%d\"><SegmentList duration=\"4\">"
             "<SegmentURL media=\"%s.mp4\" mediaRange=\"100-299\"/>\n<SegmentURL %s/>"
             "</SegmentList></Representation>",
             id, rate, id, second);
}

TEST(lists_of_segments)
{
    /* a range has its size with it, a file is looked for */
    char set[2048], lo[1024], hi[1024];
    listed(lo, "lo", 500000, "mediaRange=\"300-309\"");
    listed(hi, "hi", 2000000, "media=\"hi-2.m4s\"");
    snprintf(set, sizeof set, "%s%s", hi, lo);
    put("hi-2.m4s", 77);
    struct video *v = read(mpd("mediaPresentationDuration=\"PT8S\"", set), NULL);
    ck_assert(v->chunks == 2 && v->chunk_s == 4.0);
    ck_assert_int_eq(video_chunk(v, 0)[0], 200);
    ck_assert_int_eq(video_chunk(v, 1)[0], 10);
    ck_assert_int_eq(video_chunk(v, 1)[1], 77);
    video_free(v);
    refused(mpd(LAST_10S, set), 6, "2 SegmentURLs for 3 segments", ERR_INVALID);
    /* the sound lasts longer */
    v = read(mpd("mediaPresentationDuration=\"PT8.021S\"", set), NULL);
    ck_assert(v->chunks == 2 && v->chunk_s == 4.0);
    video_free(v);
    listed(lo, "lo", 500000, "mediaRange=\"9-1\"");
    refused(mpd("", lo), 7, "mediaRange '9-1'", ERR_INVALID);
}

/* One file per level with an index box of two references, behind a box of 8 bytes. */
static void put_indexed(const char *name, unsigned char first, unsigned char second)
{
    unsigned char file[8 + 32 + 24] = {0, 0,  0,   8,   'f', 't', 'y', 'p', 0, 0,
                                       0, 56, 's', 'i', 'd', 'x', 0,   0,   0, 0,
                                       0, 0,  0,   1,   0,   0,   0,   10,  0};
    file[8 + 31] = 2;
    const unsigned char references[24] = {0, 0, 1, first,  0, 0, 0, 40, 0, 0, 0, 0,
                                          0, 0, 1, second, 0, 0, 0, 40, 0, 0, 0, 0};
    memcpy(file + 40, references, sizeof references);
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, name), file, sizeof file, NULL), 0);
}

TEST(index_boxes)
{
    const char *set =
        "<Representation id=\"lo\" bandwidth=\"500000\"><BaseURL>lo.mp4</BaseURL>"
        "<SegmentBase indexRange=\"8-63\"/></Representation>"
        "<Representation id=\"hi\" bandwidth=\"2000000\"><BaseURL>hi.mp4</BaseURL>"
        "<SegmentBase/></Representation>";
    put_indexed("lo.mp4", 1, 2);
    put_indexed("hi.mp4", 3, 4);
    struct video *v = read(mpd("", set), NULL);
    ck_assert(v->chunks == 2 && v->chunk_s == 4.0);
    ck_assert_int_eq(video_chunk(v, 0)[0], 257);
    ck_assert_int_eq(video_chunk(v, 0)[1], 259);
    ck_assert_int_eq(video_chunk(v, 1)[0], 258);
    ck_assert_int_eq(video_chunk(v, 1)[1], 260);
    video_free(v);
    /* of one Period it is the whole file, though that may be a little longer than it says */
    v = read(mpd("mediaPresentationDuration=\"PT5S\"", set), NULL);
    ck_assert_int_eq(v->chunks, 2);
    video_free(v);

    put("hi.mp4", 100);
    refused(mpd("", set), 0, "no sidx box", ERR_ABSENT);
    remove(tmpdir_path(dir, "lo.mp4"));
    refused(mpd("", set), 0, "no such file", ERR_ABSENT);
    struct err e = {0};
    const char *text = mpd("", set);
    ck_assert_ptr_null(video_parse(text, strlen(text), "m", NULL, NULL, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "cannot be read from here"));
}

/* Two Periods of 4 s, each of the two from one file per level, the second one from `offset` on. */
static const char *indexed_periods(const char *offset, const char *second_lasts)
{
    static char text[4096];
    int at = snprintf(text, sizeof text, "<MPD>");
    for (int i = 0; i < 2; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<Period %s><AdaptationSet contentType=\"video\">"
                       "<SegmentBase timescale=\"10\" %s/>"
                       "<Representation bandwidth=\"500000\"><BaseURL>lo.mp4</BaseURL>"
                       "</Representation><Representation bandwidth=\"2000000\">"
                       "<BaseURL>hi.mp4</BaseURL></Representation></AdaptationSet>"
                       "</Period>",
                       i ? second_lasts : "duration=\"PT4S\"", i ? offset : "");
    snprintf(text + at, sizeof text - (size_t)at, "</MPD>");
    return text;
}

TEST(periods_have_their_part_of_an_index)
{
    static const char *const lasts[] = {"duration=\"PT4S\"",
                                        ""}; /* "": to the file's end */
    put_indexed("lo.mp4", 1, 2);
    put_indexed("hi.mp4", 3, 4);
    for (int i = 0; i < 2; i++) {
        struct video *v =
            read(indexed_periods("presentationTimeOffset=\"41\"", lasts[i]), NULL);
        ck_assert_int_eq(v->chunks, 2);
        ck_assert_int_eq(video_chunk(v, 0)[0], 257);
        ck_assert_int_eq(video_chunk(v, 1)[0], 258); /* most of it is within */
        ck_assert_int_eq(video_chunk(v, 1)[1], 260);
        video_free(v);
    }
    refused(indexed_periods("presentationTimeOffset=\"400\"", ""), 0,
            "the index has no segment of its Period, 40 s on", ERR_INVALID);
    refused(indexed_periods("presentationTimeOffset=\"x\"", ""), 1, "'x'", ERR_INVALID);
    const char *no_clock = "<SegmentBase timescale=\"0\"/><BaseURL>lo.mp4</BaseURL>" TWO;
    refused(mpd(LAST_10S, no_clock), 6, "timescale is 0", ERR_RANGE);
}

/* Two Periods, the second with these rates. */
static const char *periods(int lo, int hi)
{
    static char text[2048];
    snprintf(text, sizeof text,
             "<MPD mediaPresentationDuration=\"PT14S\">\n"
             "<Period><AdaptationSet contentType=\"video\"><SegmentTemplate "
             "media=\"a$Number$\" duration=\"4\"/>" TWO "</AdaptationSet></Period>\n"
             "<Period start=\"PT8S\"><AdaptationSet contentType=\"video\">"
             "<SegmentTemplate media=\"b$Number$\" duration=\"4\"/><Representation "
             "bandwidth=\"%d\"/><Representation bandwidth=\"%d\"/></AdaptationSet>"
             "</Period></MPD>",
             lo, hi);
    return text;
}

TEST(periods_follow_each_other)
{
    struct video *v = read(periods(500000, 2000000), NULL);
    ck_assert_int_eq(v->chunks, 4);
    ck_assert_int_eq(video_chunk(v, 2)[0], 250000);
    ck_assert_int_eq(video_chunk(v, 3)[0], 125000); /* 2 s are left */
    video_free(v);
    refused(periods(500000, 2500000), 0, "different ladders", ERR_INVALID);
}

/* Periods with these attributes, the chunks of each with a SegmentTemplate of 4 s; the MPD is on
 * line 1, the nth Period on line 1 + n. */
static const char *begun(const char *mpd_has, const char *const has[], int n)
{
    static char text[4096];
    int at = snprintf(text, sizeof text, "<MPD %s>\n", mpd_has);
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<Period %s><AdaptationSet contentType=\"video\"><SegmentTemplate "
                       "media=\"$Number$\" duration=\"4\"/>" TWO
                       "</AdaptationSet></Period>\n",
                       has[i]);
    snprintf(text + at, sizeof text - (size_t)at, "</MPD>");
    return text;
}

/* ISO/IEC 23009-1, 5.3.2.1 */
TEST(a_period_begins_where_the_one_before_ends)
{
    static const char total[] = "mediaPresentationDuration=\"PT30S\"";
    const char *lengths[] = {"duration=\"PT8S\"", "duration=\"PT12S\"", ""};
    struct video *v = read(begun(total, lengths, 3), NULL);
    ck_assert_int_eq(v->chunks, 2 + 3 + 3); /* 10 s are left, not 30 */
    ck_assert_int_eq(video_chunk(v, 7)[0], 125000);
    video_free(v);

    const char *mixed[] = {"start=\"PT2S\" duration=\"PT8S\"", "", "start=\"PT14S\""};
    v = read(begun(total, mixed, 3), NULL);
    ck_assert_int_eq(v->chunks, 2 + 1 + 4); /* 10 .. 14 s, 14 .. 30 s */
    video_free(v);

    const char *bad[] = {"start=\"2\"", "start=\"PT8S\""};
    refused(begun(total, bad, 2), 2, "start '2' is not a time", ERR_INVALID);
    const char *next[] = {"start=\"PT0S\"", "start=\"soon\""};
    refused(begun(total, next, 2), 3, "start 'soon' is not a time", ERR_INVALID);
    const char *back[] = {"start=\"PT8S\"", "start=\"PT8S\""};
    refused(begun(total, back, 2), 3, "begins at 8 s and the one before at 8 s",
            ERR_INVALID);
    const char *late[] = {"", "start=\"PT30S\""};
    refused(begun(total, late, 2), 3, "begins at 30 s and all ends at 30 s", ERR_INVALID);
    const char *last[] = {"duration=\"PT8S\"", "duration=\"PT0S\""};
    refused(begun(total, last, 2), 3, "duration 'PT0S' is not a duration above 0",
            ERR_INVALID);
    /* nothing tells where the first one ends */
    const char *unknown[] = {"", ""};
    refused(begun(total, unknown, 2), 0, "say how many chunks", ERR_INVALID);
}

TEST(refusals)
{
    const char *tmpl = "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>";
    char set[2048];
    refused("<", 1, "not XML", ERR_INVALID);
    refused("<MPD>\n<Period>\n</MPD>", 3, "not XML", ERR_INVALID);
    refused("<html/>", 1, "not a DASH MPD", ERR_INVALID);
    refused("<MPD/>", 1, "has no Period", ERR_INVALID);
    refused("<MPD>\n<Period/></MPD>", 2, "no AdaptationSet of video", ERR_ABSENT);
    refused("<!DOCTYPE MPD [<!ENTITY a \"b\">]>\n<MPD/>", 1, "document type",
            ERR_INVALID);
    refused(mpd("mediaPresentationDuration=\"10\"", TWO), 2, "'10' is not a duration",
            ERR_INVALID);
    refused(mpd("mediaPresentationDuration=\"PT0S\"", TWO), 2, "above 0", ERR_INVALID);
    refused(mpd("mediaPresentationDuration=\"P1Y\"", TWO), 2, "not a duration",
            ERR_INVALID);
    refused(mpd("mediaPresentationDuration=\"P0Y1MT4S\"", TWO), 2, "not a duration",
            ERR_INVALID);
    refused(mpd(LAST_10S, ""), 5, "0 Representations", ERR_RANGE);
    refused(mpd(LAST_10S, TWO), 6, "without a SegmentTemplate", ERR_INVALID);

    snprintf(set, sizeof set, "%s\n<Representation bandwidth=\"1\"/>", tmpl);
    refused(mpd(LAST_10S, set), 5, "1 Representations", ERR_RANGE);
    snprintf(set, sizeof set, "%s\n<Representation bandwidth=\"-1\"/>", tmpl);
    refused(mpd(LAST_10S, set), 7, "bandwidth", ERR_INVALID);
    snprintf(set, sizeof set, "%s\n<Representation/>", tmpl);
    refused(mpd(LAST_10S, set), 7, "bandwidth", ERR_INVALID);
    strcpy(set, tmpl);
    for (int i = 0; i <= VIEW_LEVELS; i++)
        sprintf(set + strlen(set), "<Representation bandwidth=\"%d\"/>", 1000 + i);
    refused(mpd(LAST_10S, set), 6, "more than 32", ERR_RANGE);
    *strrchr(set, '<') = 0; /* without the last one it is a ladder */
    struct video *longest = read(mpd(LAST_10S, set), NULL);
    ck_assert_int_eq(longest->levels, VIEW_LEVELS);
    video_free(longest);
    snprintf(set, sizeof set, "%s" TWO TWO, tmpl);
    refused(mpd(LAST_10S, set), 0, "must ascend", ERR_RANGE); /* two of the same rate */

    refused(mpd(LAST_10S, "<SegmentTemplate media=\"$Number$\"/>" TWO), 6,
            "a duration or a SegmentTimeline", ERR_INVALID);
    refused(mpd(LAST_10S, "<SegmentTemplate media=\"$Number$\" duration=\"4x\"/>" TWO), 6,
            "duration '4x'", ERR_INVALID);
    refused(mpd(LAST_10S,
                "<SegmentTemplate media=\"x\" timescale=\"0\" duration=\"4\"/>" TWO),
            6, "timescale", ERR_RANGE);
    refused(mpd(LAST_10S, "<SegmentTemplate media=\"x\" timescale=\"1000000\" "
                          "duration=\"1\"/>" TWO),
            6, "more than 100000 segments", ERR_RANGE);
    refused(mpd("mediaPresentationDuration=\"PT30S\"",
                "<SegmentTemplate media=\"x\" duration=\"11\"/>" TWO),
            0, "11 s is not within 1 .. 10", ERR_RANGE);

    const char *s[] = {"<S/>", "<S d=\"0\"/>", "<S d=\"4\" r=\"-2\"/>",
                       "<S d=\"4\" t=\"-3\"/>", "<S d=\"9999999999999999\"/>"};
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        snprintf(set, sizeof set,
                 "<SegmentTemplate media=\"x\"><SegmentTimeline>\n%s</SegmentTimeline>"
                 "</SegmentTemplate>" TWO,
                 s[i]);
        refused(mpd(LAST_10S, set), 7, "S: ", ERR_INVALID);
    }
    refused(mpd(LAST_10S,
                "<SegmentTemplate media=\"x\"><SegmentTimeline>\n"
                "<S d=\"4\" r=\"99999999\"/></SegmentTimeline></SegmentTemplate>" TWO),
            7, "more than 100000", ERR_RANGE);
    refused(mpd(LAST_10S, "<SegmentTemplate media=\"x\">\n<SegmentTimeline/>"
                          "</SegmentTemplate>" TWO),
            7, "has no S", ERR_INVALID);
}

/* A set of two levels with attributes of their own. */
static const char *rated(const char *root, const char *hi, const char *lo)
{
    char set[1024], attributes[256];
    snprintf(attributes, sizeof attributes, "%s " LAST_10S, root);
    snprintf(set, sizeof set,
             "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>\n"
             "<Representation bandwidth=\"2000000\" %s/>\n"
             "<Representation bandwidth=\"500000\" %s/>",
             hi, lo);
    return mpd(attributes, set);
}

#define OWN "xmlns:abrd=\"urn:abrd:mpd\""

TEST(quality_of_chunks_and_levels)
{
    double points[VIEW_LEVELS];
    struct video *v = read(
        rated(OWN, "abrd:quality=\"90 80.5 70\"", "abrd:quality=\" 30 20\n10 \""), NULL);
    ck_assert(v->chunks == 3 && v->quality == QUALITY_CHUNK);
    video_points(points, v, 1);
    ck_assert(points[0] == 20 && points[1] == 80.5);
    ck_assert_double_eq(v->level_points[0], 20);
    video_free(v);

    /* the rest at the end may have none; one number is for all segments */
    v = read(rated(OWN, "abrd:quality=\"90 80\"", "abrd:quality=\"30\""), NULL);
    video_points(points, v, 2);
    ck_assert(v->quality == QUALITY_CHUNK && points[0] == 30 && points[1] == 80);
    video_free(v);
    v = read(rated(OWN, "abrd:quality=\"90\"", "abrd:quality=\"30\""), NULL);
    ck_assert(v->quality == QUALITY_LEVEL && !v->points && v->level_points[1] == 90);
    video_free(v);

    /* any prefix will do, wherever it is declared, but not another namespace */
    v = read(rated("", "xmlns:q=\"urn:abrd:mpd\" q:quality=\"90\"",
                   "xmlns:abrd=\"urn:abrd:mpd\" abrd:quality=\"30\""),
             NULL);
    ck_assert_int_eq(v->quality, QUALITY_LEVEL);
    video_free(v);
    const char *not_ours[] = {"quality=\"30\"", "abrd:qualities=\"30\"",
                              "xmlns:x=\"urn:x\" x:quality=\"x\"", "y:quality=\"30\""};
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++) {
        v = read(rated(OWN, "abrd:quality=\"90\"", not_ours[i]), NULL);
        ck_assert_msg(v->quality == QUALITY_CURVE, "%s", not_ours[i]);
        video_free(v);
    }
}

TEST(quality_refusals)
{
    const struct {
        const char *attribute, *says;
        int code;
    } bad[] = {
        {"abrd:quality=\"\"", "0 numbers", ERR_INVALID},
        {"abrd:quality=\"1 x\"", "quality: ", ERR_INVALID},
        {"abrd:quality=\"1,2,3\"", "',2,3' follows a number", ERR_INVALID},
        {"abrd:quality=\"1 101 2\"", "101 is not within 0 .. 100", ERR_RANGE},
        {"abrd:quality=\"-1\"", "-1 is not within", ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(rated(OWN, "", bad[i].attribute), 8, bad[i].says, bad[i].code);
    refused(mpd(OWN " mediaPresentationDuration=\"PT40S\"",
                "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>"
                "<Representation bandwidth=\"1\" abrd:quality=\"1 2 3 4 5 6 7 8\"/>" TWO),
            6, "8 numbers of quality for 10 segments", ERR_INVALID);
}

/* What is written is read again, and nothing else changes. */
TEST(quality_is_written_into_a_manifest)
{
    const struct {
        const char *root, *hi, *lo;
        const char *parts[3];
    } t[] = {
        {OWN,
         "abrd:sizes=\"1 2 3\"",
         "",
         {"abrd:sizes=\"1 2 3\" abrd:quality=\"90.0 80.0 70.0\"/>"}},
        {OWN,
         "abrd:quality=\"1\" id = 'a > b'",
         "abrd:quality='2 3 4'",
         {"<Representation bandwidth=\"2000000\" id = 'a > b' abrd:quality=\"90.0",
          "<Representation bandwidth=\"500000\" abrd:quality=\"30.0"}},
        {"", "", "", {" xmlns:abrd=\"urn:abrd:mpd\" abrd:quality=\"90.0 80.0 70.0\"/>"}},
        {"xmlns:q=\"urn:abrd:mpd\"", "", "", {" q:quality=\"30.0 20.0 10.0\"/>"}},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char plain[4096];
        struct err e = {0};
        snprintf(plain, sizeof plain, "%s", rated(t[i].root, t[i].hi, t[i].lo));
        struct video *v = read(plain, NULL);
        ck_assert_int_eq(video_make_points(v, NULL), 0);
        for (int c = 0; c < 3; c++) {
            v->points[2 * c] = (float)(30 - 10 * c);
            v->points[2 * c + 1] = (float)(90 - 10 * c);
        }
        char *text = mpd_rate_video(plain, strlen(plain), "m.mpd", v, &e);
        ck_assert_msg(text != NULL, "%s: %s", e.field, e.detail);
        for (int j = 0; j < 3 && t[i].parts[j]; j++)
            ck_assert_msg(strstr(text, t[i].parts[j]) != NULL, "%s\nin %s", t[i].parts[j],
                          text);
        struct video *again = read(text, NULL);
        ck_assert_int_eq(again->quality, QUALITY_CHUNK);
        ck_assert_mem_eq(again->points, v->points, 6 * sizeof *v->points);
        video_free(again);
        video_free(v);
        free(text);
    }
}

TEST(heights_of_pictures)
{
    const struct {
        const char *set, *hi, *lo;
        int want[2];
    } t[] = {
        {"", "", "", {0, 0}},
        {"", "height=\"720\"", "height=\"360\"", {360, 720}},
        {"height=\"480\"", "height=\"720\"", "", {480, 720}},
        {"", "width=\"1280\" height=\"536\"", "width=\"540\" height=\"960\"", {540, 720}},
        {"", "width=\"640\" height=\"480\"", "height=\"x\"", {0, 480}},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "<MPD " LAST_10S "><Period><AdaptationSet contentType=\"video\" %s>"
                 "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>"
                 "<Representation bandwidth=\"2000000\" %s/>"
                 "<Representation bandwidth=\"500000\" %s/>"
                 "</AdaptationSet></Period></MPD>",
                 t[i].set, t[i].hi, t[i].lo);
        struct video *v = read(text, NULL);
        ck_assert_msg(v->heights[0] == t[i].want[0] && v->heights[1] == t[i].want[1],
                      "%s %s %s: %d %d", t[i].set, t[i].hi, t[i].lo, v->heights[0],
                      v->heights[1]);
        video_free(v);
    }
}

/* An entity that would grow to gigabytes, and one that would read a file. */
TEST(entities_are_not_expanded)
{
    refused("<!DOCTYPE MPD [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">"
            "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d "
            "\"&c;&c;&c;&c;&c;&c;&c;\">]>\n"
            "<MPD x=\"&d;&d;&d;&d;\">&d;</MPD>",
            1, "document type", ERR_INVALID);
    refused("<!DOCTYPE MPD [<!ENTITY f SYSTEM \"file:///etc/passwd\">]>\n<MPD>&f;</MPD>",
            1, "document type", ERR_INVALID);
    refused("<!DOCTYPE MPD SYSTEM \"http://127.0.0.1:9/x.dtd\">\n<MPD/>", 1,
            "document type", ERR_INVALID);
}

static void *parse(void *text, struct err *e)
{
    return video_parse(text, strlen(text), "m.mpd", dir, NULL, e);
}

static void destroy(void *made)
{
    video_free(made);
}

TEST(memory_is_refused_at_every_allocation)
{
    static char base[] =
        "<MPD mediaPresentationDuration=\"PT4S\"><BaseURL>x/</BaseURL><Period>"
        "<AdaptationSet contentType=\"video\">"
        "<SegmentTemplate media=\"$Number$\" duration=\"2\"/>"
        "<Representation xmlns:a=\"urn:abrd:mpd\" a:quality=\"9 8\" bandwidth=\"1000\"/>"
        "<Representation xmlns:a=\"urn:abrd:mpd\" a:quality=\"7 6\" bandwidth=\"900\"/>"
        "</AdaptationSet></Period></MPD>";
    ck_assert_int_gt(alloc_each_fails(parse, destroy, base), 0);
}

SUITE_SET_UP(abr_manifests_mpd, 0, set_up, NULL, fixed_duration_without_files,
             rounded_total_is_no_extra_segment, timeline,
             segments_of_all_levels_are_limited, inheritance,
             each_representation_has_times_of_its_own, live_needs_a_number_of_chunks,
             sizes_from_files, only_files_inside_the_folder_count, lists_of_segments,
             index_boxes, periods_have_their_part_of_an_index, periods_follow_each_other,
             a_period_begins_where_the_one_before_ends, refusals,
             quality_of_chunks_and_levels, quality_refusals,
             quality_is_written_into_a_manifest, heights_of_pictures,
             memory_is_refused_at_every_allocation, entities_are_not_expanded);
