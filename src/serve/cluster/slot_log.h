/* slot_log.h - what slots of the merge have earned on all nodes: facts that every node learns from.
 *
 * A record is what a bandit is told at a slot's end: the weights x that were played, the mix psi, and
 * of each task the reward and how far it is trusted (hintless.h). It says something about the experts,
 * whoever chose x and why: so records need no common bandit, prior or settings, only the same experts.
 * Each node keeps a bandit of its own and teaches it its own slots and those of the others.
 *
 * The log is one value of the board under a name of its own for these experts (slot_log_key). It has
 * the newest SLOT_LOG_RECORDS records, numbered 1, 2, 3 ... for as long as the log lives; an `id` tells
 * a log that was begun anew from the one before. A node adds its records from the revision it has
 * read (board.h: put), so two never overwrite each other. Of each maker - a node's bandit - the log
 * knows the highest slot that was added, so that each counts once, whatever is tried again; makers that
 * added nothing for longest are forgotten when there are more than SLOT_LOG_MAKERS.
 *
 * Tasks have names, as nodes may have heard of profiles in another order. A task for which there is no
 * room in the table is left out.
 *
 * Bytes (envelope.h, ENVELOPE_SLOTS): at most 16 + 4 experts + 12 tasks a record, so 41 KB of 4 experts and
 * 4 tasks, 90 KB at most, and up to 5 KB of names and makers.
 *
 * Errors: those of envelope.h; ERR_CORRUPT for numbers that cannot be; ERR_MEMORY.
 * Threads: plain data, pure functions. */
#ifndef SERVE_SLOT_LOG_H
#define SERVE_SLOT_LOG_H

#include "serve/hintless/hintless_cfg.h"

#include <stddef.h>

#define SLOT_LOG_RECORDS 512 /* as many as a bandit remembers (nucb_cfg_default) */
#define SLOT_LOG_MAKERS 256
#define SLOT_LOG_KEY 32

struct slot_record {
    uint64_t maker, number; /* number: of the maker's slot, > 0 */
    float x[HINTLESS_EXPERTS];
    float psi[PROFILE_MIX_TASKS], reward[PROFILE_MIX_TASKS], trust[PROFILE_MIX_TASKS];
};

/* Are these numbers that a slot could have? Experts and tasks that are not there have 0. */
bool slot_record_is(const struct slot_record *r);

/* Names of the tasks that the numbers of a record are about; "": no task. */
struct slot_tasks {
    int n;
    char name[PROFILE_MIX_TASKS][HINTLESS_NAME];
};

struct slot_log {
    uint64_t id, count; /* count: the number of the newest record */
    uint32_t crc;       /* of the experts */
    int experts;
    struct slot_tasks tasks;
    int makers;
    struct {
        uint64_t maker, number;
    } maker[SLOT_LOG_MAKERS]; /* who added last comes last */
    int n;
    struct slot_record record[SLOT_LOG_RECORDS]; /* the newest comes last */
};

/* "slots." and the experts' checksum in hexadecimal. */
void slot_log_key(char out[SLOT_LOG_KEY], uint32_t crc);

void slot_log_begin(struct slot_log *l, uint64_t id, uint32_t crc, int experts);
/* Was this slot added, as far as is known? */
bool slot_log_has(const struct slot_log *l, uint64_t maker, uint64_t number);
/* tasks: those of r. */
void slot_log_add(struct slot_log *l, const struct slot_record *r,
                  const struct slot_tasks *tasks);
/* Record 0 .. n - 1 with the numbers in the order of these tasks; 0 for those it does not have. */
void slot_log_read(struct slot_record *out, const struct slot_log *l, int i,
                   const struct slot_tasks *tasks);

/* *out is owned by the caller. */
int slot_log_put(void **out, size_t *n, const struct slot_log *l, struct err *e)
    __attribute__((warn_unused_result));
int slot_log_get(struct slot_log *l, const void *bytes, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
