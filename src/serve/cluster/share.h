/* share.h - a node and the log of slots on the board (slot_log.h): gives what its slots earned, takes
 * what those of the others did.
 *
 * A turn reads the log when there is something to give, and every `every_s` otherwise. What waits is
 * added and put from the revision that was read; when another node was faster it is read again. A log
 * that is damaged is begun anew; one that a newer abrd has written, or of other experts, is refused,
 * told once, and the node goes on with what it learns itself.
 *
 * Errors: ERR_IO the board does not answer, ERR_CONFLICT others were always faster, ERR_MEMORY: all
 * waits for a later turn. Threads: turns from one thread. */
#ifndef SERVE_SHARE_H
#define SERVE_SHARE_H

#include "base/log.h"
#include "serve/cluster/bucket.h"
#include "serve/hintless/hintless.h"

struct share;

struct share_cfg {
    struct bucket bucket;
    struct hintless *hintless; /* borrowed; hintless_share was called */
    const struct log *log;
    double every_s;
};

struct share *share_new(const struct share_cfg *cfg, struct err *e);
void share_free(struct share *s);

/* mono, now: seconds of the two clocks. */
int share_turn(struct share *s, double mono, double now, struct err *e)
    __attribute__((warn_unused_result));

#endif
