/* store_sqlite_priv.h - what the three sources of the SQLite store share: store_sqlite.c is the store,
 * store_sqlite_check.c says whether all of it is there, store_sqlite_copy.c makes a backup copy. */
#ifndef SERVE_STORE_SQLITE_PRIV_H
#define SERVE_STORE_SQLITE_PRIV_H

#include "serve/store/store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_SQLITE_APPLICATION 0x61627264 /* "abrd" */
#define STORE_SQLITE_SCHEMA 5

/* The other files of a store, from the database's path. */
#define STORE_SQLITE_PATH 600
#define STORE_SQLITE_COUNT "-count"
#define STORE_SQLITE_RESERVE "-reserve"

/* What an operator can do about a store that has lost something. */
#define STORE_SQLITE_REMEDY                                                   \
    "restore a backup, or give up what is lost with 'abrd doctor --data DIR " \
    "--accept-loss'"

/* ---- store_sqlite.c ---- */

/* The refusal for a result code of SQLite; db may be NULL. */
int store_sqlite_fail(const char *path, sqlite3 *db, int rc, struct err *e);
/* The first column of the first row; number or text may be NULL. SQLITE_ROW, SQLITE_DONE (there is
 * no row) or what went wrong. */
int store_sqlite_ask(int64_t *number, char *text, size_t size, sqlite3 *db,
                     const char *sql);
void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i);
/* Do the pages fit together (PRAGMA quick_check), and is the checksum of every row right? */
int store_sqlite_sound(sqlite3 *db, const char *path, struct err *e);

/* ---- store_sqlite_check.c ---- */

/* How much a store has acknowledged since it was made. */
struct store_count {
    uint64_t store; /* a random number; 0: there is no count */
    uint64_t commits, records;
};
/* Begins the count of a database at c. A file descriptor, or a code. */
int store_sqlite_count_open(const char *db, const struct store_count *c, struct err *e);
int store_sqlite_count_write(int fd, const struct store_count *c);
/* The count that the database has itself; SQLITE_OK or what went wrong. */
int store_sqlite_count_select(struct store_count *out, sqlite3 *db);

struct store_wal {
    bool bad_header;      /* and there are frames behind it */
    int64_t frames;       /* that the file has room for */
    int64_t bad;          /* the first with a wrong checksum, from 1; 0: none */
    int64_t lost_commits; /* that end behind it, in this generation of the log */
};

struct store_evidence {
    struct store_wal wal;
    struct store_count count;
};
/* Reads the files before SQLite does: ERR_CORRUPT if the database is gone while other files say that
 * there was one, or if its log is damaged. locked: the caller holds the folder's lock. The log of a
 * daemon that runs is in motion and is not read. */
int store_sqlite_look(struct store_evidence *out, const char *path, bool locked,
                      struct err *e);
/* ERR_CORRUPT if the open database has less than was counted. */
int store_sqlite_missing(const struct store_evidence *seen, sqlite3 *db, const char *path,
                         struct err *e);

#endif
