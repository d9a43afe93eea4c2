/* viewers.h - what players say, for the benchmarks and the trials: requests of hammer.h and
 * swarm.h whose ctx is an array of struct viewer, one for each connection. */
#ifndef TEST_VIEWERS_H
#define TEST_VIEWERS_H

#include <stddef.h>

struct viewer {
    char session[64];
    int chunk, level;
    int chunks;  /* viewers_watch: how many are watched; set by the caller */
    int watched; /* sessions that were watched to their end */
};

/* Takes an answer in: whose session it is, the level, and that the chunk was decided. */
void viewers_take(struct viewer *v, const char *answer);

/* Opens a session, again and again. */
size_t viewers_open(char *out, int i, const char *answer, void *viewers);

/* A question with all a player knows: the chunk before, the sizes of the next. answer: that to
 * viewers_open, or to the question before; NULL: the same question again. */
size_t viewers_ask(char *out, int i, const char *answer, void *viewers);

/* Opens a session, asks for its chunks, closes it, and begins anew. */
size_t viewers_watch(char *out, int i, const char *answer, void *viewers);

/* The question without a session. turn: an unsigned that makes each one different. */
size_t viewers_decide(char *out, int i, const char *answer, void *turn);

#endif
