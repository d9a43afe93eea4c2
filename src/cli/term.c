#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_is(FILE *f)
{
    int fd = fileno(f);
    return fd >= 0 && isatty(fd) == 1;
}

static bool term_coloured(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");
    return term_is(f) && (!no || !*no) && kind && *kind && strcmp(kind, "dumb") != 0;
}

const char *term_on(FILE *f, enum term_style style)
{
    static const char *const escapes[] = {"", "\x1b[1m", "\x1b[32m", "\x1b[33m",
                                          "\x1b[1;31m"};
    return term_coloured(f) ? escapes[style] : "";
}

const char *term_off(FILE *f, enum term_style style)
{
    return style != TERM_PLAIN && term_coloured(f) ? "\x1b[0m" : "";
}

int term_columns(FILE *f, int least, int most)
{
    struct winsize w = {0};
    if (!term_is(f) || ioctl(fileno(f), TIOCGWINSZ, &w) || !w.ws_col) return most;
    return w.ws_col < least ? least : w.ws_col > most ? most : w.ws_col;
}
