#include "base/pack.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"

struct pack pack_writer(void *out, size_t room)
{
    unsigned char *at = out;
    return (struct pack){true, true, at, at + room};
}

struct pack pack_reader(const void *in, size_t n)
{
    unsigned char *at = (unsigned char *)(uintptr_t)in;
    return (struct pack){false, true, at, at + n};
}

size_t pack_done(const struct pack *p, const void *start)
{
    return (size_t)(p->at - (const unsigned char *)start);
}

bool pack_over(const struct pack *p)
{
    return p->at == p->end;
}

static bool pack_room(struct pack *p, size_t n)
{
    p->ok = p->ok && (size_t)(p->end - p->at) >= n;
    return p->ok;
}

void pack_u8(struct pack *p, uint8_t *v)
{
    if (!p->writing) *v = p->ok && p->at < p->end ? *p->at : 0;
    if (!pack_room(p, 1)) return;
    *p->at++ = *v;
}

void pack_u32(struct pack *p, uint32_t *v)
{
    if (!p->writing) *v = 0;
    if (!pack_room(p, 4)) return;
    if (p->writing)
        bytes_put_u32(p->at, *v);
    else
        *v = bytes_get_u32(p->at);
    p->at += 4;
}

void pack_u64(struct pack *p, uint64_t *v)
{
    if (!p->writing) *v = 0;
    if (!pack_room(p, 8)) return;
    if (p->writing)
        bytes_put_u64(p->at, *v);
    else
        *v = bytes_get_u64(p->at);
    p->at += 8;
}

void pack_f32(struct pack *p, float *v)
{
    uint32_t bits;
    memcpy(&bits, v, sizeof bits);
    pack_u32(p, &bits);
    if (!p->writing) memcpy(v, &bits, sizeof bits); /* a value to write may be const */
    if (!isfinite(*v)) {
        p->ok = false;
        if (!p->writing) *v = 0;
    }
}

void pack_f64(struct pack *p, double *v)
{
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    pack_u64(p, &bits);
    if (!p->writing) memcpy(v, &bits, sizeof bits);
}

void pack_real(struct pack *p, double *v)
{
    pack_f64(p, v);
    if (!isfinite(*v)) {
        p->ok = false;
        if (!p->writing) *v = 0;
    }
}

void pack_int(struct pack *p, int *v, int lo, int hi)
{
    uint64_t u = (uint64_t)(int64_t)*v;
    pack_u64(p, &u);
    int64_t i = (int64_t)u;
    p->ok = p->ok && i >= lo && i <= hi;
    if (!p->writing) *v = p->ok ? (int)i : lo;
}

void pack_small(struct pack *p, int *v, int lo, int hi)
{
    assert(hi - lo < 256);
    if (p->writing) p->ok = p->ok && *v >= lo && *v <= hi;
    uint8_t u = (uint8_t)(*v - lo);
    pack_u8(p, &u);
    p->ok = p->ok && u <= hi - lo;
    if (!p->writing) *v = p->ok ? lo + u : lo;
}

void pack_bool(struct pack *p, bool *v)
{
    int i = p->writing && *v; /* when reading, *v may be uninitialised */
    pack_int(p, &i, 0, 1);
    if (!p->writing) *v = i == 1;
}

void pack_text(struct pack *p, char *v, size_t size)
{
    if (!p->writing) v[0] = '\0';
    if (!pack_room(p, size)) return;
    if (p->writing) {
        size_t n = strnlen(v, size);
        p->ok = n < size;
        memset(p->at, 0, size);
        memcpy(p->at, v, n);
    } else if (memchr(p->at, 0, size)) {
        memcpy(v, p->at, size);
    } else {
        p->ok = false;
    }
    p->at += size;
}
