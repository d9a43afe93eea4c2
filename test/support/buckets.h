/* buckets.h - a bucket (serve/cluster/bucket.h) in memory, which a test can make fail. */
#ifndef TEST_BUCKETS_H
#define TEST_BUCKETS_H

#include "serve/cluster/bucket.h"

enum { BUCKETS_KEYS = 64 };

struct buckets {
    struct {
        char key[64];
        void *data;
        size_t n;
        uint64_t rev;
    } value[BUCKETS_KEYS];
    int n, calls;
    uint64_t revs;
    bool away;
    size_t most; /* bytes that a value may have */
    int lose;    /* so many puts happen, but their answers are lost */
};

struct bucket buckets_open(struct buckets *b);
void buckets_free(struct buckets *b);
/* Revision of a key, 0: none. */
uint64_t buckets_rev(const struct buckets *b, const char *key);
/* How many keys begin so. */
int buckets_count(const struct buckets *b, const char *prefix);

#endif
