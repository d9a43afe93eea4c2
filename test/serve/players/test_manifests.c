/* Manifests whose files a small origin serves. What only a whole daemon has is in test/http/origin_hls.mjs. */
#include "serve/players/manifests.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/listen.h"
#include "serve/players/players.h"
#include "support/suites.h"

static struct {
    int listen_fd, port;
    pthread_t thread;
    const char
        *_Atomic answer; /* of every request; "": none, the connection stays open */
    atomic_int asked;
} far;

static struct origin *o;
static struct contents *c;
static struct manifests *m;
static struct log log_to_pipe;
static int told[2];

static void *answer_all(void *ctx)
{
    int silent[8], n_silent = 0;
    (void)ctx;
    for (int fd; (fd = accept(far.listen_fd, NULL, NULL)) >= 0;) {
        char text[4096];
        const char *answer = far.answer;
        ssize_t n = recv(fd, text, sizeof text, 0);
        far.asked++;
        if (n > 0 && *answer) (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        if (*answer || n_silent == 8)
            close(fd);
        else
            silent[n_silent++] = fd;
    }
    while (n_silent)
        close(silent[--n_silent]);
    return NULL;
}

static void begin(void)
{
    struct err e = {0};
    char text[100];
    memset(&far, 0, sizeof far);
    far.listen_fd = listen_open("127.0.0.1", &far.port, &e);
    ck_assert_msg(far.listen_fd >= 0, "%s", e.detail);
    ck_assert_int_eq(fcntl(far.listen_fd, F_SETFL, 0), 0); /* its thread may wait */
    ck_assert_int_eq(pthread_create(&far.thread, NULL, answer_all, NULL), 0);
    struct origin_cfg cfg = players_cfg_default().origin;
    snprintf(text, sizeof text, "far=http://127.0.0.1:%d/base", far.port);
    ck_assert_int_eq(origins_add(&cfg.names, text, &e), 0);
    o = origin_new(&cfg, &e);
    c = contents_new(4, origin_names(o), &e);
    ck_assert_int_eq(pipe(told), 0);
    log_to_pipe = log_init(told[1], LOG_INFO, false);
    m = manifests_new(o, c, &log_to_pipe, &e);
    ck_assert_msg(m != NULL, "%s", e.detail);
}

static void end(void)
{
    manifests_free(m);
    contents_free(c);
    origin_free(o);
    shutdown(far.listen_fd, SHUT_RDWR);
    pthread_join(far.thread, NULL);
    close(far.listen_fd);
    close(told[0]);
    close(told[1]);
}

#define PLAYLIST                      \
    "HTTP/1.1 200 OK\r\nConnection: " \
    "close\r\n\r\n#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:4,\n2.ts\n#EXT-X-ENDLIST\n"
#define MASTER                                                 \
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlo/x.m3u8\n" \
    "#EXT-X-STREAM-INF:BANDWIDTH=2000000\nhi/x.m3u8\n"

static void add(const char *path, const char *text)
{
    char url[256];
    ck_assert(origins_url(url, sizeof url, origin_names(o), path));
    const struct contents_manifest one = {
        .path = path, .url = url, .text = text, .n = strlen(text)};
    ck_assert(manifests_takes(&one));
    manifests_add(m, &one);
}

/* Until it has been read. */
static struct content *wait_for(const char *path)
{
    struct content *one;
    while (!(one = contents_of(c, path)))
        sched_yield();
    return one;
}

static void wait_for_line(const char *says)
{
    char line[1024];
    ssize_t n = read(told[0], line, sizeof line - 1);
    ck_assert_int_gt(n, 0);
    line[n] = '\0';
    ck_assert_msg(strstr(line, says) != NULL, "%s", line);
}

TEST(media_playlists_are_read_once)
{
    far.answer = PLAYLIST;
    add("far/film/m.m3u8", MASTER);
    struct content *one = wait_for("far/film/m.m3u8");
    ck_assert(contents_video(one)->levels == 2 && contents_video(one)->chunks == 2);
    struct contents_chunk chunk = contents_chunk(one, "far/film/hi/2.ts?x", -1);
    ck_assert(chunk.number == 2 && chunk.level == 1);
    contents_put(c, one);
    int before = far.asked;
    ck_assert_int_eq(before, 2);
    add("far/film/m.m3u8", MASTER);
    add("far/other/m.m3u8", MASTER); /* behind it */
    contents_put(c, wait_for("far/other/m.m3u8"));
    ck_assert_int_eq(far.asked, before + 2);
}

TEST(what_fails_for_now_is_read_again)
{
    far.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    add("far/film/m.m3u8", MASTER);
    wait_for_line("answered 503");
    far.answer = PLAYLIST;
    add("far/film/m.m3u8", MASTER);
    contents_put(c, wait_for("far/film/m.m3u8"));

    far.answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    add("far/gone/m.m3u8", MASTER);
    wait_for_line("answered 404");
    int before = far.asked;
    add("far/gone/m.m3u8", MASTER); /* known: it cannot be read */
    add("far/else/m.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nhttp://else/x\n");
    wait_for_line("no origin");
    ck_assert_int_eq(far.asked, before);
}

TEST(an_end_does_not_wait)
{
    far.answer = "";
    add("far/film/m.m3u8", MASTER);
    while (!far.asked)
        sched_yield();
}

TEST(which_are_read_here)
{
    const struct {
        const char *text;
        bool takes;
    } t[] = {{"<MPD><SegmentBase/></MPD>", true},
             {"<MPD><SegmentTemplate/></MPD>", false},
             {"<MPD><SegmentTemplate><SegmentTimeline/></SegmentTemplate></MPD>", true},
             {MASTER, true},
             {"#EXTM3U\n#EXTINF:4,\n1.ts\n", false}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        const struct contents_manifest one = {
            .path = "p", .url = "u", .text = t[i].text, .n = strlen(t[i].text)};
        ck_assert_int_eq(manifests_takes(&one), t[i].takes);
    }
}

SUITE_SET_UP(serve_players_manifests, 0, begin, end, media_playlists_are_read_once,
             what_fails_for_now_is_read_again, an_end_does_not_wait, which_are_read_here);
