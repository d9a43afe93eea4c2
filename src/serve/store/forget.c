#include "serve/store/forget.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/session/service.h"
#include "serve/session/viewer.h"
#include "serve/store/folder.h"
#include "serve/store/store_sqlite.h"
#include "store_sqlite_priv.h"

/* ---- the choice ---- */

int forget_check(const struct forget_choice *c, struct err *e)
{
    if (!c->has_id && !c->viewer && !(c->before > 0) && labels_none(&c->labels))
        return err_set(e, ERR_INVALID,
                       "says nothing of which sessions: give session, viewer, before or "
                       "a label");
    if (c->viewer && (!c->viewer[0] || strlen(c->viewer) >= SERVICE_VIEWER))
        return err_field(e, ERR_RANGE, "viewer", "must have 1 to %d bytes",
                         SERVICE_VIEWER - 1);
    return 0;
}

static bool fits_viewer(const uint8_t key[SIPHASH_KEY], const char *viewer,
                        const struct track_row *row)
{
    if (row->viewer) return row->viewer == viewer_hash(key, viewer);
    return row->arm.trial[0] &&
           row->arm.unit == viewer_unit(key, row->arm.trial, viewer, 0);
}

bool forget_fits(const struct forget_choice *c, const uint8_t key[SIPHASH_KEY],
                 const struct track_row *row)
{
    if (c->has_id && memcmp(c->id, row->id, TRACK_ID)) return false;
    if (c->viewer && !fits_viewer(key, c->viewer, row)) return false;
    if (c->before > 0 && !(row->closed && row->closed_at < c->before)) return false;
    return labels_fit(&row->labels, &c->labels);
}

/* Of rows that are older than the column `viewer`. */
struct forget_viewer {
    uint8_t key[SIPHASH_KEY];
    const char *name;
};

static void sql_unit(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    const struct forget_viewer *of = sqlite3_user_data(ctx);
    const char *trial = (const char *)sqlite3_value_text(v[0]);
    if (trial && strlen(trial) < SERVICE_TRIAL)
        sqlite3_result_int64(ctx, (int64_t)viewer_unit(of->key, trial, of->name, 0));
}

/* A condition with a NULL parameter holds. */
static const char CHOOSE_SQL[] =
    "CREATE TEMP TABLE chosen AS SELECT id, closed, closed_at FROM sessions WHERE"
    " (?1 IS NULL OR id = ?1) AND"
    " (?2 IS NULL OR viewer = ?2 OR"
    "  (trial IS NOT NULL AND unit = viewer_unit(trial))) AND"
    " (?3 IS NULL OR (closed AND closed_at < ?3)) AND"
    " (?4 IS NULL OR label_device = ?4) AND (?5 IS NULL OR label_cdn = ?5) AND"
    " (?6 IS NULL OR label_country = ?6) AND (?7 IS NULL OR label_app = ?7) AND"
    " (?8 IS NULL OR label_network = ?8) AND (?9 IS NULL OR label_experiment = ?9) AND"
    " (?10 IS NULL OR label_tenant = ?10)";
_Static_assert(LABELS_KEYS == 7, "a parameter for each label");

static int choose(sqlite3 *db, const struct forget_choice *c,
                  const struct forget_viewer *of)
{
    sqlite3_stmt *st = NULL;
    int rc =
        sqlite3_create_function_v2(db, "viewer_unit", 1, SQLITE_UTF8,
                                   (void *)(uintptr_t)of, sql_unit, NULL, NULL, NULL);
    if (!rc) rc = sqlite3_prepare_v2(db, CHOOSE_SQL, -1, &st, NULL);
    if (rc) return rc;
    if (c->has_id) sqlite3_bind_blob(st, 1, c->id, TRACK_ID, SQLITE_STATIC);
    if (c->viewer) sqlite3_bind_int64(st, 2, (int64_t)viewer_hash(of->key, of->name));
    if (c->before > 0) sqlite3_bind_double(st, 3, c->before);
    for (int k = 0; k < LABELS_KEYS; k++)
        if (c->labels.value[k][0])
            sqlite3_bind_text(st, 4 + k, c->labels.value[k], -1, SQLITE_STATIC);
    sqlite3_step(st);
    return sqlite3_finalize(st);
}

/* ---- counting and deleting ---- */

static int count_chosen(struct forget_stats *out, sqlite3 *db)
{
    const struct {
        int64_t *to;
        const char *sql;
    } ROWS[] = {{&out->sessions, "SELECT count(*) FROM chosen"},
                {&out->live, "SELECT count(*) FROM chosen WHERE NOT closed"},
                {&out->steps,
                 "SELECT count(*) FROM steps WHERE session IN (SELECT id FROM chosen)"},
                {&out->trajectories, "SELECT count(*) FROM parcels WHERE bytes <> x''"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        int rc = store_sqlite_ask(ROWS[i].to, NULL, 0, db, ROWS[i].sql);
        if (rc != SQLITE_ROW) return rc;
    }
    if (!out->sessions) out->trajectories = 0;
    return SQLITE_OK;
}

/* The newest envelope keeps its number, so that none is used twice. */
static const char DELETE_SQL[] =
    "BEGIN IMMEDIATE;"
    "DELETE FROM steps WHERE session IN (SELECT id FROM chosen);"
    "DELETE FROM sessions WHERE id IN (SELECT id FROM chosen);"
    "DELETE FROM parcels WHERE number > 0 AND number < (SELECT max(number) FROM parcels);"
    "UPDATE parcels SET bytes = x'' WHERE number > 0;"
    "COMMIT";

/* Pages may have old copies of rows in their free space, from before: only a new file has none. */
static int renew(sqlite3 *db)
{
    sqlite3_exec(db, "PRAGMA temp_store = FILE", NULL, NULL, NULL);
    int rc =
        sqlite3_exec(db, "DROP TABLE IF EXISTS temp.chosen; VACUUM", NULL, NULL, NULL);
    if (!rc)
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return rc;
}

static int read_recent(struct forget_recent *out, sqlite3 *db)
{
    static const char SQL[] = "SELECT id FROM chosen WHERE NOT closed OR closed_at >= ?";
    sqlite3_stmt *st = NULL;
    int cap = 0, rc = sqlite3_prepare_v2(db, SQL, -1, &st, NULL);
    if (rc) return rc;
    sqlite3_bind_double(st, 1, out->since);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        if (out->n == cap) {
            cap = cap ? 2 * cap : 64;
            void *more = realloc(out->id, (size_t)cap * TRACK_ID);
            if (!more) break;
            out->id = more;
        }
        memcpy(out->id[out->n++], sqlite3_column_blob(st, 0), TRACK_ID);
    }
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ? SQLITE_OK : rc == SQLITE_ROW ? SQLITE_NOMEM : rc;
}

int forget_store(struct forget_stats *out, struct forget_recent *recent, const char *path,
                 const struct forget_choice *c, const uint8_t key[SIPHASH_KEY], bool dry,
                 struct err *e)
{
    sqlite3 *db = NULL;
    struct forget_viewer of = {.name = c->viewer ? c->viewer : ""};
    memcpy(of.key, key, sizeof of.key);
    *out = (struct forget_stats){0};
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    if (!rc) rc = sqlite3_busy_timeout(db, 5000); /* others may read */
    if (!rc)
        rc = sqlite3_exec(db,
                          "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;"
                          "PRAGMA synchronous = FULL",
                          NULL, NULL, NULL);
    if (!rc) rc = choose(db, c, &of);
    if (!rc) rc = count_chosen(out, db);
    if (!rc && recent) rc = read_recent(recent, db);
    if (!rc && !dry && out->sessions) rc = sqlite3_exec(db, DELETE_SQL, NULL, NULL, NULL);
    /* also if nothing was chosen: a run before may have been interrupted here */
    if (!rc && !dry) rc = renew(db);
    int code = rc ? store_sqlite_fail(path, db, rc, e) : 0;
    sqlite3_close(db);
    return code;
}

/* ---- the folder ---- */

/* Damaged stores that were kept: abrd.db.bad, abrd.db-wal.bad and so on. */
int forget_kept(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    const struct dirent *entry;
    while (d && (entry = readdir(d)))
        n += !strncmp(entry->d_name, "abrd.db", 7) && strstr(entry->d_name, ".bad");
    if (d) closedir(d);
    return n;
}

/* The key of viewers' hashes. Without the file nobody can be found by name. */
static int read_key(uint8_t key[SIPHASH_KEY], struct folder *f, struct err *e)
{
    if (access(f->secret, R_OK))
        return err_field(e, ERR_ABSENT, f->secret,
                         "cannot be read: without it no session can be found by viewer");
    return folder_secret(f, key, &(struct entropy){0}, NULL, e);
}

int forget_sessions(struct forget_stats *out, const char *dir,
                    const struct forget_choice *choice, bool dry, struct err *e)
{
    struct folder f;
    struct store store = {0};
    uint8_t key[SIPHASH_KEY] = {0};
    *out = (struct forget_stats){0};
    int rc = forget_check(choice, e);
    if (rc) return rc;
    if (access(dir, F_OK))
        return err_field(e, ERR_ABSENT, dir, "there is no such folder");
    rc = folder_open(&f, dir, e);
    if (rc) return rc;
    if (!f.used) rc = err_field(e, ERR_ABSENT, f.db, "there is no store");
    if (!rc && choice->viewer) rc = read_key(key, &f, e);
    if (!rc)
        rc = store_sqlite_open(
            &store, &(struct store_sqlite_cfg){.path = f.db, .reserve = -1}, e);
    if (!rc) {
        store.free(store.self);
        rc = forget_store(out, NULL, f.db, choice, key, dry, e);
    }
    if (!rc) out->kept = forget_kept(dir);
    folder_close(&f);
    return rc;
}

int forget_time(double *out, const char *text, struct err *e)
{
    struct tm t = {0};
    const char *rest = strptime(text, "%Y-%m-%d", &t);
    if (rest && *rest == 'T') {
        rest = strptime(rest, "T%H:%M:%S", &t);
        rest = rest && *rest == 'Z' ? rest + 1 : NULL;
    }
    time_t at = rest && !*rest ? timegm(&t) : 0;
    if (at <= 0)
        return err_field(e, ERR_INVALID, "before",
                         "'%.40s' is not a time such as 2026-11-24 or "
                         "2026-11-24T10:30:00Z (UTC)",
                         text);
    *out = (double)at;
    return 0;
}
