/* emit.h - writes JSON, one value after the other, into a buffer that is used again.
 *
 * Numbers round-trip, unless rounding is asked for: a double is written with the fewest of 15, 16 or 17 digits that
 * read back as the same double; one that is not finite becomes null. Strings are escaped
 * so that they are safe inside HTML too ('<' and '>' as \u003c, \u003e).
 *
 *   struct emit o = {0};
 *   emit_open(&o, '{');
 *   emit_key(&o, "chunk_s"), emit_double(&o, 4.0);
 *   emit_close(&o, '}');
 *
 * Ownership: the buffer belongs to the emit; emit_reset keeps it, emit_free gives it
 * back. It grows by doubling; when memory runs out, or past EMIT_LIMIT, `failed` is set
 * and all further output is dropped. Threads: not shared. */
#ifndef SERVE_EMIT_H
#define SERVE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMIT_LIMIT ((size_t)256 << 20)
#define EMIT_DOUBLE 32

struct emit {
    char *at; /* what was written, NUL behind it; NULL before the first byte */
    size_t n, cap;
    bool comma; /* the next value is not the first of its object or array */
    bool failed;
};

/* Room for cap bytes now, so that answers up to that size allocate nothing. */
void emit_reserve(struct emit *o, size_t cap);
void emit_reset(struct emit *o);
void emit_free(struct emit *o);

void emit_open(struct emit *o, char bracket); /* '{' or '[' */
void emit_close(struct emit *o, char bracket);
/* A name of ours, written as it is: one that needs escapes is a bug. */
void emit_key(struct emit *o, const char *key);
void emit_string(struct emit *o, const char *s);
void emit_double(struct emit *o, double v);
/* Rounded to six decimals: shares and estimates, of which nobody needs the last bit. */
void emit_rounded(struct emit *o, double v);
void emit_int(struct emit *o, int64_t v);
void emit_u64(struct emit *o, uint64_t v);
void emit_bool(struct emit *o, bool v);
void emit_null(struct emit *o);
void emit_doubles(struct emit *o, const double *v, int n); /* an array */

/* Text as it is, no comma, no escape: CSV, server-sent events, Prometheus. */
void emit_raw(struct emit *o, const char *s, size_t n);
void emit_text(struct emit *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* That form, without zeros at its end; out holds EMIT_DOUBLE bytes. Returns the length. */
int emit_format_double(char *out, double v);

#endif
