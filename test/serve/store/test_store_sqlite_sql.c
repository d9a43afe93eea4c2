#include <check.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "serve/store/store_sqlite.h"
#include "support/tmpdir.h"

static char *dir, *path;

static void setup(void)
{
    dir = strdup(tmpdir_new());
    path = strdup(tmpdir_path(dir, "abrd.db"));
}

static void teardown(void)
{
    tmpdir_remove(dir);
    free(path);
    free(dir);
}

/* The form that folders of every version have; the checksum's bytes are those of the columns in order. */
START_TEST(the_form_of_the_database_stays)
{
    static const char *const FORM[][2] = {
        {"SELECT group_concat(name || ' ' || type || ' ' || pk, ',') FROM"
         " pragma_table_info('sessions')",
         "id BLOB 1,key INTEGER 0,profile TEXT 0,content_id TEXT 0,ladder_kbps TEXT 0,"
         "chunk_s REAL 0,chunks INTEGER 0,buffer_max_s REAL 0,mu_quality REAL 0,"
         "mu_switch REAL 0,mu_stall REAL 0,utility TEXT 0,has_mu INTEGER 0,"
         "has_key INTEGER 0,hinted INTEGER 0,explores INTEGER 0,opened_at REAL 0,"
         "closed_at REAL 0,closed INTEGER 0,terminal INTEGER 0,crc INTEGER 0"},
        {"SELECT group_concat(name || ' ' || type || ' ' || pk, ',') FROM"
         " pragma_table_info('steps')",
         "session BLOB 1,ord INTEGER 2,rev INTEGER 0,chunk INTEGER 0,flags INTEGER 0,"
         "decided INTEGER 0,level INTEGER 0,last_level INTEGER 0,expert INTEGER 0,"
         "logp REAL 0,value REAL 0,entropy REAL 0,prob BLOB 0,next_bytes BLOB 0,"
         "question INTEGER 0,policy INTEGER 0,bytes INTEGER 0,buffer_s REAL 0,"
         "download_s REAL 0,rebuffer_s REAL 0,reward REAL 0,external REAL 0,at REAL 0,"
         "crc INTEGER 0"},
        {"SELECT crc FROM sessions", "1407464274"},
        {"SELECT crc FROM steps", "572115839"},
        {"SELECT sql FROM sqlite_master WHERE name = 'decisions'",
         "CREATE VIEW decisions AS SELECT lower(hex(session)) AS session, ord, chunk,"
         " decided AS level, policy, expert, (flags & 2) / 2 AS sampled, logp, buffer_s,"
         " last_level FROM steps WHERE flags & 1"},
        {"SELECT sql FROM sqlite_master WHERE name = 'rewards'",
         "CREATE VIEW rewards AS SELECT lower(hex(session)) AS session, ord, chunk, "
         "level,"
         " (flags & 8) / 8 AS followed, bytes, download_s, rebuffer_s, reward,"
         " CASE WHEN flags & 32 THEN external END AS external, at"
         " FROM steps WHERE flags & 4"},
    };
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, NULL), 0);
    struct store_rec r[] = {
        {.kind = STORE_SESSION,
         .row = {.id = {1, 2, 3},
                 .key = UINT64_MAX - 1,
                 .profile = "news",
                 .content_id = "film",
                 .ladder_kbps = {300.5, 750},
                 .levels = 2,
                 .chunks = 48,
                 .chunk_s = 4,
                 .buffer_max_s = 60,
                 .opened_at = 1.6e9,
                 .qoe = {1, 0.1, 4.3, QOE_LOG},
                 .has_key = true}},
        {.kind = STORE_STEP,
         .id = {1, 2, 3},
         .step = {.ord = 1,
                  .rev = 1,
                  .chunk = 1,
                  .flags = STEP_DECIDED | STEP_REPORTED | STEP_EXTERNAL,
                  .level = 1,
                  .logp = -0.5f,
                  .prob = {0.25f, 0.75f},
                  .bytes = 500000,
                  .reward = -1.5,
                  .external = -0.0,
                  .at = 1.6e9 + 4}}};
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    r[0].row.closed = true;
    r[1].step.rev = 2;
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    s.free(s.self);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof FORM / sizeof *FORM; i++) {
        sqlite3_stmt *st;
        ck_assert_int_eq(sqlite3_prepare_v2(db, FORM[i][0], -1, &st, NULL), SQLITE_OK);
        ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
        ck_assert_str_eq((const char *)sqlite3_column_text(st, 0), FORM[i][1]);
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
}
END_TEST

Suite *suite_serve_store_store_sqlite_sql(void);
Suite *suite_serve_store_store_sqlite_sql(void)
{
    Suite *s = suite_create("serve/store_sqlite_sql");
    TCase *t = tcase_create("serve/store_sqlite_sql");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_form_of_the_database_stays);
    suite_add_tcase(s, t);
    return s;
}
