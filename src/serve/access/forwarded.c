#include "serve/access/forwarded.h"

#include <string.h>
#include <strings.h>

/* Number of entries kept, the rightmost. No chain of proxies is longer. */
#define HOPS 16
#define BLANKS " \t"

/* Entries in their order; the oldest is dropped first. */
struct hops {
    int n;
    struct {
        bool known; /* the entry is an address */
        struct addr addr;
    } at[HOPS];
};

int forwarded_parse(enum forwarded_by *out, const char *word, struct err *e)
{
    for (int by = FORWARDED_X_FOR; by <= FORWARDED_RFC7239; by++) {
        if (strcasecmp(word, forwarded_header((enum forwarded_by)by)) != 0) continue;
        *out = (enum forwarded_by)by;
        return 0;
    }
    return err_field(e, ERR_INVALID, "proxy-header",
                     "'%.40s' is not x-forwarded-for or forwarded", word);
}

const char *forwarded_header(enum forwarded_by by)
{
    return by == FORWARDED_X_FOR ? "X-Forwarded-For" : "Forwarded";
}

/* 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:80 */
static bool parse_node(struct addr *out, const char *s, size_t n)
{
    const char *end = s + n;
    if (n && *s == '[') {
        const char *close = memchr(s, ']', n);
        if (!close || (close + 1 < end && close[1] != ':')) return false;
        return addr_parse(out, s + 1, (size_t)(close - s - 1));
    }
    const char *colon = memchr(s, ':', n);
    /* a single colon is followed by a port */
    if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1)))
        n = (size_t)(colon - s);
    return addr_parse(out, s, n);
}

static void add(struct hops *h, const char *s, size_t n)
{
    if (h->n == HOPS) {
        memmove(&h->at[0], &h->at[1], sizeof h->at[0] * (HOPS - 1));
        h->n--;
    }
    h->at[h->n].known = parse_node(&h->at[h->n].addr, s, n);
    h->n++;
}

static void read_x_for(struct hops *h, const char *value)
{
    for (const char *p = value;; p++) {
        p += strspn(p, BLANKS);
        size_t n = strcspn(p, ","), bare = n;
        while (bare && strchr(BLANKS, p[bare - 1]))
            bare--;
        add(h, p, bare);
        p += n;
        if (!*p) return;
    }
}

/* token or quoted-string (RFC 9110, Sec. 5.6.4, without escapes: no address needs one) */
static bool read_value(const char **s, size_t *n, const char **at)
{
    const char *p = *at;
    bool quoted = *p == '"';
    if (quoted) p++;
    *s = p;
    *n = strcspn(p, quoted ? "\"\\" : ";,\"\\ \t");
    p += *n;
    if (quoted && *p++ != '"') return false;
    *at = p + strspn(p, BLANKS);
    return true;
}

/* element = pair *(";" pair), pair = name "=" value; false if malformed */
static bool read_element(struct hops *h, const char **at)
{
    const char *s = "", *node = "";
    size_t n = 0, n_node = 0;
    const char *p = *at;
    do {
        p += strspn(p, "; \t");
        const char *name = p;
        size_t n_name = strcspn(p, "=;,\"\\ \t");
        if (!n_name || p[n_name] != '=') return false;
        p += n_name + 1;
        if (!read_value(&s, &n, &p)) return false;
        if (n_name == 3 && strncasecmp(name, "for", 3) == 0) {
            node = s;
            n_node = n;
        }
    } while (*p == ';');
    add(h, node, n_node);
    *at = p;
    return *p == '\0' || *p == ',';
}

static void read_rfc7239(struct hops *h, const char *value)
{
    const char *p = value;
    for (;;) {
        p += strspn(p, BLANKS);
        if (!read_element(h, &p)) {
            /* the end of this element is unknown, so no entry is trusted */
            h->n = 0;
            return;
        }
        if (!*p) return;
        p++;
    }
}

struct addr forwarded_client(const struct addr *peer, const struct addr_nets *trusted,
                             enum forwarded_by by, const char *value)
{
    struct addr client = *peer;
    struct hops h = {0};
    if (!value || !addr_in(trusted, peer)) return client;

    if (by == FORWARDED_X_FOR)
        read_x_for(&h, value);
    else
        read_rfc7239(&h, value);
    for (int i = h.n - 1; i >= 0 && addr_in(trusted, &client); i--) {
        if (!h.at[i].known) break;
        client = h.at[i].addr;
    }
    return client;
}
