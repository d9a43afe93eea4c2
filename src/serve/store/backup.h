/* backup.h - a data folder copied so that a daemon can start on the copy, also while one uses it.
 *
 *   1  policy.safetensors and .prev
 *   2  abrd.db, as it is at one moment (store_sqlite.h: what it leaves out)
 *   3  grown-*.safetensors, untagged.state
 *
 * In this order, as a crash would leave them: the store knows of every version whose weights are
 * there. When a profile grew or was given up meanwhile all is copied again. Not copied: the token,
 * the lock, what was put aside as damaged.
 *
 * The copy is made beside its place, as `to`.part, put on the disk, read through, and then renamed:
 * what is at `to` is whole. It belongs to who makes it, mode 700. To restore is to start a daemon on
 * it, or on a copy of it, as the user who owns it.
 *
 * Errors: ERR_CONFLICT there is something at `to` or `to`.part, or it was given up; ERR_ABSENT there
 * is no store in `from`; ERR_CORRUPT the store is damaged; ERR_IO, ERR_RANGE.
 * Threads: not shared. */
#ifndef SERVE_BACKUP_H
#define SERVE_BACKUP_H

#include "base/err.h"
#include "serve/store/store_sqlite.h"

#include <stdint.h>

struct backup_stats {
    struct store_sqlite_health store;
    int files;
    int64_t bytes;
};

/* watch: may be NULL. */
int backup_make(struct backup_stats *out, const char *to, const char *from,
                store_sqlite_watch *watch, void *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
