#include "serve/wire/scan.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The text still to read. Every reader returns false for an unusual form. */
struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && *c->at <= ' ' &&
           (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t'))
        c->at++;
}

/* Consumes spaces and this character if it is next. */
static bool next_is(struct cursor *c, char which)
{
    skip_space(c);
    if (c->at == c->end || *c->at != which) return false;
    c->at++;
    return true;
}

static bool word_is(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

/* A string without escapes; borrowed, without its quotes. */
static bool read_string(const char **s, size_t *n, struct cursor *c)
{
    if (!next_is(c, '"')) return false;
    *s = c->at;
    while (c->at < c->end && *c->at >= ' ' && *c->at < 0x7f && *c->at != '"' &&
           *c->at != '\\')
        c->at++;
    *n = (size_t)(c->at - *s);
    return word_is(c, "\"");
}

/* A number in the text: its digits and decimal exponent. */
struct number {
    const char *from;
    size_t n; /* its length */
    bool negative, whole;
    uint64_t digits;
    int count, significant; /* all digits; digits after leading zeros */
    int exponent;           /* power of ten of the last digit */
};

static void take_digits(struct number *x, struct cursor *c)
{
    const char *at = c->at, *end = c->end;
    uint64_t digits = x->digits;
    if (!x->significant)
        while (at < end && *at == '0')
            at++;
    const char *from = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        digits = digits * 10 + (uint64_t)(*at - '0');
    x->digits = digits;
    x->significant += (int)(at - from);
    x->count += (int)(at - c->at);
    c->at = at;
}

/* [-] digits [. digits] [e [sign] digits], without leading zeros */
static bool scan_read_number(struct number *x, struct cursor *c)
{
    skip_space(c);
    *x = (struct number){.from = c->at, .whole = true};
    if (c->at < c->end && *c->at == '-') {
        x->negative = true;
        c->at++;
    }
    const char *first = c->at;
    take_digits(x, c);
    if (!x->count || (*first == '0' && x->count > 1)) return false;

    if (c->at < c->end && *c->at == '.') {
        int before = x->count;
        c->at++;
        take_digits(x, c);
        x->exponent = before - x->count;
        x->whole = false;
        if (!x->exponent) return false;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        struct number power = {0};
        c->at++;
        if (c->at < c->end && (*c->at == '-' || *c->at == '+'))
            power.negative = *c->at++ == '-';
        take_digits(&power, c);
        if (!power.count || power.count > 4) return false;
        x->exponent += power.negative ? -(int)power.digits : (int)power.digits;
        x->whole = false;
    }
    x->n = (size_t)(c->at - x->from);
    return x->significant <= 19; /* 19 digits fit 64 bits */
}

static bool to_whole(int64_t *out, const struct number *x)
{
    if (!x->whole || x->count > 18) return false;
    *out = x->negative ? -(int64_t)x->digits : (int64_t)x->digits;
    return true;
}

static bool to_double(double *out, const struct number *x)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t whole;
    if (to_whole(&whole, x)) { /* to_whole drops the sign of -0 */
        *out = (double)whole;
        return true;
    }
    if (x->whole) return false;
    if (x->digits <= (uint64_t)1 << 53 && abs(x->exponent) <= 22) {
        double size = (double)x->digits;
        size = x->exponent < 0 ? size / ten[-x->exponent] : size * ten[x->exponent];
        *out = x->negative ? -size : size;
        return true;
    }
    char text[48];
    if (x->n >= sizeof text) return false;
    memcpy(text, x->from, x->n);
    text[x->n] = '\0';
    *out = strtod(text, NULL);
    return isfinite(*out);
}

static bool read_double(double *out, struct cursor *c)
{
    struct number x;
    return scan_read_number(&x, c) && to_double(out, &x);
}

static bool read_whole(int64_t *out, int64_t lo, int64_t hi, struct cursor *c)
{
    struct number x;
    return scan_read_number(&x, c) && to_whole(out, &x) && *out >= lo && *out <= hi;
}

static bool read_text(char *out, int max, struct cursor *c)
{
    const char *s;
    size_t n;
    if (!read_string(&s, &n, c) || n >= (size_t)max) return false;
    memcpy(out, s, n);
    out[n] = '\0';
    return true;
}

static bool read_numbers(double *out, int *count, int max, unsigned flags,
                         struct cursor *c)
{
    int n = 0;
    if (!next_is(c, '[')) return false;
    if (!next_is(c, ']')) {
        do {
            if (n == max) return false;
            skip_space(c);
            if (flags & (FIELD_NULL_IS_ZERO | FIELD_NULL_IS_NAN) && word_is(c, "null"))
                out[n] = flags & FIELD_NULL_IS_NAN ? (double)NAN : 0.0;
            else if (!read_double(&out[n], c))
                return false;
            n++;
        } while (next_is(c, ','));
        if (!next_is(c, ']')) return false;
    }
    if (count) *count = n;
    return true;
}

static bool read_object(const struct field *fields, void *base, struct cursor *c);

static bool read_field(const struct field *f, void *base, struct cursor *c)
{
    void *out = field_place(f, base);
    int64_t whole = 0;
    skip_space(c);
    switch (f->type) {
    case FIELD_REAL:
        return read_double(out, c);
    case FIELD_INT:
        if (!read_whole(&whole, INT_MIN, INT_MAX, c)) return false;
        *(int *)out = (int)whole;
        return true;
    case FIELD_INT64:
        return read_whole(out, INT64_MIN, INT64_MAX, c);
    case FIELD_UINT64:
        if (!read_whole(&whole, 0, (int64_t)1 << 53, c)) return false;
        *(uint64_t *)out = (uint64_t)whole;
        return true;
    case FIELD_FLAG:
        *(bool *)out = c->at < c->end && *c->at == 't';
        return word_is(c, *(bool *)out ? "true" : "false");
    case FIELD_CHARS:
        return read_text(out, (int)f->size, c);
    case FIELD_REALS:
        return read_numbers(out, field_member(base, f->n),
                            (int)(f->size / sizeof(double)), f->flags, c);
    case FIELD_OBJECT:
        return read_object(f->fields, base, c);
    default:
        return false;
    }
}

static int scan_find(const struct field *fields, const char *name, size_t n)
{
    for (int i = 0; fields[i].name; i++)
        if (strncmp(fields[i].name, name, n) == 0 && !fields[i].name[n]) return i;
    return -1;
}

/* Consumes the name if it is this one. */
static bool name_is(struct cursor *c, const char *name)
{
    const char *at = c->at;
    if (at == c->end || *at++ != '"') return false;
    while (at < c->end && *name && *at == *name)
        at++, name++;
    if (*name || at == c->end || *at != '"') return false;
    c->at = at + 1;
    return true;
}

/* Row of the next name in the table; -1: unknown. Players keep an order, so the row after the last one
 * is tried first. */
static int read_name(const struct field *fields, int last, struct cursor *c)
{
    const char *name;
    size_t n;
    skip_space(c);
    if (fields[last + 1].name && name_is(c, fields[last + 1].name)) return last + 1;
    return read_string(&name, &n, c) ? scan_find(fields, name, n) : -1;
}

static bool read_object(const struct field *fields, void *base, struct cursor *c)
{
    uint32_t seen = 0, given = 0;
    int row = -1;
    if (!next_is(c, '{')) return false;
    if (!next_is(c, '}')) {
        do {
            row = read_name(fields, row, c);
            if (row < 0 || seen >> row & 1 || !next_is(c, ':')) return false;
            seen |= UINT32_C(1) << row;
            skip_space(c);
            if (word_is(c, "null")) continue;
            if (!read_field(&fields[row], base, c)) return false;
            bool *has = field_member(base, fields[row].has);
            if (has) *has = true;
            given |= UINT32_C(1) << row;
        } while (next_is(c, ','));
        if (!next_is(c, '}')) return false;
    }
    for (int i = 0; fields[i].name; i++)
        if (fields[i].flags & FIELD_REQUIRED && !(given >> i & 1)) return false;
    return true;
}

bool scan_object(const struct field *fields, void *base, const char *body, size_t n)
{
    struct cursor c = {body, body + n};
    if (!n || *body != '{') return false;
    if (!read_object(fields, base, &c)) return false;
    skip_space(&c);
    return c.at == c.end;
}
