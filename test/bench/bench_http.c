/* What a request costs: CPU microseconds of the server's request thread at 64 keep-alive
 * connections, beside nginx answering `return 200` in the same minute, from the same load.
 * The rounds go in turn, so that whatever else the machine does meets them all.
 *
 * Beside them a server of a dozen lines on the HTTP library alone, which answers every request
 * with one empty response: what is ours is what lies above it.
 *
 * http.*_x are ratios to nginx of the same round. The store's and the learner's threads work
 * for decisions too, but behind the answer: they are told apart. */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/bench.h"
#include "support/hammer.h"
#include "support/server.h"
#include "support/tmpdir.h"
#include "support/viewers.h"

enum { ROUNDS = 9, REQUESTS = 10000 };

/* ---- servers ---- */

static char folder[256];

/* pid 0 when there is no nginx */
static struct server start_nginx(void)
{
    char path[300], text[768];
    int port = server_port();
    const char *const known[] = {"/usr/sbin/nginx", "/usr/bin/nginx",
                                 "/usr/local/sbin/nginx"};
    const char *nginx = NULL;
    for (int i = 0; i < 3 && !nginx; i++)
        if (access(known[i], X_OK) == 0) nginx = known[i];
    if (!nginx) return (struct server){0};

    snprintf(path, sizeof path, "%s/nginx.conf", folder);
    snprintf(text, sizeof text,
             "daemon off; master_process off; worker_processes 1; pid %s/nginx.pid;\n"
             "error_log /dev/null crit;\nevents { worker_connections 256; }\n"
             "http { access_log off; keepalive_requests 1000000000;\n"
             "server { listen 127.0.0.1:%d; location / { return 200; } } }\n",
             folder, port);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bench_fail("%s: %s", path, strerror(errno));
    const char *argv[] = {nginx, "-p", folder, "-c", path, "-e", "/dev/null", NULL};
    return server_start(argv, port, NULL);
}

static struct server start_abrd(void)
{
    char data[300], number[16];
    int port = server_port();
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(number, sizeof number, "%d", port);
    const char *argv[] = {"build/abrd", "serve",  "--port", number, "--workers",
                          "1",          "--data", data,     NULL};
    return server_start(argv, port, NULL);
}

static enum MHD_Result answer_empty(void *cls, struct MHD_Connection *c, const char *url,
                                    const char *method, const char *version,
                                    const char *data, size_t *n, void **request)
{
    (void)url, (void)method, (void)version, (void)data;
    if (!*request || *n) {
        *request = cls;
        *n = 0;
        return MHD_YES;
    }
    return MHD_queue_response(c, MHD_HTTP_OK, cls);
}

/* This program again, as that server. */
static int library_alone(int port)
{
    struct MHD_Response *empty =
        MHD_create_response_from_buffer(0, folder, MHD_RESPMEM_PERSISTENT);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL, (uint16_t)port, NULL, NULL, answer_empty, empty,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)10240, MHD_OPTION_END);
    if (!d) return 1;
    struct pollfd ready = {.fd =
                               MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                           .events = POLLIN};
    while (poll(&ready, 1, 1000) >= 0)
        MHD_run(d);
    return 0;
}

static struct server start_library(void)
{
    char number[16];
    int port = server_port();
    snprintf(number, sizeof number, "%d", port);
    const char *argv[] = {"/proc/self/exe", "library", number, NULL};
    return server_start(argv, port, NULL);
}

/* ---- requests ---- */

static struct viewer viewers[HAMMER_CONNECTIONS];

static size_t get(char *out, int i, const char *answer, void *path)
{
    (void)i;
    (void)answer;
    return (size_t)snprintf(out, HAMMER_BYTES,
                            "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                            (const char *)path);
}

/* ---- rounds ---- */

struct load {
    struct server server;
    struct hammer *hammer;
    const char *thread; /* whose time counts */
    double us[ROUNDS], store[ROUNDS], learner[ROUNDS];
};

/* records on their way to the store, by /metrics */
static long queued(int port)
{
    static const char ask_for[] =
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    static char text[1 << 18];
    int fd = server_dial(port);
    size_t n = 0;
    if (fd < 0 || send(fd, ask_for, sizeof ask_for - 1, 0) < 0)
        bench_fail("/metrics: %s", strerror(errno));
    for (ssize_t got; (got = recv(fd, text + n, sizeof text - 1 - n, 0)) > 0;)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    const char *at = strstr(text, "\nabrd_store_queue ");
    if (!at) bench_fail("/metrics tells no queue");
    return atol(at + 18);
}

/* What was put in the store's queue is written, so that each load meets an empty one. */
static void settle(struct server s)
{
    while (queued(s.port))
        usleep(100000);
}

static void round_of(struct load *l, int r)
{
    if (*l->thread) settle(l->server);
    hammer_run(l->hammer, REQUESTS / 10); /* warm */
    double t = server_cpu(l->server, l->thread), store = server_cpu(l->server, "store"),
           learner = server_cpu(l->server, "learner");
    double n = (double)hammer_run(l->hammer, REQUESTS);
    l->us[r] = 1e6 * (server_cpu(l->server, l->thread) - t) / n;
    l->store[r] = 1e6 * (server_cpu(l->server, "store") - store) / n;
    l->learner[r] = 1e6 * (server_cpu(l->server, "learner") - learner) / n;
}

static void tell(struct bench *b, const struct load *l, const struct load *nginx,
                 const char *name, struct bench_goal goal)
{
    char key[64];
    double x[ROUNDS];
    snprintf(key, sizeof key, "%s_us", name);
    bench_put(b, key, l->us, ROUNDS, "us", (struct bench_goal){0}, "");
    if (!nginx->hammer) return;
    snprintf(key, sizeof key, "%s_x", name);
    for (int i = 0; i < ROUNDS; i++)
        x[i] = l->us[i] / nginx->us[i];
    bench_put(b, key, x, ROUNDS, "x nginx", goal, "");
}

static void open_all(struct load *l)
{
    l->hammer = hammer_open(l->server.port, viewers_open, viewers);
    hammer_run(l->hammer, HAMMER_CONNECTIONS);
    hammer_become(l->hammer, viewers_ask);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "library") == 0) return library_alone(atoi(argv[2]));
    snprintf(folder, sizeof folder, "%s", tmpdir_new());
    struct bench *b = bench_open("http");
    struct server ours = start_abrd(), anchor = start_nginx(), library = start_library();
    char root[] = "/", healthz[] = "/healthz";
    unsigned turn = 0;
    struct load nginx = {.server = anchor, .thread = ""},
                alone = {.server = library, .thread = ""},
                health = {.server = ours, .thread = "worker"}, session = health,
                stateless = health;
    if (anchor.pid) nginx.hammer = hammer_open(anchor.port, get, root);
    alone.hammer = hammer_open(library.port, get, root);
    health.hammer = hammer_open(ours.port, get, healthz);
    stateless.hammer = hammer_open(ours.port, viewers_decide, &turn);
    open_all(&session);
    for (int r = 0; r < ROUNDS; r++) {
        if (anchor.pid) round_of(&nginx, r);
        round_of(&alone, r);
        round_of(&health, r);
        round_of(&session, r);
        round_of(&stateless, r);
    }

    const struct bench_goal none = {0};
    bench_say("CPU per request at %d keep-alive connections:", HAMMER_CONNECTIONS);
    if (anchor.pid)
        bench_put(b, "nginx_us", nginx.us, ROUNDS, "us", none, "return 200");
    else
        bench_say("  no nginx here (apt: nginx-light): no ratios");
    tell(b, &alone, &nginx, "library", none);
    tell(b, &health, &nginx, "healthz", (struct bench_goal){1.2, 1.0, false});
    tell(b, &session, &nginx, "decision", (struct bench_goal){3.5, 1.5, false});
    tell(b, &stateless, &nginx, "decide", none);
    bench_put(b, "decision_store_us", session.store, ROUNDS, "us", none,
              "the thread that writes, behind the answer");
    bench_put(b, "decision_learner_us", session.learner, ROUNDS, "us", none,
              "the thread that learns");
    bench_close(b);

    server_stop(&ours);
    server_stop(&library);
    if (anchor.pid) server_stop(&anchor);
    tmpdir_remove(folder);
    return 0;
}
