#include "serve/players/sf.h"

#include <string.h>

#include "base/text.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool sf_more(const struct sf *in)
{
    return in->at < in->end;
}

static bool sf_take(struct sf *in, char c)
{
    if (!sf_more(in) || *in->at != c) return false;
    in->at++;
    return true;
}

static void sf_skip(struct sf *in, const char *set)
{
    while (sf_more(in) && is_one_of(*in->at, set))
        in->at++;
}

static int read_key(char out[SF_KEY], struct sf *in, struct err *e)
{
    const char *from = in->at;
    if (!sf_more(in) || !(is_alpha(*from) || *from == '*'))
        return err_set(e, ERR_INVALID, "a name begins with a letter or '*'");
    while (sf_more(in) &&
           (is_alpha(*in->at) || is_digit(*in->at) || is_one_of(*in->at, "_-.*")))
        in->at++;
    size_t n = (size_t)(in->at - from);
    if (n >= SF_KEY)
        return err_set(e, ERR_RANGE, "a name has %zu characters, the limit is %d", n,
                       SF_KEY - 1);
    memcpy(out, from, n);
    out[n] = '\0';
    return 0;
}

/* Integers of at most 15 digits, decimals of 12 and 3: a double holds them exactly or as near as it can. */
static int read_number(struct sf_item *out, struct sf *in, struct err *e)
{
    char text[24];
    size_t n = 0, whole = 0, part = 0;
    if (sf_take(in, '-')) text[n++] = '-';
    for (; sf_more(in) && is_digit(*in->at) && whole <= 15; whole++)
        text[n++] = *in->at++;
    if (!whole) return err_set(e, ERR_INVALID, "'-' without a digit");
    if (whole <= 12 && in->end - in->at > 1 && *in->at == '.' && is_digit(in->at[1])) {
        text[n++] = *in->at++;
        for (; sf_more(in) && is_digit(*in->at) && part <= 3; part++)
            text[n++] = *in->at++;
    }
    if (whole > 15 || part > 3)
        return err_set(e, ERR_RANGE,
                       "an integer has at most 15 digits, a decimal at most 12 and 3");
    text[n] = '\0';
    out->kind = SF_NUMBER;
    return text_double(&out->number, text, -1e15, 1e15, "a number", e);
}

static int read_string(struct sf_item *out, struct sf *in, struct err *e)
{
    in->at++;
    out->kind = SF_STRING;
    out->at = in->at;
    for (; sf_more(in) && *in->at != '"'; in->at++) {
        if (*in->at < 0x20 || *in->at > 0x7e)
            return err_set(e, ERR_INVALID, "a string has a character that is not ASCII");
        if (*in->at != '\\') continue;
        in->at++;
        if (!sf_more(in) || !is_one_of(*in->at, "\"\\"))
            return err_set(e, ERR_INVALID, "'\\' stands before '\"' or '\\' alone");
    }
    out->n = (size_t)(in->at - out->at);
    if (!sf_take(in, '"')) return err_set(e, ERR_INVALID, "a string has no end");
    if (out->n < SF_TEXT) return 0;
    return err_set(e, ERR_RANGE, "a string of %zu bytes, the limit is %d", out->n,
                   SF_TEXT - 1);
}

static int read_token(struct sf_item *out, struct sf *in, struct err *e)
{
    out->kind = SF_TOKEN;
    out->at = in->at;
    while (sf_more(in) && (is_alpha(*in->at) || is_digit(*in->at) ||
                           is_one_of(*in->at, "!#$%&'*+-.^_`|~:/")))
        in->at++;
    out->n = (size_t)(in->at - out->at);
    if (out->n < SF_TEXT) return 0;
    return err_set(e, ERR_RANGE, "a token of %zu bytes, the limit is %d", out->n,
                   SF_TEXT - 1);
}

static int read_truth(struct sf_item *out, struct sf *in, struct err *e)
{
    in->at++;
    if (!sf_more(in) || !is_one_of(*in->at, "01"))
        return err_set(e, ERR_INVALID, "'?' stands before 0 or 1");
    out->kind = SF_TRUTH;
    out->truth = *in->at++ == '1';
    return 0;
}

static int read_bytes(struct sf_item *out, struct sf *in, struct err *e)
{
    in->at++;
    out->kind = SF_BYTES;
    while (sf_more(in) &&
           (is_alpha(*in->at) || is_digit(*in->at) || is_one_of(*in->at, "+/=")))
        in->at++;
    return sf_take(in, ':') ? 0 : err_set(e, ERR_INVALID, "a byte sequence has no end");
}

static int read_bare(struct sf_item *out, struct sf *in, struct err *e)
{
    if (!sf_more(in)) return err_set(e, ERR_INVALID, "a value is missing");
    char c = *in->at;
    if (c == '-' || is_digit(c)) return read_number(out, in, e);
    if (c == '"') return read_string(out, in, e);
    if (c == '*' || is_alpha(c)) return read_token(out, in, e);
    if (c == '?') return read_truth(out, in, e);
    if (c == ':') return read_bytes(out, in, e);
    return err_set(e, ERR_INVALID, "a value is missing");
}

/* name: of the first one; may be NULL. */
static int read_params(char *name, struct sf *in, struct err *e)
{
    char key[SF_KEY];
    for (bool first = true; sf_take(in, ';'); first = false) {
        sf_skip(in, " ");
        struct sf_item value = {0};
        int rc = read_key(key, in, e);
        if (!rc && sf_take(in, '=')) rc = read_bare(&value, in, e);
        if (rc) return rc;
        if (first && name) memcpy(name, key, sizeof key);
    }
    return 0;
}

static int read_item(struct sf_item *out, struct sf *in, struct err *e)
{
    *out = (struct sf_item){0};
    int rc = read_bare(out, in, e);
    return rc ? rc : read_params(out->param, in, e);
}

static int read_list(struct sf_member *out, struct sf *in, struct err *e)
{
    in->at++;
    out->list = true;
    for (out->n = 0;;) {
        sf_skip(in, " ");
        if (sf_take(in, ')')) return read_params(NULL, in, e);
        if (out->n == SF_ITEMS)
            return err_set(e, ERR_RANGE, "a list has more than %d entries", SF_ITEMS);
        int rc = read_item(&out->item[out->n++], in, e);
        if (rc) return rc;
        if (sf_more(in) && !is_one_of(*in->at, " )"))
            return err_set(e, ERR_INVALID, "spaces must separate the entries of a list");
    }
}

static int read_value(struct sf_member *out, struct sf *in, struct err *e)
{
    out->list = false;
    out->n = 1;
    if (!sf_take(in, '=')) {
        out->item[0] = (struct sf_item){.kind = SF_TRUTH, .truth = true};
        return read_params(out->item[0].param, in, e);
    }
    if (sf_more(in) && *in->at == '(') return read_list(out, in, e);
    return read_item(&out->item[0], in, e);
}

int sf_next(struct sf_member *out, struct sf *in, struct err *e)
{
    out->key[0] = '\0';
    sf_skip(in, " \t");
    if (!sf_more(in)) return 0;
    struct err why = {0};
    int rc = read_key(out->key, in, &why);
    if (!rc) rc = read_value(out, in, &why);
    if (!rc) {
        sf_skip(in, " \t");
        if (sf_more(in) && !sf_take(in, ','))
            rc = err_set(&why, ERR_INVALID, "is followed by something other than ','");
    }
    if (!rc) return 1;
    in->at = in->end;
    return err_field(e, rc, out->key, "%s", why.detail);
}

int sf_text(char *out, size_t size, const struct sf_item *item, struct err *e)
{
    if (item->kind != SF_STRING && item->kind != SF_TOKEN)
        return err_set(e, ERR_INVALID, "must be a string or a token");
    size_t w = 0;
    for (size_t i = 0; i < item->n; i++) {
        if (item->kind == SF_STRING && item->at[i] == '\\') i++;
        if (w + 1 >= size)
            return err_set(e, ERR_RANGE, "is longer than %zu bytes", size - 1);
        out[w++] = item->at[i];
    }
    out[w] = '\0';
    return 0;
}
