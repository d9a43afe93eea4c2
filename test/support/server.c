#include "support/server.h"

#include <dirent.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/bench.h"

int server_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) ||
        getsockname(fd, (struct sockaddr *)&a, &n))
        bench_fail("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(a.sin_port);
}

int server_dial_from(const char *from, int port)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = !from || (inet_pton(AF_INET, from, &own.sin_addr) == 1 &&
                           bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
    if (fd >= 0 && bound && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

int server_dial(int port)
{
    return server_dial_from(NULL, port);
}

struct server server_launch(const char *const *argv, int port, const char *log)
{
    struct server s = {.pid = fork(), .port = port};
    if (s.pid < 0) bench_fail("fork: %s", strerror(errno));
    if (s.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a trial that fails leaves nobody behind */
        int out = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                       0600);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return s;
}

static bool ended(struct server *s)
{
    int status;
    if (waitpid(s->pid, &status, WNOHANG) == s->pid) s->pid = 0;
    return !s->pid;
}

bool server_wait(struct server *s, double limit_s)
{
    double until_s = clock_mono() + limit_s;
    for (;;) {
        int fd = server_dial(s->port);
        if (fd >= 0) close(fd);
        /* looked at in any case: it may be another program that listens there */
        if (ended(s)) return false;
        if (fd >= 0) return true;
        if (clock_mono() > until_s) break;
        usleep(2000);
    }
    server_kill(s);
    return false;
}

struct server server_start(const char *const *argv, int port, const char *log)
{
    struct server s = server_launch(argv, port, log);
    if (!server_wait(&s, SERVER_START_S))
        bench_fail("%s does not start; %s", argv[0], log ? log : "no log was kept");
    return s;
}

void server_signal(const struct server *s, int sig)
{
    if (s->pid) kill(s->pid, sig);
}

int server_await(struct server *s)
{
    int status = 0;
    if (!s->pid) return -1;
    waitpid(s->pid, &status, 0);
    s->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int server_stop(struct server *s)
{
    server_signal(s, SIGTERM);
    return server_await(s);
}

void server_kill(struct server *s)
{
    server_signal(s, SIGKILL);
    (void)server_await(s);
}

double server_cpu(struct server s, const char *thread)
{
    char path[512], text[128];
    snprintf(path, sizeof path, "/proc/%d/task", (int)s.pid);
    DIR *d = opendir(path);
    if (!d) bench_fail("%s: %s", path, strerror(errno));
    unsigned long long sum = 0, ns;
    for (struct dirent *t; (t = readdir(d));) {
        if (t->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)s.pid, t->d_name);
        FILE *f = fopen(path, "r");
        bool ours = f && fgets(text, sizeof text, f) &&
                    strncmp(text, thread, strlen(thread)) == 0;
        if (f) fclose(f);
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)s.pid, t->d_name);
        if (!ours || !(f = fopen(path, "r"))) continue;
        if (fscanf(f, "%llu", &ns) == 1) sum += ns;
        fclose(f);
    }
    closedir(d);
    return 1e-9 * (double)sum;
}

double server_memory(struct server s)
{
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)s.pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        bench_fail("%s: %s", path, strerror(errno));
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int server_descriptors(struct server s)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)s.pid);
    DIR *d = opendir(path);
    if (!d) bench_fail("%s: %s", path, strerror(errno));
    int n = 0;
    for (struct dirent *t; (t = readdir(d));)
        n += t->d_name[0] != '.';
    closedir(d);
    return n;
}
