#include "serve/wire/emit.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void emit_reserve(struct emit *o, size_t cap)
{
    if (o->failed || cap <= o->cap) return;

    size_t want = o->cap ? o->cap : 256;
    while (want < cap)
        want *= 2;
    char *more = want <= EMIT_LIMIT ? realloc(o->at, want) : NULL;
    if (!more) {
        o->failed = true;
        return;
    }
    o->at = more;
    o->cap = want;
}

void emit_reset(struct emit *o)
{
    o->n = 0;
    o->comma = o->failed = false;
}

void emit_free(struct emit *o)
{
    free(o->at);
    *o = (struct emit){0};
}

/* Place of the next n bytes and a NUL; NULL: no memory. */
static char *room(struct emit *o, size_t n)
{
    if (o->n + n + 1 > o->cap) emit_reserve(o, o->n + n + 1);
    return o->failed ? NULL : o->at + o->n;
}

static void wrote(struct emit *o, char *end)
{
    *end = '\0';
    o->n = (size_t)(end - o->at);
}

void emit_raw(struct emit *o, const char *s, size_t n)
{
    char *to = room(o, n);
    if (!to) return;
    memcpy(to, s, n);
    wrote(o, to + n);
}

void emit_text(struct emit *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char small[512];
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        o->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        emit_raw(o, small, (size_t)n);
        return;
    }

    emit_reserve(o, o->n + (size_t)n + 1);
    if (o->failed) return;
    va_start(ap, fmt);
    vsnprintf(o->at + o->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    o->n += (size_t)n;
}

/* The same for a value, after its comma. */
static char *room_for_value(struct emit *o, size_t n)
{
    char *to = room(o, n + 1);
    if (to && o->comma) *to++ = ',';
    o->comma = true;
    return to;
}

static void put_value(struct emit *o, const char *text, size_t n)
{
    char *to = room_for_value(o, n);
    if (!to) return;
    memcpy(to, text, n);
    wrote(o, to + n);
}

void emit_open(struct emit *o, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    put_value(o, &bracket, 1);
    o->comma = false;
}

void emit_close(struct emit *o, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    emit_raw(o, &bracket, 1);
    o->comma = true;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != 0x7f;
}

/* Writes at most six bytes for each byte of s; returns the end. */
static char *put_escaped(char *to, const char *s)
{
    static const char HEX[] = "0123456789abcdef";
    while (*s) {
        size_t n = is_plain((unsigned char)*s) ? 1 : 0;
        if (n && (unsigned char)*s >= 0x80) n = (size_t)text_utf8(s);
        if (n) {
            while (n--)
                *to++ = *s++;
            continue;
        }
        /* one byte that needs an escape */
        unsigned c = (unsigned char)*s++;
        c = c < 0x80 ? c : 0xfffdu;
        *to++ = '\\';
        *to++ = 'u';
        for (int shift = 12; shift >= 0; shift -= 4)
            *to++ = HEX[c >> shift & 15];
    }
    return to;
}

void emit_string(struct emit *o, const char *s)
{
    char *to = room_for_value(o, 6 * strlen(s) + 2);
    if (!to) return;
    *to++ = '"';
    to = put_escaped(to, s);
    *to++ = '"';
    wrote(o, to);
}

void emit_key(struct emit *o, const char *key)
{
    size_t n = strlen(key);
    char *to = room_for_value(o, n + 3);
    if (!to) return;
    *to++ = '"';
    memcpy(to, key, n);
    to += n;
    *to++ = '"';
    *to++ = ':';
    wrote(o, to);
    o->comma = false;
}

/* The decimal number m * 10^-p without trailing zeros; 0 <= p <= 22. */
static int put_decimal(char *out, bool negative, uint64_t m, int p)
{
    while (p > 0 && m % 10 == 0) {
        m /= 10;
        p--;
    }
    /* from the last digit, two at a time */
    char text[24], *end = text + sizeof text, *at = end;
    for (; m; m /= 100) {
        *--at = (char)('0' + m % 10);
        *--at = (char)('0' + m / 10 % 10);
    }
    while (end - at <= p)
        *--at = '0';
    if (*at == '0' && end - at > p + 1) at++;

    char *to = out;
    if (negative) *to++ = '-';
    for (; end - at > p; at++)
        *to++ = *at;
    if (p) *to++ = '.';
    while (at < end)
        *to++ = *at++;
    *to = '\0';
    return (int)(to - out);
}

/* v as an integer of `digits` digits over a power of ten, if reading that gives v: a double holds both
 * integers exactly, and their quotient is rounded once, as a reader does (Clinger 1990). 0 if not. */
static int try_decimal(char *out, double v, int digits)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double size = fabs(v);
    if (!(size >= 1e-5 && size < 1e15)) return 0;

    int p = digits - 1 - (int)floor(log10(size));
    if (p < 0 || p > 22) return 0;
    double m = nearbyint(size * ten[p]);
    if (m < 1.0 || m > 0x1p53 || m / ten[p] != size) return 0;
    return put_decimal(out, v < 0.0, (uint64_t)m, p);
}

int emit_format_double(char *out, double v)
{
    if (fabs(v) < 1e15 && v == (double)(int64_t)v && !(v == 0.0 && signbit(v)))
        return put_decimal(out, v < 0.0, (uint64_t)fabs(v), 0);
    /* printf and strtod took a quarter of a decision's time, so they come last */
    int n = try_decimal(out, v, 15);
    if (!n) n = try_decimal(out, v, 16);
    if (n) return n;

    /* the shortest form; short ones in the usual range were found above */
    bool usual = fabs(v) >= 1e-5 && fabs(v) < 1e15;
    for (int digits = usual ? 17 : 15; digits <= 17; digits++) {
        n = snprintf(out, EMIT_DOUBLE, "%.*g", digits, v);
        if (digits == 17 || strtod(out, NULL) == v) break;
    }
    return n;
}

void emit_double(struct emit *o, double v)
{
    if (!isfinite(v)) {
        emit_null(o);
        return;
    }
    char *to = room_for_value(o, EMIT_DOUBLE);
    if (to) wrote(o, to + emit_format_double(to, v));
}

void emit_rounded(struct emit *o, double v)
{
    static const double SCALE = 1e6;
    double size = nearbyint(fabs(v) * SCALE);
    if (!(size < 0x1p53)) {
        emit_double(o, v);
        return;
    }
    char *to = room_for_value(o, EMIT_DOUBLE);
    if (to) wrote(o, to + put_decimal(to, v < 0.0 && size > 0.0, (uint64_t)size, 6));
}

static void put_whole(struct emit *o, bool negative, uint64_t size)
{
    char *to = room_for_value(o, EMIT_DOUBLE);
    if (to) wrote(o, to + put_decimal(to, negative, size, 0));
}

void emit_int(struct emit *o, int64_t v)
{
    put_whole(o, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void emit_u64(struct emit *o, uint64_t v)
{
    put_whole(o, false, v);
}

void emit_bool(struct emit *o, bool v)
{
    put_value(o, v ? "true" : "false", v ? 4 : 5);
}

void emit_null(struct emit *o)
{
    put_value(o, "null", 4);
}

void emit_doubles(struct emit *o, const double *v, int n)
{
    emit_open(o, '[');
    for (int i = 0; i < n; i++)
        emit_double(o, v[i]);
    emit_close(o, ']');
}
