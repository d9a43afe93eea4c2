#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const log_level_words[] = {"error", "warn", "info", "debug", NULL};

struct log log_init(int fd, enum log_level level, bool json)
{
    return (struct log){.fd = fd, .level = level, .json = json, .now = clock_now};
}

static void time_text(char *buf, size_t n, double t)
{
    long long ms = (long long)(t * 1000 + .5);
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    gmtime_r(&s, &tm);
    size_t at = strftime(buf, n, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf + at, n - at, ".%03dZ", (int)(ms % 1000));
}

/* Appends as much of s as fits into room bytes of out and returns its length. Quotes and
 * backslashes are escaped for JSON. */
static size_t log_append(char *out, size_t room, const char *s, bool json)
{
    size_t n = 0;
    while (*s) {
        char piece[8];
        int len = text_utf8(s), take = len ? len : 1;
        if (!len) {
            strcpy(piece, *s == '\t' || *s == '\n' ? " " : "?");
            len = 1;
        } else if (json && (*s == '"' || *s == '\\')) {
            piece[0] = '\\';
            piece[1] = *s;
            len = 2;
        } else {
            memcpy(piece, s, (size_t)len);
        }
        if (n + (size_t)len + 3 > room) {
            memcpy(out + n, "...", 3);
            return n + 3;
        }
        memcpy(out + n, piece, (size_t)len);
        n += (size_t)len;
        s += take;
    }
    return n;
}

static void write_line(int fd, const char *line, size_t n)
{
    /* a log that cannot be written is ignored */
    while (write(fd, line, n) < 0 && errno == EINTR)
        ;
}

void log_event(const struct log *l, enum log_level level, const char *event,
               const char *fmt, ...)
{
    if (!l || l->fd < 0 || level > l->level) return;

    char text[LOG_LINE], when[40], line[LOG_LINE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    time_text(when, sizeof when, l->now());

    const char *head =
        l->json ? "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%.40s\",\"text\":\""
                : "%s %-5s  %-12.40s ";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(line, sizeof line, head, when, log_level_words[level], event);
#pragma GCC diagnostic pop
    size_t tail = l->json ? 3 : 1, at = (size_t)n;
    at += log_append(line + at, sizeof line - at - tail, text, l->json);
    memcpy(line + at, l->json ? "\"}\n" : "\n", tail);
    write_line(l->fd, line, at + tail);
}

void log_err(const struct log *l, enum log_level level, const char *event,
             const struct err *e)
{
    log_event(l, level, event, "%s%s%s", e->field, *e->field ? ": " : "", e->detail);
}
