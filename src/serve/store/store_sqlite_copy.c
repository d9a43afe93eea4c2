/* The backup copy of the store, also while a daemon uses it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/store/store_sqlite.h"
#include "store_sqlite_priv.h"

enum { PAGES_AT_ONCE = 256 }; /* 1 MB, then the disk is the daemon's for as long */

static int sync_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd)
                 ? err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno))
                 : 0;
    if (fd >= 0) close(fd);
    return rc;
}

/* Writes one piece, puts it on the disk, and then leaves the disk to the daemon for as long: viewers
 * wait for its commits, which would otherwise wait behind hundreds of MB. */
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

/* The copy shows the moment at which the read transaction of src began, however long it takes. */
static int copy_pages(sqlite3 *dst, sqlite3 *src, const char *to,
                      store_sqlite_watch *watch, void *ctx, struct err *e)
{
    sqlite3_backup *b = sqlite3_backup_init(dst, "main", src, "main");
    if (!b) return store_sqlite_fail(to, dst, sqlite3_errcode(dst), e);
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
    return rc == SQLITE_DONE ? 0 : store_sqlite_fail(to, dst, rc, e);
}

/* A reader of the copy leaves these files behind. The copy is complete without them. */
static void remove_side_files(const char *to)
{
    static const char *const ENDS[] = {"-wal", "-shm"};
    for (int i = 0; i < 2; i++) {
        char path[STORE_SQLITE_PATH];
        snprintf(path, sizeof path, "%.590s%s", to, ENDS[i]);
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
    code = rc ? store_sqlite_fail(from, src, rc, e)
              : store_sqlite_missing(&seen, src, from, e);
    if (code) goto out;

    rc = sqlite3_open_v2(
        to, &dst, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    /* copy_piece puts it on the disk */
    if (!rc) rc = sqlite3_exec(dst, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    code =
        rc ? store_sqlite_fail(to, dst, rc, e) : copy_pages(dst, src, to, watch, ctx, e);
    if (code) goto out;
    rc = sqlite3_exec(dst,
                      "PRAGMA secure_delete = ON; DROP TABLE IF EXISTS parcels;"
                      "PRAGMA wal_checkpoint(TRUNCATE)",
                      NULL, NULL, NULL);
    if (rc) code = store_sqlite_fail(to, dst, rc, e);
out:
    sqlite3_close(src);
    rc = sqlite3_close(dst);
    if (!code && rc) code = store_sqlite_fail(to, NULL, rc, e);
    if (!code) code = store_sqlite_check(out, to, e);
    if (!code) remove_side_files(to);
    if (!code) code = sync_file(to, e);
    return code;
}
