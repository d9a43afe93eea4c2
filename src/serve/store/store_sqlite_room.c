/* Room that is kept back: when the disk is full it goes to what was acknowledged before anybody knew.
 * What it is kept for is a queue of records (writer.h), not those that come later. */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

int store_sqlite_room_take(struct store_room *r, const char *path, struct err *e)
{
    if (r->held) return 0;
    int rc;
    do
        rc = posix_fallocate(r->fd, 0, r->bytes);
    while (rc == EINTR);
    if (rc == ENOSPC || rc == EDQUOT) {
        (void)!ftruncate(r->fd, 0); /* a part of it is none */
        return err_field(e, ERR_IO, path,
                         "the disk is full (%lld MB are kept free for what was "
                         "acknowledged): make room",
                         (long long)(r->bytes >> 20));
    }
    if (rc) r->bytes = 0; /* not on this file system */
    r->held = true;
    return 0;
}

bool store_sqlite_room_give(struct store_room *r)
{
    if (!r->held || !r->bytes || ftruncate(r->fd, 0)) return false;
    r->held = false;
    return true;
}

int store_sqlite_room_open(struct store_room *r, const char *path, int64_t bytes,
                           struct err *e)
{
    struct rlimit most; /* a longer file would end the process */
    bool allowed = !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur >= (rlim_t)bytes;
    r->bytes = allowed ? bytes : 0;
    r->held = !r->bytes;
    r->fd = -1;
    if (r->held) return 0;
    r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (r->fd < 0)
        return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
    /* a disk that is full is no reason not to start: questions are refused until it has room */
    (void)!store_sqlite_room_take(r, path, NULL);
    return 0;
}

void store_sqlite_room_close(struct store_room *r)
{
    if (r->fd >= 0) close(r->fd);
    r->fd = -1;
}
