#include "serve/store/store_sqlite.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const char *dir;
static char *path;

static void setup(void)
{
    dir = tmpdir_new();
    path = strdup(tmpdir_path(dir, "abrd.db"));
}

static void teardown(void)
{
    free(path);
}

static struct store must_open(void)
{
    struct store s;
    struct err e = {0};
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_msg(store_sqlite_open(&s, &cfg, &e) == 0, "%s: %s", e.field, e.detail);
    return s;
}

static struct store_rec session_rec(uint8_t n)
{
    struct store_rec r = {.kind = STORE_SESSION};
    r.row = (struct track_row){.id = {n, 1, 0, 255},
                               .key = UINT64_MAX - n,
                               .profile = "news",
                               .content_id = "caf\xc3\xa9 'x'",
                               .ladder_kbps = {300.1, 1e6 / 3},
                               .levels = 2,
                               .chunks = 48,
                               .chunk_s = 1 / 3.0,
                               .buffer_max_s = 60,
                               .opened_at = 1.6e9 + n,
                               .qoe = qoe_of_mu(1, .1, 4.3, QOE_LOG),
                               .has_key = true,
                               .explores = true};
    return r;
}

static struct store_rec step_rec(uint8_t n, uint32_t ord)
{
    struct store_rec r = {.kind = STORE_STEP, .id = {n, 1, 0, 255}};
    r.step = (struct step){.next = -1,
                           .prev = -1,
                           .ord = ord,
                           .rev = 1,
                           .chunk = (int32_t)ord,
                           .flags = STEP_DECIDED | STEP_SAMPLED,
                           .decided = 1,
                           .level = -1,
                           .last_level = -1,
                           .expert = 2,
                           .logp = -.1f,
                           .value = 1.7f,
                           .entropy = .3f,
                           .prob = {.1f, .9f},
                           .next_bytes = {4000000000u, 7},
                           .question = UINT64_MAX - ord,
                           .policy = 9,
                           .buffer_s = 1 / 7.0,
                           .at = 1.6e9 + ord};
    return r;
}

static void run_sql(const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &why);
    ck_assert_msg(!why, "%s", why);
    sqlite3_close(db);
}

static int64_t ask_sql(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}

/* A row of a short ladder has the blobs that former schemas had. */
TEST(a_long_ladder_comes_back)
{
    struct store_rec in[4] = {session_rec(1), step_rec(1, 0), step_rec(1, 1),
                              step_rec(1, 2)};
    in[0].row.levels = VIEW_LEVELS;
    for (int k = 0; k < VIEW_LEVELS; k++) {
        in[0].row.ladder_kbps[k] = 100 * (k + 1) + 1 / 3.;
        in[0].row.points[k] = 3 * k + 1 / 7.;
        in[2].step.next_bytes[k] = 1000000u * (unsigned)(k + 1);
        in[2].step.points.next[k] = (uint16_t)(1 + 300 * k);
    }
    in[0].row.quality_from = QUALITY_LEVEL;
    in[1].step.points.next[3] = 77;
    for (int k = 0; k < FEAT_LEVELS; k++)
        in[2].step.prob[k] = 1.f / 12;
    in[2].step.seen = UINT32_C(0x90000fff) ^ 3;
    in[2].step.decided = 31;
    in[3].step.next_bytes[20] = 5; /* of 21 levels the last ones are not known */
    struct store s = must_open();
    ck_assert_int_eq(s.write(s.self, in, 4, NULL), 0);
    s.free(s.self);

    s = must_open(); /* checks every row */
    struct track_row row;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, in[0].row.id, 0, INT_MAX, NULL),
        0);
    ck_assert_mem_eq(&row, &in[0].row, sizeof row);
    ck_assert_int_eq(n, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_mem_eq(&steps[i], &in[i + 1].step, sizeof *steps);
    free(steps);
    s.free(s.self);
    static const char *const columns[] = {"prob", "next_bytes", "points"};
    static const int bytes[3][3] = {{48, 48, 26}, {52, 128, 66}, {48, 84, 0}};
    for (int ord = 0; ord < 3; ord++)
        for (int c = 0; c < 3; c++) {
            char sql[100];
            snprintf(sql, sizeof sql,
                     "SELECT ifnull(length(%s), 0) FROM steps WHERE ord = %d", columns[c],
                     ord);
            ck_assert_int_eq(ask_sql(sql), bytes[ord][c]);
        }
    /* what no ladder has */
    run_sql("UPDATE steps SET next_bytes = zeroblob(132), crc = NULL WHERE ord = 1");
    s = must_open();
    struct err e = {0};
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, in[0].row.id, 0, INT_MAX, &e),
        ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "next_bytes"));
    s.free(s.self);
}

TEST(rows_come_back_to_the_last_bit)
{
    struct store s = must_open();
    struct store_rec in[3] = {session_rec(1), step_rec(1, 0), step_rec(1, 1)};
    in[1].step.flags |= STEP_REPORTED;
    in[1].step.level = 1;
    in[1].step.bytes = UINT32_C(4000000000);
    in[1].step.download_s = 1e-6;
    in[1].step.rebuffer_s = 2 / 3.0;
    in[1].step.reward = -1 / 3.0;
    in[0].row.qoe.utility = QOE_POINTS;
    in[0].row.qoe.mu_start = 7.19 / 3;
    in[0].row.qoe.mu_rise = .1;
    in[0].row.qoe.stall_ratio_max = .02;
    in[0].row.qoe.startup_max_s = 2.2;
    in[0].row.quality_from = QUALITY_LEVEL;
    in[0].row.points[0] = 100 / 3.0;
    in[0].row.points[1] = 99.5;
    in[1].step.points = (struct traj_points){{1, 10001}, 7};
    ck_assert_int_eq(s.write(s.self, in, 3, NULL), 0);
    s.free(s.self);

    s = must_open();
    struct track_row row;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, in[0].row.id, 0, INT_MAX, NULL),
        0);
    ck_assert_mem_eq(&row, &in[0].row, sizeof row);
    ck_assert_int_eq(n, 2);
    ck_assert_mem_eq(&steps[0], &in[1].step, sizeof *steps);
    ck_assert_mem_eq(&steps[1], &in[2].step, sizeof *steps);
    free(steps);
    uint8_t other[TRACK_ID] = {9};
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, other, 0, INT_MAX, NULL),
        ERR_ABSENT);
    s.free(s.self);
}

TEST(the_highest_revision_stays)
{
    struct store s = must_open();
    struct store_rec r[4] = {step_rec(1, 0), step_rec(1, 0), session_rec(1),
                             session_rec(1)};
    r[0].step.rev = 3;
    r[0].step.reward = 33;
    r[1].step.rev = 2;
    r[1].step.reward = 22;
    r[2].row.closed = true;
    ck_assert_int_eq(s.write(s.self, r, 4, NULL), 0);
    struct track_row row;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, r[2].row.id, 0, INT_MAX, NULL),
        0);
    ck_assert_int_eq(n, 1);
    ck_assert_double_eq(steps[0].reward, 33);
    ck_assert(row.closed);
    free(steps);
    s.free(s.self);
}

static int collect(void *ctx, const struct track_row *row, const struct step *steps,
                   int n, struct err *e)
{
    (void)e;
    int *seen = ctx;
    seen[seen[0] + 1] = row->id[0] * 1000 + n;
    seen[0]++;
    for (int i = 1; i < n; i++)
        ck_assert_uint_eq(steps[i].ord, steps[i - 1].ord + 1);
    return 0;
}

TEST(live_sessions_come_with_their_newest_steps)
{
    struct store s = must_open();
    struct store_rec r = session_rec(1);
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    r = session_rec(2);
    r.row.closed = true;
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    r = session_rec(3);
    r.row.explores = false;
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    for (uint32_t i = 0; i < 300; i++) {
        struct store_rec step[2] = {step_rec(1, i), step_rec(3, i)};
        step[1].step.at -= 1000; /* silent for longer */
        ck_assert_int_eq(s.write(s.self, step, 2, NULL), 0);
    }
    int seen[8] = {0};
    ck_assert_int_eq(s.live(s.self, collect, seen, NULL), 0);
    ck_assert_int_eq(seen[0], 2);
    ck_assert_int_eq(seen[1] / 1000, 3);
    ck_assert_int_eq(seen[2] / 1000, 1);
    ck_assert_int_ge(seen[1] % 1000, VIEW_HISTORY);
    ck_assert_int_ge(seen[2] % 1000, TRAJ_STEPS + VIEW_HISTORY);
    ck_assert_int_lt(seen[2] % 1000, 300);
    s.free(s.self);
}

TEST(profiles_and_versions_stay)
{
    struct store s = must_open();
    struct store_version v[3];
    int n;
    ck_assert_int_eq(s.versions(s.self, v, 3, &n, NULL), 0);
    ck_assert_int_eq(n, 0);
    struct store_rec r[5] = {{.kind = STORE_PROFILE}, {.kind = STORE_PROFILE}};
    strcpy(r[0].profile.name, "b");
    r[0].profile.qoe = qoe_of_mu(1, 2, .3, QOE_PAMOE);
    strcpy(r[1].profile.name, "a");
    r[2] = r[1];
    r[2].kind = STORE_PROFILE_GONE;
    r[3] = (struct store_rec){.kind = STORE_VERSION, .version = {7, 0xffffffff, 5, .25}};
    r[4] = (struct store_rec){.kind = STORE_VERSION, .version = {6, 1, 4, .5}};
    ck_assert_int_eq(s.write(s.self, r, 5, NULL), 0);
    s.free(s.self);

    s = must_open();
    struct profile p[4];
    ck_assert_int_eq(s.profiles(s.self, p, 4, &n, NULL), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(p[0].name, "b");
    ck_assert_double_eq(p[0].qoe.mu_stall, .3);
    ck_assert_int_eq(p[0].qoe.utility, QOE_PAMOE);
    ck_assert_int_eq(s.versions(s.self, v, 3, &n, NULL), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_uint_eq(v[0].version, 7);
    ck_assert_uint_eq(v[0].crc, 0xffffffff);
    ck_assert_double_eq(v[0].check_score, .25);
    ck_assert_uint_eq(v[1].version, 6);
    ck_assert_double_eq(v[1].published_at, 4);
    ck_assert_int_eq(s.versions(s.self, v, 1, &n, NULL), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_uint_eq(v[0].version, 7);
    s.free(s.self);
}

/* What is on its way to a bus, as text. */
static char envelopes[200];

static int note_envelope(void *ctx, const struct bus_envelope *p, struct err *e)
{
    (void)ctx;
    (void)e;
    size_t at = strlen(envelopes);
    snprintf(envelopes + at, sizeof envelopes - at, "%llu=%.*s ",
             (unsigned long long)p->number, (int)p->n, (const char *)p->bytes);
    return 0;
}

static const char *kept(const struct store *s)
{
    envelopes[0] = '\0';
    ck_assert_int_eq(s->envelopes(s->self, note_envelope, NULL, NULL), 0);
    return envelopes;
}

TEST(envelopes_stay_until_they_are_delivered)
{
    struct store s = must_open();
    ck_assert_str_eq(kept(&s), "");
    struct store_rec r[4];
    for (uint64_t i = 0; i < 4; i++)
        r[i] = (struct store_rec){.kind = STORE_ENVELOPE,
                                  .envelope = {.number = i, .bytes = "abcd" + i, .n = 1}};
    ck_assert_int_eq(s.write(s.self, r, 4, NULL), 0);
    ck_assert_str_eq(kept(&s), "0=a 1=b 2=c 3=d ");
    struct store_rec gone = {.kind = STORE_DELIVERED, .envelope = {.number = 2}};
    ck_assert_int_eq(s.write(s.self, &gone, 1, NULL), 0);
    ck_assert_str_eq(kept(&s), "0=a 2= 3=d ");
    gone.envelope.number = 3;
    ck_assert_int_eq(s.write(s.self, &gone, 1, NULL), 0);
    s.free(s.self);
    s = must_open(); /* the last number is known for ever */
    ck_assert_str_eq(kept(&s), "0=a 3= ");
    s.free(s.self);
}

TEST(old_closed_sessions_are_pruned)
{
    struct store s = must_open();
    for (uint8_t i = 1; i <= 3; i++) {
        struct store_rec r[2] = {session_rec(i), step_rec(i, 0)};
        r[0].row.closed = i != 3;
        r[0].row.closed_at = 100 * i;
        ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    }
    struct store_rec r = {.kind = STORE_PRUNE, .before = 150};
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    struct track_row row;
    struct step *steps;
    int n;
    for (uint8_t i = 1; i <= 3; i++) {
        struct store_rec q = session_rec(i);
        int rc =
            s.history(s.self, &row, &(double){0}, &steps, &n, q.row.id, 0, INT_MAX, NULL);
        ck_assert_int_eq(rc, i == 1 ? ERR_ABSENT : 0);
        if (!rc) ck_assert_int_eq(n, 1);
        free(steps);
    }
    s.free(s.self);
}

TEST(a_full_disk_is_told_and_nothing_is_half_stored)
{
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path, .max_pages = 30};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, NULL), 0);
    struct store_rec r = session_rec(1);
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);

    enum { BATCH = 50 };
    static struct store_rec batch[BATCH];
    struct err e = {0};
    uint32_t stored = 0;
    int rc = 0;
    while (!rc && stored < 100000) {
        for (uint32_t i = 0; i < BATCH; i++)
            batch[i] = step_rec(1, stored + i);
        rc = s.write(s.self, batch, BATCH, &e);
        if (!rc) stored += BATCH;
    }
    ck_assert_int_eq(rc, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.detail, "disk is full"));
    ck_assert_str_eq(e.field, path);
    ck_assert_uint_gt(stored, 0);

    struct track_row row;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        s.history(s.self, &row, &(double){0}, &steps, &n, r.row.id, 0, INT_MAX, NULL), 0);
    ck_assert_uint_eq((unsigned)n, stored);
    free(steps);
    s.free(s.self);
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

TEST(what_is_not_a_store_is_refused)
{
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path};
    struct err e = {0};
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    write_text(text);
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, &e), ERR_CORRUPT);
    ck_assert_str_eq(e.field, path);
    ck_assert_ptr_nonnull(strstr(e.detail, "backup"));

    e = (struct err){0};
    struct store_sqlite_cfg folder = {.path = dir};
    ck_assert_int_eq(store_sqlite_open(&s, &folder, &e), ERR_IO);
    e = (struct err){0};
    struct store_sqlite_cfg nowhere = {.path = "/nonexistent/abrd.db"};
    ck_assert_int_eq(store_sqlite_open(&s, &nowhere, &e), ERR_IO);
}

TEST(a_newer_schema_is_refused)
{
    struct store s = must_open();
    s.free(s.self);
    FILE *f = fopen(path, "r+b"); /* user_version: bytes 60 .. 63 of the header */
    ck_assert_ptr_nonnull(f);
    fseek(f, 63, SEEK_SET);
    fputc(99, f);
    fclose(f);
    struct store_sqlite_cfg cfg = {.path = path};
    struct err e = {0};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "schema 99"));
}

/* Bytes of the file at `at` become 0xff; at -1: it is cut in the middle. Opens? */
static int open_damaged(const char *whole, size_t size, long at, struct err *e)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(whole, 1, at < 0 ? size / 2 : size, f),
                      at < 0 ? size / 2 : size);
    if (at >= 0) {
        fseek(f, at, SEEK_SET);
        fwrite("\xff\xff\xff\xff\xff\xff\xff\xff", 1, 8, f);
    }
    fclose(f);
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path};
    int rc = store_sqlite_open(&s, &cfg, e);
    if (!rc) s.free(s.self);
    return rc;
}

/* The header of any page but the first is in the middle of the file; all of them are read. */
TEST(a_damaged_file_is_refused_at_the_start)
{
    struct store s = must_open();
    for (uint32_t i = 0; i < 400; i++) {
        struct store_rec r[] = {session_rec((uint8_t)i), step_rec((uint8_t)i, i)};
        ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    }
    s.free(s.self);
    size_t size;
    char *whole = text_read_file(path, 1 << 24, &size, NULL);
    ck_assert_ptr_nonnull(whole);
    ck_assert_uint_gt(size, 20 * 4096);
    for (long at = -1; at < (long)size; at = at < 0 ? 0 : at + 4096) {
        struct err e = {0};
        int rc = open_damaged(whole, size, at, &e);
        ck_assert_msg(rc == ERR_CORRUPT, "damage at %ld: %d", at, rc);
        ck_assert_str_eq(e.field, path);
        ck_assert_ptr_nonnull(strstr(e.detail, "abrd doctor --data DIR --accept-loss"));
    }
    struct err e = {0};
    struct store_sqlite_cfg large = {.path = path, .check_pages = 4};
    ck_assert_int_eq(store_sqlite_open(&s, &large, &e), 0); /* as it asked for */
    s.free(s.self);
    free(whole);
}

/* Where the bytes of `what` lie in the file; they must be there once. */
static size_t find(const char *whole, size_t size, const void *what, size_t n)
{
    const char *at = memmem(whole, size, what, n);
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_null(memmem(at + 1, size - (size_t)(at + 1 - whole), what, n));
    return (size_t)(at - whole);
}

static int open_flipped(char *whole, size_t size, size_t bit, struct err *e)
{
    whole[bit / 8] ^= (char)(1 << bit % 8);
    ck_assert_int_eq(text_write_file(path, whole, size, NULL), 0);
    whole[bit / 8] ^= (char)(1 << bit % 8);
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path};
    int rc = store_sqlite_open(&s, &cfg, e);
    if (!rc) s.free(s.self);
    return rc;
}

/* A row that was written, rewritten and closed, of which a single bit changes. */
TEST(a_flipped_bit_within_a_row_is_refused_at_the_start)
{
    struct store s = must_open();
    struct store_rec r[] = {session_rec(1), step_rec(1, 1)};
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    r[0].row.closed = r[0].row.terminal = true;
    r[0].row.closed_at = 2.5e9;
    strcpy(r[0].row.profile, "quiz");
    r[1].step.rev = 2;
    r[1].step.flags |= STEP_REPORTED;
    r[1].step.reward = 1 / 11.0;
    r[1].step.external = -0.0;
    r[1].step.bytes = 123456;
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    s.free(s.self);
    s = must_open();
    s.free(s.self);

    size_t size;
    char *whole = text_read_file(path, 1 << 24, &size, NULL);
    ck_assert_ptr_nonnull(whole);
    uint64_t reward;
    memcpy(&reward, &r[1].step.reward, 8);
    reward = __builtin_bswap64(reward); /* as SQLite keeps it */
    const size_t bits[][2] = {{find(whole, size, &reward, 8), 8},
                              {find(whole, size, "quiz", 4), 4},
                              {find(whole, size, r[1].step.prob, 8), 8}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        for (size_t k = 0; k < 8 * bits[i][1]; k++) {
            struct err e = {0};
            ck_assert_int_eq(open_flipped(whole, size, 8 * bits[i][0] + k, &e),
                             ERR_CORRUPT);
            ck_assert_ptr_nonnull(strstr(e.detail, "session 010100ff"));
        }
    free(whole);
}

/* What a store of schema 4 has not. */
#define TO_SCHEMA_4                                      \
    "ALTER TABLE sessions DROP COLUMN viewer;"           \
    "ALTER TABLE sessions DROP COLUMN label_device;"     \
    "ALTER TABLE sessions DROP COLUMN label_cdn;"        \
    "ALTER TABLE sessions DROP COLUMN label_country;"    \
    "ALTER TABLE sessions DROP COLUMN label_app;"        \
    "ALTER TABLE sessions DROP COLUMN label_network;"    \
    "ALTER TABLE sessions DROP COLUMN label_experiment;" \
    "ALTER TABLE sessions DROP COLUMN label_tenant;"     \
    "PRAGMA user_version = 4;"

/* What a store of schema 3 has not. */
#define TO_SCHEMA_3                                 \
    TO_SCHEMA_4                                     \
    "DROP INDEX sessions_trial;"                    \
    "ALTER TABLE sessions DROP COLUMN observed;"    \
    "ALTER TABLE sessions DROP COLUMN trial;"       \
    "ALTER TABLE sessions DROP COLUMN arm;"         \
    "ALTER TABLE sessions DROP COLUMN unit;"        \
    "ALTER TABLE sessions DROP COLUMN network;"     \
    "ALTER TABLE sessions DROP COLUMN assigned;"    \
    "ALTER TABLE sessions DROP COLUMN startup_s;"   \
    "ALTER TABLE sessions DROP COLUMN stall_s;"     \
    "ALTER TABLE sessions DROP COLUMN played_s;"    \
    "ALTER TABLE sessions DROP COLUMN points;"      \
    "ALTER TABLE sessions DROP COLUMN reward;"      \
    "ALTER TABLE sessions DROP COLUMN chunks_seen;" \
    "ALTER TABLE sessions DROP COLUMN switches;"    \
    "PRAGMA user_version = 3;"

/* What a store of schema 2 has not. */
#define TO_SCHEMA_2                                     \
    TO_SCHEMA_3                                         \
    "ALTER TABLE sessions DROP COLUMN mu_rise;"         \
    "ALTER TABLE sessions DROP COLUMN mu_start;"        \
    "ALTER TABLE sessions DROP COLUMN stall_ratio_max;" \
    "ALTER TABLE sessions DROP COLUMN startup_max_s;"   \
    "ALTER TABLE sessions DROP COLUMN quality_from;"    \
    "ALTER TABLE sessions DROP COLUMN quality;"         \
    "ALTER TABLE steps DROP COLUMN points;"             \
    "ALTER TABLE profiles DROP COLUMN mu_rise;"         \
    "ALTER TABLE profiles DROP COLUMN mu_start;"        \
    "ALTER TABLE profiles DROP COLUMN stall_ratio_max;" \
    "ALTER TABLE profiles DROP COLUMN startup_max_s;"   \
    "PRAGMA user_version = 2;"

/* crc_of the row of a_store_of_schema_3_goes_on, as a program of schema 3 computes it */
#define SCHEMA_3_CRC "2403599598"

/* Rows as a program of schema 2 wrote them, with the checksums that it computed. */
static void make_schema_2(void)
{
    struct store s = must_open();
    s.free(s.self);
    run_sql(
        TO_SCHEMA_2
        "INSERT INTO sessions(id, key, profile, content_id, ladder_kbps, chunk_s, chunks,"
        " buffer_max_s, mu_quality, mu_switch, mu_stall, utility, has_mu, has_key, "
        "hinted,"
        " explores, opened_at, closed_at, closed, terminal, crc) VALUES("
        "x'01020300000000000000000000000000', -2, 'news', 'film', '300.5 750', 4.0, 48,"
        " 60.0, 1.0, 0.1, 4.3, 'log', 0, 1, 0, 0, 1.6e9, 0.0, 1, 0, 1407464274);"
        "INSERT INTO profiles VALUES('sports', 3.0, 1.0, 3.0, 'linear');"
        "INSERT INTO grown VALUES('sports')");
}

TEST(a_store_of_schema_2_goes_on)
{
    make_schema_2();
    for (int i = 0; i < 2; i++) { /* upgraded, and as it is then */
        struct store s = must_open();
        struct track_row row;
        struct step *steps;
        int n;
        const uint8_t id[TRACK_ID] = {1, 2, 3};
        ck_assert_int_eq(
            s.history(s.self, &row, &(double){0}, &steps, &n, id, 0, INT_MAX, NULL), 0);
        struct qoe was = qoe_of_mu(1, .1, 4.3, QOE_LOG);
        ck_assert(qoe_same(&row.qoe, &was));
        double curve[2];
        quality_curve(curve, (double[]){300.5, 750}, NULL, 2);
        ck_assert_mem_eq(row.points, curve, sizeof curve);
        ck_assert_int_eq(row.quality_from, QUALITY_CURVE);
        free(steps);

        struct profile p[2];
        ck_assert_int_eq(s.profiles(s.self, p, 2, &n, NULL), 0);
        ck_assert_int_eq(n, 1);
        was = qoe_of_mu(3, 1, 3, QOE_LINEAR);
        ck_assert(qoe_same(&p[0].qoe, &was));
        ck_assert(p[0].grow && !p[0].own_stall_ratio_max && !p[0].own_startup_max_s);
        s.free(s.self);
        ck_assert_int_eq(ask_sql("PRAGMA user_version"), 5);
    }
}

/* A row with the checksum of schema 3, which a flipped bit makes wrong. A step of a short ladder is what it
 * was. */
TEST(a_store_of_schema_3_goes_on)
{
    struct store s = must_open();
    const uint8_t id[TRACK_ID] = {1, 2, 3};
    struct store_rec step = step_rec(1, 0);
    memcpy(step.id, id, sizeof id);
    ck_assert_int_eq(s.write(s.self, &step, 1, NULL), 0);
    s.free(s.self);
    run_sql(
        TO_SCHEMA_3
        "INSERT INTO sessions(id, key, profile, content_id, ladder_kbps, chunk_s, "
        "chunks, buffer_max_s, mu_quality, mu_switch, mu_stall, utility, has_mu, "
        "has_key, hinted, explores, opened_at, closed_at, closed, terminal, crc, "
        "mu_rise, mu_start, stall_ratio_max, startup_max_s, quality_from, quality) "
        "VALUES(x'01020300000000000000000000000000', 7, 'news', '', '300 750', 4.0, "
        "48, 60.0, 1.0, 0.1, 4.3, 'points', 0, 1, 1, 0, 1.6e9, 1.7e9, 1, 0, " SCHEMA_3_CRC
        ", 0.0, 1.0, 0.01, 3.0, 0, '40 60')");
    struct store t = must_open();
    struct track_row row;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        t.history(t.self, &row, &(double){0}, &steps, &n, id, 0, INT_MAX, NULL), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_mem_eq(&steps[0], &step.step, sizeof *steps);
    free(steps);
    ck_assert(!row.observed && !row.arm.trial[0] && !row.seen.started);
    ck_assert_int_eq(row.seen.chunks, 0);
    t.free(t.self);
    ck_assert_int_eq(ask_sql("PRAGMA user_version"), 5);

    run_sql("UPDATE sessions SET chunks = 49");
    struct err e = {0};
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&t, &cfg, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "checksum"));
}

/* crc_of the row of a_store_of_schema_4_goes_on, as a program of schema 4 computes it */
#define SCHEMA_4_CRC "3647745340"

/* A row with the checksum of schema 4. It keeps it when the session closes, and a flipped bit makes it
 * wrong. */
TEST(a_store_of_schema_4_goes_on)
{
    struct store s = must_open();
    const uint8_t id[TRACK_ID] = {1, 2, 3};
    s.free(s.self);
    run_sql(
        TO_SCHEMA_4
        "INSERT INTO sessions(id, key, profile, content_id, ladder_kbps, chunk_s, "
        "chunks, buffer_max_s, mu_quality, mu_switch, mu_stall, utility, has_mu, "
        "has_key, hinted, explores, opened_at, closed_at, closed, terminal, crc, "
        "mu_rise, mu_start, stall_ratio_max, startup_max_s, quality_from, quality, "
        "observed, trial, arm, unit, network, assigned, startup_s, stall_s, played_s, "
        "points, reward, chunks_seen, switches) "
        "VALUES(x'01020300000000000000000000000000', 7, 'news', '', '300 750', 4.0, "
        "48, 60.0, 1.0, 0.1, 4.3, 'points', 0, 1, 1, 0, 1.6e9, 0.0, 0, 0, " SCHEMA_4_CRC
        ", 0.0, 1.0, 0.01, 3.0, 0, '40 60', 1, 'spring', 'a', 9, 2, 1, NULL, 0.0, 0.0, "
        "0.0, 0.0, 0, 0)");
    struct store_rec r = {.kind = STORE_SESSION};
    for (int i = 0; i < 2; i++) { /* as it was, then written again */
        struct store t = must_open();
        struct step *steps;
        int n;
        ck_assert_int_eq(
            t.history(t.self, &r.row, &(double){0}, &steps, &n, id, 0, INT_MAX, NULL), 0);
        free(steps);
        ck_assert(r.row.observed && r.row.closed == (i == 1));
        ck_assert_str_eq(r.row.arm.trial, "spring");
        ck_assert_uint_eq(r.row.viewer, 0);
        ck_assert(labels_none(&r.row.labels));
        r.row.closed = true;
        ck_assert_int_eq(t.write(t.self, &r, 1, NULL), 0);
        t.free(t.self);
        ck_assert_int_eq(ask_sql("PRAGMA user_version"), 5);
    }
    run_sql("UPDATE sessions SET network = 3");
    struct err e = {0};
    struct store t;
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&t, &cfg, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "checksum"));
}

/* A damaged row of schema 4 is found before the upgrade. */
TEST(a_damaged_store_of_schema_4_is_refused)
{
    struct store s = must_open();
    struct store_rec r = session_rec(1);
    ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    s.free(s.self);
    run_sql(TO_SCHEMA_4 "UPDATE sessions SET network = network + 1");
    struct err e = {0};
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, &e), ERR_CORRUPT);
    ck_assert_int_eq(ask_sql("PRAGMA user_version"), 4);
}

TEST(viewer_and_labels_come_back)
{
    struct store s = must_open();
    struct store_rec r[] = {session_rec(1), session_rec(2)};
    r[0].row.viewer = UINT64_C(0xfedcba9876543211);
    for (int k = 0; k < LABELS_KEYS; k++)
        snprintf(r[0].row.labels.value[k], LABELS_VALUE, "of-%s", labels_keys[k]);
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct track_row row;
        struct step *steps;
        int n;
        ck_assert_int_eq(s.history(s.self, &row, &(double){0}, &steps, &n, r[i].row.id, 0,
                                   INT_MAX, NULL),
                         0);
        free(steps);
        ck_assert_uint_eq(row.viewer, r[i].row.viewer);
        ck_assert_mem_eq(&row.labels, &r[i].row.labels, sizeof row.labels);
    }
    s.free(s.self);
    ck_assert_int_eq(ask_sql("SELECT count(*) FROM sessions WHERE label_tenant = "
                             "'of-tenant' AND label_device = 'of-device'"),
                     1);
}

/* The sessions of one trial: closed ones in the order of their end, then open ones. */
static int trial_seen(void *ctx, const struct track_row *row, struct err *e)
{
    (void)e;
    char *at = (char *)ctx + strlen(ctx);
    snprintf(at, 40, "%d:%s:%u:%.1f ", row->id[0], row->arm.name, row->seen.chunks,
             (double)row->seen.startup_s);
    return 0;
}

TEST(a_trial_finds_its_sessions)
{
    struct store s = must_open();
    static const struct {
        uint8_t id;
        const char *trial, *arm;
        double closed_at;
    } ROWS[] = {{1, "spring", "a", 0},
                {2, "spring", "b", 90},
                {3, "spring", "a", 80},
                {4, "autumn", "a", 70},
                {5, "", "", 60}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct store_rec r = {.kind = STORE_SESSION};
        r.row = (struct track_row){.id = {ROWS[i].id},
                                   .levels = 2,
                                   .ladder_kbps = {300, 750},
                                   .quality_from = QUALITY_LEVEL,
                                   .qoe = *qoe_standard()};
        snprintf(r.row.arm.trial, sizeof r.row.arm.trial, "%s", ROWS[i].trial);
        snprintf(r.row.arm.name, sizeof r.row.arm.name, "%s", ROWS[i].arm);
        ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0); /* opened */
        if (ROWS[i].closed_at <= 0) continue;
        r.row.closed = true;
        r.row.closed_at = ROWS[i].closed_at;
        r.row.seen = (struct viewing){.chunks = 7, .startup_s = 1.5f, .started = true};
        ck_assert_int_eq(s.write(s.self, &r, 1, NULL), 0);
    }
    char seen[200] = "";
    ck_assert_int_eq(s.trial(s.self, "spring", trial_seen, seen, NULL), 0);
    ck_assert_str_eq(seen, "3:a:7:1.5 2:b:7:1.5 1:a:0:0.0 ");
    s.free(s.self);
}

TEST(a_damaged_store_of_schema_2_is_refused_as_it_is)
{
    make_schema_2();
    run_sql("UPDATE sessions SET chunks = 49");
    struct store s;
    struct err e = {0};
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "wrong checksum of session"));
    ck_assert_int_eq(ask_sql("PRAGMA user_version"), 2);
    struct store_sqlite_health health;
    ck_assert_int_eq(store_sqlite_check(&health, path, NULL), ERR_CORRUPT);
    run_sql("UPDATE sessions SET chunks = 48");
    ck_assert_int_eq(store_sqlite_check(&health, path, NULL), 0);
    ck_assert_int_eq(ask_sql("PRAGMA user_version"), 2);
}

TEST(a_profile_gets_another_name_with_all_that_is_its_own)
{
    struct store s = must_open();
    struct store_rec r[4] = {session_rec(1), step_rec(1, 0), session_rec(2)};
    strcpy(r[0].row.profile, "sports");
    r[3] = (struct store_rec){.kind = STORE_PROFILE,
                              .profile = {.name = "sports",
                                          .qoe = qoe_of_mu(3, 1, 3, QOE_LINEAR),
                                          .grow = true}};
    r[3].profile.own_startup_max_s = true;
    r[3].profile.qoe.startup_max_s = 4;
    ck_assert_int_eq(s.write(s.self, r, 4, NULL), 0);
    struct store_rec name = {.kind = STORE_PROFILE_NAME,
                             .name = {.from = "sports", .to = "sports-own"}};
    ck_assert_int_eq(s.write(s.self, &name, 1, NULL), 0);
    s.free(s.self);

    s = must_open(); /* all checksums are right */
    struct track_row row;
    struct step *steps;
    struct profile p[2];
    int n;
    for (int i = 0; i < 3; i += 2) {
        ck_assert_int_eq(s.history(s.self, &row, &(double){0}, &steps, &n, r[i].row.id, 0,
                                   INT_MAX, NULL),
                         0);
        ck_assert_str_eq(row.profile, i ? "news" : "sports-own");
        free(steps);
    }
    ck_assert_int_eq(s.profiles(s.self, p, 2, &n, NULL), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(p[0].name, "sports-own");
    ck_assert(p[0].grow && p[0].own_startup_max_s && p[0].qoe.startup_max_s == 4);
    s.free(s.self);
}

/* Rows from before there were checksums are taken as they are, and get theirs when they change. */
TEST(a_store_without_checksums_goes_on)
{
    struct store s = must_open();
    struct store_rec r[] = {session_rec(1), step_rec(1, 1)};
    ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
    s.free(s.self);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  TO_SCHEMA_2 "ALTER TABLE sessions DROP COLUMN crc;"
                                              "ALTER TABLE steps DROP COLUMN crc;"
                                              "PRAGMA user_version = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);

    for (int i = 0; i < 2; i++) { /* upgraded, and as it is then */
        s = must_open();
        struct track_row row;
        struct step *steps;
        int n;
        ck_assert_int_eq(s.history(s.self, &row, &(double){0}, &steps, &n, r[0].row.id, 0,
                                   INT_MAX, NULL),
                         0);
        ck_assert_int_eq(n, 1);
        ck_assert_int_eq(steps[0].rev, 1 + i);
        free(steps);
        r[1].step.rev = 2;
        ck_assert_int_eq(s.write(s.self, r, 2, NULL), 0);
        s.free(s.self);
    }
}

/* Checkpoints of grown profiles may be there before the first start. */
TEST(a_first_start_goes_without_fuss)
{
    const char *added = tmpdir_path(dir, "grown-sports.safetensors");
    ck_assert_int_eq(text_write_file(added, "x", 1, NULL), 0);
    write_text("");
    struct store s = must_open();
    s.free(s.self);
}

static long size_of(const char *file)
{
    struct stat st;
    return stat(file, &st) ? -1 : (long)st.st_size;
}

TEST(room_is_kept_for_what_was_acknowledged)
{
    enum { MB = 1 << 20 };
    const char *reserve = tmpdir_path(dir, "abrd.db-reserve");
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path, .max_pages = 30, .reserve = 2 * MB};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, NULL), 0);
    ck_assert_int_eq(size_of(reserve), 2 * MB);
    ck_assert_int_eq(s.room(s.self, NULL), 0);
    struct store_rec r = {.kind = STORE_STEP};
    int rc = 0;
    for (uint32_t i = 0; !rc && i < 10000; i++) {
        r.step = (struct step){.ord = i, .rev = 1};
        rc = s.write(s.self, &r, 1, NULL);
    }
    ck_assert_int_eq(rc, ERR_IO);
    ck_assert_int_eq(size_of(reserve), 0); /* what could be had was given */
    ck_assert_int_eq(s.room(s.self, NULL), 0);
    ck_assert_int_eq(size_of(reserve), 2 * MB);
    s.free(s.self);
}

/* Folders of every version have this form. The checksum covers the columns in this order. */
TEST(the_form_of_the_database_stays)
{
    static const char *const FORM[][2] = {
        {"SELECT group_concat(name || ' ' || type || ' ' || pk, ',') FROM"
         " pragma_table_info('sessions')",
         "id BLOB 1,key INTEGER 0,profile TEXT 0,content_id TEXT 0,ladder_kbps TEXT 0,"
         "chunk_s REAL 0,chunks INTEGER 0,buffer_max_s REAL 0,mu_quality REAL 0,"
         "mu_switch REAL 0,mu_stall REAL 0,utility TEXT 0,has_mu INTEGER 0,"
         "has_key INTEGER 0,hinted INTEGER 0,explores INTEGER 0,opened_at REAL 0,"
         "closed_at REAL 0,closed INTEGER 0,terminal INTEGER 0,crc INTEGER 0,"
         "mu_rise REAL 0,mu_start REAL 0,stall_ratio_max REAL 0,startup_max_s REAL 0,"
         "quality_from INTEGER 0,quality TEXT 0,observed INTEGER 0,trial TEXT 0,"
         "arm TEXT 0,unit INTEGER 0,network INTEGER 0,assigned INTEGER 0,"
         "startup_s REAL 0,stall_s REAL 0,played_s REAL 0,points REAL 0,reward REAL 0,"
         "chunks_seen INTEGER 0,switches INTEGER 0,viewer INTEGER 0,"
         "label_device TEXT 0,label_cdn TEXT 0,label_country TEXT 0,label_app TEXT 0,"
         "label_network TEXT 0,label_experiment TEXT 0,label_tenant TEXT 0"},
        {"SELECT group_concat(name || ' ' || type || ' ' || pk, ',') FROM"
         " pragma_table_info('steps')",
         "session BLOB 1,ord INTEGER 2,rev INTEGER 0,chunk INTEGER 0,flags INTEGER 0,"
         "decided INTEGER 0,level INTEGER 0,last_level INTEGER 0,expert INTEGER 0,"
         "logp REAL 0,value REAL 0,entropy REAL 0,prob BLOB 0,next_bytes BLOB 0,"
         "question INTEGER 0,policy INTEGER 0,bytes INTEGER 0,buffer_s REAL 0,"
         "download_s REAL 0,rebuffer_s REAL 0,reward REAL 0,external REAL 0,at REAL 0,"
         "crc INTEGER 0,points BLOB 0"},
        {"SELECT crc FROM sessions", "3712020587"},
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
                 .qoe = qoe_of_mu(1, 0.1, 4.3, QOE_LOG),
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

/* web/docs/privacy.md, for those who sign for a service, has all tables and columns, and no others. */
TEST(the_privacy_page_has_every_column)
{
    struct store s = must_open();
    s.free(s.self);
    char *page = text_read_file("web/docs/privacy.md", 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(page);
    char *from = strstr(page, "The store has these columns."),
         *to = strstr(page, "## Addresses");
    ck_assert(from && to && from < to);
    *to = '\0';

    sqlite3 *db;
    sqlite3_stmt *st;
    int columns = 0, shown = 0;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
#define NAMES_SQL                                                            \
    "SELECT name FROM sqlite_master WHERE type = 'table' UNION"              \
    " SELECT i.name FROM sqlite_master AS m, pragma_table_info(m.name) AS i" \
    " WHERE m.type = 'table'"
    ck_assert_int_eq(sqlite3_prepare_v2(db, NAMES_SQL, -1, &st, NULL), SQLITE_OK);
    for (; sqlite3_step(st) == SQLITE_ROW; columns++) {
        char name[80];
        snprintf(name, sizeof name, "`%s`", (const char *)sqlite3_column_text(st, 0));
        ck_assert_msg(strstr(from, name) != NULL, "%s is not on the page", name);
    }
    sqlite3_finalize(st);

    const char *sql = "SELECT count(*) FROM (" NAMES_SQL ") WHERE name = ?";
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    bool tables = false; /* rows with the columns of a table in the second cell */
    for (char *line = strtok(from, "\n"); line; line = strtok(NULL, "\n")) {
        tables |= !strcmp(line, "### Other tables");
        char *end = line[0] == '|' && !tables ? strchr(line + 1, '|') : NULL;
        if (end) *end = '\0';
        for (char *at = line[0] == '|' ? strchr(line, '`') : NULL; at;
             at = strchr(at, '`')) {
            char *close = strchr(++at, '`');
            ck_assert_ptr_nonnull(close);
            sqlite3_bind_text(st, 1, at, (int)(close - at), SQLITE_STATIC);
            ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
            ck_assert_msg(sqlite3_column_int(st, 0) == 1, "the store has no %.*s",
                          (int)(close - at), at);
            sqlite3_reset(st);
            shown++;
            at = close + 1;
        }
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
    free(page);
    ck_assert_int_gt(columns, 60);
    ck_assert_int_ge(shown, columns);
}

SUITE_SET_UP(serve_store_store_sqlite, 60, setup, teardown,
             rows_come_back_to_the_last_bit, a_long_ladder_comes_back,
             the_form_of_the_database_stays, the_highest_revision_stays,
             live_sessions_come_with_their_newest_steps, profiles_and_versions_stay,
             envelopes_stay_until_they_are_delivered, old_closed_sessions_are_pruned,
             a_full_disk_is_told_and_nothing_is_half_stored,
             what_is_not_a_store_is_refused, a_damaged_file_is_refused_at_the_start,
             a_flipped_bit_within_a_row_is_refused_at_the_start,
             a_store_of_schema_2_goes_on, a_store_of_schema_3_goes_on,
             a_store_of_schema_4_goes_on, a_damaged_store_of_schema_4_is_refused,
             viewer_and_labels_come_back, the_privacy_page_has_every_column,
             a_trial_finds_its_sessions, a_damaged_store_of_schema_2_is_refused_as_it_is,
             a_profile_gets_another_name_with_all_that_is_its_own,
             a_store_without_checksums_goes_on, a_newer_schema_is_refused,
             a_first_start_goes_without_fuss, room_is_kept_for_what_was_acknowledged);
