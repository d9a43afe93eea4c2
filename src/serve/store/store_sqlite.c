#include "serve/store/store_sqlite.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_sqlite_priv.h"

enum {
    /* steps needed to go on: the open trajectory and the measurements before it */
    STEPS_EXPLORING = TRAJ_STEPS + 4 * VIEW_HISTORY,
    STEPS_GREEDY = 4 * VIEW_HISTORY,
    PRUNE_AT_ONCE = 500,   /* sessions, between other rows: 50/s may end for ever */
    CHECK_PAGES = 1 << 19, /* 2 GB, some seconds */
    RESERVE_BYTES =
        16 << 20, /* a page for each of 4,000 rows: 50 ms at 25,000 decisions/s */
};

struct db {
    char path[512];
    int64_t check_pages;
    sqlite3 *writer, *reader, *keeper;
    sqlite3_stmt *st[STORE_STATEMENTS];
    struct store_count count; /* of the last commit */
    int count_fd;
    char reserve[STORE_SQLITE_PATH];
    struct store_room room;
    pthread_mutex_t lock; /* of the reader and its statements */
};

static int fail(struct db *d, sqlite3 *db, int rc, struct err *e)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return err_field(e, ERR_IO, d->path, "the disk is full (%s): make room", why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return err_field(e, ERR_IO, d->path, "cannot be written (%s): check its owner",
                         why);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_field(e, ERR_CORRUPT, d->path,
                         "is damaged or not a database (%s): " STORE_SQLITE_REMEDY, why);
    case SQLITE_NOMEM:
        return err_field(e, ERR_MEMORY, d->path, "out of memory");
    default:
        return err_field(e, ERR_IO, d->path, "%s", why);
    }
}

/* ---- writing ---- */

static int run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int prune(struct db *d, double before)
{
    for (int k = SQL_PRUNE_STEPS; k <= SQL_PRUNE_SESSIONS; k++) {
        sqlite3_bind_double(d->st[k], 1, before);
        sqlite3_bind_int(d->st[k], 2, PRUNE_AT_ONCE);
        int rc = run(d->st[k]);
        if (rc) return rc;
    }
    return SQLITE_OK;
}

static int delivered(struct db *d, uint64_t number)
{
    for (int k = SQL_DELETE_PARCELS; k <= SQL_EMPTY_ENVELOPE; k++) {
        sqlite3_bind_int64(d->st[k], 1, (int64_t)number);
        int rc = run(d->st[k]);
        if (rc) return rc;
    }
    return SQLITE_OK;
}

/* A profile put again without experts of its own keeps those it has: only its end ends them. */
static int mark_added(struct db *d, const struct profile *p, bool gone)
{
    if (!gone && !p->grow) return SQLITE_OK;
    sqlite3_stmt *st = d->st[gone ? SQL_DELETE_ADDED : SQL_PUT_ADDED];
    sqlite3_bind_text(st, 1, p->name, -1, SQLITE_STATIC);
    return run(st);
}

static int write_one(struct db *d, const struct store_rec *r)
{
    sqlite3_stmt *st = NULL;
    switch (r->kind) {
    case STORE_SESSION:
        st = d->st[SQL_PUT_SESSION];
        store_sqlite_bind_session(st, &r->row);
        break;
    case STORE_STEP:
        st = d->st[SQL_PUT_STEP];
        store_sqlite_bind_step(st, r->id, &r->step);
        break;
    case STORE_VERSION:
        st = d->st[SQL_PUT_VERSION];
        sqlite3_bind_int64(st, 1, (int64_t)r->version.version);
        sqlite3_bind_int64(st, 2, r->version.crc);
        sqlite3_bind_double(st, 3, r->version.published_at);
        sqlite3_bind_double(st, 4, r->version.check_score);
        break;
    case STORE_PROFILE:
        st = d->st[SQL_PUT_PROFILE];
        sqlite3_bind_text(st, 1, r->profile.name, -1, SQLITE_STATIC);
        store_sqlite_bind_qoe(st, 2, &r->profile.qoe);
        if (mark_added(d, &r->profile, false)) return sqlite3_errcode(d->writer);
        break;
    case STORE_PROFILE_GONE:
        st = d->st[SQL_DELETE_PROFILE];
        sqlite3_bind_text(st, 1, r->profile.name, -1, SQLITE_STATIC);
        if (mark_added(d, &r->profile, true)) return sqlite3_errcode(d->writer);
        break;
    case STORE_PRUNE:
        return prune(d, r->before);
    case STORE_ENVELOPE:
        st = d->st[SQL_PUT_ENVELOPE];
        sqlite3_bind_int64(st, 1, (int64_t)r->envelope.number);
        sqlite3_bind_blob(st, 2, r->envelope.bytes, (int)r->envelope.n, SQLITE_STATIC);
        break;
    case STORE_DELIVERED:
        return delivered(d, r->envelope.number);
    }
    return run(st);
}

static int count_commit(struct db *d, int n)
{
    sqlite3_bind_int(d->st[SQL_COUNT_COMMIT], 1, n);
    return run(d->st[SQL_COUNT_COMMIT]);
}

/* One transaction. *full: it failed for want of room. */
static int write_batch(struct db *d, const struct store_rec *rec, int n, bool *full,
                       struct err *e)
{
    int rc = sqlite3_exec(d->writer, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int i = 0; i < n && !rc; i++)
        rc = write_one(d, &rec[i]);
    if (!rc) rc = count_commit(d, n);
    if (!rc) rc = sqlite3_exec(d->writer, "COMMIT", NULL, NULL, NULL);
    if (!rc) return 0;

    int os = sqlite3_system_errno(d->writer);
    *full = (rc & 0xff) == SQLITE_FULL ||
            ((rc & 0xff) == SQLITE_IOERR && (os == ENOSPC || os == EDQUOT));
    int code = fail(d, d->writer, rc, e);
    if (!sqlite3_get_autocommit(d->writer))
        sqlite3_exec(d->writer, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* The count is written behind the commit: after a crash it may be too low, never too high. */
static int db_write(void *self, const struct store_rec *rec, int n, struct err *e)
{
    struct db *d = self;
    struct err why = {0};
    bool full = false;
    int rc = write_batch(d, rec, n, &full, &why);
    if (rc && full && store_sqlite_room_give(&d->room)) {
        why = (struct err){0};
        rc = write_batch(d, rec, n, &full, &why);
    }
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    d->count.commits++;
    d->count.records += (uint64_t)n;
    (void)!store_sqlite_count_write(d->count_fd, &d->count);
    return 0;
}

static int db_room(void *self, struct err *e)
{
    struct db *d = self;
    return store_sqlite_room_take(&d->room, d->reserve, e);
}

/* ---- reading: all under d->lock ---- */

/* Steps of the bound statement, appended to a growing array. */
static int read_steps(struct db *d, sqlite3_stmt *st, struct step **out, int *n,
                      struct err *e)
{
    int cap = 0, rc, code = 0;
    *out = NULL;
    *n = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        if (*n == cap) {
            cap = cap ? 2 * cap : 64;
            struct step *more = realloc(*out, (size_t)cap * sizeof **out);
            if (!more) {
                code = err_field(e, ERR_MEMORY, d->path, "out of memory");
                break;
            }
            *out = more;
        }
        code = store_sqlite_read_step(&(*out)[*n], st, e);
        if (!code) (*n)++;
    }
    if (!code && rc != SQLITE_DONE) code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    return code;
}

static int history_locked(struct db *d, struct track_row *row, double *last_at,
                          struct step **steps, int *n, const uint8_t *id, uint32_t after,
                          int limit, struct err *e)
{
    sqlite3_stmt *st = d->st[SQL_GET_SESSION];
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    int rc = sqlite3_step(st), code;
    if (rc == SQLITE_ROW)
        code = store_sqlite_read_session(row, st, e);
    else if (rc == SQLITE_DONE)
        code = err_field(e, ERR_ABSENT, "session", "no such session");
    else
        code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    if (code) return code;
    st = d->st[SQL_GET_STEPS];
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, after);
    sqlite3_bind_int(st, 3, limit);
    code = read_steps(d, st, steps, n, e);
    *last_at = 0;
    for (int i = 0; i < *n; i++)
        if ((*steps)[i].at > *last_at) *last_at = (*steps)[i].at;
    if (code || *n < limit) return code;
    struct step *newest = NULL;
    int one;
    st = d->st[SQL_GET_NEWEST];
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    sqlite3_bind_int(st, 2, 1);
    code = read_steps(d, st, &newest, &one, e);
    if (!code && one && newest->at > *last_at) *last_at = newest->at;
    free(newest);
    return code;
}

static int db_history(void *self, struct track_row *row, double *last_at,
                      struct step **steps, int *n, const uint8_t id[TRACK_ID],
                      uint32_t after, int limit, struct err *e)
{
    struct db *d = self;
    *steps = NULL;
    pthread_mutex_lock(&d->lock);
    int code = history_locked(d, row, last_at, steps, n, id, after, limit, e);
    pthread_mutex_unlock(&d->lock);
    if (code) {
        free(*steps);
        *steps = NULL;
    }
    return code;
}

static int db_live(void *self,
                   int (*fn)(void *ctx, const struct track_row *row,
                             const struct step *steps, int n, struct err *e),
                   void *ctx, struct err *e)
{
    struct db *d = self;
    pthread_mutex_lock(&d->lock);
    sqlite3_stmt *st = d->st[SQL_GET_LIVE];
    int rc, code = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct track_row row;
        struct step *steps = NULL;
        int n = 0;
        code = store_sqlite_read_session(&row, st, e);
        if (!code) {
            sqlite3_stmt *newest = d->st[SQL_GET_NEWEST];
            sqlite3_bind_blob(newest, 1, row.id, TRACK_ID, SQLITE_STATIC);
            sqlite3_bind_int(newest, 2, row.explores ? STEPS_EXPLORING : STEPS_GREEDY);
            code = read_steps(d, newest, &steps, &n, e);
        }
        if (!code && n) code = fn(ctx, &row, steps, n, e);
        free(steps);
    }
    if (!code && rc != SQLITE_DONE) code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    pthread_mutex_unlock(&d->lock);
    return code;
}

static int db_profiles(void *self, struct profile *out, int max, int *n, struct err *e)
{
    struct db *d = self;
    pthread_mutex_lock(&d->lock);
    sqlite3_stmt *st = d->st[SQL_GET_PROFILES];
    int rc = SQLITE_DONE, code = 0;
    for (*n = 0; *n < max && !code && (rc = sqlite3_step(st)) == SQLITE_ROW; (*n)++) {
        out[*n] = (struct profile){0};
        store_sqlite_read_text(out[*n].name, sizeof out[*n].name, st, 0);
        code = store_sqlite_read_qoe(&out[*n].qoe, st, 1, e);
        out[*n].grow = sqlite3_column_int(st, 5);
    }
    if (!code && rc != SQLITE_DONE && rc != SQLITE_ROW) code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    pthread_mutex_unlock(&d->lock);
    return code;
}

static int db_versions(void *self, struct store_version *out, int max, int *n,
                       struct err *e)
{
    *n = 0;
    struct db *d = self;
    pthread_mutex_lock(&d->lock);
    sqlite3_stmt *st = d->st[SQL_GET_VERSIONS];
    sqlite3_bind_int(st, 1, max);
    int rc, code = 0;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        bool scored = sqlite3_column_type(st, 3) != SQLITE_NULL;
        out[(*n)++] = (struct store_version){
            .version = (uint64_t)sqlite3_column_int64(st, 0),
            .crc = (uint32_t)sqlite3_column_int64(st, 1),
            .published_at = sqlite3_column_double(st, 2),
            .check_score = scored ? sqlite3_column_double(st, 3) : (double)NAN};
    }
    if (rc != SQLITE_DONE) code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    pthread_mutex_unlock(&d->lock);
    return code;
}

static int db_envelopes(void *self,
                        int (*fn)(void *ctx, const struct bus_envelope *p, struct err *e),
                        void *ctx, struct err *e)
{
    struct db *d = self;
    pthread_mutex_lock(&d->lock);
    sqlite3_stmt *st = d->st[SQL_GET_PARCELS];
    int rc = SQLITE_DONE, code = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct bus_envelope p = {.number = (uint64_t)sqlite3_column_int64(st, 0),
                                 .bytes = sqlite3_column_blob(st, 1),
                                 .n = (size_t)sqlite3_column_bytes(st, 1)};
        code = fn(ctx, &p, e);
    }
    if (!code && rc != SQLITE_DONE) code = fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    pthread_mutex_unlock(&d->lock);
    return code;
}

/* ---- tidying ---- */

static int db_tidy(void *self, struct err *e)
{
    struct db *d = self;
    (void)!fdatasync(d->count_fd); /* a power cut leaves it little behind */
    if (!d->room.held) return 0;   /* the room is for records */
    int rc =
        sqlite3_wal_checkpoint_v2(d->keeper, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0 : fail(d, d->keeper, rc, e);
}

/* ---- opening ---- */

static int exec(struct db *d, sqlite3 *db, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc ? fail(d, db, rc, e) : 0;
}

static int pragma_int(struct db *d, int *out, const char *sql, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(d->writer, sql, -1, &st, NULL);
    if (!rc) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int(st, 0);
    int code = rc == SQLITE_ROW ? 0 : fail(d, d->writer, rc, e);
    sqlite3_finalize(st);
    return code;
}

/* An empty file becomes ours; one of another program or of a newer version is left alone.
 */
static int check_schema(struct db *d, struct err *e)
{
    int application = 0, version = 0, tables = 0;
    int rc = pragma_int(d, &application, "PRAGMA application_id", e);
    if (!rc) rc = pragma_int(d, &version, "PRAGMA user_version", e);
    if (!rc) rc = pragma_int(d, &tables, "SELECT count(*) FROM sqlite_master", e);
    if (rc) return rc;

    if (!application && !version && !tables) {
        int made = store_sqlite_make(d->writer);
        return made ? fail(d, d->writer, made, e) : 0;
    }
    if (application != STORE_SQLITE_APPLICATION)
        return err_field(e, ERR_CORRUPT, d->path,
                         "is a database of another program: choose another folder");
    if (version == 1) /* rows had no checksum */
        return exec(d, d->writer,
                    "BEGIN; ALTER TABLE sessions ADD COLUMN crc INTEGER;"
                    "ALTER TABLE steps ADD COLUMN crc INTEGER;"
                    "PRAGMA user_version = 2; COMMIT",
                    e);
    if (version != STORE_SQLITE_SCHEMA)
        return err_field(
            e, ERR_CORRUPT, d->path,
            "has schema %d, this program knows %d: use the program that wrote it, or "
            "the backup of before",
            version, STORE_SQLITE_SCHEMA);
    return 0;
}

/* Pages that do not fit together, rows that are not as they were written. What is too large to
 * be read at every start is the operator's. */
static int check_pages(struct db *d, struct err *e)
{
    sqlite3_stmt *st = NULL;
    char found[160] = "";
    int pages = 0, rc = pragma_int(d, &pages, "PRAGMA page_count", e);
    if (rc || pages > d->check_pages) return rc;
    rc = sqlite3_prepare_v2(d->writer, "PRAGMA quick_check(1)", -1, &st, NULL);
    if (!rc) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) store_sqlite_read_text(found, sizeof found, st, 0);
    sqlite3_finalize(st);
    if (rc != SQLITE_ROW) return fail(d, d->writer, rc, e);
    if (strcmp(found, "ok") == 0) {
        rc = store_sqlite_crc_check(found, sizeof found, d->writer);
        if (rc == SQLITE_DONE) return 0;
        if (rc != SQLITE_ROW) return fail(d, d->writer, rc, e);
    }
    const char *line = strrchr(found, '\n'); /* behind a heading */
    return err_field(e, ERR_CORRUPT, d->path, "is damaged (%.80s): " STORE_SQLITE_REMEDY,
                     line ? line + 1 : found);
}

static int open_one(struct db *d, sqlite3 **db, struct err *e)
{
    int rc = sqlite3_open_v2(
        d->path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
        NULL);
    if (rc) return fail(d, *db, rc, e);
    sqlite3_extended_result_codes(*db, 1);
    sqlite3_busy_timeout(*db, 5000);
    if ((rc = store_sqlite_crc_function(*db))) return fail(d, *db, rc, e);
    if (sqlite3_db_readonly(*db, "main") == 1) return fail(d, NULL, SQLITE_READONLY, e);
    /* 32 MB of cache and of log between checkpoints: a third less time per row */
    return exec(d, *db,
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 8192",
                e);
}

static void db_free(void *self)
{
    struct db *d = self;
    if (!d) return;
    for (int i = 0; i < STORE_STATEMENTS; i++)
        sqlite3_finalize(d->st[i]);
    sqlite3_close(d->keeper);
    sqlite3_close(d->reader);
    sqlite3_close(d->writer);
    if (d->count_fd >= 0) close(d->count_fd);
    store_sqlite_room_close(&d->room);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* The count goes on from what the database has. */
static int open_count(struct db *d, struct err *e)
{
    char path[STORE_SQLITE_PATH];
    int rc = store_sqlite_count_select(&d->count, d->writer);
    if (rc) return fail(d, d->writer, rc, e);
    snprintf(path, sizeof path, "%s" STORE_SQLITE_COUNT, d->path);
    d->count_fd = store_sqlite_count_open(path, &d->count, e);
    return d->count_fd < 0 ? d->count_fd : 0;
}

/* Nothing is changed in a store that is refused: what its log has stays in the log. */
static int open_writer(struct db *d, const struct store_sqlite_cfg *cfg, struct err *e)
{
    struct store_evidence seen = {0};
    int rc = cfg->accept_loss ? 0 : store_sqlite_look(&seen, d->path, true, e);
    if (!rc) rc = open_one(d, &d->writer, e);
    if (rc) return rc;
    sqlite3_db_config(d->writer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!cfg->accept_loss) rc = store_sqlite_missing(&seen, d->writer, d->path, e);
    if (!rc) rc = check_schema(d, e);
    if (!rc) rc = check_pages(d, e);
    if (!rc) rc = exec(d, d->writer, store_sqlite_later, e);
    if (!rc) rc = open_count(d, e);
    if (!rc) sqlite3_db_config(d->writer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return rc;
}

static int open_all(struct db *d, const struct store_sqlite_cfg *cfg, struct err *e)
{
    int code = open_writer(d, cfg, e);
    if (!code && cfg->max_pages) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld",
                 (long long)cfg->max_pages);
        code = exec(d, d->writer, sql, e);
    }
    if (!code) code = open_one(d, &d->reader, e);
    if (!code) code = open_one(d, &d->keeper, e);
    for (int i = 0; i < STORE_STATEMENTS && !code; i++) {
        sqlite3 *db = i < STORE_WRITES ? d->writer : d->reader;
        int rc = sqlite3_prepare_v3(db, store_sqlite_sql[i], -1,
                                    SQLITE_PREPARE_PERSISTENT, &d->st[i], NULL);
        if (rc) code = fail(d, db, rc, e);
    }
    if (code) return code;
    snprintf(d->reserve, sizeof d->reserve, "%s" STORE_SQLITE_RESERVE, d->path);
    int64_t bytes = cfg->reserve ? cfg->reserve : RESERVE_BYTES;
    return store_sqlite_room_open(&d->room, d->reserve, bytes < 0 ? 0 : bytes, e);
}

int store_sqlite_open(struct store *out, const struct store_sqlite_cfg *cfg,
                      struct err *e)
{
    *out = (struct store){0};
    struct db *d = calloc(1, sizeof *d);
    if (!d) return err_set(e, ERR_MEMORY, "no memory for the store");
    pthread_mutex_init(&d->lock, NULL);
    d->count_fd = d->room.fd = -1;
    d->check_pages = cfg->check_pages ? cfg->check_pages : CHECK_PAGES;
    int code = 0;
    if ((size_t)snprintf(d->path, sizeof d->path, "%s", cfg->path) >= sizeof d->path)
        code = err_field(e, ERR_RANGE, cfg->path, "the path is too long");
    if (!code) code = open_all(d, cfg, e);
    if (code) {
        db_free(d);
        return code;
    }
    *out = (struct store){.self = d,
                          .write = db_write,
                          .live = db_live,
                          .history = db_history,
                          .profiles = db_profiles,
                          .versions = db_versions,
                          .envelopes = db_envelopes,
                          .room = db_room,
                          .tidy = db_tidy,
                          .free = db_free};
    return 0;
}
