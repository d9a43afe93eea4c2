/* The files that a kill leaves, damaged in every way: nothing is lost, or the refusal says how much. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/store/store_sqlite.h"
#include "support/suites.h"
#include "support/tmpdir.h"

enum { COMMITS = 24, PER_COMMIT = 4, PAGE = 4096, FRAME = 24 + PAGE, HEADER = 32 };

static const char *dir, *kept;

static void setup(void)
{
    dir = tmpdir_new();
    kept = tmpdir_new();
}

static const char *in(const char *name)
{
    return tmpdir_path(dir, name);
}

static int open_at(struct store *s, const char *folder, struct err *e)
{
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(folder, "abrd.db"), .reserve = -1};
    return store_sqlite_open(s, &cfg, e);
}

/* ---- files ---- */

static const char *const NAMES[] = {"abrd.db", "abrd.db-wal", "abrd.db-shm",
                                    "abrd.db-count"};

static char *bytes_of(const char *path, size_t *n)
{
    *n = 0;
    return access(path, F_OK) ? NULL : text_read_file(path, 1 << 26, n, NULL);
}

static void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void copy_named(const char *to, const char *from, const char *name)
{
    size_t n;
    char *bytes = bytes_of(tmpdir_path(from, name), &n);
    if (bytes)
        put_bytes(tmpdir_path(to, name), bytes, n);
    else
        unlink(tmpdir_path(to, name));
    free(bytes);
}

static void clear(const char *folder)
{
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *at; (at = readdir(d));)
        unlink(tmpdir_path(folder, at->d_name));
    closedir(d);
}

static void copy_all(const char *to, const char *from)
{
    clear(to);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        copy_named(to, from, NAMES[i]);
}

static long size_of(const char *name)
{
    struct stat st;
    return stat(in(name), &st) ? -1 : (long)st.st_size;
}

static void flip_at(const char *name, long at)
{
    FILE *f = fopen(in(name), "r+b");
    ck_assert_ptr_nonnull(f);
    fseek(f, at, SEEK_SET);
    int c = fgetc(f);
    ck_assert_int_ne(c, EOF);
    fseek(f, at, SEEK_SET);
    fputc(c ^ 1, f);
    fclose(f);
}

static void cut(const char *name, long at)
{
    ck_assert_int_eq(truncate(in(name), at), 0);
}

/* ---- a store that was killed ---- */

static void write_commit(struct store *s, uint32_t i)
{
    struct store_rec r[PER_COMMIT] = {{.kind = STORE_SESSION}};
    r[0].row = (struct track_row){.id = {(uint8_t)i, 7},
                                  .profile = "news",
                                  .ladder_kbps = {300, 750},
                                  .levels = 2,
                                  .chunk_s = 4,
                                  .qoe = qoe_of_mu(1, 1, 4.3, QOE_LINEAR)};
    for (uint32_t k = 1; k < PER_COMMIT; k++) {
        r[k] = (struct store_rec){.kind = STORE_STEP, .id = {(uint8_t)i, 7}};
        r[k].step = (struct step){.ord = k, .rev = 1, .chunk = (int32_t)k, .at = i};
    }
    ck_assert_int_eq(s->write(s->self, r, PER_COMMIT, NULL), 0);
}

/* COMMITS of them; after `moved` the log was moved into the database, so that it starts again: behind
 * its frames are those of before. */
static void make_killed(const char *folder, uint32_t moved)
{
    struct store s;
    struct err e = {0};
    ck_assert_msg(!open_at(&s, folder, &e), "%s", e.detail);
    for (uint32_t i = 0; i < COMMITS; i++) {
        write_commit(&s, i);
        if (i + 1 == moved) ck_assert_int_eq(s.tidy(s.self, NULL), 0);
    }
    copy_all(kept, folder);
    s.free(s.self);
    copy_all(folder, kept);
}

static uint32_t be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Frames of the log's own generation. */
static int frames(void)
{
    size_t n;
    char *b = bytes_of(in("abrd.db-wal"), &n);
    ck_assert_ptr_nonnull(b);
    int k = 0;
    while (HEADER + (size_t)(k + 1) * FRAME <= n &&
           memcmp(b + HEADER + (size_t)k * FRAME + 8, b + 16, 8) == 0)
        k++;
    free(b);
    return k;
}

/* From which frame on the transactions behind the first `commits` of the log lie. */
static int frame_behind(int commits)
{
    size_t n;
    char *b = bytes_of(in("abrd.db-wal"), &n);
    int k = 0;
    for (int c = 0; c < commits; k++)
        c += be32(b + HEADER + (size_t)k * FRAME + 4) != 0;
    free(b);
    return k;
}

static long frame_at(int k)
{
    return HEADER + (long)k * FRAME;
}

static int count_live(void *ctx, const struct track_row *row, const struct step *steps,
                      int n, struct err *e)
{
    (void)row;
    (void)steps;
    (void)e;
    *(int *)ctx += n + 1;
    return 0;
}

static int records(struct store *s)
{
    int n = 0;
    ck_assert_int_eq(s->live(s->self, count_live, &n, NULL), 0);
    return n;
}

/* ---- kinds of damage ---- */

static void none(void) {}
static void no_shm(void)
{
    unlink(in("abrd.db-shm"));
}
static void stale_shm(void)
{
    flip_at("abrd.db-shm", 20);
    flip_at("abrd.db-shm", 200);
}
static void no_log(void)
{
    unlink(in("abrd.db-wal"));
}
static void zeroed_log(void)
{
    long n = size_of("abrd.db-wal");
    cut("abrd.db-wal", 0);
    cut("abrd.db-wal", n);
}
static void other_log(void)
{
    const char *other = tmpdir_new();
    struct store s;
    ck_assert_int_eq(open_at(&s, other, NULL), 0);
    for (uint32_t i = 0; i < COMMITS; i++)
        write_commit(&s, i + 100);
    copy_named(dir, other, "abrd.db-wal");
    s.free(s.self);
}
static void older_log(void) /* as a copy of the folder of before had it */
{
    size_t n;
    char *b = bytes_of(in("abrd.db-wal"), &n);
    memset(b + frame_at(frame_behind(2)), 0,
           n - (size_t)frame_at(frame_behind(2))); /* the file keeps its length */
    put_bytes(in("abrd.db-wal"), b, n);
    free(b);
}
static void empty_database(void)
{
    cut("abrd.db", 0);
}
static void cut_database(void)
{
    cut("abrd.db", size_of("abrd.db") / 2 + 100);
}
static void no_database(void)
{
    unlink(in("abrd.db"));
}
static void neither(void)
{
    unlink(in("abrd.db"));
    unlink(in("abrd.db-wal"));
}
static void neither_nor_count(void)
{
    neither();
    unlink(in("abrd.db-count"));
    put_bytes(in("untagged.state"), "x", 1);
}
static void no_count(void)
{
    unlink(in("abrd.db-count"));
}
static void flipped_count(void)
{
    flip_at("abrd.db-count", 20);
}
static void flipped_counts(void)
{
    flip_at("abrd.db-count", 20);
    flip_at("abrd.db-count", 512 + 20);
}
static void zeroed_count(void)
{
    cut("abrd.db-count", 0);
    cut("abrd.db-count", 548);
}
static void no_count_bad_frame(void)
{
    no_count();
    flip_at("abrd.db-wal", frame_at(frames() / 2) + 24 + 17);
}
static void no_count_bad_header(void)
{
    no_count();
    flip_at("abrd.db-wal", 28);
}
static void torn_tail(void) /* a transaction of which a kill left two frames and a half */
{
    long at = frame_at(frames());
    char frame[FRAME];
    size_t n;
    char *b = bytes_of(in("abrd.db-wal"), &n);
    FILE *f = fopen(in("abrd.db-wal"), "r+b");
    memcpy(frame, b + frame_at(frames() - 1), FRAME);
    memset(frame + 4, 0, 4); /* no commit */
    frame[16] ^= 1;
    fseek(f, at, SEEK_SET);
    fwrite(frame, 1, FRAME, f);
    fwrite(frame, 1, FRAME, f);
    fwrite(frame, 1, 1000, f);
    fclose(f);
    free(b);
}
static void torn_commit(void) /* whose last frame came to the disk before the others */
{
    long at = frame_at(frames());
    char frame[FRAME], zeros[FRAME] = {0};
    size_t n;
    char *b = bytes_of(in("abrd.db-wal"), &n);
    FILE *f = fopen(in("abrd.db-wal"), "r+b");
    memcpy(frame, b + frame_at(frames() - 1), FRAME);
    fseek(f, at, SEEK_SET);
    fwrite(zeros, 1, FRAME, f);
    fwrite(frame, 1, FRAME, f);
    fclose(f);
    free(b);
}
static void torn_tail_no_count(void)
{
    torn_tail();
    no_count();
}

enum { FIRST, MIDDLE, LAST, LOG, CUT };

/* says: what a refusal has besides the remedy; NULL: everything is there. damage NULL: in a
 * frame of the log, or in the log, a bit flips in the byte `at`, or it is cut there. */
static const struct {
    const char *name;
    void (*damage)(void);
    const char *says;
    int part;
    long at;
} KINDS[] = {
    {"a kill", none, NULL, 0, 0},
    {"no index", no_shm, NULL, 0, 0},
    {"a stale index", stale_shm, NULL, 0, 0},
    {"a torn tail", torn_tail, NULL, 0, 0},
    {"a torn tail without a count", torn_tail_no_count, NULL, 0, 0},
    {"a commit torn by a power cut", torn_commit, NULL, 0, 0},
    {"no count", no_count, NULL, 0, 0},
    {"a flipped count", flipped_count, NULL, 0, 0},
    {"flipped counts", flipped_counts, NULL, 0, 0},
    {"an empty count", zeroed_count, NULL, 0, 0},
    {"log: magic", NULL, "the header of abrd.db-wal is damaged", LOG, 0},
    {"log: salt", NULL, "the header of abrd.db-wal is damaged", LOG, 17},
    {"log: checksum", NULL, "the header of abrd.db-wal is damaged", LOG, 28},
    {"first frame: header", NULL, "abrd.db-wal is damaged at frame 1 of", FIRST, 2},
    {"first frame: page", NULL, "abrd.db-wal is damaged at frame 1 of", FIRST, 24 + 999},
    {"middle frame: salt", NULL, "abrd.db-wal is damaged at frame", MIDDLE, 9},
    {"middle frame: checksum", NULL, "abrd.db-wal is damaged at frame", MIDDLE, 17},
    {"middle frame: page", NULL, "abrd.db-wal is damaged at frame", MIDDLE, 24 + 17},
    {"last frame: size", NULL, "the last 1 commits with 4 acknowledged", LAST, 7},
    {"last frame: page", NULL, "the last 1 commits with 4 acknowledged", LAST, 24 + 4000},
    {"log cut at a frame", NULL, "acknowledged records are missing", CUT + MIDDLE, 0},
    {"log cut in a frame", NULL, "acknowledged records are missing", CUT + MIDDLE, 1000},
    {"log cut in its last frame", NULL, "the last 1 commits with 4 ", CUT + LAST, 25},
    {"log cut in its header", NULL, "acknowledged records are missing", CUT + LOG, 20},
    {"log empty", NULL, "acknowledged records are missing", CUT + LOG, 0},
    {"log removed", no_log, "acknowledged records are missing", 0, 0},
    {"log zeroed", zeroed_log, "the header of abrd.db-wal is damaged", 0, 0},
    {"log of another store", other_log, "", 0, 0},
    {"log of before", older_log, "acknowledged records are missing", 0, 0},
    {"database empty", empty_database, "is empty, but it had 24 commits with 96 records",
     0, 0},
    {"database cut", cut_database, "", 0, 0},
    {"database removed", no_database, "is missing, but it had 24 commits with 96 records",
     0, 0},
    {"database and log removed", neither, "is missing, but it had 24 commits", 0, 0},
    {"all three removed", neither_nor_count, "is missing, but there is untagged.state", 0,
     0},
    {"no count, a bad frame", no_count_bad_frame, "abrd.db-wal is damaged at frame", 0,
     0},
    {"no count, a bad header", no_count_bad_header, "the header of abrd.db-wal is", 0, 0},
};

static void inflict(int k)
{
    int n = frames();
    const long begin[] = {frame_at(0), frame_at(n / 2), frame_at(n - 1), 0};
    if (KINDS[k].damage)
        KINDS[k].damage();
    else if (KINDS[k].part >= CUT)
        cut("abrd.db-wal", begin[KINDS[k].part - CUT] + KINDS[k].at);
    else
        flip_at("abrd.db-wal", begin[KINDS[k].part] + KINDS[k].at);
}

/* The database may be cut behind what the log has: then nothing is lost. */
static bool must_be_refused(const char *says, void (*damage)(void), uint32_t moved)
{
    return says && !(damage == cut_database && !moved);
}

static void check_kind(int k, uint32_t moved)
{
    const char *name = KINDS[k].name, *says = KINDS[k].says;
    make_killed(dir, moved);
    inflict(k);
    copy_all(kept, dir);
    struct store s;
    struct err e = {0};
    int rc = open_at(&s, dir, &e);
    if (!rc) {
        ck_assert_msg(!must_be_refused(says, KINDS[k].damage, moved), "%s: passed over",
                      name);
        ck_assert_msg(records(&s) == COMMITS * PER_COMMIT, "%s: %d records are left",
                      name, records(&s));
        s.free(s.self);
        return;
    }
    ck_assert_msg(says != NULL, "%s: %s", name, e.detail);
    ck_assert_msg(rc == ERR_CORRUPT && strstr(e.detail, says), "%s: %s", name, e.detail);
    ck_assert_msg(strstr(e.detail, "restore a backup, or") &&
                      strstr(e.detail, "'abrd doctor --data DIR --accept-loss'"),
                  "%s: %s", name, e.detail);
    ck_assert_str_eq(e.field, in("abrd.db"));

    /* as it was, but for the index */
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(NAMES[i], "abrd.db-shm") == 0) continue;
        size_t n, m;
        char *is = bytes_of(in(NAMES[i]), &n),
             *was = bytes_of(tmpdir_path(kept, NAMES[i]), &m);
        ck_assert_msg(n == m && (!n || !memcmp(is, was, n)), "%s: %s has changed", name,
                      NAMES[i]);
        free(is);
        free(was);
    }
}

TEST(a_fresh_store_loses_nothing_in_silence)
{
    check_kind(_i, 0);
}

TEST(a_store_whose_log_began_anew_loses_nothing_in_silence)
{
    check_kind(_i, 9);
}

/* ---- what may be left behind ---- */

static void note_bad(void *ctx, const char *path)
{
    ck_assert_ptr_nonnull(strstr(path, ".bad"));
    ck_assert_int_eq(access(path, F_OK), 0);
    ++*(int *)ctx;
}

TEST(what_is_lost_can_be_given_up)
{
    if (!KINDS[_i].says) return;
    make_killed(dir, 9);
    inflict(_i);
    int moved = 0;
    struct err e = {0};
    ck_assert_msg(!store_sqlite_accept_loss(in("abrd.db"), note_bad, &moved, &e),
                  "%s: %s", KINDS[_i].name, e.detail);
    bool nothing_to_move = KINDS[_i].damage == neither_nor_count;
    ck_assert_msg(moved > 0 || nothing_to_move, "%s", KINDS[_i].name);
    struct store s;
    ck_assert_msg(!open_at(&s, dir, &e), "%s: %s", KINDS[_i].name, e.detail);
    ck_assert_int_le(records(&s), COMMITS * PER_COMMIT);
    int before = records(&s);
    write_commit(&s, 200);
    s.free(s.self);
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    ck_assert_int_eq(records(&s), before + PER_COMMIT);
    s.free(s.self);
}

TEST(what_is_sound_is_left_alone)
{
    make_killed(dir, 9);
    int moved = 0;
    struct err e = {0};
    ck_assert_int_eq(store_sqlite_accept_loss(in("abrd.db"), note_bad, &moved, &e), 0);
    ck_assert_int_eq(moved, 0);
    struct store s;
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    ck_assert_int_eq(records(&s), COMMITS * PER_COMMIT);
    s.free(s.self);
    clear(dir);
    ck_assert_int_eq(store_sqlite_accept_loss(in("abrd.db"), note_bad, &moved, &e), 0);
    ck_assert_int_lt(access(in("abrd.db"), F_OK), 0);
}

TEST(a_database_of_a_newer_version_is_not_given_up)
{
    make_killed(dir, 9);
    flip_at("abrd.db", 60); /* user_version */
    int moved = 0;
    ck_assert_int_eq(store_sqlite_accept_loss(in("abrd.db"), note_bad, &moved, NULL),
                     ERR_CONFLICT);
    ck_assert_int_eq(moved, 0);
}

/* ---- no false alarm ---- */

static void exec(const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(in("abrd.db"), &db), SQLITE_OK);
    char *why = NULL;
    sqlite3_exec(db, sql, NULL, NULL, &why);
    ck_assert_msg(!why, "%s", why);
    sqlite3_close(db);
}

/* A program that knows of no count writes on, and this one comes back. */
TEST(an_older_program_may_have_written_meanwhile)
{
    make_killed(dir, 0);
    exec("INSERT INTO profiles(name, mu_quality, mu_switch, mu_stall, utility)"
         " VALUES('a', 1, 1, 1, 'linear')");
    struct store s;
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    ck_assert_int_eq(records(&s), COMMITS * PER_COMMIT);
    s.free(s.self);
    exec("DROP TABLE acknowledged");
    unlink(in("abrd.db-count")); /* a folder of that program */
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    write_commit(&s, 100);
    s.free(s.self);
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    s.free(s.self);
}

/* The count of each commit, and of the one before: a kill may come between commit and count. */
TEST(a_count_that_is_behind_is_no_loss)
{
    make_killed(dir, 0);
    copy_named(kept, dir, "abrd.db-count");
    struct store s;
    ck_assert_int_eq(open_at(&s, dir, NULL), 0);
    for (uint32_t i = 0; i < 3; i++)
        write_commit(&s, 100 + i);
    s.free(s.self);
    copy_named(dir, kept, "abrd.db-count");
    struct err e = {0};
    ck_assert_msg(!open_at(&s, dir, &e), "%s", e.detail);
    s.free(s.self);
}

TEST(a_copy_of_what_lost_something_is_refused)
{
    make_killed(dir, 9);
    struct store_sqlite_health h;
    struct err e = {0};
    char *to = strdup(tmpdir_path(kept, "copy.db"));
    ck_assert_int_eq(store_sqlite_check(&h, in("abrd.db"), &e), 0);
    ck_assert_int_eq(store_sqlite_copy(&h, to, in("abrd.db"), NULL, NULL, &e), 0);
    unlink(to);
    make_killed(dir, 9);
    unlink(in("abrd.db-wal"));
    ck_assert_int_eq(store_sqlite_check(&h, in("abrd.db"), &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "acknowledged records are missing"));
    ck_assert_int_eq(store_sqlite_copy(&h, to, in("abrd.db"), NULL, NULL, NULL),
                     ERR_CORRUPT);
    free(to);
}

SUITE_SET_UP(serve_store_store_sqlite_check, 60, setup, NULL,
             ROWS(a_fresh_store_loses_nothing_in_silence, KINDS),
             ROWS(a_store_whose_log_began_anew_loses_nothing_in_silence, KINDS),
             ROWS(what_is_lost_can_be_given_up, KINDS), what_is_sound_is_left_alone,
             a_database_of_a_newer_version_is_not_given_up,
             an_older_program_may_have_written_meanwhile,
             a_count_that_is_behind_is_no_loss, a_copy_of_what_lost_something_is_refused);
