/* backup.h - copies a data folder, also while a daemon uses it; a daemon can start on the copy.
 *
 *   1  policy.safetensors and .prev
 *   2  abrd.db, as it is at one moment (store_sqlite.h: what it leaves out)
 *   3  grown-*.safetensors, untagged.state, experience.state, trial.state, secret
 *
 * In this order, as a crash would leave them: the store knows every version whose weights are there.
 * If a profile gets or loses experts of its own meanwhile, everything is copied again. The token, the
 * lock and damaged files (.bad) are not copied.
 *
 * The copy is made as `to`.part, put on the disk, checked, and then renamed: what is at `to` is
 * complete. Its mode is 700. To restore, start a daemon on it, or on a copy of it, as the user who owns
 * it.
 *
 * Errors: ERR_CONFLICT there is something at `to` or `to`.part, or watch gave up; ERR_ABSENT there is
 * no store in `from`; ERR_CORRUPT the store is damaged; ERR_IO, ERR_RANGE.
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
