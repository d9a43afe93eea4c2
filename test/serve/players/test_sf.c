#include "serve/players/sf.h"

#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static struct err e;
static struct sf_member m;
static struct sf in;

static void begin(const char *text)
{
    e = (struct err){0};
    in = (struct sf){text, text + strlen(text)};
}

static int next(void)
{
    return sf_next(&m, &in, &e);
}

static const char *text_of(const struct sf_item *item)
{
    static char out[SF_TEXT];
    ck_assert_int_eq(sf_text(out, sizeof out, item, NULL), 0);
    return out;
}

TEST(every_kind_of_value)
{
    begin("bl=21300,  mtp=-2.125 ,bs,su=?0,\tsid=\"a \\\"b\\\\c\",ot=v,x-y=:aGk=:;p=1,"
          "t=*a/b:c");
    ck_assert_int_eq(next(), 1);
    ck_assert_str_eq(m.key, "bl");
    ck_assert(!m.list && m.n == 1);
    ck_assert_int_eq(m.item[0].kind, SF_NUMBER);
    ck_assert_double_eq(m.item[0].number, 21300);
    ck_assert_int_eq(next(), 1);
    ck_assert_double_eq(m.item[0].number, -2.125);
    ck_assert_int_eq(next(), 1);
    ck_assert(m.item[0].kind == SF_TRUTH && m.item[0].truth);
    ck_assert_int_eq(next(), 1);
    ck_assert(m.item[0].kind == SF_TRUTH && !m.item[0].truth);
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(m.item[0].kind, SF_STRING);
    ck_assert_str_eq(text_of(&m.item[0]), "a \"b\\c");
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(m.item[0].kind, SF_TOKEN);
    ck_assert_str_eq(text_of(&m.item[0]), "v");
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(m.item[0].kind, SF_BYTES);
    ck_assert_str_eq(m.item[0].param, "p");
    ck_assert_int_lt(sf_text((char[8]){0}, 8, &m.item[0], NULL), 0);
    ck_assert_int_eq(next(), 1);
    ck_assert_str_eq(text_of(&m.item[0]), "*a/b:c");
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(next(), 0);
}

TEST(lists_and_parameters)
{
    begin("br=(2000;v;x=\"q\" 128;a ),bl=();p,nor=(\"a\" \"b\";r=\"0-9\"),bs;v");
    ck_assert_int_eq(next(), 1);
    ck_assert(m.list && m.n == 2);
    ck_assert_double_eq(m.item[0].number, 2000);
    ck_assert_str_eq(m.item[0].param, "v");
    ck_assert_double_eq(m.item[1].number, 128);
    ck_assert_str_eq(m.item[1].param, "a");
    ck_assert_int_eq(next(), 1);
    ck_assert(m.list && m.n == 0);
    ck_assert_int_eq(next(), 1);
    ck_assert_str_eq(text_of(&m.item[1]), "b");
    ck_assert_int_eq(next(), 1);
    ck_assert(m.item[0].truth);
    ck_assert_str_eq(m.item[0].param, "v");
    ck_assert_int_eq(next(), 0);
}

TEST(nothing_is_an_empty_dictionary)
{
    begin("  ");
    ck_assert_int_eq(next(), 0);
    begin("a=1,");
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(next(), 0);
}

TEST(numbers_as_long_as_they_may_be)
{
    begin("a=999999999999999,b=-123456789012.345,c=0.5");
    ck_assert_int_eq(next(), 1);
    ck_assert_double_eq(m.item[0].number, 999999999999999.0);
    ck_assert_int_eq(next(), 1);
    ck_assert_double_eq(m.item[0].number, -123456789012.345);
    ck_assert_int_eq(next(), 1);
    ck_assert_double_eq(m.item[0].number, .5);
}

static const char *const bad[] = {"=1",
                                  "a=",
                                  "a= 1",
                                  "1a=2",
                                  "a=-",
                                  "a=1.",
                                  "a=.5",
                                  "a=1 b=2",
                                  "a=\"x",
                                  "a=\"\\n\"",
                                  "a=\"\x7f\"",
                                  "a=?2",
                                  "a=:x",
                                  "a=(1",
                                  "a=(1,2)",
                                  "a=(1\"x\")",
                                  "a=1;",
                                  "a=1;=2",
                                  "a=1;B C",
                                  "a==1",
                                  "a=\"x\"y",
                                  "a=)",
                                  "\"a\"=1",
                                  "a=1,,b=2",
                                  "a=\xc3\xbc",
                                  "a=1;p=",
                                  "a=((1))",
                                  "a=1.2345",
                                  "a=1234567890123456",
                                  "a=1234567890123.5",
                                  "a=(1 2 3 4 5 6 7 8 9)"};

TEST(what_is_no_dictionary_is_an_error)
{
    begin(bad[_i]);
    int rc;
    while ((rc = next()) == 1)
        ;
    ck_assert_msg(rc < 0, "%s", bad[_i]);
    ck_assert_int_eq(e.code, rc);
    ck_assert_str_ne(e.detail, "");
    ck_assert_int_eq(next(), 0);
}

TEST(what_is_too_long_is_an_error)
{
    char text[2 * SF_TEXT];
    snprintf(text, sizeof text, "%0*d=1", SF_KEY, 0);
    memset(text, 'k', SF_KEY);
    begin(text);
    ck_assert_int_eq(next(), ERR_RANGE);
    snprintf(text, sizeof text, "a=\"%0*d\"", SF_TEXT, 0);
    begin(text);
    ck_assert_int_eq(next(), ERR_RANGE);
    ck_assert_str_eq(e.field, "a");
    begin("a=\"abcd\"");
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(sf_text(text, 4, &m.item[0], &e), ERR_RANGE);
    ck_assert_int_eq(sf_text(text, 5, &m.item[0], NULL), 0);
}

SUITE(serve_players_sf, every_kind_of_value, lists_and_parameters,
      nothing_is_an_empty_dictionary, numbers_as_long_as_they_may_be,
      ROWS(what_is_no_dictionary_is_an_error, bad), what_is_too_long_is_an_error);
