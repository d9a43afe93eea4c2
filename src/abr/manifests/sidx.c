#include "abr/manifests/sidx.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER = 8,     /* size and type */
    REFERENCE = 12, /* bytes of one */
    BOXES_MAX = 64, /* looked at before the index */
    BOX_MAX = 1 << 20
};

#define OFFSET_MAX (UINT64_C(1) << 50)

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* time: of the first reference, in units of 1 / timescale s. from: its first byte. */
static int add_references(struct sidx_entry *out, int n, const uint8_t *at, int64_t from,
                          double time, uint32_t timescale, const char *name,
                          struct err *e)
{
    for (int i = 0; i < n; i++, at += REFERENCE) {
        uint32_t bytes = be32(at), duration = be32(at + 4);
        if (bytes >> 31)
            return text_refuse(
                name, 0, ERR_INVALID, e,
                "sidx: reference %d is to another index, which is not read", i);
        if (!bytes || !duration)
            return text_refuse(name, 0, ERR_INVALID, e,
                               "sidx: reference %d has %u bytes and a duration of %u", i,
                               bytes, duration);
        out[i] = (struct sidx_entry){bytes, from, (double)duration / timescale,
                                     time / timescale};
        from += bytes;
        time += (double)duration;
    }
    return 0;
}

int sidx_parse(struct sidx_entry **out, int *n, const void *box, size_t len,
               const char *name, struct err *e)
{
    *out = NULL;
    *n = 0;
    const uint8_t *p = box;
    if (len < HEADER + 4 || memcmp(p + 4, "sidx", 4) != 0)
        return text_refuse(name, 0, ERR_INVALID, e, "there is no sidx box");
    size_t size = be32(p), counts = p[HEADER] == 0 ? 30 : 38; /* of reserved, count */
    if (size > len || size < counts + 2)
        return text_refuse(name, 0, ERR_INVALID, e,
                           "sidx: a box of %zu bytes where %zu are", size, len);
    uint32_t timescale = be32(p + 16);
    double earliest = be32(p + 20); /* followed by its lower half in version 1 */
    if (p[HEADER] == 1) earliest = earliest * 4294967296.0 + be32(p + 24);
    uint64_t first = be32(p + counts - 6); /* first_offset, likewise */
    if (p[HEADER] == 1) first |= (uint64_t)be32(p + counts - 10) << 32;
    int count = p[counts] << 8 | p[counts + 1];
    if (p[HEADER] > 1 || !timescale || !count)
        return text_refuse(name, 0, ERR_INVALID, e,
                           "sidx: version %d, timescale %u, %d references", p[HEADER],
                           timescale, count);
    if (first > OFFSET_MAX)
        return text_refuse(name, 0, ERR_INVALID, e,
                           "sidx: its first segment begins at byte %llu",
                           (unsigned long long)first);
    if (size < counts + 2 + (size_t)count * REFERENCE)
        return text_refuse(name, 0, ERR_INVALID, e,
                           "sidx: %d references do not fit a box of %zu bytes", count,
                           size);

    struct sidx_entry *entries = calloc((size_t)count, sizeof *entries);
    if (!entries) return err_set(e, ERR_MEMORY, "no memory for %d segments", count);
    int rc = add_references(entries, count, p + counts + 2, (int64_t)(size + first),
                            earliest, timescale, name, e);
    if (rc) {
        free(entries);
        return rc;
    }
    *out = entries;
    *n = count;
    return 0;
}

/* Finds the file's first sidx box. *from and *to are its first and last byte. */
static int sidx_find(int64_t *from, int64_t *to, const struct segments_source *source,
                     const char *url, struct err *e)
{
    int64_t at = 0;
    for (int i = 0; i < BOXES_MAX; i++) {
        size_t len = 0;
        char *head = source->read(source->self, url, at, 2 * HEADER, &len, e);
        if (!head) return e && e->code ? e->code : ERR_IO;
        const uint8_t *p = (const uint8_t *)head;
        int64_t size = len >= HEADER ? be32(p) : 0;
        bool found = len >= HEADER && !memcmp(p + 4, "sidx", 4);
        if (size == 1 && len == 2 * HEADER) /* a 64-bit size follows */
            size = (int64_t)(be32(p + 8) & INT32_MAX) << 32 | be32(p + 12);
        free(head);
        if (size < HEADER || size > INT64_MAX - at) break; /* the end, or to the end */
        if (found && size <= BOX_MAX) {
            *from = at;
            *to = at + size - 1;
            return 0;
        }
        at += size;
    }
    return text_refuse(url, 0, ERR_ABSENT, e,
                       "there is no sidx box among the boxes it begins with");
}

int sidx_load(struct sidx_entry **out, int *n, const struct segments_source *source,
              const char *url, int64_t from, int64_t to, struct err *e)
{
    int rc = to > 0 ? 0 : sidx_find(&from, &to, source, url, e);
    if (rc) return rc;
    if (to < from || to - from >= BOX_MAX)
        return text_refuse(url, 0, ERR_RANGE, e, "an index range of %lld .. %lld",
                           (long long)from, (long long)to);
    size_t len = 0;
    char *box = source->read(source->self, url, from, (size_t)(to - from) + 1, &len, e);
    if (!box) return e && e->code ? e->code : ERR_IO;
    rc = sidx_parse(out, n, box, len, url, e);
    free(box);
    for (int i = 0; i < *n; i++)
        (*out)[i].from += from;
    return rc;
}
