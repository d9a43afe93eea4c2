#include "base/conf.h"

#include "base/text.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

struct where {
    char text[64]; /* "abrd.conf:12" */
};

static struct where where_is(const char *name, int line)
{
    struct where w;
    const char *base = strrchr(name, '/');
    snprintf(w.text, sizeof w.text, "%.48s:%d", base ? base + 1 : name, line);
    return w;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* cuts blanks from both ends of s, in place */
static char *trim(char *s)
{
    while (blank(*s))
        s++;
    size_t n = strlen(s);
    while (n && blank(s[n - 1]))
        n--;
    s[n] = '\0';
    return s;
}

/* ends the line at a '#' that begins a word and is not within quotes */
static void cut_comment(char *s)
{
    bool quoted = false;
    for (char *p = s; *p; p++) {
        if (*p == '"') quoted = !quoted;
        if (*p == '#' && !quoted && (p == s || blank(p[-1]))) {
            *p = '\0';
            return;
        }
    }
}

static int unquote(char **value, const char *at, struct err *e)
{
    char *v = *value;
    if (*v != '"') return 0;
    size_t n = strlen(v);
    if (n < 2 || v[n - 1] != '"' || memchr(v + 1, '"', n - 2))
        return err_field(e, ERR_INVALID, at, "a quoted value is \"like this\"");
    v[n - 1] = '\0';
    *value = v + 1;
    return 0;
}

static const struct conf_key *conf_find(const struct conf_key *keys, const char *name)
{
    for (const struct conf_key *k = keys; k->name; k++)
        if (strcmp(k->name, name) == 0) return k;
    return NULL;
}

static int unknown_key(const struct conf_key *keys, const char *name, const char *at,
                       struct err *e)
{
    char known[200] = "";
    size_t n = 0;
    for (const struct conf_key *k = keys; k->name && n < sizeof known; k++)
        n +=
            (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", k->name);
    return err_field(e, ERR_INVALID, at, "no key is called '%.30s'; known: %s", name,
                     known);
}

static int set_flag(bool *out, const char *v, const char *at, struct err *e)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (int i = 0; i < 8; i++) {
        if (strcmp(v, words[i]) != 0) continue;
        *out = i % 2;
        return 0;
    }
    return err_field(e, ERR_INVALID, at, "'%.40s' is neither true nor false", v);
}

static int set_value(const struct conf_key *k, const char *v, const char *at,
                     struct err *e)
{
    bool any = k->lo == 0 && k->hi == 0;
    if (k->flag) return set_flag(k->flag, v, at, e);
    if (k->u64) return text_u64(k->u64, v, at, e);
    if (k->d)
        return text_double(k->d, v, any ? -DBL_MAX : k->lo, any ? DBL_MAX : k->hi, at, e);
    if (k->i) {
        int64_t n = 0;
        int rc = text_int(&n, v, any ? INT_MIN : (int64_t)k->lo,
                          any ? INT_MAX : (int64_t)k->hi, at, e);
        if (!rc) *k->i = (int)n;
        return rc;
    }
    assert(k->text && k->size);
    if (strlen(v) >= k->size)
        return err_field(e, ERR_RANGE, at, "%s is longer than %zu characters", k->name,
                         k->size - 1);
    strcpy(k->text, v);
    return 0;
}

static int parse_line(char *s, const char *at, const struct conf_key *keys, bool *met,
                      struct err *e)
{
    cut_comment(s);
    s = trim(s);
    if (!*s) return 0;

    char *equals = strchr(s, '=');
    if (!equals) return err_field(e, ERR_INVALID, at, "'%.40s' is not key = value", s);
    *equals = '\0';
    char *name = trim(s), *value = trim(equals + 1);

    const struct conf_key *k = conf_find(keys, name);
    if (!k) return unknown_key(keys, name, at, e);
    bool *before = &met[k - keys];
    if (*before) return err_field(e, ERR_CONFLICT, at, "%s was given before", name);
    *before = true;

    int rc = unquote(&value, at, e);
    return rc ? rc : set_value(k, value, at, e);
}

int conf_parse(const char *data, size_t n, const char *name, const struct conf_key *keys,
               struct err *e)
{
    bool met[CONF_KEYS_MAX] = {false};
    for (int i = 0; keys[i].name; i++)
        assert(i < CONF_KEYS_MAX);

    size_t at = 0;
    for (int line = 1; at < n; line++) {
        const char *end = memchr(data + at, '\n', n - at);
        size_t len = end ? (size_t)(end - data) - at : n - at;
        struct where w = where_is(name, line);
        char copy[LINE];
        if (len >= sizeof copy)
            return err_field(e, ERR_RANGE, w.text, "the line is longer than %d bytes",
                             LINE - 1);
        if (memchr(data + at, '\0', len))
            return err_field(e, ERR_INVALID, w.text,
                             "a zero byte; this is not a text file");
        memcpy(copy, data + at, len);
        copy[len] = '\0';
        int rc = parse_line(copy, w.text, keys, met, e);
        if (rc) return rc;
        at += len + 1;
    }
    return 0;
}

int conf_read(const char *path, const struct conf_key *keys, struct err *e)
{
    size_t n = 0;
    char *data = text_read_file(path, CONF_FILE_MAX, &n, e);
    if (!data) return e ? e->code : ERR_IO;
    int rc = conf_parse(data, n, path, keys, e);
    free(data);
    return rc;
}
