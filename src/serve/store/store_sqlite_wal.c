/* The write-ahead log, read before SQLite opens it. SQLite ends at the first frame whose checksum does
 * not fit and ignores what is behind it, without a word. Format: sqlite.org/fileformat2.html, 4. */
#include "store_sqlite_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEADER = 32, FRAME = 24, PAGE_MAX = 65536, MAGIC = 0x377f0682, VERSION = 3007000 };

struct wal_sum {
    bool big; /* words are big-endian */
    uint32_t a, b;
};

static uint32_t wal_word(const unsigned char *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
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
    return s->a == wal_word(p, true) && s->b == wal_word(p + 4, true);
}

static bool wal_header_is_sound(const unsigned char *h, struct wal_sum *s,
                                size_t *page_size)
{
    uint32_t magic = wal_word(h, true), size = wal_word(h + 8, true);
    *s = (struct wal_sum){.big = magic & 1};
    wal_sum_add(s, h, 24);
    *page_size = size;
    return (magic & ~UINT32_C(1)) == MAGIC && wal_word(h + 4, true) == VERSION &&
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
        bool commit = ours && wal_word(frame + 4, true) != 0;
        if (!out->bad) {
            wal_sum_add(&sum, frame, 8);
            wal_sum_add(&sum, frame + FRAME, page_size);
            bool sound = (size_t)n == size && ours && wal_word(frame, true) &&
                         wal_sum_is(&sum, frame + 16);
            if (!sound) out->bad = i;
        }
        out->frames = i;
        if (out->bad && i > out->bad) out->lost_commits += commit;
    }
}

int store_sqlite_wal(struct store_wal *out, const char *path, struct err *e)
{
    *out = (struct store_wal){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return 0;
    if (fd < 0) return err_field(e, ERR_IO, path, "cannot be read: %s", strerror(errno));

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
        rc = -1;
    } else if (n == HEADER) { /* less is the header of a log without frames */
        if (wal_header_is_sound(header, &sum, &page_size))
            rc = wal_walk(out, fd, frame, header, sum, page_size);
        else
            out->bad_header = size > HEADER;
    }
    if (rc < 0) rc = err_field(e, ERR_IO, path, "cannot be read: %s", strerror(errno));
out:
    free(frame);
    close(fd);
    return rc;
}
