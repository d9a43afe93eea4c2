/* boards.h - a board (serve/cluster/board.h) in memory, that can be told not to answer. */
#ifndef TEST_BOARDS_H
#define TEST_BOARDS_H

#include "serve/cluster/board.h"

enum { BOARDS_KEYS = 64 };

struct boards {
    struct {
        char key[64];
        void *data;
        size_t n;
        uint64_t rev;
    } value[BOARDS_KEYS];
    int n, calls;
    uint64_t revs;
    bool away;
    size_t most; /* bytes of a value, as it tells */
    int lose;    /* so many puts happen, but their answers are lost */
};

struct board boards_open(struct boards *b);
void boards_free(struct boards *b);
/* Revision of a key, 0: none. */
uint64_t boards_rev(const struct boards *b, const char *key);
/* How many keys begin so. */
int boards_count(const struct boards *b, const char *prefix);

#endif
