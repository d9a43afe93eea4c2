/* swarm.h - any number of keep-alive connections on one thread, each with one request under way
 * at most; how long every answer took. Unlike hammer.h it can keep to a rate, and a refusal is
 * counted, not fatal. Loopback only; what cannot be done ends the program (bench_fail).
 *
 * With a rate, requests leave at that rate whoever sends them: the connection that has been
 * silent for longest is the next. When all wait for answers the request is late, and is sent as
 * soon as one is free. Without, each sends its next request when its answer is there. */
#ifndef TEST_SWARM_H
#define TEST_SWARM_H

#include "support/hammer.h"

struct swarm;

struct swarm *swarm_open(int port, int connections);
void swarm_close(struct swarm *s);

struct swarm_result {
    long answers; /* whole ones; among them */
    long refused; /* not 2xx: the next request is made without an answer */
    long stalled; /* of those: the store was late by half a second */
    long broken;  /* connections that ended; they are not opened again */
    double seconds;
    double gap_s; /* the longest time without an answer while one was waited for */
    double p50_ms, p99_ms, p999_ms, max_ms;
    char refusal[256]; /* the first */
};

/* Makes requests for that long, or until `most` were answered (0: no such end), then waits for
 * the answers that are due. rate: per second in all, 0 = without pause. next is hammer.h's; it
 * is given the connection's last answer, also from the run before. */
void swarm_run(struct swarm_result *out, struct swarm *s, hammer_next *next, void *ctx,
               double seconds, long most, double rate);

#endif
