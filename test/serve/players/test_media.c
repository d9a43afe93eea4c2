#include "serve/players/media.h"
#include "serve/players/players.h"

#include "abr/traces/trace.h"
#include "support/made.h"
#include "support/suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 8 Mbit/s (1e6 bytes/s) for 1 s, 0 for 1 s, 4 Mbit/s for 2 s; begins at 10 s. */
static struct trace *steps(void)
{
    return made_trace(4, (const double[][2]){{10, 99}, {11, 8}, {12, 0}, {14, 4}});
}

TEST(carries_is_the_integral)
{
    struct trace *t = steps();
    ck_assert_double_eq_tol(media_carries(t, 0, .5), .5e6, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, .5, 1.5), .5e6, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, 1.2, 1.8), 0, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, 1.5, 3), .5e6, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, 0, 4), 2e6, 1e-3);
    /* it repeats: 2e6 bytes every 4 s */
    ck_assert_double_eq_tol(media_carries(t, 3.5, 4.5), .25e6 + .5e6, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, .25, 12.25), 6e6, 1e-3);
    ck_assert_double_eq_tol(media_carries(t, 4, 4), 0, 1e-9);

    /* sums of pieces equal the whole, wherever they are cut */
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += media_carries(t, i * .037, (i + 1) * .037);
    ck_assert_double_eq_tol(sum, media_carries(t, 0, 37), 1e-2);
    trace_free(t);
}

TEST(first_byte_after_a_round_trip)
{
    struct trace *t = steps();
    struct media_link l;
    media_link_init(&l, t, .08, 100);
    ck_assert_double_eq_tol(media_link_begin(&l, 100), 100.08, 1e-9);
    ck_assert_int_eq(media_link_allow(&l, 100.07, 5000), 0);
    ck_assert_int_eq(media_link_allow(&l, 100.08, 5000), 0);
    /* 10 ms at 1e6 bytes/s */
    ck_assert_int_eq(media_link_allow(&l, 100.09, 5000), 5000);
    ck_assert_int_eq(media_link_allow(&l, 100.09, 50000), 4999 + 1);
    trace_free(t);
}

TEST(nothing_is_saved_while_idle)
{
    struct trace *t = steps();
    struct media_link l;
    media_link_init(&l, t, 0, 0);
    media_link_begin(&l, 0);
    ck_assert_int_eq(media_link_allow(&l, .125, 1000000), 125000);
    media_link_end(&l);

    media_link_begin(&l, .875);
    ck_assert_int_eq(media_link_allow(&l, .875, 1000000), 0);
    /* 1/8 s of 8 Mbit/s, then a second of nothing, then 4 Mbit/s */
    ck_assert_int_eq(media_link_allow(&l, 1.9375, 1000000), 125000);
    ck_assert_int_eq(media_link_allow(&l, 2.5, 1000000), 250000);
    media_link_end(&l);
    trace_free(t);
}

TEST(requests_share_a_link)
{
    struct trace *t = steps();
    struct media_link l;
    media_link_init(&l, t, 0, 0);
    media_link_begin(&l, 0);
    media_link_begin(&l, 0);
    ck_assert_int_eq(media_link_allow(&l, .5, 300000), 300000);
    ck_assert_int_eq(media_link_allow(&l, .5, 300000), 200000);
    ck_assert_int_eq(media_link_allow(&l, .5, 300000), 0);
    media_link_end(&l);
    /* the other request continues with what the link earns */
    ck_assert_int_eq(media_link_allow(&l, .625, 300000), 125000);
    media_link_end(&l);
    trace_free(t);
}

TEST(no_slivers)
{
    struct trace *t = steps();
    struct media_link l;
    media_link_init(&l, t, 0, 0);
    media_link_begin(&l, 0);
    ck_assert_int_eq(media_link_allow(&l, .001, 50000), 0);    /* 1000 bytes earned */
    ck_assert_int_eq(media_link_allow(&l, .001, 100), 100);    /* all that is wanted */
    ck_assert_int_eq(media_link_allow(&l, .002, 50000), 1900); /* none was lost */
    media_link_end(&l);
    trace_free(t);
}

TEST(without_a_trace_there_is_no_limit)
{
    struct media_link l;
    media_link_init(&l, NULL, .08, 0);
    media_link_begin(&l, 0);
    ck_assert_int_eq(media_link_allow(&l, .07, 1 << 20), 0);
    ck_assert_int_eq(media_link_allow(&l, .08, 1 << 20), 1 << 20);
    media_link_end(&l);
}

TEST(changes_count_from_their_time_on)
{
    struct trace *t =
        made_trace(2, (const double[][2]){{0, 8}, {1000, 8}}); /* 1e6 bytes/s */
    struct media_link l;
    media_link_init(&l, t, 0, 50);
    l.changes = (struct media_changes){.n = 3, .at_s = {1, 3, 4}, .factor = {0, .5, 2}};
    static const struct {
        double from, to, bytes;
    } row[] = {{0, 1, 1e6},  {0, 2, 1e6},   {1, 3, 0},   {2.5, 3.5, .25e6},
               {3, 4, .5e6}, {0, 5, 3.5e6}, {4, 6, 4e6}, {4, 4, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_double_eq_tol(media_link_carries(&l, row[i].from, row[i].to),
                                row[i].bytes, 1e-3);

    /* on the link's own clock */
    media_link_begin(&l, 50.5);
    ck_assert_int_eq(media_link_allow(&l, 51, 1 << 20), 500000);
    ck_assert_int_eq(media_link_allow(&l, 53, 1 << 20), 0);
    ck_assert_int_eq(media_link_allow(&l, 54, 1 << 20), 500000);
    trace_free(t);

    t = steps(); /* 8, 0, 4, 4 Mbit/s */
    media_link_init(&l, t, 0, 0);
    l.changes.from_s = 1.5;
    ck_assert_double_eq_tol(media_link_carries(&l, 0, 1), .25e6, 1e-3);
    trace_free(t);

    media_link_init(&l, NULL, 0, 0);
    l.changes = (struct media_changes){.n = 2, .at_s = {1, 2}, .factor = {0, 1}};
    media_link_begin(&l, 0);
    ck_assert_int_eq(media_link_allow(&l, .5, 100), 100);
    ck_assert_int_eq(media_link_allow(&l, 1.5, 100), 0);
    ck_assert_int_eq(media_link_allow(&l, 2, 100), 100);
}

/* ---- the handlers ---- */

static char dir[64];
static double fake_now;

static double fake_clock(void *ctx)
{
    return *(double *)ctx;
}

static void put(const char *name, const char *text, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void setup(void)
{
    char path[256];
    strcpy(dir, "/tmp/abrd-media-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/media", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/media/folder", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/traces", dir);
    mkdir(path, 0700);
    put("secret", "secret", 6);
    put("media/manifest.mpd", "<MPD/>", 6);
    put("traces/README.md", "# no trace\n", 11);
    put("traces/steady", "0 8\n1 8\n2 8\n", 12);
    put("traces/broken", "0 8\n1 nan\n", 10);
    char *chunk = malloc(100000);
    for (int i = 0; i < 100000; i++)
        chunk[i] = (char)(i * 31 >> 3);
    put("media/300-1.m4s", chunk, 100000);
    free(chunk);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct media *make_logged(int viewers, const struct log *log)
{
    static char media_dir[128], traces[128];
    snprintf(media_dir, sizeof media_dir, "%s/media", dir);
    snprintf(traces, sizeof traces, "%s/traces", dir);
    fake_now = 1000;
    struct media_cfg cfg = players_cfg_default().media;
    cfg.dir = media_dir;
    cfg.traces = traces;
    cfg.viewers = viewers;
    cfg.log = log;
    cfg.clock = fake_clock;
    cfg.clock_ctx = &fake_now;
    struct err e = {0};
    struct media *m = media_new(&cfg, &e);
    ck_assert_ptr_nonnull(m);
    return m;
}

static struct media *make(int viewers)
{
    return make_logged(viewers, NULL);
}

static void get(struct reply *r, struct media *m, const char *link, const char *viewer,
                const char *file, const char *range)
{
    media_get(r, m,
              &(struct media_question){
                  .link = link, .viewer = viewer, .file = file, .range = range});
}

static int status_of(struct media *m, const char *link, const char *viewer,
                     const char *file)
{
    struct reply r;
    reply_init(&r);
    get(&r, m, link, viewer, file, NULL);
    int status = r.status;
    reply_drop(&r);
    return status;
}

TEST(a_chunk_takes_as_long_as_the_link_needs)
{
    struct media *m = make(2);
    struct reply r;
    reply_init(&r);
    get(&r, m, "steady", "v1", "300-1.m4s", NULL);
    ck_assert_int_eq(r.status, 200);
    ck_assert_int_eq(r.kind, REPLY_STREAM);
    ck_assert_int_eq(r.stream.length, 100000);
    ck_assert_str_eq(reply_header_get(&r, "Cache-Control"), "no-store");

    /* 100,000 bytes at 1e6 bytes/s after .08 s: all there at .18 s, and not before */
    static char body[100000], buf[4096];
    size_t n = 0;
    double done = 0;
    for (int ms = 0; ms < 1000 && !done; ms += 5) {
        fake_now = 1000 + ms / 1e3;
        for (;;) {
            ssize_t got = r.stream.pull(r.stream.self, buf, sizeof buf);
            if (got == REPLY_END) done = fake_now - 1000;
            if (got <= 0) break;
            memcpy(body + n, buf, (size_t)got);
            n += (size_t)got;
        }
        if (ms < 80) ck_assert_uint_eq(n, 0);
        if (ms == 130) ck_assert_uint_le(n, 50000);
    }
    ck_assert_uint_eq(n, 100000);
    ck_assert_double_ge(done, .1799);
    ck_assert_double_le(done, .1901);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(body[i], (char)(i * 31 >> 3));
    reply_drop(&r);
    media_free(m);
}

TEST(a_part_of_a_file)
{
    struct media *m = make(2);
    struct reply r;
    char buf[4096];
    reply_init(&r);
    get(&r, m, "unlimited", "v", "300-1.m4s", "bytes=99000-");
    ck_assert_int_eq(r.status, 206);
    ck_assert_int_eq(r.stream.length, 1000);
    ck_assert_str_eq(reply_header_get(&r, "Content-Range"), "bytes 99000-99999/100000");
    fake_now += 1;
    ck_assert_int_eq(r.stream.pull(r.stream.self, buf, sizeof buf), 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(buf[i], (char)((99000 + i) * 31 >> 3));
    ck_assert_int_eq(r.stream.pull(r.stream.self, buf, sizeof buf), REPLY_END);
    reply_drop(&r);

    reply_init(&r);
    get(&r, m, "unlimited", "v", "300-1.m4s", "bytes=100000-");
    ck_assert_int_eq(r.status, 416);
    ck_assert_str_eq(reply_header_get(&r, "Content-Range"), "bytes */100000");
    reply_drop(&r);

    reply_init(&r);
    get(&r, m, "unlimited", "v", "300-1.m4s", "bytes=1-2,4-5");
    ck_assert_int_eq(r.status, 200);
    ck_assert_int_eq(r.stream.length, 100000);
    reply_drop(&r);
    media_free(m);
}

TEST(nothing_outside_the_folders_can_be_named)
{
    struct media *m = make(8);
    ck_assert_int_eq(status_of(m, "steady", "v", "manifest.mpd"), 200);
    ck_assert_int_eq(status_of(m, "steady", "v", "../secret"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "folder/../../secret"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "/etc/passwd"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", ""), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "folder//1.m4s"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "300-1.m4s/"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "a/b"), 400);
    ck_assert_int_eq(status_of(m, "..", "v", "manifest.mpd"), 400);
    ck_assert_int_eq(status_of(m, "../secret", "v", "manifest.mpd"), 400);
    ck_assert_int_eq(status_of(m, "steady", ".", "manifest.mpd"), 400);
    ck_assert_int_eq(status_of(m, "steady", "v", "folder"), 404);
    ck_assert_int_eq(status_of(m, "steady", "v", "none.m4s"), 404);
    ck_assert_int_eq(status_of(m, "nowhere", "v", "manifest.mpd"), 404);
    ck_assert_int_eq(status_of(m, "broken", "v", "manifest.mpd"), 404);
    media_free(m);
}

/* Whoever lays a file into the folder of traces by mistake does not publish it. */
TEST(a_file_that_is_no_trace_is_not_quoted)
{
    struct media *m = make(2);
    static const char *const text[] = {"secret admin\n", "0 8\n1 secret\n", "0,secret\n",
                                       "{\"secret\":1}\n"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct reply r;
        put("traces/private", text[i], (int)strlen(text[i]));
        reply_init(&r);
        get(&r, m, "private", "v", "link.json", NULL);
        ck_assert_ptr_nonnull(strstr(r.data, "private")); /* its name was asked for */
        ck_assert_ptr_null(strstr(r.data, "secret"));
        ck_assert_ptr_null(strstr(r.data, dir));
        ck_assert_int_eq(r.status, 404);
        reply_drop(&r);
    }
    media_free(m);
}

TEST(a_broken_trace_is_read_once_until_it_changes)
{
    char path[128], log[128], text[4096] = "";
    snprintf(path, sizeof path, "%s/traces/broken", dir);
    snprintf(log, sizeof log, "%s/log", dir);
    int fd = open(log, O_RDWR | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    struct log to = log_init(fd, LOG_INFO, false);
    struct media *m = make_logged(2, &to);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(status_of(m, "broken", i % 2 ? "v" : "w", "link.json"), 404);
    ck_assert_int_gt(pread(fd, text, sizeof text - 1, 0), 0);
    const char *line = strstr(text, "broken is not a trace");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_null(strstr(line + 1, "broken is not a trace"));

    put("traces/broken", "0 8\n1 8\n", 8);
    ck_assert_int_eq(status_of(m, "broken", "v", "link.json"), 200);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(status_of(m, "broken", "w", "link.json"), 404);
    media_free(m);
    close(fd);
}

/* Viewers with requests under way; each counts once, however many requests it has. */
TEST(an_address_has_its_share_of_the_viewers)
{
    struct err e = {0};
    struct media *m = make(4);
    struct occupancy *held = occupancy_new(4, 7, &e);
    struct addr one, other;
    ck_assert(addr_parse(&one, "192.0.2.1", 9));
    ck_assert(addr_parse(&other, "192.0.2.2", 9));
    struct media_question q = {
        .link = "steady", .file = "300-1.m4s", .held = held, .who = one, .most = 2};
    struct reply r[6];
    static const struct {
        const char *viewer;
        bool other;
        int status;
    } row[] = {{"a", false, 200}, {"a", false, 200}, {"b", false, 200},
               {"c", false, 429}, {"b", false, 200}, {"c", true, 200}};
    for (int i = 0; i < 6; i++) {
        q.viewer = row[i].viewer;
        q.who = row[i].other ? other : one;
        reply_init(&r[i]);
        media_get(&r[i], m, &q);
        ck_assert_msg(r[i].status == row[i].status, "%d: %d", i, r[i].status);
    }
    ck_assert_str_eq(reply_header_get(&r[3], "Retry-After"), "1");
    ck_assert_int_eq(occupancy_held(held, &one), 2);
    reply_drop(&r[0]);
    ck_assert_int_eq(occupancy_held(held, &one), 2);
    reply_drop(&r[1]);
    ck_assert_int_eq(occupancy_held(held, &one), 1);

    /* a file that is not there takes none, and a viewer without a share is not counted */
    struct reply none;
    reply_init(&none);
    q.who = one;
    q.viewer = "a";
    q.file = "none.m4s";
    media_get(&none, m, &q);
    ck_assert_int_eq(none.status, 404);
    reply_drop(&none);
    ck_assert_int_eq(status_of(m, "steady", "d", "300-1.m4s"), 200);
    ck_assert_int_eq(occupancy_held(held, &one), 1);

    for (int i = 2; i < 6; i++)
        reply_drop(&r[i]);
    ck_assert_int_eq(occupancy_held(held, &one), 0);
    ck_assert_int_eq(occupancy_held(held, &other), 0);
    media_free(m);
    occupancy_free(held);
}

/* The viewer's clock; 0: it has just got a place. */
static double clock_of(struct media *m, struct media_question q, const char *viewer,
                       struct addr who)
{
    struct reply r;
    reply_init(&r);
    q.file = "link.json";
    q.viewer = viewer;
    q.who = who;
    media_get(&r, m, &q);
    ck_assert_int_eq(r.status, 200);
    const char *at = strstr(r.data, "\"now_s\":");
    ck_assert_ptr_nonnull(at);
    double now_s = strtod(at + strlen("\"now_s\":"), NULL);
    reply_drop(&r);
    return now_s;
}

/* An address that names viewers again and again removes none of other addresses. */
TEST(an_address_with_its_share_replaces_viewers_of_its_own)
{
    struct err e = {0};
    struct media *m = make(4);
    struct occupancy *held = occupancy_new(4, 7, &e);
    struct addr one, same, other, third;
    ck_assert(addr_parse(&one, "2001:db8::1", 11) &&
              addr_parse(&same, "2001:db8::2", 11));
    ck_assert(addr_parse(&other, "192.0.2.2", 9) && addr_parse(&third, "192.0.2.3", 9));
    struct media_question q = {.link = "steady", .held = held, .most = 2};
    ck_assert_double_eq(clock_of(m, q, "other", other), 0);
    for (int i = 0; i < 9; i++) {
        char name[16];
        fake_now += 1;
        snprintf(name, sizeof name, "v%d", i);
        ck_assert_double_eq(clock_of(m, q, name, i % 2 ? same : one), 0);
        struct media_question put = q;
        struct reply r;
        snprintf(name, sizeof name, "w%d", i);
        put.viewer = name;
        put.file = "link.json";
        put.who = one;
        reply_init(&r);
        media_put(&r, m, &put, "{\"from_s\":1}", 12);
        ck_assert_int_eq(r.status, 200);
        reply_drop(&r);
    }
    ck_assert_double_eq(clock_of(m, q, "other", other), 9);
    ck_assert_double_eq(clock_of(m, q, "w8", one), 0);
    /* another address gets one that is beyond the share */
    ck_assert_double_eq(clock_of(m, q, "third", third), 0);
    fake_now += 1;
    ck_assert_double_eq(clock_of(m, q, "other", other), 10);
    ck_assert_double_eq(clock_of(m, q, "third", third), 1);
    ck_assert_double_eq(clock_of(m, q, "w8", one), 1);
    /* and with its share alone it still loses one of its own */
    ck_assert_double_eq(clock_of(m, q, "again", one), 0);
    ck_assert_double_eq(clock_of(m, q, "other", other), 10);
    ck_assert_double_eq(clock_of(m, q, "third", third), 1);
    media_free(m);
    occupancy_free(held);
}

TEST(places_are_bounded)
{
    struct media *m = make(2);
    struct reply a, b;
    reply_init(&a);
    reply_init(&b);
    get(&a, m, "steady", "a", "300-1.m4s", NULL);
    get(&b, m, "lte", "b", "300-1.m4s", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_int_eq(b.status, 200);
    ck_assert_int_eq(status_of(m, "steady", "c", "manifest.mpd"), 503);
    ck_assert_int_eq(status_of(m, "steady", "a", "manifest.mpd"), 200);
    reply_drop(&b);
    ck_assert_int_eq(status_of(m, "steady", "c", "manifest.mpd"), 200);
    reply_drop(&a);
    media_free(m);
}

static int change(struct reply *r, struct media *m, const char *file, const char *body)
{
    reply_init(r);
    media_put(r, m,
              &(struct media_question){.link = "steady", .viewer = "v", .file = file},
              body, strlen(body));
    return r->status;
}

TEST(a_viewer_changes_its_own_link)
{
    struct media *m = make(2);
    struct reply r, chunk;
    char buf[200000];
    static const struct {
        const char *file, *body, *field;
        int status;
    } bad[] = {
        {"link.json", "{\"at_s\":[1],\"factor\":[1,2]}", "\"factor\"", 400},
        {"link.json", "{\"at_s\":[2,1],\"factor\":[1,2]}", "\"at_s\"", 400},
        {"link.json", "{\"at_s\":[1],\"factor\":[-1]}", "\"factor\"", 400},
        {"link.json", "{\"from_s\":-1}", "from_s", 400},
        {"300-1.m4s", "{}", "link.json", 404},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(change(&r, m, bad[i].file, bad[i].body) == bad[i].status, "%zu", i);
        ck_assert_ptr_nonnull(strstr(r.data, bad[i].field));
        reply_drop(&r);
    }

    ck_assert_int_eq(change(&r, m, "link.json", "{\"at_s\":[0.1,7.1],\"factor\":[0,1]}"),
                     200);
    ck_assert_ptr_nonnull(strstr(r.data, "\"at_s\":[0.1,7.1],\"factor\":[0,1]"));
    reply_drop(&r);
    reply_init(&chunk);
    get(&chunk, m, "steady", "v", "300-1.m4s", NULL);
    fake_now = 1000.1; /* first byte at .08 s */
    ssize_t n = chunk.stream.pull(chunk.stream.self, buf, sizeof buf);
    ck_assert_int_ge(n, 19999);
    ck_assert_int_le(n, 20001);
    fake_now = 1007;
    ck_assert_int_eq(chunk.stream.pull(chunk.stream.self, buf, sizeof buf), REPLY_LATER);
    /* a later list does not change what was carried before */
    ck_assert_int_eq(change(&r, m, "link.json", "{}"), 200);
    reply_drop(&r);
    fake_now = 1007.05;
    n = chunk.stream.pull(chunk.stream.self, buf, sizeof buf);
    ck_assert_int_ge(n, 49999);
    ck_assert_int_le(n, 50001);
    reply_drop(&chunk);
    media_free(m);
}

TEST(a_viewer_sees_his_link)
{
    struct media *m = make(2);
    struct reply r;
    reply_init(&r);
    get(&r, m, "steady", "v", "link.json", NULL);
    ck_assert_int_eq(r.status, 200);
    const char *want = "{\"name\":\"steady\",\"rtt_s\":0.08,\"now_s\":0,\"mean_mbps\":8,"
                       "\"duration_s\":2,\"time_s\":[0,1,2],\"mbps\":[8,8,8]}";
    ck_assert_mem_eq(r.data, want, r.n);
    reply_drop(&r);

    fake_now += 3.5;
    reply_init(&r);
    get(&r, m, "steady", "v", "link.json", NULL);
    ck_assert_ptr_nonnull(strstr(r.data, "\"now_s\":3.5,"));
    reply_drop(&r);

    reply_init(&r);
    media_links(&r, m);
    ck_assert_ptr_nonnull(strstr(r.data, "\"media\":true"));
    ck_assert_ptr_nonnull(strstr(r.data, "\"3g-commute\""));
    ck_assert_ptr_nonnull(strstr(r.data, "\"traces\":[\"broken\",\"steady\"]"));
    reply_drop(&r);
    media_free(m);
}

TEST(without_media_it_says_what_to_do)
{
    struct err e = {0};
    struct media_cfg cfg = players_cfg_default().media;
    struct media *m = media_new(&cfg, &e);
    struct reply r;
    reply_init(&r);
    get(&r, m, "lte", "v", "manifest.mpd", NULL);
    ck_assert_int_eq(r.status, 404);
    ck_assert_ptr_nonnull(strstr(r.data, "make media"));
    reply_drop(&r);
    media_free(m);
}

Suite *suite_serve_players_media(void);

Suite *suite_serve_players_media(void)
{
    Suite *s = suite_create("serve/media");
    TCase *link = tcase_create("link");
    tcase_add_test(link, carries_is_the_integral);
    tcase_add_test(link, first_byte_after_a_round_trip);
    tcase_add_test(link, nothing_is_saved_while_idle);
    tcase_add_test(link, requests_share_a_link);
    tcase_add_test(link, no_slivers);
    tcase_add_test(link, without_a_trace_there_is_no_limit);
    tcase_add_test(link, changes_count_from_their_time_on);
    suite_add_tcase(s, link);

    TCase *get = tcase_create("get");
    tcase_add_checked_fixture(get, setup, teardown);
    tcase_add_test(get, a_chunk_takes_as_long_as_the_link_needs);
    tcase_add_test(get, a_part_of_a_file);
    tcase_add_test(get, nothing_outside_the_folders_can_be_named);
    tcase_add_test(get, a_file_that_is_no_trace_is_not_quoted);
    tcase_add_test(get, places_are_bounded);
    tcase_add_test(get, an_address_has_its_share_of_the_viewers);
    tcase_add_test(get, an_address_with_its_share_replaces_viewers_of_its_own);
    tcase_add_test(get, a_broken_trace_is_read_once_until_it_changes);
    tcase_add_test(get, a_viewer_sees_his_link);
    tcase_add_test(get, a_viewer_changes_its_own_link);
    tcase_add_test(get, without_media_it_says_what_to_do);
    suite_add_tcase(s, get);
    return s;
}
