/* store_sqlite_priv.h - what the sources of the SQLite store share: the columns of a row, and what its
 * files tell without SQLite. */
#ifndef SERVE_STORE_SQLITE_PRIV_H
#define SERVE_STORE_SQLITE_PRIV_H

#include "serve/store/store.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STORE_SQLITE_APPLICATION 0x61627264 /* "abrd" */
#define STORE_SQLITE_SCHEMA 2

/* The other files of a store, from the database's path. */
#define STORE_SQLITE_PATH 600
#define STORE_SQLITE_COUNT "-count"
#define STORE_SQLITE_RESERVE "-reserve"

/* What an operator can do about a store that has lost something. */
#define STORE_SQLITE_REMEDY                                                   \
    "restore a backup, or give up what is lost with 'abrd doctor --data DIR " \
    "--accept-loss'"

/* The columns of a row, in the order that bind_* and read_* use; the first one goes through F, the
 * others through X. A row that is written again keeps the KEPT ones and takes the NEW ones. */
#define STORE_SESSION_TABLE(F, X)          \
    F(id, "BLOB PRIMARY KEY", KEPT)        \
    X(key, "INTEGER NOT NULL", KEPT)       \
    X(profile, "TEXT NOT NULL", NEW)       \
    X(content_id, "TEXT NOT NULL", KEPT)   \
    X(ladder_kbps, "TEXT NOT NULL", KEPT)  \
    X(chunk_s, "REAL NOT NULL", KEPT)      \
    X(chunks, "INTEGER NOT NULL", KEPT)    \
    X(buffer_max_s, "REAL NOT NULL", KEPT) \
    X(mu_quality, "REAL NOT NULL", KEPT)   \
    X(mu_switch, "REAL NOT NULL", KEPT)    \
    X(mu_stall, "REAL NOT NULL", KEPT)     \
    X(utility, "TEXT NOT NULL", KEPT)      \
    X(has_mu, "INTEGER NOT NULL", KEPT)    \
    X(has_key, "INTEGER NOT NULL", KEPT)   \
    X(hinted, "INTEGER NOT NULL", KEPT)    \
    X(explores, "INTEGER NOT NULL", KEPT)  \
    X(opened_at, "REAL NOT NULL", KEPT)    \
    X(closed_at, "REAL NOT NULL", NEW)     \
    X(closed, "INTEGER NOT NULL", NEW)     \
    X(terminal, "INTEGER NOT NULL", NEW)
#define STORE_STEP_TABLE(F, X)              \
    F(session, "BLOB NOT NULL", KEPT)       \
    X(ord, "INTEGER NOT NULL", KEPT)        \
    X(rev, "INTEGER NOT NULL", NEW)         \
    X(chunk, "INTEGER NOT NULL", KEPT)      \
    X(flags, "INTEGER NOT NULL", NEW)       \
    X(decided, "INTEGER NOT NULL", KEPT)    \
    X(level, "INTEGER NOT NULL", NEW)       \
    X(last_level, "INTEGER NOT NULL", KEPT) \
    X(expert, "INTEGER NOT NULL", KEPT)     \
    X(logp, "REAL NOT NULL", KEPT)          \
    X(value, "REAL NOT NULL", KEPT)         \
    X(entropy, "REAL NOT NULL", KEPT)       \
    X(prob, "BLOB NOT NULL", KEPT)          \
    X(next_bytes, "BLOB NOT NULL", KEPT)    \
    X(question, "INTEGER NOT NULL", KEPT)   \
    X(policy, "INTEGER NOT NULL", KEPT)     \
    X(bytes, "INTEGER NOT NULL", NEW)       \
    X(buffer_s, "REAL NOT NULL", KEPT)      \
    X(download_s, "REAL NOT NULL", NEW)     \
    X(rebuffer_s, "REAL NOT NULL", NEW)     \
    X(reward, "REAL NOT NULL", NEW)         \
    X(external, "REAL NOT NULL", NEW)       \
    X(at, "REAL NOT NULL", NEW)

/* What is made of a column, first or not: its name, its declaration, ... */
#define STORE_NAME_F(name, type, kept) #name
#define STORE_NAME_X(name, type, kept) ", " #name
#define STORE_SESSION_COLUMNS STORE_SESSION_TABLE(STORE_NAME_F, STORE_NAME_X)
#define STORE_STEP_COLUMNS STORE_STEP_TABLE(STORE_NAME_F, STORE_NAME_X)
#define STORE_ONE(name, type, kept) +1
enum {
    STORE_SESSION_N = STORE_SESSION_TABLE(STORE_ONE, STORE_ONE),
    STORE_STEP_N = STORE_STEP_TABLE(STORE_ONE, STORE_ONE),
};

/* ---- the statements (store_sqlite_sql.c) ---- */

enum store_sql {
    SQL_PUT_SESSION,
    SQL_PUT_STEP,
    SQL_PUT_VERSION,
    SQL_PUT_PROFILE,
    SQL_DELETE_PROFILE,
    SQL_PUT_ADDED,
    SQL_DELETE_ADDED,
    SQL_PRUNE_STEPS,
    SQL_PRUNE_SESSIONS,
    SQL_PUT_ENVELOPE,
    SQL_DELETE_PARCELS,
    SQL_EMPTY_ENVELOPE,
    SQL_COUNT_COMMIT,
    STORE_WRITES, /* those before are the writer's, those after the reader's */
    SQL_GET_SESSION = STORE_WRITES,
    SQL_GET_STEPS,
    SQL_GET_LIVE,
    SQL_GET_NEWEST,
    SQL_GET_PROFILES,
    SQL_GET_VERSIONS,
    SQL_GET_PARCELS,
    STORE_STATEMENTS,
};
extern const char *const store_sqlite_sql[STORE_STATEMENTS];
/* Tables that came later; run at every start. */
extern const char store_sqlite_later[];
/* The tables and views of an empty database. SQLITE_OK or what went wrong. */
int store_sqlite_make(sqlite3 *db);

/* Is the row as it was written? Rows of before there were checksums have none. */
#define STORE_SOUND(columns) "crc IS NULL OR crc = crc_of(" columns ")"

/* Gives the connection the function crc_of(...). */
int store_sqlite_crc_function(sqlite3 *db);
/* SQLITE_DONE: every row is as it was written; SQLITE_ROW: one is not, told in `found`; else what
 * went wrong. */
int store_sqlite_crc_check(char *found, size_t size, sqlite3 *db);

/* To the statement's parameters; what is bound is borrowed until it has run. */
void store_sqlite_bind_session(sqlite3_stmt *st, const struct track_row *r);
void store_sqlite_bind_step(sqlite3_stmt *st, const uint8_t *id, const struct step *s);
void store_sqlite_bind_qoe(sqlite3_stmt *st, int i, const struct qoe *k);

/* ---- what the files tell without SQLite ---- */

struct store_wal {
    bool bad_header;      /* and there are frames behind it */
    int64_t frames;       /* that the file has room for */
    int64_t bad;          /* the first that is not as it was written, from 1; 0: none */
    int64_t lost_commits; /* that end behind it, in this generation of the log */
};
/* Reads the log through; one that is not there is empty. ERR_IO, ERR_MEMORY. */
int store_sqlite_wal(struct store_wal *out, const char *path, struct err *e);

/* What a store has acknowledged since it was made. */
struct store_count {
    uint64_t store; /* a random number; 0: there is no count */
    uint64_t commits, records;
};
int store_sqlite_count_read(struct store_count *out, const char *path, struct err *e);
/* A file descriptor, or a code. */
int store_sqlite_count_open(const char *path, const struct store_count *c, struct err *e);
int store_sqlite_count_write(int fd, const struct store_count *c);
/* The same, as the database has it; no count when it has none. SQLITE_OK or what went wrong. */
int store_sqlite_count_select(struct store_count *out, sqlite3 *db);

struct store_evidence {
    struct store_wal wal;
    struct store_count count;
};
/* Looks before SQLite does: ERR_CORRUPT when the database is gone while other files say that there
 * was one, or when its log is damaged. locked: the folder is ours; the log of a daemon that runs is
 * in motion and is not read. */
int store_sqlite_look(struct store_evidence *out, const char *path, bool locked,
                      struct err *e);
/* ERR_CORRUPT when the open database has less than was counted. */
int store_sqlite_missing(const struct store_evidence *seen, sqlite3 *db, const char *path,
                         struct err *e);

struct store_sqlite_health;
/* store_sqlite_check; locked: as above. */
int store_sqlite_examine(struct store_sqlite_health *out, const char *path, bool locked,
                         struct err *e);

/* ---- room for what was acknowledged before the disk was full ---- */

struct store_room {
    int fd;
    int64_t bytes; /* 0: none can be had here, or none is wanted */
    atomic_bool held;
};
int store_sqlite_room_open(struct store_room *r, const char *path, int64_t bytes,
                           struct err *e);
/* Takes the room again; ERR_IO while the disk has not as much. */
int store_sqlite_room_take(struct store_room *r, const char *path, struct err *e);
/* Gives it to who writes; false: there was none. */
bool store_sqlite_room_give(struct store_room *r);
void store_sqlite_room_close(struct store_room *r);

/* ---- rows ---- */

/* From the row that a statement stands on, with STORE_SOUND behind its columns; i: the first
 * column. ERR_CORRUPT. */
int store_sqlite_read_session(struct track_row *r, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_step(struct step *s, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_qoe(struct qoe *k, sqlite3_stmt *st, int i, struct err *e);
void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i);

#endif
