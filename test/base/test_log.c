#include "base/log.h"

#include "base/pool.h"

#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double then(void)
{
    return 1763715181.1234;
}

struct sink {
    FILE *file;
    struct log log;
};

static struct sink open_sink(enum log_level level, bool json)
{
    struct sink s = {.file = tmpfile()};
    ck_assert_ptr_nonnull(s.file);
    s.log = log_init(fileno(s.file), level, json);
    s.log.now = then;
    return s;
}

static char *close_sink(struct sink *s)
{
    static char text[1 << 20];
    rewind(s->file);
    text[fread(text, 1, sizeof text - 1, s->file)] = '\0';
    fclose(s->file);
    return text;
}

TEST(plain_lines)
{
    struct sink s = open_sink(LOG_INFO, false);
    log_event(&s.log, LOG_INFO, "listen", "port %d", 8080);
    log_event(&s.log, LOG_DEBUG, "noise", "not this");
    log_event(&s.log, LOG_WARN, "odd",
              "a\nb\tc\x01"
              "d \"quoted\" \xff \xc3\xbc");
    log_event(NULL, LOG_ERROR, "nowhere", "not this");
    struct err e = {0};
    err_field(&e, ERR_IO, "x.db", "is locked");
    log_err(&s.log, LOG_ERROR, "store", &e);
    ck_assert_str_eq(
        close_sink(&s),
        "2025-11-21T08:53:01.123Z info   listen       port 8080\n"
        "2025-11-21T08:53:01.123Z warn   odd          a b c?d \"quoted\" ? \xc3\xbc\n"
        "2025-11-21T08:53:01.123Z error  store        x.db: is locked\n");
}

TEST(json_lines)
{
    struct sink s = open_sink(LOG_DEBUG, true);
    log_event(&s.log, LOG_DEBUG, "odd", "a\n\"b\" \\ %s", "\xed\xa0\x80");
    ck_assert_str_eq(
        close_sink(&s),
        "{\"time\":\"2025-11-21T08:53:01.123Z\",\"level\":\"debug\",\"event\":\"odd\","
        "\"text\":\"a \\\"b\\\" \\\\ ???\"}\n");
}

TEST(long_lines_are_cut)
{
    char *big = calloc(1, 5000);
    ck_assert_ptr_nonnull(big);
    memset(big, '"', 4999);
    for (int json = 0; json < 2; json++) {
        struct sink s = open_sink(LOG_INFO, json);
        log_event(&s.log, LOG_INFO, "big", "%s", big);
        const char *line = close_sink(&s);
        ck_assert_uint_le(strlen(line), LOG_LINE);
        ck_assert_uint_ge(strlen(line), LOG_LINE - 8);
        ck_assert_ptr_nonnull(strstr(line, json ? "...\"}\n" : "...\n"));
    }
    free(big);
}

static void speak(void *ctx, int i)
{
    log_event(ctx, LOG_INFO, "speak", "%d %0500d.", i, i);
}

TEST(lines_of_many_threads_do_not_mix)
{
    struct sink s = open_sink(LOG_INFO, false);
    pool_run(200, 4, speak, &s.log);
    char *rest = NULL, *line = strtok_r(close_sink(&s), "\n", &rest);
    int n = 0;
    for (; line; line = strtok_r(NULL, "\n", &rest), n++) {
        ck_assert_uint_eq(line[strlen(line) - 1], '.');
        int a = -1, b = -2;
        ck_assert_int_eq(sscanf(strstr(line, "speak") + 5, "%d %d", &a, &b), 2);
        ck_assert_int_eq(a, b);
    }
    ck_assert_int_eq(n, 200);
}

TEST(levels_have_names)
{
    ck_assert_str_eq(log_level_words[LOG_ERROR], "error");
    ck_assert_str_eq(log_level_words[LOG_DEBUG], "debug");
    ck_assert_ptr_null(log_level_words[LOG_DEBUG + 1]);
}

SUITE(base_log, plain_lines, json_lines, long_lines_are_cut,
      lines_of_many_threads_do_not_mix, levels_have_names);
