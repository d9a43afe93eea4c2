/* Nobody's request is slower for what others do: decisions of a few players are timed in turns,
 * alone and beside an attack, on one daemon. What counts is the ratio of the two in one turn, and
 * of the turns the median: the machine's own moods meet both.
 *
 *   slow      SLOW connections that send a byte a second, half of them in the head
 *   hoard     as many connections as there may be and a hundred more, in mid-request
 *   garbage   requests that are refused, a connection for each
 *   flood     sessions asked for by one address, beyond its limit
 *   keep      another address holds as many connections as it gets, each with a whole request
 *             every few seconds; the players come from an address of their own
 *   history   the history of a day (STEPS chunks) is read whole, 3.3 times a second at most
 *
 * PLAYERS, ASKS (a turn), TURNS, SLOW and STEPS come from the environment; ONLY=NAME is one attack. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "support/bench.h"
#include "support/client.h"
#include "support/trial.h"

#define WORKERS 2
#define PLACES 700 /* of a worker */
#define TURNS_MAX 25

static const char OPEN[] =
    "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"chunks\":0}";

/* ---- the players ---- */

struct player {
    struct client client;
    bool anew; /* a connection for each request: those who are there keep their places */
    char path[96];
    int chunk;
};

static void open_player(struct player *p, int port, const char *from)
{
    *p = (struct player){.client = client_open(port)};
    p->client.from = from;
    p->anew = from != NULL;
    if (client_ask(&p->client, "POST", "/v1/sessions", OPEN) != 201)
        bench_fail("a session is refused: %s", client_body(&p->client));
    const char *id = strstr(client_body(&p->client), "\"session\":\"");
    if (!id) bench_fail("a session without a name");
    snprintf(p->path, sizeof p->path, "/v1/sessions/%.32s/decisions",
             id + strlen("\"session\":\""));
}

/* Seconds that an answer took; INFINITY when there was none. */
static double ask(struct player *p)
{
    char body[128];
    snprintf(body, sizeof body, "{\"chunk\":%d,\"buffer_s\":12.5}", ++p->chunk);
    if (p->anew && p->client.fd >= 0) {
        close(p->client.fd);
        p->client.fd = -1;
    }
    double begun = clock_mono();
    int status = client_ask(&p->client, "POST", p->path, body);
    return status == 200 ? clock_mono() - begun : INFINITY;
}

struct turn {
    double p50, p99;
    int failed;
};

static struct turn play(struct player *p, int players, int asks, double *seconds)
{
    struct turn t = {0};
    int n = 0;
    for (int i = 0; i < asks; i++) {
        double s = ask(&p[i % players]);
        if (isfinite(s))
            seconds[n++] = s;
        else
            t.failed++;
        poll(NULL, 0, 1); /* players pause; a closed loop would be an attack of its own */
    }
    t.p50 = n ? stats_percentile(seconds, n, .5) : INFINITY;
    t.p99 = n ? stats_percentile(seconds, n, .99) : INFINITY;
    return t;
}

/* ---- the attacks ---- */

enum attack { SLOW, HOARD, GARBAGE, FLOOD, KEEP, HISTORY, ATTACKS };
static const char *const NAMES[ATTACKS] = {"slow",  "hoard", "garbage",
                                           "flood", "keep",  "history"};
#define READ_EVERY_S 0.3
#define HOLDS "127.0.0.3"
#define PLAYS "127.0.0.2"

struct attacker {
    enum attack what;
    int port, slow;
    const char *history; /* the path of the long session */
    int steps;           /* it has */
    _Atomic bool ready, stop;
    long sent, answered; /* requests or connections; answers as they must be */
};

static bool say(int fd, const char *text, size_t n)
{
    return send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

/* Connections that never finish what they begin; one that was cut is opened again. */
static void trickle(struct attacker *a, int n)
{
    static const char head[] = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX: ",
                      body[] = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 16000\r\n\r\n ";
    int *fd = calloc((size_t)n, sizeof *fd);
    if (!fd) bench_fail("no memory");
    for (int i = 0; i < n; i++)
        fd[i] = -1;
    while (!a->stop) {
        for (int i = 0; i < n && !a->stop; i++) {
            if (fd[i] >= 0 && say(fd[i], "x", 1)) continue;
            if (fd[i] >= 0) {
                close(fd[i]);
                a->answered++; /* cut off, as it must be some day */
            }
            fd[i] = server_dial(a->port);
            if (fd[i] < 0) continue;
            a->sent++;
            say(fd[i], i % 2 ? head : body, (i % 2 ? sizeof head : sizeof body) - 1);
        }
        a->ready = true;
        for (int i = 0; i < 20 && !a->stop; i++)
            poll(NULL, 0, 50);
    }
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0) close(fd[i]);
    free(fd);
}

/* One request on a connection of its own; its status, 0 when it was cut. */
static int once(int port, const char *text)
{
    int fd = server_dial(port);
    if (fd < 0) return 0;
    char answer[64] = "";
    int status = 0;
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) > 0 &&
        recv(fd, answer, sizeof answer - 1, 0) > 12)
        status = atoi(answer + 9);
    close(fd);
    return status;
}

static void garbage(struct attacker *a)
{
    static const char *const text[] = {
        "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: "
        "2\r\n\r\nx",
        "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x\r\n\r\n",
        "GET / HTTP/1.1\nHost: localhost\n\n",
        "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "99999999\r\n\r\n"};
    for (int i = 0; !a->stop; i++) {
        int status = once(a->port, text[i % 4]);
        a->sent++;
        a->answered += status == 400 || status == 413;
        a->ready = true;
        poll(NULL, 0, 2);
    }
}

/* As a proxy on this machine passes it on. */
static void flood(struct attacker *a)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n"
        "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(OPEN), OPEN);
    while (!a->stop) {
        int status = once(a->port, text);
        a->sent++;
        a->answered += status == 429;
        a->ready = true;
        poll(NULL, 0, 2);
    }
}

/* Reads what came; false when the connection was closed. */
static bool still_open(int fd)
{
    char answer[2048];
    ssize_t n;
    while ((n = recv(fd, answer, sizeof answer, MSG_DONTWAIT)) > 0)
        continue;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* As many connections as there may be and a hundred more, none of them slow or malformed. */
static void keep(struct attacker *a, int n)
{
    static const char text[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int *fd = malloc((size_t)n * sizeof *fd);
    if (!fd) bench_fail("no memory");
    for (int i = 0; i < n; i++)
        fd[i] = -1;
    while (!a->stop) {
        for (int i = 0; i < n && !a->stop; i++) {
            if (fd[i] >= 0 && still_open(fd[i]) && say(fd[i], text, sizeof text - 1))
                continue;
            if (fd[i] >= 0) {
                close(fd[i]);
                a->answered++; /* refused */
            }
            fd[i] = server_dial_from(HOLDS, a->port);
            if (fd[i] < 0) continue;
            a->sent++;
            say(fd[i], text, sizeof text - 1);
        }
        a->ready = true;
        for (int i = 0; i < 40 && !a->stop; i++)
            poll(NULL, 0, 50);
    }
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0) close(fd[i]);
    free(fd);
}

/* Reads the whole answer; its lines, -1 if it is not one with 200. */
static int lines_of(int fd)
{
    char part[65536], head[16] = "";
    size_t got = 0;
    int lines = 0;
    for (ssize_t n; (n = recv(fd, part, sizeof part, 0)) > 0; got += (size_t)n) {
        for (size_t i = 0; got + i < sizeof head - 1 && i < (size_t)n; i++)
            head[got + i] = part[i];
        for (ssize_t i = 0; i < n; i++)
            lines += part[i] == '\n';
    }
    return atoi(head + 9) == 200 ? lines : -1;
}

/* Each answer is whole if it has a line for each step. */
static void read_history(struct attacker *a)
{
    char text[256];
    snprintf(text, sizeof text,
             "GET %s?format=csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
             a->history);
    while (!a->stop) {
        double begun = clock_mono();
        int fd = server_dial(a->port);
        if (fd < 0) continue;
        bool said = send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
        a->ready = true;
        a->sent++;
        int lines = said ? lines_of(fd) : -1;
        close(fd);
        if (lines >= a->steps) a->answered++;
        while (!a->stop && clock_mono() - begun < READ_EVERY_S)
            poll(NULL, 0, 5);
    }
}

static void *attack(void *ctx)
{
    struct attacker *a = ctx;
    if (a->what == SLOW) trickle(a, a->slow);
    if (a->what == HOARD) trickle(a, WORKERS * PLACES + 100);
    if (a->what == GARBAGE) garbage(a);
    if (a->what == FLOOD) flood(a);
    if (a->what == KEEP) keep(a, WORKERS * PLACES + 100);
    if (a->what == HISTORY) read_history(a);
    return NULL;
}

/* ---- the trial ---- */

/* A session with so many steps in it; its path. */
static void make_history(char *path, size_t size, int port, int steps)
{
    struct player p;
    open_player(&p, port, NULL);
    snprintf(path, size, "%.*s", (int)(strlen(p.path) - strlen("/decisions")), p.path);
    char rewards[112], body[128];
    snprintf(rewards, sizeof rewards, "%s/rewards", path);
    int refused = 0;
    for (int i = 0; i < steps;) {
        snprintf(body, sizeof body,
                 "{\"chunk\":%d,\"level\":1,\"bytes\":300000,\"download_s\":1.25,"
                 "\"rebuffer_s\":0}",
                 i);
        int status = client_ask(&p.client, "POST", rewards, body);
        if (status == 200)
            i++;
        else if (status == 503 && refused++ < 10000)
            poll(NULL, 0, 10); /* the disk is behind */
        else
            bench_fail("chunk %d is refused: %s", i, client_body(&p.client));
    }
    client_close(&p.client);
}

struct result {
    double p99_alone[TURNS_MAX], p99_beside[TURNS_MAX], ratio[TURNS_MAX];
    int failed;
    long sent, answered;
    double seconds; /* of all its turns together */
};

static void run(struct result *r, const struct attacker *as, int players, int asks,
                int turns)
{
    int port = as->port;
    double *seconds = malloc((size_t)asks * sizeof *seconds);
    struct player *p = calloc((size_t)players, sizeof *p);
    if (!seconds || !p) bench_fail("no memory");
    *r = (struct result){0};
    double begun = clock_mono();
    for (int i = 0; i < players; i++)
        open_player(&p[i], port, as->what == KEEP ? PLAYS : NULL);
    for (int i = 0; i < turns; i++) {
        struct turn alone = play(p, players, asks, seconds);
        struct attacker a = *as;
        pthread_t thread;
        if (pthread_create(&thread, NULL, attack, &a)) bench_fail("no thread");
        while (!a.ready)
            poll(NULL, 0, 1);
        struct turn beside = play(p, players, asks, seconds);
        a.stop = true;
        pthread_join(thread, NULL);
        r->p99_alone[i] = alone.p99 * 1e3;
        r->p99_beside[i] = beside.p99 * 1e3;
        r->ratio[i] = beside.p99 / alone.p99;
        r->failed += alone.failed + beside.failed;
        r->sent += a.sent;
        r->answered += a.answered;
    }
    r->seconds = clock_mono() - begun;
    for (int i = 0; i < players; i++)
        client_close(&p[i].client);
    free(p);
    free(seconds);
}

static void put_row(struct report *r, const char *name, struct result *x, int turns)
{
    report_row(r);
    report_cell(r, "attack", "%s", name);
    report_real(r, "p99 alone [ms]", stats_percentile(x->p99_alone, turns, .5), 3);
    report_real(r, "p99 beside it [ms]", stats_percentile(x->p99_beside, turns, .5), 3);
    report_interval(r, "ratio", stats_percentile(x->ratio, turns, .5),
                    stats_percentile(x->ratio, turns, 0),
                    stats_percentile(x->ratio, turns, 1), 2);
    report_int(r, "requests failed", x->failed);
    report_int(r, "hostile ones sent", x->sent);
    report_int(r, "answered as intended", x->answered);
}

/* ONLY=NAME, else all. */
static bool wanted(enum attack what)
{
    const char *only = getenv("ONLY");
    return !only || !*only || strcmp(only, NAMES[what]) == 0;
}

int main(void)
{
    struct trial *t = trial_new("hostile", "Other clients beside an attack");
    int players = (int)trial_option(t, "PLAYERS", 8),
        asks = (int)trial_option(t, "ASKS", 1000),
        turns = (int)trial_option(t, "TURNS", 7),
        slow = (int)trial_option(t, "SLOW", 500),
        steps = (int)trial_option(t, "STEPS", 21600);
    /* on a busy machine a second process can double any p99; bounded forms look at the rest */
    double most = trial_option(t, "MOST", 2);
    if (turns > TURNS_MAX) turns = TURNS_MAX;
    char places[16];
    snprintf(places, sizeof places, "%d", PLACES);
    trial_start(t, (const char *[]){"--learn", "off", "--workers", "2", "--trust-proxy",
                                    "127.0.0.1", "--max-connections", places, NULL});

    struct report *r = trial_report(t);
    struct result x[ATTACKS];
    char history[96] = "";
    if (wanted(HISTORY))
        make_history(history, sizeof history, trial_server(t)->port, steps);
    for (int i = 0; i < ATTACKS; i++) {
        struct attacker as = {.what = (enum attack)i,
                              .port = trial_server(t)->port,
                              .slow = slow,
                              .history = history,
                              .steps = steps};
        if (wanted(as.what)) run(&x[i], &as, players, asks, turns);
    }
    report_table(r, "Players beside each attack");
    for (int i = 0; i < ATTACKS; i++)
        if (wanted((enum attack)i)) put_row(r, NAMES[i], &x[i], turns);

    for (int i = 0; i < ATTACKS; i++) {
        if (!wanted((enum attack)i)) continue;
        char name[96];
        snprintf(name, sizeof name, "%s: p99 of others, beside / alone", NAMES[i]);
        report_check(r, name, stats_percentile(x[i].ratio, turns, .5), 0, most);
        snprintf(name, sizeof name, "%s: requests of others that failed", NAMES[i]);
        report_check(r, name, x[i].failed, 0, 0);
        snprintf(name, sizeof name, "%s: hostile requests and connections", NAMES[i]);
        report_check(r, name, (double)x[i].sent, 1, INFINITY);
    }
    if (wanted(GARBAGE))
        report_check(r, "garbage: share refused",
                     (double)x[GARBAGE].answered / (double)x[GARBAGE].sent, 1, 1);
    /* 20 a second, ten seconds of them at once */
    if (wanted(FLOOD))
        report_check(r, "flood: sessions let in",
                     (double)(x[FLOOD].sent - x[FLOOD].answered), 1,
                     20 * (10 + x[FLOOD].seconds) + 1);
    if (wanted(HISTORY))
        report_check(r, "history: answers that are not whole",
                     (double)(x[HISTORY].sent - x[HISTORY].answered), 0, 0);
    return trial_end(t);
}
