/* The store's words: tables, views and statements, made of the columns' table. */
#include "store_sqlite_priv.h"

#include <stdio.h>

#define DECLARED_F(name, type, kept) #name " " type
#define DECLARED_X(name, type, kept) ", " #name " " type

static const char TABLES_SQL[] = "CREATE TABLE sessions(" STORE_SESSION_TABLE(
    DECLARED_F,
    DECLARED_X) ", crc INTEGER) WITHOUT ROWID;"
                "CREATE INDEX sessions_live ON sessions(opened_at) WHERE NOT closed;"
                "CREATE INDEX sessions_closed ON sessions(closed_at) WHERE closed;"
                "CREATE TABLE steps(" STORE_STEP_TABLE(
                    DECLARED_F,
                    DECLARED_X) ", crc INTEGER, PRIMARY KEY(session, ord)) WITHOUT ROWID;"
                                "CREATE TABLE profiles("
                                " name TEXT PRIMARY KEY, mu_quality REAL NOT NULL, "
                                "mu_switch REAL NOT NULL,"
                                " mu_stall REAL NOT NULL, utility TEXT NOT NULL) WITHOUT "
                                "ROWID;"
                                "CREATE TABLE policy_versions("
                                " version INTEGER PRIMARY KEY, crc INTEGER NOT NULL, "
                                "published_at REAL NOT NULL,"
                                " check_score REAL);";

/* For people. Each %d is a flag of enum step_flag. */
static const char VIEWS_SQL[] =
    "CREATE VIEW decisions AS SELECT lower(hex(session)) AS session, ord, chunk,"
    " decided AS level, policy, expert, (flags & %d) / %d AS sampled, logp, buffer_s,"
    " last_level FROM steps WHERE flags & %d;"
    "CREATE VIEW rewards AS SELECT lower(hex(session)) AS session, ord, chunk, level,"
    " (flags & %d) / %d AS followed, bytes, download_s, rebuffer_s, reward,"
    " CASE WHEN flags & %d THEN external END AS external, at"
    " FROM steps WHERE flags & %d;";

/* Came later, and do not hinder a program that does not know them. */
const char store_sqlite_later[] =
    "BEGIN;"
    "CREATE TABLE IF NOT EXISTS parcels(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS acknowledged(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " store INTEGER NOT NULL, commits INTEGER NOT NULL, records INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO acknowledged VALUES(1, random(), 0, 0);"
    "CREATE TABLE IF NOT EXISTS grown(name TEXT PRIMARY KEY);"
    "COMMIT";

/* A row's parameters (numbered in this order), what it has after it was written again, and which of
 * its columns change then. */
#define PARAMETER_F(name, type, kept) ":" #name
#define PARAMETER_X(name, type, kept) ", :" #name
#define MERGED_KEPT(name) #name
#define MERGED_NEW(name) "excluded." #name
#define MERGED_F(name, type, kept) MERGED_##kept(name)
#define MERGED_X(name, type, kept) ", " MERGED_##kept(name)
#define CHANGED_KEPT(name) ""
#define CHANGED_NEW(name) #name " = excluded." #name ", "
#define CHANGED(name, type, kept) CHANGED_##kept(name)

#define UPSERT(into, key, TABLE, condition)                                                                   \
    "INSERT INTO " into                                                                                       \
    "(" TABLE(STORE_NAME_F, STORE_NAME_X) ", crc) VALUES(" TABLE(PARAMETER_F, PARAMETER_X) ", crc_of(" TABLE( \
        PARAMETER_F,                                                                                          \
        PARAMETER_X) ")) ON CONFLICT(" key                                                                    \
                     ") DO UPDATE SET " TABLE(CHANGED, CHANGED) "crc = crc_of(" TABLE(                        \
                         MERGED_F, MERGED_X) ") WHERE " condition

#define SESSION_READ STORE_SESSION_COLUMNS "," STORE_SOUND(STORE_SESSION_COLUMNS)
#define STEP_READ STORE_STEP_COLUMNS "," STORE_SOUND(STORE_STEP_COLUMNS)

const char *const store_sqlite_sql[STORE_STATEMENTS] = {
    [SQL_PUT_SESSION] =
        UPSERT("sessions", "id", STORE_SESSION_TABLE, "excluded.closed >= closed"),
    [SQL_PUT_STEP] =
        UPSERT("steps", "session, ord", STORE_STEP_TABLE, "excluded.rev > rev"),
    [SQL_PUT_VERSION] = "INSERT OR IGNORE INTO policy_versions VALUES(?,?,?,?)",
    [SQL_PUT_PROFILE] = "INSERT OR REPLACE INTO profiles VALUES(?,?,?,?,?)",
    [SQL_DELETE_PROFILE] = "DELETE FROM profiles WHERE name = ?",
    [SQL_PUT_ADDED] = "INSERT OR IGNORE INTO grown VALUES(?)",
    [SQL_DELETE_ADDED] = "DELETE FROM grown WHERE name = ?",
    [SQL_PRUNE_STEPS] =
        "DELETE FROM steps WHERE session IN (SELECT id FROM sessions WHERE"
        " closed AND closed_at < ?1 ORDER BY closed_at, id LIMIT ?2)",
    [SQL_PRUNE_SESSIONS] =
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE"
        " closed AND closed_at < ?1 ORDER BY closed_at, id LIMIT ?2)",
    [SQL_PUT_ENVELOPE] = "INSERT OR REPLACE INTO parcels VALUES(?, ?)",
    [SQL_DELETE_PARCELS] = "DELETE FROM parcels WHERE number > 0 AND number < ?",
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
    [SQL_GET_PROFILES] =
        "SELECT name, mu_quality, mu_switch, mu_stall, utility,"
        " EXISTS(SELECT 1 FROM grown WHERE grown.name = profiles.name) FROM profiles"
        " ORDER BY name",
    [SQL_GET_VERSIONS] =
        "SELECT version, crc, published_at, check_score FROM policy_versions"
        " ORDER BY version DESC LIMIT ?",
    [SQL_GET_PARCELS] = "SELECT number, bytes FROM parcels ORDER BY number",
};

int store_sqlite_make(sqlite3 *db)
{
    char views[sizeof VIEWS_SQL + 100], sql[sizeof TABLES_SQL + sizeof views + 200];
    snprintf(views, sizeof views, VIEWS_SQL, STEP_SAMPLED, STEP_SAMPLED, STEP_DECIDED,
             STEP_FOLLOWED, STEP_FOLLOWED, STEP_EXTERNAL, STEP_REPORTED);
    snprintf(sql, sizeof sql,
             "BEGIN; %s%s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             TABLES_SQL, views, STORE_SQLITE_APPLICATION, STORE_SQLITE_SCHEMA);
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}
