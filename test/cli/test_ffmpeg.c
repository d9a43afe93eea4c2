#include "cli/ffmpeg.h"

#include "cli/interrupt.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A program named ffmpeg at the front of PATH; each test runs in a process of its own. */
static const char *with_ffmpeg(const char *script)
{
    const char *dir = tmpdir_new();
    static char path[4096];
    tmpdir_put(dir, "ffmpeg", script);
    ck_assert_int_eq(chmod(tmpdir_path(dir, "ffmpeg"), 0755), 0);
    snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    return dir;
}

static const char *const ARGV[] = {"ffmpeg", "a b", "$HOME;ls", NULL};

static void keep(void *self, const char *bytes, size_t n)
{
    strncat(self, bytes, n);
}

TEST(arguments_reach_it_as_they_are)
{
    char text[256] = "";
    with_ffmpeg("#!/bin/sh\nprintf '%s|' \"$@\"\necho ignored >&2\n");
    ck_assert_int_eq(ffmpeg_run(ARGV, keep, text, NULL), 0);
    ck_assert_str_eq(text, "a b|$HOME;ls|");
    ck_assert_int_eq(ffmpeg_read(text, 5, ARGV, NULL), 0);
    ck_assert_str_eq(text, "a b|");
}

/* More than a pipe holds, on both outputs. */
TEST(much_output)
{
    with_ffmpeg("#!/bin/sh\nfor i in 1 2 3 4 5 6; do head -c 100000 /dev/zero >&2\n"
                "head -c 100000 /dev/zero; done\n");
    char text[1024];
    ck_assert_int_eq(ffmpeg_read(text, sizeof text, ARGV, NULL), 0);
}

TEST(failures)
{
    const struct {
        const char *script, *says;
        int code;
    } t[] = {
        {"#!/bin/sh\necho first >&2\nprintf 'No such \\033file\\n\\n' >&2\nexit 3\n",
         "ffmpeg ended with 3: No such ?file", ERR_IO},
        {"#!/bin/sh\nexit 1\n", "does not say why", ERR_IO},
        {"#!/bin/sh\nkill -9 $$\n", "by signal 9", ERR_IO},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[16];
        struct err e = {0};
        with_ffmpeg(t[i].script);
        ck_assert_int_eq(ffmpeg_read(text, sizeof text, ARGV, &e), t[i].code);
        ck_assert_msg(strstr(e.detail, t[i].says) != NULL, "%s", e.detail);
    }
    char text[16];
    struct err e = {0};
    setenv("PATH", tmpdir_new(), 1);
    ck_assert_int_eq(ffmpeg_read(text, sizeof text, ARGV, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "install it"));
}

/* It would run for ever. What it prints says that it runs; then the signal comes. */
static void interrupt(void *self, const char *bytes, size_t n)
{
    strncat(self, bytes, n);
    raise(SIGINT);
}

TEST(ctrl_c_ends_it)
{
    char text[64] = "";
    struct err e = {0};
    const char *dir = with_ffmpeg("#!/bin/sh\necho $$\nexec tail -f /dev/null\n");
    (void)dir;
    interrupt_catch();
    ck_assert_int_eq(ffmpeg_run(ARGV, interrupt, text, &e), ERR_IO);
    ck_assert_str_eq(e.detail, "stopped");
    ck_assert_int_ne(kill(atoi(text), 0), 0); /* and it is gone */
}

SUITE(cli_ffmpeg, arguments_reach_it_as_they_are, much_output, failures, ctrl_c_ends_it);
