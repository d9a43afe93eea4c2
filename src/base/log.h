/* log.h - one line per event, for people or as JSON.
 *
 *   2026-11-21T08:53:01.123Z info   listen       127.0.0.1:8080, 2 workers
 *   {"time":"2026-11-21T08:53:01.123Z","level":"info","event":"listen","text":"127.0.0.1:8080"}
 *
 * `event` is a fixed word to search for; the text is free. Control characters and broken UTF-8 are
 * replaced. Lines over LOG_LINE are cut and end in "...". Never log a token or a body.
 *
 * Threads: may be shared. Each line is one write(2), so lines do not mix. Only the level may change
 * after log_init, at any time. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>

#define LOG_LINE 2048

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
    int fd; /* borrowed; -1 = nowhere */
    _Atomic enum log_level level;
    bool json;
    double (*now)(void); /* clock_now, unless a test says otherwise */
};

struct log log_init(int fd, enum log_level level, bool json);

/* In the order of the enum, ended by NULL. */
extern const char *const log_level_words[];

/* l may be NULL. An event below its level costs one comparison. */
void log_event(const struct log *l, enum log_level level, const char *event,
               const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Logs the failure as "field: detail". */
void log_err(const struct log *l, enum log_level level, const char *event,
             const struct err *e);

#endif
