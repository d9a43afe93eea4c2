#include "serve/store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "serve/store/forget.h"
#include "store_sqlite_priv.h"

enum {
    /* steps needed to go on: the open trajectory and the measurements before it */
    STEPS_EXPLORING = TRAJ_STEPS + 4 * VIEW_HISTORY,
    STEPS_GREEDY = 4 * VIEW_HISTORY,
    PRUNE_AT_ONCE = 500,   /* sessions, between other rows: 50/s may end for ever */
    CHECK_PAGES = 1 << 19, /* 2 GB, some seconds */
    /* a page for each of 4,000 rows: 50 ms at 25,000 decisions/s */
    RESERVE_BYTES = 16 << 20,
};

int store_sqlite_fail(const char *path, sqlite3 *db, int rc, struct err *e)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return err_field(e, ERR_IO, path, "the disk is full (%s): make room", why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return err_field(e, ERR_IO, path, "cannot be written (%s): check its owner", why);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_field(e, ERR_CORRUPT, path,
                         "is damaged or not a database (%.60s): " STORE_SQLITE_REMEDY,
                         why);
    case SQLITE_NOMEM:
        return err_field(e, ERR_MEMORY, path, "out of memory");
    default:
        return err_field(e, ERR_IO, path, "%s", why);
    }
}

int store_sqlite_ask(int64_t *number, char *text, size_t size, sqlite3 *db,
                     const char *sql)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (!rc) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW && number) *number = sqlite3_column_int64(st, 0);
    if (rc == SQLITE_ROW && text) store_sqlite_read_text(text, size, st, 0);
    sqlite3_finalize(st);
    return rc;
}

/* ---- columns: one table per kind of row; schema, statements and conversions are made of it ---- */

/* F or X(column, type, KEPT or NEW, member of the struct); the first column goes through F, the
 * others through X. A row that is written again keeps its KEPT columns and takes the NEW ones. The
 * order is that of the file, and the checksum covers the columns in this order. Columns of a later
 * schema come last and are NULL in older rows. */
/* clang-format off */
#define SESSION_SCHEMA_2(F, X)               \
    F(id, BLOB_KEY, KEPT, id)                \
    X(key, INT, KEPT, key)                   \
    X(profile, TEXT, NEW, profile)           \
    X(content_id, TEXT, KEPT, content_id)    \
    X(ladder_kbps, LADDER, KEPT, )           \
    X(chunk_s, REAL, KEPT, chunk_s)          \
    X(chunks, INT, KEPT, chunks)             \
    X(buffer_max_s, REAL, KEPT, buffer_max_s) \
    X(mu_quality, REAL, KEPT, qoe.mu_quality) \
    X(mu_switch, REAL, KEPT, qoe.mu_switch)  \
    X(mu_stall, REAL, KEPT, qoe.mu_stall)    \
    X(utility, UTILITY, KEPT, qoe.utility)   \
    X(has_mu, INT, KEPT, has_mu)             \
    X(has_key, INT, KEPT, has_key)           \
    X(hinted, INT, KEPT, hinted)             \
    X(explores, INT, KEPT, explores)         \
    X(opened_at, REAL, KEPT, opened_at)      \
    X(closed_at, REAL, NEW, closed_at)       \
    X(closed, INT, NEW, closed)              \
    X(terminal, INT, NEW, terminal)
#define SESSION_SCHEMA_3(X)                  \
    X(mu_rise, REAL_LATER, KEPT, qoe.mu_rise) \
    X(mu_start, REAL_LATER, KEPT, qoe.mu_start) \
    X(stall_ratio_max, REAL_LATER, KEPT, qoe.stall_ratio_max) \
    X(startup_max_s, REAL_LATER, KEPT, qoe.startup_max_s) \
    X(quality_from, INT_LATER, KEPT, quality_from) \
    X(quality, QUALITY, KEPT, )
#define SESSION_SCHEMA_4(X)                  \
    X(observed, INT_LATER, KEPT, observed)   \
    X(trial, TEXT_LATER, KEPT, arm.trial)    \
    X(arm, TEXT_LATER, KEPT, arm.name)       \
    X(unit, KEY_LATER, KEPT, arm.unit)       \
    X(network, INT_LATER, KEPT, arm.network) \
    X(assigned, INT_LATER, KEPT, arm.assigned) \
    X(startup_s, STARTUP, NEW, seen)         \
    X(stall_s, FLOAT_LATER, NEW, seen.stall_s) \
    X(played_s, FLOAT_LATER, NEW, seen.played_s) \
    X(points, FLOAT_LATER, NEW, seen.points) \
    X(reward, FLOAT_LATER, NEW, seen.reward) \
    X(chunks_seen, COUNT_LATER, NEW, seen.chunks) \
    X(switches, COUNT_LATER, NEW, seen.switches)
#define SESSION_SCHEMA_5(X)                  \
    X(viewer, KEY_OR_NULL, KEPT, viewer)     \
    X(label_device, TEXT_LATER, KEPT, labels.value[LABELS_DEVICE]) \
    X(label_cdn, TEXT_LATER, KEPT, labels.value[LABELS_CDN]) \
    X(label_country, TEXT_LATER, KEPT, labels.value[LABELS_COUNTRY]) \
    X(label_app, TEXT_LATER, KEPT, labels.value[LABELS_APP]) \
    X(label_network, TEXT_LATER, KEPT, labels.value[LABELS_NETWORK]) \
    X(label_experiment, TEXT_LATER, KEPT, labels.value[LABELS_EXPERIMENT]) \
    X(label_tenant, TEXT_LATER, KEPT, labels.value[LABELS_TENANT])
#define SESSION_TABLE(F, X)                  \
    SESSION_SCHEMA_2(F, X) SESSION_SCHEMA_3(X) SESSION_SCHEMA_4(X) SESSION_SCHEMA_5(X)
#define STEP_SCHEMA_2(F, X)                  \
    F(session, OWNER, KEPT, )                \
    X(ord, INT, KEPT, ord)                   \
    X(rev, INT, NEW, rev)                    \
    X(chunk, INT, KEPT, chunk)               \
    X(flags, INT, NEW, flags)                \
    X(decided, INT, KEPT, decided)           \
    X(level, INT, NEW, level)                \
    X(last_level, INT, KEPT, last_level)     \
    X(expert, INT, KEPT, expert)             \
    X(logp, REAL, KEPT, logp)                \
    X(value, REAL, KEPT, value)              \
    X(entropy, REAL, KEPT, entropy)          \
    X(prob, PROB, KEPT, prob)                \
    X(next_bytes, SIZES, KEPT, next_bytes)   \
    X(question, INT, KEPT, question)         \
    X(policy, INT, KEPT, policy)             \
    X(bytes, INT, NEW, bytes)                \
    X(buffer_s, REAL, KEPT, buffer_s)        \
    X(download_s, REAL, NEW, download_s)     \
    X(rebuffer_s, REAL, NEW, rebuffer_s)     \
    X(reward, REAL, NEW, reward)             \
    X(external, REAL, NEW, external)         \
    X(at, REAL, NEW, at)
#define STEP_SCHEMA_3(X)                     \
    X(points, POINTS, KEPT, points)
#define STEP_TABLE(F, X) STEP_SCHEMA_2(F, X) STEP_SCHEMA_3(X)
#define PROFILE_SCHEMA_2(F, X)               \
    F(name, TEXT_KEY, KEPT, name)            \
    X(mu_quality, REAL, NEW, qoe.mu_quality) \
    X(mu_switch, REAL, NEW, qoe.mu_switch)   \
    X(mu_stall, REAL, NEW, qoe.mu_stall)     \
    X(utility, UTILITY, NEW, qoe.utility)
#define PROFILE_SCHEMA_3(X)                  \
    X(mu_rise, REAL_LATER, NEW, qoe.mu_rise) \
    X(mu_start, REAL_LATER, NEW, qoe.mu_start) \
    X(stall_ratio_max, CEILING, NEW, stall_ratio_max) \
    X(startup_max_s, CEILING, NEW, startup_max_s)
#define PROFILE_TABLE(F, X) PROFILE_SCHEMA_2(F, X) PROFILE_SCHEMA_3(X)
#define VERSION_TABLE(F, X)                  \
    F(version, INT_KEY, KEPT, version)       \
    X(crc, INT, KEPT, crc)                   \
    X(published_at, REAL, KEPT, published_at) \
    X(check_score, REAL_OR_NULL, KEPT, check_score)
/* clang-format on */

#define DECLARE_BLOB_KEY "BLOB PRIMARY KEY"
#define DECLARE_TEXT_KEY "TEXT PRIMARY KEY"
#define DECLARE_INT_KEY "INTEGER PRIMARY KEY"
#define DECLARE_INT "INTEGER NOT NULL"
#define DECLARE_REAL "REAL NOT NULL"
#define DECLARE_REAL_OR_NULL "REAL"
#define DECLARE_TEXT "TEXT NOT NULL"
#define DECLARE_BLOB "BLOB NOT NULL"
#define DECLARE_PROB DECLARE_BLOB
#define DECLARE_SIZES DECLARE_BLOB
#define DECLARE_LADDER DECLARE_TEXT
#define DECLARE_UTILITY DECLARE_TEXT
#define DECLARE_OWNER DECLARE_BLOB
#define DECLARE_REAL_LATER "REAL"
#define DECLARE_INT_LATER "INTEGER"
#define DECLARE_QUALITY "TEXT"
#define DECLARE_TEXT_LATER "TEXT"
#define DECLARE_KEY_LATER "INTEGER"
#define DECLARE_COUNT_LATER "INTEGER"
#define DECLARE_KEY_OR_NULL "INTEGER"
#define DECLARE_FLOAT_LATER "REAL"
#define DECLARE_STARTUP "REAL"
#define DECLARE_POINTS "BLOB"
#define DECLARE_CEILING "REAL"

/* from a row r to parameter i of the statement st; borrowed until it has run */
#define BIND_BLOB_KEY(m) sqlite3_bind_blob(st, i, r->m, sizeof r->m, SQLITE_STATIC)
#define BIND_TEXT_KEY(m) sqlite3_bind_text(st, i, r->m, -1, SQLITE_STATIC)
#define BIND_INT_KEY(m) sqlite3_bind_int64(st, i, (int64_t)r->m)
#define BIND_INT BIND_INT_KEY
#define BIND_REAL(m) sqlite3_bind_double(st, i, (double)r->m)
#define BIND_REAL_OR_NULL BIND_REAL /* SQLite makes NULL of NaN */
#define BIND_TEXT BIND_TEXT_KEY
#define BIND_BLOB BIND_BLOB_KEY
#define BIND_PROB(m) bind_prob(st, i, r)
#define BIND_SIZES(m) bind_sizes(st, i, r->m)
#define BIND_LADDER(m) bind_levels(st, i, r->ladder_kbps, r->levels)
#define BIND_UTILITY(m) \
    sqlite3_bind_text(st, i, qoe_utility_name(r->m), -1, SQLITE_STATIC)
#define BIND_OWNER(m) sqlite3_bind_blob(st, i, id, TRACK_ID, SQLITE_STATIC)
#define BIND_REAL_LATER BIND_REAL
#define BIND_INT_LATER BIND_INT
#define BIND_TEXT_LATER(m)                                       \
    (r->m[0] ? sqlite3_bind_text(st, i, r->m, -1, SQLITE_STATIC) \
             : sqlite3_bind_null(st, i))
#define BIND_KEY_LATER BIND_INT
#define BIND_COUNT_LATER BIND_INT
#define BIND_KEY_OR_NULL(m) \
    (r->m ? sqlite3_bind_int64(st, i, (int64_t)r->m) : sqlite3_bind_null(st, i))
#define BIND_FLOAT_LATER BIND_REAL
#define BIND_STARTUP(m)                                                \
    (r->m.started ? sqlite3_bind_double(st, i, (double)r->m.startup_s) \
                  : sqlite3_bind_null(st, i))
#define BIND_QUALITY(m) bind_levels(st, i, r->points, r->levels)
#define BIND_POINTS(m) bind_points(st, i, &r->m)
#define BIND_CEILING(m) \
    (r->own_##m ? sqlite3_bind_double(st, i, r->qoe.m) : sqlite3_bind_null(st, i))
#define BIND(name, type, kept, member) (void)BIND_##type(member), i++;

/* and back, from column i of the row that st stands on; rc keeps the first failure */
#define READ_BLOB_KEY(m) rc = rc ? rc : read_blob(r->m, sizeof r->m, st, i, e)
#define READ_TEXT_KEY(m) store_sqlite_read_text(r->m, sizeof r->m, st, i)
#define READ_INT_KEY(m) r->m = sqlite3_column_int64(st, i)
#define READ_INT READ_INT_KEY
#define READ_REAL(m) r->m = sqlite3_column_double(st, i)
#define READ_REAL_OR_NULL(m)                                       \
    r->m = sqlite3_column_type(st, i) == SQLITE_NULL ? (double)NAN \
                                                     : sqlite3_column_double(st, i)
#define READ_TEXT READ_TEXT_KEY
#define READ_BLOB READ_BLOB_KEY
#define READ_PROB(m) rc = rc ? rc : read_prob(r, st, i, e)
#define READ_SIZES(m) rc = rc ? rc : read_sizes(r->m, st, i, e)
#define READ_LADDER(m) rc = rc ? rc : read_ladder(r, st, i, e)
#define READ_UTILITY(m) rc = rc ? rc : read_utility(&r->m, st, i, e)
#define READ_OWNER(m) (void)0 /* the caller asked for it */
#define READ_REAL_LATER READ_REAL
#define READ_INT_LATER(m) r->m = (uint8_t)sqlite3_column_int(st, i)
#define READ_TEXT_LATER READ_TEXT
#define READ_KEY_LATER(m) r->m = (uint64_t)sqlite3_column_int64(st, i)
#define READ_KEY_OR_NULL READ_KEY_LATER
#define READ_COUNT_LATER(m) r->m = (uint32_t)sqlite3_column_int64(st, i)
#define READ_FLOAT_LATER(m) r->m = (float)sqlite3_column_double(st, i)
#define READ_STARTUP(m)                                       \
    r->m.started = sqlite3_column_type(st, i) != SQLITE_NULL; \
    r->m.startup_s = (float)sqlite3_column_double(st, i)
#define READ_QUALITY(m) rc = rc ? rc : read_quality(r, st, i, e)
#define READ_POINTS(m)                             \
    if (sqlite3_column_type(st, i) != SQLITE_NULL) \
    rc = rc ? rc : read_points(&r->m, st, i, e)
#define READ_CEILING(m)                                     \
    r->own_##m = sqlite3_column_type(st, i) != SQLITE_NULL; \
    r->qoe.m = sqlite3_column_double(st, i)
#define READ(name, type, kept, member) READ_##type(member), i++;

#define NAME_F(name, type, kept, member) #name
#define NAME_X(name, type, kept, member) ", " #name
#define SESSION_COLUMNS SESSION_TABLE(NAME_F, NAME_X)
#define STEP_COLUMNS STEP_TABLE(NAME_F, NAME_X)

/* One number for each level. */
static int bind_levels(sqlite3_stmt *st, int i, const double *v, int levels)
{
    char text[VIEW_LEVELS * 26] = "";
    size_t at = 0;
    for (int k = 0; k < levels; k++)
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%.17g", k ? " " : "", v[k]);
    return sqlite3_bind_text(st, i, text, -1, SQLITE_TRANSIENT);
}

/* ---- blobs with an entry per level: LEVELS_SHORT entries, or as many as a longer ladder has. So the
 * rows of short ladders are those of former schemas. ---- */

enum { LEVELS_SHORT = 12 };

/* Levels seen follow the probabilities if the policy did not see all. */
_Static_assert(FEAT_LEVELS == LEVELS_SHORT &&
                   offsetof(struct step, seen) ==
                       offsetof(struct step, prob) + sizeof(float[LEVELS_SHORT]),
               "a blob of both");

static int bind_prob(sqlite3_stmt *st, int i, const struct step *r)
{
    size_t n = sizeof r->prob + (r->seen ? sizeof r->seen : 0);
    return sqlite3_bind_blob(st, i, (const char *)r + offsetof(struct step, prob), (int)n,
                             SQLITE_STATIC);
}

static int bind_sizes(sqlite3_stmt *st, int i, const uint32_t bytes[VIEW_LEVELS])
{
    int n = VIEW_LEVELS;
    while (n > LEVELS_SHORT && !bytes[n - 1])
        n--;
    return sqlite3_bind_blob(st, i, bytes, n * (int)sizeof *bytes, SQLITE_STATIC);
}

/* NULL if nothing is known of the chunk itself, as is usual. */
static int bind_points(sqlite3_stmt *st, int i, const struct traj_points *p)
{
    static const struct traj_points none;
    if (memcmp(p, &none, sizeof none) == 0) return sqlite3_bind_null(st, i);
    int n = VIEW_LEVELS;
    while (n > LEVELS_SHORT && !p->next[n - 1])
        n--;
    uint16_t codes[VIEW_LEVELS + 1];
    memcpy(codes, p->next, (size_t)n * sizeof *codes);
    codes[n++] = p->last;
    return sqlite3_bind_blob(st, i, codes, n * (int)sizeof *codes, SQLITE_TRANSIENT);
}

static int read_ladder(struct track_row *r, sqlite3_stmt *st, int i, struct err *e)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    for (r->levels = 0; text && *text && r->levels < VIEW_LEVELS; r->levels++)
        if (text_scan_double(&r->ladder_kbps[r->levels], &text, NULL)) break;
    if (text && !*text) return 0;
    return err_set(e, ERR_CORRUPT, "the ladder of a session cannot be read");
}

/* Rows of an older schema have none: the curve of the ladder. */
static int read_quality(struct track_row *r, sqlite3_stmt *st, int i, struct err *e)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    if (!text) {
        r->quality_from = QUALITY_CURVE;
        quality_curve(r->points, r->ladder_kbps, NULL, r->levels);
        return 0;
    }
    int rc = 0;
    for (int k = 0; k < r->levels && !rc; k++)
        rc = text_scan_double(&r->points[k], &text, NULL);
    if (!rc && !*text && r->quality_from <= QUALITY_LEVEL) return 0;
    return err_set(e, ERR_CORRUPT, "the quality of a session's levels cannot be read");
}

static int read_utility(enum qoe_utility *out, sqlite3_stmt *st, int i, struct err *e)
{
    return qoe_utility_parse(out, (const char *)sqlite3_column_text(st, i), e);
}

static int read_blob(void *out, size_t size, sqlite3_stmt *st, int i, struct err *e)
{
    int n = sqlite3_column_bytes(st, i);
    if (n != (int)size)
        return err_set(e, ERR_CORRUPT, "column %s of a row has %d bytes instead of %zu",
                       sqlite3_column_name(st, i), n, size);
    memcpy(out, sqlite3_column_blob(st, i), size);
    return 0;
}

static int read_prob(struct step *r, sqlite3_stmt *st, int i, struct err *e)
{
    bool window = sqlite3_column_bytes(st, i) != (int)sizeof r->prob;
    size_t n = sizeof r->prob + (window ? sizeof r->seen : 0);
    return read_blob((char *)r + offsetof(struct step, prob), n, st, i, e);
}

/* LEVELS_SHORT .. VIEW_LEVELS entries of `each` bytes and `more` bytes, as the column has; 0: neither. */
static size_t levels_in(sqlite3_stmt *st, int i, size_t each, size_t more)
{
    size_t n = (size_t)sqlite3_column_bytes(st, i);
    bool whole = n >= more && (n - more) % each == 0;
    size_t levels = whole ? (n - more) / each : 0;
    return levels >= LEVELS_SHORT && levels <= VIEW_LEVELS ? levels : 0;
}

static int read_sizes(uint32_t bytes[VIEW_LEVELS], sqlite3_stmt *st, int i, struct err *e)
{
    size_t n = levels_in(st, i, sizeof *bytes, 0);
    return read_blob(bytes, (n ? n : LEVELS_SHORT) * sizeof *bytes, st, i, e);
}

static int read_points(struct traj_points *p, sqlite3_stmt *st, int i, struct err *e)
{
    uint16_t codes[VIEW_LEVELS + 1];
    size_t n = levels_in(st, i, sizeof *codes, sizeof *codes);
    if (!n) n = LEVELS_SHORT;
    int rc = read_blob(codes, (n + 1) * sizeof *codes, st, i, e);
    if (rc) return rc;
    memcpy(p->next, codes, n * sizeof *codes);
    p->last = codes[n];
    return 0;
}

void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i)
{
    const unsigned char *text = sqlite3_column_text(st, i);
    snprintf(out, size, "%s", text ? (const char *)text : "");
}

static void bind_session(sqlite3_stmt *st, const struct track_row *r)
{
    int i = 1;
    SESSION_TABLE(BIND, BIND)
}

static void bind_step(sqlite3_stmt *st, const uint8_t id[TRACK_ID], const struct step *r)
{
    int i = 1;
    STEP_TABLE(BIND, BIND)
}

static void bind_profile(sqlite3_stmt *st, const struct profile *r)
{
    int i = 1;
    PROFILE_TABLE(BIND, BIND)
}

static void bind_version(sqlite3_stmt *st, const struct store_version *r)
{
    int i = 1;
    VERSION_TABLE(BIND, BIND)
}

/* Rows with a checksum: the first column says whether it fits. */
static int read_session(struct track_row *r, sqlite3_stmt *st, struct err *e)
{
    int i = 1, rc = 0;
    *r = (struct track_row){0};
    if (!sqlite3_column_int(st, 0))
        return err_set(e, ERR_CORRUPT, "the checksum of a session's row is wrong");
    SESSION_TABLE(READ, READ)
    return rc;
}

static int read_step(struct step *r, sqlite3_stmt *st, struct err *e)
{
    int i = 1, rc = 0;
    *r = (struct step){.next = -1, .prev = -1};
    if (!sqlite3_column_int(st, 0))
        return err_set(e, ERR_CORRUPT, "the checksum of a step's row is wrong");
    STEP_TABLE(READ, READ)
    return rc;
}

/* ---- schema and statements ---- */

#define DECLARED_F(name, type, kept, member) #name " " DECLARE_##type
#define DECLARED_X(name, type, kept, member) ", " #name " " DECLARE_##type
#define DECLARED(TABLE) TABLE(DECLARED_F, DECLARED_X)

#define TRIAL_INDEX_SQL                                         \
    "CREATE INDEX sessions_trial ON sessions(trial, closed_at)" \
    " WHERE trial IS NOT NULL;"

/* clang-format off */
/* In the order of a file that was upgraded. */
static const char TABLES_SQL[] =
    "CREATE TABLE sessions(" DECLARED(SESSION_SCHEMA_2) ", crc INTEGER"
    SESSION_SCHEMA_3(DECLARED_X) SESSION_SCHEMA_4(DECLARED_X)
    SESSION_SCHEMA_5(DECLARED_X) ") WITHOUT ROWID;"
    TRIAL_INDEX_SQL
    "CREATE INDEX sessions_live ON sessions(opened_at) WHERE NOT closed;"
    "CREATE INDEX sessions_closed ON sessions(closed_at) WHERE closed;"
    "CREATE TABLE steps(" DECLARED(STEP_SCHEMA_2) ", crc INTEGER" STEP_SCHEMA_3(DECLARED_X)
    ", PRIMARY KEY(session, ord)) WITHOUT ROWID;"
    "CREATE TABLE profiles( " DECLARED(PROFILE_TABLE) ") WITHOUT ROWID;"
    "CREATE TABLE policy_versions( " DECLARED(VERSION_TABLE) ");";

/* For people. Each %d is a flag of enum step_flag. */
static const char VIEWS_SQL[] =
    "CREATE VIEW decisions AS SELECT lower(hex(session)) AS session, ord, chunk,"
    " decided AS level, policy, expert, (flags & %d) / %d AS sampled, logp, buffer_s,"
    " last_level FROM steps WHERE flags & %d;"
    "CREATE VIEW rewards AS SELECT lower(hex(session)) AS session, ord, chunk, level,"
    " (flags & %d) / %d AS followed, bytes, download_s, rebuffer_s, reward,"
    " CASE WHEN flags & %d THEN external END AS external, at"
    " FROM steps WHERE flags & %d;";

/* Tables of later versions. A program that does not know them is not disturbed. */
static const char LATER_SQL[] =
    "BEGIN;"
    "CREATE TABLE IF NOT EXISTS parcels(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS acknowledged(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " store INTEGER NOT NULL, commits INTEGER NOT NULL, records INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO acknowledged VALUES(1, random(), 0, 0);"
    "CREATE TABLE IF NOT EXISTS grown(name TEXT PRIMARY KEY);"
    "COMMIT";

/* The parameters of a row, the row after it was written again, and the columns that change then. */
#define PARAMETER_F(name, type, kept, member) ":" #name
#define PARAMETER_X(name, type, kept, member) ", :" #name
#define PARAMETERS(TABLE) TABLE(PARAMETER_F, PARAMETER_X)
#define MERGED_KEPT(name) #name
#define MERGED_NEW(name) "excluded." #name
#define MERGED_F(name, type, kept, member) MERGED_##kept(name)
#define MERGED_X(name, type, kept, member) ", " MERGED_##kept(name)
#define CHANGED_KEPT(name) ""
#define CHANGED_NEW(name) #name " = excluded." #name ", "
#define CHANGED(name, type, kept, member) CHANGED_##kept(name)

#define UPSERT(into, key, TABLE, condition)                                             \
    "INSERT INTO " into "(" TABLE(NAME_F, NAME_X) ", crc) VALUES(" PARAMETERS(TABLE)    \
    ", crc_of(" PARAMETERS(TABLE) ")) ON CONFLICT(" key ") DO UPDATE SET "              \
    TABLE(CHANGED, CHANGED) "crc = crc_of(" TABLE(MERGED_F, MERGED_X) ") WHERE " condition

/* Is the checksum right? Rows of the first version have none. */
#define SOUND(columns) "crc IS NULL OR crc = crc_of(" columns ")"
#define SESSION_READ SOUND(SESSION_COLUMNS) ", " SESSION_COLUMNS
#define STEP_READ SOUND(STEP_COLUMNS) ", " STEP_COLUMNS
#define PRUNED \
    "(SELECT id FROM sessions WHERE closed AND closed_at < ?1 ORDER BY closed_at, id LIMIT ?2)"
/* clang-format on */

enum statement {
    SQL_PUT_SESSION,
    SQL_PUT_STEP,
    SQL_PUT_VERSION,
    SQL_PUT_PROFILE,
    SQL_NAME_PROFILE,
    SQL_NAME_ADDED,
    SQL_NAME_SESSIONS,
    SQL_NAME_CHECKSUMS,
    SQL_DELETE_PROFILE,
    SQL_PUT_ADDED,
    SQL_DELETE_ADDED,
    SQL_PRUNE_STEPS,
    SQL_PRUNE_SESSIONS,
    SQL_PUT_ENVELOPE,
    SQL_DELETE_ENVELOPES,
    SQL_EMPTY_ENVELOPE,
    SQL_COUNT_COMMIT,
    SQL_WRITES, /* those before are the writer's, those after the reader's */
    SQL_GET_SESSION = SQL_WRITES,
    SQL_GET_STEPS,
    SQL_GET_LIVE,
    SQL_GET_NEWEST,
    SQL_GET_PROFILES,
    SQL_GET_VERSIONS,
    SQL_GET_ENVELOPES,
    SQL_GET_TRIAL,
    SQL_GET_ALL,
    SQL_STATEMENTS,
};

static const char *const STATEMENTS[SQL_STATEMENTS] = {
    [SQL_PUT_SESSION] =
        UPSERT("sessions", "id", SESSION_TABLE, "excluded.closed >= closed"),
    [SQL_PUT_STEP] = UPSERT("steps", "session, ord", STEP_TABLE, "excluded.rev > rev"),
    [SQL_PUT_VERSION] = "INSERT OR IGNORE INTO policy_versions VALUES(?,?,?,?)",
    [SQL_PUT_PROFILE] = "INSERT OR REPLACE INTO profiles(" PROFILE_TABLE(
        NAME_F, NAME_X) ") VALUES(" PARAMETERS(PROFILE_TABLE) ")",
    [SQL_NAME_PROFILE] = "UPDATE profiles SET name = ?2 WHERE name = ?1",
    [SQL_NAME_ADDED] = "UPDATE OR REPLACE grown SET name = ?2 WHERE name = ?1",
    [SQL_NAME_SESSIONS] = "UPDATE sessions SET profile = ?2 WHERE profile = ?1",
    [SQL_NAME_CHECKSUMS] =
        "UPDATE sessions SET crc = crc_of(" SESSION_COLUMNS ") WHERE profile = ?2",
    [SQL_DELETE_PROFILE] = "DELETE FROM profiles WHERE name = ?",
    [SQL_PUT_ADDED] = "INSERT OR IGNORE INTO grown VALUES(?)",
    [SQL_DELETE_ADDED] = "DELETE FROM grown WHERE name = ?",
    [SQL_PRUNE_STEPS] = "DELETE FROM steps WHERE session IN " PRUNED,
    [SQL_PRUNE_SESSIONS] = "DELETE FROM sessions WHERE id IN " PRUNED,
    [SQL_PUT_ENVELOPE] = "INSERT OR REPLACE INTO parcels VALUES(?, ?)",
    [SQL_DELETE_ENVELOPES] = "DELETE FROM parcels WHERE number > 0 AND number < ?",
    [SQL_EMPTY_ENVELOPE] = "UPDATE parcels SET bytes = x'' WHERE number = ?",
    [SQL_COUNT_COMMIT] =
        "UPDATE acknowledged SET commits = commits + 1, records = records + ?",
    [SQL_GET_SESSION] = "SELECT " SESSION_READ " FROM sessions WHERE id = ?",
    [SQL_GET_STEPS] = "SELECT " STEP_READ " FROM steps WHERE session = ? AND ord >= ?"
                      " ORDER BY ord LIMIT ?",
    [SQL_GET_LIVE] = "SELECT " SESSION_READ " FROM sessions WHERE NOT closed ORDER BY"
                     " (SELECT max(at) FROM steps WHERE session = sessions.id), id",
    [SQL_GET_NEWEST] = "SELECT * FROM (SELECT " STEP_READ " FROM steps WHERE session = ?"
                       " ORDER BY ord DESC LIMIT ?) ORDER BY ord",
    [SQL_GET_PROFILES] = "SELECT " PROFILE_TABLE(
        NAME_F, NAME_X) ", EXISTS(SELECT 1 FROM grown WHERE grown.name = profiles.name)"
                        " FROM profiles ORDER BY name",
    [SQL_GET_VERSIONS] = "SELECT " VERSION_TABLE(
        NAME_F, NAME_X) " FROM policy_versions ORDER BY version DESC LIMIT ?",
    [SQL_GET_ENVELOPES] = "SELECT number, bytes FROM parcels ORDER BY number",
    [SQL_GET_TRIAL] = "SELECT " SESSION_READ " FROM sessions WHERE trial = ?"
                      " ORDER BY closed DESC, closed_at, id",
    [SQL_GET_ALL] = "SELECT " SESSION_READ " FROM sessions ORDER BY opened_at, id",
};

/* ---- checksums: SQLite sees pages that do not fit together, but not a number that changed ---- */

/* crc_of(value, ...): CRC-32 over the types and bytes of its arguments. NULL, a column that the row's
 * schema did not have, counts for nothing. */
static void crc_of(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        if (sqlite3_value_type(v[i]) == SQLITE_NULL) continue;
        unsigned char head[9] = {(unsigned char)sqlite3_value_type(v[i])};
        bool bytes = head[0] == SQLITE_TEXT || head[0] == SQLITE_BLOB;
        if (head[0] == SQLITE_INTEGER)
            bytes_put_u64(head + 1, (uint64_t)sqlite3_value_int64(v[i]));
        else if (head[0] == SQLITE_FLOAT) /* a stored -0 comes back as 0 */
            bytes_put_f64(head + 1, sqlite3_value_double(v[i]) + 0.0);
        else if (bytes)
            bytes_put_u64(head + 1, (uint64_t)sqlite3_value_bytes(v[i]));
        crc = bytes_crc32(crc, head, sizeof head);
        if (bytes)
            crc = bytes_crc32(crc, sqlite3_value_blob(v[i]),
                              (size_t)sqlite3_value_bytes(v[i]));
    }
    sqlite3_result_int64(ctx, crc);
}

static int crc_register(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "crc_of", -1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, crc_of,
                                      NULL, NULL, NULL);
}

int store_sqlite_sound(sqlite3 *db, const char *path, struct err *e)
{
#define WRONG_SESSION(columns)                                            \
    "SELECT 'wrong checksum of session ' || lower(hex(id)) FROM sessions" \
    " WHERE crc <> crc_of(" columns ") LIMIT 1"
#define WRONG_STEP(columns)                                           \
    "SELECT 'wrong checksum of chunk ' || chunk || ' of session ' ||" \
    " lower(hex(session)) FROM steps WHERE crc <> crc_of(" columns ") LIMIT 1"
    static const char *const WRONG[][2] = {
        {WRONG_SESSION(SESSION_COLUMNS), WRONG_STEP(STEP_COLUMNS)},
        {WRONG_SESSION(SESSION_SCHEMA_2(NAME_F, NAME_X) SESSION_SCHEMA_3(NAME_X)
                           SESSION_SCHEMA_4(NAME_X)),
         WRONG_STEP(STEP_COLUMNS)},
        {WRONG_SESSION(SESSION_SCHEMA_2(NAME_F, NAME_X) SESSION_SCHEMA_3(NAME_X)),
         WRONG_STEP(STEP_COLUMNS)},
        {WRONG_SESSION(SESSION_SCHEMA_2(NAME_F, NAME_X)),
         WRONG_STEP(STEP_SCHEMA_2(NAME_F, NAME_X))}};
    int64_t version = 0;
    char found[160];
    int rc = store_sqlite_ask(NULL, found, sizeof found, db, "PRAGMA quick_check(1)");
    if (rc == SQLITE_ROW && strcmp(found, "ok") == 0) {
        rc = store_sqlite_ask(&version, NULL, 0, db, "PRAGMA user_version");
        if (rc == SQLITE_ROW && version < 2) return 0; /* rows had no checksum */
        if (rc == SQLITE_ROW && !(rc = crc_register(db))) rc = SQLITE_DONE;
        for (int i = 0; i < 2 && rc == SQLITE_DONE; i++)
            rc =
                store_sqlite_ask(NULL, found, sizeof found, db,
                                 WRONG[(version < 5) + (version < 4) + (version < 3)][i]);
        if (rc == SQLITE_DONE) return 0;
    }
    if (rc != SQLITE_ROW) return store_sqlite_fail(path, db, rc, e);
    const char *line = strrchr(found, '\n'); /* behind a heading */
    return err_field(e, ERR_CORRUPT, path, "is damaged (%.80s): " STORE_SQLITE_REMEDY,
                     line ? line + 1 : found);
}

/* ---- the reserve: room for the records that were acknowledged before the disk was full ---- */

struct reserve {
    char path[STORE_SQLITE_PATH];
    int fd;
    int64_t bytes; /* 0: none wanted, or the file system cannot reserve */
    atomic_bool held;
};

/* ERR_IO while the disk has less room than that. */
static int reserve_take(struct reserve *r, struct err *e)
{
    if (r->held) return 0;
    int rc;
    do
        rc = posix_fallocate(r->fd, 0, r->bytes);
    while (rc == EINTR);
    if (rc == ENOSPC || rc == EDQUOT) {
        (void)!ftruncate(r->fd, 0); /* a part of the reserve is of no use */
        return err_field(e, ERR_IO, r->path,
                         "the disk is full (%lld MB are kept free for what was "
                         "acknowledged): make room",
                         (long long)(r->bytes >> 20));
    }
    if (rc) r->bytes = 0; /* not on this file system */
    r->held = true;
    return 0;
}

/* Frees the reserved room for a write; false: nothing was reserved. */
static bool reserve_give(struct reserve *r)
{
    if (!r->held || !r->bytes || ftruncate(r->fd, 0)) return false;
    r->held = false;
    return true;
}

static int reserve_open(struct reserve *r, const char *db, int64_t bytes, struct err *e)
{
    struct rlimit most; /* a longer file would end the process */
    bool allowed = !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur >= (rlim_t)bytes;
    snprintf(r->path, sizeof r->path, "%.570s" STORE_SQLITE_RESERVE, db);
    r->bytes = allowed ? bytes : 0;
    r->held = !r->bytes;
    if (r->held) return 0;
    r->fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (r->fd < 0)
        return err_field(e, ERR_IO, r->path, "cannot be written: %s", strerror(errno));
    /* the daemon starts on a full disk too: it refuses questions until there is room */
    (void)!reserve_take(r, NULL);
    return 0;
}

/* ---- writing ---- */

struct db {
    char path[512];
    int64_t check_pages;
    sqlite3 *writer, *reader, *keeper;
    sqlite3_stmt *st[SQL_STATEMENTS];
    struct store_count count; /* of the last commit */
    int count_fd;
    struct reserve reserve;
    pthread_mutex_t lock; /* of the reader and its statements */
    /* SQLite refuses a second checkpoint at once, whatever the timeout; taken before `turn` */
    pthread_mutex_t checkpoint;
    pthread_mutex_t
        turn; /* one transaction, or the deletion of sessions; guards the two below */
    uint8_t (*gone)[TRACK_ID]; /* (n_gone) sorted: sessions that were deleted */
    int n_gone;
};

static int db_fail(const struct db *d, sqlite3 *db, int rc, struct err *e)
{
    return store_sqlite_fail(d->path, db, rc, e);
}

static int run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int prune(struct db *d, double before)
{
    int rc = SQLITE_OK;
    for (int k = SQL_PRUNE_STEPS; k <= SQL_PRUNE_SESSIONS && !rc; k++) {
        sqlite3_bind_double(d->st[k], 1, before);
        sqlite3_bind_int(d->st[k], 2, PRUNE_AT_ONCE);
        rc = run(d->st[k]);
    }
    return rc;
}

static int delivered(struct db *d, uint64_t number)
{
    int rc = SQLITE_OK;
    for (int k = SQL_DELETE_ENVELOPES; k <= SQL_EMPTY_ENVELOPE && !rc; k++) {
        sqlite3_bind_int64(d->st[k], 1, (int64_t)number);
        rc = run(d->st[k]);
    }
    return rc;
}

/* A profile that is put again without experts of its own keeps those that it has. */
static int put_profile(struct db *d, const struct profile *p, bool gone)
{
    sqlite3_stmt *st = d->st[gone ? SQL_DELETE_PROFILE : SQL_PUT_PROFILE],
                 *added = d->st[gone ? SQL_DELETE_ADDED : SQL_PUT_ADDED];
    int rc = SQLITE_OK;
    if (gone || p->grow) {
        sqlite3_bind_text(added, 1, p->name, -1, SQLITE_STATIC);
        rc = run(added);
    }
    if (rc) return rc;
    if (gone)
        sqlite3_bind_text(st, 1, p->name, -1, SQLITE_STATIC);
    else
        bind_profile(st, p);
    return run(st);
}

/* The profile, its added experts and its sessions. */
static int name_profile(struct db *d, const struct store_name *n)
{
    int rc = SQLITE_OK;
    for (int k = SQL_NAME_PROFILE; k <= SQL_NAME_CHECKSUMS && !rc; k++) {
        if (k != SQL_NAME_CHECKSUMS)
            sqlite3_bind_text(d->st[k], 1, n->from, -1, SQLITE_STATIC);
        sqlite3_bind_text(d->st[k], 2, n->to, -1, SQLITE_STATIC);
        rc = run(d->st[k]);
    }
    return rc;
}

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, TRACK_ID);
}

/* A request that was under way when its session was deleted. */
static bool is_gone(const struct db *d, const struct store_rec *r)
{
    const uint8_t *id = r->kind == STORE_SESSION ? r->row.id
                        : r->kind == STORE_STEP  ? r->id
                                                 : NULL;
    return d->n_gone && id && bsearch(id, d->gone, (size_t)d->n_gone, TRACK_ID, by_id);
}

static int write_one(struct db *d, const struct store_rec *r)
{
    sqlite3_stmt *st = NULL;
    if (is_gone(d, r)) return SQLITE_OK;
    switch (r->kind) {
    case STORE_SESSION:
        bind_session(st = d->st[SQL_PUT_SESSION], &r->row);
        break;
    case STORE_STEP:
        bind_step(st = d->st[SQL_PUT_STEP], r->id, &r->step);
        break;
    case STORE_VERSION:
        bind_version(st = d->st[SQL_PUT_VERSION], &r->version);
        break;
    case STORE_PROFILE:
    case STORE_PROFILE_GONE:
        return put_profile(d, &r->profile, r->kind == STORE_PROFILE_GONE);
    case STORE_PROFILE_NAME:
        return name_profile(d, &r->name);
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

/* One transaction. *full: it failed because there was no room. */
static int write_batch(struct db *d, const struct store_rec *rec, int n, bool *full,
                       struct err *e)
{
    int rc = sqlite3_exec(d->writer, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int i = 0; i < n && !rc; i++)
        rc = write_one(d, &rec[i]);
    if (!rc) {
        sqlite3_bind_int(d->st[SQL_COUNT_COMMIT], 1, n);
        rc = run(d->st[SQL_COUNT_COMMIT]);
    }
    if (!rc) rc = sqlite3_exec(d->writer, "COMMIT", NULL, NULL, NULL);
    if (!rc) return 0;

    int os = sqlite3_system_errno(d->writer);
    *full = (rc & 0xff) == SQLITE_FULL ||
            ((rc & 0xff) == SQLITE_IOERR && (os == ENOSPC || os == EDQUOT));
    int code = db_fail(d, d->writer, rc, e);
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
    pthread_mutex_lock(&d->turn);
    int rc = write_batch(d, rec, n, &full, &why);
    if (rc && full && reserve_give(&d->reserve)) {
        why = (struct err){0};
        rc = write_batch(d, rec, n, &full, &why);
    }
    pthread_mutex_unlock(&d->turn);
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    d->count.commits++;
    d->count.records += (uint64_t)n;
    (void)!store_sqlite_count_write(d->count_fd, &d->count);
    return 0;
}

static int note_gone(struct db *d, const struct forget_recent *recent, struct err *e)
{
    size_t n = (size_t)d->n_gone + (size_t)recent->n;
    void *more = recent->n ? realloc(d->gone, n * TRACK_ID) : NULL;
    if (!recent->n) return 0;
    if (!more) return err_field(e, ERR_MEMORY, d->path, "out of memory");
    d->gone = more;
    memcpy(d->gone[d->n_gone], recent->id, (size_t)recent->n * TRACK_ID);
    d->n_gone = (int)n;
    qsort(d->gone, n, TRACK_ID, by_id);
    return 0;
}

static int db_forget(void *self, struct forget_stats *out,
                     const struct forget_choice *choice, const uint8_t *key, double since,
                     bool dry, struct err *e)
{
    struct db *d = self;
    struct forget_recent recent = {.since = since};
    pthread_mutex_lock(&d->checkpoint);
    pthread_mutex_lock(&d->turn);
    int rc = forget_store(out, dry ? NULL : &recent, d->path, choice, key, dry, e);
    /* also after a failure: the rows may be gone */
    int noted = note_gone(d, &recent, e);
    pthread_mutex_unlock(&d->turn);
    pthread_mutex_unlock(&d->checkpoint);
    free(recent.id);
    return rc ? rc : noted;
}

static int db_room(void *self, struct err *e)
{
    struct db *d = self;
    return reserve_take(&d->reserve, e);
}

/* Moves what was written from the log into the file. */
static int db_tidy(void *self, struct err *e)
{
    struct db *d = self;
    (void)!fdatasync(d->count_fd);  /* a power cut leaves it little behind */
    if (!d->reserve.held) return 0; /* the room is for records */
    if (pthread_mutex_trylock(&d->checkpoint)) return 0; /* a deletion empties the log */
    int rc =
        sqlite3_wal_checkpoint_v2(d->keeper, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    pthread_mutex_unlock(&d->checkpoint);
    return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0 : db_fail(d, d->keeper, rc, e);
}

/* ---- reading ---- */

static sqlite3_stmt *reading_begin(struct db *d, enum statement which)
{
    pthread_mutex_lock(&d->lock);
    return d->st[which];
}

/* rc: of the last step of st; code: of its rows so far. */
static int reading_end(struct db *d, sqlite3_stmt *st, int rc, int code, struct err *e)
{
    if (!code && rc != SQLITE_DONE && rc != SQLITE_ROW)
        code = db_fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    pthread_mutex_unlock(&d->lock);
    return code;
}

/* Steps of the bound statement in an array of their own (freed by the caller, also on failure).
 * Under the lock. */
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
        code = read_step(&(*out)[*n], st, e);
        if (!code) (*n)++;
    }
    if (!code && rc != SQLITE_DONE) code = db_fail(d, d->reader, rc, e);
    sqlite3_reset(st);
    return code;
}

static int read_newest(struct db *d, const uint8_t id[TRACK_ID], int most,
                       struct step **out, int *n, struct err *e)
{
    sqlite3_stmt *st = d->st[SQL_GET_NEWEST];
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    sqlite3_bind_int(st, 2, most);
    return read_steps(d, st, out, n, e);
}

static int read_history(struct db *d, double *last_at, struct step **steps, int *n,
                        const uint8_t *id, uint32_t after, int limit, struct err *e)
{
    sqlite3_stmt *st = d->st[SQL_GET_STEPS];
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, after);
    sqlite3_bind_int(st, 3, limit);
    int one, code = read_steps(d, st, steps, n, e);
    *last_at = 0;
    for (int i = 0; i < *n; i++)
        if ((*steps)[i].at > *last_at) *last_at = (*steps)[i].at;
    if (code || *n < limit) return code;

    struct step *newest;
    code = read_newest(d, id, 1, &newest, &one, e);
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
    sqlite3_stmt *st = reading_begin(d, SQL_GET_SESSION);
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    int rc = sqlite3_step(st), code = 0;
    if (rc == SQLITE_ROW)
        code = read_session(row, st, e);
    else if (rc == SQLITE_DONE)
        code = err_field(e, ERR_ABSENT, "session", "no such session");
    if (rc == SQLITE_ROW && !code)
        code = read_history(d, last_at, steps, n, id, after, limit, e);
    code = reading_end(d, st, rc, code, e);
    if (code) {
        free(*steps);
        *steps = NULL;
    }
    return code;
}

/* The sums of a session of a trial are those of all its steps. */
static int steps_wanted(const struct track_row *row)
{
    if (row->arm.trial[0]) return INT_MAX;
    return row->explores ? STEPS_EXPLORING : STEPS_GREEDY;
}

static int db_live(void *self,
                   int (*fn)(void *ctx, const struct track_row *row,
                             const struct step *steps, int n, struct err *e),
                   void *ctx, struct err *e)
{
    struct db *d = self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_LIVE);
    int rc = SQLITE_DONE, code = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct track_row row;
        struct step *steps = NULL;
        int n = 0;
        code = read_session(&row, st, e);
        if (!code) code = read_newest(d, row.id, steps_wanted(&row), &steps, &n, e);
        if (!code && n) code = fn(ctx, &row, steps, n, e);
        free(steps);
    }
    return reading_end(d, st, rc, code, e);
}

/* Of a statement that was begun: fn takes its rows until it returns other than 0. */
static int each_session(struct db *d, sqlite3_stmt *st,
                        int (*fn)(void *ctx, const struct track_row *row, struct err *e),
                        void *ctx, struct err *e)
{
    int rc = SQLITE_DONE, code = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct track_row row;
        code = read_session(&row, st, e);
        if (!code) code = fn(ctx, &row, e);
    }
    return reading_end(d, st, rc, code, e);
}

static int db_trial(void *self, const char *name,
                    int (*fn)(void *ctx, const struct track_row *row, struct err *e),
                    void *ctx, struct err *e)
{
    struct db *d = self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_TRIAL);
    sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    return each_session(d, st, fn, ctx, e);
}

static int db_profiles(void *self, struct profile *out, int max, int *n, struct err *e)
{
    struct db *d = self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_PROFILES);
    int step = SQLITE_DONE, rc = 0;
    for (*n = 0; *n < max && !rc && (step = sqlite3_step(st)) == SQLITE_ROW; (*n)++) {
        struct profile *r = &out[*n];
        int i = 0;
        *r = (struct profile){0};
        PROFILE_TABLE(READ, READ)
        r->grow = sqlite3_column_int(st, i);
    }
    return reading_end(d, st, step, rc, e);
}

static int db_versions(void *self, struct store_version *out, int max, int *n,
                       struct err *e)
{
    struct db *d = self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_VERSIONS);
    int rc = SQLITE_DONE;
    sqlite3_bind_int(st, 1, max);
    for (*n = 0; (rc = sqlite3_step(st)) == SQLITE_ROW; (*n)++) {
        struct store_version *r = &out[*n];
        int i = 0;
        VERSION_TABLE(READ, READ)
    }
    return reading_end(d, st, rc, 0, e);
}

static int db_envelopes(void *self,
                        int (*fn)(void *ctx, const struct bus_envelope *p, struct err *e),
                        void *ctx, struct err *e)
{
    struct db *d = self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_ENVELOPES);
    int rc = SQLITE_DONE, code = 0;
    while (!code && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct bus_envelope p = {.number = (uint64_t)sqlite3_column_int64(st, 0),
                                 .bytes = sqlite3_column_blob(st, 1),
                                 .n = (size_t)sqlite3_column_bytes(st, 1)};
        code = fn(ctx, &p, e);
    }
    return reading_end(d, st, rc, code, e);
}

/* ---- opening ---- */

static int exec(struct db *d, sqlite3 *db, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc ? db_fail(d, db, rc, e) : 0;
}

static int ask(struct db *d, int64_t *out, const char *sql, struct err *e)
{
    int rc = store_sqlite_ask(out, NULL, 0, d->writer, sql);
    return rc == SQLITE_ROW ? 0 : db_fail(d, d->writer, rc, e);
}

/* The tables and views of an empty database. */
static int make_schema(struct db *d, struct err *e)
{
    char views[sizeof VIEWS_SQL + 100], sql[sizeof TABLES_SQL + sizeof views + 200];
    snprintf(views, sizeof views, VIEWS_SQL, STEP_SAMPLED, STEP_SAMPLED, STEP_DECIDED,
             STEP_FOLLOWED, STEP_FOLLOWED, STEP_EXTERNAL, STEP_REPORTED);
    snprintf(sql, sizeof sql,
             "BEGIN; %s%s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             TABLES_SQL, views, STORE_SQLITE_APPLICATION, STORE_SQLITE_SCHEMA);
    return exec(d, d->writer, sql, e);
}

#define ADD_COLUMN(table, name, type) \
    "ALTER TABLE " table " ADD COLUMN " name " " type ";"
#define ADD_SESSION(name, type, kept, member) \
    ADD_COLUMN("sessions", #name, DECLARE_##type)
#define ADD_STEP(name, type, kept, member) ADD_COLUMN("steps", #name, DECLARE_##type)
#define ADD_PROFILE(name, type, kept, member) \
    ADD_COLUMN("profiles", #name, DECLARE_##type)

/* From the version before to this one. */
static const char *const UPGRADES[STORE_SQLITE_SCHEMA + 1] = {
    [2] = ADD_COLUMN("sessions", "crc", "INTEGER") ADD_COLUMN("steps", "crc", "INTEGER"),
    [3] = SESSION_SCHEMA_3(ADD_SESSION) STEP_SCHEMA_3(ADD_STEP)
        PROFILE_SCHEMA_3(ADD_PROFILE),
    /* also ladders of more than LEVELS_SHORT levels, whose blobs are longer */
    [4] = SESSION_SCHEMA_4(ADD_SESSION) TRIAL_INDEX_SQL,
    [5] = SESSION_SCHEMA_5(ADD_SESSION)};

/* The version of a file of ours, 0 for an empty one. A file of another program or of a newer version is
 * refused. */
static int check_schema(int *version, struct db *d, struct err *e)
{
    int64_t application = 0, found = 0, tables = 0;
    int rc = ask(d, &application, "PRAGMA application_id", e);
    if (!rc) rc = ask(d, &found, "PRAGMA user_version", e);
    if (!rc) rc = ask(d, &tables, "SELECT count(*) FROM sqlite_master", e);
    if (rc) return rc;

    *version = (int)found;
    if (!application && !found && !tables) return 0;
    if (application != STORE_SQLITE_APPLICATION)
        return err_field(e, ERR_CORRUPT, d->path,
                         "is a database of another program: choose another folder");
    if (found < 1 || found > STORE_SQLITE_SCHEMA)
        return err_field(e, ERR_CORRUPT, d->path,
                         "has schema %d, this program knows %d: use the program that "
                         "wrote it, or a backup from before",
                         (int)found, STORE_SQLITE_SCHEMA);
    return 0;
}

/* Each step is one transaction. */
static int upgrade_schema(struct db *d, int version, struct err *e)
{
    if (!version) return make_schema(d, e);
    int rc = 0;
    while (!rc && version++ < STORE_SQLITE_SCHEMA) {
        char sql[2048];
        snprintf(sql, sizeof sql, "BEGIN; %s PRAGMA user_version = %d; COMMIT",
                 UPGRADES[version], version);
        rc = exec(d, d->writer, sql, e);
    }
    return rc;
}

static int open_one(struct db *d, sqlite3 **db, struct err *e)
{
    int rc = sqlite3_open_v2(
        d->path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
        NULL);
    if (rc) return db_fail(d, *db, rc, e);
    sqlite3_extended_result_codes(*db, 1);
    sqlite3_busy_timeout(*db, 5000);
    if ((rc = crc_register(*db))) return db_fail(d, *db, rc, e);
    if (sqlite3_db_readonly(*db, "main") == 1)
        return db_fail(d, NULL, SQLITE_READONLY, e);
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
    for (int i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_finalize(d->st[i]);
    sqlite3_close(d->keeper);
    sqlite3_close(d->reader);
    sqlite3_close(d->writer);
    if (d->count_fd >= 0) close(d->count_fd);
    if (d->reserve.fd >= 0) close(d->reserve.fd);
    pthread_mutex_destroy(&d->turn);
    pthread_mutex_destroy(&d->checkpoint);
    pthread_mutex_destroy(&d->lock);
    free(d->gone);
    free(d);
}

/* The count continues from the number in the database. */
static int open_count(struct db *d, struct err *e)
{
    int rc = store_sqlite_count_select(&d->count, d->writer);
    if (rc) return db_fail(d, d->writer, rc, e);
    d->count_fd = store_sqlite_count_open(d->path, &d->count, e);
    return d->count_fd < 0 ? d->count_fd : 0;
}

/* Nothing is changed in a store that is refused: what its log has stays in the log. */
static int open_writer(struct db *d, const struct store_sqlite_cfg *cfg, struct err *e)
{
    struct store_evidence seen = {0};
    int64_t pages = 0;
    int version = 0;
    int rc = cfg->accept_loss ? 0 : store_sqlite_look(&seen, d->path, true, e);
    if (!rc) rc = open_one(d, &d->writer, e);
    if (rc) return rc;
    sqlite3_db_config(d->writer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!cfg->accept_loss) rc = store_sqlite_missing(&seen, d->writer, d->path, e);
    if (!rc) rc = check_schema(&version, d, e);
    if (!rc) rc = ask(d, &pages, "PRAGMA page_count", e);
    if (!rc && pages <= d->check_pages) rc = store_sqlite_sound(d->writer, d->path, e);
    if (!rc) rc = upgrade_schema(d, version, e);
    if (!rc) rc = exec(d, d->writer, LATER_SQL, e);
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
    for (int i = 0; i < SQL_STATEMENTS && !code; i++) {
        sqlite3 *db = i < SQL_WRITES ? d->writer : d->reader;
        int rc = sqlite3_prepare_v3(db, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &d->st[i], NULL);
        if (rc) code = db_fail(d, db, rc, e);
    }
    if (code) return code;
    int64_t bytes = cfg->reserve ? cfg->reserve : RESERVE_BYTES;
    return reserve_open(&d->reserve, d->path, bytes < 0 ? 0 : bytes, e);
}

int store_sqlite_open(struct store *out, const struct store_sqlite_cfg *cfg,
                      struct err *e)
{
    *out = (struct store){0};
    struct db *d = calloc(1, sizeof *d);
    if (!d) return err_set(e, ERR_MEMORY, "no memory for the store");
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->checkpoint, NULL);
    pthread_mutex_init(&d->turn, NULL);
    d->count_fd = d->reserve.fd = -1;
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
                          .trial = db_trial,
                          .room = db_room,
                          .forget = db_forget,
                          .tidy = db_tidy,
                          .free = db_free};
    return 0;
}

/* ---- reading from outside ---- */

/* Opens without the files that SQLite makes for a log, if there is none: nobody writes then. */
static int open_quiet(struct db *d, struct err *e)
{
    char uri[3 * STORE_SQLITE_PATH + 32] = "file:", wal[STORE_SQLITE_PATH];
    size_t n = strlen(uri);
    for (const char *c = d->path; *c; c++)
        n += (size_t)snprintf(uri + n, sizeof uri - n,
                              strchr("?#%", *c) ? "%%%02X" : "%c", (unsigned char)*c);
    snprintf(wal, sizeof wal, "%s-wal", d->path);
    if (access(wal, F_OK)) snprintf(uri + n, sizeof uri - n, "?immutable=1");
    int rc = sqlite3_open_v2(
        uri, &d->reader, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_URI,
        NULL);
    if (!rc) rc = sqlite3_busy_timeout(d->reader, 5000);
    if (!rc) rc = crc_register(d->reader);
    return rc ? db_fail(d, d->reader, rc, e) : 0;
}

static int read_version(struct db *d, struct err *e)
{
    int64_t application = 0, version = 0;
    int rc = store_sqlite_ask(&application, NULL, 0, d->reader, "PRAGMA application_id");
    if (rc == SQLITE_ROW)
        rc = store_sqlite_ask(&version, NULL, 0, d->reader, "PRAGMA user_version");
    if (rc != SQLITE_ROW) return db_fail(d, d->reader, rc, e);
    if (application != STORE_SQLITE_APPLICATION)
        return err_field(e, ERR_CORRUPT, d->path, "is the database of another program");
    if (version == STORE_SQLITE_SCHEMA) return 0;
    return err_field(e, ERR_CORRUPT, d->path, "has schema %d, this program reads %d: %s",
                     (int)version, STORE_SQLITE_SCHEMA,
                     version < STORE_SQLITE_SCHEMA
                         ? "start this program's daemon on it once"
                         : "use the program that wrote it");
}

static int open_to_read(struct db *d, struct err *e)
{
    struct store_evidence seen;
    int code = store_sqlite_look(&seen, d->path, false, e);
    if (!code && access(d->path, F_OK))
        code = err_field(e, ERR_ABSENT, d->path, "there is no store");
    if (!code) code = open_quiet(d, e);
    /* the transaction begins with the first reading, and all is read as it was then */
    if (!code) code = exec(d, d->reader, "BEGIN", e);
    if (!code) code = read_version(d, e);
    if (!code) code = store_sqlite_missing(&seen, d->reader, d->path, e);
    static const enum statement READS[] = {SQL_GET_SESSION, SQL_GET_STEPS, SQL_GET_NEWEST,
                                           SQL_GET_ALL};
    for (size_t i = 0; i < sizeof READS / sizeof *READS && !code; i++) {
        int rc = sqlite3_prepare_v2(d->reader, STATEMENTS[READS[i]], -1, &d->st[READS[i]],
                                    NULL);
        if (rc) code = db_fail(d, d->reader, rc, e);
    }
    return code;
}

int store_sqlite_read(struct store *out, const char *path, struct err *e)
{
    *out = (struct store){0};
    struct db *d = calloc(1, sizeof *d);
    if (!d) return err_set(e, ERR_MEMORY, "no memory for the store");
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->checkpoint, NULL);
    pthread_mutex_init(&d->turn, NULL);
    d->count_fd = d->reserve.fd = -1;
    int code = 0;
    if ((size_t)snprintf(d->path, sizeof d->path, "%s", path) >= sizeof d->path)
        code = err_field(e, ERR_RANGE, path, "the path is too long");
    if (!code) code = open_to_read(d, e);
    if (code) {
        db_free(d);
        return code;
    }
    *out = (struct store){.self = d, .history = db_history, .free = db_free};
    return 0;
}

int store_sqlite_sessions(const struct store *s,
                          int (*fn)(void *ctx, const struct track_row *row,
                                    struct err *e),
                          void *ctx, struct err *e)
{
    struct db *d = s->self;
    sqlite3_stmt *st = reading_begin(d, SQL_GET_ALL);
    return each_session(d, st, fn, ctx, e);
}
