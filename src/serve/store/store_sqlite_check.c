/* A store looked at from outside, also while a daemon uses it. */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <unistd.h>

#include "serve/store/store_sqlite.h"

static int store_sqlite_check_refuse(const char *path, sqlite3 *db, int rc, struct err *e)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    if ((rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT)
        return err_field(e, ERR_CORRUPT, path,
                         "is damaged, or no store (%.60s): " STORE_SQLITE_REMEDY, why);
    return err_field(e, ERR_IO, path, "cannot be read: %s", why);
}

/* The first column of the first row: a number, or a text that must be `expected`. */
static int ask(int64_t *out, sqlite3 *db, const char *path, const char *sql,
               const char *expected, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (!rc) rc = sqlite3_step(st);
    int code = 0;
    if (rc != SQLITE_ROW) {
        code = store_sqlite_check_refuse(path, db, rc, e);
    } else if (expected) {
        char text[160];
        store_sqlite_read_text(text, sizeof text, st, 0);
        if (strcmp(text, expected) != 0)
            code = err_field(e, ERR_CORRUPT, path,
                             "is damaged (%.80s): " STORE_SQLITE_REMEDY, text);
    } else {
        *out = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    return code;
}

static int rows_are_sound(sqlite3 *db, const char *path, struct err *e)
{
    int64_t version = 0;
    int code = ask(&version, db, path, "PRAGMA user_version", NULL, e);
    if (code || version < 2) return code; /* rows had no checksum */
    char found[160];
    int rc = store_sqlite_crc_function(db);
    if (!rc) rc = store_sqlite_crc_check(found, sizeof found, db);
    if (rc == SQLITE_DONE) return 0;
    if (rc != SQLITE_ROW) return store_sqlite_check_refuse(path, db, rc, e);
    return err_field(e, ERR_CORRUPT, path,
                     "is damaged (%.80s is not as it was written): " STORE_SQLITE_REMEDY,
                     found);
}

/* Which profiles have grown; a store of before does not say. */
static int read_added(struct store_sqlite_health *out, sqlite3 *db, const char *path,
                      struct err *e)
{
    int64_t there = 0;
    int rc,
        code = ask(&there, db, path,
                   "SELECT count(*) FROM sqlite_master WHERE name = 'grown'", NULL, e);
    sqlite3_stmt *st = NULL;
    if (code || !there) return code;
    rc = sqlite3_prepare_v2(db, "SELECT name FROM grown ORDER BY name", -1, &st, NULL);
    if (!rc) rc = SQLITE_ROW;
    while (rc == SQLITE_ROW && out->n_added < SERVICE_ADDED &&
           (rc = sqlite3_step(st)) == SQLITE_ROW)
        store_sqlite_read_text(out->added[out->n_added++], SERVICE_NAME, st, 0);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? 0
               : store_sqlite_check_refuse(path, db, rc, e);
}

int store_sqlite_check(struct store_sqlite_health *out, const char *path, struct err *e)
{
    return store_sqlite_examine(out, path, false, e);
}

int store_sqlite_examine(struct store_sqlite_health *out, const char *path, bool locked,
                         struct err *e)
{
    *out = (struct store_sqlite_health){0};
    sqlite3 *db = NULL;
    int64_t application = 0;
    struct store_evidence seen;
    int rc = store_sqlite_look(&seen, path, locked, e);
    if (rc) return rc;
    if (access(path, F_OK) && errno == ENOENT)
        return err_field(e, ERR_ABSENT, path, "there is no store");
    rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc) {
        rc = store_sqlite_check_refuse(path, db, rc, e);
        goto out;
    }
    sqlite3_busy_timeout(db, 5000);
    rc = ask(&application, db, path, "PRAGMA application_id", NULL, e);
    if (!rc) rc = store_sqlite_missing(&seen, db, path, e);
    if (!rc && application != STORE_SQLITE_APPLICATION)
        rc = err_field(e, ERR_CORRUPT, path, "is the database of another program");
    if (!rc) rc = ask(NULL, db, path, "PRAGMA quick_check(1)", "ok", e);
    if (!rc) rc = rows_are_sound(db, path, e);
    if (!rc) rc = ask(&out->sessions, db, path, "SELECT count(*) FROM sessions", NULL, e);
    if (!rc)
        rc = ask(&out->live, db, path, "SELECT count(*) FROM sessions WHERE NOT closed",
                 NULL, e);
    if (!rc) rc = ask(&out->steps, db, path, "SELECT count(*) FROM steps", NULL, e);
    if (!rc) rc = read_added(out, db, path, e);
out:
    sqlite3_close(db);
    return rc;
}
