/* Clients of rl_server's wire form; whole videos of them are in test/http/pensieve.mjs. */
#include "serve/players/pensieve.h"

#include <stdio.h>
#include <string.h>
#include <string.h>

#include "support/served.h"
#include "support/suites.h"

static struct served f;
static struct clients *p;
static struct err e;
static int level;

static void setup(void)
{
    e = (struct err){0};
    served_begin(&f, false);
    f.cfg.explore_share = 0;
    served_start(&f);
    p = pensieve_clients(3, 7, &e);
    ck_assert_ptr_nonnull(p);
}

static void teardown(void)
{
    clients_free(p);
    served_end(&f);
}

static struct pensieve_post post(int chunk)
{
    return (struct pensieve_post){.chunk = chunk,
                                  .level = 2,
                                  .buffer_s = 8,
                                  .stalled_s = .5 * chunk,
                                  .download_s = 1.5,
                                  .bytes = 600000};
}

static const unsigned char *key_of(const char *name)
{
    static unsigned char key[CLIENTS_KEY];
    clients_key(key, p, "\x01\x02", 2, name);
    return key;
}

static int ask(const char *name, struct pensieve_post in)
{
    e = (struct err){0};
    level = -9;
    return pensieve_ask(&level, p, f.service, f.worker, key_of(name), &in, 0, &e);
}

static int open_then_ask(const char *name, struct pensieve_post in)
{
    ck_assert_int_eq(ask(name, in), 1);
    int rc = pensieve_open(p, f.service, f.worker, key_of(name), "pensieve", &in, 0, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return ask(name, in);
}

static int sessions_opened(void)
{
    struct service_stats s;
    service_stats(&s, f.service);
    return (int)s.sessions_opened;
}

#define PENSIEVE                                                                  \
    "\"lastquality\":2,\"buffer\":7.5,\"lastRequest\":3,\"RebufferTime\":1250,"   \
    "\"lastChunkFinishTime\":1503002052950,\"lastChunkStartTime\":1503002051000," \
    "\"lastChunkSize\":668286"

TEST(a_post_of_pensieves_test_bed)
{
    struct pensieve_post post;
    const char *body = "{\"nextChunkSize\":[1,2,null,4,5,6],\"Type\":\"RL\"," PENSIEVE
                       ",\"bandwidthEst\":NULL}";
    char text[512];
    snprintf(text, sizeof text, "{\"nextChunkSize\":[1,2,null,4,5,6],\"Type\":\"RL\",%s}",
             PENSIEVE ",\"bandwidthEst\":[{}]");
    e = (struct err){0};
    ck_assert_msg(!pensieve_read(&post, text, strlen(text), &e), "%s %s", e.field,
                  e.detail);
    ck_assert(!post.summary && post.has_next && post.n_next == 6 &&
              post.next_bytes[2] == 0);
    ck_assert_int_eq(post.chunk, 3);
    ck_assert_int_eq(post.level, 2);
    ck_assert_int_eq(post.bytes, 668286);
    ck_assert(post.buffer_s == 7.5 && post.stalled_s == 1.25 && post.download_s == 1.95);
    ck_assert_int_lt(pensieve_read(&post, body, strlen(body), &e), 0); /* not JSON */

    e = (struct err){0};
    body = "{\"pastThroughput\":[1,null]}";
    ck_assert_int_eq(pensieve_read(&post, body, strlen(body), &e), 0);
    ck_assert(post.summary);
    body = "{\"buffer\":1,\"lastRequest\":0}";
    ck_assert_int_eq(pensieve_read(&post, body, strlen(body), &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "lastquality");
}

TEST(who_is_not_known_opens_a_session_first)
{
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    ck_assert_int_ge(level, 0);
    ck_assert_int_lt(level, 6);
    ck_assert_int_eq(ask("a", post(1)), 0);
    ck_assert_int_eq(ask("b", post(1)), 1);
    ck_assert_int_eq(sessions_opened(), 1);
}

TEST(a_stall_is_what_the_sum_has_added_by)
{
    struct pensieve_post in = post(0);
    in.stalled_s = 2;
    ck_assert_int_eq(open_then_ask("a", in), 0);
    in = post(1);
    in.stalled_s = 2;
    ck_assert_int_eq(ask("a", in), 0);
    in = post(2);
    in.stalled_s = 5;
    ck_assert_int_eq(ask("a", in), 0);
    ck_assert_int_eq(ask("a", in), 0); /* again: not twice */

    struct service_stats s;
    service_stats(&s, f.service);
    double sum = 0;
    for (int i = 0; i < s.n_profiles; i++)
        sum += s.profile[i].viewing.stall_s;
    ck_assert_double_eq(sum, 3); /* the first wait is the start-up */
    ck_assert_uint_eq(s.repeats, 1);
}

TEST(the_last_chunk_ends_the_video)
{
    ck_assert_int_eq(open_then_ask("a", post(47)), 0);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(ask("a", post(48)), 0);
        ck_assert_int_eq(level, PENSIEVE_REFRESH);
    }
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

TEST(a_video_begun_anew_is_another_session)
{
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    ck_assert_int_eq(ask("a", post(5)), 0); /* a gap is none */
    ck_assert_int_eq(ask("a", post(4)), 1);
    struct pensieve_post in = post(6);
    in.stalled_s = 0; /* the sum starts again, and so does the video */
    ck_assert_int_eq(ask("a", in), 1);
    /* and chunk 0 with other numbers */
    ck_assert_int_eq(open_then_ask("b", post(0)), 0);
    in = post(0);
    in.bytes++;
    ck_assert_int_eq(ask("b", in), 1);
    ck_assert_str_eq(e.detail, "");
}

TEST(a_session_that_ended_is_opened_again)
{
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    f.now += f.cfg.session_ttl_s + 1;
    service_periodic(f.service);
    f.now += f.cfg.session_ttl_s + 1;
    service_periodic(f.service);
    ck_assert_int_eq(ask("a", post(1)), 1);
}

TEST(who_was_silent_longest_is_forgotten)
{
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    ck_assert_int_eq(open_then_ask("b", post(0)), 0);
    ck_assert_int_eq(open_then_ask("c", post(0)), 0);
    ck_assert_int_eq(ask("a", post(1)), 0);
    ck_assert_int_eq(open_then_ask("d", post(0)), 0);
    ck_assert_int_eq(ask("b", post(1)), 1);
    ck_assert_int_eq(ask("a", post(2)), 0);
    ck_assert_int_eq(ask("c", post(1)), 0);
}

static const struct {
    const char *field;
    struct pensieve_post in;
} bad[] = {
    {"lastRequest", {.chunk = 49, .bytes = 1, .download_s = 1}},
    {"lastRequest", {.chunk = -1, .bytes = 1, .download_s = 1}},
    {"lastquality", {.level = 6, .bytes = 1, .download_s = 1}},
    {"lastquality", {.level = -1, .bytes = 1, .download_s = 1}},
    {"lastChunkFinishTime", {.bytes = 1, .download_s = -1}},
    {"RebufferTime", {.bytes = 1, .download_s = 1, .stalled_s = -1}},
    {"lastChunkSize", {.bytes = -1, .download_s = 1}},
    {"nextChunkSize", {.bytes = 1, .download_s = 1, .has_next = true, .n_next = 5}},
};

TEST(what_cannot_be_is_refused_by_its_name)
{
    ck_assert_int_lt(ask("a", bad[_i].in), 0);
    ck_assert_str_eq(e.field, bad[_i].field);
    ck_assert_int_eq(sessions_opened(), 0);
}

TEST(the_services_refusals_get_the_clients_names)
{
    ck_assert_int_eq(open_then_ask("a", post(0)), 0);
    struct pensieve_post in = post(1);
    in.buffer_s = -1;
    ck_assert_int_eq(ask("a", in), ERR_RANGE);
    ck_assert_str_eq(e.field, "buffer");
    in = post(1);
    in.download_s = 1e6;
    ck_assert_int_eq(ask("a", in), ERR_RANGE);
    ck_assert_str_eq(e.field, "lastChunkFinishTime");
    in = post(1);
    in.has_next = true;
    in.n_next = 6;
    in.next_bytes[3] = -1;
    ck_assert_int_eq(ask("a", in), ERR_RANGE);
    ck_assert_str_eq(e.field, "nextChunkSize");
    ck_assert_int_eq(ask("a", post(1)), 0);
}

SUITE_SET_UP(serve_players_pensieve, 0, setup, teardown, a_post_of_pensieves_test_bed,
             who_is_not_known_opens_a_session_first, a_stall_is_what_the_sum_has_added_by,
             the_last_chunk_ends_the_video, a_video_begun_anew_is_another_session,
             a_session_that_ended_is_opened_again, who_was_silent_longest_is_forgotten,
             ROWS(what_cannot_be_is_refused_by_its_name, bad),
             the_services_refusals_get_the_clients_names);
