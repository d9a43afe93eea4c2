#include "serve/players/origins.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "serve/access/addr.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits[] = "0123456789";

static bool is_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool made_of(const char *s, size_t n, const char *more)
{
    for (size_t i = 0; i < n; i++)
        if (!is_in(s[i], letters) && !is_in(s[i], digits) && !is_in(s[i], more))
            return false;
    return true;
}

/* ---- paths ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte of the percent escape at s; -1: it is none. */
static int escaped(const char *s)
{
    int hi = s[0] == '%' ? hex(s[1]) : -1, lo = hi >= 0 ? hex(s[2]) : -1;
    return lo < 0 ? -1 : hi << 4 | lo;
}

/* The decoded character at *s; moves *s behind it. */
static char next_decoded(const char **s)
{
    int c = escaped(*s);
    char is = c < 0 ? **s : (char)c;
    *s += c >= 0 ? 3 : **s != '\0';
    return is;
}

/* Behind an encoded "%": is this a dot, slash or the like that is encoded twice? An origin may decode
 * twice. The digits of the second escape may be encoded themselves. */
static bool is_twice(const char *behind)
{
    char hi = next_decoded(&behind), lo = next_decoded(&behind);
    int c = escaped((char[]){'%', hi, lo, '\0'});
    return c >= 0 && (c < 0x20 || c == 0x7f || is_in((char)c, "./\\;%"));
}

/* What is wrong with the character at s (NULL: nothing), its decoded value, and its length *n. */
static const char *check_character(char *stands_for, size_t *n, const char *s)
{
    unsigned char raw = (unsigned char)*s;
    *n = 1;
    *stands_for = *s;
    if (raw <= 0x20 || raw >= 0x7f || is_in(*s, "\"#<>?\\`{}"))
        return "holds a character that has to be percent-encoded";
    if (*s != '%') return NULL;

    int c = escaped(s);
    if (c < 0) return "holds an invalid percent escape";
    if (c < 0x20 || c == 0x7f) return "holds a control character";
    if (c == '/' || c == '\\') return "holds an encoded slash";
    if (c == '%' && is_twice(s + 3))
        return "contains a dot or slash that is encoded twice";
    *n = 3;
    *stands_for = (char)c;
    return NULL;
}

/* A segment of these n decoded characters, which then ends or has a ";". */
static bool is_dots(const char *seen, size_t n)
{
    return (n == 1 && seen[0] == '.') || (n == 2 && seen[0] == '.' && seen[1] == '.');
}

static int check_path(const char *path, const char *field, struct err *e)
{
    char seen[2]; /* the first characters of the segment */
    size_t n_seen = 0, n;
    bool open = true; /* it has no other characters so far */
    for (const char *s = path;; s += n) {
        char c;
        bool end = !*s || *s == '/';
        const char *why = *s ? check_character(&c, &n, s) : NULL;
        if (why) return err_field(e, ERR_INVALID, field, "%s", why);
        if (open && (end || c == ';') && is_dots(seen, n_seen))
            return err_field(e, ERR_INVALID, field, "holds a segment '.' or '..'");
        if (!*s) return 0;
        open = end || (open && c != ';' && n_seen < sizeof seen);
        if (end)
            n_seen = 0;
        else if (open)
            seen[n_seen++] = c;
    }
}

static int check_query(const char *query, struct err *e)
{
    for (const char *s = query; *s; s++)
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f || *s == '#')
            return err_field(e, ERR_INVALID, "query",
                             "holds a character that has to be percent-encoded");
    return 0;
}

int origins_target(char *out, size_t size, const char *url, const char *path,
                   const char *query, struct err *e)
{
    int rc = check_path(path, "path", e);
    if (!rc) rc = check_query(query, e);
    if (rc) return rc;
    int n = snprintf(out, size, "%s/%s%s%s", url, path, *query ? "?" : "", query);
    if (n < 0 || (size_t)n >= size)
        return err_field(e, ERR_RANGE, "path", "and query are over %zu bytes", size - 1);
    return 0;
}

/* ---- names and URLs ---- */

/* The n bytes of a host: a name or IPv4, or IPv6 in brackets. */
static bool host_ok(const char *s, size_t n)
{
    struct addr a;
    if (n > 2 && s[0] == '[')
        return s[n - 1] == ']' && memchr(s, ':', n) && addr_parse(&a, s + 1, n - 2);
    return n >= 1 && n <= 253 && s[0] != '.' && s[0] != '-' && made_of(s, n, ".-_");
}

static int check_authority(const char *s, size_t n, const char *field, struct err *e)
{
    const char *bracket = memchr(s, ']', n);
    const char *from = bracket ? bracket : s;
    const char *colon = memchr(from, ':', n - (size_t)(from - s));
    size_t host = colon ? (size_t)(colon - s) : n;
    if (memchr(s, '@', n))
        return err_field(e, ERR_INVALID, field,
                         "must hold no user or password: requests to origins have none");
    if (!host_ok(s, host))
        return err_field(e, ERR_INVALID, field, "'%.*s' is not a host",
                         (int)(host < 80 ? host : 80), s);
    if (!colon) return 0;

    char port[8] = "";
    int64_t number;
    size_t n_port = n - host - 1;
    if (n_port < sizeof port) memcpy(port, colon + 1, n_port);
    if (!made_of(port, strlen(port), "") ||
        text_int(&number, port, 1, 65535, "port", NULL))
        return err_field(e, ERR_INVALID, field, "its port must be 1 to 65535");
    return 0;
}

static int check_url(const char *url, const char *field, struct err *e)
{
    size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
                    : strncmp(url, "http://", 7) == 0 ? 7
                                                      : 0;
    if (!scheme)
        return err_field(e, ERR_INVALID, field,
                         "must begin with http:// or https://, not '%.40s'", url);
    if (strpbrk(url, "?#"))
        return err_field(e, ERR_INVALID, field,
                         "must contain no query and no fragment: players send the query");
    if (strchr(url, ','))
        return err_field(e, ERR_INVALID, field, "must hold no comma: write %%2C");
    size_t n = strcspn(url + scheme, "/");
    int rc = check_authority(url + scheme, n, field, e);
    return rc ? rc : check_path(url + scheme + n, field, e);
}

int origins_find(const struct origins *o, const char *name)
{
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->at[i].name, name) == 0) return i;
    return -1;
}

int origins_add(struct origins *o, const char *text, struct err *e)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n < 1 || n >= ORIGINS_NAME || !made_of(text, n, "-_"))
        return err_field(e, ERR_INVALID, "origin",
                         "must be NAME=URL, the name of 1 to %d letters, digits, '-' and "
                         "'_', not '%.60s'",
                         ORIGINS_NAME - 1, text);
    char name[ORIGINS_NAME], field[ORIGINS_NAME + 16];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    snprintf(field, sizeof field, "origin %s", name);
    if (o->n == ORIGINS_MAX)
        return err_field(e, ERR_RANGE, field, "is one too many: the limit is %d",
                         ORIGINS_MAX);
    if (origins_find(o, name) >= 0)
        return err_field(e, ERR_CONFLICT, field, "is given twice");

    size_t length = strlen(equals + 1);
    if (length >= ORIGINS_URL)
        return err_field(e, ERR_RANGE, field, "its URL is over %d characters",
                         ORIGINS_URL - 1);
    int rc = check_url(equals + 1, field, e);
    if (rc) return rc;
    while (equals[length] == '/')
        length--;
    memcpy(o->at[o->n].name, name, sizeof name);
    snprintf(o->at[o->n++].url, ORIGINS_URL, "%.*s", (int)length, equals + 1);
    return 0;
}

bool origins_path(char *out, size_t size, const struct origins *o, const char *url)
{
    size_t longest = 0;
    int best = -1;
    for (int i = 0; i < o->n; i++) {
        size_t n = strlen(o->at[i].url);
        if (strncmp(url, o->at[i].url, n) != 0 || url[n] != '/' || n <= longest) continue;
        longest = n;
        best = i;
    }
    return best >= 0 &&
           snprintf(out, size, "%s%s", o->at[best].name, url + longest) < (int)size;
}

bool origins_url(char *out, size_t size, const struct origins *o, const char *path)
{
    char name[ORIGINS_NAME];
    size_t n = strcspn(path, "/");
    if (n >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    int i = origins_find(o, name);
    return i >= 0 && snprintf(out, size, "%s%s", o->at[i].url, path + n) < (int)size;
}
