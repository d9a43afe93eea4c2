/* histories.h - the history of a session, read slice by slice on a thread of its own.
 *
 * A day of video is 21,600 steps: about 8 MB of JSON and 0.3 s of reading. An event loop must not
 * spend that. One thread reads HISTORIES_SLICE steps at a time, for all answers in turn. An answer
 * holds one slice and asks for the next one when its client has taken it.
 *
 *   begin -> ready (the bell rings) -> error: histories_error
 *                                      else:  histories_pull until REPLY_END
 *
 * ready, pull and drop have the forms of reply_wait and reply_stream. An answer shows the session as
 * it is when each slice is read. No step is left out or doubled, but a late slice may contain outcomes
 * that arrived after an early one was read.
 *
 * Errors: ERR_FULL if HISTORIES_OPEN answers are open; those of service_history_page.
 * Threads: histories_begin from any; an answer belongs to the thread whose bell it has. */
#ifndef SERVE_HISTORIES_H
#define SERVE_HISTORIES_H

#include "serve/access/occupancy.h"
#include "serve/session/service.h"

#include <sys/types.h>

enum {
    HISTORIES_SLICE = 256, /* steps per read */
    HISTORIES_OPEN = 256,  /* most open answers */
    HISTORIES_PAGE = 1000, /* default number of steps of an answer in JSON */
    HISTORIES_PAGE_MAX = 10000
};

struct histories;

/* s is borrowed until histories_free. Every answer must be dropped before that. */
struct histories *histories_new(struct service *s, struct err *e);
void histories_free(struct histories *h);

struct histories_question {
    char session[64];
    uint32_t after; /* steps to skip at the start */
    int limit;      /* most steps; INT_MAX: all */
    bool csv;
    int bell; /* eventfd, written when a slice is ready; -1: none */
    struct occupancy
        *held; /* histories_drop returns one place of `who` to it; NULL: none */
    struct addr who;
};

struct histories_answer;

/* NULL: an error, in e. */
struct histories_answer *
histories_begin(struct histories *h, const struct histories_question *q, struct err *e);
bool histories_ready(void *answer);
/* Call once it is ready: why there is no first slice; NULL: there is one. */
const struct err *histories_error(const struct histories_answer *a);
ssize_t histories_pull(void *answer, char *buf, size_t max);
void histories_drop(void *answer);

#endif
