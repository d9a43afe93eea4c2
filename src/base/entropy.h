/* entropy.h - unpredictable random bytes, or bytes from a test.
 *
 * For ids and keys. Draws that must be repeatable use rng.h.
 *
 * Errors: ERR_IO if the system provides no random bytes.
 * Threads: getrandom(2) is safe in any thread. For another source, its author states the rule. */
#ifndef BASE_ENTROPY_H
#define BASE_ENTROPY_H

#include "base/err.h"

#include <stddef.h>

struct entropy {
    int (*draw)(void *ctx, void *out, size_t n, struct err *e); /* NULL: getrandom(2) */
    void *ctx;
};

/* n <= 256 bytes. */
int entropy_draw(const struct entropy *from, void *out, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
