/* slot_share.h - a node and the log of slots (slot_log.h): adds its own results, learns the others'.
 *
 * The log is a shared value that turns read every `every_s`, and at once when this node has results
 * to add. They are added by compare-and-swap. A damaged log begins anew. A log of a newer form or of
 * other experts is refused, and the node goes on with its own results.
 *
 * Errors: ERR_IO the bucket does not answer, ERR_CONFLICT other nodes were always faster, ERR_MEMORY:
 * the results wait for a later turn. Threads: turns from one thread. */
#ifndef SERVE_SLOT_SHARE_H
#define SERVE_SLOT_SHARE_H

#include "serve/cluster/shared_value.h"
#include "serve/hintless/hintless.h"

struct slot_share;

struct slot_share_cfg {
    struct bucket bucket;
    struct hintless *hintless; /* borrowed; hintless_share was called */
    const struct log *log;
    double every_s;
};

struct slot_share *slot_share_new(const struct slot_share_cfg *cfg, struct err *e);
void slot_share_free(struct slot_share *s);

/* What shared_value_turn serves. */
struct shared_value *slot_share_value(struct slot_share *s);

#endif
