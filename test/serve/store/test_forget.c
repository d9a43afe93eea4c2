#include "serve/store/forget.h"

#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/session/viewer.h"
#include "serve/store/folder.h"
#include "serve/store/store_sqlite.h"
#include "support/suites.h"
#include "support/tmpdir.h"

enum { SESSIONS = 60, STEPS = 12 };

static const char *dir;
static char path[300];
static const uint8_t KEY[SIPHASH_KEY] = {0x0f, 0x1e, 0x2d};
static struct err e;

/* Every third session is anna's; number 0 is open; half are of the tenant `kids`. */
static struct track_row forget_row(int i)
{
    struct track_row row = {.id = {0xab, 0xcd, (uint8_t)i, 0xef},
                            .levels = 2,
                            .ladder_kbps = {300, 750},
                            .quality_from = QUALITY_LEVEL,
                            .qoe = *qoe_standard(),
                            .opened_at = 1e9,
                            .closed = i > 0,
                            .closed_at = i ? 1e9 + i : 0};
    bool anna = i % 3 == 0;
    row.viewer = viewer_hash(KEY, anna ? "anna" : "bob");
    snprintf(row.content_id, sizeof row.content_id, "film-of-%s", anna ? "anna" : "bob");
    snprintf(row.labels.value[LABELS_TENANT], LABELS_VALUE, "%s", i % 2 ? "kids" : "all");
    return row;
}

static void setup(void)
{
    e = (struct err){0};
    dir = tmpdir_new();
    snprintf(path, sizeof path, "%s", tmpdir_path(dir, "abrd.db"));
    char secret[2 * SIPHASH_KEY + 2];
    for (int i = 0; i < SIPHASH_KEY; i++)
        snprintf(secret + 2 * i, 3, "%02x", KEY[i]);
    strcat(secret, "\n");
    ck_assert_int_eq(
        text_write_file(tmpdir_path(dir, "secret"), secret, strlen(secret), &e), 0);
    struct store s;
    ck_assert_int_eq(store_sqlite_open(&s, &(struct store_sqlite_cfg){.path = path}, &e),
                     0);
    /* in turn, so that pages are split and have old copies of rows in their free space */
    struct store_rec *r = calloc(2 * SESSIONS, sizeof *r);
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < SESSIONS; i++) {
            struct store_rec *step = &r[2 * i + 1];
            r[2 * i] = (struct store_rec){.kind = STORE_SESSION, .row = forget_row(i)};
            *step = (struct store_rec){.kind = STORE_STEP};
            memcpy(step->id, r[2 * i].row.id, TRACK_ID);
            step->step = (struct step){.ord = (uint32_t)k, .chunk = k, .rev = 1};
        }
        ck_assert_int_eq(s.write(s.self, r, 2 * SESSIONS, &e), 0);
    }
    free(r);
    struct store_rec waits = {.kind = STORE_ENVELOPE,
                              .envelope = {7, "anna's trajectory", 17}};
    ck_assert_int_eq(s.write(s.self, &waits, 1, &e), 0);
    s.free(s.self);
}

static void teardown(void)
{
    tmpdir_remove(dir);
}

/* Places of the bytes in the files of the folder. */
static int found(const void *bytes, size_t n)
{
    int hits = 0;
    DIR *d = opendir(dir);
    const struct dirent *entry;
    while ((entry = readdir(d))) {
        size_t size = 0;
        if (entry->d_name[0] == '.') continue;
        char *all = text_read_file(tmpdir_path(dir, entry->d_name), 64 << 20, &size, &e);
        ck_assert_ptr_nonnull(all);
        for (const char *at = all; (at = memmem(at, size - (size_t)(at - all), bytes, n));
             at++)
            hits++;
        free(all);
    }
    closedir(d);
    return hits;
}

static int found_of(int i)
{
    struct track_row row = forget_row(i);
    return found(row.id, TRACK_ID);
}

static struct forget_stats must_forget(const struct forget_choice *c, bool dry)
{
    struct forget_stats s;
    ck_assert_msg(!forget_sessions(&s, dir, c, dry, &e), "%s: %s", e.field, e.detail);
    return s;
}

TEST(a_viewer_leaves_no_bytes)
{
    const struct forget_choice anna = {.viewer = "anna"};
    uint64_t hash = viewer_hash(KEY, "anna");
    unsigned char stored[8]; /* SQLite's integers are big-endian */
    for (int i = 0; i < 8; i++)
        stored[i] = (unsigned char)(hash >> (56 - 8 * i));
    struct forget_stats s = must_forget(&anna, true);
    ck_assert_int_eq(s.sessions, SESSIONS / 3);
    ck_assert_int_eq(s.live, 1);
    ck_assert_int_eq(s.steps, SESSIONS / 3 * STEPS);
    ck_assert_int_eq(s.trajectories, 1);
    ck_assert_int_gt(found(stored, sizeof stored), 0);
    ck_assert_int_gt(found("film-of-anna", 12), 0);
    ck_assert_int_gt(found_of(3), 0);
    ck_assert_int_gt(found("anna's", 6), 0);

    s = must_forget(&anna, false);
    ck_assert_int_eq(s.sessions, SESSIONS / 3);
    ck_assert_int_eq(s.kept, 0);
    ck_assert_int_eq(found(stored, sizeof stored), 0);
    ck_assert_int_eq(found("film-of-anna", 12), 0);
    ck_assert_int_eq(found("anna's", 6), 0);
    for (int i = 0; i < SESSIONS; i++)
        ck_assert_int_eq(found_of(i) > 0, i % 3 != 0);
    ck_assert_int_eq(must_forget(&anna, false).sessions, 0);

    /* the others are whole, and the next envelope gets the next number */
    struct store_sqlite_health h;
    ck_assert_int_eq(store_sqlite_check(&h, path, &e), 0);
    ck_assert_int_eq(h.sessions, SESSIONS * 2 / 3);
    ck_assert_int_eq(h.steps, SESSIONS * 2 / 3 * STEPS);
    sqlite3 *db;
    sqlite3_stmt *st;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT max(number), max(bytes) FROM parcels",
                                        -1, &st, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(st, 0), 7);
    ck_assert_int_eq(sqlite3_column_bytes(st, 1), 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* A delete without secure_delete, as a prune may be, leaves bytes in free space. */
TEST(what_was_deleted_before_goes_too)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "PRAGMA secure_delete = OFF;"
                                  "DELETE FROM sessions WHERE closed_at < 1e9 + 5;"
                                  "DELETE FROM steps WHERE session NOT IN"
                                  " (SELECT id FROM sessions)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    ck_assert_int_gt(found_of(4), 0);
    ck_assert_int_eq(
        must_forget(&(struct forget_choice){.viewer = "dora"}, false).sessions, 0);
    ck_assert_int_eq(found_of(4), 0);
}

/* A session must fit all conditions. */
TEST(conditions_are_joined)
{
    struct forget_choice c = {.before = 1e9 + 10}; /* 1 .. 9: an open session never */
    ck_assert_int_eq(must_forget(&c, true).sessions, 9);
    strcpy(c.labels.value[LABELS_TENANT], "kids");
    ck_assert_int_eq(must_forget(&c, true).sessions, 5);
    c.viewer = "anna"; /* 3, 9 */
    ck_assert_int_eq(must_forget(&c, true).sessions, 2);
    strcpy(c.labels.value[LABELS_CDN], "edge");
    ck_assert_int_eq(must_forget(&c, true).sessions, 0);
    struct track_row row = forget_row(3);
    struct forget_choice one = {.has_id = true};
    memcpy(one.id, row.id, TRACK_ID);
    ck_assert_int_eq(must_forget(&one, false).sessions, 1);
    ck_assert_int_eq(found_of(3), 0);
    ck_assert_int_gt(found_of(4), 0);
}

/* Rows from before there was the column `viewer` are found by the trial's hash. */
TEST(a_viewer_of_an_older_trial_is_found)
{
    struct store s;
    struct store_rec r = {.kind = STORE_SESSION, .row = forget_row(100)};
    r.row.viewer = 0;
    strcpy(r.row.arm.trial, "spring");
    strcpy(r.row.arm.name, "new");
    r.row.arm.unit = viewer_unit(KEY, "spring", "carl", 5);
    ck_assert_int_eq(store_sqlite_open(&s, &(struct store_sqlite_cfg){.path = path}, &e),
                     0);
    ck_assert_int_eq(s.write(s.self, &r, 1, &e), 0);
    s.free(s.self);
    ck_assert_int_eq(
        must_forget(&(struct forget_choice){.viewer = "carl"}, false).sessions, 1);
    ck_assert_int_eq(found_of(100), 0);
}

TEST(what_cannot_be_done_is_said)
{
    const struct forget_choice anna = {.viewer = "anna"};
    struct forget_stats s;
    struct folder f;
    ck_assert_int_eq(folder_open(&f, dir, &e), 0);
    ck_assert_int_eq(forget_sessions(&s, dir, &anna, false, &e), ERR_CONFLICT);
    folder_close(&f);
    ck_assert_int_eq(remove(tmpdir_path(dir, "secret")), 0);
    e = (struct err){0};
    ck_assert_int_eq(forget_sessions(&s, dir, &anna, false, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.field, "secret"));
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, "abrd.db-wal.bad"), "x", 1, NULL),
                     0);
    ck_assert_int_eq(must_forget(&(struct forget_choice){.before = 1}, true).kept, 1);
    e = (struct err){0};
    ck_assert_int_eq(forget_sessions(&s, "/nonexistent", &anna, false, &e), ERR_ABSENT);
}

/* In a store that is open, as service_forget does. */
TEST(a_request_under_way_brings_nothing_back)
{
    struct store s;
    struct forget_stats n;
    struct forget_choice anna = {.viewer = "anna"};
    ck_assert_int_eq(store_sqlite_open(&s, &(struct store_sqlite_cfg){.path = path}, &e),
                     0);
    ck_assert_int_eq(s.forget(s.self, &n, &anna, KEY, 1e9 + 30, true, &e), 0);
    ck_assert_int_eq(n.sessions, SESSIONS / 3);
    ck_assert_int_eq(s.forget(s.self, &n, &anna, KEY, 1e9 + 30, false, &e), 0);
    ck_assert_int_eq(n.sessions, SESSIONS / 3);
    for (int i = 0; i < SESSIONS; i++)
        ck_assert_int_eq(found_of(i) > 0, i % 3 != 0);
    /* 0 ran and 30 ended later than `since`; 3 ended long before; 1 is not anna's */
    static const int LATE[] = {0, 30, 3, 1};
    for (size_t k = 0; k < sizeof LATE / sizeof *LATE; k++) {
        struct store_rec r[2] = {{.kind = STORE_SESSION, .row = forget_row(LATE[k])},
                                 {.kind = STORE_STEP}};
        memcpy(r[1].id, r[0].row.id, TRACK_ID);
        r[1].step = (struct step){.ord = 90, .chunk = 90, .rev = 1};
        ck_assert_int_eq(s.write(s.self, r, 2, &e), 0);
        ck_assert_int_eq(found_of(LATE[k]) > 0, k > 1);
    }
    s.free(s.self);
}

struct tidier {
    struct store *store;
    atomic_bool stop;
    int failed;
};

static void *tidy_until_stopped(void *arg)
{
    struct tidier *t = arg;
    while (!atomic_load(&t->stop))
        t->failed += t->store->tidy(t->store->self, NULL) != 0;
    return NULL;
}

/* SQLite refuses a checkpoint beside another one at once, without waiting. */
TEST(a_store_that_is_tidied_deletes)
{
    struct store s;
    struct forget_stats n;
    pthread_t thread;
    ck_assert_int_eq(store_sqlite_open(&s, &(struct store_sqlite_cfg){.path = path}, &e),
                     0);
    struct tidier t = {.store = &s};
    ck_assert_int_eq(pthread_create(&thread, NULL, tidy_until_stopped, &t), 0);
    for (int i = 0; i < SESSIONS / 5; i++) {
        struct track_row row = forget_row(i);
        struct forget_choice one = {.has_id = true};
        memcpy(one.id, row.id, TRACK_ID);
        ck_assert_msg(!s.forget(s.self, &n, &one, KEY, 1e9, false, &e), "%d: %s", i,
                      e.detail);
        ck_assert_int_eq(n.sessions, 1);
        ck_assert_int_eq(found_of(i), 0);
    }
    atomic_store(&t.stop, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(t.failed, 0);
    s.free(s.self);
}

TEST(sessions_in_memory_are_chosen_alike)
{
    struct track_row row = forget_row(3);
    struct forget_choice c = {.viewer = "anna", .before = 1e9 + 4};
    ck_assert_int_eq(forget_check(&c, &e), 0);
    ck_assert(forget_fits(&c, KEY, &row));
    strcpy(c.labels.value[LABELS_TENANT], "all");
    ck_assert(!forget_fits(&c, KEY, &row));
    strcpy(c.labels.value[LABELS_TENANT], "kids");
    ck_assert(forget_fits(&c, KEY, &row));
    c.before = 1e9 + 3;
    ck_assert(!forget_fits(&c, KEY, &row));
    row = forget_row(0); /* it runs */
    ck_assert(!forget_fits(&(struct forget_choice){.before = 2e9}, KEY, &row));
    row.viewer = 0;
    strcpy(row.arm.trial, "spring");
    row.arm.unit = viewer_unit(KEY, "spring", "carl", 5);
    ck_assert(forget_fits(&(struct forget_choice){.viewer = "carl"}, KEY, &row));
    ck_assert(!forget_fits(&(struct forget_choice){.viewer = "dora"}, KEY, &row));
    ck_assert_int_eq(forget_check(&(struct forget_choice){.before = 0}, &e), ERR_INVALID);
}

TEST(times_are_in_utc)
{
    static const struct {
        const char *text;
        double at; /* 0: refused */
    } ROWS[] = {{"2026-11-24", 1795478400},
                {"2026-11-24T10:30:00Z", 1795516200},
                {"2026-11-24T10:30:00", 0},
                {"2026-11-24T10:30", 0},
                {"yesterday", 0},
                {"2026-13-01", 0},
                {"2026-11-24 and a bit", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        double at = 0;
        int rc = forget_time(&at, ROWS[i].text, NULL);
        ck_assert_msg((rc == 0) == (ROWS[i].at > 0), "%s", ROWS[i].text);
        ck_assert_double_eq(at, ROWS[i].at);
    }
}

SUITE_SET_UP(serve_store_forget, 30, setup, teardown, a_viewer_leaves_no_bytes,
             what_was_deleted_before_goes_too, conditions_are_joined,
             a_viewer_of_an_older_trial_is_found, what_cannot_be_done_is_said,
             a_request_under_way_brings_nothing_back, a_store_that_is_tidied_deletes,
             sessions_in_memory_are_chosen_alike, times_are_in_utc);
