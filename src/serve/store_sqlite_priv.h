/* store_sqlite_priv.h - what the sources of the SQLite store share: a row's columns, in the order
 * of SESSION_COLUMNS, STEP_COLUMNS and the profiles' table. */
#ifndef SERVE_STORE_SQLITE_PRIV_H
#define SERVE_STORE_SQLITE_PRIV_H

#include "serve/store.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#define STORE_SQLITE_APPLICATION 0x61627264 /* "abrd" */

/* The columns in the order that bind_* and read_* use. */
#define STORE_SESSION_COLUMNS                                                       \
    "id, key, profile, content_id, ladder_kbps, chunk_s, chunks, buffer_max_s,"     \
    " mu_quality, mu_switch, mu_stall, utility, has_mu, has_key, hinted, explores," \
    " opened_at, closed_at, closed, terminal"
#define STORE_STEP_COLUMNS                                                              \
    "session, ord, rev, chunk, flags, decided, level, last_level, expert, logp, value," \
    " entropy, prob, next_bytes, question, policy, bytes, buffer_s, download_s,"        \
    " rebuffer_s, reward, external, at"

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

/* From the row that a statement stands on, with STORE_SOUND behind its columns; i: the first
 * column. ERR_CORRUPT. */
int store_sqlite_read_session(struct track_row *r, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_step(struct step *s, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_qoe(struct qoe *k, sqlite3_stmt *st, int i, struct err *e);
void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i);

#endif
