/* How much the store has acknowledged, in a file of its own next to the database: what vanishes from
 * the database's files is missed by its number.
 *
 * Two slots, written in turn, so that a write that is torn leaves the one before:
 *   0 "abrdcnt1"  8 store's id  16 commits  24 records  32 CRC-32 of these bytes */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"

enum { SLOT = 512, USED = 36 };
static const char MAGIC[8] = {'a', 'b', 'r', 'd', 'c', 'n', 't', '1'};

static bool count_slot(struct store_count *out, const unsigned char *p)
{
    if (memcmp(p, MAGIC, 8) != 0 || bytes_get_u32(p + 32) != bytes_crc32(0, p, 32))
        return false;
    *out = (struct store_count){bytes_get_u64(p + 8), bytes_get_u64(p + 16),
                                bytes_get_u64(p + 24)};
    return true;
}

int store_sqlite_count_read(struct store_count *out, const char *path, struct err *e)
{
    *out = (struct store_count){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return 0;
    unsigned char bytes[SLOT + USED];
    memset(bytes, 0, sizeof bytes);
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    int why = errno;
    if (fd >= 0) close(fd);
    if (n < 0) return err_field(e, ERR_IO, path, "cannot be read: %s", strerror(why));
    struct store_count c;
    for (int i = 0; i < 2; i++)
        if (count_slot(&c, bytes + i * SLOT) && (!out->store || c.commits > out->commits))
            *out = c;
    return 0;
}

int store_sqlite_count_write(int fd, const struct store_count *c)
{
    unsigned char p[USED];
    memcpy(p, MAGIC, 8);
    bytes_put_u64(p + 8, c->store);
    bytes_put_u64(p + 16, c->commits);
    bytes_put_u64(p + 24, c->records);
    bytes_put_u32(p + 32, bytes_crc32(0, p, 32));
    off_t at = c->commits % 2 ? SLOT : 0;
    return pwrite(fd, p, USED, at) == USED ? 0 : -1;
}

int store_sqlite_count_open(const char *path, const struct store_count *c, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
    /* a disk that is full now is told by what is written next */
    (void)!store_sqlite_count_write(fd, c);
    return fd;
}
