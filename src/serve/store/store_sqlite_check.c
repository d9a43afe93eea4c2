/* What a start checks: is all there that the store has acknowledged? And how an operator gives up what
 * is lost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "serve/store/folder.h"
#include "serve/store/store_sqlite.h"
#include "store_sqlite_priv.h"

static void path_with(char out[STORE_SQLITE_PATH], const char *path, const char *end)
{
    snprintf(out, STORE_SQLITE_PATH, "%.570s%s", path, end);
}

/* NAME in the folder of the database. */
static void path_sibling(char out[STORE_SQLITE_PATH], const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    snprintf(out, STORE_SQLITE_PATH, "%.*s%s", n, path, name);
}

/* -1: it is not there, or errno */
static int64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

static int unreadable(const char *path, struct err *e)
{
    return err_field(e, ERR_IO, path, "cannot be read: %s", strerror(errno));
}

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- the count: how much was acknowledged, in a file of its own next to the database ----
 *
 * Two slots, written in turn, so that a torn write leaves the one before:
 *   0 "abrdcnt1"  8 store's id  16 commits  24 records  32 CRC-32 of these bytes */

enum { SLOT = 512, USED = 36 };
static const char COUNT_MAGIC[8] = {'a', 'b', 'r', 'd', 'c', 'n', 't', '1'};

static bool count_parse(struct store_count *out, const unsigned char *p)
{
    if (memcmp(p, COUNT_MAGIC, 8) != 0 || bytes_get_u32(p + 32) != bytes_crc32(0, p, 32))
        return false;
    *out = (struct store_count){bytes_get_u64(p + 8), bytes_get_u64(p + 16),
                                bytes_get_u64(p + 24)};
    return true;
}

/* No count when there is no file. */
static int count_read(struct store_count *out, const char *db, struct err *e)
{
    char path[STORE_SQLITE_PATH];
    path_with(path, db, STORE_SQLITE_COUNT);
    *out = (struct store_count){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : unreadable(path, e);
    unsigned char bytes[SLOT + USED];
    memset(bytes, 0, sizeof bytes);
    int rc = pread(fd, bytes, sizeof bytes, 0) < 0 ? unreadable(path, e) : 0;
    close(fd);
    struct store_count c;
    for (int i = 0; i < 2 && !rc; i++)
        if (count_parse(&c, bytes + i * SLOT) &&
            (!out->store || c.commits > out->commits))
            *out = c;
    return rc;
}

int store_sqlite_count_write(int fd, const struct store_count *c)
{
    unsigned char p[USED];
    memcpy(p, COUNT_MAGIC, 8);
    bytes_put_u64(p + 8, c->store);
    bytes_put_u64(p + 16, c->commits);
    bytes_put_u64(p + 24, c->records);
    bytes_put_u32(p + 32, bytes_crc32(0, p, 32));
    off_t at = c->commits % 2 ? SLOT : 0;
    return pwrite(fd, p, USED, at) == USED ? 0 : -1;
}

int store_sqlite_count_open(const char *db, const struct store_count *c, struct err *e)
{
    char path[STORE_SQLITE_PATH];
    path_with(path, db, STORE_SQLITE_COUNT);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
    /* a disk that is full now is reported by the next write */
    (void)!store_sqlite_count_write(fd, c);
    return fd;
}

int store_sqlite_count_select(struct store_count *out, sqlite3 *db)
{
    *out = (struct store_count){0};
    int64_t tables = 0;
    int rc = store_sqlite_ask(
        &tables, NULL, 0, db,
        "SELECT count(*) FROM sqlite_master WHERE name = 'acknowledged'");
    if (rc != SQLITE_ROW || !tables) return rc == SQLITE_ROW ? SQLITE_OK : rc;

    sqlite3_stmt *st = NULL;
    rc = sqlite3_prepare_v2(db, "SELECT store, commits, records FROM acknowledged", -1,
                            &st, NULL);
    if (!rc) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *out = (struct store_count){(uint64_t)sqlite3_column_int64(st, 0),
                                    (uint64_t)sqlite3_column_int64(st, 1),
                                    (uint64_t)sqlite3_column_int64(st, 2)};
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- the write-ahead log, read before SQLite opens it ----
 *
 * SQLite ends at the first frame whose checksum does not fit, and silently ignores what is behind it.
 * Format: sqlite.org/fileformat2.html, 4. */

enum { HEADER = 32, FRAME = 24, PAGE_MAX = 65536, WAL_MAGIC = 0x377f0682 };
enum { WAL_VERSION = 3007000 };

struct wal_sum {
    bool big; /* words are big-endian */
    uint32_t a, b;
};

static uint32_t wal_word(const unsigned char *p, bool big)
{
    return big ? big_endian(p) : bytes_get_u32(p);
}

static void wal_sum_add(struct wal_sum *s, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        s->a += wal_word(p + i, s->big) + s->b;
        s->b += wal_word(p + i + 4, s->big) + s->a;
    }
}

static bool wal_sum_is(const struct wal_sum *s, const unsigned char *p)
{
    return s->a == big_endian(p) && s->b == big_endian(p + 4);
}

static bool wal_header_is_sound(const unsigned char *h, struct wal_sum *s,
                                size_t *page_size)
{
    uint32_t magic = big_endian(h), size = big_endian(h + 8);
    *s = (struct wal_sum){.big = magic & 1};
    wal_sum_add(s, h, 24);
    *page_size = size;
    return (magic & ~UINT32_C(1)) == WAL_MAGIC && big_endian(h + 4) == WAL_VERSION &&
           size >= 512 && size <= PAGE_MAX && !(size & (size - 1)) &&
           wal_sum_is(s, h + 24);
}

/* Frames in the order of the file. The checksum runs on from frame to frame, so behind a bad frame
 * only the salts tell which frames are of this log and which are left of an older one. */
static int wal_walk(struct store_wal *out, int fd, unsigned char *frame,
                    const unsigned char *header, struct wal_sum sum, size_t page_size)
{
    const size_t size = FRAME + page_size;
    off_t at = HEADER;
    for (int64_t i = 1;; i++, at += (off_t)size) {
        ssize_t n = pread(fd, frame, size, at);
        if (n < 0) return -1;
        if (n < FRAME) return 0;
        bool ours = memcmp(frame + 8, header + 16, 8) == 0;
        bool commit = ours && big_endian(frame + 4) != 0;
        if (!out->bad) {
            wal_sum_add(&sum, frame, 8);
            wal_sum_add(&sum, frame + FRAME, page_size);
            bool sound = (size_t)n == size && ours && big_endian(frame) &&
                         wal_sum_is(&sum, frame + 16);
            if (!sound) out->bad = i;
        }
        out->frames = i;
        if (out->bad && i > out->bad) out->lost_commits += commit;
    }
}

/* One that is not there is empty. ERR_IO, ERR_MEMORY. */
static int wal_read(struct store_wal *out, const char *db, struct err *e)
{
    char path[STORE_SQLITE_PATH];
    path_with(path, db, "-wal");
    *out = (struct store_wal){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : unreadable(path, e);

    int rc = 0;
    unsigned char header[HEADER];
    unsigned char *frame = malloc(FRAME + PAGE_MAX);
    if (!frame) {
        rc = err_set(e, ERR_MEMORY, "no memory for a frame of the log");
        goto out;
    }
    ssize_t n = pread(fd, header, HEADER, 0);
    off_t size = lseek(fd, 0, SEEK_END);
    struct wal_sum sum;
    size_t page_size;
    if (n < 0 || size < 0) {
        rc = unreadable(path, e);
    } else if (n == HEADER) { /* less is the header of a log without frames */
        out->bad_header = size > HEADER;
        if (wal_header_is_sound(header, &sum, &page_size)) {
            out->bad_header = false;
            if (wal_walk(out, fd, frame, header, sum, page_size))
                rc = unreadable(path, e);
        }
    }
out:
    free(frame);
    close(fd);
    return rc;
}

static void wal_damage(char *out, size_t size, const struct store_wal *w)
{
    *out = '\0';
    if (w->bad_header)
        snprintf(out, size, "the header of abrd.db-wal is damaged");
    else if (w->bad)
        snprintf(out, size, "abrd.db-wal is damaged at frame %" PRId64 " of %" PRId64,
                 w->bad, w->frames);
}

/* ---- what is missing ---- */

/* A daemon that uses the folder writes to the log while we read it. */
static bool in_use(const char *path)
{
    char dir[STORE_SQLITE_PATH];
    path_sibling(dir, path, ".");
    return folder_in_use(dir);
}

/* A database was here if one of these files is. (Checkpoints of added experts may come before a
 * store.) */
static int missing_database(const char *path, const struct store_count *c, struct err *e)
{
    static const char *const OTHERS[] = {"policy.safetensors", "policy.safetensors.prev",
                                         "untagged.state"};
    int64_t size = file_size(path);
    if (size > 0) return 0;
    if (size < 0 && errno != ENOENT) return unreadable(path, e);
    char wal[STORE_SQLITE_PATH], other[STORE_SQLITE_PATH], found[100] = "";
    path_with(wal, path, "-wal");
    if (c->store && c->commits)
        snprintf(found, sizeof found,
                 "it had %" PRIu64 " commits with %" PRIu64 " records", c->commits,
                 c->records);
    else if (file_size(wal) > 0)
        snprintf(found, sizeof found, "there is its log, abrd.db-wal");
    for (int i = 0; i < 3 && !*found; i++) {
        path_sibling(other, path, OTHERS[i]);
        if (file_size(other) >= 0)
            snprintf(found, sizeof found, "there is %s, of a daemon that had one",
                     OTHERS[i]);
    }
    if (!*found) return 0;
    return err_field(e, ERR_CORRUPT, path, "is %s, but %s: " STORE_SQLITE_REMEDY,
                     size < 0 ? "missing" : "empty", found);
}

int store_sqlite_look(struct store_evidence *out, const char *path, bool locked,
                      struct err *e)
{
    *out = (struct store_evidence){0};
    /* before the database: a daemon may be counting on */
    int rc = count_read(&out->count, path, e);
    if (!rc) rc = missing_database(path, &out->count, e);
    if (rc || (!locked && in_use(path))) return rc;

    rc = wal_read(&out->wal, path, e);
    /* if there is a count, it decides: frames after the bad one may never have been acknowledged, because
     * their transaction failed or the power went */
    bool lost = out->wal.bad_header || out->wal.lost_commits;
    if (rc || out->count.store || !lost) return rc;
    char what[100], commits[60] = "all it holds";
    wal_damage(what, sizeof what, &out->wal);
    if (!out->wal.bad_header)
        snprintf(commits, sizeof commits, "at least %" PRId64 " commits behind it",
                 out->wal.lost_commits);
    return err_field(e, ERR_CORRUPT, path, "%s, %s would be lost: " STORE_SQLITE_REMEDY,
                     what, commits);
}

int store_sqlite_missing(const struct store_evidence *seen, sqlite3 *db, const char *path,
                         struct err *e)
{
    const struct store_count *c = &seen->count;
    struct store_count has;
    int rc = store_sqlite_count_select(&has, db);
    if (rc)
        return err_field(e, ERR_CORRUPT, path, "is damaged (%.80s): " STORE_SQLITE_REMEDY,
                         sqlite3_errmsg(db));
    if (!c->store || (has.store == c->store && has.commits >= c->commits)) return 0;
    if (has.store && has.store != c->store)
        return err_field(e, ERR_CORRUPT, path,
                         "or abrd.db-wal is of another store than abrd.db-count, which "
                         "counted %" PRIu64 " commits: " STORE_SQLITE_REMEDY,
                         c->commits);
    char what[100];
    wal_damage(what, sizeof what, &seen->wal);
    return err_field(e, ERR_CORRUPT, path,
                     "the last %" PRIu64 " commits with %" PRIu64
                     " acknowledged records are missing (%s): " STORE_SQLITE_REMEDY,
                     c->commits - has.commits, c->records - has.records,
                     *what ? what : "abrd.db or abrd.db-wal was replaced or cut");
}

/* ---- a store looked at from outside, also while a daemon uses it ---- */

static int ask(int64_t *out, sqlite3 *db, const char *path, const char *sql,
               struct err *e)
{
    int rc = store_sqlite_ask(out, NULL, 0, db, sql);
    return rc == SQLITE_ROW ? 0 : store_sqlite_fail(path, db, rc, e);
}

/* Which profiles have experts of their own. A store of an older version does not say. */
static int read_added(struct store_sqlite_health *out, sqlite3 *db, const char *path,
                      struct err *e)
{
    int64_t there = 0;
    int code = ask(&there, db, path,
                   "SELECT count(*) FROM sqlite_master WHERE name = 'grown'", e);
    if (code || !there) return code;
    sqlite3_stmt *st = NULL;
    int rc =
        sqlite3_prepare_v2(db, "SELECT name FROM grown ORDER BY name", -1, &st, NULL);
    if (!rc) rc = SQLITE_ROW;
    while (rc == SQLITE_ROW && out->n_added < SERVICE_ADDED &&
           (rc = sqlite3_step(st)) == SQLITE_ROW)
        store_sqlite_read_text(out->added[out->n_added++], SERVICE_NAME, st, 0);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : store_sqlite_fail(path, db, rc, e);
}

static int examine(struct store_sqlite_health *out, const char *path, bool locked,
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
        rc = store_sqlite_fail(path, db, rc, e);
        goto out;
    }
    sqlite3_busy_timeout(db, 5000);
    rc = ask(&application, db, path, "PRAGMA application_id", e);
    if (!rc) rc = store_sqlite_missing(&seen, db, path, e);
    if (!rc && application != STORE_SQLITE_APPLICATION)
        rc = err_field(e, ERR_CORRUPT, path, "is the database of another program");
    if (!rc) rc = store_sqlite_sound(db, path, e);
    if (!rc) rc = ask(&out->sessions, db, path, "SELECT count(*) FROM sessions", e);
    if (!rc)
        rc = ask(&out->live, db, path, "SELECT count(*) FROM sessions WHERE NOT closed",
                 e);
    if (!rc) rc = ask(&out->steps, db, path, "SELECT count(*) FROM steps", e);
    if (!rc) rc = read_added(out, db, path, e);
out:
    sqlite3_close(db);
    return rc;
}

int store_sqlite_check(struct store_sqlite_health *out, const char *path, struct err *e)
{
    return examine(out, path, false, e);
}

/* ---- giving it up ---- */

struct loss_job {
    store_sqlite_note *note;
    void *ctx;
};

/* Renames a file to NAME.bad, or to NAME.bad-2 and so on if there is one already. */
static int loss_keep_bad(const struct loss_job *j, const char *path, struct err *e)
{
    if (file_size(path) < 0) return 0;
    char bad[STORE_SQLITE_PATH + 16];
    snprintf(bad, sizeof bad, "%s.bad", path);
    for (int i = 2; file_size(bad) >= 0 && i < 1000; i++)
        snprintf(bad, sizeof bad, "%s.bad-%d", path, i);
    if (rename(path, bad))
        return err_field(e, ERR_IO, path, "cannot be renamed: %s", strerror(errno));
    if (j->note) j->note(j->ctx, bad);
    return 0;
}

static int loss_reopen(const char *path, struct err *e)
{
    struct store s;
    struct store_sqlite_cfg cfg = {.path = path, .accept_loss = true, .reserve = -1};
    int rc = store_sqlite_open(&s, &cfg, e);
    if (!rc) s.free(s.self);
    return rc;
}

/* A copy takes the log's place: SQLite continues with the sound part of it. */
static int loss_keep_log(const struct loss_job *j, const char *wal, struct err *e)
{
    if (file_size(wal) <= 0) return 0;
    char copy[STORE_SQLITE_PATH + 8];
    snprintf(copy, sizeof copy, "%.590s.tmp", wal);
    unlink(copy); /* of a try that was cut off */
    int rc = folder_copy_file(copy, wal, e);
    if (!rc) rc = loss_keep_bad(j, wal, e);
    if (!rc && rename(copy, wal))
        rc = err_field(e, ERR_IO, copy, "cannot be renamed: %s", strerror(errno));
    if (rc) unlink(copy);
    return rc;
}

/* Of another program, or of a newer version of this one: nothing of it is lost. */
static int loss_is_foreign(const char *path, struct err *e)
{
    unsigned char h[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : pread(fd, h, sizeof h, 0);
    if (fd >= 0) close(fd);
    if (n < (ssize_t)sizeof h || memcmp(h, "SQLite format 3", 16) != 0) return 0;
    uint32_t version = big_endian(h + 60), application = big_endian(h + 68);
    if ((!application && !version) ||
        (application == STORE_SQLITE_APPLICATION && version <= STORE_SQLITE_SCHEMA))
        return 0;
    return err_field(e, ERR_CONFLICT, path,
                     "is of another program or of a newer version: it is left alone");
}

int store_sqlite_accept_loss(const char *path, store_sqlite_note *note, void *ctx,
                             struct err *e)
{
    struct loss_job j = {note, ctx};
    char wal[STORE_SQLITE_PATH], shm[STORE_SQLITE_PATH], count[STORE_SQLITE_PATH];
    path_with(wal, path, "-wal");
    path_with(shm, path, "-shm");
    path_with(count, path, STORE_SQLITE_COUNT);
    struct store_sqlite_health h;
    struct store_evidence seen;
    struct err why = {0};
    int rc = loss_is_foreign(path, e);
    if (rc) return rc;
    rc = file_size(path) > 0 ? examine(&h, path, true, &why)
                             : store_sqlite_look(&seen, path, true, &why);
    if (rc != ERR_CORRUPT) /* nothing is lost, or the check failed */
        return rc ? err_field(e, rc, why.field, "%s", why.detail) : 0;
    why = (struct err){0};

    rc = loss_keep_bad(&j, count, e);
    if (!rc && file_size(path) <= 0) { /* what is left of it belongs to nothing */
        rc = loss_keep_bad(&j, path, e);
        if (!rc) rc = loss_keep_bad(&j, wal, e);
        unlink(shm);
        return rc ? rc : loss_reopen(path, e);
    }
    if (!rc) rc = loss_keep_log(&j, wal, e);
    if (rc) return rc;
    if (!loss_reopen(path, &why)) return 0;
    /* the log belongs to another database, then: the copy of it goes */
    unlink(wal);
    unlink(shm);
    why = (struct err){0};
    if (!loss_reopen(path, &why)) return 0;
    rc = loss_keep_bad(&j, path, e);
    unlink(wal);
    unlink(shm);
    return rc ? rc : loss_reopen(path, e);
}
