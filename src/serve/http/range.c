#include "serve/http/range.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 18 }; /* fits int64_t */

/* Reads digits at *s and moves *s behind them; -1: none or too many. */
static int64_t number(const char **s)
{
    size_t n = strspn(*s, "0123456789");
    if (n == 0 || n > DIGITS_MAX) return -1;
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + ((*s)[i] - '0');
    *s += n;
    return v;
}

enum range_kind range_of(int64_t *first, int64_t *n, const char *header, int64_t size)
{
    static const char unit[] = "bytes=";
    assert(size >= 0);
    *first = 0;
    *n = size;
    if (!header || strncasecmp(header, unit, sizeof unit - 1) != 0) return RANGE_WHOLE;

    const char *s = header + sizeof unit - 1;
    int64_t from, to = size - 1;
    if (*s == '-') {
        s++;
        int64_t count = number(&s);
        if (count < 0) return RANGE_WHOLE;
        from = count < size ? size - count : 0;
        if (count == 0) from = size;
    } else {
        from = number(&s);
        if (from < 0 || *s++ != '-') return RANGE_WHOLE;
        if (*s) {
            int64_t last = number(&s);
            if (last < from) return RANGE_WHOLE;
            if (last < to) to = last;
        }
    }
    if (*s) return RANGE_WHOLE;
    if (from >= size) return RANGE_BEYOND;
    *first = from;
    *n = to - from + 1;
    return RANGE_PART;
}
