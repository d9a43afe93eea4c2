#include "serve/http/http.h"
#include "base/text.h"
#include "http_priv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_method_name(enum http_method m)
{
    static const char *const names[] = {"GET",    "HEAD",    "POST", "PUT",
                                        "DELETE", "OPTIONS", "OTHER"};
    return names[m];
}

enum http_method http_method_of(const char *name)
{
    for (int m = HTTP_GET; m < HTTP_OTHER; m++)
        if (strcmp(name, http_method_name(m)) == 0) return m;
    return HTTP_OTHER;
}

const char *http_header(const struct http_request *q, const char *name)
{
    if (!q->impl) return NULL;
    return MHD_lookup_connection_value(q->impl, MHD_HEADER_KIND, name);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

int http_decode(char *out, size_t size, const char *s, size_t n, struct err *e)
{
    size_t w = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%') {
            int hi = i + 2 < n ? hex(s[i + 1]) : -1;
            int lo = hi >= 0 ? hex(s[i + 2]) : -1;
            if (lo < 0 || (hi == 0 && lo == 0))
                return err_set(e, ERR_INVALID,
                               "the address has a malformed percent escape");
            c = (char)(hi << 4 | lo);
            i += 2;
        }
        if (w + 1 >= size)
            return err_set(e, ERR_RANGE, "a part of the address is too long");
        out[w++] = c;
    }
    out[w] = '\0';
    return 0;
}

int http_query(char *out, size_t n, const struct http_request *q, const char *name,
               struct err *e)
{
    out[0] = '\0';
    const char *raw =
        q->impl ? MHD_lookup_connection_value(q->impl, MHD_GET_ARGUMENT_KIND, name)
                : NULL;
    if (!raw) return 0;
    struct err why = {0};
    int rc = http_decode(out, n, raw, strlen(raw), &why);
    if (!rc) return 1;
    out[0] = '\0';
    return err_field(e, rc, name, "%s", why.detail);
}

struct query {
    char *out;
    size_t n, size;
    const char *const *without;
    bool over;
};

/* The library has replaced every "+" by a space. */
static void put_query(struct query *l, const char *text)
{
    for (; *text && !l->over; text++) {
        l->over = l->n + 1 >= l->size;
        if (!l->over) l->out[l->n++] = *text == ' ' ? '+' : *text;
    }
}

static enum MHD_Result add_parameter(void *cls, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct query *l = cls;
    (void)kind;
    for (const char *const *w = l->without; *w; w++)
        if (strcmp(name, *w) == 0) return MHD_YES;
    if (l->n) put_query(l, "&");
    put_query(l, name);
    if (value) put_query(l, "=");
    if (value) put_query(l, value);
    return MHD_YES;
}

int http_number(double *out, const struct http_request *q, const char *name, double lo,
                double hi, struct err *e)
{
    char text[32];
    *out = 0;
    int rc = http_query(text, sizeof text, q, name, e);
    return rc <= 0 ? rc : text_double(out, text, lo, hi, name, e);
}

bool http_query_text(char *out, size_t n, const struct http_request *q,
                     const char *const *without)
{
    struct query l = {.out = out, .size = n, .without = without};
    if (q->impl)
        MHD_get_connection_values(q->impl, MHD_GET_ARGUMENT_KIND, add_parameter, &l);
    out[l.n] = '\0';
    return !l.over;
}

bool http_peer(struct addr *out, const struct http_request *q)
{
    if (!q->impl) return false;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(q->impl, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info && info->client_addr && addr_from_socket(out, info->client_addr);
}

struct list {
    const char *name;
    char *out;
    size_t n, size;
    bool found;
};

/* Appends, and drops from the front what does not fit. */
static void http_request_append(struct list *l, const char *text)
{
    size_t n = strlen(text), most = l->size - 1;
    if (n > most) {
        text += n - most;
        n = most;
    }
    size_t over = l->n + n > most ? l->n + n - most : 0;
    memmove(l->out, l->out + over, l->n - over);
    l->n -= over;
    memcpy(l->out + l->n, text, n);
    l->n += n;
    l->out[l->n] = '\0';
}

static enum MHD_Result add_line(void *cls, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct list *l = cls;
    (void)kind;
    if (strcasecmp(name, l->name) != 0) return MHD_YES;
    if (l->found) http_request_append(l, ", ");
    http_request_append(l, value ? value : "");
    l->found = true;
    return MHD_YES;
}

bool http_header_list(char *out, size_t n, const struct http_request *q, const char *name)
{
    struct list l = {.name = name, .out = out, .size = n};
    out[0] = '\0';
    if (q->impl) MHD_get_connection_values(q->impl, MHD_HEADER_KIND, add_line, &l);
    return l.found;
}

size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s)
{
    (void)cls;
    (void)c;
    return strlen(s);
}

/* ---- refused before the handler ----
 *
 * Lines. The library accepts a bare LF as a line's end and joins folded lines; not every proxy does.
 * It splits the head in place and writes a NUL over each byte of a line's end. So after CR LF the next
 * line begins two bytes behind the end of the line before. After a bare LF, a NUL within the line or a
 * folded line it begins elsewhere. The library leaves a bare CR in the value, but some proxies and
 * servers end the line there (RFC 9112, 2.2). */

struct framing {
    int lengths, hosts, codings;
    bool chunked, bad_name, bad_line;
    const char *length;
    const char *next; /* start of the next line, if this one ended in CR LF */
};

static bool is_token_char(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-') return true;
    return c > ' ' && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

/* Length of the token; 0: not a token. */
static size_t token_length(const char *s)
{
    size_t n = 0;
    while (s[n])
        if (!is_token_char(s[n++])) return 0;
    return n;
}

static bool is_named(const char *name, size_t n, const char *what)
{
    return n == strlen(what) && strcasecmp(name, what) == 0;
}

/* Start of the line after one that ends with this text and CR LF. */
static const char *behind(const char *text)
{
    return text + strlen(text) + 2;
}

static enum MHD_Result note_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct framing *f = cls;
    (void)kind;
    if (!value) value = "";
    if (name != f->next || strchr(value, '\r')) f->bad_line = true;
    f->next = behind(value);
    size_t n = token_length(name);
    if (!n) f->bad_name = true;
    if (is_named(name, n, "Content-Length")) {
        f->lengths++;
        f->length = value;
    } else if (is_named(name, n, "Transfer-Encoding")) {
        f->codings++;
        f->chunked = strcasecmp(value, "chunked") == 0;
    } else if (is_named(name, n, "Host")) {
        f->hosts++;
    }
    return MHD_YES;
}

void http_head_too_large(struct reply *r, const struct http_cfg *cfg)
{
    reply_fail(r, 431, "",
               "the head is over the limit of %zu bytes, or has more fields, cookies and "
               "parameters than fit (%d always do)",
               cfg->header_max, HTTP_FIELDS);
}

bool http_refuse(struct reply *r, struct conn *c, const char *method, const char *version)
{
    const struct http_cfg *cfg = &c->http->cfg;
    struct framing f = {.next = behind(version)};
    MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, note_header, &f);
    /* the head begins with the method and ends with the empty line's CR LF */
    size_t head = MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
                      ->header_size;
    if (f.next + 2 != method + head) f.bad_line = true;
    c->chunked = f.codings;
    c->consumed += head;
    if (head > cfg->header_max ||
        http_error_memory(c, head) > c->http->memory - HTTP_ANSWER_HEAD) {
        http_head_too_large(r, cfg);
        return true;
    }

    const struct {
        bool broken;
        const char *field, *why;
    } rules[] = {
        {!token_length(method) || c->bad_target, "",
         "the first line is not METHOD ADDRESS HTTP/1.1, each without spaces or control "
         "characters"},
        {f.bad_name, "", "a header name is not a token"},
        {f.bad_line, "",
         "a line of the header does not end in CR LF, or is folded, or holds a NUL or a "
         "bare CR"},
        {f.lengths > 1, "Content-Length", "is given more than once"},
        {f.codings && f.lengths, "Transfer-Encoding",
         "cannot be combined with Content-Length"},
        {f.codings > 1 || (f.codings && !f.chunked), "Transfer-Encoding",
         "is not 'chunked'"},
        {f.hosts > 1, "Host", "is given more than once"},
        {!f.hosts && strcmp(version, MHD_HTTP_VERSION_1_0) != 0, "Host", "is missing"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].broken) continue;
        reply_fail(r, 400, rules[i].field, "%s", rules[i].why);
        return true;
    }

    /* the library has checked that the length is a number */
    if (f.length && strtoull(f.length, NULL, 10) > cfg->body_max) {
        reply_fail(r, 413, "", "the body is %.20s bytes, the limit is %zu", f.length,
                   cfg->body_max);
        return true;
    }
    return false;
}
