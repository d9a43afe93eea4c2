/* store_sqlite.h - the embedded store: one SQLite file in WAL mode.
 *
 * A batch is one transaction with synchronous = FULL: it survives a power cut once write has returned.
 * One connection writes and one reads. A third (tidy) moves what was written from the log into the
 * file: doing this within a commit, 32 MB at once, would delay the commit by half a second. If tidy
 * falls behind, a commit does it after all. PRAGMA user_version holds the version of the schema. A
 * file of a newer version or of another program is refused and not changed. A file of an older version
 * is checked, then gets the columns that it lacks. They are NULL in its rows and no part of their
 * checksums, so no row is written again.
 *
 * Tables: sessions, steps, profiles, grown (profiles with experts of their own), policy_versions. The
 * views decisions and rewards are for people (`sqlite3 abrd.db 'select * from rewards'`).
 *
 * Opening reads the whole file (PRAGMA quick_check and the checksum of every row; 0.3 s per GB from
 * memory) and refuses a damaged one. It also refuses a store that has lost what it acknowledged, and
 * then leaves its files as they are:
 *
 *   abrd.db-count     how many commits and records were acknowledged. Each transaction changes the
 *                     same numbers in the database, which must not have the lower ones.
 *   abrd.db-wal       is read before SQLite opens it, because SQLite drops what is behind a damaged
 *                     frame. It decides when there is no count (a store of an older version).
 *   abrd.db           must be there when other files of a daemon are.
 *
 *   abrd.db-reserve   16 MB for what was acknowledged before a full disk was noticed. room fails while
 *                     the disk has not as much.
 *
 * Errors: as store.h. A full disk, a read-only folder and a damaged file each say so and what to do.
 * Threads: as store.h. */
#ifndef SERVE_STORE_SQLITE_H
#define SERVE_STORE_SQLITE_H

#include "serve/store/store.h"

#include <stdbool.h>

struct store_sqlite_cfg {
    const char *path;
    int64_t max_pages;   /* of 4096 bytes; 0 = as the disk allows */
    int64_t check_pages; /* a larger file is opened unchecked; 0 = 524288, 2 GB */
    int64_t reserve;     /* bytes kept back for a full disk; 0 = 16 MB, -1 = none */
    bool accept_loss;    /* start with what there is */
};

struct store_sqlite_health {
    int64_t sessions, live, steps;
    int n_added; /* profiles with experts of their own */
    char added[SERVICE_ADDED][SERVICE_NAME];
};

/* Checks the whole file without changing it; a daemon may be using it. ERR_ABSENT: there is none, and
 * nothing says that there was; ERR_CORRUPT, ERR_IO. */
int store_sqlite_check(struct store_sqlite_health *out, const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* How far it is, 0 .. 1; false: give up. */
typedef bool store_sqlite_watch(void *ctx, double share);

/* Copies the store as it is at this moment to a new file; a daemon may be using it, and is not delayed.
 * The copy is one file, on the disk and checked when 0 is returned. A failure may leave a part of it.
 * The copy has neither the trajectories that wait for a bus nor the number of the node that made them:
 * a node that starts on the copy is a new node to the learner. Otherwise the learner would take its new
 * trajectories for some that it has counted. ERR_IO, ERR_CORRUPT, ERR_CONFLICT (given up). */
int store_sqlite_copy(struct store_sqlite_health *out, const char *to, const char *from,
                      store_sqlite_watch *watch, void *ctx, struct err *e)
    __attribute__((warn_unused_result));

/* A damaged file was kept under this new path. */
typedef void store_sqlite_note(void *ctx, const char *path);

/* Gives up what a refused store has lost: the next start continues with what is left, or with an empty
 * store when nothing is. Files that SQLite would change, or that are of no use, are kept as NAME.bad.
 * Does nothing if nothing is lost. The caller holds the folder's lock. ERR_CONFLICT: not our database,
 * or of a newer schema. */
int store_sqlite_accept_loss(const char *path, store_sqlite_note *note, void *ctx,
                             struct err *e) __attribute__((warn_unused_result));

int store_sqlite_open(struct store *out, const struct store_sqlite_cfg *cfg,
                      struct err *e) __attribute__((warn_unused_result));

/* Opens a store to read it, also while a daemon uses it: as it is now, until out->free. Writes nothing,
 * and makes no files if nobody uses the store. out has only history and free; the store's log cannot be
 * shortened before out->free. ERR_ABSENT: there is none; ERR_CORRUPT: damaged, or of another schema. */
int store_sqlite_read(struct store *out, const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* Calls fn for every session of a store of store_sqlite_read or _open, in the order of opening. fn must
 * not use the store. If fn returns a code other than 0, this returns it. */
int store_sqlite_sessions(const struct store *s,
                          int (*fn)(void *ctx, const struct track_row *row,
                                    struct err *e),
                          void *ctx, struct err *e) __attribute__((warn_unused_result));

#endif
