/* A copy of the store while a daemon uses it. */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/store/store_sqlite.h"

enum { PAGES_AT_ONCE = 256 }; /* 1 MB, then the disk is the daemon's for as long */

static int store_sqlite_copy_refuse(const char *path, sqlite3 *db, int rc,
                                    const char *what, struct err *e)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return err_field(e, ERR_IO, path, "the disk is full (%s): make room", why);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_field(e, ERR_CORRUPT, path, "is damaged, or no store: %s", why);
    default:
        return err_field(e, ERR_IO, path, "cannot be %s: %s", what, why);
    }
}

static int sync_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd)
                 ? err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno))
                 : 0;
    if (fd >= 0) close(fd);
    return rc;
}

/* What was written is put on the disk piece by piece, and the daemon is left as long to do the same: its
 * commits, which people wait for, would stand behind hundreds of MB. */
static int copy_piece(sqlite3_backup *b, const char *to, int *rc, struct err *e)
{
    double began = clock_mono();
    *rc = sqlite3_backup_step(b, PAGES_AT_ONCE);
    if (*rc != SQLITE_OK) return 0;
    int code = sync_file(to, e);
    double took = fmin(clock_mono() - began, 1);
    const struct timespec rest = {(time_t)took, (long)((took - floor(took)) * 1e9)};
    nanosleep(&rest, NULL);
    return code;
}

/* The read transaction that src stands in is what the copy shows, however long it takes. */
static int copy_pages(sqlite3 *dst, sqlite3 *src, const char *to,
                      store_sqlite_watch *watch, void *ctx, struct err *e)
{
    sqlite3_backup *b = sqlite3_backup_init(dst, "main", src, "main");
    if (!b) return store_sqlite_copy_refuse(to, dst, sqlite3_errcode(dst), "written", e);
    int rc, code;
    bool go_on = true;
    do {
        code = copy_piece(b, to, &rc, e);
        int all = sqlite3_backup_pagecount(b), left = sqlite3_backup_remaining(b);
        if (watch && all) go_on = watch(ctx, (double)(all - left) / all);
    } while (rc == SQLITE_OK && !code && go_on);
    sqlite3_backup_finish(b);
    if (code) return code;
    if (rc == SQLITE_OK) return err_set(e, ERR_CONFLICT, "given up");
    return rc == SQLITE_DONE ? 0 : store_sqlite_copy_refuse(to, dst, rc, "written", e);
}

/* What a reader of the copy leaves beside it: the copy is whole without. */
static void tidy(const char *to)
{
    static const char *const beside[] = {"-wal", "-shm"};
    for (int i = 0; i < 2; i++) {
        char path[600];
        snprintf(path, sizeof path, "%.590s%s", to, beside[i]);
        unlink(path);
    }
}

int store_sqlite_copy(struct store_sqlite_health *out, const char *to, const char *from,
                      store_sqlite_watch *watch, void *ctx, struct err *e)
{
    sqlite3 *src = NULL, *dst = NULL;
    struct store_evidence seen;
    int code = store_sqlite_look(&seen, from, false, e);
    if (code) return code;
    int rc =
        sqlite3_open_v2(from, &src, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (!rc) rc = sqlite3_busy_timeout(src, 5000);
    /* the transaction begins with the first reading */
    if (!rc) rc = sqlite3_exec(src, "BEGIN; PRAGMA user_version", NULL, NULL, NULL);
    if (rc) code = store_sqlite_copy_refuse(from, src, rc, "read", e);
    if (!code) code = store_sqlite_missing(&seen, src, from, e);
    if (!code) {
        rc = sqlite3_open_v2(
            to, &dst, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
            NULL);
        if (rc) code = store_sqlite_copy_refuse(to, dst, rc, "written", e);
    }
    /* it is put on the disk by us */
    if (!code && (rc = sqlite3_exec(dst, "PRAGMA synchronous = OFF", NULL, NULL, NULL)))
        code = store_sqlite_copy_refuse(to, dst, rc, "written", e);
    if (!code) code = copy_pages(dst, src, to, watch, ctx, e);
    if (!code) {
        rc = sqlite3_exec(dst,
                          "PRAGMA secure_delete = ON; DROP TABLE IF EXISTS parcels;"
                          "PRAGMA wal_checkpoint(TRUNCATE)",
                          NULL, NULL, NULL);
        if (rc) code = store_sqlite_copy_refuse(to, dst, rc, "written", e);
    }
    sqlite3_close(src);
    rc = sqlite3_close(dst);
    if (!code && rc) code = store_sqlite_copy_refuse(to, NULL, rc, "written", e);
    if (!code) code = store_sqlite_check(out, to, e);
    if (!code) tidy(to);
    if (!code) code = sync_file(to, e);
    return code;
}
