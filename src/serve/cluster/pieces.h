/* pieces.h - a value of any size in the bucket: cut into pieces that its servers take as messages.
 *
 * Piece i of KEY is the value KEY.i, in an envelope of its own (envelope.h). Pieces mean nothing
 * alone: a shared value that is put after them names them (struct pieces), and its readers can tell
 * whether all of it is there. So pieces are put under names that no process reads yet.
 *
 * Errors: ERR_IO the bucket does not answer; ERR_CORRUPT, ERR_INVALID, ERR_RANGE (pieces_get) the
 * pieces are not those that were named; ERR_MEMORY. Threads: pure functions. */
#ifndef SERVE_PIECES_H
#define SERVE_PIECES_H

#include "serve/cluster/bucket.h"
#include "serve/cluster/envelope.h"

#define PIECES_SIZE (512 << 10) /* bytes of one piece, or as many as the bucket takes */
#define PIECES_MAX 4096
#define PIECES_KEY 80

struct pieces {
    uint64_t bytes; /* 0: there are none */
    uint32_t crc;   /* CRC-32 of them all */
    int parts;
};

/* key: shorter than PIECES_KEY - 8. */
int pieces_put(struct pieces *out, const struct bucket *b, const char *key,
               enum envelope_kind kind, int form, const void *data, size_t n,
               struct err *e) __attribute__((warn_unused_result));
/* *out owned by the caller: p->bytes of them. */
int pieces_get(void **out, const struct pieces *p, const struct bucket *b,
               const char *key, enum envelope_kind kind, int newest, struct err *e)
    __attribute__((warn_unused_result));
/* Removes the first `parts`. false: the bucket does not answer. */
bool pieces_drop(const struct bucket *b, const char *key, int parts);

#endif
