/* The test is the service manager: it holds the port, listens to what the daemon tells, reloads it,
 * and starts it again while a client waits. */
#include "cli/serve/manager.h"

#include "serve/http/listen.h"
#include "support/raw.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 300000 };

static const char *dir;
static struct sockaddr_un notify;
static int hears;

static void begin(void)
{
    dir = tmpdir_new();
    notify = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(notify.sun_path, sizeof notify.sun_path, "%s/notify", dir);
    hears = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(hears, (struct sockaddr *)&notify, sizeof notify), 0);
}

static void end(void)
{
    close(hears);
}

/* The next message, without those that begin with `passed_over`. */
static void told(const char *begins, const char *passed_over)
{
    char text[512];
    do {
        struct pollfd p = {.fd = hears, .events = POLLIN};
        ck_assert_msg(poll(&p, 1, WAIT_MS) == 1, "waited for %s", begins);
        ssize_t n = recv(hears, text, sizeof text - 1, 0);
        ck_assert_int_gt(n, 0);
        text[n] = '\0';
    } while (passed_over && !strncmp(text, passed_over, strlen(passed_over)));
    ck_assert_msg(!strncmp(text, begins, strlen(begins)), "%s, not %s", text, begins);
}

TEST(what_is_told)
{
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", notify.sun_path, 1), 0);
    manager_ready("all is well");
    told("READY=1\nSTATUS=all is well", NULL);
    manager_reloading(1.5);
    told("RELOADING=1\nMONOTONIC_USEC=1500000", NULL);
    manager_alive();
    told("WATCHDOG=1", NULL);
    manager_stopping();
    told("STOPPING=1", NULL);
    ck_assert_double_eq(manager_watchdog_s(), 0);
    setenv("WATCHDOG_USEC", "2500000", 1);
    ck_assert_double_eq(manager_watchdog_s(), 2.5);
    setenv("WATCHDOG_PID", "1", 1); /* for another process */
    ck_assert_double_eq(manager_watchdog_s(), 0);
    unsetenv("NOTIFY_SOCKET");
    manager_ready("nobody listens");
}

TEST(sockets_are_counted)
{
    struct err e = {0};
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ck_assert_int_eq(manager_socket(&e), MANAGER_NONE);
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "2", 1);
    int two[2];
    ck_assert_int_eq(pipe(two), 0);
    ck_assert_int_eq(dup2(two[0], 3),
                     3); /* whatever was there: this is a process of its own */
    ck_assert_int_eq(dup2(two[1], 4), 4);
    ck_assert_int_eq(manager_socket(&e), ERR_INVALID);
    ck_assert_str_eq(e.field, "LISTEN_FDS");
}

TEST(only_listening_tcp_is_adopted)
{
    char address[LISTEN_ADDRESS];
    int port = 0, two[2], fd = listen_open("127.0.0.1", &port, NULL), told_port = 0;
    ck_assert_int_eq(listen_adopt(address, &told_port, fd, NULL), 0);
    ck_assert_str_eq(address, "127.0.0.1");
    ck_assert_int_eq(told_port, port);
    struct err e = {0};
    int plain = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(listen_adopt(address, &told_port, plain, &e), ERR_INVALID);
    ck_assert_int_eq(listen_adopt(address, &told_port, hears, &e), ERR_INVALID);
    ck_assert_int_eq(pipe(two), 0);
    ck_assert_int_eq(listen_adopt(address, &told_port, two[0], &e), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "ListenStream="));
    close(two[0]);
    close(two[1]);
    close(plain);
    close(fd);
}

/* The built daemon, handed `fd`. */
static pid_t start(int fd, const char *watchdog_usec)
{
    char self[1024], log[100];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = '\0';
    strcpy(strrchr(self, '/'), "/abrd");
    snprintf(log, sizeof log, "%s/log", dir);
    pid_t pid = fork();
    if (pid) return pid;

    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char me[32];
    snprintf(me, sizeof me, "%d", (int)getpid());
    setenv("LISTEN_PID", me, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("NOTIFY_SOCKET", notify.sun_path, 1);
    setenv("WATCHDOG_USEC", watchdog_usec, 1);
    if (dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(fd, 3) < 0) _exit(99);
    /* an address that is not that of the socket: it must not count */
    execl(self, "abrd", "serve", "--bind", "203.0.113.1", "--port", "1", (char *)NULL);
    _exit(98);
}

static void ends(pid_t pid, int code)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), code);
}

static void healthy(int fd)
{
    struct raw_answer *a = malloc(sizeof *a);
    ck_assert_ptr_nonnull(a);
    raw_answer(a, fd);
    ck_assert_int_eq(a->status, 200);
    free(a);
    close(fd);
}

static int ask(int port)
{
    int fd = raw_connect(port);
    raw_text(fd, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    return fd;
}

TEST(a_daemon_under_a_manager)
{
    int port = 0, listening = listen_open("127.0.0.1", &port, NULL);
    ck_assert_int_ge(listening, 0);
    int early = ask(port); /* before anybody is there to answer */
    char ready[80];
    snprintf(ready, sizeof ready, "READY=1\nSTATUS=answering at http://127.0.0.1:%d",
             port);

    pid_t pid = start(listening, "2000000");
    told(ready, NULL);
    healthy(early);
    told("WATCHDOG=1", NULL);
    ck_assert_int_eq(kill(pid, SIGHUP), 0);
    told("RELOADING=1\nMONOTONIC_USEC=", "WATCHDOG=1");
    told(ready, "WATCHDOG=1");
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    told("STOPPING=1", "WATCHDOG=1");
    ends(pid, 0);

    int between = ask(port); /* the manager holds the port: no client is refused */
    pid = start(listening, "2000000");
    told(ready, NULL);
    healthy(between);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    told("STOPPING=1", "WATCHDOG=1");
    ends(pid, 0);

    /* not a socket to serve on */
    pid = start(hears, "2000000");
    ends(pid, 1);
    close(listening);
}

SUITE_SET_UP(cli_serve_manager, 90, begin, end, what_is_told, sockets_are_counted,
             only_listening_tcp_is_adopted, a_daemon_under_a_manager);
