/* emit.h - writes JSON, value by value, into a reused buffer.
 *
 * A double is written with the fewest of 15, 16 or 17 digits that read back as the same double, except
 * by emit_rounded. A double that is not finite becomes null. Strings are escaped so that they are also
 * safe inside HTML ('<' and '>' as \u003c, \u003e).
 *
 *   struct emit o = {0};
 *   emit_open(&o, '{');
 *   emit_key(&o, "chunk_s"), emit_double(&o, 4.0);
 *   emit_close(&o, '}');
 *
 * Errors: if memory runs out, or beyond EMIT_LIMIT, `failed` is set and all further output is dropped.
 * Ownership: the emit owns the buffer, which grows by doubling. emit_reset keeps it, emit_free frees
 * it. Threads: not shared. */
#ifndef SERVE_EMIT_H
#define SERVE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMIT_LIMIT ((size_t)256 << 20)
#define EMIT_DOUBLE 32

struct emit {
    char *at; /* the text, ends with NUL; NULL before the first byte */
    size_t n, cap;
    bool comma; /* the next value is not the first of its object or array */
    bool failed;
};

/* Allocates cap bytes now, so that answers up to that size allocate nothing. */
void emit_reserve(struct emit *o, size_t cap);
void emit_reset(struct emit *o);
void emit_free(struct emit *o);

void emit_open(struct emit *o, char bracket); /* '{' or '[' */
void emit_close(struct emit *o, char bracket);
/* key is written without escapes: a key that needs them is a bug. */
void emit_key(struct emit *o, const char *key);
void emit_string(struct emit *o, const char *s);
void emit_double(struct emit *o, double v);
/* Rounded to six decimals: for shares and estimates, whose last bits do not matter. */
void emit_rounded(struct emit *o, double v);
void emit_int(struct emit *o, int64_t v);
void emit_u64(struct emit *o, uint64_t v);
void emit_bool(struct emit *o, bool v);
void emit_null(struct emit *o);
void emit_doubles(struct emit *o, const double *v, int n); /* an array */

/* Text without comma and escapes: for CSV, server-sent events and Prometheus. */
void emit_raw(struct emit *o, const char *s, size_t n);
void emit_text(struct emit *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The form of emit_double, without trailing zeros; out holds EMIT_DOUBLE bytes. Returns the length. */
int emit_format_double(char *out, double v);

#endif
