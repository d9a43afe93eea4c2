/* Is all there that the store has acknowledged? And what to do when it is not. */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/store/store_sqlite.h"

static void loss_path(char out[STORE_SQLITE_PATH], const char *path, const char *end)
{
    snprintf(out, STORE_SQLITE_PATH, "%.570s%s", path, end);
}

/* NAME in the folder of the database. */
static void loss_sibling(char out[STORE_SQLITE_PATH], const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    snprintf(out, STORE_SQLITE_PATH, "%.*s%s", n, path, name);
}

static int64_t loss_size(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

/* The daemon that uses the folder writes to the log while we read it; that we have the lock ourselves
 * is said by who opens the store. */
static bool loss_in_use(const char *path)
{
    char lock[STORE_SQLITE_PATH];
    loss_sibling(lock, path, "lock");
    int fd = open(lock, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool busy = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return busy;
}

/* A database was here if one of these is; checkpoints of grown profiles may come before a store. */
static int loss_of_database(const char *path, const struct store_count *c, struct err *e)
{
    static const char *const beside[] = {"policy.safetensors", "policy.safetensors.prev",
                                         "untagged.state"};
    int64_t size = loss_size(path);
    if (size > 0) return 0;
    if (size < 0 && errno != ENOENT)
        return err_field(e, ERR_IO, path, "cannot be read: %s", strerror(errno));
    char wal[STORE_SQLITE_PATH], other[STORE_SQLITE_PATH], found[100] = "";
    loss_path(wal, path, "-wal");
    if (c->store && c->commits)
        snprintf(found, sizeof found,
                 "it had %" PRIu64 " commits with %" PRIu64 " records", c->commits,
                 c->records);
    else if (loss_size(wal) > 0)
        snprintf(found, sizeof found, "there is its log, abrd.db-wal");
    for (int i = 0; i < 3 && !*found; i++) {
        loss_sibling(other, path, beside[i]);
        if (loss_size(other) >= 0)
            snprintf(found, sizeof found, "there is %s, of a daemon that had one",
                     beside[i]);
    }
    if (!*found) return 0;
    return err_field(e, ERR_CORRUPT, path, "is %s, but %s: " STORE_SQLITE_REMEDY,
                     size < 0 ? "missing" : "empty", found);
}

static void loss_of_log(char *out, size_t size, const struct store_wal *w)
{
    *out = '\0';
    if (w->bad_header)
        snprintf(out, size, "the header of abrd.db-wal is damaged");
    else if (w->bad)
        snprintf(out, size, "abrd.db-wal is damaged at frame %" PRId64 " of %" PRId64,
                 w->bad, w->frames);
}

int store_sqlite_look(struct store_evidence *out, const char *path, bool locked,
                      struct err *e)
{
    *out = (struct store_evidence){0};
    char file[STORE_SQLITE_PATH];
    /* before the database: a daemon may be counting on */
    loss_path(file, path, STORE_SQLITE_COUNT);
    int rc = store_sqlite_count_read(&out->count, file, e);
    if (!rc) rc = loss_of_database(path, &out->count, e);
    if (rc || (!locked && loss_in_use(path))) return rc;

    loss_path(file, path, "-wal");
    rc = store_sqlite_wal(&out->wal, file, e);
    /* a count knows better: behind the frame there may be what was never acknowledged, of a
     * transaction that failed or was under way when the power went */
    bool lost = out->wal.bad_header || out->wal.lost_commits;
    if (rc || out->count.store || !lost) return rc;
    char what[100], commits[60] = "all it holds";
    loss_of_log(what, sizeof what, &out->wal);
    if (!out->wal.bad_header)
        snprintf(commits, sizeof commits, "at least %" PRId64 " commits behind it",
                 out->wal.lost_commits);
    return err_field(e, ERR_CORRUPT, path, "%s, %s would be lost: " STORE_SQLITE_REMEDY,
                     what, commits);
}

int store_sqlite_count_select(struct store_count *out, sqlite3 *db)
{
    *out = (struct store_count){0};
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(
        db, "SELECT count(*) FROM sqlite_master WHERE name = 'acknowledged'", -1, &st,
        NULL);
    if (!rc) rc = sqlite3_step(st);
    bool there = rc == SQLITE_ROW && sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    if (rc != SQLITE_ROW || !there) return rc == SQLITE_ROW ? SQLITE_OK : rc;

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

int store_sqlite_missing(const struct store_evidence *seen, sqlite3 *db, const char *path,
                         struct err *e)
{
    const struct store_count *c = &seen->count;
    struct store_count has;
    int rc = store_sqlite_count_select(&has, db);
    if (rc)
        return err_field(e, ERR_CORRUPT, path, "is damaged (%s): " STORE_SQLITE_REMEDY,
                         sqlite3_errmsg(db));
    if (!c->store || (has.store == c->store && has.commits >= c->commits)) return 0;
    if (has.store && has.store != c->store)
        return err_field(e, ERR_CORRUPT, path,
                         "or abrd.db-wal is of another store than abrd.db-count, which "
                         "counted %" PRIu64 " commits: " STORE_SQLITE_REMEDY,
                         c->commits);
    char what[100];
    loss_of_log(what, sizeof what, &seen->wal);
    return err_field(e, ERR_CORRUPT, path,
                     "the last %" PRIu64 " commits with %" PRIu64
                     " acknowledged records are missing (%s): " STORE_SQLITE_REMEDY,
                     c->commits - has.commits, c->records - has.records,
                     *what ? what : "abrd.db or abrd.db-wal was replaced or cut");
}

/* ---- giving it up ---- */

struct loss_job {
    store_sqlite_note *note;
    void *ctx;
};

/* To NAME.bad, or NAME.bad-2 and so on when there is one already. */
static int loss_aside(const struct loss_job *j, const char *path, struct err *e)
{
    if (loss_size(path) < 0) return 0;
    char bad[STORE_SQLITE_PATH + 16];
    snprintf(bad, sizeof bad, "%s.bad", path);
    for (int i = 2; loss_size(bad) >= 0 && i < 1000; i++)
        snprintf(bad, sizeof bad, "%s.bad-%d", path, i);
    if (rename(path, bad))
        return err_field(e, ERR_IO, path, "cannot be moved aside: %s", strerror(errno));
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

/* A copy, as SQLite goes on with what is sound of it. */
static int loss_keep_log(const struct loss_job *j, const char *wal, struct err *e)
{
    if (loss_size(wal) <= 0) return 0;
    char copy[STORE_SQLITE_PATH + 8];
    snprintf(copy, sizeof copy, "%.590s.tmp", wal);
    int from = open(wal, O_RDONLY | O_CLOEXEC),
        to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc = 0;
    char buf[1 << 16];
    ssize_t n = from < 0 || to < 0 ? -1 : 0;
    while (n >= 0 && (n = read(from, buf, sizeof buf)) > 0)
        if (write(to, buf, (size_t)n) != n) n = -1;
    if (n < 0 || fsync(to))
        rc = err_field(e, ERR_IO, copy, "cannot be written: %s", strerror(errno));
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    /* the original goes aside, the copy takes its place */
    if (!rc) rc = loss_aside(j, wal, e);
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
    uint32_t version = (uint32_t)h[60] << 24 | h[61] << 16 | h[62] << 8 | h[63];
    uint32_t application = (uint32_t)h[68] << 24 | h[69] << 16 | h[70] << 8 | h[71];
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
    loss_path(wal, path, "-wal");
    loss_path(shm, path, "-shm");
    loss_path(count, path, STORE_SQLITE_COUNT);
    struct store_sqlite_health h;
    struct store_evidence seen;
    struct err why = {0};
    int rc = loss_is_foreign(path, e);
    if (rc) return rc;
    rc = loss_size(path) > 0 ? store_sqlite_examine(&h, path, true, &why)
                             : store_sqlite_look(&seen, path, true, &why);
    if (rc != ERR_CORRUPT) /* nothing is lost, or it cannot be told */
        return rc ? err_field(e, rc, why.field, "%s", why.detail) : 0;
    why = (struct err){0};

    rc = loss_aside(&j, count, e);
    if (!rc && loss_size(path) <= 0) { /* what is left of it belongs to nothing */
        rc = loss_aside(&j, path, e);
        if (!rc) rc = loss_aside(&j, wal, e);
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
    rc = loss_aside(&j, path, e);
    unlink(wal);
    unlink(shm);
    return rc ? rc : loss_reopen(path, e);
}
