/* slot_log.h - results of the merge's slots on all nodes, from which each node learns.
 *
 * A record is what a bandit learns from at the end of a slot: the weights x that were played, the mix
 * psi, and of each task the reward and its trust (hintless.h). It describes the experts, whichever
 * node chose x. So the nodes need no common bandit, prior or settings, only the same experts. Each
 * node has a bandit of its own, which learns from its own slots and from those of other nodes.
 *
 * The log is one shared value for each set of experts (slot_log_key). It has the newest
 * SLOT_LOG_RECORDS records, numbered 1, 2, 3 ... for the life of the log. Its `id` is new when the log
 * begins anew. A node adds records by compare-and-swap, so two nodes never overwrite each other. The
 * log has the highest slot of each maker (a node's bandit), so each slot counts once, however often it
 * is tried. With more than SLOT_LOG_MAKERS makers, the one that added nothing for longest is dropped.
 *
 * Tasks have names, because nodes may know profiles in another order. A task without room in the
 * table is left out.
 *
 * Bytes: at most 16 + 4 experts + 12 tasks for a record. That makes 41 KB with 4 experts and 4 tasks
 * and 90 KB at most, with up to 5 KB of names and makers.
 *
 * Errors: those of shared_value.h. Threads: plain data, pure functions. */
#ifndef SERVE_SLOT_LOG_H
#define SERVE_SLOT_LOG_H

#include "serve/cluster/shared_value.h"
#include "serve/hintless/hintless_cfg.h"

#define SLOT_LOG_RECORDS 512 /* as many as a bandit keeps (nucb_cfg_default) */
#define SLOT_LOG_MAKERS 256
#define SLOT_LOG_KEY 32

struct slot_record {
    uint64_t maker, number; /* number: of the maker's slot, > 0 */
    float x[HINTLESS_EXPERTS];
    float psi[PROFILE_MIX_TASKS], reward[PROFILE_MIX_TASKS], trust[PROFILE_MIX_TASKS];
};

/* Are these valid numbers of a slot? Experts and tasks that do not exist have 0. */
bool slot_record_is(const struct slot_record *r);

/* Names of the tasks of a record; "": no task. */
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
    } maker[SLOT_LOG_MAKERS]; /* the one that added last comes last */
    int n;
    struct slot_record record[SLOT_LOG_RECORDS]; /* the newest comes last */
};

/* "slots." and the experts' checksum in hexadecimal. */
void slot_log_key(char out[SLOT_LOG_KEY], uint32_t crc);

void slot_log_begin(struct slot_log *l, uint64_t id, uint32_t crc, int experts);
/* Was this slot added? */
bool slot_log_has(const struct slot_log *l, uint64_t maker, uint64_t number);
/* tasks: those of r. */
void slot_log_add(struct slot_log *l, const struct slot_record *r,
                  const struct slot_tasks *tasks);
/* Record i, 0 .. n - 1, in the order of these tasks; 0 for tasks that it does not have. */
void slot_log_read(struct slot_record *out, const struct slot_log *l, int i,
                   const struct slot_tasks *tasks);

extern const struct shared_value_kind slot_log_kind; /* its key: slot_log_key */

#endif
