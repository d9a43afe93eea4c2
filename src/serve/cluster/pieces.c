#include "serve/cluster/pieces.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum { LEAST = 4096 }; /* bytes; no bucket takes less */

static void piece_key(char out[PIECES_KEY], const char *key, int i)
{
    int n = snprintf(out, PIECES_KEY, "%s.%d", key, i);
    assert(n < PIECES_KEY);
}

static size_t piece_size(const struct bucket *b)
{
    size_t most = b->most ? b->most(b->self) : 0;
    if (!most || most >= ENVELOPE_HEAD + PIECES_SIZE) return PIECES_SIZE;
    return most < ENVELOPE_HEAD + LEAST ? LEAST : most - ENVELOPE_HEAD;
}

int pieces_put(struct pieces *out, const struct bucket *b, const char *key,
               enum envelope_kind kind, int form, const void *data, size_t n,
               struct err *e)
{
    size_t size = piece_size(b), at = 0;
    *out = (struct pieces){n, bytes_crc32(0, data, n), (int)((n + size - 1) / size)};
    if (n > PIECES_MAX * size)
        return err_set(e, ERR_RANGE, "%s has %zu bytes: too many pieces", key, n);
    unsigned char *sealed = malloc(ENVELOPE_HEAD + size);
    if (!sealed) return err_set(e, ERR_MEMORY, "no memory for pieces");
    int rc = 0;
    for (int i = 0; i < out->parts && !rc; i++) {
        char name[PIECES_KEY];
        size_t one = n - at < size ? n - at : size;
        memcpy(sealed + ENVELOPE_HEAD, (const unsigned char *)data + at, one);
        at += one;
        piece_key(name, key, i);
        rc = b->set(b->self, name, sealed, envelope_seal(sealed, kind, form, one), e);
    }
    free(sealed);
    return rc;
}

/* One piece after the *at bytes that are there. */
static int get_one(unsigned char *out, size_t *at, const struct pieces *p,
                   const struct bucket *b, const char *name, enum envelope_kind kind,
                   int newest, struct err *e)
{
    void *bytes;
    const void *body;
    size_t n;
    uint64_t rev;
    int form, rc = b->get(b->self, name, &bytes, &n, &rev, e);
    if (!rc && !bytes) rc = err_set(e, ERR_CORRUPT, "%s does not exist", name);
    if (!rc) rc = envelope_open(&body, &n, &form, bytes, n, kind, newest, e);
    if (!rc && n > p->bytes - *at) rc = err_set(e, ERR_CORRUPT, "%s is too long", name);
    if (!rc) {
        memcpy(out + *at, body, n);
        *at += n;
    }
    free(bytes);
    return rc;
}

int pieces_get(void **out, const struct pieces *p, const struct bucket *b,
               const char *key, enum envelope_kind kind, int newest, struct err *e)
{
    *out = NULL;
    if (p->parts > PIECES_MAX || p->bytes > (uint64_t)p->parts * PIECES_SIZE)
        return err_set(e, ERR_CORRUPT, "%s: %llu bytes in %d pieces", key,
                       (unsigned long long)p->bytes, p->parts);
    unsigned char *all = malloc(p->bytes + 1);
    if (!all) return err_set(e, ERR_MEMORY, "no memory for pieces");
    size_t at = 0;
    int rc = 0;
    for (int i = 0; i < p->parts && !rc; i++) {
        char name[PIECES_KEY];
        piece_key(name, key, i);
        rc = get_one(all, &at, p, b, name, kind, newest, e);
    }
    if (!rc && (at != p->bytes || bytes_crc32(0, all, at) != p->crc))
        rc = err_set(e, ERR_CORRUPT, "%s was damaged", key);
    if (rc)
        free(all);
    else
        *out = all;
    return rc;
}

bool pieces_drop(const struct bucket *b, const char *key, int parts)
{
    for (int i = 0; i < parts; i++) {
        char name[PIECES_KEY];
        piece_key(name, key, i);
        if (b->set(b->self, name, NULL, 0, NULL)) return false;
    }
    return true;
}
