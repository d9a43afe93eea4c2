/* served.h - a service with a random policy and a clock of its own, for tests.
 *
 *   struct served f;
 *   served_begin(&f, true);      (a folder, so that things are stored)
 *   f.cfg.explore_share = 1;
 *   served_start(&f);
 *   ...
 *   served_kill(&f);             (as a crash would: nothing is flushed)
 *   served_start(&f);
 *   served_end(&f); */
#ifndef TEST_SERVED_H
#define TEST_SERVED_H

#include "serve/parts.h"
#include "serve/session/service.h"

struct served {
    char dir[256], data[300], policy[300];
    double now;                /* what the service's clock says */
    struct parts_cfg optional; /* cfg.optional */
    struct service_cfg cfg;
    struct service *service;
    struct service_worker *worker;
};

void served_begin(struct served *f, bool stored);
/* A random policy of this seed in f->policy. */
void served_policy(struct served *f, uint64_t seed);
/* Publishes what is learned, however it scores: for tests of everything but the exams. */
void served_without_exams(struct served *f);
/* Whether weights can be saved: if not, a folder has the name of the file that is written first. */
void served_saves(struct served *f, bool can);
void served_start(struct served *f);
void served_kill(struct served *f);
/* The figures of its parts. */
struct parts_stats served_parts(struct served *f);
void served_end(struct served *f);

/* A viewer of profile "pensieve": Pensieve's ladder, 4 s chunks, a 60 s buffer. */
struct session_open served_request(uint64_t key, int chunks);
struct session_opened served_open(struct served *f, uint64_t key, int chunks);

/* What a steady link of 2 Mbit/s makes of a chunk. */
struct outcome served_outcome(int chunk, int level);

/* The question for `chunk` that carries the outcome of the one before, fetched at
 * last_level. */
struct question served_question(int chunk, int last_level);

/* Plays chunks 1 .. n-1 as decided and reports the last; returns a hash of all answers. */
uint64_t served_play(struct served *f, const struct session_opened *o, int n);

#endif
