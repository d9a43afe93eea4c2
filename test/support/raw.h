/* raw.h - a TCP client for tests that must say what no HTTP library would.
 * Loopback only; every call gives up after 10 s and fails the test. */
#ifndef TEST_RAW_H
#define TEST_RAW_H

#include <stddef.h>

int raw_connect(int port);
void raw_send(int fd, const char *data, size_t n);
void raw_text(int fd, const char *text);

struct raw_answer {
    int status;       /* 0: the peer closed without an answer */
    char head[8192];  /* status line and headers */
    char body[65536]; /* NUL behind it */
    size_t n_body;
};

/* Reads one answer: Content-Length, chunked, or until the end. */
void raw_answer(struct raw_answer *out, int fd);
/* One that has no body: to HEAD, 204, 304. */
void raw_head(struct raw_answer *out, int fd);
/* Sends and reads on a connection of its own. */
void raw_ask(struct raw_answer *out, int port, const char *text);
/* Value of a header, "" when absent; in a buffer of the answer's own lifetime. */
const char *raw_header(struct raw_answer *a, const char *name);
/* 1: the peer has closed (waits for it), 0: it sent more. */
int raw_closed(int fd);

#endif
