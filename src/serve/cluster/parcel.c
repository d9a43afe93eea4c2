#include "serve/cluster/parcel.h"

#include <string.h>

#include "base/bytes.h"

static const char MAGIC[8] = {'a', 'b', 'r', 'd', '-', 'b', 'u', 's'};

static const char *const NAME[PARCEL_KINDS] = {
    [0] = "nothing",
    [PARCEL_TRAJ] = "a trajectory",
    [PARCEL_WEIGHTS] = "published weights",
    [PARCEL_COMMON] = "common settings",
    [PARCEL_BEAT] = "a learner's beat",
    [PARCEL_STATE] = "a learner's state",
    [PARCEL_SLOTS] = "the nodes' slots",
    [PARCEL_GROWN] = "the list of grown profiles",
    [PARCEL_GROWTH] = "a grown profile's weights",
};

size_t parcel_seal(void *out, enum parcel_kind kind, int form, size_t n)
{
    unsigned char *p = out;
    memcpy(p, MAGIC, sizeof MAGIC);
    bytes_put_u16(p + 8, (uint16_t)kind);
    bytes_put_u16(p + 10, (uint16_t)form);
    bytes_put_u32(p + 12, bytes_crc32(0, p + PARCEL_HEAD, n));
    bytes_put_u64(p + 16, n);
    return PARCEL_HEAD + n;
}

int parcel_open(const void **body, size_t *n, int *form, const void *bytes, size_t size,
                enum parcel_kind kind, int newest, struct err *e)
{
    const unsigned char *p = bytes;
    if (size < PARCEL_HEAD || memcmp(p, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_INVALID, "is not %s of abrd", NAME[kind]);
    int is = bytes_get_u16(p + 8);
    if (is != (int)kind)
        return err_set(e, ERR_INVALID, "is %s, not %s",
                       is < PARCEL_KINDS ? NAME[is] : "something newer", NAME[kind]);
    if (bytes_get_u64(p + 16) != size - PARCEL_HEAD)
        return err_set(e, ERR_CORRUPT, "has %zu bytes after its head, not %llu",
                       size - PARCEL_HEAD, (unsigned long long)bytes_get_u64(p + 16));
    if (bytes_get_u32(p + 12) != bytes_crc32(0, p + PARCEL_HEAD, size - PARCEL_HEAD))
        return err_set(e, ERR_CORRUPT, "its checksum is wrong: it was damaged");
    int f = bytes_get_u16(p + 10);
    if (f < 1 || f > newest)
        return err_set(e, ERR_RANGE,
                       "is %s of form %d; this abrd reads forms 1 to %d: upgrade it",
                       NAME[kind], f, newest);
    *body = p + PARCEL_HEAD;
    *n = size - PARCEL_HEAD;
    *form = f;
    return 0;
}
