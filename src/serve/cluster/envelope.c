#include "serve/cluster/envelope.h"

#include <string.h>

#include "base/bytes.h"

static const char MAGIC[8] = {'a', 'b', 'r', 'd', '-', 'b', 'u', 's'};

static const char *const NAME[ENVELOPE_KINDS] = {
    [0] = "nothing",
    [ENVELOPE_TRAJ] = "a trajectory",
    [ENVELOPE_WEIGHTS] = "published weights",
    [ENVELOPE_COMMON] = "common settings",
    [ENVELOPE_HEARTBEAT] = "a learner's heartbeat",
    [ENVELOPE_STATE] = "a learner's state",
    [ENVELOPE_SLOTS] = "the log of slots",
    [ENVELOPE_ADDED] = "the list of added profiles",
    [ENVELOPE_GROWTH] = "an added profile's experts",
    [ENVELOPE_TRIAL] = "the trial of all nodes",
    [ENVELOPE_TALLY] = "a node's counts of the trial",
    [ENVELOPE_UNITS] = "a node's viewers of the trial",
};

const char *envelope_name(enum envelope_kind kind)
{
    return NAME[kind];
}

size_t envelope_seal(void *out, enum envelope_kind kind, int form, size_t n)
{
    unsigned char *p = out;
    memcpy(p, MAGIC, sizeof MAGIC);
    bytes_put_u16(p + 8, (uint16_t)kind);
    bytes_put_u16(p + 10, (uint16_t)form);
    bytes_put_u32(p + 12, bytes_crc32(0, p + ENVELOPE_HEAD, n));
    bytes_put_u64(p + 16, n);
    return ENVELOPE_HEAD + n;
}

int envelope_open(const void **body, size_t *n, int *form, const void *bytes, size_t size,
                  enum envelope_kind kind, int newest, struct err *e)
{
    const unsigned char *p = bytes;
    if (size < ENVELOPE_HEAD || memcmp(p, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_INVALID, "is not %s of abrd", NAME[kind]);
    int is = bytes_get_u16(p + 8);
    if (is != (int)kind)
        return err_set(e, ERR_INVALID, "is %s, not %s",
                       is < ENVELOPE_KINDS ? NAME[is] : "something newer", NAME[kind]);
    if (bytes_get_u64(p + 16) != size - ENVELOPE_HEAD)
        return err_set(e, ERR_CORRUPT, "has %zu bytes after its head, not %llu",
                       size - ENVELOPE_HEAD, (unsigned long long)bytes_get_u64(p + 16));
    if (bytes_get_u32(p + 12) != bytes_crc32(0, p + ENVELOPE_HEAD, size - ENVELOPE_HEAD))
        return err_set(e, ERR_CORRUPT, "has a wrong checksum: it was damaged");
    int f = bytes_get_u16(p + 10);
    if (f < 1 || f > newest)
        return err_set(e, ERR_RANGE,
                       "is %s of form %d; this abrd reads forms 1 to %d: upgrade it",
                       NAME[kind], f, newest);
    *body = p + ENVELOPE_HEAD;
    *n = size - ENVELOPE_HEAD;
    *form = f;
    return 0;
}
