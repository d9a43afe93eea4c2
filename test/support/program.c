#include "support/program.h"

#include <assert.h>
#include <check.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct program_result program_run(const char *args)
{
    char self[1024], line[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(line, sizeof line, "{ '%s/abrd' %s; } 2>&1", self, args);

    FILE *p = popen(line, "r");
    assert(p);
    struct program_result r = {.text = calloc(1, 1 << 20)};
    assert(r.text);
    size_t got = fread(r.text, 1, (1 << 20) - 1, p);
    r.text[got] = '\0';
    int status = pclose(p);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return r;
}

struct program_result program_on_terminal(const char *env, const char *args, int columns)
{
    char self[1024], line[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(line, sizeof line, "TERM=xterm %s '%s/abrd' %s", env, self, args);

    struct program_result r = {.text = calloc(1, 1 << 20)};
    const struct winsize size = {.ws_row = 25, .ws_col = (unsigned short)columns};
    int terminal = -1, status = 0;
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    assert(r.text && pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    size_t got = 0; /* the terminal ends with an error when its last program has ended */
    while ((n = read(terminal, r.text + got, (1 << 20) - 1 - got)) > 0)
        got += (size_t)n;
    assert(waitpid(pid, &status, 0) == pid);
    close(terminal);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return r;
}

void program_free(struct program_result *r)
{
    free(r->text);
    r->text = NULL;
}

void program_expect(const char *args, int code, const char *part)
{
    struct program_result r = program_run(args);
    ck_assert_msg(r.code == code, "%s: exit %d, not %d\n%s", args, r.code, code, r.text);
    ck_assert_msg(strstr(r.text, part) != NULL, "%s: no \"%s\" in\n%s", args, part,
                  r.text);
    program_free(&r);
}

/* text with the folder in place of every '@' */
static void program_in(char *buf, size_t n, const char *dir, const char *text)
{
    size_t used = 0;
    buf[0] = '\0';
    for (; *text; text++) {
        used += (size_t)snprintf(buf + used, n - used, "%.*s", *text == '@' ? -1 : 1,
                                 *text == '@' ? dir : text);
        ck_assert_uint_lt(used, n);
    }
}

struct program_result program_run_in(const char *dir, const char *args)
{
    char line[4096];
    program_in(line, sizeof line, dir, args);
    return program_run(line);
}

void program_expect_in(const char *dir, const char *args, int code, const char *part)
{
    char line[4096], words[1024];
    program_in(line, sizeof line, dir, args);
    program_in(words, sizeof words, dir, part);
    program_expect(line, code, words);
}
