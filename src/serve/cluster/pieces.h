/* pieces.h - a value of any size on the board: cut into pieces that its servers take as messages.
 *
 * Piece i of KEY is the value KEY.i, in an envelope of its own (envelope.h). The pieces alone are
 * nothing: some other value, written after them, names them (struct pieces), and whoever reads it
 * knows whether he has found all of it. So they are put under names that nobody reads yet.
 *
 * Errors: ERR_IO the board does not answer; ERR_CORRUPT, ERR_INVALID, ERR_RANGE what is there is not
 * what was named (pieces_get); ERR_MEMORY. Threads: pure functions. */
#ifndef SERVE_PIECES_H
#define SERVE_PIECES_H

#include "serve/cluster/bucket.h"
#include "serve/cluster/envelope.h"

#define PIECES_SIZE (512 << 10) /* of one, or as many bytes as the board takes */
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
/* The first `parts` go. false: the board does not answer. */
bool pieces_drop(const struct bucket *b, const char *key, int parts);

#endif
