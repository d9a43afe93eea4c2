/* hammer.h - a closed loop of keep-alive connections for the benchmarks: each sends its next
 * request when the answer to the one before is whole. One thread, loopback only. */
#ifndef TEST_HAMMER_H
#define TEST_HAMMER_H

#include <stddef.h>

#define HAMMER_CONNECTIONS 64
#define HAMMER_BYTES 4096 /* of a request, and of an answer */

struct hammer;

/* Writes connection i's next request. answer: the one before, whole, NUL behind it; NULL at
 * first. Returns its length. */
typedef size_t hammer_next(char *request, int i, const char *answer, void *ctx);

struct hammer *hammer_open(int port, hammer_next *next, void *ctx);
/* From now on other requests; the first gets the answer to the last of these. */
void hammer_become(struct hammer *h, hammer_next *next);
/* Exits when an answer is not 2xx. Returns after at least `requests` answers, all of them
 * taken: how many. */
long hammer_run(struct hammer *h, long requests);

#endif
