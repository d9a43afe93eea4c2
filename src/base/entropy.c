#include "base/entropy.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

int entropy_draw(const struct entropy *from, void *out, size_t n, struct err *e)
{
    if (from->draw) return from->draw(from->ctx, out, n, e);
    ssize_t got;
    do /* getrandom returns up to 256 bytes whole */
        got = getrandom(out, n, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)n) return err_set(e, ERR_IO, "getrandom: %s", strerror(errno));
    return 0;
}
