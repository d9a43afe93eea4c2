#include "serve/players/cmcd.h"

#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static struct err e;
static struct cmcd c;

static int parse(const char *text)
{
    e = (struct err){0};
    return cmcd_parse(&c, text, strlen(text), &e);
}

TEST(what_a_player_sends_with_a_segment)
{
    ck_assert_int_eq(parse("bl=21300,br=3200,bs,cid=\"faec5fc2-ac30-11ea-bb37\",d=4004,"
                           "dl=18500,mtp=48100,nor=\"..%2F300kbps%2Ftrack.m4v\",ot=v,"
                           "pr=1.08,rtp=12000,sf=d,sid=\"6e2fb550-c457-11e9-bb97\",st=v,"
                           "su,tb=6000,com.example-key=\"x\""),
                     0);
    ck_assert_int_eq(c.kind, CMCD_VIDEO);
    ck_assert_double_eq(c.buffer_s, 21.3);
    ck_assert_double_eq(c.kbps, 3200);
    ck_assert(c.starved);
    ck_assert_str_eq(c.cid, "faec5fc2-ac30-11ea-bb37");
    ck_assert_double_eq(c.chunk_s, 4.004);
    ck_assert_double_eq(c.throughput_kbps, 48100);
    ck_assert_str_eq(c.sid, "6e2fb550-c457-11e9-bb97");
    ck_assert_double_eq(c.top_kbps, 6000);
    ck_assert_double_lt(c.starved_s, 0);
    ck_assert_double_lt(c.arrived_s, 0);
}

TEST(what_is_not_told_is_negative_or_empty)
{
    ck_assert_int_eq(parse(""), 0);
    ck_assert_int_eq(c.kind, CMCD_UNKNOWN);
    ck_assert(c.buffer_s < 0 && c.kbps < 0 && c.throughput_kbps < 0 && !c.starved);
    ck_assert(!c.sid[0] && !c.cid[0] && !c.event[0] && !c.state[0]);
    ck_assert_int_eq(parse("ot=i,bs=?0"), 0);
    ck_assert_int_eq(c.kind, CMCD_OTHER);
    ck_assert(!c.starved);
}

TEST(lists_of_version_2_are_taken_by_the_kind)
{
    /* the kind may come behind them */
    ck_assert_int_eq(parse("bl=(4200;a 8100;v),br=(128;a 2000;v),bsd=(120;v),ot=a,v=2"),
                     0);
    ck_assert_int_eq(c.kind, CMCD_AUDIO);
    ck_assert_double_eq(c.buffer_s, 4.2);
    ck_assert_double_eq(c.kbps, 128);
    ck_assert_double_lt(c.starved_s, 0); /* of the pictures alone */
    ck_assert_int_eq(parse("bl=(4200;a 8100;v),mtp=(900),br=(128;a),e=ps,sta=r,ts=1"), 0);
    ck_assert_double_eq(c.buffer_s, 8.1);
    ck_assert_double_eq(c.throughput_kbps, 900);
    ck_assert_double_lt(c.kbps, 0);
    ck_assert_str_eq(c.event, "ps");
    ck_assert_str_eq(c.state, "r");
    ck_assert_int_eq(parse("br=(640;av 1),ot=av"), 0);
    ck_assert_int_eq(c.kind, CMCD_MUXED);
    ck_assert_double_eq(c.kbps, 640);
}

TEST(a_stream_that_has_no_end_yet)
{
    ck_assert_int_eq(parse("st=v"), 0);
    ck_assert(!c.live);
    ck_assert_int_eq(parse("st=l"), 0);
    ck_assert(c.live);
    ck_assert_int_eq(parse("st=ll,sf=ld"), 0);
    ck_assert(c.live);
}

static const struct {
    const char *url, *file;
} urls[] = {
    {"https://x.example/a/b/750-1.m4s", "750-1.m4s"},
    {"https://x.example/750-1.m4s?token=/a/b#/c", "750-1.m4s"},
    {"750-1.m4s", "750-1.m4s"},
    {"https://x.example/a/", ""},
    {"", ""},
};

TEST(a_report_names_the_file)
{
    char text[200];
    snprintf(text, sizeof text, "e=rr,url=\"%s\",ttlb=1", urls[_i].url);
    ck_assert_int_eq(parse(text), 0);
    ck_assert_str_eq(c.file, urls[_i].file);
}

TEST(a_long_address_is_borne)
{
    char text[2000];
    snprintf(text, sizeof text, "url=\"https://x/%0*d\",ttlb=7", CMCD_FILE, 0);
    ck_assert_int_eq(parse(text), 0); /* a name that no file of ours can have */
    ck_assert_str_eq(c.file, "");
    snprintf(text, sizeof text, "url=\"https://x/a.m4s?%01200d\",ttlb=7", 0);
    ck_assert_int_eq(parse(text), 0);
    ck_assert_str_eq(c.file, "a.m4s");
    ck_assert_double_eq(c.arrived_s, .007);
}

TEST(the_later_of_two_counts)
{
    ck_assert_int_eq(parse("br=1,br=2,ot=v,ot=a"), 0);
    ck_assert_double_eq(c.kbps, 2);
    ck_assert_int_eq(c.kind, CMCD_AUDIO);
}

static const struct {
    const char *text, *field;
} bad[] = {
    {"bl=\"4\"", "bl"},
    {"br", "br"},
    {"br=-1", "br"},
    {"mtp=1e3", "mtp"},
    {"bs=1", "bs"},
    {"sid=4", "sid"},
    {"sid=\"x", "sid"},
    {"tb=v", "tb"},
    {"st=1", "st"},
    {"url=x", "url"},
    {"bl=99999999999", "bl"},
    {"sid=\"0123456789012345678901234567890123456789012345678901234567890123x\"", "sid"},
    {"e=muchtoolong", "e"},
};

TEST(what_cannot_be_is_refused_by_its_key)
{
    ck_assert_int_lt(parse(bad[_i].text), 0);
    ck_assert_str_eq(e.field, bad[_i].field);
    ck_assert_str_ne(e.detail, "");
}

SUITE(serve_players_cmcd, what_a_player_sends_with_a_segment,
      what_is_not_told_is_negative_or_empty, lists_of_version_2_are_taken_by_the_kind,
      a_stream_that_has_no_end_yet, ROWS(a_report_names_the_file, urls),
      a_long_address_is_borne, the_later_of_two_counts,
      ROWS(what_cannot_be_is_refused_by_its_key, bad));
