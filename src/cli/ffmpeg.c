#include "cli/ffmpeg.h"

#include "base/text.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ASK_MS = 100 }; /* how often a signal is looked for */

/* The end of standard error. */
struct ffmpeg_complaint {
    size_t n;
    char text[2048];
};

static void complaint_add(struct ffmpeg_complaint *c, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c->n == sizeof c->text - 1) {
            memmove(c->text, c->text + sizeof c->text / 2, c->n - sizeof c->text / 2);
            c->n -= sizeof c->text / 2;
        }
        c->text[c->n++] = bytes[i];
    }
    c->text[c->n] = '\0';
}

/* The last line that says something. */
static const char *complaint_line(struct ffmpeg_complaint *c)
{
    while (c->n && strchr("\r\n ", c->text[c->n - 1]))
        c->text[--c->n] = '\0';
    const char *line = strrchr(c->text, '\n');
    return line ? line + 1 : c->text;
}

static int ffmpeg_spawn(pid_t *pid, const char *const *argv, const int out[2],
                        const int complains[2], struct err *e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawn_file_actions_adddup2(&files, complains[1], 2);
    /* in a group of its own, Ctrl-C reaches only us */
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&how, 0);
    int rc =
        posix_spawnp(pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (rc == ENOENT)
        return err_set(
            e, ERR_ABSENT,
            "ffmpeg is not in PATH: install it (Debian: apt-get install ffmpeg)");
    return rc ? err_set(e, ERR_IO, "ffmpeg cannot be started: %s", strerror(rc)) : 0;
}

/* Reads both pipes to their ends. */
static void ffmpeg_listen(pid_t pid, int out, int complains,
                          void (*take)(void *self, const char *bytes, size_t n),
                          void *self, struct ffmpeg_complaint *complaint)
{
    struct pollfd fds[2] = {{.fd = out, .events = POLLIN},
                            {.fd = complains, .events = POLLIN}};
    bool told = false;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (interrupt_seen() && !told) {
            kill(pid, SIGTERM);
            told = true;
        }
        if (poll(fds, 2, ASK_MS) <= 0) continue;
        for (int i = 0; i < 2; i++) {
            if (!fds[i].revents) continue;
            char bytes[8192];
            ssize_t n = read(fds[i].fd, bytes, sizeof bytes);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0)
                fds[i].fd = -1;
            else if (i)
                complaint_add(complaint, bytes, (size_t)n);
            else
                take(self, bytes, (size_t)n);
        }
    }
}

static int ffmpeg_verdict(int status, struct ffmpeg_complaint *complaint, struct err *e)
{
    if (interrupt_seen()) return err_set(e, ERR_IO, "stopped");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    char line[200];
    text_clean(line, sizeof line, complaint_line(complaint));
    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "ffmpeg ended by signal %d. %s", WTERMSIG(status),
                       line);
    return err_set(e, ERR_IO, "ffmpeg ended with %d: %s", WEXITSTATUS(status),
                   *line ? line : "it does not say why");
}

int ffmpeg_run(const char *const *argv,
               void (*take)(void *self, const char *bytes, size_t n), void *self,
               struct err *e)
{
    int out[2] = {-1, -1}, complains[2] = {-1, -1}, status = 0;
    struct ffmpeg_complaint complaint = {0};
    pid_t pid;
    int rc = 0;
    if (pipe2(out, O_CLOEXEC) || pipe2(complains, O_CLOEXEC))
        rc = err_set(e, ERR_IO, "no pipe to ffmpeg: %s", strerror(errno));
    if (!rc) rc = ffmpeg_spawn(&pid, argv, out, complains, e);
    if (out[1] >= 0) close(out[1]);
    if (complains[1] >= 0) close(complains[1]);

    if (!rc) {
        ffmpeg_listen(pid, out[0], complains[0], take, self, &complaint);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        rc = ffmpeg_verdict(status, &complaint, e);
    }
    if (out[0] >= 0) close(out[0]);
    if (complains[0] >= 0) close(complains[0]);
    return rc;
}

struct ffmpeg_text {
    char *to;
    size_t n, size;
};

static void text_take(void *self, const char *bytes, size_t n)
{
    struct ffmpeg_text *t = self;
    if (n > t->size - 1 - t->n) n = t->size - 1 - t->n;
    memcpy(t->to + t->n, bytes, n);
    t->n += n;
}

int ffmpeg_read(char *out, size_t size, const char *const *argv, struct err *e)
{
    struct ffmpeg_text text = {.to = out, .size = size};
    int rc = ffmpeg_run(argv, text_take, &text, e);
    out[text.n] = '\0';
    return rc;
}
