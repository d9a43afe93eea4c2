/* store_sqlite_priv.h - what the sources of the SQLite store share: a row's columns, in the order
 * of SESSION_COLUMNS, STEP_COLUMNS and the profiles' table. */
#ifndef SERVE_STORE_SQLITE_PRIV_H
#define SERVE_STORE_SQLITE_PRIV_H

#include "serve/store.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#define STORE_SQLITE_APPLICATION 0x61627264 /* "abrd" */

/* To the statement's parameters; what is bound is borrowed until it has run. */
void store_sqlite_bind_session(sqlite3_stmt *st, const struct track_row *r);
void store_sqlite_bind_step(sqlite3_stmt *st, const uint8_t *id, const struct step *s);
void store_sqlite_bind_qoe(sqlite3_stmt *st, int i, const struct qoe *k);

/* From the row that a statement stands on; i: the first column. ERR_CORRUPT. */
int store_sqlite_read_session(struct track_row *r, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_step(struct step *s, sqlite3_stmt *st, struct err *e);
int store_sqlite_read_qoe(struct qoe *k, sqlite3_stmt *st, int i, struct err *e);
void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i);

#endif
