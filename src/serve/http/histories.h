/* histories.h - what happened in a session, read slice by slice on a thread of its own.
 *
 * A day of video is 21,600 steps: some 8 MB of JSON, and 0.3 s of reading. So no event loop reads
 * them. One thread does, HISTORIES_SLICE steps at a time, all answers in turn; an answer holds one
 * slice at a time and asks for the next one when its client has taken it.
 *
 *   begin -> ready (the bell rings) -> error: histories_error
 *                                      else:  histories_pull until REPLY_END
 *
 * ready, pull and drop have the forms of reply_wait and reply_stream. An answer shows the session
 * as it is when each slice is read: steps are never left out or doubled, but one that comes late
 * may know more than one that came early.
 *
 * Errors: ERR_FULL when HISTORIES_OPEN answers are under way; those of service_history_page.
 * Threads: histories_begin from any; an answer belongs to the thread whose bell it has. */
#ifndef SERVE_HISTORIES_H
#define SERVE_HISTORIES_H

#include "serve/access/occupancy.h"
#include "serve/session/service.h"

#include <sys/types.h>

enum {
    HISTORIES_SLICE = 256, /* steps that are read at a time */
    HISTORIES_OPEN = 256,  /* answers */
    HISTORIES_PAGE =
        1000, /* steps of an answer in JSON, unless another number is wanted */
    HISTORIES_PAGE_MAX = 10000
};

struct histories;

/* s is borrowed until histories_free, before which every answer is dropped. */
struct histories *histories_new(struct service *s, struct err *e);
void histories_free(struct histories *h);

struct histories_question {
    char session[64];
    uint32_t after; /* so many of its steps are left out */
    int limit;      /* steps at most; INT_MAX: all */
    bool csv;
    int bell; /* eventfd, rung when a slice is there; -1: none */
    struct occupancy
        *held; /* gets one back for `who` when the answer is dropped; NULL: none */
    struct addr who;
};

struct histories_answer;

/* NULL: see e. */
struct histories_answer *
histories_begin(struct histories *h, const struct histories_question *q, struct err *e);
bool histories_ready(void *answer);
/* Why there is no first slice; NULL: there is one. Once it is ready. */
const struct err *histories_error(const struct histories_answer *a);
ssize_t histories_pull(void *answer, char *buf, size_t max);
void histories_drop(void *answer);

#endif
