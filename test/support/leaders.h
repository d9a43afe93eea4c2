/* leaders.h - learners around one bucket in memory, with a clock that a test moves. */
#ifndef TEST_LEADERS_H
#define TEST_LEADERS_H

#include "serve/cluster/lead.h"
#include "support/buckets.h"

extern struct buckets leaders_keys;
extern struct bucket leaders_bucket; /* of leaders_keys; the test opens it */
extern double leaders_mono;
extern struct log leaders_log; /* of the leaders: errors, to nowhere */

/* A learner with its modules. Its bus is a ring, so the test says what arrives. */
struct leaders {
    char name[16];
    struct bus bus;
    struct published *published;
    struct learner *learner;
    struct dedup *dedup;
    struct follow *follow;
    struct lead *lead;
    uint64_t trimmed, number;
    int rewinds, taken;
    double share; /* of exploring sessions, as configured */
    struct bus_wire_common common;
};

struct policy_cfg leaders_shape(int hidden);
void leaders_begin(struct leaders *r, const char *name, int hidden);
void leaders_end(struct leaders *r);

/* Follows, then leads. */
int leaders_turn(struct leaders *r);
uint64_t leaders_version(struct leaders *r);
uint32_t leaders_crc(struct leaders *r);
uint64_t leaders_counted(struct leaders *r);
/* n trajectories of 32 steps arrive; every two make a batch. Returns what the last turn did. */
int leaders_learn(struct leaders *r, int n);

/* A key of leaders_bucket. What leaders_get returns is owned. */
void *leaders_get(size_t *n, const char *key);
void leaders_set(const char *key, const void *data, size_t n);

#endif
